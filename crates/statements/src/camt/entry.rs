//! One entry of a camt file: the booking and its details.

use crate::camt::tree::Node;
use crate::camt::{day_of_element, with_sign};
use crate::diagnostic::{Diagnostics, quote};
use crate::fingerprint::is_meaningful_id;
use crate::number::{self, DecimalMark};
use crate::{
    Amount, BankTime, Counterparty, Currency, Entry, Kind, Money, References, Split, Status, date, kind,
    limits, text,
};

/// Parses an entry. `None` is an entry for information only; an error says why it cannot be parsed.
pub(crate) fn parse_entry(
    node: &Node,
    line: u32,
    currency: Option<Currency>,
    diagnostics: &mut Diagnostics,
) -> Result<Option<Entry>, String> {
    let status = match node.text(&["Sts", "Cd"]).or_else(|| node.text(&["Sts"])) {
        Some("INFO") => return Ok(None),
        Some("PDNG" | "FUTR") => Status::Pending,
        _ => Status::Booked,
    };
    let amount = node.child("Amt").ok_or("the entry has no amount")?;
    let value = match node.text(&["CdtDbtInd"]) {
        Some("CRDT" | "DBIT") => with_sign(amount, node),
        _ => return Err("the entry is neither CRDT nor DBIT: left out".into()),
    };
    let value = value.ok_or_else(|| format!("{} is not an amount", quote(amount.text.trim())))?;
    let currency = currency.ok_or("the entry's amount has no currency")?;
    let value_day = node.child("ValDt").and_then(day_of_element);
    let booked =
        node.child("BookgDt").and_then(day_of_element).or(value_day).ok_or("the entry has no date")?;
    let mut entry = Entry::new(line, booked, value, currency);
    entry.status = status;
    entry.value_date = value_day.filter(|day| *day != booked);
    entry.moment = node.text(&["BookgDt", "DtTm"]).and_then(parse_bank_time);
    entry.reversal = matches!(node.text(&["RvslInd"]), Some("true" | "1"));
    let meaningful_id = |id: &str| text::non_empty_line(id).filter(|id| is_meaningful_id(id));
    entry.references.bank_id = node.text(&["AcctSvcrRef"]).and_then(meaningful_id);
    let note = node.text(&["AddtlNtryInf"]).unwrap_or_default();
    let details: Vec<&Node> = node
        .children_named("NtryDtls")
        .flat_map(|group| group.children_named("TxDtls"))
        .take(limits::SPLITS)
        .collect();
    match details.as_slice() {
        [] => entry.description = text::collapse_whitespace(note),
        [detail_node] => {
            let detail = Detail::parse(detail_node, value, entry.reversal);
            entry.counterparty = detail.counterparty;
            entry.references.merge(detail.references);
            entry.description = if detail.description.is_empty() {
                text::collapse_whitespace(note)
            } else {
                detail.description
            };
            entry.original = parse_original(detail_node, currency);
        }
        several => add_splits(&mut entry, several, note, diagnostics),
    }
    entry.kind = kind_from_code(node).or_else(|| details.first().and_then(|detail| kind_from_code(detail)));
    if entry.reversal || details.iter().any(|detail| detail.child("RtrInf").is_some()) {
        entry.kind = Some(Kind::Refund);
    }
    entry.kind = entry.kind.or_else(|| kind::from_text(note));
    Ok(Some(entry))
}

/// A batch: one booking of several payments.
fn add_splits(entry: &mut Entry, details: &[&Node], note: &str, diagnostics: &mut Diagnostics) {
    let mut sum = Some(Amount::ZERO);
    for detail in details {
        let amount = detail.child("Amt").or_else(|| detail.find_path(&["AmtDtls", "TxAmt", "Amt"]));
        let signed_amount = if detail.child("CdtDbtInd").is_some() {
            amount.and_then(|amount| with_sign(amount, detail))
        } else {
            let size = amount.and_then(|amount| number::parse_amount(amount.text.trim(), DecimalMark::Point));
            size.and_then(|size| {
                if entry.amount.is_negative() { size.amount.checked_neg() } else { Some(size.amount) }
            })
        };
        let currency =
            amount.and_then(|amount| amount.currency.as_deref()).and_then(Currency::from_code_or_symbol);
        sum = match (sum, signed_amount, currency.is_none_or(|currency| currency == entry.currency)) {
            (Some(sum), Some(sign), true) => sum.checked_add(sign),
            _ => None,
        };
        let Some(amount) = signed_amount else { continue };
        let Detail { counterparty, references, description } = Detail::parse(detail, amount, entry.reversal);
        let currency = currency.unwrap_or(entry.currency);
        entry.splits.push(Split { amount, currency, counterparty, description, references, category: None });
    }
    if sum != Some(entry.amount) {
        diagnostics.warning_at(entry.line, "the details of the entry do not add up to its amount");
    }
    entry.description = match text::collapse_whitespace(note) {
        note if note.is_empty() => format!("{} payments in one booking", details.len()).into(),
        note => note,
    };
}

/// Sets the counterparty, the description and the ids.
struct Detail {
    counterparty: Counterparty,
    references: References,
    description: Box<str>,
}

impl Detail {
    fn parse(node: &Node, amount: Amount, reversal: bool) -> Detail {
        // A reversal names the parties of the payment that it reverses.
        let paid_out = amount.is_negative() != reversal;
        let (party_role, agent) = if paid_out { ("Cdtr", "CdtrAgt") } else { ("Dbtr", "DbtrAgt") };
        let (ultimate, account) =
            if paid_out { ("UltmtCdtr", "CdtrAcct") } else { ("UltmtDbtr", "DbtrAcct") };
        let parties = node.child("RltdPties");
        let name = |role: &str| {
            let party = parties?.child(role)?;
            // Since version .08 the name is one level deeper.
            party
                .text(&["Nm"])
                .or_else(|| party.text(&["Pty", "Nm"]))
                .or_else(|| party.text(&["Agt", "FinInstnId", "Nm"]))
        };
        let number = parties.and_then(|parties| parties.find_path(&[account, "Id"]));
        let iban = number.and_then(|id| id.text(&["IBAN"]));
        let other = || number.and_then(|id| id.text(&["Othr", "Id"]));
        let bank = node.find_path(&["RltdAgts", agent, "FinInstnId"]);
        let counterparty = Counterparty {
            name: name(party_role).or_else(|| name(ultimate)).and_then(text::non_empty_line),
            account: iban
                .and_then(|iban| text::parse_iban(iban).or_else(|| text::non_empty_line(iban)))
                .or_else(|| text::non_empty_line(other()?)),
            bank: bank
                .and_then(|bank| {
                    bank.text(&["BICFI"]).or_else(|| bank.text(&["BIC"])).or_else(|| bank.text(&["Nm"]))
                })
                .and_then(text::non_empty_line),
        };
        Detail { counterparty, references: parse_references(node), description: parse_description(node) }
    }
}

fn parse_references(node: &Node) -> References {
    let meaningful_id = |name: &str| {
        node.text(&["Refs", name]).and_then(text::non_empty_line).filter(|id| is_meaningful_id(id))
    };
    let structured = node.child("RmtInf").and_then(|info| {
        info.children_named("Strd").find_map(|part| {
            part.text(&["CdtrRefInf", "Ref"])
                .or_else(|| part.text(&["RfrdDocInf", "Nb"]))
                .and_then(text::non_empty_line)
        })
    });
    References {
        bank_id: meaningful_id("AcctSvcrRef").or_else(|| meaningful_id("TxId")),
        end_to_end: meaningful_id("EndToEndId"),
        mandate: meaningful_id("MndtId"),
        payment: structured,
        check: meaningful_id("ChqNb"),
    }
}

/// The payer's text, or else the texts of the banks.
fn parse_description(node: &Node) -> Box<str> {
    let mut line = String::new();
    if let Some(info) = node.child("RmtInf") {
        info.children_named("Ustrd").for_each(|part| text::push_collapsed(&mut line, &part.text));
        let notes = info.children_named("Strd").flat_map(|part| part.children_named("AddtlRmtInf"));
        notes.for_each(|part| text::push_collapsed(&mut line, &part.text));
    }
    if line.is_empty() {
        text::push_collapsed(&mut line, node.text(&["AddtlTxInf"]).unwrap_or_default());
    }
    if let Some(reason) = node.text(&["RtrInf", "Rsn", "Cd"]) {
        text::push_collapsed(&mut line, &format!("(returned: {reason})"));
    }
    line.into()
}

/// The ordered amount, if it was in another currency.
fn parse_original(detail: &Node, account_currency: Currency) -> Option<Money> {
    let amount = detail
        .find_path(&["AmtDtls", "InstdAmt", "Amt"])
        .or_else(|| detail.find_path(&["AmtDtls", "TxAmt", "Amt"]))?;
    let currency = amount
        .currency
        .as_deref()
        .and_then(Currency::from_code_or_symbol)
        .filter(|currency| *currency != account_currency)?;
    Some(Money { amount: number::parse_amount(amount.text.trim(), DecimalMark::Point)?.amount, currency })
}

fn parse_bank_time(text: &str) -> Option<BankTime> {
    let (day, rest) = date::parse_date(text, date::DateOrder::Dmy)?;
    date::parse_bank_time(day, rest)
}

/// The kind of movement by the ISO 20022 bank transaction code: domain, family and sub-family.
fn kind_from_code(node: &Node) -> Option<Kind> {
    let code = node.child("BkTxCd")?;
    let family = code.text(&["Domn", "Fmly", "Cd"]);
    let sub = code.text(&["Domn", "Fmly", "SubFmlyCd"]);
    Some(match (family, sub) {
        (_, Some("INTR")) => Kind::Interest,
        (_, Some("CHRG" | "FEES" | "COMM")) => Kind::Fee,
        (_, Some("TAXE" | "WITH")) => Kind::Tax,
        (_, Some("SALA" | "PENS")) => Kind::Salary,
        (_, Some("STDO")) => Kind::StandingOrder,
        (_, Some("RRTN" | "RPCR" | "UPDD" | "CHRB" | "ARET" | "PRDD")) => Kind::Refund,
        (_, Some("DVCA" | "DVID")) => Kind::Dividend,
        (Some("CCRD" | "MCRD"), Some("CWDL" | "XBCW")) => Kind::Cash,
        (Some("CCRD" | "MCRD"), _) => Kind::Card,
        (Some("CNTR"), _) => Kind::Cash,
        (Some("ICHQ" | "RCHQ"), _) => Kind::Check,
        (Some("IDDT" | "RDDT"), _) => Kind::DirectDebit,
        (_, Some("BOOK" | "XICT")) => Kind::Transfer,
        (Some("ICDT" | "RCDT" | "IRCT" | "RRCT"), _) => Kind::Payment,
        (Some("FXDV" | "SPOT"), _) => Kind::Exchange,
        _ => return code.text(&["Prtry", "Cd"]).and_then(kind::from_text),
    })
}

impl References {
    /// Fills empty fields from another set of ids.
    fn merge(&mut self, other: References) {
        self.bank_id = self.bank_id.take().or(other.bank_id);
        self.end_to_end = self.end_to_end.take().or(other.end_to_end);
        self.mandate = self.mandate.take().or(other.mandate);
        self.payment = self.payment.take().or(other.payment);
        self.check = self.check.take().or(other.check);
    }
}
