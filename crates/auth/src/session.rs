//! Sessions of older protocol revisions: a signed string with its principal, revision and expiry.
//!
//! Any node can verify it without shared state. The database has a row only for a session that has ended or has
//! subscriptions. A session id is not a credential: each request is authenticated by its own token, and an id works
//! only for the principal that opened it. A forged, expired, ended or foreign id gives the same error.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD as BASE64;
use quad_core::limits::SUBSCRIPTION_URIS;
use quad_core::{Error, Kind, Principal, Result, Timestamp, canonical};
use quad_store::{Sql, Tx, params};
use serde_json::{Value, json};

use crate::service::AuthService;
use crate::{key, limits};

/// Prevents that another opaque string is accepted as a session id.
const PURPOSE: &str = "session";

/// An open session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Session {
    /// The protocol revision that was negotiated when the session was opened.
    pub revision: String,
}

/// Why a session id was rejected.
#[derive(Debug)]
pub enum SessionError {
    /// Forged, expired, ended, or of another principal.
    NotFound,
    /// The database could not be read. The session id is not at fault.
    Failed(Error),
}

impl std::fmt::Display for SessionError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            SessionError::NotFound => "Session not found",
            SessionError::Failed(error) => error.message(),
        })
    }
}

impl std::error::Error for SessionError {}

impl From<Error> for SessionError {
    fn from(error: Error) -> SessionError {
        if error.code() == NOT_FOUND { SessionError::NotFound } else { SessionError::Failed(error) }
    }
}

const NOT_FOUND: &str = "SESSION_NOT_FOUND";

fn not_found() -> Error {
    Error::new(Kind::NotFound, NOT_FOUND, "Session not found").hint("Send initialize to open a new one")
}

/// The contents of a valid session id.
struct SessionClaims {
    revision: String,
    expires_at: Timestamp,
    /// The SHA-256 of the id. It is the key of its rows, so that a copy of the database contains no usable id.
    id_hash: String,
}

impl AuthService {
    /// Opens a session of `caller` and returns its id: visible ASCII, valid for a day.
    pub fn open_session(&self, caller: &Principal, revision: &str) -> Result<String> {
        self.encode_session_id(caller, revision, Timestamp::now().plus_ms(limits::SESSION_TTL_MS))
    }

    fn encode_session_id(&self, caller: &Principal, revision: &str, expires_at: Timestamp) -> Result<String> {
        if revision.len() > limits::REVISION_BYTES_MAX {
            return Err(
                Error::bad_input("The protocol revision is not valid").hint("Send a date, YYYY-MM-DD")
            );
        }
        let payload = json!({
            "t": caller.tenant.as_str(),
            "s": &*caller.subject,
            "r": revision,
            "x": expires_at.0,
            "n": BASE64.encode(key::random_bytes::<12>()?),
        });
        Ok(self.keys.cached().current().sign_opaque(PURPOSE, payload.to_string().as_bytes()))
    }

    /// The session of this id, if it belongs to `caller` and is open. One read by primary key; a cached answer is not
    /// enough, because another node may have ended the session.
    pub async fn check_session(&self, caller: &Principal, id: &str) -> Result<Session, SessionError> {
        let claims = self.decode_session_id(caller, id).await?;
        self.store.read(&caller.tenant, move |snapshot| check_not_ended(snapshot, &claims.id_hash)).await?;
        Ok(Session { revision: claims.revision })
    }

    /// Ends a session and its subscriptions, in every process.
    pub async fn end_session(&self, caller: &Principal, id: &str) -> Result<()> {
        let claims = self.decode_session_id(caller, id).await?;
        self.store.write_unaudited(&caller.tenant, move |tx| mark_ended(tx, &claims)).await
    }

    /// Subscribes the session to a URI. Idempotent.
    pub async fn subscribe(&self, caller: &Principal, id: &str, uri: &str) -> Result<()> {
        let claims = self.decode_session_id(caller, id).await?;
        if uri.len() > limits::SUBSCRIPTION_URI_BYTES_MAX {
            return Err(Error::bad_input("The address is too long").with_code("INVALID_URI"));
        }
        let uri = uri.to_owned();
        self.store.write_unaudited(&caller.tenant, move |tx| add_subscription(tx, &claims, &uri)).await
    }

    /// Unsubscribes the session from a URI. Idempotent; the URI need not be subscribed.
    pub async fn unsubscribe(&self, caller: &Principal, id: &str, uri: &str) -> Result<()> {
        let claims = self.decode_session_id(caller, id).await?;
        let uri = uri.to_owned();
        self.store
            .write_unaudited(&caller.tenant, move |tx| {
                check_not_ended(tx, &claims.id_hash)?;
                let tenant = tx.tenant().as_str().to_owned();
                tx.execute(
                    "DELETE FROM gate_subscription WHERE tenant_id = $1 AND id_hash = $2 AND uri = $3",
                    params![tenant, claims.id_hash.as_str(), uri.as_str()],
                )?;
                Ok(())
            })
            .await
    }

    /// The URIs that the session is subscribed to, in the order of subscription.
    pub async fn subscriptions(&self, caller: &Principal, id: &str) -> Result<Vec<String>> {
        let claims = self.decode_session_id(caller, id).await?;
        self.store
            .read(&caller.tenant, move |snapshot| {
                check_not_ended(snapshot, &claims.id_hash)?;
                let tenant = snapshot.tenant().as_str().to_owned();
                let rows = snapshot.query(
                    "SELECT uri FROM gate_subscription WHERE tenant_id = $1 AND id_hash = $2 ORDER BY created_at, uri",
                    params![tenant, claims.id_hash.as_str()],
                )?;
                rows.iter().map(|row| Ok(row.text(0)?.to_owned())).collect()
            })
            .await
    }

    /// The contents of the id, if this server made it for this caller and it has not expired. Reads no rows.
    async fn decode_session_id(&self, caller: &Principal, id: &str) -> Result<SessionClaims> {
        if id.len() > limits::SESSION_ID_BYTES_MAX {
            return Err(not_found());
        }
        let payload = self.keys.verify_opaque(PURPOSE, id).await?.ok_or_else(not_found)?;
        let payload: Value = serde_json::from_slice(&payload).map_err(Error::internal)?;
        let text = |name: &str| payload.get(name).and_then(Value::as_str);
        let (Some(revision), Some(expires_at)) = (text("r"), payload.get("x").and_then(Value::as_i64)) else {
            return Err(not_found());
        };
        let belongs_to_caller =
            text("t") == Some(caller.tenant.as_str()) && text("s") == Some(&*caller.subject);
        if !belongs_to_caller || expires_at <= Timestamp::now().0 {
            return Err(not_found());
        }
        Ok(SessionClaims {
            revision: revision.to_owned(),
            expires_at: Timestamp(expires_at),
            id_hash: canonical::sha256_hex(id.as_bytes()),
        })
    }
}

/// Whether the session has a row; an error if it has ended.
fn check_not_ended(sql: &mut impl Sql, id_hash: &str) -> Result<bool> {
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

fn mark_ended(tx: &mut Tx<'_>, claims: &SessionClaims) -> Result<()> {
    upsert_session(tx, claims)?;
    let (tenant, now) = (tx.tenant().as_str().to_owned(), tx.now());
    tx.execute(
        "UPDATE gate_session SET ended_at = $3 WHERE tenant_id = $1 AND id_hash = $2",
        params![tenant.as_str(), claims.id_hash.as_str(), now],
    )?;
    tx.execute(
        "DELETE FROM gate_subscription WHERE tenant_id = $1 AND id_hash = $2",
        params![tenant.as_str(), claims.id_hash.as_str()],
    )?;
    Ok(())
}

fn add_subscription(tx: &mut Tx<'_>, claims: &SessionClaims, uri: &str) -> Result<()> {
    upsert_session(tx, claims)?;
    let (tenant, now) = (tx.tenant().as_str().to_owned(), tx.now());
    tx.execute(
        "INSERT INTO gate_subscription (tenant_id, id_hash, uri, created_at) VALUES ($1, $2, $3, $4) \
         ON CONFLICT (tenant_id, id_hash, uri) DO NOTHING",
        params![tenant.as_str(), claims.id_hash.as_str(), uri, now],
    )?;
    let count = tx.query_opt(
        "SELECT COUNT(*) FROM gate_subscription WHERE tenant_id = $1 AND id_hash = $2",
        params![tenant.as_str(), claims.id_hash.as_str()],
    )?;
    // Counted after the insert, because an existing URI adds nothing. The error rolls the insert back.
    if count.map(|row| row.int(0)).transpose()?.unwrap_or_default() > SUBSCRIPTION_URIS as i64 {
        return Err(Error::new(
            Kind::Limit,
            "SUBSCRIPTION_LIMIT",
            format!("A session can subscribe to {SUBSCRIPTION_URIS} addresses"),
        )
        .hint("Unsubscribe from some addresses first"));
    }
    Ok(())
}

/// Makes sure that an open session has its row. Deletes one expired session per new row, so that the table stays
/// bounded and no transaction deletes the subscriptions of more than one session.
fn upsert_session(tx: &mut Tx<'_>, claims: &SessionClaims) -> Result<()> {
    let (tenant, now) = (tx.tenant().as_str().to_owned(), tx.now());
    // Another node may end the session while this one subscribes: an ended session must not keep a subscription.
    tx.lock(&format!("gate:session:{}", claims.id_hash))?;
    if check_not_ended(tx, &claims.id_hash)? {
        return Ok(());
    }
    tx.execute(
        "INSERT INTO gate_session (tenant_id, id_hash, ended_at, expires_at) VALUES ($1, $2, NULL, $3)",
        params![tenant.as_str(), claims.id_hash.as_str(), claims.expires_at],
    )?;
    let expired = tx.query_opt(
        "DELETE FROM gate_session WHERE tenant_id = $1 AND id_hash = (SELECT id_hash FROM gate_session \
         WHERE tenant_id = $1 AND expires_at <= $2 ORDER BY expires_at LIMIT 1) RETURNING id_hash",
        params![tenant.as_str(), now],
    )?;
    if let Some(expired) = expired {
        tx.execute(
            "DELETE FROM gate_subscription WHERE tenant_id = $1 AND id_hash = $2",
            params![tenant.as_str(), expired.text(0)?],
        )?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use quad_core::TenantId;

    use super::*;
    use crate::service::tests::{AuthFixture, auth_fixtures};

    fn caller(test: &AuthFixture, subject: &str) -> Principal {
        let agent = Principal::local_agent(test.db.tenant.clone(), []);
        Principal { subject: Arc::from(subject), ..agent }
    }

    async fn is_not_found(auth: &AuthService, caller: &Principal, id: &str) -> bool {
        matches!(auth.check_session(caller, id).await, Err(SessionError::NotFound))
    }

    async fn row_count(test: &AuthFixture, table: &'static str) -> i64 {
        let count = test.db.store.read(&test.db.tenant, move |snapshot| {
            let tenant = snapshot.tenant().as_str().to_owned();
            let row = snapshot
                .query_opt(&format!("SELECT COUNT(*) FROM {table} WHERE tenant_id = $1"), params![tenant])?;
            Ok(row.map(|row| row.int(0)).transpose()?)
        });
        count.await.unwrap().unwrap()
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn session_id_works_only_for_its_principal() {
        for test in auth_fixtures().await {
            let me = caller(&test, "me");
            let id = test.auth.open_session(&me, "2025-06-18").unwrap();
            assert!(id.bytes().all(|byte| byte.is_ascii_graphic()));
            assert_ne!(id, test.auth.open_session(&me, "2025-06-18").unwrap());
            let other_auth = test.another_process().await;
            for auth in [&test.auth, &other_auth] {
                assert_eq!(auth.check_session(&me, &id).await.unwrap().revision, "2025-06-18");
            }
            assert!(is_not_found(&test.auth, &caller(&test, "you"), &id).await);
            let other_tenant = Principal { tenant: TenantId::new("tnt_other"), ..me.clone() };
            assert!(is_not_found(&test.auth, &other_tenant, &id).await);
            assert_eq!(row_count(&test, "gate_session").await, 0, "an open session has no row");
        }
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn forged_and_expired_ids_are_not_found() {
        let test = &auth_fixtures().await[0];
        let me = caller(test, "me");
        let id = test.auth.open_session(&me, "2025-06-18").unwrap();
        let [kid, payload, tag] = id.split('.').collect::<Vec<_>>().try_into().unwrap();
        let expired = test.auth.encode_session_id(&me, "2025-06-18", Timestamp::now()).unwrap();
        let other_purpose =
            test.auth.keys.cached().current().sign_opaque("cursor", &BASE64.decode(payload).unwrap());
        let forged =
            format!("{kid}.{}.{tag}", BASE64.encode(br#"{"t":"t","s":"me","r":"x","x":9999999999999}"#));
        for bad in ["", ".", payload, &expired, &other_purpose, &forged, &"x".repeat(2_000)] {
            assert!(is_not_found(&test.auth, &me, bad).await, "{bad}");
            assert_eq!(test.auth.subscriptions(&me, bad).await.unwrap_err().kind(), Kind::NotFound);
            assert_eq!(test.auth.subscribe(&me, bad, "x://y").await.unwrap_err().kind(), Kind::NotFound);
            assert_eq!(test.auth.end_session(&me, bad).await.unwrap_err().kind(), Kind::NotFound);
        }
        assert_eq!(test.auth.open_session(&me, &"2".repeat(33)).unwrap_err().kind(), Kind::BadInput);
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn longest_names_fit_into_a_session_id() {
        let test = &auth_fixtures().await[0];
        let tenant = TenantId::new("t".repeat(64));
        let me = Principal { tenant, ..caller(test, &"s".repeat(limits::SUBJECT_BYTES_MAX)) };
        let revision = "r".repeat(limits::REVISION_BYTES_MAX);
        let id = test.auth.open_session(&me, &revision).unwrap();
        assert_eq!(test.auth.check_session(&me, &id).await.unwrap().revision, revision);
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn ending_a_session_deletes_its_subscriptions_everywhere() {
        for test in auth_fixtures().await {
            let (me, other_auth) = (caller(&test, "me"), test.another_process().await);
            let id = test.auth.open_session(&me, "2025-03-26").unwrap();
            test.auth.subscribe(&me, &id, "x://a").await.unwrap();
            other_auth.check_session(&me, &id).await.unwrap();
            test.auth.end_session(&me, &id).await.unwrap();
            for auth in [&test.auth, &other_auth] {
                assert!(is_not_found(auth, &me, &id).await);
                assert_eq!(auth.subscribe(&me, &id, "x://b").await.unwrap_err().code(), NOT_FOUND);
                assert_eq!(auth.unsubscribe(&me, &id, "x://a").await.unwrap_err().code(), NOT_FOUND);
                assert_eq!(auth.subscriptions(&me, &id).await.unwrap_err().code(), NOT_FOUND);
                assert_eq!(auth.end_session(&me, &id).await.unwrap_err().code(), NOT_FOUND);
            }
            assert_eq!(
                (row_count(&test, "gate_session").await, row_count(&test, "gate_subscription").await),
                (1, 0)
            );
        }
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn subscribing_and_unsubscribing_advance_no_version() {
        for test in auth_fixtures().await {
            let me = caller(&test, "me");
            let version =
                async || test.db.store.read(&me.tenant, |snapshot| Ok(snapshot.version())).await.unwrap();
            let before = version().await;
            let (id, other_id) = (
                test.auth.open_session(&me, "2025-06-18").unwrap(),
                test.auth.open_session(&me, "2025-06-18").unwrap(),
            );
            assert!(test.auth.subscriptions(&me, &id).await.unwrap().is_empty());
            for uri in ["x://b", "x://b"] {
                test.auth.subscribe(&me, &id, uri).await.unwrap();
            }
            std::thread::sleep(std::time::Duration::from_millis(2));
            test.auth.subscribe(&me, &id, "x://a").await.unwrap();
            test.auth.subscribe(&me, &other_id, "x://c").await.unwrap();
            assert_eq!(test.auth.subscriptions(&me, &id).await.unwrap(), ["x://b", "x://a"]);
            for uri in ["x://b", "x://never"] {
                test.auth.unsubscribe(&me, &id, uri).await.unwrap();
            }
            assert_eq!(test.auth.subscriptions(&me, &id).await.unwrap(), ["x://a"]);
            assert_eq!(test.auth.subscriptions(&me, &other_id).await.unwrap(), ["x://c"]);
            let long = format!("x://{}", "a".repeat(limits::SUBSCRIPTION_URI_BYTES_MAX));
            assert_eq!(test.auth.subscribe(&me, &id, &long).await.unwrap_err().kind(), Kind::BadInput);
            assert_eq!(version().await, before);
        }
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn subscriptions_per_session_are_limited() {
        for test in auth_fixtures().await {
            let me = caller(&test, "me");
            let id = test.auth.open_session(&me, "2025-06-18").unwrap();
            test.auth.subscribe(&me, &id, "x://first").await.unwrap();
            let id_hash = canonical::sha256_hex(id.as_bytes());
            let insert_subscriptions = test.db.store.write_unaudited(&me.tenant, move |tx| {
                for number in 1..SUBSCRIPTION_URIS {
                    let tenant = tx.tenant().as_str().to_owned();
                    tx.execute(
                        "INSERT INTO gate_subscription (tenant_id, id_hash, uri, created_at) VALUES ($1, $2, $3, 0)",
                        params![tenant, id_hash.as_str(), format!("x://{number}")],
                    )?;
                }
                Ok(())
            });
            insert_subscriptions.await.unwrap();
            let error = test.auth.subscribe(&me, &id, "x://last").await.unwrap_err();
            assert_eq!((error.kind(), error.code()), (Kind::Limit, "SUBSCRIPTION_LIMIT"));
            test.auth.subscribe(&me, &id, "x://first").await.unwrap();
            assert_eq!(test.auth.subscriptions(&me, &id).await.unwrap().len(), SUBSCRIPTION_URIS);
            test.auth.unsubscribe(&me, &id, "x://first").await.unwrap();
            test.auth.subscribe(&me, &id, "x://last").await.unwrap();
        }
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn new_session_row_deletes_an_expired_session() {
        for test in auth_fixtures().await {
            let me = caller(&test, "me");
            let old = test.auth.open_session(&me, "2025-06-18").unwrap();
            test.auth.subscribe(&me, &old, "x://old").await.unwrap();
            let age = test.db.store.write_unaudited(&me.tenant, |tx| {
                let tenant = tx.tenant().as_str().to_owned();
                tx.execute("UPDATE gate_session SET expires_at = 1 WHERE tenant_id = $1", params![tenant])?;
                Ok(())
            });
            age.await.unwrap();
            let new = test.auth.open_session(&me, "2025-06-18").unwrap();
            test.auth.subscribe(&me, &new, "x://new").await.unwrap();
            assert_eq!(
                (row_count(&test, "gate_session").await, row_count(&test, "gate_subscription").await),
                (1, 1)
            );
            assert_eq!(test.auth.subscriptions(&me, &new).await.unwrap(), ["x://new"]);
        }
    }
}
