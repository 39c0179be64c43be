//! Access tokens as this scheme shows them: names, scopes and status, never a secret.
//!
//! This crate does not store tokens; the binary passes a [`TokenDirectory`].

use quad_core::{ReadSet, Result, TenantId, Timestamp};
use serde_json::{Value, json};

use crate::errors;

/// The public facts about a token.
#[derive(Clone, Debug)]
pub struct TokenSummary {
    /// The id; not a secret.
    pub id: String,
    /// The name that its owner chose.
    pub name: String,
    /// `agent` or `user`.
    pub kind: String,
    /// The granted scopes.
    pub scopes: Vec<String>,
    /// When it was created.
    pub created_at: Timestamp,
    /// When it expires.
    pub expires_at: Option<Timestamp>,
    /// `active`, `revoked` or `expired`.
    pub status: String,
}

/// Lists the tokens of a tenant.
#[async_trait::async_trait]
pub trait TokenDirectory: Send + Sync {
    /// All tokens in a stable order, and the read set of the list.
    async fn list(&self, tenant: &TenantId) -> Result<(Vec<TokenSummary>, ReadSet)>;
}

impl TokenSummary {
    /// The JSON for callers.
    pub(crate) fn detail(&self) -> Value {
        const VISIBLE_CHARS: usize = 9;
        let prefix: String = self.id.chars().take(VISIBLE_CHARS).collect();
        json!({
            "id": self.id,
            "name": self.name,
            "type": self.kind,
            "maskedKey": format!("{prefix}…"),
            "scopes": self.scopes,
            "projectIds": null,
            "environment": null,
            "createdAt": self.created_at,
            "expiresAt": self.expires_at,
            "status": self.status,
        })
    }
}

/// The element in a list.
pub(crate) fn find(tokens: &[TokenSummary], id: &str) -> Result<Value> {
    let token = tokens.iter().find(|token| token.id == id);
    token.map(TokenSummary::detail).ok_or_else(|| errors::not_found("Access token", id))
}

/// The token with this id, or the only one with this name.
pub(crate) fn find_by_id_or_name<'t>(tokens: &'t [TokenSummary], sent: &str) -> Result<&'t TokenSummary> {
    if let Some(token) = tokens.iter().find(|token| token.id == sent) {
        return Ok(token);
    }
    let mut named = tokens.iter().filter(|token| token.name == sent);
    match (named.next(), named.next()) {
        (Some(token), None) => Ok(token),
        (None, _) => Err(errors::not_found("Access token", sent)),
        (Some(_), Some(_)) => Err(errors::invalid(
            "accessTokenId",
            format!("is {}, the name of several tokens", errors::truncate_for_message(sent)),
            "Send the id instead; bkend://access-tokens lists the tokens",
        )),
    }
}
