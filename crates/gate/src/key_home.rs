//! Where the signing keys live: a 0600 file beside SQLite, encrypted rows on PostgreSQL.
//!
//! Beside PostgreSQL every node must sign and check alike, so the keys are in the database; and a copy of the database
//! must not be enough to sign, so the rows are sealed under a secret that is not: `QUAD_KEY`.
//!
//! A change of the keys is one transaction of the tenant `system`, with its audit event. On SQLite the file is replaced
//! inside of it: the write lock keeps two processes from replacing it at once, and a crash before the commit leaves a
//! change without its event, never an event without its change.

use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD as BASE64;
use quad_core::{Error, EventDraft, Kind, Result, TenantId, Timestamp};
use quad_store::{Backend, Sql, Store, Tx, Writer, params};

use crate::key::{self, Seed, SigningKey};
use crate::key_file::{self, Entry};
use crate::keyring::{HeldKey, Keyring};
use crate::sealer::{SealedRow, Sealer, sealed_elsewhere};
use crate::{limits, secret_file};

/// Where to look for the keys, and what to open them with.
#[derive(Clone)]
pub struct KeyHome {
    data_dir: PathBuf,
    quad_key: Option<String>,
}

impl std::fmt::Debug for KeyHome {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let quad_key = if self.quad_key.is_some() { "set" } else { "not set" };
        f.debug_struct("KeyHome").field("data_dir", &self.data_dir).field("quad_key", &quad_key).finish()
    }
}

impl KeyHome {
    /// `data_dir` is where key files stand; `quad_key` is the value of `QUAD_KEY`, of which a blank one counts as none.
    /// Beside SQLite `QUAD_KEY` means nothing.
    pub fn new(data_dir: impl Into<PathBuf>, quad_key: Option<String>) -> KeyHome {
        let quad_key = quad_key.map(|text| text.trim().to_owned()).filter(|text| !text.is_empty());
        KeyHome { data_dir: data_dir.into(), quad_key }
    }

    /// The keys; the first is made now if there is none yet.
    pub(crate) async fn open(&self, store: &Store) -> Result<Keyring> {
        if store.backend() == Backend::Postgres {
            self.warn_of_a_weak_secret();
        }
        self.read(store).await
    }

    /// The keys as they are now.
    pub(crate) async fn read(&self, store: &Store) -> Result<Keyring> {
        let held = match store.backend() {
            Backend::Sqlite => {
                let path = self.file();
                let entries = off_thread(move || key_file::read_or_create(&path)).await?;
                let held = |entry: Entry| held(&entry.seed, entry.created_at, entry.retired_at);
                entries.into_iter().map(held).collect::<Result<Vec<_>>>()?
            }
            Backend::Postgres => self.shared(store).await?,
        };
        // A file from before a key was dropped may have come back.
        let dropped = store.read(&TenantId::system(), |snapshot| dropped(snapshot)).await?;
        Keyring::new(
            held.into_iter().filter(|held| !dropped.iter().any(|kid| kid == held.key.kid())).collect(),
        )
    }

    /// Makes a new key the current one and takes out those that nobody needs any more. Says the new one's name.
    pub(crate) async fn rotate(&self, store: &Store, unneeded: Vec<String>, actor: &str) -> Result<String> {
        let seed: Seed = key::random()?;
        let kid = SigningKey::from_seed(&seed)?.kid().to_owned();
        let event = EventDraft::system("identity", "key.rotated", actor).output("kid", kid.as_str());
        let writer = Writer::from(&TenantId::system());
        match store.backend() {
            Backend::Sqlite => {
                let (path, fresh) = (self.file(), kid.clone());
                let rotate = move |tx: &mut Tx<'_>| rotate_file(&path, &seed, &fresh, &unneeded, tx.now());
                store.write(&writer, event, rotate).await?;
            }
            Backend::Postgres => {
                let fresh = self.sealer(true).await?.seal(&kid, &seed)?;
                let name = kid.clone();
                let rotate = move |tx: &mut Tx<'_>| rotate_rows(tx, &name, &fresh, &unneeded);
                store.write(&writer, event, rotate).await?;
            }
        }
        Ok(kid)
    }

    /// Takes a key out for good. The current one stays: rotate first. Once more does no harm.
    pub(crate) async fn remove(&self, store: &Store, kid: &str, actor: &str) -> Result<()> {
        let event = EventDraft::system("identity", "key.dropped", actor).input("kid", kid);
        let (path, kid) = (self.file(), kid.to_owned());
        let writer = Writer::from(&TenantId::system());
        let remove = move |tx: &mut Tx<'_>| {
            tx.lock("gate:key")?;
            if dropped(tx)?.contains(&kid) {
                return Ok(());
            }
            match tx.backend() {
                Backend::Sqlite => remove_from_file(&path, &kid)?,
                Backend::Postgres => remove_row(tx, &kid)?,
            }
            let (tenant, now) = (tx.tenant().as_str().to_owned(), tx.now());
            tx.execute(
                "INSERT INTO gate_dropped_key (tenant_id, kid, dropped_at) VALUES ($1, $2, $3)",
                params![tenant, kid.as_str(), now],
            )?;
            Ok(())
        };
        store.write(&writer, event, remove).await?;
        Ok(())
    }

    fn file(&self) -> PathBuf {
        self.data_dir.join("signing.key")
    }

    async fn shared(&self, store: &Store) -> Result<Vec<HeldKey>> {
        let system = TenantId::system();
        let mut found = store.read(&system, |snapshot| rows(snapshot)).await?;
        let sealer = self.sealer(!found.is_empty()).await?;
        if found.is_empty() {
            let seed: Seed = key::random()?;
            let kid = SigningKey::from_seed(&seed)?.kid().to_owned();
            let sealed = sealer.seal(&kid, &seed)?;
            found = store.jot(&system, move |tx| keep_first(tx, &kid, &sealed)).await?;
        }
        found.iter().map(|row| held(&sealer.open(row)?, row.created_at, row.retired_at)).collect()
    }

    /// The secret that seals the rows. A `quad.key` is made only for rows that are still to be made: beside existing ones a
    /// new secret could only be wrong.
    async fn sealer(&self, rows_exist: bool) -> Result<Sealer> {
        if let Some(quad_key) = &self.quad_key {
            return Sealer::new(quad_key);
        }
        let file = self.data_dir.join("quad.key");
        let secret = off_thread(move || {
            if rows_exist { secret_file::read(&file) } else { secret_file::read_or_create(&file).map(Some) }
        });
        match secret.await? {
            Some(secret) => Sealer::new(&BASE64.encode(secret)),
            None => Err(sealed_elsewhere("QUAD_KEY_MISSING", "sealed, and QUAD_KEY is not set")),
        }
    }

    fn warn_of_a_weak_secret(&self) {
        match &self.quad_key {
            None => tracing::warn!(
                file = %self.data_dir.join("quad.key").display(),
                "QUAD_KEY is not set: the signing keys are sealed under the secret in this file, \
                 and other nodes need QUAD_KEY set to the line in it"
            ),
            Some(quad_key) if quad_key.chars().count() < limits::QUAD_KEY_CHARS_ADVISED => tracing::warn!(
                "QUAD_KEY is short enough to be guessed by whoever has a copy of the database; \
                 take {} random characters or more",
                limits::QUAD_KEY_CHARS_ADVISED
            ),
            Some(_) => {}
        }
    }
}

/// Runs file access where it holds up no task.
async fn off_thread<T: Send + 'static>(work: impl FnOnce() -> Result<T> + Send + 'static) -> Result<T> {
    tokio::task::spawn_blocking(work).await.map_err(Error::internal)?
}

fn held(seed: &Seed, created_at: Timestamp, retired_at: Option<Timestamp>) -> Result<HeldKey> {
    Ok(HeldKey { key: SigningKey::from_seed(seed)?, created_at, retired_at })
}

/// The names of the keys that were taken out.
fn dropped(sql: &mut impl Sql) -> Result<Vec<String>> {
    let tenant = sql.tenant().as_str().to_owned();
    let rows = sql.query("SELECT kid FROM gate_dropped_key WHERE tenant_id = $1", params![tenant])?;
    rows.iter().map(|row| Ok(row.text(0)?.to_owned())).collect()
}

fn rotate_file(path: &Path, seed: &Seed, kid: &str, unneeded: &[String], now: Timestamp) -> Result<()> {
    let mut kept = Vec::new();
    for mut entry in key_file::read_or_create(path)? {
        let name = SigningKey::from_seed(&entry.seed)?.kid().to_owned();
        if name == kid {
            // The transaction is being run again.
            return Ok(());
        }
        if entry.retired_at.is_none() || !unneeded.contains(&name) {
            entry.retired_at.get_or_insert(now);
            kept.push(entry);
        }
    }
    check_room(kept.len())?;
    kept.insert(0, Entry { seed: *seed, created_at: now, retired_at: None });
    key_file::replace(path, &kept)
}

fn rotate_rows(tx: &mut Tx<'_>, kid: &str, sealed: &[u8], unneeded: &[String]) -> Result<()> {
    tx.lock("gate:key")?;
    let (tenant, now) = (tx.tenant().as_str().to_owned(), tx.now());
    for old in unneeded {
        tx.execute(
            "DELETE FROM gate_key WHERE tenant_id = $1 AND kid = $2 AND retired_at IS NOT NULL",
            params![tenant.as_str(), old.as_str()],
        )?;
    }
    tx.execute(
        "UPDATE gate_key SET retired_at = $2 WHERE tenant_id = $1 AND retired_at IS NULL",
        params![tenant.as_str(), now],
    )?;
    check_room(rows(tx)?.len())?;
    insert(tx, kid, sealed)
}

fn remove_from_file(path: &Path, kid: &str) -> Result<()> {
    let (mut kept, mut found) = (Vec::new(), false);
    for entry in key_file::read_or_create(path)? {
        if SigningKey::from_seed(&entry.seed)?.kid() != kid {
            kept.push(entry);
            continue;
        }
        if entry.retired_at.is_none() {
            return Err(is_current(kid));
        }
        found = true;
    }
    if !found {
        return Err(no_such_key(kid));
    }
    key_file::replace(path, &kept)
}

fn remove_row(tx: &mut Tx<'_>, kid: &str) -> Result<()> {
    let row = rows(tx)?.into_iter().find(|row| row.kid == kid).ok_or_else(|| no_such_key(kid))?;
    if row.retired_at.is_none() {
        return Err(is_current(kid));
    }
    let tenant = tx.tenant().as_str().to_owned();
    tx.execute("DELETE FROM gate_key WHERE tenant_id = $1 AND kid = $2", params![tenant, kid])?;
    Ok(())
}

fn rows(sql: &mut impl Sql) -> Result<Vec<SealedRow>> {
    let tenant = sql.tenant().as_str().to_owned();
    let rows = sql.query(
        "SELECT kid, sealed, created_at, retired_at FROM gate_key WHERE tenant_id = $1 ORDER BY created_at, kid",
        params![tenant],
    )?;
    let row = |row: &quad_store::Row| {
        Ok(SealedRow {
            kid: row.text(0)?.to_owned(),
            sealed: row.blob(1)?.to_vec(),
            created_at: Timestamp(row.int(2)?),
            retired_at: row.opt_int(3)?.map(Timestamp),
        })
    };
    rows.iter().map(row).collect()
}

/// Keeps the row, unless another node was quicker: the first one's key stands, and everybody uses that.
fn keep_first(tx: &mut Tx<'_>, kid: &str, sealed: &[u8]) -> Result<Vec<SealedRow>> {
    tx.lock("gate:key")?;
    let first = rows(tx)?;
    if !first.is_empty() {
        return Ok(first);
    }
    insert(tx, kid, sealed)?;
    rows(tx)
}

fn insert(tx: &mut Tx<'_>, kid: &str, sealed: &[u8]) -> Result<()> {
    let (tenant, now) = (tx.tenant().as_str().to_owned(), tx.now());
    tx.execute(
        "INSERT INTO gate_key (tenant_id, kid, sealed, created_at) VALUES ($1, $2, $3, $4)",
        params![tenant, kid, sealed.to_vec(), now],
    )?;
    Ok(())
}

fn check_room(kept: usize) -> Result<()> {
    if kept < limits::KEYS_HELD {
        return Ok(());
    }
    Err(Error::new(Kind::Limit, "KEY_LIMIT", format!("{kept} keys are held already"))
        .hint("Drop an old one with `quad key drop`; the tokens that it signed stop working"))
}

fn is_current(kid: &str) -> Error {
    Error::new(Kind::Conflict, "KEY_IS_CURRENT", format!("{kid} is the key that signs"))
        .hint("Make another with `quad key rotate`, then drop this one")
}

fn no_such_key(kid: &str) -> Error {
    let shown: String = kid.chars().take(64).collect();
    Error::new(Kind::NotFound, "NOT_FOUND", format!("There is no key {shown}"))
        .hint("`quad key list` shows the keys")
}

#[cfg(test)]
mod tests {
    use quad_store::testing;

    use super::*;
    use crate::COMPONENT;

    #[test]
    fn debug_output_holds_no_secret() {
        let shown = format!("{:?}", KeyHome::new("data", Some("hush".into())));
        assert_eq!(shown, r#"KeyHome { data_dir: "data", quad_key: "set" }"#);
        assert!(format!("{:?}", KeyHome::new("data", Some(" \n".into()))).contains("not set"));
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn beside_sqlite_the_key_is_a_file_and_quad_key_means_nothing() {
        let place = testing::sqlite(&[COMPONENT]).await.unwrap();
        let (folder, elsewhere) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let first = KeyHome::new(folder.path(), None).open(&place.store).await.unwrap();
        let again = KeyHome::new(folder.path(), Some("x".into())).open(&place.store).await.unwrap();
        let other = KeyHome::new(elsewhere.path(), None).open(&place.store).await.unwrap();
        assert_eq!(first.current().kid(), again.current().kid());
        assert_ne!(first.current().kid(), other.current().kid());
        assert!(folder.path().join("signing.key").exists() && !folder.path().join("quad.key").exists());
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn the_first_key_stands() {
        for place in testing::stores(&[COMPONENT]).await.unwrap() {
            for kid in ["b", "a", "c"] {
                let keep = move |tx: &mut Tx<'_>| keep_first(tx, kid, kid.as_bytes());
                let kept = place.store.jot(&TenantId::system(), keep).await.unwrap();
                assert_eq!((kept[0].kid.as_str(), kept[0].sealed.as_slice()), ("b", &b"b"[..]));
                assert_eq!(kept.len(), 1);
            }
        }
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn nodes_that_start_at_once_with_one_quad_key_agree() {
        let Some(place) = testing::postgres(&[COMPONENT]).await.unwrap() else {
            return eprintln!("skipped: QUAD_TEST_POSTGRES_URL is not set");
        };
        let nodes: Vec<_> = (0..8)
            .map(|_| {
                let store = place.store.clone();
                let folder = tempfile::tempdir().unwrap();
                tokio::spawn(
                    async move { KeyHome::new(folder.path(), Some("q".repeat(32))).open(&store).await },
                )
            })
            .collect();
        let mut kids = Vec::new();
        for node in nodes {
            kids.push(node.await.unwrap().unwrap().current().kid().to_owned());
        }
        assert!(kids.iter().all(|kid| *kid == kids[0]), "{kids:?}");
        let folder = tempfile::tempdir().unwrap();
        let wrong = KeyHome::new(folder.path(), Some("w".repeat(32))).open(&place.store).await.unwrap_err();
        assert_eq!(wrong.code(), "QUAD_KEY_WRONG");
        let missing = KeyHome::new(folder.path(), None).open(&place.store).await.unwrap_err();
        assert_eq!(missing.code(), "QUAD_KEY_MISSING");
        assert_eq!(
            std::fs::read_dir(folder.path()).unwrap().count(),
            0,
            "a new quad.key could only be wrong"
        );
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn without_quad_key_the_first_node_keeps_a_file_whose_line_serves_the_others() {
        let Some(place) = testing::postgres(&[COMPONENT]).await.unwrap() else {
            return eprintln!("skipped: QUAD_TEST_POSTGRES_URL is not set");
        };
        let (first, second) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let kid =
            KeyHome::new(first.path(), None).open(&place.store).await.unwrap().current().kid().to_owned();
        assert_eq!(KeyHome::new(first.path(), None).open(&place.store).await.unwrap().current().kid(), kid);
        let line = std::fs::read_to_string(first.path().join("quad.key")).unwrap();
        assert_eq!(
            KeyHome::new(second.path(), Some(line)).open(&place.store).await.unwrap().current().kid(),
            kid
        );
    }
}
