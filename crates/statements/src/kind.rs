//! The kind of a movement by the words that banks use. A hint for a person or a rule, never a fact.

use crate::Kind;

/// The first word of a text that indicates a kind.
pub(crate) fn from_text(text: &str) -> Option<Kind> {
    let mut word = String::new();
    let mut previous = String::new();
    let mut first_kind = None;
    for part in text.split(|c: char| !c.is_alphanumeric()) {
        // The shortest of these words has three letters, the longest about thirty.
        if !(3..=40).contains(&part.len()) {
            continue;
        }
        std::mem::swap(&mut previous, &mut word);
        word.clear();
        if part.is_ascii() {
            word.push_str(part);
            word.make_ascii_lowercase();
        } else {
            word.extend(part.chars().flat_map(char::to_lowercase));
        }
        match from_bigram(&previous, &word).or_else(|| from_word(&word)) {
            // `Refund of card payment` is a refund: that word takes precedence over the means of payment.
            Some(Kind::Refund) => return Some(Kind::Refund),
            kind => first_kind = first_kind.or(kind),
        }
    }
    first_kind
}

fn from_bigram(first: &str, second: &str) -> Option<Kind> {
    Some(match (first, second) {
        ("direct", "debit") => Kind::DirectDebit,
        ("direct", "deposit") => Kind::Salary,
        ("standing", "order") => Kind::StandingOrder,
        ("bank" | "incoming" | "outgoing", "credit" | "payment") => Kind::Payment,
        _ => return None,
    })
}

fn from_word(word: &str) -> Option<Kind> {
    Some(match word {
        "refund" | "refunded" | "rückerstattung" | "erstattung" | "rückzahlung" | "rücklastschrift"
        | "rückbuchung" | "remboursement" | "reembolso" | "devolución" | "terugbetaling" | "rimborso"
        | "storno" | "chargeback" | "returned" | "reversal" | "retoure" | "stornierung" => Kind::Refund,
        "fee"
        | "fees"
        | "gebühr"
        | "gebühren"
        | "entgelt"
        | "entgeltabschluss"
        | "kontoführung"
        | "abschluss"
        | "frais"
        | "comisión"
        | "comision"
        | "kosten"
        | "commissione"
        | "provision"
        | "srvchg"
        | "kontoführungsentgelt" => Kind::Fee,
        "interest" | "zins" | "zinsen" | "habenzinsen" | "sollzinsen" | "intérêts" | "interets"
        | "intereses" | "rente" | "interessi" => Kind::Interest,
        "dividend" | "dividende" | "dividendo" | "ausschüttung" | "coupon" => Kind::Dividend,
        "atm" | "cash" | "bargeld" | "bargeldauszahlung" | "auszahlung" | "einzahlung" | "geldautomat"
        | "retrait" | "cajero" | "geldopname" | "geldautomaat" | "prelievo" | "bancomat" | "withdrawal"
        | "gaa" => Kind::Cash,
        "card" | "karte" | "kartenzahlung" | "kreditkarte" | "girocard" | "carte" | "tarjeta"
        | "betaalautomaat" | "pos" | "visa" | "mastercard" | "kartenumsatz" | "carta" | "debitkarte" => {
            Kind::Card
        }
        "check" | "cheque" | "chèque" | "scheck" | "scheckeinreichung" => Kind::Check,
        "dauerauftrag" | "dauerauftragsbuchung" | "permanent" | "repeatpmt" => Kind::StandingOrder,
        "lastschrift" | "folgelastschrift" | "erstlastschrift" | "basislastschrift" | "prélèvement"
        | "prelevement" | "incasso" | "recibo" | "directdebit" | "domiciliación" | "einzug" | "addebito" => {
            Kind::DirectDebit
        }
        "salary" | "payroll" | "gehalt" | "lohn" | "bezüge" | "salaire" | "nómina" | "nomina" | "salaris"
        | "stipendio" | "pension" | "directdep" => Kind::Salary,
        "umbuchung" | "übertrag" | "uebertrag" | "transfer" | "xfer" | "traspaso" | "giroconto"
        | "overboeking" => Kind::Transfer,
        "überweisung"
        | "ueberweisung"
        | "überweisungsgutschrift"
        | "gutschrift"
        | "onlineüberweisung"
        | "echtzeitüberweisung"
        | "virement"
        | "transferencia"
        | "bonifico"
        | "payment"
        | "gutschr"
        | "wire"
        | "ach"
        | "zahlungseingang" => Kind::Payment,
        "tax"
        | "steuer"
        | "kapitalertragsteuer"
        | "abgeltungsteuer"
        | "solidaritätszuschlag"
        | "impôt"
        | "impuesto" => Kind::Tax,
        "exchange" | "währungsumrechnung" | "cambio" | "conversion" => Kind::Exchange,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classifies_keywords_and_prefers_refund() {
        assert_eq!(from_text("SEPA-Lastschrift Folgelastschrift"), Some(Kind::DirectDebit));
        assert_eq!(from_text("FOLGELASTSCHRIFT"), Some(Kind::DirectDebit));
        assert_eq!(from_text("Card payment refund"), Some(Kind::Refund));
        assert_eq!(from_text("Monthly account fee"), Some(Kind::Fee));
        assert_eq!(from_text("DIRECT DEBIT"), Some(Kind::DirectDebit));
        assert_eq!(from_text("Groceries"), None);
        assert_eq!(from_text(""), None);
    }
}
