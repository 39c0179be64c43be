//! `ledger.*`: lists of the ledger.

use quad_core::tool::{ToolCall, ToolEffect, ToolResult};
use quad_core::tool_schema::{integer, object, string, string_enum};
use quad_core::tool_table::ToolHandler;
use quad_core::{Principal, Result, Tool, ToolEntry};
use quad_store::Sql;
use serde_json::{Value, json};

use super::{Arguments, cursor, id, run_read, timestamp};
use crate::account::{self, Account, AccountStatus, AccountType};
use crate::counterparty::{self, Counterparty, CounterpartyType};
use crate::entity::Entity;
use crate::keyset::Key;
use crate::obligation::{self, Obligation, ObligationStatus, ObligationType};
use crate::routes::LEDGER_READ;
use crate::transaction::{self, Direction, Transaction, TransactionStatus};
use crate::{Brain, limits, tags};

pub(super) fn entries() -> Vec<ToolEntry<Brain>> {
    let entry = |name, title, description, schema, handler: ToolHandler<Brain>| {
        let tool = Tool::new(name, title, description, schema, LEDGER_READ, ToolEffect::Reads);
        ToolEntry::new(tool, handler)
    };
    let limit = || integer(1, limits::ITEMS_MAX, limits::ITEMS_DEFAULT);
    vec![
        entry(
            "ledger.account.get",
            "One account",
            "An account with its newest balance. The same as brain://ledger/accounts/{account_id}.",
            object(&[("account_id", id("The account"))], &["account_id"]),
            |brain, call| Box::pin(get_account(brain, call)),
        ),
        entry(
            "ledger.accounts.list",
            "Accounts",
            "Accounts, the newest first.",
            object(
                &[
                    ("status", string_enum(AccountStatus::NAMES, "Only with this status")),
                    ("account_type", string_enum(AccountType::NAMES, "Only of this type")),
                    ("limit", limit()),
                    ("cursor", cursor()),
                ],
                &[],
            ),
            |brain, call| Box::pin(list_accounts(brain, call)),
        ),
        entry(
            "ledger.transactions.list",
            "Transactions",
            "Transactions, the newest first. A page may be short while next_cursor still goes on.",
            object(
                &[
                    ("account_id", id("Only of this account")),
                    ("counterparty_id", id("Only with this counterparty")),
                    ("direction", string_enum(Direction::NAMES, "Only in this direction")),
                    ("status", string_enum(TransactionStatus::NAMES, "Only with this status")),
                    ("since", timestamp("The start, inclusive")),
                    ("until", timestamp("The end, inclusive")),
                    ("limit", integer(1, limits::TRANSACTIONS_MAX, limits::TRANSACTIONS_DEFAULT)),
                    ("cursor", cursor()),
                ],
                &[],
            ),
            |brain, call| Box::pin(list_transactions(brain, call)),
        ),
        entry(
            "ledger.obligations.list",
            "Obligations",
            "What is owed, the earliest due first.",
            object(
                &[
                    ("status", string_enum(ObligationStatus::NAMES, "Only with this status")),
                    ("type", string_enum(ObligationType::NAMES, "Only of this type")),
                    ("due_before", timestamp("Only what is due by then")),
                    ("limit", limit()),
                    ("cursor", cursor()),
                ],
                &[],
            ),
            |brain, call| Box::pin(list_obligations(brain, call)),
        ),
        entry(
            "ledger.counterparties.list",
            "Counterparties",
            "Counterparties by name, with the total that was paid to each.",
            object(
                &[
                    ("q", string("Part of a name, or an alias")),
                    ("type", string_enum(CounterpartyType::NAMES, "Only of this type")),
                    ("limit", limit()),
                    ("cursor", cursor()),
                ],
                &[],
            ),
            |brain, call| Box::pin(list_counterparties(brain, call)),
        ),
    ]
}

async fn get_account(brain: &Brain, call: ToolCall<'_>) -> Result<ToolResult> {
    let id = Arguments(call.arguments).required("account_id")?.to_owned();
    let work = move |sql: &mut dyn Sql| {
        let read_set = tags::read_set(sql.version()).with_tag(tags::row(Account::KIND, &id));
        let detail = account::detail(sql, &id)?;
        Ok((detail.unwrap_or_else(|| json!({"found": false, "account_id": id})), read_set))
    };
    run_read(brain, call.caller, work).await
}

async fn list_accounts(brain: &Brain, call: ToolCall<'_>) -> Result<ToolResult> {
    let (caller, arguments, page) = list_arguments(call, limits::ITEMS_DEFAULT)?;
    let status = arguments.text("status").and_then(AccountStatus::parse);
    let account_type = arguments.text("account_type").and_then(AccountType::parse);
    let work = move |sql: &mut dyn Sql| {
        let (rows, next) = account::page(sql, status, account_type, page.after.clone(), page.limit)?;
        let tenant = sql.tenant().as_str().to_owned();
        let items = rows.iter().map(|row| Value::Object(row.to_public_json(&tenant))).collect();
        let mut json = page.to_json(items, next);
        json["total_count"] = account::count(sql, status, account_type)?.into();
        Ok((json, tags::read_set(sql.version()).with_tag(tags::rows_of_kind(Account::KIND))))
    };
    run_read(brain, caller, work).await
}

async fn list_transactions(brain: &Brain, call: ToolCall<'_>) -> Result<ToolResult> {
    let (caller, arguments, page) = list_arguments(call, limits::TRANSACTIONS_DEFAULT)?;
    let filter = transaction::Filter {
        account_id: arguments.owned_text("account_id"),
        counterparty_id: arguments.owned_text("counterparty_id"),
        direction: arguments.text("direction").and_then(Direction::parse),
        status: arguments.text("status").and_then(TransactionStatus::parse),
        since: arguments.timestamp("since", false)?,
        until: arguments.timestamp("until", true)?,
    };
    let work = move |sql: &mut dyn Sql| {
        let (rows, next) = filter.page(sql, page.after.clone(), page.limit)?;
        let tenant = sql.tenant().as_str().to_owned();
        let items = rows.iter().map(|row| Value::Object(row.to_public_json(&tenant))).collect();
        let read_set = tags::read_set(sql.version()).with_tag(tags::rows_of_kind(Transaction::KIND));
        Ok((page.to_json(items, next), read_set))
    };
    run_read(brain, caller, work).await
}

async fn list_obligations(brain: &Brain, call: ToolCall<'_>) -> Result<ToolResult> {
    let (caller, arguments, page) = list_arguments(call, limits::ITEMS_DEFAULT)?;
    let filter = obligation::Filter {
        status: arguments.text("status").and_then(ObligationStatus::parse),
        kind: arguments.text("type").and_then(ObligationType::parse),
        due_before: arguments.timestamp("due_before", true)?,
        ..obligation::Filter::default()
    };
    let work = move |sql: &mut dyn Sql| {
        let (rows, next) = filter.page(sql, page.after.clone(), page.limit)?;
        let tenant = sql.tenant().as_str().to_owned();
        let items = rows.iter().map(|row| Value::Object(row.to_json(&tenant))).collect();
        let read_set = tags::read_set(sql.version()).with_tag(tags::rows_of_kind(Obligation::KIND));
        Ok((page.to_json(items, next), read_set))
    };
    run_read(brain, caller, work).await
}

async fn list_counterparties(brain: &Brain, call: ToolCall<'_>) -> Result<ToolResult> {
    let (caller, arguments, page) = list_arguments(call, limits::ITEMS_DEFAULT)?;
    let q = arguments.owned_text("q");
    let kind = arguments.text("type").and_then(CounterpartyType::parse);
    let work = move |sql: &mut dyn Sql| {
        let (rows, next) = counterparty::page(sql, q.as_deref(), kind, page.after.clone(), page.limit)?;
        let items =
            rows.iter().map(|row| row.to_public_json(sql).map(Value::Object)).collect::<Result<_>>()?;
        // The paid total changes with every posting, which touches the tag of the counterparty.
        let read_set = tags::read_set(sql.version()).with_tag(tags::rows_of_kind(Counterparty::KIND));
        Ok((page.to_json(items, next), read_set))
    };
    run_read(brain, caller, work).await
}

/// The page of a list that a call asks for.
struct PageRequest {
    /// Identifies the list, so that a cursor is valid only with the same filters.
    cursor_scope: String,
    after: Option<Key>,
    limit: usize,
}

impl PageRequest {
    fn to_json(&self, items: Vec<Value>, next: Option<Key>) -> Value {
        json!({"items": items, "next_cursor": next.map(|key| key.encode(&self.cursor_scope))})
    }
}

/// Splits a list call into its caller, its filters and the requested page.
fn list_arguments(call: ToolCall<'_>, default_limit: usize) -> Result<(&Principal, Arguments, PageRequest)> {
    let arguments = Arguments(call.arguments);
    let cursor_scope = arguments.cursor_scope(call.caller, call.tool.name);
    let after = Key::decode(&cursor_scope, arguments.text("cursor"))?;
    let limit = arguments.usize_or("limit", default_limit);
    Ok((call.caller, arguments, PageRequest { cursor_scope, after, limit }))
}
