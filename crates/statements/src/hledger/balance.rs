//! The arithmetic of journals: amounts that were left out, balances that were assigned or asserted, and whether each
//! transaction adds up.

use std::collections::{BTreeMap, HashMap};

use crate::Amount;
use crate::finding::{Findings, quoted};
use crate::hledger::parse::{Cost, Posting, Reality, Transaction};
use crate::hledger::quantity::Quantity;

/// Commodities of one account that a sole assertion looks at; more would let a small file cost much.
const COMMODITIES_ASSERTED: usize = 100;

/// The balances of all accounts, as the transactions go by in the order of their days.
#[derive(Debug, Default)]
pub(crate) struct Balances {
    own: HashMap<String, BTreeMap<String, Amount>>,
    /// With all accounts below; kept only if some assertion asks for it.
    inclusive: Option<HashMap<String, BTreeMap<String, Amount>>>,
}

impl Balances {
    pub fn new(transactions: &[Transaction]) -> Balances {
        let mut postings = transactions.iter().flat_map(|transaction| &transaction.postings);
        let asked =
            postings.any(|posting| posting.assertion.as_ref().is_some_and(|assertion| assertion.inclusive));
        Balances { own: HashMap::new(), inclusive: asked.then(HashMap::new) }
    }

    fn of(&self, account: &str, commodity: &str, inclusive: bool) -> Amount {
        let accounts = if inclusive { self.inclusive.as_ref().unwrap_or(&self.own) } else { &self.own };
        accounts.get(account).and_then(|balance| balance.get(commodity)).copied().unwrap_or_default()
    }

    fn add(&mut self, account: &str, quantity: &Quantity) -> Option<()> {
        let add = |accounts: &mut HashMap<String, BTreeMap<String, Amount>>, name: &str| {
            // Looked up first, since nearly every account is there already and needs no name of its own.
            if !accounts.contains_key(name) {
                accounts.insert(name.into(), BTreeMap::new());
            }
            let balance = accounts.get_mut(name)?.entry(quantity.commodity.clone()).or_default();
            *balance = balance.checked_add(quantity.amount)?;
            Some(())
        };
        add(&mut self.own, account)?;
        if let Some(inclusive) = &mut self.inclusive {
            add(inclusive, account)?;
            for (at, _) in account.match_indices(':') {
                add(inclusive, account.get(..at)?)?;
            }
        }
        Some(())
    }
}

/// What a posting counts for when a transaction is added up: its cost if it has one.
pub(crate) fn worth(posting: &Posting) -> Option<Quantity> {
    let quantity = posting.quantity.as_ref()?;
    match &posting.cost {
        None => Some(quantity.clone()),
        Some(cost) => cost_of(quantity, cost),
    }
}

fn cost_of(quantity: &Quantity, cost: &Cost) -> Option<Quantity> {
    let price = cost.quantity.amount;
    let amount = if cost.total {
        let size = price.checked_abs()?;
        if quantity.amount.is_negative() { size.checked_neg()? } else { size }
    } else {
        let product = quantity.amount.total_nanos().checked_mul(price.total_nanos())?;
        // Half a billionth is rounded away from nothing; the sum of a transaction is judged far above that.
        let half = if product < 0 { -500_000_000 } else { 500_000_000 };
        Amount::from_nanos((product + half) / 1_000_000_000)?
    };
    Some(Quantity { amount, commodity: cost.quantity.commodity.clone(), decimals: cost.quantity.decimals })
}

/// Fills in what a transaction leaves out and checks what it claims; `None`, with a finding, if it does not add up.
pub(crate) fn settle(
    transaction: &mut Transaction,
    balances: &mut Balances,
    findings: &mut Findings,
) -> Option<()> {
    assign(transaction, balances, findings)?;
    for reality in [Reality::Real, Reality::BalancedVirtual] {
        infer(transaction, reality, findings)?;
    }
    for posting in &transaction.postings {
        let Some(quantity) = &posting.quantity else { continue };
        if balances.add(&posting.account, quantity).is_none() {
            findings.error_at(posting.line, "the account's balance is larger than can be stored: left out");
            return None;
        }
        check_assertion(posting, balances, findings);
    }
    Some(())
}

/// `account  = 500 EUR` without an amount: whatever brings the account there.
fn assign(transaction: &mut Transaction, balances: &Balances, findings: &mut Findings) -> Option<()> {
    // Earlier postings of the same transaction count.
    let mut before: HashMap<(String, String), Amount> = HashMap::new();
    for posting in &mut transaction.postings {
        if let (None, Some(assertion)) = (&posting.quantity, &posting.assertion) {
            let Quantity { amount, commodity, decimals } = &assertion.quantity;
            let key = (posting.account.clone(), commodity.clone());
            let now = balances.of(&posting.account, commodity, assertion.inclusive);
            let now = now.checked_add(before.get(&key).copied().unwrap_or_default());
            let Some(moved) = now.and_then(|now| amount.checked_sub(now)) else {
                findings
                    .error_at(posting.line, "the assigned balance is larger than can be stored: left out");
                return None;
            };
            posting.quantity =
                Some(Quantity { amount: moved, commodity: commodity.clone(), decimals: *decimals });
        }
        if let Some(quantity) = &posting.quantity {
            let sum = before.entry((posting.account.clone(), quantity.commodity.clone())).or_default();
            *sum = sum.checked_add(quantity.amount).unwrap_or_default();
        }
    }
    Some(())
}

/// Fills in the one amount that a transaction may leave out, and checks that the rest is nothing.
fn infer(transaction: &mut Transaction, reality: Reality, findings: &mut Findings) -> Option<()> {
    let line = transaction.line;
    let of_kind = |posting: &Posting| posting.reality == reality;
    let mut sums: BTreeMap<String, (Amount, usize)> = BTreeMap::new();
    let mut elided = Vec::new();
    let mut costs = false;
    for (place, posting) in transaction.postings.iter().enumerate().filter(|(_, posting)| of_kind(posting)) {
        if posting.quantity.is_none() {
            elided.push(place);
            continue;
        }
        costs |= posting.cost.is_some();
        let added = worth(posting).and_then(|worth| {
            let (sum, decimals) = sums.entry(worth.commodity).or_default();
            *sum = sum.checked_add(worth.amount)?;
            // A price's decimals say nothing about how exact the sum is.
            let exact =
                if posting.cost.as_ref().is_some_and(|cost| !cost.total) { 0 } else { worth.decimals };
            *decimals = (*decimals).max(exact);
            Some(())
        });
        if added.is_none() {
            findings.error_at(
                posting.line,
                "the amount is larger than can be stored: its transaction is left out",
            );
            return None;
        }
    }
    sums.retain(|_, (sum, decimals)| !is_nothing(*sum, *decimals));
    match elided.as_slice() {
        [] if sums.is_empty() => Some(()),
        // Two commodities without a price are an exchange at whatever rate that makes.
        [] if sums.len() == 2 && !costs && signs_differ(&sums) => Some(()),
        [] => {
            let left: Vec<String> =
                sums.iter().take(3).map(|(commodity, (sum, _))| format!("{sum} {commodity}")).collect();
            findings.error_at(
                line,
                format!("the transaction does not add up, {} is left: left out", left.join(", ")),
            );
            None
        }
        [place] => fill(transaction, *place, sums),
        _ => {
            findings.error_at(line, "more than one posting has no amount: the transaction is left out");
            None
        }
    }
}

/// Puts what is missing where the amount was left out: one posting for each commodity.
fn fill(transaction: &mut Transaction, place: usize, sums: BTreeMap<String, (Amount, usize)>) -> Option<()> {
    let template = transaction.postings.get(place)?.clone();
    let mut filled = Vec::new();
    for (commodity, (sum, decimals)) in sums {
        let amount = sum.checked_neg()?;
        filled.push(Posting { quantity: Some(Quantity { amount, commodity, decimals }), ..template.clone() });
    }
    transaction.postings.splice(place..=place, filled);
    Some(())
}

/// Whether a sum is nothing at the precision in which its parts were written.
fn is_nothing(sum: Amount, decimals: usize) -> bool {
    let step = 10i128.pow(9 - decimals.clamp(2, 9) as u32);
    sum.total_nanos().abs() * 2 < step || sum.is_zero()
}

fn signs_differ(sums: &BTreeMap<String, (Amount, usize)>) -> bool {
    let negative = sums.values().filter(|(sum, _)| sum.is_negative()).count();
    negative == 1
}

fn check_assertion(posting: &Posting, balances: &Balances, findings: &mut Findings) {
    let Some(assertion) = &posting.assertion else { return };
    let Quantity { amount, commodity, .. } = &assertion.quantity;
    let balance = balances.of(&posting.account, commodity, assertion.inclusive);
    if balance != *amount {
        let account = quoted(&posting.account);
        let message =
            format!("the balance of {account} is asserted to be {amount} {commodity}, but it is {balance}");
        findings.warning_at(posting.line, message);
    }
    if assertion.sole {
        let accounts = if assertion.inclusive { balances.inclusive.as_ref() } else { Some(&balances.own) };
        let others = accounts.and_then(|accounts| accounts.get(&posting.account));
        let other = others
            .into_iter()
            .flatten()
            .take(COMMODITIES_ASSERTED)
            .find(|(other, sum)| *other != commodity && !sum.is_zero());
        if let Some((other, sum)) = other {
            let account = quoted(&posting.account);
            findings.warning_at(
                posting.line,
                format!("{account} is asserted to hold nothing else, but holds {sum} {other}"),
            );
        }
    }
}
