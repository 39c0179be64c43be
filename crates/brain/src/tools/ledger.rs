//! `ledger.*`: lists of the ledger.

use quad_core::tool::{ToolCall, ToolEffect, ToolResult};
use quad_core::{Result, Tool};
use serde_json::{Value, json};

use super::{
    Arguments, cursor, id, input_schema, integer, not_implemented, run_read, string_enum, string_schema,
    timestamp,
};
use crate::account::{self, Account, AccountStatus, AccountType};
use crate::counterparty::{self, Counterparty, CounterpartyType};
use crate::entity::Entity;
use crate::keyset::Key;
use crate::obligation::{self, Obligation, ObligationStatus, ObligationType};
use crate::routes::LEDGER_READ;
use crate::transaction::{self, Direction, Transaction, TransactionStatus};
use crate::{Brain, limits, tags};

pub(super) fn tools() -> Vec<Tool> {
    let tool = |name, title, description, schema| {
        Tool::new(name, title, description, schema, LEDGER_READ, ToolEffect::Reads)
    };
    let limit_schema = || integer(1, limits::ITEMS_MAX, limits::ITEMS_DEFAULT);
    vec![
        tool(
            "ledger.account.get",
            "One account",
            "An account with its newest balance. The same as brain://ledger/accounts/{account_id}.",
            input_schema(&[("account_id", id("The account"))], &["account_id"]),
        ),
        tool(
            "ledger.accounts.list",
            "Accounts",
            "Accounts, the newest first.",
            input_schema(
                &[
                    ("status", string_enum(AccountStatus::NAMES, "Only those")),
                    ("account_type", string_enum(AccountType::NAMES, "Only those")),
                    ("limit", limit_schema()),
                    ("cursor", cursor()),
                ],
                &[],
            ),
        ),
        tool(
            "ledger.transactions.list",
            "Transactions",
            "Transactions, the newest first. A page may be short while next_cursor still goes on.",
            input_schema(
                &[
                    ("account_id", id("Only of this account")),
                    ("counterparty_id", id("Only with this counterparty")),
                    ("direction", string_enum(Direction::NAMES, "Only those")),
                    ("status", string_enum(TransactionStatus::NAMES, "Only those")),
                    ("since", timestamp("From this moment on, inclusive")),
                    ("until", timestamp("Up to this moment, inclusive")),
                    ("limit", integer(1, limits::TRANSACTIONS_MAX, limits::TRANSACTIONS_DEFAULT)),
                    ("cursor", cursor()),
                ],
                &[],
            ),
        ),
        tool(
            "ledger.obligations.list",
            "Obligations",
            "What is owed, the earliest due first.",
            input_schema(
                &[
                    ("status", string_enum(ObligationStatus::NAMES, "Only those")),
                    ("type", string_enum(ObligationType::NAMES, "Only those")),
                    ("due_before", timestamp("Only what is due by then")),
                    ("limit", limit_schema()),
                    ("cursor", cursor()),
                ],
                &[],
            ),
        ),
        tool(
            "ledger.counterparties.list",
            "Counterparties",
            "Whom money comes from and goes to, by name, with what was paid to them.",
            input_schema(
                &[
                    ("q", string_schema("Part of a name, or an alias")),
                    ("type", string_enum(CounterpartyType::NAMES, "Only those")),
                    ("limit", limit_schema()),
                    ("cursor", cursor()),
                ],
                &[],
            ),
        ),
    ]
}

pub(super) async fn call(brain: &Brain, call: ToolCall<'_>) -> Result<ToolResult> {
    let arguments = Arguments(call.arguments);
    let scope = arguments.cursor_scope(call.caller, call.tool.name);
    let after = Key::decode(&scope, arguments.text("cursor"))?;
    let limit = arguments.usize_or("limit", limits::ITEMS_DEFAULT);
    match call.tool.name {
        "ledger.account.get" => {
            let id = arguments.required("account_id")?.to_owned();
            let work = move |sql: &mut dyn quad_store::Sql| {
                let read_set = tags::read_set(sql.version()).with_tag(tags::row(Account::KIND, &id));
                let detail = account::detail(sql, &id)?;
                Ok((detail.unwrap_or_else(|| json!({"found": false, "account_id": id})), read_set))
            };
            run_read(brain, call.caller, work).await
        }
        "ledger.accounts.list" => {
            let status = arguments.text("status").and_then(AccountStatus::parse);
            let account_type = arguments.text("account_type").and_then(AccountType::parse);
            let work = move |sql: &mut dyn quad_store::Sql| {
                let (rows, next) = account::page(sql, status, account_type, after.clone(), limit)?;
                let tenant = sql.tenant().as_str().to_owned();
                let items: Vec<Value> =
                    rows.iter().map(|row| Value::Object(row.to_public_json(&tenant))).collect();
                let total = account::count(sql, status, account_type)?;
                let mut page = page_json(items, next, &scope);
                page["total_count"] = total.into();
                Ok((page, tags::read_set(sql.version()).with_tag(tags::rows_of_kind(Account::KIND))))
            };
            run_read(brain, call.caller, work).await
        }
        "ledger.transactions.list" => {
            let limit = arguments.usize_or("limit", limits::TRANSACTIONS_DEFAULT);
            let filter = transaction::Filter {
                account_id: arguments.owned_text("account_id"),
                counterparty_id: arguments.owned_text("counterparty_id"),
                direction: arguments.text("direction").and_then(Direction::parse),
                status: arguments.text("status").and_then(TransactionStatus::parse),
                since: arguments.timestamp("since", false)?,
                until: arguments.timestamp("until", true)?,
            };
            let work = move |sql: &mut dyn quad_store::Sql| {
                let (rows, next) = filter.page(sql, after.clone(), limit)?;
                let tenant = sql.tenant().as_str().to_owned();
                let items = rows.iter().map(|row| Value::Object(row.to_public_json(&tenant))).collect();
                let read_set = tags::read_set(sql.version()).with_tag(tags::rows_of_kind(Transaction::KIND));
                Ok((page_json(items, next, &scope), read_set))
            };
            run_read(brain, call.caller, work).await
        }
        "ledger.obligations.list" => {
            let filter = obligation::Filter {
                status: arguments.text("status").and_then(ObligationStatus::parse),
                kind: arguments.text("type").and_then(ObligationType::parse),
                due_before: arguments.timestamp("due_before", true)?,
                ..obligation::Filter::default()
            };
            let work = move |sql: &mut dyn quad_store::Sql| {
                let (rows, next) = filter.page(sql, after.clone(), limit)?;
                let tenant = sql.tenant().as_str().to_owned();
                let items = rows.iter().map(|row| Value::Object(row.to_json(&tenant))).collect();
                let read_set = tags::read_set(sql.version()).with_tag(tags::rows_of_kind(Obligation::KIND));
                Ok((page_json(items, next, &scope), read_set))
            };
            run_read(brain, call.caller, work).await
        }
        "ledger.counterparties.list" => {
            let q = arguments.owned_text("q");
            let kind = arguments.text("type").and_then(CounterpartyType::parse);
            let work = move |sql: &mut dyn quad_store::Sql| {
                let (rows, next) = counterparty::page(sql, q.as_deref(), kind, after.clone(), limit)?;
                let items = rows
                    .iter()
                    .map(|row| row.to_public_json(sql).map(Value::Object))
                    .collect::<Result<_>>()?;
                // The paid total changes with every posting, which touches the tag of the counterparty.
                let read_set = tags::read_set(sql.version()).with_tag(tags::rows_of_kind(Counterparty::KIND));
                Ok((page_json(items, next, &scope), read_set))
            };
            run_read(brain, call.caller, work).await
        }
        name => Err(not_implemented(name)),
    }
}

fn page_json(items: Vec<Value>, next: Option<Key>, scope: &str) -> Value {
    json!({"items": items, "next_cursor": next.map(|key| key.encode(scope))})
}
