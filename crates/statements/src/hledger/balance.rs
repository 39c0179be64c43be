//! Arithmetic of journals: omitted amounts, balance assignments and assertions, and the check that each transaction
//! balances.

use std::collections::{BTreeMap, HashMap};

use crate::Amount;
use crate::diagnostic::{Diagnostics, quote};
use crate::hledger::parse::{Cost, Posting, PostingKind, Transaction};
use crate::hledger::quantity::Quantity;

/// Commodities of one account that an exclusive assertion checks; more would make a small file expensive.
const COMMODITIES_ASSERTED: usize = 100;

/// The balances of all accounts while transactions are processed in order of their days.
#[derive(Debug, Default)]
pub(crate) struct Balances {
    by_account: HashMap<String, BTreeMap<String, Amount>>,
    /// Balances that include subaccounts; kept only if an assertion needs them.
    inclusive: Option<HashMap<String, BTreeMap<String, Amount>>>,
}

impl Balances {
    pub fn new(transactions: &[Transaction]) -> Balances {
        let mut postings = transactions.iter().flat_map(|transaction| &transaction.postings);
        let needs_inclusive =
            postings.any(|posting| posting.assertion.as_ref().is_some_and(|assertion| assertion.inclusive));
        Balances { by_account: HashMap::new(), inclusive: needs_inclusive.then(HashMap::new) }
    }

    fn get(&self, account: &str, commodity: &str, inclusive: bool) -> Amount {
        let accounts =
            if inclusive { self.inclusive.as_ref().unwrap_or(&self.by_account) } else { &self.by_account };
        accounts.get(account).and_then(|balance| balance.get(commodity)).copied().unwrap_or_default()
    }

    fn add(&mut self, account: &str, quantity: &Quantity) -> Option<()> {
        let add = |accounts: &mut HashMap<String, BTreeMap<String, Amount>>, name: &str| {
            // Looked up first, since nearly every account exists already and needs no new name.
            if !accounts.contains_key(name) {
                accounts.insert(name.into(), BTreeMap::new());
            }
            let balance = accounts.get_mut(name)?.entry(quantity.commodity.clone()).or_default();
            *balance = balance.checked_add(quantity.amount)?;
            Some(())
        };
        add(&mut self.by_account, account)?;
        if let Some(inclusive) = &mut self.inclusive {
            add(inclusive, account)?;
            for (at, _) in account.match_indices(':') {
                add(inclusive, account.get(..at)?)?;
            }
        }
        Some(())
    }
}

/// The amount with which a posting counts in the balance of its transaction: its cost if it has one.
pub(crate) fn cost_value(posting: &Posting) -> Option<Quantity> {
    let quantity = posting.quantity.as_ref()?;
    match &posting.cost {
        None => Some(quantity.clone()),
        Some(cost) => apply_cost(quantity, cost),
    }
}

fn apply_cost(quantity: &Quantity, cost: &Cost) -> Option<Quantity> {
    let price = cost.quantity.amount;
    let amount = if cost.total {
        let size = price.checked_abs()?;
        if quantity.amount.is_negative() { size.checked_neg()? } else { size }
    } else {
        let product = quantity.amount.total_nanos().checked_mul(price.total_nanos())?;
        // Half a billionth is rounded away from zero; transactions are compared at a much coarser precision.
        let half = if product < 0 { -500_000_000 } else { 500_000_000 };
        Amount::from_nanos((product + half) / 1_000_000_000)?
    };
    Some(Quantity { amount, commodity: cost.quantity.commodity.clone(), decimals: cost.quantity.decimals })
}

/// Fills in omitted amounts of a transaction and checks it; `None`, with a diagnostic, if it does not balance.
pub(crate) fn balance_transaction(
    transaction: &mut Transaction,
    balances: &mut Balances,
    diagnostics: &mut Diagnostics,
) -> Option<()> {
    apply_assignments(transaction, balances, diagnostics)?;
    for kind in [PostingKind::Real, PostingKind::BalancedVirtual] {
        infer_missing_amount(transaction, kind, diagnostics)?;
    }
    for posting in &transaction.postings {
        let Some(quantity) = &posting.quantity else { continue };
        if balances.add(&posting.account, quantity).is_none() {
            diagnostics
                .error_at(posting.line, "the account's balance is larger than can be stored: left out");
            return None;
        }
        check_assertion(posting, balances, diagnostics);
    }
    Some(())
}

/// `account  = 500 EUR` without an amount: the amount that gives the account this balance.
fn apply_assignments(
    transaction: &mut Transaction,
    balances: &Balances,
    diagnostics: &mut Diagnostics,
) -> Option<()> {
    // Earlier postings of the same transaction count.
    let mut moved_earlier: HashMap<(String, String), Amount> = HashMap::new();
    for posting in &mut transaction.postings {
        if let (None, Some(assertion)) = (&posting.quantity, &posting.assertion) {
            let Quantity { amount, commodity, decimals } = &assertion.quantity;
            let key = (posting.account.clone(), commodity.clone());
            let current = balances.get(&posting.account, commodity, assertion.inclusive);
            let current = current.checked_add(moved_earlier.get(&key).copied().unwrap_or_default());
            let Some(difference) = current.and_then(|current| amount.checked_sub(current)) else {
                diagnostics
                    .error_at(posting.line, "the assigned balance is larger than can be stored: left out");
                return None;
            };
            posting.quantity =
                Some(Quantity { amount: difference, commodity: commodity.clone(), decimals: *decimals });
        }
        if let Some(quantity) = &posting.quantity {
            let sum = moved_earlier.entry((posting.account.clone(), quantity.commodity.clone())).or_default();
            *sum = sum.checked_add(quantity.amount).unwrap_or_default();
        }
    }
    Some(())
}

/// Fills in the one amount that a transaction may omit, and checks that the rest adds up to zero.
fn infer_missing_amount(
    transaction: &mut Transaction,
    kind: PostingKind,
    diagnostics: &mut Diagnostics,
) -> Option<()> {
    let line = transaction.line;
    let has_kind = |posting: &Posting| posting.kind == kind;
    let mut sums: BTreeMap<String, (Amount, usize)> = BTreeMap::new();
    let mut elided = Vec::new();
    let mut costs = false;
    for (index, posting) in transaction.postings.iter().enumerate().filter(|(_, posting)| has_kind(posting)) {
        if posting.quantity.is_none() {
            elided.push(index);
            continue;
        }
        costs |= posting.cost.is_some();
        let added = cost_value(posting).and_then(|value| {
            let (sum, decimals) = sums.entry(value.commodity).or_default();
            *sum = sum.checked_add(value.amount)?;
            // The decimals of a price do not determine the precision of the sum.
            let precision =
                if posting.cost.as_ref().is_some_and(|cost| !cost.total) { 0 } else { value.decimals };
            *decimals = (*decimals).max(precision);
            Some(())
        });
        if added.is_none() {
            diagnostics.error_at(
                posting.line,
                "the amount is larger than can be stored: its transaction is left out",
            );
            return None;
        }
    }
    sums.retain(|_, (sum, decimals)| !is_zero_at_precision(*sum, *decimals));
    match elided.as_slice() {
        [] if sums.is_empty() => Some(()),
        // Two commodities without a price are an exchange at the implied rate.
        [] if sums.len() == 2 && !costs && signs_differ(&sums) => Some(()),
        [] => {
            let remainders: Vec<String> =
                sums.iter().take(3).map(|(commodity, (sum, _))| format!("{sum} {commodity}")).collect();
            diagnostics.error_at(
                line,
                format!("the transaction does not add up, {} is left: left out", remainders.join(", ")),
            );
            None
        }
        [index] => fill_missing_amount(transaction, *index, sums),
        _ => {
            diagnostics.error_at(line, "more than one posting has no amount: the transaction is left out");
            None
        }
    }
}

/// Puts the missing amount into the posting without one: one posting per commodity.
fn fill_missing_amount(
    transaction: &mut Transaction,
    index: usize,
    sums: BTreeMap<String, (Amount, usize)>,
) -> Option<()> {
    let template = transaction.postings.get(index)?.clone();
    let mut postings = Vec::new();
    for (commodity, (sum, decimals)) in sums {
        let amount = sum.checked_neg()?;
        postings
            .push(Posting { quantity: Some(Quantity { amount, commodity, decimals }), ..template.clone() });
    }
    transaction.postings.splice(index..=index, postings);
    Some(())
}

/// Whether a sum is zero at the precision in which its parts were written.
fn is_zero_at_precision(sum: Amount, decimals: usize) -> bool {
    let step = 10i128.pow(9 - decimals.clamp(2, 9) as u32);
    sum.total_nanos().abs() * 2 < step || sum.is_zero()
}

fn signs_differ(sums: &BTreeMap<String, (Amount, usize)>) -> bool {
    let negative = sums.values().filter(|(sum, _)| sum.is_negative()).count();
    negative == 1
}

fn check_assertion(posting: &Posting, balances: &Balances, diagnostics: &mut Diagnostics) {
    let Some(assertion) = &posting.assertion else { return };
    let Quantity { amount, commodity, .. } = &assertion.quantity;
    let balance = balances.get(&posting.account, commodity, assertion.inclusive);
    if balance != *amount {
        let account = quote(&posting.account);
        let message =
            format!("the balance of {account} is asserted to be {amount} {commodity}, but it is {balance}");
        diagnostics.warning_at(posting.line, message);
    }
    if assertion.exclusive {
        let accounts =
            if assertion.inclusive { balances.inclusive.as_ref() } else { Some(&balances.by_account) };
        let commodities = accounts.and_then(|accounts| accounts.get(&posting.account));
        let held_commodity = commodities
            .into_iter()
            .flatten()
            .take(COMMODITIES_ASSERTED)
            .find(|(other_commodity, sum)| *other_commodity != commodity && !sum.is_zero());
        if let Some((other_commodity, sum)) = held_commodity {
            let account = quote(&posting.account);
            diagnostics.warning_at(
                posting.line,
                format!(
                    "{account} is asserted to contain nothing else, but contains {sum} {other_commodity}"
                ),
            );
        }
    }
}
