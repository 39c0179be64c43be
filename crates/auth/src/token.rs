//! Local tokens: minted and revoked here, and stored in the registry.
//!
//! The text of a token is never stored, only its id and its claims. Minting also registers the holder: the
//! registration of an agent holds the union of all scopes that its tokens were granted.

use std::sync::Arc;

use quad_core::{
    Error, EventDraft, Kind, PrincipalKind, ReadSet, Result, ScopeSet, Tag, TenantId, Timestamp, text,
    typed_id,
};
use quad_store::{Row, Sql, Tx, WriteContext, params};
use serde_json::{Value, json};

use crate::agent::{self, AgentRecord, GrantMerge};
use crate::jws::{self, Claims};
use crate::service::AuthService;
use crate::{grant, limits};

typed_id!(
    /// A token's id: the `jti` of its text and the key of its row.
    TokenId,
    "tok_"
);

/// The parameters of [`AuthService::mint`].
#[derive(Clone, Debug)]
pub struct MintRequest {
    /// The tenant whose data the token opens.
    pub tenant: TenantId,
    /// The subject that holds the token.
    pub subject: String,
    /// Whether its holder is a program or a person.
    pub kind: PrincipalKind,
    /// The scopes to grant, separated by spaces or commas.
    pub scopes: String,
    /// The lifetime; one year by default.
    pub ttl_ms: Option<i64>,
    /// The subject that requests the token, for the audit log.
    pub actor: String,
}

/// A new token. Its text is not stored anywhere.
#[derive(Clone)]
pub struct MintedToken {
    /// The text that follows `Bearer `.
    pub token: String,
    /// The stored part.
    pub record: TokenRecord,
}

impl std::fmt::Debug for MintedToken {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("MintedToken").field("record", &self.record).finish_non_exhaustive()
    }
}

/// The stored part of a token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TokenRecord {
    /// The token id, `tok_…`.
    pub id: String,
    /// The tenant whose data the token opens.
    pub tenant: TenantId,
    /// The subject that holds the token.
    pub subject: String,
    /// Program or person.
    pub kind: PrincipalKind,
    /// The granted scopes.
    pub scopes: ScopeSet,
    /// When it was minted.
    pub created_at: Timestamp,
    /// When it expires.
    pub expires_at: Timestamp,
    /// When it was revoked.
    pub revoked_at: Option<Timestamp>,
}

impl TokenRecord {
    /// The record as JSON, for lists.
    pub fn to_json(&self) -> Value {
        json!({
            "id": self.id,
            "tenant_id": self.tenant.as_str(),
            "subject": self.subject,
            "kind": self.kind.as_str(),
            "scopes": self.scopes.iter().collect::<Vec<_>>(),
            "created_at": self.created_at,
            "expires_at": self.expires_at,
            "revoked_at": self.revoked_at,
        })
    }

    /// Parses the columns of [`COLUMNS`].
    fn from_row(tenant: &TenantId, row: &Row) -> Result<TokenRecord> {
        let kind = row.text(2)?;
        Ok(TokenRecord {
            id: row.text(0)?.to_owned(),
            tenant: tenant.clone(),
            subject: row.text(1)?.to_owned(),
            kind: PrincipalKind::parse(kind)
                .ok_or_else(|| Error::internal(format!("invalid token kind {kind}")))?,
            scopes: ScopeSet::parse(row.text(3)?),
            created_at: Timestamp(row.int(4)?),
            expires_at: Timestamp(row.int(5)?),
            revoked_at: row.opt_int(6)?.map(Timestamp),
        })
    }
}

const COLUMNS: &str = "id, subject, kind, scopes, created_at, expires_at, revoked_at";

/// The tag that a change of this token invalidates.
pub(crate) fn tag(id: &str) -> Tag {
    Tag::new(format!("gate:token:{id}"))
}

/// The tag that a change of any token invalidates.
fn list_tag() -> Tag {
    Tag::new("gate:tokens")
}

/// The registry state of a signed token.
#[derive(Clone, Debug)]
pub(crate) struct TokenStatus {
    /// When the token expires, as it was minted.
    pub(crate) expires_at: Timestamp,
    /// The token was revoked.
    pub(crate) is_revoked: bool,
    /// The key that signed the token was dropped.
    pub(crate) key_was_dropped: bool,
    /// The registration of the holder.
    pub(crate) agent: Option<AgentRecord>,
}

/// Loads the state of this token of this holder, signed with this key; `None` if the token does not exist.
pub(crate) fn load_status(
    sql: &mut impl Sql,
    id: &str,
    subject: &str,
    kid: &str,
) -> Result<Option<TokenStatus>> {
    let tenant = sql.tenant().clone();
    let row = sql.query_opt(
        "SELECT t.revoked_at, \
         (SELECT COUNT(*) FROM gate_dropped_key k WHERE k.tenant_id = 'system' AND k.kid = $4), \
         t.expires_at, \
         a.subject, a.kind, a.scopes, a.scope_hash, a.state, a.created_at, a.updated_at FROM gate_token t \
         LEFT JOIN gate_agent a ON a.tenant_id = t.tenant_id AND a.subject = t.subject \
         WHERE t.tenant_id = $1 AND t.id = $2 AND t.subject = $3",
        params![tenant.as_str(), id, subject, kid],
    )?;
    let Some(row) = row else { return Ok(None) };
    let agent = match row.opt_text(3)? {
        None => None,
        Some(_) => Some(AgentRecord::from_row(&tenant, &row, 3)?),
    };
    Ok(Some(TokenStatus {
        expires_at: Timestamp(row.int(2)?),
        is_revoked: row.opt_int(0)?.is_some(),
        key_was_dropped: row.int(1)? > 0,
        agent,
    }))
}

impl AuthService {
    /// Mints a token and registers its holder. `known_scopes` are the scopes of all mounted schemes.
    pub async fn mint(&self, request: MintRequest, known_scopes: &[&str]) -> Result<MintedToken> {
        grant::check_tenant(request.tenant.as_str())?;
        grant::check_subject(&request.subject)?;
        let scopes = grant::parse_scopes(&request.scopes, request.kind, known_scopes)?;
        let ttl_ms = grant::resolve_ttl_ms(request.ttl_ms)?;
        // Whole seconds, as in the text of the token, so that text and row are equal.
        let issued_at = Timestamp(Timestamp::now().0.div_euclid(1_000) * 1_000);
        let claims = Claims {
            id: TokenId::generate()?.to_string(),
            tenant: request.tenant.clone(),
            subject: Arc::from(request.subject.as_str()),
            kind: request.kind,
            scopes: scopes.clone(),
            issued_at,
            expires_at: Timestamp(issued_at.plus_ms(ttl_ms).0.div_euclid(1_000) * 1_000),
        };
        // Another process may have rotated the keys, so they are reloaded.
        let keyring = self.keys.reload().await?;
        let token = jws::sign(keyring.current(), &claims);
        if token.len() > limits::TOKEN_BYTES_MAX {
            return Err(Error::bad_input("The token has too many scopes")
                .hint("Use wildcards such as table:*")
                .with_detail("field", "scopes"));
        }
        let record = TokenRecord {
            id: claims.id,
            tenant: request.tenant,
            subject: request.subject,
            kind: request.kind,
            scopes,
            created_at: claims.issued_at,
            expires_at: claims.expires_at,
            revoked_at: None,
        };
        let event = EventDraft::system("identity", "token.minted", &request.actor)
            .input("subject", record.subject.as_str())
            .input("kind", record.kind.as_str())
            .input("scopes", record.scopes.to_string())
            .output("token_id", record.id.as_str());
        let context = WriteContext { tenant: record.tenant.clone(), credential_read_set: None };
        let (row, kid) = (record.clone(), keyring.current().kid().to_owned());
        self.store.write(&context, event, move |tx| insert_token(tx, &row, &kid)).await?;
        Ok(MintedToken { token, record })
    }

    /// The tokens of the tenant, newest first, including expired and revoked ones.
    pub async fn tokens(&self, tenant: &TenantId) -> Result<Vec<TokenRecord>> {
        Ok(self.tokens_with_read_set(tenant).await?.0)
    }

    /// The tokens of the tenant with the read set of the list.
    pub async fn tokens_with_read_set(&self, tenant: &TenantId) -> Result<(Vec<TokenRecord>, ReadSet)> {
        self.store
            .read(tenant, |snapshot| {
                let tenant = snapshot.tenant().clone();
                let sql = format!(
                    "SELECT {COLUMNS} FROM gate_token WHERE tenant_id = $1 ORDER BY id DESC LIMIT {}",
                    limits::TOKENS_RETURNED_MAX
                );
                let rows = snapshot.query(&sql, params![tenant.as_str()])?;
                let tokens: Vec<TokenRecord> =
                    rows.iter().map(|row| TokenRecord::from_row(&tenant, row)).collect::<Result<_>>()?;
                let mut read_set = ReadSet::at_version(snapshot.version()).with_tag(list_tag());
                // A token expires without a write, so the read set also expires.
                let now = Timestamp::now();
                read_set.valid_until =
                    tokens.iter().map(|token| token.expires_at).filter(|expires_at| *expires_at > now).min();
                Ok((tokens, read_set))
            })
            .await
    }

    /// Revokes a token with the next call, in every process. Idempotent.
    pub async fn revoke(&self, tenant: &TenantId, id: &str, actor: &str) -> Result<TokenRecord> {
        let Some(id) = TokenId::parse(id) else { return Err(token_not_found(id)) };
        let event = EventDraft::system("identity", "token.revoked", actor).input("token_id", id.as_str());
        let context = WriteContext { tenant: tenant.clone(), credential_read_set: None };
        let (record, _) = self.store.write(&context, event, move |tx| mark_revoked(tx, &id)).await?;
        Ok(record)
    }
}

fn insert_token(tx: &mut Tx<'_>, record: &TokenRecord, kid: &str) -> Result<()> {
    agent::register(tx, &record.subject, record.kind, &record.scopes, GrantMerge::Union)?;
    tx.execute(
        "INSERT INTO gate_token (tenant_id, id, subject, kind, scopes, created_at, expires_at, revoked_at, kid) \
         VALUES ($1, $2, $3, $4, $5, $6, $7, NULL, $8)",
        params![
            record.tenant.as_str(),
            record.id.as_str(),
            record.subject.as_str(),
            record.kind.as_str(),
            record.scopes.to_string(),
            record.created_at,
            record.expires_at,
            kid
        ],
    )?;
    tx.invalidate(tag(&record.id));
    tx.invalidate(list_tag());
    Ok(())
}

fn mark_revoked(tx: &mut Tx<'_>, id: &TokenId) -> Result<TokenRecord> {
    let tenant = tx.tenant().clone();
    let now = tx.now();
    // A repeated revocation keeps the time of the first.
    let update = format!(
        "UPDATE gate_token SET revoked_at = COALESCE(revoked_at, $3) \
         WHERE tenant_id = $1 AND id = $2 RETURNING {COLUMNS}"
    );
    let row = tx.query_opt(&update, params![tenant.as_str(), id.as_str(), now])?;
    let row = row.ok_or_else(|| token_not_found(id.as_str()))?;
    tx.invalidate(tag(id.as_str()));
    tx.invalidate(list_tag());
    TokenRecord::from_row(&tenant, &row)
}

fn token_not_found(id: &str) -> Error {
    let truncated = text::truncate(id, limits::QUOTED_CHARS_MAX);
    Error::new(Kind::NotFound, "NOT_FOUND", format!("Token {truncated} not found in this tenant"))
        .hint("List the tokens with `quad token list`; an id begins with tok_")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::service::tests::{AuthFixture, KNOWN_SCOPES, auth_fixtures};

    async fn registered_scopes(test: &AuthFixture, subject: &'static str) -> String {
        let scopes = test.db.store.read(&test.db.tenant, move |snapshot| {
            let tenant = snapshot.tenant().as_str().to_owned();
            let query =
                "SELECT scopes FROM gate_agent WHERE tenant_id = $1 AND subject = $2 AND state = 'active'";
            let row = snapshot.query_opt(query, params![tenant, subject])?;
            Ok(row.map(|row| row.text(0).map(str::to_owned)).transpose()?)
        });
        scopes.await.unwrap().unwrap()
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn tokens_are_listed_newest_first() {
        for test in auth_fixtures().await {
            let tenant = &test.db.tenant;
            let first = test.auth.mint(test.mint_request("a", "table:read"), &KNOWN_SCOPES).await.unwrap();
            std::thread::sleep(std::time::Duration::from_millis(2));
            let short = MintRequest { ttl_ms: Some(60_000), ..test.mint_request("b", "project:create") };
            let second = test.auth.mint(short, &KNOWN_SCOPES).await.unwrap();
            assert_eq!(
                test.auth.tokens(tenant).await.unwrap(),
                [second.record.clone(), first.record.clone()]
            );
            assert_eq!(first.record.expires_at.0 - first.record.created_at.0, limits::TOKEN_TTL_MS);
            assert_eq!(second.record.expires_at.0 - second.record.created_at.0, 60_000);
            assert!(first.record.id.starts_with("tok_"));
            assert_eq!(first.record.to_json()["scopes"], json!(["table:read"]));
            assert!(test.auth.tokens(&TenantId::system()).await.unwrap().is_empty());
        }
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn audit_never_contains_token_text() {
        for test in auth_fixtures().await {
            let minted = test.auth.mint(test.mint_request("a", "table:read"), &KNOWN_SCOPES).await.unwrap();
            test.auth.revoke(&test.db.tenant, &minted.record.id, "operator").await.unwrap();
            let audit = test.audit_records(&test.db.tenant).await;
            for expected in ["token.minted", "token.revoked", "operator", &minted.record.id] {
                assert!(audit.contains(expected), "{expected}: {audit}");
            }
            let signature = minted.token.rsplit('.').next().unwrap();
            assert!(!audit.contains(signature));
            assert!(!format!("{minted:?}").contains(signature));
        }
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn registration_is_the_union_of_minted_scopes() {
        for test in auth_fixtures().await {
            let scopes = ["table:read", "table:data:*", "project:create", "table:*"];
            // Concurrently: a union that is computed from an old row would lose a scope.
            let minting = scopes.map(|scope| {
                let (auth, request) = (test.auth.clone(), test.mint_request("a", scope));
                tokio::spawn(async move { auth.mint(request, &KNOWN_SCOPES).await })
            });
            for minted in minting {
                minted.await.unwrap().unwrap();
            }
            let registered = registered_scopes(&test, "a").await;
            assert_eq!(registered, "project:create table:* table:data:* table:read");
        }
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn mint_rejects_a_subject_of_the_other_kind() {
        for test in auth_fixtures().await {
            test.auth.mint(test.mint_request("a", "table:read"), &KNOWN_SCOPES).await.unwrap();
            let person =
                MintRequest { kind: PrincipalKind::User, ..test.mint_request("a", "payment_intent:approve") };
            let error = test.auth.mint(person, &KNOWN_SCOPES).await.unwrap_err();
            assert_eq!(error.kind(), Kind::Conflict);
            assert_eq!(error.message(), "a is registered as agent, not as user");
            assert_eq!(test.auth.tokens(&test.db.tenant).await.unwrap().len(), 1);
        }
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn mint_rejects_invalid_requests() {
        let test = &auth_fixtures().await[0];
        let good = || test.mint_request("a", "table:read");
        let refused = [
            ("subject", MintRequest { subject: "a b".into(), ..good() }),
            ("scopes", MintRequest { scopes: "tabel:read".into(), ..good() }),
            ("scopes", MintRequest { scopes: "payment_intent:approve".into(), ..good() }),
            ("ttl", MintRequest { ttl_ms: Some(0), ..good() }),
            ("tenant", MintRequest { tenant: TenantId::new("a/b"), ..good() }),
        ];
        for (field, request) in refused {
            let error = test.auth.mint(request, &KNOWN_SCOPES).await.unwrap_err();
            assert_eq!(error.kind(), Kind::BadInput);
            assert_eq!(error.detail("field").unwrap(), field);
        }
        let letters =
            || "abcdefghij".chars().flat_map(|a| "abcdefghij".chars().map(move |b| format!("{a}{b}")));
        let many: Vec<String> = letters().map(|pair| format!("{}:read", pair.repeat(20))).collect();
        let known: Vec<&str> = many.iter().map(String::as_str).collect();
        let error =
            test.auth.mint(MintRequest { scopes: known.join(" "), ..good() }, &known).await.unwrap_err();
        assert_eq!(error.message(), "The token has too many scopes");
        assert!(test.auth.tokens(&test.db.tenant).await.unwrap().is_empty());
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn revoke_is_idempotent_and_unknown_id_is_not_found() {
        for test in auth_fixtures().await {
            let tenant = &test.db.tenant;
            let id =
                test.auth.mint(test.mint_request("a", "table:read"), &KNOWN_SCOPES).await.unwrap().record.id;
            let first = test.auth.revoke(tenant, &id, "operator").await.unwrap();
            assert!(first.revoked_at.is_some());
            std::thread::sleep(std::time::Duration::from_millis(2));
            assert_eq!(test.auth.revoke(tenant, &id, "operator").await.unwrap(), first);
            assert_eq!(test.auth.tokens(tenant).await.unwrap(), [first]);
            for unknown_id in ["tok_none", "", "a/b"] {
                let error = test.auth.revoke(tenant, unknown_id, "operator").await.unwrap_err();
                assert_eq!(error.kind(), Kind::NotFound, "{unknown_id}");
                assert!(error.hint_text().unwrap().contains("quad token list"));
            }
            let other_tenant = test.auth.revoke(&TenantId::system(), &id, "operator").await.unwrap_err();
            assert_eq!(other_tenant.kind(), Kind::NotFound);
        }
    }
}
