//! Where an import is: which statement of a file goes to which account, and how much of it is posted.

use quad_core::Result;
use quad_store::{Sql, Tx, params};

/// Which statement of which projection goes to which account.
#[derive(Clone, Debug)]
pub(super) struct StatementProgress {
    pub(super) raw_id: String,
    pub(super) parsed_id: String,
    pub(super) statement: i64,
    pub(super) account: String,
}

impl StatementProgress {
    /// How many of its entries are posted.
    pub(super) fn load_posted(&self, sql: &mut dyn Sql) -> Result<usize> {
        let tenant = sql.tenant().as_str().to_owned();
        let row = sql.query_opt(
            "SELECT posted FROM brain_import WHERE tenant_id = $1 AND parsed_id = $2 AND statement = $3 AND account_id = $4",
            params![tenant, self.parsed_id.as_str(), self.statement, self.account.as_str()],
        )?;
        row.map_or(Ok(0), |row| Ok(usize::try_from(row.int(0)?).unwrap_or_default()))
    }

    /// Says how many are.
    pub(super) fn save_posted(&self, tx: &mut Tx<'_>, posted: usize) -> Result<()> {
        let tenant = tx.tenant().as_str().to_owned();
        tx.execute(
            "INSERT INTO brain_import (tenant_id, parsed_id, statement, account_id, posted) VALUES ($1, $2, $3, $4, $5) \
             ON CONFLICT (tenant_id, parsed_id, statement, account_id) DO UPDATE SET posted = excluded.posted",
            params![tenant, self.parsed_id.as_str(), self.statement, self.account.as_str(), posted as i64],
        )?;
        Ok(())
    }
}
