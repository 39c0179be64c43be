//! Accounts and their balances.
//!
//! `current_balance` is the newest recorded balance plus all transactions posted after it; without a recorded balance
//! it is the sum of all posted transactions. `posted` is that sum in either case. Only [`posting`](crate::posting) and
//! [`balance`] change them.

use quad_core::{Result, Timestamp, tool_schema};
use quad_statements::{Amount, Currency};
use quad_store::{Sql, Tx, params};
use serde_json::{Map, Value, json};

use crate::balance::{self, Snapshot};
use crate::entity::{self, Entity, entity};
use crate::field::Field as _;
use crate::ids::{AccountId, BalanceId};
use crate::keyset::{IndexRange, Key, RowSource as _, SortValue};
use crate::money::Balance;
use crate::row_meta::RowMeta;
use crate::string_enum::string_enum;
use crate::tags::TouchedTags;
use crate::{counterparty, errors, money};

string_enum!(
    /// The type of an account.
    AccountType, "account type" {
        BankChecking = "bank_checking",
        BankSavings = "bank_savings",
        Card = "card",
        Loan = "loan",
        LineOfCredit = "line_of_credit",
        Onchain = "onchain",
        PaymentProcessor = "payment_processor",
    }
);
string_enum!(
    /// The status of an account.
    AccountStatus, "account status" { Active = "active", Closed = "closed", Frozen = "frozen", Pending = "pending" }
);

entity!(
    /// A stored account.
    Account, "account" in "brain_account" as AccountId {
        name: String,
        account_type: AccountType,
        institution: Option<String>,
        external_account_id: Option<String>,
        currency: Currency,
        current_balance: Balance,
        available_balance: Option<Balance>,
        status: AccountStatus,
        posted: Balance,
        balance_as_of: Option<Timestamp>,
        transaction_count: i64,
        unreconciled_count: i64,
        /// The part of the current balance that only an agent or a customer asserts.
        unconfirmed: Balance,
        /// The number of rows in `unconfirmed`.
        unconfirmed_count: i64,
    }
);

/// Columns that clients do not see.
const INTERNAL_FIELDS: [&str; 6] = [
    "posted",
    "balance_as_of",
    "transaction_count",
    "unreconciled_count",
    "unconfirmed",
    "unconfirmed_count",
];

/// The fields of an account that is to be created.
#[derive(Clone, Debug)]
pub(crate) struct NewAccount {
    pub id: AccountId,
    pub name: String,
    pub account_type: AccountType,
    pub institution: Option<String>,
    pub external_account_id: Option<String>,
    pub currency: Currency,
    pub status: AccountStatus,
}

impl Account {
    /// The JSON of lists and reads: without the internal columns, with `includes_unconfirmed` if part of the balance is
    /// only asserted.
    pub(crate) fn to_public_json(&self, tenant: &str) -> Map<String, Value> {
        let mut json = self.to_json(tenant);
        for internal in INTERNAL_FIELDS {
            json.shift_remove(internal);
        }
        if self.unconfirmed_count > 0 {
            json.insert("includes_unconfirmed".into(), self.unconfirmed.to_json());
        }
        json
    }

    /// The JSON Schema of [`to_public_json`](Account::to_public_json).
    pub(crate) fn public_schema() -> Value {
        let mut fields = Account::field_schemas();
        for internal in INTERNAL_FIELDS {
            fields.shift_remove(internal);
        }
        let required: Vec<String> = fields.keys().cloned().collect();
        fields.insert(
            "includes_unconfirmed".into(),
            json!({"type": "string", "description": "The part of current_balance that only agents assert"}),
        );
        json!({"type": "object", "properties": fields, "required": required})
    }

    /// The URI of an account.
    pub(crate) fn uri(id: &str) -> String {
        format!("brain://ledger/accounts/{id}")
    }

    /// The key in lists by age.
    pub(crate) fn key(&self) -> Key {
        Key { sort: SortValue::Time(self.meta.created_at.0), id: self.id.as_str().to_owned() }
    }

    /// Inserts the account of a line, and the balance that the line gives.
    pub(crate) fn insert_from_line(
        tx: &mut Tx<'_>,
        line: &Map<String, Value>,
        meta: RowMeta,
        touched: &mut TouchedTags,
    ) -> Result<bool> {
        const ALLOWED_KEYS: &[&str] = &[
            "name",
            "account_type",
            "institution",
            "external_account_id",
            "currency",
            "current_balance",
            "available_balance",
            "status",
            "balance_as_of",
        ];
        entity::check_keys(line, ALLOWED_KEYS)?;
        let id = match line.get("id").filter(|id| !id.is_null()) {
            Some(id) => AccountId::from_json("id", id)?,
            None => AccountId::generate()?,
        };
        let new = NewAccount {
            id,
            name: entity::parse_field(line, "name")?,
            account_type: entity::parse_field::<Option<_>>(line, "account_type")?
                .unwrap_or(AccountType::BankChecking),
            institution: entity::parse_field(line, "institution")?,
            external_account_id: entity::parse_field(line, "external_account_id")?,
            currency: entity::parse_field(line, "currency")?,
            status: entity::parse_field::<Option<_>>(line, "status")?.unwrap_or(AccountStatus::Active),
        };
        let current: Option<Balance> = entity::parse_field(line, "current_balance")?;
        let available: Option<Balance> = entity::parse_field(line, "available_balance")?;
        let as_of: Option<Timestamp> = entity::parse_field(line, "balance_as_of")?;
        let account = create(tx, new.clone(), meta.clone(), touched)?;
        if let (Some(current), Some(_)) = (current, &account) {
            let snapshot = Snapshot {
                id: BalanceId::generate()?,
                account_id: new.id,
                as_of: as_of.unwrap_or(meta.updated_at),
                current_balance: current,
                available_balance: available,
                pending_balance: None,
                currency: new.currency,
                meta,
            };
            balance::record(tx, snapshot, touched)?;
        }
        Ok(account.is_some())
    }
}

/// Creates an account. `None` if its id or its external number exists already.
pub(crate) fn create(
    tx: &mut Tx<'_>,
    new: NewAccount,
    meta: RowMeta,
    touched: &mut TouchedTags,
) -> Result<Option<Account>> {
    let zero = Balance(Amount::ZERO);
    let account = Account {
        id: new.id,
        name: new.name,
        account_type: new.account_type,
        institution: new.institution,
        external_account_id: new.external_account_id,
        currency: new.currency,
        current_balance: zero,
        available_balance: None,
        status: new.status,
        posted: zero,
        balance_as_of: None,
        transaction_count: 0,
        unreconciled_count: 0,
        unconfirmed: zero,
        unconfirmed_count: 0,
        meta,
    };
    if !entity::insert(tx, &account)? {
        return Ok(None);
    }
    crate::raw::mark_cited(tx, &account.meta)?;
    touched.row(Account::KIND, account.id.as_str());
    touched.listing();
    Ok(Some(account))
}

/// The account with this number at its bank.
pub(crate) fn by_external_id(sql: &mut dyn Sql, external: &str) -> Result<Option<Account>> {
    let query = format!(
        "SELECT {} FROM brain_account WHERE tenant_id = $1 AND external_account_id = $2",
        Account::columns()
    );
    let tenant = sql.tenant().as_str().to_owned();
    sql.query_opt(&query, params![tenant, external])?.as_ref().map(Account::from_row).transpose()
}

/// The number of accounts. A scan is acceptable: a person has a few, a company some hundreds.
pub(crate) fn count(
    sql: &mut dyn Sql,
    status: Option<AccountStatus>,
    account_type: Option<AccountType>,
) -> Result<i64> {
    let tenant = sql.tenant().as_str().to_owned();
    let row = sql.query_opt(
        "SELECT COUNT(*) FROM brain_account WHERE tenant_id = $1 AND (CAST($2 AS TEXT) IS NULL OR status = $2) \
         AND (CAST($3 AS TEXT) IS NULL OR account_type = $3)",
        params![tenant, status.map(AccountStatus::as_str), account_type.map(AccountType::as_str)],
    )?;
    row.map_or(Ok(0), |row| Ok(row.int(0)?))
}

/// A page of accounts, newest first.
pub(crate) fn page(
    sql: &mut dyn Sql,
    status: Option<AccountStatus>,
    account_type: Option<AccountType>,
    after: Option<Key>,
    limit: usize,
) -> Result<(Vec<Account>, Option<Key>)> {
    IndexRange::order_by("created_at", true).page(sql, after, limit, Account::key, |account: &Account| {
        status.is_none_or(|status| account.status == status)
            && account_type.is_none_or(|requested| account.account_type == requested)
    })
}

/// Accounts with this normalized name, the newest first. Reads the accounts one by one: there are some hundreds at most.
pub(crate) fn by_name(sql: &mut dyn Sql, normalized: &str, limit: usize) -> Result<Vec<Account>> {
    let matches = |account: &Account| counterparty::normalize(&account.name) == normalized;
    Ok(IndexRange::order_by("created_at", true).page(sql, None, limit, Account::key, matches)?.0)
}

/// The JSON of `brain://ledger/accounts/{id}` and `ledger_account_get`.
pub(crate) fn detail(sql: &mut dyn Sql, id: &str) -> Result<Option<Value>> {
    let Some(account) = entity::find::<Account>(sql, id)? else { return Ok(None) };
    let tenant = sql.tenant().as_str().to_owned();
    let latest = balance::latest(sql, id)?.map(|balance| Value::Object(balance.to_json(&tenant)));
    Ok(Some(json!({"account": account.to_public_json(&tenant), "latest_balance": latest})))
}

/// The JSON Schema of [`detail`] as the result of a tool that has these fields too.
pub(crate) fn detail_schema(other_fields: &[(&str, Value)]) -> Value {
    let mut latest = entity::object_schema(Snapshot::field_schemas());
    latest["type"] = json!(["object", "null"]);
    let mut fields = vec![("account", Account::public_schema()), ("latest_balance", latest)];
    fields.extend_from_slice(other_fields);
    tool_schema::result(&fields, &[])
}

/// The account that a question names, by id or by name. The longest matching name wins.
pub(crate) fn find_mentioned(sql: &mut dyn Sql, words: &str) -> Result<Option<Account>> {
    let (accounts, _) = page(sql, None, None, None, crate::limits::ITEMS_MAX)?;
    let exact = accounts.iter().find(|account| words.contains(&account.id.as_str().to_lowercase()));
    if let Some(account) = exact {
        return Ok(Some(account.clone()));
    }
    let matches = |account: &&Account| words.contains(&account.name.to_lowercase());
    let mut matching: Vec<&Account> = accounts.iter().filter(matches).collect();
    matching.sort_by_key(|account| std::cmp::Reverse(account.name.len()));
    Ok(matching.first().map(|account| (*account).clone()))
}

/// Adds to the posted sum and to the current balance.
pub(crate) fn add_to_balance(
    account: &mut Account,
    posted_delta: Amount,
    balance_delta: Amount,
    now: Timestamp,
) -> Result<()> {
    account.posted = Balance(money::add(account.posted.0, posted_delta)?);
    account.current_balance = Balance(money::add(account.current_balance.0, balance_delta)?);
    account.meta.updated_at = now.max(account.meta.updated_at);
    Ok(())
}

/// Returns a conflict unless the account has this currency.
pub(crate) fn check_currency(account: &Account, currency: Currency) -> Result<()> {
    if account.currency == currency {
        return Ok(());
    }
    Err(errors::conflict(
        "currency_mismatch",
        format!("The account {} is in {}, not in {currency}", account.id, account.currency),
    )
    .hint("Use an account of that currency; currencies are never added"))
}
