//! Policies as loaded. They can be read; nothing here evaluates them.

use quad_core::{Result, Timestamp, canonical};
use quad_store::{Sql, Tx, params};
use serde_json::{Map, Value};

use crate::entity::{self, Entity, entity};
use crate::field::Field as _;
use crate::raw;
use crate::row_meta::RowMeta;
use crate::string_enum::string_enum;
use crate::tags::TouchedTags;

string_enum!(
    /// The state of a policy.
    PolicyState, "policy state" {
        Draft = "draft", PendingSignatures = "pending_signatures", Active = "active", Deactivated = "deactivated",
        Cancelled = "cancelled", Expired = "expired",
    }
);

entity!(
    /// A stored policy.
    Policy, "policy" in "brain_policy" as PolicyId {
        version: i64,
        state: PolicyState,
        content: Map<String, Value>,
        /// SHA-256 of the content as compact JSON with sorted keys.
        content_hash: String,
        signers: Vec<String>,
        quorum_required: i64,
        activated_at: Option<Timestamp>,
    }
);

impl Policy {
    /// Parses a line of a file. The hash is computed here.
    pub(crate) fn parse_line(line: &Map<String, Value>, meta: RowMeta) -> Result<Policy> {
        let mut line = line.clone();
        let content: Map<String, Value> = entity::parse_field(&line, "content")?;
        let hash = canonical::sha256_hex_of(&Value::Object(content));
        line.insert("content_hash".into(), hash.into());
        line.entry("state").or_insert_with(|| PolicyState::Draft.to_json());
        line.entry("quorum_required").or_insert_with(|| 1.into());
        Policy::from_line(&line, meta)
    }
}

/// Inserts a policy, or replaces `old` by it. False if an insert finds its id taken, or another active policy.
pub(crate) fn save(
    tx: &mut Tx<'_>,
    old: Option<&Policy>,
    new: &Policy,
    touched: &mut TouchedTags,
) -> Result<bool> {
    if !entity::insert_or_update(tx, old, new)? {
        return Ok(false);
    }
    raw::mark_cited(tx, &new.meta)?;
    touched.row(Policy::KIND, new.id.as_str());
    if old.is_none() {
        touched.listing();
    }
    Ok(true)
}

/// The active policy.
pub(crate) fn active(sql: &mut dyn Sql) -> Result<Option<Policy>> {
    let tenant = sql.tenant().as_str().to_owned();
    let query = format!(
        "SELECT {} FROM brain_policy WHERE tenant_id = $1 AND state = 'active' LIMIT 1",
        Policy::columns()
    );
    sql.query_opt(&query, params![tenant])?.as_ref().map(Policy::from_row).transpose()
}
