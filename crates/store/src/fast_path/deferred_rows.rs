//! Rows that the jobs of one transaction leave in memory, so that they are written together at its end.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use quad_core::{Error, Result, TenantId, Timestamp, Version};

use crate::connection::Connection;
use crate::{Backend, DbError, Sql as _, Tx};

/// Rows that wait for the end of a transaction.
///
/// They are written before the commit and before any statement of a [`Tx`], so a query never misses them. If a job
/// fails, the rows that it deferred are dropped. The next job may [take](Tx::take_deferred_rows) them: it knows what
/// they will say and need not query for it.
pub trait DeferredRows: Any + Send + Sync {
    /// Writes all of them.
    fn write(&self, tx: &mut Tx<'_>) -> Result<()>;
}

/// Deferred rows, and the view of the transaction in which they are written.
#[derive(Clone)]
struct Entry {
    tenant: TenantId,
    version: Version,
    now: Timestamp,
    rows: Arc<dyn DeferredRows>,
}

/// The deferred rows of one transaction: one level for the transaction and one for each open savepoint. The last
/// level is the current one; those before it are what a rollback goes back to.
#[derive(Default)]
pub(crate) struct DeferredRowStack(Vec<Option<Entry>>);

impl DeferredRowStack {
    /// A savepoint begins.
    pub(crate) fn savepoint(&mut self) {
        let current = self.current().clone();
        self.0.push(current);
    }

    /// A savepoint ends; its rows stay.
    pub(crate) fn release(&mut self) {
        let released = self.0.pop().flatten();
        *self.current() = released;
    }

    /// What happened since the savepoint is undone; the savepoint stays open.
    pub(crate) fn rollback_to(&mut self) {
        self.0.pop();
        let current = self.current().clone();
        self.0.push(current);
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.last().is_none_or(Option::is_none)
    }

    /// Takes the rows if they are of this tenant and type.
    fn take_typed<T: DeferredRows>(&mut self, tenant: &TenantId) -> Option<Arc<T>> {
        let is_match = |entry: &mut Entry| entry.tenant == *tenant && (&*entry.rows as &dyn Any).is::<T>();
        let entry = self.0.last_mut()?.take_if(is_match)?;
        (entry.rows as Arc<dyn Any + Send + Sync>).downcast().ok()
    }

    fn current(&mut self) -> &mut Option<Entry> {
        if self.0.is_empty() {
            self.0.push(None);
        }
        let last = self.0.len() - 1;
        &mut self.0[last]
    }
}

/// Writes the deferred rows, if there are any.
pub(crate) fn write(
    connection: &mut Connection,
    stack: &mut DeferredRowStack,
) -> std::result::Result<(), DbError> {
    let Some(entry) = stack.0.last_mut().and_then(Option::take) else { return Ok(()) };
    let mut tx = Tx::new(connection, stack, &entry.tenant, entry.version, entry.now);
    // A panic must not end the commit thread.
    let result = catch_unwind(AssertUnwindSafe(|| entry.rows.write(&mut tx)))
        .unwrap_or_else(|_| Err(Error::internal("writing deferred rows panicked")));
    let saw_retryable = tx.saw_retryable();
    result.map_err(|error| {
        // Kept, so that the commit fails as well if the job ignores this error.
        *stack.current() = Some(entry);
        let cause = error.cause_chain();
        if saw_retryable { DbError::Retryable(cause) } else { DbError::other(cause) }
    })
}

impl Tx<'_> {
    /// What earlier jobs of this transaction have deferred for this tenant, if it is of this type and not written
    /// yet. The caller must defer it again or write it.
    pub fn take_deferred_rows<T: DeferredRows>(&mut self) -> Option<Arc<T>> {
        let (stack, tenant, ..) = self.deferred_rows_mut();
        stack.take_typed(tenant)
    }

    /// Leaves these rows in memory for the next job. Rows that were deferred before and have not been taken are
    /// written.
    pub fn defer_rows(&mut self, rows: Arc<impl DeferredRows>) -> Result<()> {
        self.write_deferred_rows()?;
        if self.backend() == Backend::Postgres {
            // A job is alone in its transaction there.
            return rows.write(self);
        }
        let (stack, tenant, version, now) = self.deferred_rows_mut();
        let entry = Entry { tenant: tenant.clone(), version, now, rows };
        *stack.current() = Some(entry);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::connection::sqlite;
    use crate::params;
    use crate::write_transaction::{Savepoint, WriteTransaction};

    const VERSION: Version = Version(3);
    const NOW: Timestamp = Timestamp(7);

    struct Numbers(Vec<i64>);

    impl DeferredRows for Numbers {
        fn write(&self, tx: &mut Tx<'_>) -> quad_core::Result<()> {
            assert_eq!((tx.version(), tx.now()), (VERSION, NOW), "as in the job that deferred them");
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

    fn in_tx<T>(
        transaction: &mut WriteTransaction<'_>,
        tenant: &str,
        job: impl FnOnce(&mut Tx<'_>) -> T,
    ) -> T {
        job(&mut transaction.tx(&TenantId::new(tenant), VERSION, NOW))
    }

    /// Defers a number in addition to those that are deferred; returns the numbers before it.
    fn defer_number(transaction: &mut WriteTransaction<'_>, number: i64) -> Vec<i64> {
        in_tx(transaction, "a", |tx| {
            let before =
                tx.take_deferred_rows::<Numbers>().map_or_else(Vec::new, |numbers| numbers.0.clone());
            tx.defer_rows(Arc::new(Numbers([before.as_slice(), &[number]].concat()))).unwrap();
            before
        })
    }

    fn stored_numbers(transaction: &mut WriteTransaction<'_>) -> Vec<i64> {
        let rows =
            in_tx(transaction, "a", |tx| tx.query("SELECT number FROM number ORDER BY number", &[]).unwrap());
        rows.iter().map(|row| row.int(0).unwrap()).collect()
    }

    /// The numbers after a commit or a rollback, in a transaction of its own.
    fn committed_numbers(connection: &mut Connection) -> Vec<i64> {
        let numbers = stored_numbers(&mut WriteTransaction::begin(connection).unwrap());
        connection.rollback();
        numbers
    }

    fn open_connection() -> (tempfile::TempDir, Connection) {
        let folder = tempfile::tempdir().unwrap();
        let mut connection = Connection::Sqlite(sqlite::Conn::open(&folder.path().join("file")).unwrap());
        connection.execute_script("CREATE TABLE number (number INTEGER PRIMARY KEY)").unwrap();
        (folder, connection)
    }

    #[test]
    fn rollback_discards_only_rows_deferred_in_that_savepoint() {
        let (_folder, mut connection) = open_connection();
        let mut transaction = WriteTransaction::begin(&mut connection).unwrap();
        for (number, fails, before) in
            [(1, false, vec![]), (2, true, vec![1]), (3, false, vec![1]), (4, true, vec![1, 3])]
        {
            transaction.savepoint(Savepoint::Job).unwrap();
            assert_eq!(defer_number(&mut transaction, number), before);
            if fails {
                transaction.rollback_to(Savepoint::Job).unwrap();
            }
            transaction.release(Savepoint::Job).unwrap();
        }
        transaction.commit().unwrap();
        assert_eq!(committed_numbers(&mut connection), [1, 3]);
    }

    #[test]
    fn query_writes_deferred_rows_even_after_a_rolled_back_query() {
        let (_folder, mut connection) = open_connection();
        let mut transaction = WriteTransaction::begin(&mut connection).unwrap();
        defer_number(&mut transaction, 1);
        transaction.savepoint(Savepoint::Job).unwrap();
        assert_eq!(stored_numbers(&mut transaction), [1]);
        transaction.rollback_to(Savepoint::Job).unwrap();
        transaction.release(Savepoint::Job).unwrap();
        assert_eq!(defer_number(&mut transaction, 2), [1]);
        assert_eq!(stored_numbers(&mut transaction), [1, 2]);
        assert_eq!(defer_number(&mut transaction, 3), [0; 0]);
        transaction.commit().unwrap();
        assert_eq!(committed_numbers(&mut connection), [1, 2, 3]);
    }

    #[test]
    fn deferred_rows_are_scoped_to_tenant_type_and_transaction() {
        let (_folder, mut connection) = open_connection();
        let mut transaction = WriteTransaction::begin(&mut connection).unwrap();
        defer_number(&mut transaction, 1);
        assert!(in_tx(&mut transaction, "b", |tx| tx.take_deferred_rows::<Numbers>()).is_none());
        assert!(in_tx(&mut transaction, "a", |tx| tx.take_deferred_rows::<OtherRows>()).is_none());
        in_tx(&mut transaction, "a", |tx| tx.defer_rows(Arc::new(OtherRows))).unwrap();
        assert_eq!(stored_numbers(&mut transaction), [1]);
        defer_number(&mut transaction, 2);
        connection.rollback();
        let mut transaction = WriteTransaction::begin(&mut connection).unwrap();
        assert_eq!(defer_number(&mut transaction, 3), [0; 0]);
        transaction.commit().unwrap();
        assert_eq!(committed_numbers(&mut connection), [3]);
    }

    #[test]
    fn commit_fails_when_deferred_rows_cannot_be_written() {
        let (_folder, mut connection) = open_connection();
        let mut transaction = WriteTransaction::begin(&mut connection).unwrap();
        defer_number(&mut transaction, 1);
        assert_eq!(stored_numbers(&mut transaction), [1]);
        defer_number(&mut transaction, 1);
        assert!(in_tx(&mut transaction, "b", |tx| tx.query("SELECT 1", &[])).is_err());
        assert!(transaction.commit().is_err());
        connection.rollback();
        assert_eq!(committed_numbers(&mut connection), [0; 0]);
    }
}
