//! Rows that wait for the end of a transaction, and go with the savepoints as written ones do.

use std::any::Any;
use std::sync::Arc;

use quad_core::TenantId;

use crate::sql::Gathered;

/// What has been gathered, and for whom.
#[derive(Clone)]
pub(crate) struct Entry {
    pub(crate) tenant: TenantId,
    pub(crate) rows: Arc<dyn Gathered>,
}

/// What has been gathered at the beginning of each open savepoint, and last what has been by now.
#[derive(Default)]
pub(crate) struct Layers(Vec<Option<Entry>>);

impl Layers {
    /// Does what a statement that steers the transaction does to rows.
    pub(crate) fn follow(&mut self, control: &str) {
        if control.starts_with("SAVEPOINT") {
            let now = self.now().clone();
            self.0.push(now);
        } else if control.starts_with("RELEASE") {
            let now = self.0.pop().flatten();
            *self.now() = now;
        } else if control.starts_with("ROLLBACK TO") {
            self.0.pop();
            let before = self.now().clone();
            self.0.push(before);
        } else {
            // A transaction begins or ends.
            self.0.clear();
        }
    }

    /// Adds what is to wait, in the place of what waited.
    pub(crate) fn put(&mut self, entry: Entry) {
        *self.now() = Some(entry);
    }

    /// Hands out what waits, whatever it is.
    pub(crate) fn take(&mut self) -> Option<Entry> {
        self.0.last_mut()?.take()
    }

    /// Hands out what waits for that tenant, if it is of that kind.
    pub(crate) fn take_of<T: Gathered>(&mut self, tenant: &TenantId) -> Option<Arc<T>> {
        let now = self.0.last_mut()?;
        let entry = now.take_if(|entry| entry.tenant == *tenant && (&*entry.rows as &dyn Any).is::<T>())?;
        (entry.rows as Arc<dyn Any + Send + Sync>).downcast().ok()
    }

    fn now(&mut self) -> &mut Option<Entry> {
        if self.0.is_empty() {
            self.0.push(None);
        }
        let last = self.0.len() - 1;
        &mut self.0[last]
    }
}

#[cfg(test)]
mod tests {
    use quad_core::facts::AuditFields;
    use quad_core::{Timestamp, Version};

    use super::*;
    use crate::connection::{Connection, sqlite};
    use crate::{Sql as _, Tx, params};

    struct Numbers(Vec<i64>);

    impl Gathered for Numbers {
        fn write(&self, tx: &mut Tx<'_>) -> quad_core::Result<()> {
            for number in &self.0 {
                tx.execute("INSERT INTO number VALUES ($1)", params![*number])?;
            }
            Ok(())
        }
    }

    struct Others;

    impl Gathered for Others {
        fn write(&self, _: &mut Tx<'_>) -> quad_core::Result<()> {
            Ok(())
        }
    }

    fn tx<T>(connection: &mut Connection, tenant: &str, job: impl FnOnce(&mut Tx<'_>) -> T) -> T {
        job(&mut Tx {
            connection,
            tenant: &TenantId::new(tenant),
            version: Version(0),
            now: Timestamp::now(),
            tags: Vec::new(),
            outputs: AuditFields::default(),
            told: Vec::new(),
        })
    }

    /// Adds a number to those that wait, and gives the ones before.
    fn add(connection: &mut Connection, number: i64) -> Vec<i64> {
        tx(connection, "a", |tx| {
            let before = tx.take_gathered::<Numbers>().map_or_else(Vec::new, |numbers| numbers.0.clone());
            tx.gather(Arc::new(Numbers([before.as_slice(), &[number]].concat()))).unwrap();
            before
        })
    }

    fn stored(connection: &mut Connection) -> Vec<i64> {
        let rows =
            tx(connection, "a", |tx| tx.query("SELECT number FROM number ORDER BY number", &[]).unwrap());
        rows.iter().map(|row| row.int(0).unwrap()).collect()
    }

    fn opened() -> (tempfile::TempDir, Connection) {
        let folder = tempfile::tempdir().unwrap();
        let mut connection = Connection::Sqlite(sqlite::Conn::open(&folder.path().join("file")).unwrap());
        connection.batch("CREATE TABLE number (number INTEGER PRIMARY KEY)").unwrap();
        connection.begin_write().unwrap();
        (folder, connection)
    }

    #[test]
    fn what_a_failed_job_gathered_goes_with_it_and_nothing_else() {
        let (_folder, mut connection) = opened();
        let connection = &mut connection;
        for (number, fails, before) in
            [(1, false, vec![]), (2, true, vec![1]), (3, false, vec![1]), (4, true, vec![1, 3])]
        {
            connection.control("SAVEPOINT job").unwrap();
            assert_eq!(add(connection, number), before);
            if fails {
                connection.control("ROLLBACK TO job").unwrap();
            }
            connection.control("RELEASE job").unwrap();
        }
        connection.commit().unwrap();
        assert_eq!(stored(connection), [1, 3]);
    }

    #[test]
    fn whoever_asks_finds_it_written_also_after_one_who_asked_and_failed() {
        let (_folder, mut connection) = opened();
        let connection = &mut connection;
        add(connection, 1);
        connection.control("SAVEPOINT job").unwrap();
        assert_eq!(stored(connection), [1]);
        connection.control("ROLLBACK TO job").unwrap();
        connection.control("RELEASE job").unwrap();
        assert_eq!(add(connection, 2), [1]);
        assert_eq!(stored(connection), [1, 2]);
        assert_eq!(add(connection, 3), [0; 0]);
        connection.commit().unwrap();
        assert_eq!(stored(connection), [1, 2, 3]);
    }

    #[test]
    fn it_is_for_one_tenant_and_of_one_kind_and_ends_with_the_transaction() {
        let (_folder, mut connection) = opened();
        let connection = &mut connection;
        add(connection, 1);
        assert!(tx(connection, "b", |tx| tx.take_gathered::<Numbers>()).is_none());
        assert!(tx(connection, "a", |tx| tx.take_gathered::<Others>()).is_none());
        tx(connection, "a", |tx| tx.gather(Arc::new(Others))).unwrap();
        assert_eq!(stored(connection), [1]);
        add(connection, 2);
        connection.rollback();
        connection.begin_write().unwrap();
        assert_eq!(add(connection, 3), [0; 0]);
        connection.commit().unwrap();
        assert_eq!(stored(connection), [3]);
    }

    #[test]
    fn what_cannot_be_written_cannot_be_committed() {
        let (_folder, mut connection) = opened();
        let connection = &mut connection;
        add(connection, 1);
        assert_eq!(stored(connection), [1]);
        add(connection, 1);
        assert!(tx(connection, "b", |tx| tx.query("SELECT 1", &[])).is_err());
        assert!(connection.commit().is_err());
        connection.rollback();
        assert_eq!(stored(connection), [0; 0]);
    }
}
