//! Where the signing keys are stored: a file with mode 0600 for SQLite, encrypted rows for PostgreSQL.
//!
//! With PostgreSQL every node must sign and verify with the same keys, so the keys are in the database. A copy of the
//! database must not be enough to sign, so the rows are encrypted with `QUAD_KEY`, which is not in the database.
//!
//! A change of the keys is one transaction of the tenant `system` with its audit event. With SQLite the file is
//! replaced inside that transaction. The write lock prevents two processes from replacing it at the same time. A
//! crash before the commit leaves a changed file without an event, never an event without the change.

use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD as BASE64;
use quad_core::{Error, EventDraft, Kind, Result, TenantId, Timestamp, text};
use quad_store::{Backend, Sql, Store, Tx, WriteContext, params};

use crate::key::{self, Seed, SigningKey};
use crate::key_encryption::{EncryptedKey, KeyCipher, wrong_quad_key};
use crate::key_file::{self, KeyFileEntry};
use crate::keyring::{KeyEntry, Keyring};
use crate::{limits, secret_file};

/// Where the keys are stored and the secret that decrypts them.
#[derive(Clone)]
pub struct KeyStorage {
    data_dir: PathBuf,
    quad_key: Option<String>,
}

impl std::fmt::Debug for KeyStorage {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let quad_key = if self.quad_key.is_some() { "set" } else { "not set" };
        f.debug_struct("KeyStorage").field("data_dir", &self.data_dir).field("quad_key", &quad_key).finish()
    }
}

impl KeyStorage {
    /// The name of the key file in the data folder, with SQLite.
    pub const FILE_NAME: &'static str = "signing.key";

    /// `data_dir` holds the key files. `quad_key` is the value of `QUAD_KEY`; a blank value counts as unset. With
    /// SQLite `QUAD_KEY` is ignored.
    pub fn new(data_dir: impl Into<PathBuf>, quad_key: Option<String>) -> KeyStorage {
        let quad_key = quad_key.map(|text| text.trim().to_owned()).filter(|text| !text.is_empty());
        KeyStorage { data_dir: data_dir.into(), quad_key }
    }

    /// Reads the keys; creates the first one if there never was one.
    pub(crate) async fn open(&self, store: &Store) -> Result<Keyring> {
        if store.backend() == Backend::Postgres {
            self.warn_weak_quad_key();
        }
        self.read(store).await
    }

    /// Reads the current keys.
    pub(crate) async fn read(&self, store: &Store) -> Result<Keyring> {
        let keys = match store.backend() {
            Backend::Sqlite => {
                let entries = self.read_or_create_file(store).await?;
                let to_key = |entry: KeyFileEntry| key_entry(&entry.seed, entry.created_at, entry.retired_at);
                entries.into_iter().map(to_key).collect::<Result<Vec<_>>>()?
            }
            Backend::Postgres => self.load_rows(store).await?,
        };
        // A restored key file may contain a dropped key.
        let dropped = store.read(&TenantId::system(), |snapshot| dropped_kids(snapshot)).await?;
        Keyring::new(
            keys.into_iter().filter(|entry| !dropped.iter().any(|kid| kid == entry.key.kid())).collect(),
        )
    }

    /// The keys in the file. Creates the file, unless it was lost.
    async fn read_or_create_file(&self, store: &Store) -> Result<Vec<KeyFileEntry>> {
        let path = self.file();
        let read = || {
            let path = path.clone();
            run_blocking(move || key_file::read(&path))
        };
        if let Some(entries) = read().await? {
            return Ok(entries);
        }
        if has_valid_tokens(store).await? {
            // Another process may have created the file and minted a token meanwhile.
            return read().await?.ok_or_else(|| {
                key_missing(
                    "signing.key is missing in the data folder, but the database has tokens that it signed",
                )
            });
        }
        let seed: Seed = key::random_bytes()?;
        run_blocking(move || key_file::create(&path, &seed, Timestamp::now())).await
    }

    /// Creates a key in place of lost ones, and returns its id. The tokens that those signed stay invalid.
    pub async fn replace_lost(&self, store: &Store, actor: &str) -> Result<String> {
        let seed: Seed = key::random_bytes()?;
        let kid = SigningKey::from_seed(&seed)?.kid().to_owned();
        let event = EventDraft::system("identity", "key.created", actor).output("kid", kid.as_str());
        let writer = WriteContext::from(&TenantId::system());
        let name = kid.clone();
        match store.backend() {
            Backend::Sqlite => {
                let path = self.file();
                let create = move |tx: &mut Tx<'_>| create_in_file(&path, &seed, &name, tx.now());
                store.write(&writer, event, create).await?;
            }
            Backend::Postgres => {
                let rows = store.read(&TenantId::system(), |snapshot| load_encrypted_keys(snapshot)).await?;
                check_no_key(rows.len())?;
                let encrypted = self.key_cipher(false).await?.encrypt(&kid, &seed)?;
                let create = move |tx: &mut Tx<'_>| {
                    tx.lock("gate:key")?;
                    check_no_key(load_encrypted_keys(tx)?.len())?;
                    insert_key(tx, &name, &encrypted)
                };
                store.write(&writer, event, create).await?;
            }
        }
        Ok(kid)
    }

    /// Creates a new current key and removes the obsolete ones. Returns the id of the new key.
    pub(crate) async fn rotate(
        &self,
        store: &Store,
        obsolete_kids: Vec<String>,
        actor: &str,
    ) -> Result<String> {
        let seed: Seed = key::random_bytes()?;
        let kid = SigningKey::from_seed(&seed)?.kid().to_owned();
        let event = EventDraft::system("identity", "key.rotated", actor).output("kid", kid.as_str());
        let writer = WriteContext::from(&TenantId::system());
        match store.backend() {
            Backend::Sqlite => {
                let (path, new_kid) = (self.file(), kid.clone());
                let rotate =
                    move |tx: &mut Tx<'_>| rotate_file(&path, &seed, &new_kid, &obsolete_kids, tx.now());
                store.write(&writer, event, rotate).await?;
            }
            Backend::Postgres => {
                let encrypted = self.key_cipher(true).await?.encrypt(&kid, &seed)?;
                let name = kid.clone();
                let rotate = move |tx: &mut Tx<'_>| rotate_rows(tx, &name, &encrypted, &obsolete_kids);
                store.write(&writer, event, rotate).await?;
            }
        }
        Ok(kid)
    }

    /// Removes a key for good. The current key cannot be removed: rotate first. Idempotent.
    pub(crate) async fn remove(&self, store: &Store, kid: &str, actor: &str) -> Result<()> {
        let event = EventDraft::system("identity", "key.dropped", actor).input("kid", kid);
        let (path, kid) = (self.file(), kid.to_owned());
        let writer = WriteContext::from(&TenantId::system());
        let remove = move |tx: &mut Tx<'_>| {
            tx.lock("gate:key")?;
            if dropped_kids(tx)?.contains(&kid) {
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
        self.data_dir.join(Self::FILE_NAME)
    }

    async fn load_rows(&self, store: &Store) -> Result<Vec<KeyEntry>> {
        let system = TenantId::system();
        let load = || store.read(&system, |snapshot| load_encrypted_keys(snapshot));
        let mut encrypted_keys = load().await?;
        if encrypted_keys.is_empty() && has_valid_tokens(store).await? {
            // Another node may have inserted the first key and minted a token meanwhile.
            encrypted_keys = load().await?;
            if encrypted_keys.is_empty() {
                return Err(key_missing("The database has no signing key, but tokens that one has signed"));
            }
        }
        let cipher = self.key_cipher(!encrypted_keys.is_empty()).await?;
        if encrypted_keys.is_empty() {
            let seed: Seed = key::random_bytes()?;
            let kid = SigningKey::from_seed(&seed)?.kid().to_owned();
            let encrypted = cipher.encrypt(&kid, &seed)?;
            encrypted_keys =
                store.write_unaudited(&system, move |tx| insert_if_empty(tx, &kid, &encrypted)).await?;
        }
        encrypted_keys
            .iter()
            .map(|row| key_entry(&cipher.decrypt(row)?, row.created_at, row.retired_at))
            .collect()
    }

    /// The cipher of the rows. A `quad.key` is generated only if there are no rows yet: a new secret cannot decrypt
    /// existing rows.
    async fn key_cipher(&self, rows_exist: bool) -> Result<KeyCipher> {
        if let Some(quad_key) = &self.quad_key {
            return KeyCipher::new(quad_key);
        }
        let file = self.data_dir.join("quad.key");
        let secret = run_blocking(move || {
            if rows_exist { secret_file::read(&file) } else { secret_file::read_or_create(&file).map(Some) }
        });
        match secret.await? {
            Some(secret) => KeyCipher::new(&BASE64.encode(secret)),
            None => Err(wrong_quad_key("QUAD_KEY_MISSING", "encrypted, and QUAD_KEY is not set")),
        }
    }

    fn warn_weak_quad_key(&self) {
        match &self.quad_key {
            None => tracing::warn!(
                file = %self.data_dir.join("quad.key").display(),
                "QUAD_KEY is not set: the signing keys are encrypted with the secret in this file, \
                 and other nodes need QUAD_KEY set to the line in it"
            ),
            Some(quad_key) if quad_key.chars().count() < limits::QUAD_KEY_CHARS_ADVISED => tracing::warn!(
                "QUAD_KEY is too short: an attacker with a copy of the database could guess it; \
                 use {} random characters or more",
                limits::QUAD_KEY_CHARS_ADVISED
            ),
            Some(_) => {}
        }
    }
}

/// Runs file access on a blocking thread.
async fn run_blocking<T: Send + 'static>(f: impl FnOnce() -> Result<T> + Send + 'static) -> Result<T> {
    tokio::task::spawn_blocking(f).await.map_err(Error::internal)?
}

fn key_entry(seed: &Seed, created_at: Timestamp, retired_at: Option<Timestamp>) -> Result<KeyEntry> {
    Ok(KeyEntry { key: SigningKey::from_seed(seed)?, created_at, retired_at })
}

/// Whether any tenant has a token that is valid as far as the database knows: some key has signed it.
async fn has_valid_tokens(store: &Store) -> Result<bool> {
    // The keys belong to the server, so this query crosses tenants.
    let has_tokens = |snapshot: &mut quad_store::Snapshot<'_>| {
        let select = "SELECT id FROM gate_token WHERE revoked_at IS NULL AND expires_at > $1 LIMIT 1";
        Ok(snapshot.query_opt(select, params![Timestamp::now()])?.is_some())
    };
    store.read(&TenantId::system(), has_tokens).await
}

fn create_in_file(path: &Path, seed: &Seed, kid: &str, now: Timestamp) -> Result<()> {
    for entry in key_file::create(path, seed, now)? {
        // The transaction is retried; the file already has the key.
        if SigningKey::from_seed(&entry.seed)?.kid() == kid {
            return Ok(());
        }
    }
    check_no_key(1)
}

fn check_no_key(key_count: usize) -> Result<()> {
    if key_count == 0 {
        return Ok(());
    }
    Err(Error::new(Kind::Conflict, "KEY_EXISTS", "There is a signing key")
        .hint("Use `quad key rotate` to create another one"))
}

/// The error of a database whose tokens were signed with a key that is gone.
fn key_missing(message: &str) -> Error {
    Error::new(Kind::Conflict, "KEY_MISSING", message).hint(
        "Restore the key from a backup. If it is lost, run `quad key create`: it makes a new key, and every token must \
         be minted again",
    )
}

/// The ids of the dropped keys.
fn dropped_kids(sql: &mut impl Sql) -> Result<Vec<String>> {
    let tenant = sql.tenant().as_str().to_owned();
    let rows = sql.query("SELECT kid FROM gate_dropped_key WHERE tenant_id = $1", params![tenant])?;
    rows.iter().map(|row| Ok(row.text(0)?.to_owned())).collect()
}

fn rotate_file(path: &Path, seed: &Seed, kid: &str, obsolete_kids: &[String], now: Timestamp) -> Result<()> {
    let mut entries = Vec::new();
    for mut entry in key_file::read_existing(path)? {
        let entry_kid = SigningKey::from_seed(&entry.seed)?.kid().to_owned();
        if entry_kid == kid {
            // The transaction is retried; the file already has the key.
            return Ok(());
        }
        if entry.retired_at.is_none() || !obsolete_kids.contains(&entry_kid) {
            entry.retired_at.get_or_insert(now);
            entries.push(entry);
        }
    }
    check_capacity(entries.len())?;
    entries.insert(0, KeyFileEntry { seed: *seed, created_at: now, retired_at: None });
    key_file::replace(path, &entries)
}

fn rotate_rows(tx: &mut Tx<'_>, kid: &str, encrypted: &[u8], obsolete_kids: &[String]) -> Result<()> {
    tx.lock("gate:key")?;
    let (tenant, now) = (tx.tenant().as_str().to_owned(), tx.now());
    for obsolete_kid in obsolete_kids {
        tx.execute(
            "DELETE FROM gate_key WHERE tenant_id = $1 AND kid = $2 AND retired_at IS NOT NULL",
            params![tenant.as_str(), obsolete_kid.as_str()],
        )?;
    }
    tx.execute(
        "UPDATE gate_key SET retired_at = $2 WHERE tenant_id = $1 AND retired_at IS NULL",
        params![tenant.as_str(), now],
    )?;
    check_capacity(load_encrypted_keys(tx)?.len())?;
    insert_key(tx, kid, encrypted)
}

fn remove_from_file(path: &Path, kid: &str) -> Result<()> {
    let (mut remaining, mut found) = (Vec::new(), false);
    for entry in key_file::read_existing(path)? {
        if SigningKey::from_seed(&entry.seed)?.kid() != kid {
            remaining.push(entry);
            continue;
        }
        if entry.retired_at.is_none() {
            return Err(current_key_error(kid));
        }
        found = true;
    }
    if !found {
        return Err(key_not_found(kid));
    }
    key_file::replace(path, &remaining)
}

fn remove_row(tx: &mut Tx<'_>, kid: &str) -> Result<()> {
    let row =
        load_encrypted_keys(tx)?.into_iter().find(|row| row.kid == kid).ok_or_else(|| key_not_found(kid))?;
    if row.retired_at.is_none() {
        return Err(current_key_error(kid));
    }
    let tenant = tx.tenant().as_str().to_owned();
    tx.execute("DELETE FROM gate_key WHERE tenant_id = $1 AND kid = $2", params![tenant, kid])?;
    Ok(())
}

fn load_encrypted_keys(sql: &mut impl Sql) -> Result<Vec<EncryptedKey>> {
    let tenant = sql.tenant().as_str().to_owned();
    let rows = sql.query(
        "SELECT kid, sealed, created_at, retired_at FROM gate_key WHERE tenant_id = $1 ORDER BY created_at, kid",
        params![tenant],
    )?;
    let row = |row: &quad_store::Row| {
        Ok(EncryptedKey {
            kid: row.text(0)?.to_owned(),
            ciphertext: row.blob(1)?.to_vec(),
            created_at: Timestamp(row.int(2)?),
            retired_at: row.opt_int(3)?.map(Timestamp),
        })
    };
    rows.iter().map(row).collect()
}

/// Inserts the row, unless another node has inserted one first: all nodes use the first key.
fn insert_if_empty(tx: &mut Tx<'_>, kid: &str, encrypted: &[u8]) -> Result<Vec<EncryptedKey>> {
    tx.lock("gate:key")?;
    let existing = load_encrypted_keys(tx)?;
    if !existing.is_empty() {
        return Ok(existing);
    }
    insert_key(tx, kid, encrypted)?;
    load_encrypted_keys(tx)
}

fn insert_key(tx: &mut Tx<'_>, kid: &str, encrypted: &[u8]) -> Result<()> {
    let (tenant, now) = (tx.tenant().as_str().to_owned(), tx.now());
    tx.execute(
        "INSERT INTO gate_key (tenant_id, kid, sealed, created_at) VALUES ($1, $2, $3, $4)",
        params![tenant, kid, encrypted.to_vec(), now],
    )?;
    Ok(())
}

fn check_capacity(key_count: usize) -> Result<()> {
    if key_count < limits::KEYS_MAX {
        return Ok(());
    }
    Err(Error::new(Kind::Limit, "KEY_LIMIT", format!("There are {key_count} signing keys already"))
        .hint("Drop an old key with `quad key drop`; the tokens that it signed stop working"))
}

fn current_key_error(kid: &str) -> Error {
    Error::new(Kind::Conflict, "KEY_IS_CURRENT", format!("{kid} is the current signing key"))
        .hint("Create a new key with `quad key rotate`, then drop this one")
}

fn key_not_found(kid: &str) -> Error {
    let truncated = text::truncate(kid, limits::QUOTED_CHARS_MAX);
    Error::new(Kind::NotFound, "NOT_FOUND", format!("Key {truncated} not found"))
        .hint("List the keys with `quad key list`")
}

#[cfg(test)]
mod tests {
    use quad_store::testing;

    use super::*;
    use crate::service::tests::{AuthFixture, KNOWN_SCOPES, auth_fixtures, auth_outcome};
    use crate::{AuthService, COMPONENT};

    #[test]
    fn debug_output_holds_no_secret() {
        let debug_text = format!("{:?}", KeyStorage::new("data", Some("hush".into())));
        assert_eq!(debug_text, r#"KeyStorage { data_dir: "data", quad_key: "set" }"#);
        assert!(format!("{:?}", KeyStorage::new("data", Some(" \n".into()))).contains("not set"));
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn sqlite_uses_key_file_and_ignores_quad_key() {
        let db = testing::sqlite(&[COMPONENT]).await.unwrap();
        let (folder, other_folder) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let first = KeyStorage::new(folder.path(), None).open(&db.store).await.unwrap();
        let again = KeyStorage::new(folder.path(), Some("x".into())).open(&db.store).await.unwrap();
        let other = KeyStorage::new(other_folder.path(), None).open(&db.store).await.unwrap();
        assert_eq!(first.current().kid(), again.current().kid());
        assert_ne!(first.current().kid(), other.current().kid());
        assert!(folder.path().join("signing.key").exists() && !folder.path().join("quad.key").exists());
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn missing_key_beside_tokens_is_an_error_until_it_is_replaced() {
        for test in auth_fixtures().await {
            let (store, folder) = (&test.db.store, test.folder.path());
            let minted = test.auth.mint(test.mint_request("a", "table:read"), &KNOWN_SCOPES).await.unwrap();
            lose_keys(&test).await;
            let storage = KeyStorage::new(folder, None);
            let error = AuthService::open(store.clone(), storage.clone()).await.unwrap_err();
            assert_eq!((error.kind(), error.code()), (Kind::Conflict, "KEY_MISSING"), "{error}");
            assert!(!folder.join(KeyStorage::FILE_NAME).exists(), "no new key was made");

            let kid = storage.replace_lost(store, "operator").await.unwrap();
            let auth = AuthService::open(store.clone(), storage.clone()).await.unwrap();
            assert_eq!(auth.keys().await.unwrap()[0].kid, kid);
            assert_eq!(auth_outcome(&auth, &minted.token).await, "unknown_key");
            assert!(test.audit_records(&TenantId::system()).await.contains("key.created"));
            let again = storage.replace_lost(store, "operator").await.unwrap_err();
            assert_eq!(again.code(), "KEY_EXISTS");
            assert_eq!(auth.keys().await.unwrap().len(), 1);
        }
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn key_is_created_anew_if_no_valid_token_needs_the_old_one() {
        for test in auth_fixtures().await {
            let request = test.mint_request("a", "table:read");
            let id = test.auth.mint(request, &KNOWN_SCOPES).await.unwrap().record.id;
            test.auth.revoke(&test.db.tenant, &id, "operator").await.unwrap();
            lose_keys(&test).await;
            let storage = KeyStorage::new(test.folder.path(), None);
            assert_eq!(storage.open(&test.db.store).await.unwrap().iter().count(), 1);
        }
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn rotation_does_not_replace_a_lost_key() {
        let test = &auth_fixtures().await[0];
        std::fs::remove_file(test.folder.path().join(KeyStorage::FILE_NAME)).unwrap();
        let storage = KeyStorage::new(test.folder.path(), None);
        assert!(storage.rotate(&test.db.store, Vec::new(), "operator").await.is_err());
    }

    /// Removes the keys, as a restore of the database alone does.
    async fn lose_keys(test: &AuthFixture) {
        match test.db.store.backend() {
            Backend::Sqlite => {
                std::fs::remove_file(test.folder.path().join(KeyStorage::FILE_NAME)).unwrap();
            }
            Backend::Postgres => {
                let delete = |tx: &mut Tx<'_>| {
                    assert_eq!(tx.execute("DELETE FROM gate_key WHERE tenant_id = 'system'", &[])?, 1);
                    Ok(())
                };
                test.db.store.write_unaudited(&TenantId::system(), delete).await.unwrap();
            }
        }
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn insert_if_empty_keeps_the_first_key() {
        for db in testing::stores(&[COMPONENT]).await.unwrap() {
            for kid in ["b", "a", "c"] {
                let insert = move |tx: &mut Tx<'_>| insert_if_empty(tx, kid, kid.as_bytes());
                let rows = db.store.write_unaudited(&TenantId::system(), insert).await.unwrap();
                assert_eq!((rows[0].kid.as_str(), rows[0].ciphertext.as_slice()), ("b", &b"b"[..]));
                assert_eq!(rows.len(), 1);
            }
        }
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn concurrent_nodes_with_same_quad_key_share_one_key() {
        let Some(db) = testing::postgres(&[COMPONENT]).await.unwrap() else {
            return eprintln!("skipped: QUAD_TEST_POSTGRES_URL is not set");
        };
        let nodes: Vec<_> = (0..8)
            .map(|_| {
                let store = db.store.clone();
                let folder = tempfile::tempdir().unwrap();
                tokio::spawn(async move {
                    KeyStorage::new(folder.path(), Some("q".repeat(32))).open(&store).await
                })
            })
            .collect();
        let mut kids = Vec::new();
        for node in nodes {
            kids.push(node.await.unwrap().unwrap().current().kid().to_owned());
        }
        assert!(kids.iter().all(|kid| *kid == kids[0]), "{kids:?}");
        let folder = tempfile::tempdir().unwrap();
        let wrong = KeyStorage::new(folder.path(), Some("w".repeat(32))).open(&db.store).await.unwrap_err();
        assert_eq!(wrong.code(), "QUAD_KEY_WRONG");
        let missing = KeyStorage::new(folder.path(), None).open(&db.store).await.unwrap_err();
        assert_eq!(missing.code(), "QUAD_KEY_MISSING");
        assert_eq!(
            std::fs::read_dir(folder.path()).unwrap().count(),
            0,
            "a new quad.key cannot decrypt existing rows"
        );
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn generated_quad_key_works_on_other_nodes() {
        let Some(db) = testing::postgres(&[COMPONENT]).await.unwrap() else {
            return eprintln!("skipped: QUAD_TEST_POSTGRES_URL is not set");
        };
        let (first, second) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let kid =
            KeyStorage::new(first.path(), None).open(&db.store).await.unwrap().current().kid().to_owned();
        assert_eq!(KeyStorage::new(first.path(), None).open(&db.store).await.unwrap().current().kid(), kid);
        let line = std::fs::read_to_string(first.path().join("quad.key")).unwrap();
        assert_eq!(
            KeyStorage::new(second.path(), Some(line)).open(&db.store).await.unwrap().current().kid(),
            kid
        );
    }
}
