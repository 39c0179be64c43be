//! `payment_intent.*`: looking at the payments that the caller has proposed.

use quad_core::tool::{Call, Called, Effect};
use quad_core::{Result, Tool};
use serde_json::{Value, json};

use super::{Arguments, cursor, input, read, unknown, whole, word};
use crate::keyset::Key;
use crate::noun::Noun;
use crate::payment_intent::{self, IntentStatus, PaymentIntent};
use crate::routes::LEDGER_READ;
use crate::{Brain, limits, tags};

pub(super) fn tools() -> Vec<Tool> {
    vec![Tool::new(
        "payment_intent.list",
        "Own payment intents",
        "The payments that you have proposed, the newest first, and how far each has come.",
        input(
            &[
                ("status", word(IntentStatus::NAMES, "Only those")),
                ("limit", whole(1, limits::INTENTS_MAX, limits::ITEMS_DEFAULT)),
                ("cursor", cursor()),
            ],
            &[],
        ),
        LEDGER_READ,
        Effect::Reads,
    )]
}

pub(super) async fn call(brain: &Brain, call: Call<'_>) -> Result<Called> {
    if call.tool.name != "payment_intent.list" {
        return Err(unknown(call.tool.name));
    }
    let arguments = Arguments(call.arguments);
    let agent = call.caller.subject.as_ref().to_owned();
    let list = format!("{} {agent}", arguments.list_name(call.caller, call.tool.name));
    let after = Key::decode(&list, arguments.text("cursor"))?;
    let limit = arguments.count("limit", limits::ITEMS_DEFAULT);
    let status = arguments.text("status").and_then(IntentStatus::parse);
    let work = move |sql: &mut dyn quad_store::Sql| {
        let (rows, next) = payment_intent::of_agent(sql, &agent, status, after.clone(), limit)?;
        let tenant = sql.tenant().as_str().to_owned();
        let items: Vec<Value> = rows.iter().map(|row| Value::Object(row.show(&tenant))).collect();
        let next = next.map(|key| key.cursor(&list));
        let basis = tags::basis(sql.version()).on(tags::all(PaymentIntent::KIND));
        Ok((json!({"payment_intents": items, "next_cursor": next}), basis))
    };
    read(brain, call.caller, work).await
}
