//! `evidence.resolve`: checks which references lead to a row.

use quad_core::tool::{ToolCall, ToolEffect, ToolResult};
use quad_core::tool_schema::object;
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
use crate::routes::EXECUTION_READ;
use crate::transaction::Transaction;
use crate::{Brain, calendar, limits, tags};

/// The kinds of references.
const KINDS: &[&str] = &["account", "counterparty", "invoice", "obligation", "transaction", "wiki_entity"];

pub(super) fn entries() -> Vec<ToolEntry<Brain>> {
    let reference = json!({
        "type": "object",
        "properties": {"kind": {"type": "string", "enum": KINDS}, "ref": {"type": "string", "minLength": 1, "maxLength": 256}},
        "required": ["kind", "ref"],
        "additionalProperties": false,
    });
    let tool = Tool::new(
        "evidence.resolve",
        "Resolve references",
        "Checks for each reference whether its row exists; returns a one-line summary and the address of the row.",
        object(
            &[(
                "refs",
                json!({"type": "array", "minItems": 1, "maxItems": limits::MAX_REFERENCES, "items": reference}),
            )],
            &["refs"],
        ),
        EXECUTION_READ,
        ToolEffect::Reads,
    );
    vec![ToolEntry::new(tool, |brain, call| Box::pin(resolve_all(brain, call)))]
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

fn resolve(sql: &mut dyn Sql, kind: &str, reference: &str, read_set: &mut ReadSet) -> Result<Value> {
    read_set.tags.insert(tags::row(kind, reference));
    let target: Option<(String, String)> = match kind {
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
        (None, "wiki_entity") => Some("the wiki has pages, not entities; refer to the row itself"),
        (None, _) => Some("no row has this id"),
    };
    let mut result = json!({
        "kind": kind,
        "ref": reference,
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
