//! `payment_intent.*`: the payment intents of the caller.

use quad_core::tool::{ToolCall, ToolEffect, ToolResult};
use quad_core::tool_schema::{integer, object, string_enum};
use quad_core::{Result, Tool, ToolEntry};
use serde_json::{Value, json};

use super::{Arguments, cursor, run_read};
use crate::entity::Entity;
use crate::keyset::Key;
use crate::payment_intent::{self, IntentStatus, PaymentIntent};
use crate::routes::LEDGER_READ;
use crate::{Brain, limits, tags};

pub(super) fn entries() -> Vec<ToolEntry<Brain>> {
    let tool = Tool::new(
        "payment_intent.list",
        "Own payment intents",
        "The payments that you have proposed, the newest first, and how far each has come.",
        object(
            &[
                ("status", string_enum(IntentStatus::NAMES, "Only with this status")),
                ("limit", integer(1, limits::INTENTS_MAX, limits::ITEMS_DEFAULT)),
                ("cursor", cursor()),
            ],
            &[],
        ),
        LEDGER_READ,
        ToolEffect::Reads,
    );
    vec![ToolEntry::new(tool, |brain, call| Box::pin(list_intents(brain, call)))]
}

async fn list_intents(brain: &Brain, call: ToolCall<'_>) -> Result<ToolResult> {
    let arguments = Arguments(call.arguments);
    let agent = call.caller.subject.as_ref().to_owned();
    let scope = format!("{} {agent}", arguments.cursor_scope(call.caller, call.tool.name));
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
