//! `ledger_*`: lists of the ledger.

use quad_core::text::truncate;
use quad_core::tool::{ToolCall, ToolEffect, ToolResult};
use quad_core::tool_schema::{array, object, result, string, string_enum};
use quad_core::{Principal, Result, Tool, ToolEntry};
use quad_store::Sql;
use serde_json::{Value, json};

use super::{Arguments, bound, cursor, hint, limit, next_cursor, reference, run_read};
use crate::account::{self, Account, AccountStatus, AccountType};
use crate::counterparty::{self, Counterparty, CounterpartyType};
use crate::entity::{self, Entity};
use crate::keyset::Key;
use crate::obligation::{self, Obligation, ObligationStatus, ObligationType};
use crate::routes::LEDGER_READ;
use crate::transaction::{self, Direction, Transaction, TransactionStatus};
use crate::{Brain, errors, limits, tags};

/// Another name of each argument that callers send.
const TRANSACTION_ALIASES: &[(&str, &str)] = &[
    ("account", "account_id"),
    ("account_name", "account_id"),
    ("counterparty", "counterparty_id"),
    ("counterparty_name", "counterparty_id"),
    ("vendor", "counterparty_id"),
    ("merchant", "counterparty_id"),
    ("type", "direction"),
    ("from", "since"),
    ("start", "since"),
    ("start_date", "since"),
    ("date_from", "since"),
    ("from_date", "since"),
    ("after", "since"),
    ("to", "until"),
    ("end", "until"),
    ("end_date", "until"),
    ("date_to", "until"),
    ("to_date", "until"),
    ("before", "until"),
];

pub(super) fn entries() -> Vec<ToolEntry<Brain>> {
    let list_limit = || limit(limits::ITEMS_MAX, limits::ITEMS_DEFAULT);
    let account_get = Tool::new(
        "ledger_account_get",
        "One account",
        "An account with its newest balance. The same as brain://ledger/accounts/{account_id}.",
        object(&[("account_id", reference("Id or name"))], &["account_id"]),
        LEDGER_READ,
        ToolEffect::Reads,
    )
    .dotted("ledger.account.get")
    .output(account::detail_schema(&[
        ("found", json!({"type": "boolean", "description": "false if there is no such account"})),
        (
            "account_id",
            json!({"type": "string", "description": "What was asked for, if there is no such account"}),
        ),
        ("hint", hint()),
    ]))
    .example(json!({"account_id": "acct_8231"}))
    .aliases(&[("id", "account_id"), ("account", "account_id"), ("name", "account_id")]);
    let accounts_list = Tool::new(
        "ledger_accounts_list",
        "Accounts",
        "Accounts with balances, the newest first.",
        object(
            &[
                ("status", string_enum(AccountStatus::NAMES, "Only with this status")),
                ("account_type", string_enum(AccountType::NAMES, "Only of this type")),
                ("limit", list_limit()),
                ("cursor", cursor()),
            ],
            &[],
        ),
        LEDGER_READ,
        ToolEffect::Reads,
    )
    .dotted("ledger.accounts.list")
    .output(result(
        &[
            ("items", array(Account::public_schema(), "The accounts")),
            ("next_cursor", next_cursor()),
            ("total_count", json!({"type": "integer", "description": "Accounts on all pages"})),
        ],
        &["items", "next_cursor", "total_count"],
    ))
    .example(json!({"status": "active"}))
    .aliases(&[("type", "account_type")]);
    let transactions_list = Tool::new(
        "ledger_transactions_list",
        "Transactions",
        "Transactions, the newest first. A page may be short and still have a next_cursor.",
        object(
            &[
                ("account_id", reference("Only of this account: id or name")),
                ("counterparty_id", reference("Only with this counterparty: id or name")),
                ("direction", string_enum(Direction::NAMES, "Only in this direction")),
                ("status", string_enum(TransactionStatus::NAMES, "Only with this status")),
                ("since", bound("Start, inclusive")),
                ("until", bound("End, inclusive")),
                ("limit", limit(limits::TRANSACTIONS_MAX, limits::TRANSACTIONS_DEFAULT)),
                ("cursor", cursor()),
            ],
            &[],
        ),
        LEDGER_READ,
        ToolEffect::Reads,
    )
    .dotted("ledger.transactions.list")
    .output(result(
        &[
            ("items", array(Transaction::public_schema(), "The transactions")),
            ("next_cursor", next_cursor()),
            ("hint", hint()),
        ],
        &["items", "next_cursor"],
    ))
    .example(
        json!({"account_id": "acct_8231", "direction": "outflow", "since": "2025-09", "until": "2025-09"}),
    )
    .aliases(TRANSACTION_ALIASES);
    vec![
        ToolEntry::new(account_get.with_stored_text(), |brain, call| Box::pin(get_account(brain, call))),
        ToolEntry::new(accounts_list.with_stored_text(), |brain, call| Box::pin(list_accounts(brain, call))),
        ToolEntry::new(transactions_list.with_stored_text(), |brain, call| {
            Box::pin(list_transactions(brain, call))
        }),
        ToolEntry::new(obligations_tool(), |brain, call| Box::pin(list_obligations(brain, call))),
        ToolEntry::new(counterparties_tool(), |brain, call| Box::pin(list_counterparties(brain, call))),
    ]
}

fn obligations_tool() -> Tool {
    Tool::new(
        "ledger_obligations_list",
        "Obligations",
        "What is owed, the earliest due first.",
        object(
            &[
                ("status", string_enum(ObligationStatus::NAMES, "Only with this status")),
                ("type", string_enum(ObligationType::NAMES, "Only of this type")),
                ("due_before", bound("Only what is due by then")),
                ("limit", limit(limits::ITEMS_MAX, limits::ITEMS_DEFAULT)),
                ("cursor", cursor()),
            ],
            &[],
        ),
        LEDGER_READ,
        ToolEffect::Reads,
    )
    .dotted("ledger.obligations.list")
    .output(result(
        &[
            ("items", array(entity::object_schema(Obligation::field_schemas()), "The obligations")),
            ("next_cursor", next_cursor()),
        ],
        &["items", "next_cursor"],
    ))
    .example(json!({"status": "upcoming", "due_before": "2025-10-31"}))
    .aliases(&[
        ("obligation_type", "type"),
        ("kind", "type"),
        ("due_by", "due_before"),
        ("before", "due_before"),
        ("until", "due_before"),
        ("due_date", "due_before"),
    ])
    .with_stored_text()
}

fn counterparties_tool() -> Tool {
    Tool::new(
        "ledger_counterparties_list",
        "Counterparties",
        "Counterparties by name, with what was paid to each.",
        object(
            &[
                ("q", string("Part of a name, or an alias")),
                ("type", string_enum(CounterpartyType::NAMES, "Only of this type")),
                ("limit", limit(limits::ITEMS_MAX, limits::ITEMS_DEFAULT)),
                ("cursor", cursor()),
            ],
            &[],
        ),
        LEDGER_READ,
        ToolEffect::Reads,
    )
    .dotted("ledger.counterparties.list")
    .output(result(
        &[
            ("items", array(Counterparty::public_schema(), "The counterparties")),
            ("next_cursor", next_cursor()),
        ],
        &["items", "next_cursor"],
    ))
    .example(json!({"q": "amazon", "type": "vendor"}))
    .aliases(&[("name", "q"), ("search", "q"), ("counterparty_type", "type"), ("kind", "type")])
    .with_stored_text()
}

async fn get_account(brain: &Brain, call: ToolCall<'_>) -> Result<ToolResult> {
    let requested = Arguments(call.arguments).required("account_id")?.to_owned();
    let work = move |sql: &mut dyn Sql| {
        let read_set = tags::read_set(sql.version()).with_tag(tags::rows_of_kind(Account::KIND));
        let detail = match crate::reference::find_account(sql, &requested)? {
            Some(account) => account::detail(sql, account.id.as_str())?,
            None => None,
        };
        let absent =
            || json!({"found": false, "account_id": requested, "hint": errors::rows_hint(Account::KIND)});
        Ok((detail.unwrap_or_else(absent), read_set))
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
    let (account, counterparty) =
        (arguments.owned_text("account_id"), arguments.owned_text("counterparty_id"));
    let filter = transaction::Filter {
        account_id: None,
        counterparty_id: None,
        direction: arguments.text("direction").and_then(Direction::parse),
        status: arguments.text("status").and_then(TransactionStatus::parse),
        since: arguments.bound("since", false)?,
        until: arguments.bound("until", true)?,
    };
    let work = move |sql: &mut dyn Sql| {
        let mut read_set = tags::read_set(sql.version()).with_tag(tags::rows_of_kind(Transaction::KIND));
        let mut filter = filter.clone();
        if let Some(text) = &account {
            read_set = read_set.with_tag(tags::rows_of_kind(Account::KIND));
            let Some(account) = crate::reference::find_account(sql, text)? else {
                return Ok((page.without_items(Account::KIND, text), read_set));
            };
            filter.account_id = Some(account.id.as_str().to_owned());
        }
        if let Some(text) = &counterparty {
            read_set = read_set.with_tag(tags::rows_of_kind(Counterparty::KIND));
            let Some(counterparty) = crate::reference::find_counterparty(sql, text)? else {
                return Ok((page.without_items(Counterparty::KIND, text), read_set));
            };
            filter.counterparty_id = Some(counterparty.id.as_str().to_owned());
        }
        let (rows, next) = filter.page(sql, page.after.clone(), page.limit)?;
        let tenant = sql.tenant().as_str().to_owned();
        let items = rows.iter().map(|row| Value::Object(row.to_public_json(&tenant))).collect();
        Ok((page.to_json(items, next), read_set))
    };
    run_read(brain, caller, work).await
}

async fn list_obligations(brain: &Brain, call: ToolCall<'_>) -> Result<ToolResult> {
    let (caller, arguments, page) = list_arguments(call, limits::ITEMS_DEFAULT)?;
    let filter = obligation::Filter {
        status: arguments.text("status").and_then(ObligationStatus::parse),
        kind: arguments.text("type").and_then(ObligationType::parse),
        due_before: arguments.bound("due_before", true)?,
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

    /// The page of a filter by a row that does not exist.
    fn without_items(&self, kind: &str, requested: &str) -> Value {
        let mut json = self.to_json(Vec::new(), None);
        let requested = truncate(requested, 80);
        json["hint"] =
            format!("No {kind} has the id or the name {requested}. {}", errors::rows_hint(kind)).into();
        json
    }
}

/// Splits a list call into its caller, its filters and the requested page.
fn list_arguments(call: ToolCall<'_>, default_limit: usize) -> Result<(&Principal, Arguments, PageRequest)> {
    let arguments = Arguments(call.arguments);
    let cursor_scope = arguments.cursor_scope(call.caller, call.tool);
    let after = Key::decode(&cursor_scope, arguments.text("cursor"))?;
    let limit = arguments.usize_or("limit", default_limit);
    Ok((call.caller, arguments, PageRequest { cursor_scope, after, limit }))
}
