//! `evidence_resolve`: checks which references lead to a row.

use quad_core::tool::{ToolCall, ToolEffect, ToolResult};
use quad_core::tool_schema::{array, object, result};
use quad_core::{ReadSet, Result, Tool, ToolEntry};
use quad_store::Sql;
use serde_json::{Value, json};

use super::{Arguments, run_read};
use crate::account::Account;
use crate::counterparty::Counterparty;
use crate::entity::{self, Entity};
use crate::invoice::Invoice;
use crate::money::format_with_currency;
use crate::obligation::Obligation;
use crate::reference::strip_address;
use crate::routes::EXECUTION_READ;
use crate::transaction::Transaction;
use crate::{Brain, calendar, errors, limits, tags};

/// The kinds of references.
const KINDS: &[&str] = &["account", "counterparty", "invoice", "obligation", "transaction", "wiki_entity"];

pub(super) fn entries() -> Vec<ToolEntry<Brain>> {
    let reference = json!({
        "type": "object",
        "properties": {
            "kind": {"type": "string", "enum": KINDS, "description": "The kind of the row"},
            "ref": super::reference("Its id or address"),
        },
        "required": ["kind", "ref"],
        "additionalProperties": false,
    });
    let tool = Tool::new(
        "evidence_resolve",
        "Resolve references",
        "Checks for each reference whether its row exists; returns a one-line summary and the address of the row.",
        object(
            &[(
                "refs",
                json!({"type": "array", "minItems": 1, "maxItems": limits::MAX_REFERENCES, "items": reference,
                    "description": "The references to check"}),
            )],
            &["refs"],
        ),
        EXECUTION_READ,
        ToolEffect::Reads,
    )
    .dotted("evidence.resolve")
    .output(result(&[("results", array(resolved_schema(), "One for each reference, in their order"))], &["results"]))
    .example(json!({"refs": [{"kind": "transaction", "ref": "tx_4127"}]}))
    .aliases(&[("references", "refs"), ("evidence", "refs"), ("id", "ref"), ("type", "kind")])
    .with_stored_text();
    vec![ToolEntry::new(tool, |brain, call| Box::pin(resolve_all(brain, call)))]
}

fn resolved_schema() -> Value {
    json!({
        "type": "object",
        "properties": {
            "kind": {"type": "string"},
            "ref": {"type": "string"},
            "resolvable": {"type": "boolean"},
            "not_found": {"type": "boolean"},
            "summary": {"type": ["string", "null"]},
            "deep_link": {"type": ["string", "null"], "description": "The address of the row"},
            "reason": {"type": "string", "description": "Why it does not resolve"},
        },
        "required": ["kind", "ref", "resolvable", "not_found", "summary", "deep_link"],
    })
}

async fn resolve_all(brain: &Brain, call: ToolCall<'_>) -> Result<ToolResult> {
    let arguments = Arguments(call.arguments);
    let refs: Vec<(String, String)> = arguments
        .0
        .get("refs")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .map(|entry| {
            let text = |name: &str| entry[name].as_str().unwrap_or_default().to_owned();
            (text("kind"), text("ref"))
        })
        .collect();
    let work = move |sql: &mut dyn Sql| {
        let mut read_set = tags::read_set(sql.version());
        let mut results = Vec::with_capacity(refs.len());
        for (kind, reference) in &refs {
            results.push(resolve(sql, kind, reference, &mut read_set)?);
        }
        Ok((json!({"results": results}), read_set))
    };
    run_read(brain, call.caller, work).await
}

fn resolve(sql: &mut dyn Sql, kind: &str, requested: &str, read_set: &mut ReadSet) -> Result<Value> {
    let reference = strip_address(requested);
    read_set.tags.insert(tags::row(kind, reference));
    let target: Option<(String, String)> = match kind {
        _ if !quad_core::id::is_id(reference) => None,
        Account::KIND => entity::find::<Account>(sql, reference)?.map(|row| {
            (
                format!("{}, {}", row.name, format_with_currency(row.current_balance.0, row.currency)),
                Account::uri(reference),
            )
        }),
        Counterparty::KIND => entity::find::<Counterparty>(sql, reference)?
            .map(|row| (format!("{}, {}", row.title(), row.kind), Counterparty::uri(reference))),
        Invoice::KIND => entity::find::<Invoice>(sql, reference)?.map(|row| {
            let amount = format_with_currency(row.amount_due, row.currency);
            (format!("Invoice {}, {amount}, {}", row.invoice_number, row.status), Invoice::uri(reference))
        }),
        Obligation::KIND => entity::find::<Obligation>(sql, reference)?.map(|row| {
            let (amount, day) =
                (format_with_currency(row.amount_due, row.currency), calendar::format_date(row.due_date));
            (format!("{} of {amount}, due {day}, {}", row.kind, row.status), Obligation::uri(reference))
        }),
        Transaction::KIND => entity::find::<Transaction>(sql, reference)?.map(|row| {
            let (amount, day) =
                (format_with_currency(row.amount, row.currency), calendar::format_date(row.transaction_date));
            (format!("{day}: {amount} {}, {}", row.direction, row.status), Transaction::uri(reference))
        }),
        _ => None,
    };
    let reason = match (&target, kind) {
        (Some(_), _) => None,
        (None, "wiki_entity") => Some("The wiki has pages, not entities. Refer to the row itself".to_owned()),
        (None, _) => Some(format!("No row has this id. {}", errors::rows_hint(kind))),
    };
    let mut result = json!({
        "kind": kind,
        "ref": requested,
        "resolvable": target.is_some(),
        "not_found": target.is_none(),
        "summary": target.as_ref().map(|(summary, _)| summary),
        "deep_link": target.as_ref().map(|(_, uri)| uri),
    });
    if let (Some(reason), Some(result)) = (reason, result.as_object_mut()) {
        result.insert("reason".into(), reason.into());
    }
    Ok(result)
}
