//! Where the signing key lives: a 0600 file beside SQLite, an encrypted row on PostgreSQL.
//!
//! Beside PostgreSQL every node must sign and check alike, so the key is in the database; and a copy of the database
//! must not be enough to sign, so the row is sealed under a secret that is not: `QUAD_KEY`.

use std::path::PathBuf;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD as BASE64;
use quad_core::{Error, Kind, Result, TenantId};
use quad_store::{Backend, Sql, Store, Tx, params};
use ring::aead::{AES_256_GCM, Aad, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};

use crate::key::{self, Seed, SigningKey};
use crate::{limits, secret_file};

/// Where to look for the key, and what to open it with.
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

    /// The key; made now if there is none yet.
    pub(crate) async fn open(self, store: &Store) -> Result<SigningKey> {
        let seed = match store.backend() {
            Backend::Sqlite => {
                let path = self.data_dir.join("signing.key");
                off_thread(move || secret_file::read_or_create(&path)).await?
            }
            Backend::Postgres => self.shared_seed(store).await?,
        };
        SigningKey::from_seed(&seed)
    }

    async fn shared_seed(&self, store: &Store) -> Result<Seed> {
        let system = TenantId::system();
        let found = store.read(&system, |snapshot| find(snapshot)).await?;
        let sealer = self.sealer(found.is_some()).await?;
        let row = match found {
            Some(row) => row,
            None => {
                let seed: Seed = key::random()?;
                let kid = SigningKey::from_seed(&seed)?.kid().to_owned();
                let fresh = SealedRow { sealed: sealer.seal(&kid, &seed)?, kid };
                store.jot(&system, move |tx| keep_first(tx, &fresh)).await?
            }
        };
        sealer.open(&row)
    }

    /// The secret that seals the row. A `quad.key` is made only for a row that is still to be made: beside an existing
    /// row a new one could only be wrong.
    async fn sealer(&self, row_exists: bool) -> Result<Sealer> {
        if let Some(quad_key) = &self.quad_key {
            if quad_key.chars().count() < limits::QUAD_KEY_CHARS_ADVISED {
                tracing::warn!(
                    "QUAD_KEY is short enough to be guessed by whoever has a copy of the database; \
                     take {} random characters or more",
                    limits::QUAD_KEY_CHARS_ADVISED
                );
            }
            return Sealer::new(quad_key);
        }
        let path = self.data_dir.join("quad.key");
        let file = path.clone();
        let secret = off_thread(move || {
            if row_exists { secret_file::read(&file) } else { secret_file::read_or_create(&file).map(Some) }
        })
        .await?;
        let Some(secret) = secret else {
            return Err(sealed_elsewhere("QUAD_KEY_MISSING", "sealed, and QUAD_KEY is not set"));
        };
        tracing::warn!(
            file = %path.display(),
            "QUAD_KEY is not set: the signing key is sealed under the secret in this file, \
             and other nodes need QUAD_KEY set to the line in it"
        );
        Sealer::new(&BASE64.encode(secret))
    }
}

/// Runs file access where it holds up no task.
async fn off_thread<T: Send + 'static>(work: impl FnOnce() -> Result<T> + Send + 'static) -> Result<T> {
    tokio::task::spawn_blocking(work).await.map_err(Error::internal)?
}

/// The key's row, still sealed.
#[derive(Clone)]
struct SealedRow {
    kid: String,
    sealed: Vec<u8>,
}

fn find(sql: &mut impl Sql) -> Result<Option<SealedRow>> {
    let tenant = sql.tenant().as_str().to_owned();
    let row = sql.query_opt(
        "SELECT kid, sealed FROM gate_key WHERE tenant_id = $1 ORDER BY created_at DESC, kid LIMIT 1",
        params![tenant],
    )?;
    match row {
        None => Ok(None),
        Some(row) => Ok(Some(SealedRow { kid: row.text(0)?.to_owned(), sealed: row.blob(1)?.to_vec() })),
    }
}

/// Keeps the row, unless another node was quicker: the first one's key stands, and everybody uses that.
fn keep_first(tx: &mut Tx<'_>, fresh: &SealedRow) -> Result<SealedRow> {
    tx.lock("gate:key")?;
    if let Some(first) = find(tx)? {
        return Ok(first);
    }
    tx.execute(
        "INSERT INTO gate_key (tenant_id, kid, sealed, created_at) VALUES ($1, $2, $3, $4)",
        params![tx.tenant().as_str(), fresh.kid.as_str(), fresh.sealed.clone(), tx.now()],
    )?;
    Ok(fresh.clone())
}

/// Seals a seed with AES-256-GCM under a key derived from a secret text. The nonce stands before the sealed bytes, and
/// the key's name is bound to them.
struct Sealer(LessSafeKey);

impl Sealer {
    fn new(secret: &str) -> Result<Sealer> {
        let derived = key::derive(secret.as_bytes(), "key encryption")?;
        let key = UnboundKey::new(&AES_256_GCM, &derived)
            .map_err(|_| Error::internal("AES-256-GCM refused its key"))?;
        Ok(Sealer(LessSafeKey::new(key)))
    }

    fn seal(&self, kid: &str, seed: &Seed) -> Result<Vec<u8>> {
        let nonce: [u8; NONCE_LEN] = key::random()?;
        let mut body = seed.to_vec();
        self.0
            .seal_in_place_append_tag(
                Nonce::assume_unique_for_key(nonce),
                Aad::from(kid.as_bytes()),
                &mut body,
            )
            .map_err(|_| Error::internal("AES-256-GCM refused to seal"))?;
        Ok([nonce.as_slice(), &body].concat())
    }

    fn open(&self, row: &SealedRow) -> Result<Seed> {
        self.try_open(row).ok_or_else(|| sealed_elsewhere("QUAD_KEY_WRONG", "sealed under another QUAD_KEY"))
    }

    fn try_open(&self, row: &SealedRow) -> Option<Seed> {
        let (nonce, body) = row.sealed.split_at_checked(NONCE_LEN)?;
        let nonce = Nonce::try_assume_unique_for_key(nonce).ok()?;
        let mut body = body.to_vec();
        let seed = self.0.open_in_place(nonce, Aad::from(row.kid.as_bytes()), &mut body).ok()?;
        Seed::try_from(&*seed).ok()
    }
}

fn sealed_elsewhere(code: &'static str, how: &str) -> Error {
    Error::new(Kind::BadInput, code, format!("The signing key in the database is {how}"))
        .hint("Set QUAD_KEY to what the other nodes have, or to the line in the first node's quad.key")
}

#[cfg(test)]
mod tests {
    use quad_store::testing;

    use super::*;
    use crate::COMPONENT;

    #[test]
    fn a_sealed_seed_opens_under_its_secret_and_name_only() {
        let sealer = Sealer::new("one secret").unwrap();
        let row = SealedRow { kid: "k1".into(), sealed: sealer.seal("k1", &[7; 32]).unwrap() };
        assert_eq!(sealer.open(&row).unwrap(), [7; 32]);
        assert!(!row.sealed.windows(8).any(|window| window == [7; 8]));
        assert_ne!(sealer.seal("k1", &[7; 32]).unwrap(), row.sealed, "a nonce was used twice");
        let other_name = SealedRow { kid: "k2".into(), ..row.clone() };
        let cut = SealedRow { sealed: row.sealed[..10].to_vec(), ..row.clone() };
        for (sealer, row) in
            [(&Sealer::new("another").unwrap(), &row), (&sealer, &other_name), (&sealer, &cut)]
        {
            assert_eq!(sealer.open(row).unwrap_err().code(), "QUAD_KEY_WRONG");
        }
    }

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
        assert_eq!(first.kid(), again.kid());
        assert_ne!(first.kid(), other.kid());
        assert!(folder.path().join("signing.key").exists() && !folder.path().join("quad.key").exists());
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn the_first_key_stands() {
        for place in testing::stores(&[COMPONENT]).await.unwrap() {
            for kid in ["b", "a", "c"] {
                let fresh = SealedRow { kid: kid.to_owned(), sealed: kid.as_bytes().to_vec() };
                let kept =
                    place.store.jot(&TenantId::system(), move |tx| keep_first(tx, &fresh)).await.unwrap();
                assert_eq!((kept.kid.as_str(), kept.sealed.as_slice()), ("b", &b"b"[..]));
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
            kids.push(node.await.unwrap().unwrap().kid().to_owned());
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
        let kid = KeyHome::new(first.path(), None).open(&place.store).await.unwrap().kid().to_owned();
        assert_eq!(KeyHome::new(first.path(), None).open(&place.store).await.unwrap().kid(), kid);
        let line = std::fs::read_to_string(first.path().join("quad.key")).unwrap();
        assert_eq!(KeyHome::new(second.path(), Some(line)).open(&place.store).await.unwrap().kid(), kid);
    }
}
