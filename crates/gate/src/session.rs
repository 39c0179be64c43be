//! Legacy sessions: a signed string that says whose it is, for which revision, and until when.
//!
//! Any node can check one without having seen it before; the database knows a session only once it has ended or has
//! subscriptions. A session id is not a credential: each request is authenticated by its own token, and an id works for
//! the principal that opened it and for nobody else. A forged, expired, ended or foreign id are one answer.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD as BASE64;
use quad_core::limits::SUBSCRIPTION_URIS;
use quad_core::{Error, Kind, Principal, Result, Timestamp, canonical};
use quad_store::{Sql, Tx, params};
use serde_json::{Value, json};

use crate::gate::Gate;
use crate::{key, limits};

/// What keeps a session id from passing as another sealed string.
const PURPOSE: &str = "session";

/// An open session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Session {
    /// The protocol revision that was agreed when it was opened.
    pub revision: String,
}

/// Why a session was not accepted.
#[derive(Debug)]
pub enum SessionRefusal {
    /// Forged, expired, ended, or another principal's.
    NotFound,
    /// Not the session's fault: the database could not be asked.
    Failed(Error),
}

impl std::fmt::Display for SessionRefusal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            SessionRefusal::NotFound => "There is no such session",
            SessionRefusal::Failed(error) => error.message(),
        })
    }
}

impl std::error::Error for SessionRefusal {}

impl From<Error> for SessionRefusal {
    fn from(error: Error) -> SessionRefusal {
        if error.code() == NOT_FOUND { SessionRefusal::NotFound } else { SessionRefusal::Failed(error) }
    }
}

const NOT_FOUND: &str = "SESSION_NOT_FOUND";

fn not_found() -> Error {
    Error::new(Kind::NotFound, NOT_FOUND, "There is no such session")
        .hint("Send initialize to open a new one")
}

/// What a genuine id says.
struct Opened {
    revision: String,
    expires_at: Timestamp,
    /// The id's SHA-256: the key of its rows, so that a copy of the database holds no usable id.
    id_hash: String,
}

impl Gate {
    /// Opens a session of `caller` and gives its id: visible ASCII, good for a day.
    pub fn open_session(&self, caller: &Principal, revision: &str) -> Result<String> {
        self.seal_session(caller, revision, Timestamp::now().plus_ms(limits::SESSION_TTL_MS))
    }

    fn seal_session(&self, caller: &Principal, revision: &str, expires_at: Timestamp) -> Result<String> {
        if revision.len() > limits::REVISION_BYTES {
            return Err(
                Error::bad_input("That is not a protocol revision").hint("A revision is a date, YYYY-MM-DD")
            );
        }
        let payload = json!({
            "t": caller.tenant.as_str(),
            "s": &*caller.subject,
            "r": revision,
            "x": expires_at.0,
            "n": BASE64.encode(key::random::<12>()?),
        });
        Ok(self.key.seal(PURPOSE, payload.to_string().as_bytes()))
    }

    /// The session of that id, if it is `caller`'s and still open. One primary-key read: what this process saw a moment
    /// ago would not do, since another node may have ended the session since.
    pub async fn check_session(&self, caller: &Principal, id: &str) -> Result<Session, SessionRefusal> {
        let opened = self.unseal_session(caller, id)?;
        self.store.read(&caller.tenant, move |snapshot| refuse_if_ended(snapshot, &opened.id_hash)).await?;
        Ok(Session { revision: opened.revision })
    }

    /// Ends a session and its subscriptions, in every process.
    pub async fn end_session(&self, caller: &Principal, id: &str) -> Result<()> {
        let opened = self.unseal_session(caller, id)?;
        self.store.jot(&caller.tenant, move |tx| end(tx, &opened)).await
    }

    /// Adds an address to those of which the session wants to hear. Once more does no harm.
    pub async fn subscribe(&self, caller: &Principal, id: &str, uri: &str) -> Result<()> {
        let opened = self.unseal_session(caller, id)?;
        if uri.len() > limits::SUBSCRIPTION_URI_BYTES {
            return Err(
                Error::bad_input("The address is longer than any address can be").with_code("INVALID_URI")
            );
        }
        let uri = uri.to_owned();
        self.store.jot(&caller.tenant, move |tx| add_subscription(tx, &opened, &uri)).await
    }

    /// Takes an address away again; one that was never added as well.
    pub async fn unsubscribe(&self, caller: &Principal, id: &str, uri: &str) -> Result<()> {
        let opened = self.unseal_session(caller, id)?;
        let uri = uri.to_owned();
        self.store
            .jot(&caller.tenant, move |tx| {
                refuse_if_ended(tx, &opened.id_hash)?;
                let tenant = tx.tenant().as_str().to_owned();
                tx.execute(
                    "DELETE FROM gate_subscription WHERE tenant_id = $1 AND id_hash = $2 AND uri = $3",
                    params![tenant, opened.id_hash.as_str(), uri.as_str()],
                )?;
                Ok(())
            })
            .await
    }

    /// The addresses of which the session wants to hear, in the order in which they were added.
    pub async fn subscriptions(&self, caller: &Principal, id: &str) -> Result<Vec<String>> {
        let opened = self.unseal_session(caller, id)?;
        self.store
            .read(&caller.tenant, move |snapshot| {
                refuse_if_ended(snapshot, &opened.id_hash)?;
                let tenant = snapshot.tenant().as_str().to_owned();
                let rows = snapshot.query(
                    "SELECT uri FROM gate_subscription WHERE tenant_id = $1 AND id_hash = $2 ORDER BY created_at, uri",
                    params![tenant, opened.id_hash.as_str()],
                )?;
                rows.iter().map(|row| Ok(row.text(0)?.to_owned())).collect()
            })
            .await
    }

    /// What the id says, if we made it for this caller and its time is not over. No look at the database.
    fn unseal_session(&self, caller: &Principal, id: &str) -> Result<Opened> {
        if id.len() > limits::SESSION_ID_BYTES {
            return Err(not_found());
        }
        let payload = self.key.unseal(PURPOSE, id).ok_or_else(not_found)?;
        let payload: Value = serde_json::from_slice(&payload).map_err(Error::internal)?;
        let text = |name: &str| payload.get(name).and_then(Value::as_str);
        let (Some(revision), Some(expires_at)) = (text("r"), payload.get("x").and_then(Value::as_i64)) else {
            return Err(not_found());
        };
        let is_callers = text("t") == Some(caller.tenant.as_str()) && text("s") == Some(&*caller.subject);
        if !is_callers || expires_at <= Timestamp::now().0 {
            return Err(not_found());
        }
        Ok(Opened {
            revision: revision.to_owned(),
            expires_at: Timestamp(expires_at),
            id_hash: canonical::sha256_hex(id.as_bytes()),
        })
    }
}

/// Whether the session has a row; an error if it has ended.
fn refuse_if_ended(sql: &mut impl Sql, id_hash: &str) -> Result<bool> {
    let tenant = sql.tenant().as_str().to_owned();
    let row = sql.query_opt(
        "SELECT ended_at FROM gate_session WHERE tenant_id = $1 AND id_hash = $2",
        params![tenant, id_hash],
    )?;
    match row {
        None => Ok(false),
        Some(row) if row.opt_int(0)?.is_none() => Ok(true),
        Some(_) => Err(not_found()),
    }
}

fn end(tx: &mut Tx<'_>, opened: &Opened) -> Result<()> {
    keep_row(tx, opened)?;
    let (tenant, now) = (tx.tenant().as_str().to_owned(), tx.now());
    tx.execute(
        "UPDATE gate_session SET ended_at = $3 WHERE tenant_id = $1 AND id_hash = $2",
        params![tenant.as_str(), opened.id_hash.as_str(), now],
    )?;
    tx.execute(
        "DELETE FROM gate_subscription WHERE tenant_id = $1 AND id_hash = $2",
        params![tenant.as_str(), opened.id_hash.as_str()],
    )?;
    Ok(())
}

fn add_subscription(tx: &mut Tx<'_>, opened: &Opened, uri: &str) -> Result<()> {
    keep_row(tx, opened)?;
    let (tenant, now) = (tx.tenant().as_str().to_owned(), tx.now());
    tx.execute(
        "INSERT INTO gate_subscription (tenant_id, id_hash, uri, created_at) VALUES ($1, $2, $3, $4) \
         ON CONFLICT (tenant_id, id_hash, uri) DO NOTHING",
        params![tenant.as_str(), opened.id_hash.as_str(), uri, now],
    )?;
    let count = tx.query_opt(
        "SELECT COUNT(*) FROM gate_subscription WHERE tenant_id = $1 AND id_hash = $2",
        params![tenant.as_str(), opened.id_hash.as_str()],
    )?;
    // Counted after the insertion: an address that was there already adds nothing. The error takes the new one back.
    if count.map(|row| row.int(0)).transpose()?.unwrap_or_default() > SUBSCRIPTION_URIS as i64 {
        return Err(Error::new(
            Kind::Limit,
            "SUBSCRIPTION_LIMIT",
            format!("A session can subscribe to {SUBSCRIPTION_URIS} addresses"),
        )
        .hint("Unsubscribe from some first"));
    }
    Ok(())
}

/// Makes sure that an open session has its row, and clears one old session away for each new row: so the table cannot
/// grow for ever, and no transaction deletes more than one session's subscriptions.
fn keep_row(tx: &mut Tx<'_>, opened: &Opened) -> Result<()> {
    let (tenant, now) = (tx.tenant().as_str().to_owned(), tx.now());
    // Ending and subscribing at once on two nodes: an ended session must not keep a subscription.
    tx.lock(&format!("gate:session:{}", opened.id_hash))?;
    if refuse_if_ended(tx, &opened.id_hash)? {
        return Ok(());
    }
    tx.execute(
        "INSERT INTO gate_session (tenant_id, id_hash, ended_at, expires_at) VALUES ($1, $2, NULL, $3)",
        params![tenant.as_str(), opened.id_hash.as_str(), opened.expires_at],
    )?;
    let old = tx.query_opt(
        "DELETE FROM gate_session WHERE tenant_id = $1 AND id_hash = (SELECT id_hash FROM gate_session \
         WHERE tenant_id = $1 AND expires_at <= $2 ORDER BY expires_at LIMIT 1) RETURNING id_hash",
        params![tenant.as_str(), now],
    )?;
    if let Some(old) = old {
        tx.execute(
            "DELETE FROM gate_subscription WHERE tenant_id = $1 AND id_hash = $2",
            params![tenant.as_str(), old.text(0)?],
        )?;
    }
    Ok(())
}
