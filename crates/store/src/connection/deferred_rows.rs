//! Rows that wait for the end of a transaction, and go with the savepoints as written ones do.

use std::any::Any;
use std::sync::Arc;

use quad_core::TenantId;

use crate::sql::DeferredRows;

/// What has been gathered, and for whom.
#[derive(Clone)]
pub(crate) struct TenantRows {
    pub(crate) tenant: TenantId,
    pub(crate) rows: Arc<dyn DeferredRows>,
}

/// What has been gathered at the beginning of each open savepoint, and last what has been by now.
#[derive(Default)]
pub(crate) struct SavepointStack(Vec<Option<TenantRows>>);

impl SavepointStack {
    /// Does what a statement that steers the transaction does to rows.
    pub(crate) fn on_control(&mut self, control: &str) {
        if control.starts_with("SAVEPOINT") {
            let current = self.top().clone();
            self.0.push(current);
        } else if control.starts_with("RELEASE") {
            let released = self.0.pop().flatten();
            *self.top() = released;
        } else if control.starts_with("ROLLBACK TO") {
            self.0.pop();
            let current = self.top().clone();
            self.0.push(current);
        } else {
            // A transaction begins or ends.
            self.0.clear();
        }
    }

    /// Adds what is to wait, in the place of what waited.
    pub(crate) fn put(&mut self, entry: TenantRows) {
        *self.top() = Some(entry);
    }

    /// Hands out what waits, whatever it is.
    pub(crate) fn take(&mut self) -> Option<TenantRows> {
        self.0.last_mut()?.take()
    }

    /// Hands out what waits for that tenant, if it is of that kind.
    pub(crate) fn take_typed<T: DeferredRows>(&mut self, tenant: &TenantId) -> Option<Arc<T>> {
        let top = self.0.last_mut()?;
        let entry = top.take_if(|entry| entry.tenant == *tenant && (&*entry.rows as &dyn Any).is::<T>())?;
        (entry.rows as Arc<dyn Any + Send + Sync>).downcast().ok()
    }

    fn top(&mut self) -> &mut Option<TenantRows> {
        if self.0.is_empty() {
            self.0.push(None);
        }
        let last = self.0.len() - 1;
        &mut self.0[last]
    }
}

#[cfg(test)]
mod tests {
    use quad_core::audit_fields::AuditFields;
    use quad_core::{Timestamp, Version};

    use super::*;
    use crate::connection::{Connection, sqlite};
    use crate::{Sql as _, Tx, params};

    struct Numbers(Vec<i64>);

    impl DeferredRows for Numbers {
        fn write(&self, tx: &mut Tx<'_>) -> quad_core::Result<()> {
            for number in &self.0 {
                tx.execute("INSERT INTO number VALUES ($1)", params![*number])?;
            }
            Ok(())
        }
    }

    struct OtherRows;

    impl DeferredRows for OtherRows {
        fn write(&self, _: &mut Tx<'_>) -> quad_core::Result<()> {
            Ok(())
        }
    }

    fn in_tx<T>(connection: &mut Connection, tenant: &str, job: impl FnOnce(&mut Tx<'_>) -> T) -> T {
        job(&mut Tx {
            connection,
            tenant: &TenantId::new(tenant),
            version: Version(0),
            now: Timestamp::now(),
            tags: Vec::new(),
            outputs: AuditFields::default(),
            events: Vec::new(),
        })
    }

    /// Adds a number to those that wait, and gives the ones before.
    fn defer_number(connection: &mut Connection, number: i64) -> Vec<i64> {
        in_tx(connection, "a", |tx| {
            let before =
                tx.take_deferred_rows::<Numbers>().map_or_else(Vec::new, |numbers| numbers.0.clone());
            tx.defer_rows(Arc::new(Numbers([before.as_slice(), &[number]].concat()))).unwrap();
            before
        })
    }

    fn stored_numbers(connection: &mut Connection) -> Vec<i64> {
        let rows =
            in_tx(connection, "a", |tx| tx.query("SELECT number FROM number ORDER BY number", &[]).unwrap());
        rows.iter().map(|row| row.int(0).unwrap()).collect()
    }

    fn open_connection() -> (tempfile::TempDir, Connection) {
        let folder = tempfile::tempdir().unwrap();
        let mut connection = Connection::Sqlite(sqlite::Conn::open(&folder.path().join("file")).unwrap());
        connection.execute_script("CREATE TABLE number (number INTEGER PRIMARY KEY)").unwrap();
        connection.begin_write().unwrap();
        (folder, connection)
    }

    #[test]
    fn rollback_discards_only_rows_deferred_in_that_savepoint() {
        let (_folder, mut connection) = open_connection();
        let connection = &mut connection;
        for (number, fails, before) in
            [(1, false, vec![]), (2, true, vec![1]), (3, false, vec![1]), (4, true, vec![1, 3])]
        {
            connection.transaction_control("SAVEPOINT job").unwrap();
            assert_eq!(defer_number(connection, number), before);
            if fails {
                connection.transaction_control("ROLLBACK TO job").unwrap();
            }
            connection.transaction_control("RELEASE job").unwrap();
        }
        connection.commit().unwrap();
        assert_eq!(stored_numbers(connection), [1, 3]);
    }

    #[test]
    fn query_writes_deferred_rows_even_after_a_rolled_back_query() {
        let (_folder, mut connection) = open_connection();
        let connection = &mut connection;
        defer_number(connection, 1);
        connection.transaction_control("SAVEPOINT job").unwrap();
        assert_eq!(stored_numbers(connection), [1]);
        connection.transaction_control("ROLLBACK TO job").unwrap();
        connection.transaction_control("RELEASE job").unwrap();
        assert_eq!(defer_number(connection, 2), [1]);
        assert_eq!(stored_numbers(connection), [1, 2]);
        assert_eq!(defer_number(connection, 3), [0; 0]);
        connection.commit().unwrap();
        assert_eq!(stored_numbers(connection), [1, 2, 3]);
    }

    #[test]
    fn deferred_rows_are_scoped_to_tenant_type_and_transaction() {
        let (_folder, mut connection) = open_connection();
        let connection = &mut connection;
        defer_number(connection, 1);
        assert!(in_tx(connection, "b", |tx| tx.take_deferred_rows::<Numbers>()).is_none());
        assert!(in_tx(connection, "a", |tx| tx.take_deferred_rows::<OtherRows>()).is_none());
        in_tx(connection, "a", |tx| tx.defer_rows(Arc::new(OtherRows))).unwrap();
        assert_eq!(stored_numbers(connection), [1]);
        defer_number(connection, 2);
        connection.rollback();
        connection.begin_write().unwrap();
        assert_eq!(defer_number(connection, 3), [0; 0]);
        connection.commit().unwrap();
        assert_eq!(stored_numbers(connection), [3]);
    }

    #[test]
    fn commit_fails_when_deferred_rows_cannot_be_written() {
        let (_folder, mut connection) = open_connection();
        let connection = &mut connection;
        defer_number(connection, 1);
        assert_eq!(stored_numbers(connection), [1]);
        defer_number(connection, 1);
        assert!(in_tx(connection, "b", |tx| tx.query("SELECT 1", &[])).is_err());
        assert!(connection.commit().is_err());
        connection.rollback();
        assert_eq!(stored_numbers(connection), [0; 0]);
    }
}
