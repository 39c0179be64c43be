//! How far the import of one statement is: its account, and how many of its entries are posted.

use quad_core::Result;
use quad_store::{Sql, Tx, params};

use crate::account::Account;

/// One statement of a file, with its account and its progress.
#[derive(Clone, Debug)]
pub(super) struct StatementProgress {
    pub(super) raw_id: String,
    pub(super) parsed_id: String,
    /// The index of the statement in its file.
    statement: i64,
    pub(super) account: Account,
    /// Whether this import created the account.
    pub(super) is_new_account: bool,
    /// Entries that an earlier, interrupted import has posted.
    pub(super) posted_entries: usize,
}

impl StatementProgress {
    /// The progress that an earlier import of the same projection into the same account has stored.
    pub(super) fn load(
        sql: &mut dyn Sql,
        (raw_id, parsed_id): (&str, &str),
        statement: usize,
        (account, is_new_account): (Account, bool),
    ) -> Result<StatementProgress> {
        let (tenant, statement) = (sql.tenant().as_str().to_owned(), statement as i64);
        let row = sql.query_opt(
            "SELECT posted FROM brain_import WHERE tenant_id = $1 AND parsed_id = $2 AND statement = $3 AND account_id = $4",
            params![tenant, parsed_id, statement, account.id.as_str()],
        )?;
        let posted_entries = match row {
            Some(row) => usize::try_from(row.int(0)?).unwrap_or_default(),
            None => 0,
        };
        Ok(StatementProgress {
            raw_id: raw_id.to_owned(),
            parsed_id: parsed_id.to_owned(),
            statement,
            account,
            is_new_account,
            posted_entries,
        })
    }

    /// Stores that this many entries are posted.
    pub(super) fn save_posted(&self, tx: &mut Tx<'_>, posted: usize) -> Result<()> {
        let tenant = tx.tenant().as_str().to_owned();
        tx.execute(
            "INSERT INTO brain_import (tenant_id, parsed_id, statement, account_id, posted) VALUES ($1, $2, $3, $4, $5) \
             ON CONFLICT (tenant_id, parsed_id, statement, account_id) DO UPDATE SET posted = excluded.posted",
            params![tenant, self.parsed_id.as_str(), self.statement, self.account.id.as_str(), posted as i64],
        )?;
        Ok(())
    }
}
