//! Counterparties: who pays and who is paid.

use std::collections::BTreeSet;

use quad_core::{Result, Timestamp};
use quad_statements::{Amount, Currency};
use quad_store::{Sql, Tx, params};
use serde_json::{Map, Value, json};

use crate::entity::{self, Entity, entity};
use crate::field::Field as _;
use crate::ids::CounterpartyId;
use crate::keyset::{IndexRange, Key, RowSource as _, SortValue};
use crate::money;
use crate::row_meta::RowMeta;
use crate::string_enum::string_enum;
use crate::tags::TouchedTags;
use crate::total::{self, Subject};

string_enum!(
    /// The type of a counterparty.
    CounterpartyType, "counterparty type" {
        Merchant = "merchant", Vendor = "vendor", Customer = "customer", Employer = "employer", Employee = "employee",
        Bank = "bank", Wallet = "wallet", Exchange = "exchange", TaxAuthority = "tax_authority", Agent = "agent",
        Other = "other",
    }
);
string_enum!(
    /// The risk of paying a counterparty.
    RiskLevel, "risk level" { Low = "low", Medium = "medium", High = "high", Sanctioned = "sanctioned" }
);
string_enum!(
    /// How well the identity of a counterparty is verified.
    VerifiedStatus, "verified status" {
        Unverified = "unverified", SelfAttested = "self_attested", DocumentVerified = "document_verified",
        SanctionsCleared = "sanctions_cleared",
    }
);
string_enum!(
    /// A person's decision about a counterparty.
    TrustStatus, "trust status" {
        Unreviewed = "unreviewed", Trusted = "trusted", Paused = "paused", Acknowledged = "acknowledged",
    }
);

entity!(
    /// A stored counterparty.
    Counterparty, "counterparty" in "brain_counterparty" as CounterpartyId {
        name: String,
        display_name: Option<String>,
        normalized_name: String,
        kind ["type"]: CounterpartyType,
        risk_level: Option<RiskLevel>,
        verified_status: Option<VerifiedStatus>,
        trust_status: TrustStatus,
        trust_reviewed_at: Option<Timestamp>,
        aliases: Vec<String>,
        linked_accounts: Vec<String>,
        agent_id: Option<String>,
        onchain_address: Option<String>,
        metadata: Map<String, Value>,
    }
);

/// Normalizes a name: lower case, without punctuation, single spaces.
pub(crate) fn normalize(name: &str) -> String {
    let mut normalized = String::with_capacity(name.len());
    let mut words = name.split(|c: char| !(c.is_alphanumeric() || c == '&')).filter(|word| !word.is_empty());
    if let Some(first) = words.next() {
        normalized.push_str(&first.to_lowercase());
        for word in words {
            normalized.push(' ');
            normalized.push_str(&word.to_lowercase());
        }
    }
    if normalized.is_empty() { name.trim().to_lowercase() } else { normalized }
}

impl Counterparty {
    /// The URI of a counterparty.
    pub(crate) fn uri(id: &str) -> String {
        format!("brain://ledger/counterparties/{id}")
    }

    /// A counterparty of which only the name and the type are known.
    pub(crate) fn new(
        id: CounterpartyId,
        name: String,
        kind: CounterpartyType,
        meta: RowMeta,
    ) -> Counterparty {
        Counterparty {
            id,
            normalized_name: normalize(&name),
            name,
            display_name: None,
            kind,
            risk_level: None,
            verified_status: None,
            trust_status: TrustStatus::Unreviewed,
            trust_reviewed_at: None,
            aliases: Vec::new(),
            linked_accounts: Vec::new(),
            agent_id: None,
            onchain_address: None,
            metadata: Map::new(),
            meta,
        }
    }

    /// The name to display.
    pub(crate) fn title(&self) -> &str {
        self.display_name.as_deref().unwrap_or(&self.name)
    }

    /// The JSON of lists and reads, with the total that was paid to it.
    pub(crate) fn to_public_json(&self, sql: &mut dyn Sql) -> Result<Map<String, Value>> {
        let tenant = sql.tenant().as_str().to_owned();
        let mut json = self.to_json(&tenant);
        if self.display_name.is_none() {
            json.insert("display_name".into(), self.name.as_str().into());
        }
        let outflows = paid_totals(sql, self.id.as_str())?;
        let count: i64 = outflows.iter().map(|(count, ..)| count).sum();
        json.insert("payment_count".into(), count.into());
        // Amounts of different currencies are never added; with several currencies there is one total each.
        let total = match outflows.as_slice() {
            [] => Value::from("0.00"),
            [(_, amount, _)] => money::to_wire(*amount).into(),
            several => {
                let totals = several.iter().map(|(_, amount, currency)| {
                    (currency.as_str().to_owned(), Value::from(money::to_wire(*amount)))
                });
                Value::Object(totals.collect())
            }
        };
        json.insert("payment_total".into(), total);
        Ok(json)
    }

    /// The JSON Schema of [`to_public_json`](Counterparty::to_public_json).
    pub(crate) fn public_schema() -> Value {
        let mut fields = Counterparty::field_schemas();
        fields.insert("payment_count".into(), json!({"type": "integer"}));
        let total = json!({
            "type": ["string", "object"],
            "description": "What was paid to it; an object of amounts by currency if there are several currencies",
        });
        fields.insert("payment_total".into(), total);
        entity::object_schema(fields)
    }

    /// The key in lists by name.
    pub(crate) fn key(&self) -> Key {
        Key { sort: SortValue::Text(self.normalized_name.clone()), id: self.id.as_str().to_owned() }
    }

    /// Parses a line of a file.
    pub(crate) fn parse_line(line: &Map<String, Value>, meta: RowMeta) -> Result<Counterparty> {
        let mut line = line.clone();
        let name: String = entity::parse_field(&line, "name")?;
        line.insert("normalized_name".into(), normalize(&name).into());
        line.entry("type").or_insert_with(|| CounterpartyType::Other.to_json());
        line.entry("trust_status").or_insert_with(|| TrustStatus::Unreviewed.to_json());
        Counterparty::from_line(&line, meta)
    }
}

/// The total paid to a counterparty (posted and cleared outflows), by currency.
pub(crate) fn paid_totals(sql: &mut dyn Sql, id: &str) -> Result<Vec<(i64, Amount, Currency)>> {
    let totals = total::for_subject(sql, Subject::Counterparty, id, total::ALL_TIME)?;
    let outflows = totals.into_iter().filter(|total| total.direction == "outflow");
    Ok(outflows.map(|total| (total.count, total.amount, total.currency)).collect())
}

/// Inserts a counterparty, or replaces `old` by it. False if an insert finds its id, or its name and type, taken.
pub(crate) fn save(
    tx: &mut Tx<'_>,
    old: Option<&Counterparty>,
    new: &Counterparty,
    touched: &mut TouchedTags,
) -> Result<bool> {
    if !entity::insert_or_update(tx, old, new)? {
        return Ok(false);
    }
    save_aliases(tx, old.map_or(&[], |old| &old.aliases), new)?;
    crate::raw::mark_cited(tx, &new.meta)?;
    touched.row(Counterparty::KIND, new.id.as_str());
    if old.is_none_or(|old| old.title() != new.title()) {
        touched.listing();
    }
    Ok(true)
}

/// Updates the alias index to the aliases of `new`.
fn save_aliases(tx: &mut Tx<'_>, old: &[String], new: &Counterparty) -> Result<()> {
    let tenant = tx.tenant().as_str().to_owned();
    let normalized =
        |aliases: &[String]| aliases.iter().map(|alias| normalize(alias)).collect::<BTreeSet<_>>();
    let (before, after) = (normalized(old), normalized(&new.aliases));
    for alias in before.difference(&after) {
        tx.execute(
            "DELETE FROM brain_alias WHERE tenant_id = $1 AND alias = $2 AND counterparty_id = $3",
            params![tenant.as_str(), alias.as_str(), new.id.as_str()],
        )?;
    }
    for alias in after.difference(&before) {
        tx.execute(
            "INSERT INTO brain_alias (tenant_id, alias, counterparty_id) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING",
            params![tenant.as_str(), alias.as_str(), new.id.as_str()],
        )?;
    }
    Ok(())
}

/// The counterparty with this normalized name or alias, of any type.
pub(crate) fn by_name(sql: &mut dyn Sql, normalized: &str) -> Result<Option<Counterparty>> {
    let tenant = sql.tenant().as_str().to_owned();
    let query = format!(
        "SELECT {} FROM brain_counterparty WHERE tenant_id = $1 AND normalized_name = $2 ORDER BY kind LIMIT 1",
        Counterparty::columns()
    );
    if let Some(row) = sql.query_opt(&query, params![tenant.as_str(), normalized])? {
        return Counterparty::from_row(&row).map(Some);
    }
    let alias = sql.query_opt(
        "SELECT counterparty_id FROM brain_alias WHERE tenant_id = $1 AND alias = $2 ORDER BY counterparty_id LIMIT 1",
        params![tenant, normalized],
    )?;
    match alias {
        Some(row) => entity::find(sql, row.text(0)?),
        None => Ok(None),
    }
}

/// Counterparties with this normalized name; if there are none, those with this alias.
pub(crate) fn all_by_name(sql: &mut dyn Sql, normalized: &str, limit: usize) -> Result<Vec<Counterparty>> {
    let tenant = sql.tenant().as_str().to_owned();
    let query = format!(
        "SELECT {} FROM brain_counterparty WHERE tenant_id = $1 AND normalized_name = $2 ORDER BY kind LIMIT $3",
        Counterparty::columns()
    );
    let named = sql.query(&query, params![tenant.as_str(), normalized, limit as i64])?;
    if !named.is_empty() {
        return named.iter().map(Counterparty::from_row).collect();
    }
    let aliases = sql.query(
        "SELECT counterparty_id FROM brain_alias WHERE tenant_id = $1 AND alias = $2 ORDER BY counterparty_id LIMIT $3",
        params![tenant, normalized, limit as i64],
    )?;
    let ids: Vec<String> = aliases.iter().map(|row| Ok(row.text(0)?.to_owned())).collect::<Result<_>>()?;
    entity::find_many(sql, &ids)
}

/// A page of counterparties by name.
pub(crate) fn page(
    sql: &mut dyn Sql,
    q: Option<&str>,
    kind: Option<CounterpartyType>,
    after: Option<Key>,
    limit: usize,
) -> Result<(Vec<Counterparty>, Option<Key>)> {
    let name_query = q.map(normalize).filter(|name_query| !name_query.is_empty());
    IndexRange::order_by("normalized_name", false).page(
        sql,
        after,
        limit,
        Counterparty::key,
        |row: &Counterparty| {
            kind.is_none_or(|kind| row.kind == kind)
                && name_query.as_deref().is_none_or(|name_query| {
                    row.normalized_name.contains(name_query)
                        || row.aliases.iter().any(|alias| normalize(alias) == name_query)
                })
        },
    )
}

/// The counterparty that a question names: the longest matching name or alias.
pub(crate) fn find_mentioned(sql: &mut dyn Sql, words: &str) -> Result<Option<Counterparty>> {
    let words = normalize(words);
    let parts: Vec<&str> = words.split(' ').collect();
    // Tries every sequence of up to six words, longest first, with one lookup each.
    for length in (1..=parts.len().min(6)).rev() {
        for window in parts.windows(length) {
            let phrase = window.join(" ");
            if phrase.len() < 2 {
                continue;
            }
            if let Some(counterparty) = by_name(sql, &phrase)? {
                return Ok(Some(counterparty));
            }
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn normalize_drops_case_and_punctuation() {
        assert_eq!(normalize("  Amazon Web-Services, Inc. "), "amazon web services inc");
        assert_eq!(normalize("AT&T"), "at&t");
        assert_eq!(normalize("Bäcker Müller"), "bäcker müller");
        assert_eq!(normalize("***"), "***");
    }
}
