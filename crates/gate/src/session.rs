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
        Ok(self.keys.known().current().seal(PURPOSE, payload.to_string().as_bytes()))
    }

    /// The session of that id, if it is `caller`'s and still open. One primary-key read: what this process saw a moment
    /// ago would not do, since another node may have ended the session since.
    pub async fn check_session(&self, caller: &Principal, id: &str) -> Result<Session, SessionRefusal> {
        let opened = self.unseal_session(caller, id).await?;
        self.store.read(&caller.tenant, move |snapshot| refuse_if_ended(snapshot, &opened.id_hash)).await?;
        Ok(Session { revision: opened.revision })
    }

    /// Ends a session and its subscriptions, in every process.
    pub async fn end_session(&self, caller: &Principal, id: &str) -> Result<()> {
        let opened = self.unseal_session(caller, id).await?;
        self.store.jot(&caller.tenant, move |tx| end(tx, &opened)).await
    }

    /// Adds an address to those of which the session wants to hear. Once more does no harm.
    pub async fn subscribe(&self, caller: &Principal, id: &str, uri: &str) -> Result<()> {
        let opened = self.unseal_session(caller, id).await?;
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
        let opened = self.unseal_session(caller, id).await?;
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
        let opened = self.unseal_session(caller, id).await?;
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
    async fn unseal_session(&self, caller: &Principal, id: &str) -> Result<Opened> {
        if id.len() > limits::SESSION_ID_BYTES {
            return Err(not_found());
        }
        let payload = self.keys.unseal(PURPOSE, id).await?.ok_or_else(not_found)?;
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

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use quad_core::TenantId;

    use super::*;
    use crate::gate::tests::{TestGate, gates};

    fn caller(test: &TestGate, subject: &str) -> Principal {
        let agent = Principal::local_agent(test.place.tenant.clone(), []);
        Principal { subject: Arc::from(subject), ..agent }
    }

    async fn is_not_found(gate: &Gate, caller: &Principal, id: &str) -> bool {
        matches!(gate.check_session(caller, id).await, Err(SessionRefusal::NotFound))
    }

    async fn rows(test: &TestGate, table: &'static str) -> i64 {
        let count = test.place.store.read(&test.place.tenant, move |snapshot| {
            let tenant = snapshot.tenant().as_str().to_owned();
            let row = snapshot
                .query_opt(&format!("SELECT COUNT(*) FROM {table} WHERE tenant_id = $1"), params![tenant])?;
            Ok(row.map(|row| row.int(0)).transpose()?)
        });
        count.await.unwrap().unwrap()
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn an_id_opens_for_its_principal_in_every_process_and_for_nobody_else() {
        for test in gates().await {
            let me = caller(&test, "me");
            let id = test.gate.open_session(&me, "2025-06-18").unwrap();
            assert!(id.bytes().all(|byte| byte.is_ascii_graphic()));
            assert_ne!(id, test.gate.open_session(&me, "2025-06-18").unwrap());
            let other_process = test.another_process().await;
            for gate in [&test.gate, &other_process] {
                assert_eq!(gate.check_session(&me, &id).await.unwrap().revision, "2025-06-18");
            }
            assert!(is_not_found(&test.gate, &caller(&test, "you"), &id).await);
            let abroad = Principal { tenant: TenantId::new("tnt_other"), ..me.clone() };
            assert!(is_not_found(&test.gate, &abroad, &id).await);
            assert_eq!(rows(&test, "gate_session").await, 0, "an open session needs no row");
        }
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn forged_and_expired_ids_are_not_found() {
        let test = &gates().await[0];
        let me = caller(test, "me");
        let id = test.gate.open_session(&me, "2025-06-18").unwrap();
        let [kid, payload, tag] = id.split('.').collect::<Vec<_>>().try_into().unwrap();
        let expired = test.gate.seal_session(&me, "2025-06-18", Timestamp::now()).unwrap();
        let other_purpose = test.gate.keys.known().current().seal("cursor", &BASE64.decode(payload).unwrap());
        let forged =
            format!("{kid}.{}.{tag}", BASE64.encode(br#"{"t":"t","s":"me","r":"x","x":9999999999999}"#));
        for bad in ["", ".", payload, &expired, &other_purpose, &forged, &"x".repeat(2_000)] {
            assert!(is_not_found(&test.gate, &me, bad).await, "{bad}");
            assert_eq!(test.gate.subscriptions(&me, bad).await.unwrap_err().kind(), Kind::NotFound);
            assert_eq!(test.gate.subscribe(&me, bad, "x://y").await.unwrap_err().kind(), Kind::NotFound);
            assert_eq!(test.gate.end_session(&me, bad).await.unwrap_err().kind(), Kind::NotFound);
        }
        assert_eq!(test.gate.open_session(&me, &"2".repeat(33)).unwrap_err().kind(), Kind::BadInput);
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn the_longest_names_fit_into_an_id() {
        let test = &gates().await[0];
        let tenant = TenantId::new("t".repeat(64));
        let me = Principal { tenant, ..caller(test, &"s".repeat(limits::SUBJECT_BYTES)) };
        let revision = "r".repeat(limits::REVISION_BYTES);
        let id = test.gate.open_session(&me, &revision).unwrap();
        assert_eq!(test.gate.check_session(&me, &id).await.unwrap().revision, revision);
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn an_end_holds_in_every_process_and_takes_the_subscriptions_along() {
        for test in gates().await {
            let (me, other_process) = (caller(&test, "me"), test.another_process().await);
            let id = test.gate.open_session(&me, "2025-03-26").unwrap();
            test.gate.subscribe(&me, &id, "x://a").await.unwrap();
            other_process.check_session(&me, &id).await.unwrap();
            test.gate.end_session(&me, &id).await.unwrap();
            for gate in [&test.gate, &other_process] {
                assert!(is_not_found(gate, &me, &id).await);
                assert_eq!(gate.subscribe(&me, &id, "x://b").await.unwrap_err().code(), NOT_FOUND);
                assert_eq!(gate.unsubscribe(&me, &id, "x://a").await.unwrap_err().code(), NOT_FOUND);
                assert_eq!(gate.subscriptions(&me, &id).await.unwrap_err().code(), NOT_FOUND);
                assert_eq!(gate.end_session(&me, &id).await.unwrap_err().code(), NOT_FOUND);
            }
            assert_eq!((rows(&test, "gate_session").await, rows(&test, "gate_subscription").await), (1, 0));
        }
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn subscriptions_come_and_go_and_advance_no_version() {
        for test in gates().await {
            let me = caller(&test, "me");
            let version =
                async || test.place.store.read(&me.tenant, |snapshot| Ok(snapshot.version())).await.unwrap();
            let before = version().await;
            let (id, other_id) = (
                test.gate.open_session(&me, "2025-06-18").unwrap(),
                test.gate.open_session(&me, "2025-06-18").unwrap(),
            );
            assert!(test.gate.subscriptions(&me, &id).await.unwrap().is_empty());
            for uri in ["x://b", "x://b"] {
                test.gate.subscribe(&me, &id, uri).await.unwrap();
            }
            std::thread::sleep(std::time::Duration::from_millis(2));
            test.gate.subscribe(&me, &id, "x://a").await.unwrap();
            test.gate.subscribe(&me, &other_id, "x://c").await.unwrap();
            assert_eq!(test.gate.subscriptions(&me, &id).await.unwrap(), ["x://b", "x://a"]);
            for uri in ["x://b", "x://never"] {
                test.gate.unsubscribe(&me, &id, uri).await.unwrap();
            }
            assert_eq!(test.gate.subscriptions(&me, &id).await.unwrap(), ["x://a"]);
            assert_eq!(test.gate.subscriptions(&me, &other_id).await.unwrap(), ["x://c"]);
            let long = format!("x://{}", "a".repeat(limits::SUBSCRIPTION_URI_BYTES));
            assert_eq!(test.gate.subscribe(&me, &id, &long).await.unwrap_err().kind(), Kind::BadInput);
            assert_eq!(version().await, before);
        }
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn a_session_subscribes_to_so_many_addresses_and_no_more() {
        for test in gates().await {
            let me = caller(&test, "me");
            let id = test.gate.open_session(&me, "2025-06-18").unwrap();
            test.gate.subscribe(&me, &id, "x://first").await.unwrap();
            let id_hash = canonical::sha256_hex(id.as_bytes());
            let fill = test.place.store.jot(&me.tenant, move |tx| {
                for number in 1..SUBSCRIPTION_URIS {
                    let tenant = tx.tenant().as_str().to_owned();
                    tx.execute(
                        "INSERT INTO gate_subscription (tenant_id, id_hash, uri, created_at) VALUES ($1, $2, $3, 0)",
                        params![tenant, id_hash.as_str(), format!("x://{number}")],
                    )?;
                }
                Ok(())
            });
            fill.await.unwrap();
            let error = test.gate.subscribe(&me, &id, "x://last").await.unwrap_err();
            assert_eq!((error.kind(), error.code()), (Kind::Limit, "SUBSCRIPTION_LIMIT"));
            test.gate.subscribe(&me, &id, "x://first").await.unwrap();
            assert_eq!(test.gate.subscriptions(&me, &id).await.unwrap().len(), SUBSCRIPTION_URIS);
            test.gate.unsubscribe(&me, &id, "x://first").await.unwrap();
            test.gate.subscribe(&me, &id, "x://last").await.unwrap();
        }
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn a_new_row_clears_an_old_session_away() {
        for test in gates().await {
            let me = caller(&test, "me");
            let old = test.gate.open_session(&me, "2025-06-18").unwrap();
            test.gate.subscribe(&me, &old, "x://old").await.unwrap();
            let age = test.place.store.jot(&me.tenant, |tx| {
                let tenant = tx.tenant().as_str().to_owned();
                tx.execute("UPDATE gate_session SET expires_at = 1 WHERE tenant_id = $1", params![tenant])?;
                Ok(())
            });
            age.await.unwrap();
            let new = test.gate.open_session(&me, "2025-06-18").unwrap();
            test.gate.subscribe(&me, &new, "x://new").await.unwrap();
            assert_eq!((rows(&test, "gate_session").await, rows(&test, "gate_subscription").await), (1, 1));
            assert_eq!(test.gate.subscriptions(&me, &new).await.unwrap(), ["x://new"]);
        }
    }
}
