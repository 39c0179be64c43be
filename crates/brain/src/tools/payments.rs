//! `payment_intent_*`: the payment intents of the caller.

use quad_core::tool::{ToolCall, ToolEffect, ToolResult};
use quad_core::tool_schema::{array, object, result, string_enum};
use quad_core::{Result, Tool, ToolEntry};
use serde_json::{Value, json};

use super::{Arguments, cursor, limit, next_cursor, run_read};
use crate::entity::{Entity, object_schema};
use crate::keyset::Key;
use crate::payment_intent::{self, IntentStatus, PaymentIntent};
use crate::routes::LEDGER_READ;
use crate::{Brain, limits, tags};

pub(super) fn entries() -> Vec<ToolEntry<Brain>> {
    let tool = Tool::new(
        "payment_intent_list",
        "Own payment intents",
        "The payments that you proposed, the newest first, with their status.",
        object(
            &[
                ("status", string_enum(IntentStatus::NAMES, "Only with this status")),
                ("limit", limit(limits::INTENTS_MAX, limits::ITEMS_DEFAULT)),
                ("cursor", cursor()),
            ],
            &[],
        ),
        LEDGER_READ,
        ToolEffect::Reads,
    )
    .dotted("payment_intent.list")
    .output(result(
        &[
            ("payment_intents", array(object_schema(PaymentIntent::field_schemas()), "The intents")),
            ("next_cursor", next_cursor()),
        ],
        &["payment_intents", "next_cursor"],
    ))
    .example(json!({"status": "pending_approval"}))
    .with_stored_text();
    vec![ToolEntry::new(tool, |brain, call| Box::pin(list_intents(brain, call)))]
}

async fn list_intents(brain: &Brain, call: ToolCall<'_>) -> Result<ToolResult> {
    let arguments = Arguments(call.arguments);
    let agent = call.caller.subject.as_ref().to_owned();
    let scope = format!("{} {agent}", arguments.cursor_scope(call.caller, call.tool));
    let after = Key::decode(&scope, arguments.text("cursor"))?;
    let limit = arguments.usize_or("limit", limits::ITEMS_DEFAULT);
    let status = arguments.text("status").and_then(IntentStatus::parse);
    let work = move |sql: &mut dyn quad_store::Sql| {
        let (rows, next) = payment_intent::by_agent(sql, &agent, status, after.clone(), limit)?;
        let tenant = sql.tenant().as_str().to_owned();
        let items: Vec<Value> = rows.iter().map(|row| Value::Object(row.to_json(&tenant))).collect();
        let next = next.map(|key| key.encode(&scope));
        let read_set = tags::read_set(sql.version()).with_tag(tags::rows_of_kind(PaymentIntent::KIND));
        Ok((json!({"payment_intents": items, "next_cursor": next}), read_set))
    };
    run_read(brain, call.caller, work).await
}
