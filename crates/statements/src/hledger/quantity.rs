//! Quantities of journals: a number and its commodity, on either side, with the decimal mark of the journal.

use std::collections::HashMap;

use crate::Amount;
use crate::number::{self, DecimalMark};

/// A quantity of a commodity.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Quantity {
    pub amount: Amount,
    /// Empty if none was written and the journal has no default.
    pub commodity: String,
    /// Decimals as written: the precision at which sums must be zero.
    pub decimals: usize,
}

/// The notation of numbers, as declared by directives.
#[derive(Clone, Debug, Default)]
pub(crate) struct Styles {
    /// `decimal-mark ,`
    pub mark: Option<DecimalMark>,
    /// `commodity 1.000,00 EUR`
    pub by_commodity: HashMap<String, DecimalMark>,
    /// `D 1,000.00 USD`
    pub default: Option<String>,
}

/// A quantity, the text after it, and whether its only mark could also be a thousands separator.
pub(crate) type ParsedQuantity<'a> = (Quantity, &'a str, bool);

/// Parses the quantity at the start of a text.
pub(crate) fn parse_quantity<'a>(text: &'a str, styles: &Styles) -> Option<ParsedQuantity<'a>> {
    let mut rest = text.trim_start();
    let mut negative = false;
    let mut signed = false;
    let parse_sign = |rest: &mut &'a str, negative: &mut bool, signed: &mut bool| {
        if let Some(tail) = rest.strip_prefix(['-', '+']).filter(|_| !*signed) {
            *negative = rest.starts_with('-');
            *signed = true;
            *rest = tail.trim_start();
        }
    };
    parse_sign(&mut rest, &mut negative, &mut signed);
    let mut commodity = None;
    if let Some((symbol, tail)) = parse_symbol(rest) {
        commodity = Some(symbol);
        rest = tail.trim_start();
        parse_sign(&mut rest, &mut negative, &mut signed);
    }
    let length = number_length(rest);
    let (digits, tail) = rest.split_at_checked(length).filter(|(digits, _)| !digits.is_empty())?;
    let mut rest = tail;
    if commodity.is_none()
        && let Some((symbol, tail)) = parse_symbol(rest.trim_start())
    {
        commodity = Some(symbol);
        rest = tail;
    }
    let commodity = commodity.or(styles.default.as_deref()).unwrap_or_default().to_owned();
    let mark_hint = styles.by_commodity.get(&commodity).copied().or(styles.mark);
    let (reading, unclear) = match mark_hint {
        Some(mark) => (number::parse_amount(digits, mark)?, false),
        None => number::parse_standalone(digits)?,
    };
    let mark = mark_hint.map(|mark| if mark == DecimalMark::Comma { ',' } else { '.' });
    let mark_index = match mark {
        Some(mark) => digits.rfind(mark),
        None => digits.rfind(['.', ',']),
    };
    let decimals = mark_index.map_or(0, |at| digits.len().saturating_sub(at + 1));
    let amount = if negative { reading.amount.checked_neg()? } else { reading.amount };
    Some((Quantity { amount, commodity, decimals }, rest, unclear))
}

/// The decimal mark in the number of a `commodity` or `D` directive: its last mark.
pub(crate) fn last_decimal_mark(text: &str) -> Option<DecimalMark> {
    let index = text.rfind(['.', ','])?;
    Some(if text.as_bytes().get(index) == Some(&b',') { DecimalMark::Comma } else { DecimalMark::Point })
}

/// The symbol at the start of a text: quoted, or up to a digit, a space or a sign with a meaning of its own.
fn parse_symbol(text: &str) -> Option<(&str, &str)> {
    if let Some(quoted) = text.strip_prefix('"') {
        let end = quoted.find('"')?;
        return Some((quoted.get(..end)?, quoted.get(end + 1..)?));
    }
    let end = text
        .find(|c: char| c.is_ascii_digit() || c.is_whitespace() || "-+.,;@*=\"{}()[]|!~^<>&?:".contains(c));
    let (symbol, rest) = text.split_at_checked(end.unwrap_or(text.len()))?;
    (!symbol.is_empty()).then_some((symbol, rest))
}

/// The length of a number: digits and marks, and single spaces before groups of three digits.
fn number_length(text: &str) -> usize {
    let bytes = text.as_bytes();
    let mut position = 0;
    loop {
        match bytes.get(position) {
            Some(byte) if byte.is_ascii_digit() || matches!(byte, b'.' | b',' | b'\'') => position += 1,
            Some(b' ') if position > 0 => {
                let group = bytes
                    .get(position + 1..position + 4)
                    .is_some_and(|group| group.iter().all(u8::is_ascii_digit));
                if !group || bytes.get(position + 4).is_some_and(u8::is_ascii_digit) {
                    return position;
                }
                position += 4;
            }
            _ => return position,
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn format_parsed(text: &str) -> Option<String> {
        let (quantity, rest, unclear) = parse_quantity(text, &Styles::default())?;
        let unclear = if unclear { "?" } else { "" };
        Some(format!("{} {}{unclear}|{rest}", quantity.amount, quantity.commodity))
    }

    #[test]
    fn parses_commodity_on_either_side() {
        for (text, expected) in [
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
            assert_eq!(format_parsed(text).as_deref(), Some(expected), "{text}");
        }
        for text in ["", "EUR", "--5", "= 5", "\"open 5", "1.2.3,4,5 EUR"] {
            assert_eq!(format_parsed(text), None, "{text}");
        }
    }

    #[test]
    fn directives_set_decimal_mark() {
        let styles =
            Styles { mark: Some(DecimalMark::Comma), default: Some("EUR".into()), ..Styles::default() };
        let (quantity, _, unclear) = parse_quantity("1.000", &styles).unwrap();
        assert_eq!(
            (quantity.amount.to_string().as_str(), quantity.commodity.as_str(), unclear),
            ("1000", "EUR", false)
        );
    }

    proptest! {
        #[test]
        fn never_panics(text in "\\PC{0,24}", other in "[-+$€\"A-Z0-9., @=]{0,20}") {
            let _ = (format_parsed(&text), format_parsed(&other), last_decimal_mark(&text));
        }
    }
}
