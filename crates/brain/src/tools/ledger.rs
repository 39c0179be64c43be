//! `ledger.*`: reading the ledger in lists.

use quad_core::tool::{Call, Called, Effect};
use quad_core::{Result, Tool};
use serde_json::{Value, json};

use super::{Arguments, cursor, id, input, moment, read, string, unknown, whole, word};
use crate::account::{self, Account, AccountStatus, AccountType};
use crate::counterparty::{self, Counterparty, CounterpartyType};
use crate::keyset::Key;
use crate::noun::Noun;
use crate::obligation::{self, Obligation, ObligationStatus, ObligationType};
use crate::routes::LEDGER_READ;
use crate::transaction::{self, Direction, Transaction, TransactionStatus};
use crate::{Brain, limits, tags};

pub(super) fn tools() -> Vec<Tool> {
    let tool = |name, title, description, schema| {
        Tool::new(name, title, description, schema, LEDGER_READ, Effect::Reads)
    };
    let items = || whole(1, limits::ITEMS_MAX, limits::ITEMS_DEFAULT);
    vec![
        tool(
            "ledger.account.get",
            "One account",
            "An account with its newest balance. The same as brain://ledger/accounts/{account_id}.",
            input(&[("account_id", id("The account"))], &["account_id"]),
        ),
        tool(
            "ledger.accounts.list",
            "Accounts",
            "Accounts, the newest first.",
            input(
                &[
                    ("status", word(AccountStatus::NAMES, "Only those")),
                    ("account_type", word(AccountType::NAMES, "Only those")),
                    ("limit", items()),
                    ("cursor", cursor()),
                ],
                &[],
            ),
        ),
        tool(
            "ledger.transactions.list",
            "Transactions",
            "Transactions, the newest first. A page may be short while next_cursor still goes on.",
            input(
                &[
                    ("account_id", id("Only of this account")),
                    ("counterparty_id", id("Only with this counterparty")),
                    ("direction", word(Direction::NAMES, "Only those")),
                    ("status", word(TransactionStatus::NAMES, "Only those")),
                    ("since", moment("From this moment on, inclusive")),
                    ("until", moment("Up to this moment, inclusive")),
                    ("limit", whole(1, limits::TRANSACTIONS_MAX, limits::TRANSACTIONS_DEFAULT)),
                    ("cursor", cursor()),
                ],
                &[],
            ),
        ),
        tool(
            "ledger.obligations.list",
            "Obligations",
            "What is owed, the earliest due first.",
            input(
                &[
                    ("status", word(ObligationStatus::NAMES, "Only those")),
                    ("type", word(ObligationType::NAMES, "Only those")),
                    ("due_before", moment("Only what is due by then")),
                    ("limit", items()),
                    ("cursor", cursor()),
                ],
                &[],
            ),
        ),
        tool(
            "ledger.counterparties.list",
            "Counterparties",
            "Whom money comes from and goes to, by name, with what was paid to them.",
            input(
                &[
                    ("q", string("Part of a name, or an alias")),
                    ("type", word(CounterpartyType::NAMES, "Only those")),
                    ("limit", items()),
                    ("cursor", cursor()),
                ],
                &[],
            ),
        ),
    ]
}

pub(super) async fn call(brain: &Brain, call: Call<'_>) -> Result<Called> {
    let arguments = Arguments(call.arguments);
    let list = arguments.list_name(call.caller, call.tool.name);
    let after = Key::decode(&list, arguments.text("cursor"))?;
    let limit = arguments.count("limit", limits::ITEMS_DEFAULT);
    match call.tool.name {
        "ledger.account.get" => {
            let id = arguments.required("account_id")?.to_owned();
            let work = move |sql: &mut dyn quad_store::Sql| {
                let basis = tags::basis(sql.version()).on(tags::row(Account::KIND, &id));
                let found = account::detail(sql, &id)?;
                Ok((found.unwrap_or_else(|| json!({"found": false, "account_id": id})), basis))
            };
            read(brain, call.caller, work).await
        }
        "ledger.accounts.list" => {
            let status = arguments.text("status").and_then(AccountStatus::parse);
            let account_type = arguments.text("account_type").and_then(AccountType::parse);
            let work = move |sql: &mut dyn quad_store::Sql| {
                let (rows, next) = account::page(sql, status, account_type, after.clone(), limit)?;
                let tenant = sql.tenant().as_str().to_owned();
                let items: Vec<Value> = rows.iter().map(|row| Value::Object(row.view(&tenant))).collect();
                let total = account::count(sql, status, account_type)?;
                let mut page = paged(items, next, &list);
                page["total_count"] = total.into();
                Ok((page, tags::basis(sql.version()).on(tags::all(Account::KIND))))
            };
            read(brain, call.caller, work).await
        }
        "ledger.transactions.list" => {
            let limit = arguments.count("limit", limits::TRANSACTIONS_DEFAULT);
            let filter = transaction::Filter {
                account_id: arguments.owned("account_id"),
                counterparty_id: arguments.owned("counterparty_id"),
                direction: arguments.text("direction").and_then(Direction::parse),
                status: arguments.text("status").and_then(TransactionStatus::parse),
                since: arguments.moment("since", false)?,
                until: arguments.moment("until", true)?,
            };
            let work = move |sql: &mut dyn quad_store::Sql| {
                let (rows, next) = filter.page(sql, after.clone(), limit)?;
                let tenant = sql.tenant().as_str().to_owned();
                let items = rows.iter().map(|row| Value::Object(row.view(&tenant))).collect();
                let basis = tags::basis(sql.version()).on(tags::all(Transaction::KIND));
                Ok((paged(items, next, &list), basis))
            };
            read(brain, call.caller, work).await
        }
        "ledger.obligations.list" => {
            let filter = obligation::Filter {
                status: arguments.text("status").and_then(ObligationStatus::parse),
                kind: arguments.text("type").and_then(ObligationType::parse),
                due_before: arguments.moment("due_before", true)?,
                ..obligation::Filter::default()
            };
            let work = move |sql: &mut dyn quad_store::Sql| {
                let (rows, next) = filter.page(sql, after.clone(), limit)?;
                let tenant = sql.tenant().as_str().to_owned();
                let items = rows.iter().map(|row| Value::Object(row.show(&tenant))).collect();
                let basis = tags::basis(sql.version()).on(tags::all(Obligation::KIND));
                Ok((paged(items, next, &list), basis))
            };
            read(brain, call.caller, work).await
        }
        "ledger.counterparties.list" => {
            let q = arguments.owned("q");
            let kind = arguments.text("type").and_then(CounterpartyType::parse);
            let work = move |sql: &mut dyn quad_store::Sql| {
                let (rows, next) = counterparty::page(sql, q.as_deref(), kind, after.clone(), limit)?;
                let items = rows.iter().map(|row| row.view(sql).map(Value::Object)).collect::<Result<_>>()?;
                // What was paid to somebody changes with every posting, and that touches the counterparty.
                let basis = tags::basis(sql.version()).on(tags::all(Counterparty::KIND));
                Ok((paged(items, next, &list), basis))
            };
            read(brain, call.caller, work).await
        }
        name => Err(unknown(name)),
    }
}

fn paged(items: Vec<Value>, next: Option<Key>, list: &str) -> Value {
    json!({"items": items, "next_cursor": next.map(|key| key.cursor(list))})
}
