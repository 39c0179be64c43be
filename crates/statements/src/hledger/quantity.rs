//! Quantities of journals: a number and its commodity, on either side, with whatever mark the journal uses.

use std::collections::HashMap;

use crate::Amount;
use crate::number::{self, DecimalMark};

/// So much of something.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Quantity {
    pub amount: Amount,
    /// Empty if none was written and the journal has no default.
    pub commodity: String,
    /// Decimals as written: the precision to which sums of it must be nothing.
    pub decimals: usize,
}

/// How a journal writes numbers, as far as its directives say.
#[derive(Clone, Debug, Default)]
pub(crate) struct Styles {
    /// `decimal-mark ,`
    pub mark: Option<DecimalMark>,
    /// `commodity 1.000,00 EUR`
    pub by_commodity: HashMap<String, DecimalMark>,
    /// `D 1,000.00 USD`
    pub default: Option<String>,
}

/// A quantity, what stands behind it, and whether its only mark could as well part thousands.
pub(crate) type Parsed<'a> = (Quantity, &'a str, bool);

/// Reads the quantity that a text begins with.
pub(crate) fn read<'a>(text: &'a str, styles: &Styles) -> Option<Parsed<'a>> {
    let mut rest = text.trim_start();
    let mut negative = false;
    let mut signed = false;
    let sign = |rest: &mut &'a str, negative: &mut bool, signed: &mut bool| {
        if let Some(behind) = rest.strip_prefix(['-', '+']).filter(|_| !*signed) {
            *negative = rest.starts_with('-');
            *signed = true;
            *rest = behind.trim_start();
        }
    };
    sign(&mut rest, &mut negative, &mut signed);
    let mut commodity = None;
    if let Some((symbol, behind)) = symbol(rest) {
        commodity = Some(symbol);
        rest = behind.trim_start();
        sign(&mut rest, &mut negative, &mut signed);
    }
    let length = number_length(rest);
    let (digits, behind) = rest.split_at_checked(length).filter(|(digits, _)| !digits.is_empty())?;
    let mut rest = behind;
    if commodity.is_none()
        && let Some((symbol, behind)) = symbol(rest.trim_start())
    {
        commodity = Some(symbol);
        rest = behind;
    }
    let commodity = commodity.or(styles.default.as_deref()).unwrap_or_default().to_owned();
    let known = styles.by_commodity.get(&commodity).copied().or(styles.mark);
    let (reading, unclear) = match known {
        Some(mark) => (number::read(digits, mark)?, false),
        None => number::read_alone(digits)?,
    };
    let mark = known.map(|mark| if mark == DecimalMark::Comma { ',' } else { '.' });
    let at = match mark {
        Some(mark) => digits.rfind(mark),
        None => digits.rfind(['.', ',']),
    };
    let decimals = at.map_or(0, |at| digits.len().saturating_sub(at + 1));
    let amount = if negative { reading.amount.checked_neg()? } else { reading.amount };
    Some((Quantity { amount, commodity, decimals }, rest, unclear))
}

/// The decimal mark that the number of a `commodity` or `D` directive shows: the last mark in it.
pub(crate) fn mark_shown(text: &str) -> Option<DecimalMark> {
    let at = text.rfind(['.', ','])?;
    Some(if text.as_bytes().get(at) == Some(&b',') { DecimalMark::Comma } else { DecimalMark::Point })
}

/// The symbol that a text begins with: quoted, or up to a digit, a space or a sign with a meaning of its own.
fn symbol(text: &str) -> Option<(&str, &str)> {
    if let Some(quoted) = text.strip_prefix('"') {
        let end = quoted.find('"')?;
        return Some((quoted.get(..end)?, quoted.get(end + 1..)?));
    }
    let end = text
        .find(|c: char| c.is_ascii_digit() || c.is_whitespace() || "-+.,;@*=\"{}()[]|!~^<>&?:".contains(c));
    let (symbol, rest) = text.split_at_checked(end.unwrap_or(text.len()))?;
    (!symbol.is_empty()).then_some((symbol, rest))
}

/// How far a number goes: digits and marks, and single spaces before groups of three digits.
fn number_length(text: &str) -> usize {
    let bytes = text.as_bytes();
    let mut at = 0;
    loop {
        match bytes.get(at) {
            Some(byte) if byte.is_ascii_digit() || matches!(byte, b'.' | b',' | b'\'') => at += 1,
            Some(b' ') if at > 0 => {
                let group =
                    bytes.get(at + 1..at + 4).is_some_and(|group| group.iter().all(u8::is_ascii_digit));
                if !group || bytes.get(at + 4).is_some_and(u8::is_ascii_digit) {
                    return at;
                }
                at += 4;
            }
            _ => return at,
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn show(text: &str) -> Option<String> {
        let (quantity, rest, unclear) = read(text, &Styles::default())?;
        let unclear = if unclear { "?" } else { "" };
        Some(format!("{} {}{unclear}|{rest}", quantity.amount, quantity.commodity))
    }

    #[test]
    fn commodities_on_either_side() {
        for (text, shown) in [
            ("$5", "5 $|"),
            ("-$5.50", "-5.5 $|"),
            ("$-5", "-5 $|"),
            ("EUR 5", "5 EUR|"),
            ("-5 EUR", "-5 EUR|"),
            ("5€", "5 €|"),
            ("1 000 000,50 EUR", "1000000.5 EUR|"),
            ("3 \"green apples\" @ $1", "3 green apples| @ $1"),
            ("1,000.00 USD = 5", "1000 USD| = 5"),
            ("1,000", "1 ?|"),
            ("5", "5 |"),
        ] {
            assert_eq!(show(text).as_deref(), Some(shown), "{text}");
        }
        for text in ["", "EUR", "--5", "= 5", "\"open 5", "1.2.3,4,5 EUR"] {
            assert_eq!(show(text), None, "{text}");
        }
    }

    #[test]
    fn directives_settle_the_mark() {
        let styles =
            Styles { mark: Some(DecimalMark::Comma), default: Some("EUR".into()), ..Styles::default() };
        let (quantity, _, unclear) = read("1.000", &styles).unwrap();
        assert_eq!(
            (quantity.amount.to_string().as_str(), quantity.commodity.as_str(), unclear),
            ("1000", "EUR", false)
        );
    }

    proptest! {
        #[test]
        fn never_panics(text in "\\PC{0,24}", other in "[-+$€\"A-Z0-9., @=]{0,20}") {
            let _ = (show(&text), show(&other), mark_shown(&text));
        }
    }
}
