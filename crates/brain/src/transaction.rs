//! Transactions: single movements of money on one account.

use quad_core::{Result, Timestamp, canonical};
use quad_statements::{Amount, Currency};
use quad_store::{Sql, params};
use serde_json::{Map, Value};

use crate::entity::{self, Entity, entity};
use crate::field::Field as _;
use crate::ids::{AccountId, CategoryId, CounterpartyId};
use crate::keyset::{IndexRange, Key, RowSource as _, SortValue};
use crate::merge_scan::MergeScan;
use crate::row_meta::RowMeta;
use crate::string_enum::string_enum;
use crate::{calendar, limits};

string_enum!(
    /// The direction of the money, from the tenant's view.
    Direction, "direction" {
        Inflow = "inflow", Outflow = "outflow", Transfer = "transfer", Adjustment = "adjustment",
    }
);
string_enum!(
    /// The sign on the account: an amount has no sign, and a transfer can be either.
    Effect, "effect" { Credit = "credit", Debit = "debit" }
);
string_enum!(
    /// The status of a transaction.
    TransactionStatus, "transaction status" {
        Pending = "pending", Posted = "posted", Cleared = "cleared", Failed = "failed", Reversed = "reversed",
        Disputed = "disputed",
    }
);
string_enum!(
    /// Whether it is matched with another row about the same event.
    ReconciliationStatus, "reconciliation status" {
        Unreconciled = "unreconciled", Matched = "matched", Partial = "partial", Disputed = "disputed",
    }
);

impl TransactionStatus {
    /// Whether it counts in balances and totals.
    pub(crate) fn affects_totals(self) -> bool {
        matches!(self, TransactionStatus::Posted | TransactionStatus::Cleared)
    }
}

entity!(
    /// A stored transaction.
    Transaction, "transaction" in "brain_transaction" as TransactionId {
        amount: Amount,
        currency: Currency,
        direction: Direction,
        effect: Effect,
        account_id: AccountId,
        external_transaction_id: Option<String>,
        /// Identifies the transaction within its account: the bank's id, or the day and a fingerprint.
        dedup_key: String,
        transaction_date: Timestamp,
        posted_date: Option<Timestamp>,
        counterparty_id: Option<CounterpartyId>,
        category_id: Option<CategoryId>,
        status: TransactionStatus,
        description_raw: Option<String>,
        description_normalized: Option<String>,
        reconciliation_status: Option<ReconciliationStatus>,
        chain_tx_hash: Option<String>,
    }
);

/// Columns that clients do not see.
const INTERNAL_FIELDS: [&str; 2] = ["dedup_key", "chain_tx_hash"];

impl Transaction {
    /// The JSON of lists and reads.
    pub(crate) fn to_public_json(&self, tenant: &str) -> Map<String, Value> {
        let mut json = self.to_json(tenant);
        for internal in INTERNAL_FIELDS {
            json.shift_remove(internal);
        }
        json
    }

    /// The JSON Schema of [`to_public_json`](Transaction::to_public_json).
    pub(crate) fn public_schema() -> Value {
        let mut fields = Transaction::field_schemas();
        for internal in INTERNAL_FIELDS {
            fields.shift_remove(internal);
        }
        entity::object_schema(fields)
    }

    /// The URI of a transaction.
    pub(crate) fn uri(id: &str) -> String {
        format!("brain://ledger/transactions/{id}")
    }

    /// The key in lists by date.
    pub(crate) fn key(&self) -> Key {
        Key { sort: SortValue::Time(self.transaction_date.0), id: self.id.as_str().to_owned() }
    }

    /// Whether it is not matched yet.
    pub(crate) fn is_unreconciled(&self) -> bool {
        self.reconciliation_status == Some(ReconciliationStatus::Unreconciled)
    }

    /// Parses a line of a file.
    pub(crate) fn parse_line(line: &Map<String, Value>, meta: RowMeta) -> Result<Transaction> {
        let mut line = line.clone();
        let direction: Direction = entity::parse_field(&line, "direction")?;
        if line.get("effect").is_none_or(Value::is_null) {
            // A transfer without an effect leaves the account.
            let effect = match direction {
                Direction::Inflow | Direction::Adjustment => Effect::Credit,
                Direction::Outflow | Direction::Transfer => Effect::Debit,
            };
            line.insert("effect".into(), effect.to_json());
        }
        line.remove("dedup_key");
        let date: Timestamp = entity::parse_field(&line, "transaction_date")?;
        let id = line.get("id").and_then(Value::as_str).map(str::to_owned);
        let external = line.get("external_transaction_id").and_then(Value::as_str);
        // Without a bank's id, the row's own id is the key.
        let key = match (external, &id) {
            (Some(external), _) => external_key(external),
            (None, Some(id)) => format!("id:{id}"),
            (None, None) => day_key(date, &Value::Object(line.clone()).to_string()),
        };
        line.insert("dedup_key".into(), key.into());
        line.entry("status").or_insert_with(|| TransactionStatus::Posted.to_json());
        Transaction::from_line(&line, meta)
    }
}

/// The key of a transaction with an id of its bank.
pub(crate) fn external_key(external: &str) -> String {
    format!("x:{external}")
}

/// The key of a transaction without an id of its bank. It begins with the day, so that rows of the same time are stored
/// together.
pub(crate) fn day_key(at: Timestamp, fingerprint: &str) -> String {
    let mut digest = canonical::sha256_hex(fingerprint.as_bytes());
    digest.truncate(24);
    format!("{}:{digest}", calendar::format_date(at))
}

/// The accounts that have transactions with a counterparty: one index seek each.
fn accounts_of_counterparty(sql: &mut dyn Sql, counterparty: &str) -> Result<Vec<String>> {
    let first = "SELECT MIN(account_id) FROM brain_transaction WHERE tenant_id = $1 AND counterparty_id = $2";
    let query = format!(
        "WITH RECURSIVE dealt(id) AS ({first} UNION ALL SELECT ({first} AND account_id > dealt.id) FROM dealt \
         WHERE dealt.id IS NOT NULL) SELECT id FROM dealt WHERE id IS NOT NULL LIMIT $3"
    );
    let tenant = sql.tenant().as_str().to_owned();
    let rows = sql.query(&query, params![tenant, counterparty, limits::MAX_OWN_ACCOUNTS as i64])?;
    rows.iter().map(|row| Ok(row.text(0)?.to_owned())).collect()
}

/// A filter of transactions.
#[derive(Clone, Debug, Default)]
pub(crate) struct Filter {
    pub account_id: Option<String>,
    pub counterparty_id: Option<String>,
    pub direction: Option<Direction>,
    pub status: Option<TransactionStatus>,
    pub since: Option<Timestamp>,
    pub until: Option<Timestamp>,
}

impl Filter {
    /// A page, newest first.
    pub(crate) fn page(
        &self,
        sql: &mut dyn Sql,
        after: Option<Key>,
        limit: usize,
    ) -> Result<(Vec<Transaction>, Option<Key>)> {
        let range = IndexRange::order_by("transaction_date", true).at_least(self.since).at_most(self.until);
        let range = match (&self.account_id, &self.counterparty_id) {
            (None, None) => MergeScan::new(vec![range]),
            (Some(account), None) => MergeScan::new(vec![range.equal("account_id", account.as_str())]),
            (account, Some(counterparty)) => {
                let accounts = match account {
                    Some(account) => vec![account.clone()],
                    None => accounts_of_counterparty(sql, counterparty)?,
                };
                let range = range.equal("counterparty_id", counterparty.as_str());
                let with_account = |account: &String| range.clone().equal("account_id", account.as_str());
                MergeScan::new(accounts.iter().map(with_account).collect())
            }
        };
        range.page(sql, after, limit, Transaction::key, |row: &Transaction| {
            self.direction.is_none_or(|direction| row.direction == direction)
                && self.status.is_none_or(|status| row.status == status)
        })
    }

    /// The newest transactions.
    pub(crate) fn newest(&self, sql: &mut dyn Sql, limit: usize) -> Result<Vec<Transaction>> {
        Ok(self.page(sql, None, limit)?.0)
    }
}
