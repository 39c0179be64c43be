//! Amounts as banks and people write them: `1.234,56-`, `(1,234.56)`, `CHF 1'234.50`, `−12 €`, `5,00 S`.
//!
//! `1.234` alone is ambiguous: its mark may separate decimals or thousands. [`DecimalMarkInference`] first looks at all
//! amounts of a file; [`parse_amount`] then parses each amount with the inferred mark.

use serde::{Deserialize, Serialize};

use crate::amount::DECIMALS_MAX;
use crate::{Amount, Currency};

/// The mark between whole units and decimals.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum DecimalMark {
    /// `1,234.56`
    Point,
    /// `1.234,56`
    Comma,
}

impl DecimalMark {
    const fn byte(self) -> u8 {
        match self {
            DecimalMark::Point => b'.',
            DecimalMark::Comma => b',',
        }
    }
}

/// What one amount says in addition to its value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ParsedAmount {
    pub amount: Amount,
    /// The currency next to it.
    pub currency: Option<Currency>,
    /// Whether a word or letter next to it gives the side (`S`/`H`, `DR`/`CR`), which the sign then includes.
    pub has_side: bool,
}

/// The digits and marks of an amount, without the text around them.
#[derive(Debug, Default)]
struct Stripped<'a> {
    digits: &'a str,
    negative: bool,
    has_side: bool,
    currency: Option<Currency>,
}

fn is_space(c: char) -> bool {
    c.is_whitespace()
        || matches!(c, '\u{a0}' | '\u{202f}' | '\u{2007}' | '\u{2009}' | '\u{feff}' | '\u{200e}')
}

fn is_minus(c: char) -> bool {
    matches!(c, '-' | '\u{2212}' | '\u{2013}' | '\u{2010}' | '\u{2011}')
}

/// Removes signs, parentheses, currencies and sides until only digits and marks are left.
fn strip(text: &str) -> Option<Stripped<'_>> {
    let mut stripped = Stripped { digits: text.trim_matches(is_space), ..Stripped::default() };
    let mut signs = 0;
    // Each round removes at least one character. No known notation needs more than six rounds.
    for _ in 0..6 {
        let text = stripped.digits;
        let (Some(first), Some(last)) = (text.chars().next(), text.chars().next_back()) else { return None };
        if (first.is_ascii_digit() || matches!(first, '.' | ','))
            && (last.is_ascii_digit() || matches!(last, '.' | ','))
        {
            return (signs <= 1).then_some(stripped);
        }
        let rest = if first == '(' && last == ')' {
            stripped.negative = true;
            signs += 1;
            text.get(1..text.len() - 1)?
        } else if is_minus(first) || first == '+' {
            stripped.negative |= first != '+';
            signs += 1;
            text.get(first.len_utf8()..)?
        } else if is_minus(last) || last == '+' {
            stripped.negative |= last != '+';
            signs += 1;
            text.get(..text.len() - last.len_utf8())?
        } else if !first.is_ascii_digit() && !matches!(first, '.' | ',') {
            let end = text.find(|c: char| c.is_ascii_digit() || is_space(c) || is_minus(c) || c == '(')?;
            // `Fr.5` and `Rs.5` have a point of their own; that of `$.50` belongs to the amount.
            let mut word = text.get(..end)?;
            if let Some(symbol) =
                word.strip_suffix(['.', ',']).filter(|symbol| !symbol.ends_with(char::is_alphabetic))
            {
                word = symbol;
            }
            stripped.apply_word(word, &mut signs)?;
            text.get(word.len()..)?
        } else {
            let start = text.rfind(|c: char| c.is_ascii_digit() || is_space(c) || is_minus(c) || c == ')')?;
            let start = start + text.get(start..)?.chars().next()?.len_utf8();
            stripped.apply_word(text.get(start..)?, &mut signs)?;
            text.get(..start)?
        };
        stripped.digits = rest.trim_matches(is_space);
    }
    None
}

impl Stripped<'_> {
    /// Parses a currency or a side.
    fn apply_word(&mut self, word: &str, signs: &mut i32) -> Option<()> {
        let side = match word.trim_end_matches('.') {
            "S" | "D" | "DR" | "Dr" | "dr" | "DB" | "DBIT" | "Soll" => Some(true),
            "H" | "C" | "CR" | "Cr" | "cr" | "CRDT" | "Haben" => Some(false),
            _ => None,
        };
        match side {
            Some(negative) => {
                self.negative |= negative;
                self.has_side = true;
                *signs += 1;
            }
            None => {
                let currency = Currency::from_code_or_symbol(word)
                    .or_else(|| Currency::from_code_or_symbol(word.trim_end_matches('.')));
                if self.currency.is_some() {
                    return None;
                }
                self.currency = Some(currency?);
            }
        }
        Some(())
    }
}

/// Parses an amount with a known decimal mark. Thousands separators must separate thousands or lakhs; `None` if the
/// text is not an amount.
pub(crate) fn parse_amount(text: &str, mark: DecimalMark) -> Option<ParsedAmount> {
    if let Some(amount) = parse_plain(text.as_bytes(), mark) {
        return Some(ParsedAmount { amount, currency: None, has_side: false });
    }
    let stripped = strip(text)?;
    let (whole, fraction) = match stripped.digits.rfind(mark.byte() as char) {
        Some(index) => (stripped.digits.get(..index)?, stripped.digits.get(index + 1..)?),
        None => (stripped.digits, ""),
    };
    if (whole.is_empty() && fraction.is_empty()) || !fraction.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let group_separator = if mark == DecimalMark::Point { ',' } else { '.' };
    let whole = strip_groups(whole, group_separator)?;
    let fraction = fraction.trim_end_matches('0');
    if fraction.len() > DECIMALS_MAX {
        return None;
    }
    let amount = Amount::from_digits(stripped.negative, whole.as_bytes(), fraction.as_bytes())?;
    Some(ParsedAmount { amount, currency: stripped.currency, has_side: stripped.has_side })
}

/// Fast path: an optional minus, digits, the mark and at most nine digits.
fn parse_plain(text: &[u8], mark: DecimalMark) -> Option<Amount> {
    let (negative, digits) = match text.split_first() {
        Some((b'-', rest)) => (true, rest),
        _ => (false, text),
    };
    let index = digits.iter().position(|byte| *byte == mark.byte());
    let (whole, fraction) = match index {
        Some(mark_index) => (digits.get(..mark_index)?, digits.get(mark_index + 1..)?),
        None => (digits, &b""[..]),
    };
    let plain = !whole.is_empty()
        && (index.is_none() || !fraction.is_empty())
        && fraction.len() <= DECIMALS_MAX
        && whole.iter().chain(fraction).all(u8::is_ascii_digit);
    plain.then(|| Amount::from_digits(negative, whole, fraction))?
}

/// The digits of a whole number without group separators.
fn strip_groups(whole: &str, group_separator: char) -> Option<String> {
    if whole.bytes().all(|byte| byte.is_ascii_digit()) {
        return Some(whole.into());
    }
    let separator = whole.chars().find(|c| !c.is_ascii_digit())?;
    let is_known_separator = separator == group_separator
        || is_space(separator)
        || matches!(separator, '\'' | '\u{2019}' | '`' | '_');
    let groups: Vec<&str> = whole.split(separator).collect();
    let (first, rest) = groups.split_first()?;
    let (last, middle) = rest.split_last()?;
    let digits = |group: &&str| group.bytes().all(|byte| byte.is_ascii_digit());
    let fits = is_known_separator
        && (1..=3).contains(&first.len())
        && last.len() == 3
        // Lakhs and crores have groups of two before the last three.
        && (middle.iter().all(|group| group.len() == 3) || middle.iter().all(|group| group.len() == 2))
        && groups.iter().all(digits);
    fits.then(|| groups.concat())
}

/// Statistics about the amounts of a file that decide their decimal mark.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct DecimalMarkInference {
    pub point: usize,
    pub comma: usize,
    /// Such as `1.234` and `1,234`: thousands, or three decimals.
    pub point_unclear: usize,
    pub comma_unclear: usize,
}

impl DecimalMarkInference {
    /// Adds one amount.
    pub fn observe(&mut self, text: &str) {
        let points = memchr::memchr_iter(b'.', text.as_bytes()).count();
        let commas = memchr::memchr_iter(b',', text.as_bytes()).count();
        if points + commas == 0 {
            return;
        }
        let (Some(last), Some(end)) = (text.rfind(['.', ',']), text.rfind(|c: char| c.is_ascii_digit()))
        else {
            return;
        };
        let decimals = end.saturating_sub(last);
        let is_point = text.as_bytes().get(last) == Some(&b'.');
        match (points, commas) {
            (1.., 1..) => *if is_point { &mut self.point } else { &mut self.comma } += 1,
            // A mark that occurs several times can only be a thousands separator.
            (2.., 0) => self.comma += 1,
            (0, 2..) => self.point += 1,
            // Three digits, but `0.125` and `1234.567` have no thousands group.
            _ if decimals == 3 && !text.get(..last).is_some_and(is_not_thousands) => {
                *if is_point { &mut self.point_unclear } else { &mut self.comma_unclear } += 1;
            }
            _ => *if is_point { &mut self.point } else { &mut self.comma } += 1,
        }
    }

    /// The mark, and whether it is certain.
    pub fn infer(&self) -> (DecimalMark, bool) {
        let DecimalMarkInference { point, comma, point_unclear, comma_unclear } = *self;
        match point.cmp(&comma) {
            std::cmp::Ordering::Greater => (DecimalMark::Point, true),
            std::cmp::Ordering::Less => (DecimalMark::Comma, true),
            // Only whole amounts: both marks give the same values.
            std::cmp::Ordering::Equal if point + point_unclear + comma_unclear == 0 => {
                (DecimalMark::Point, true)
            }
            // Money has two decimals far more often than three: a mark before three digits separates thousands.
            std::cmp::Ordering::Equal if point_unclear > comma_unclear => (DecimalMark::Comma, false),
            std::cmp::Ordering::Equal => (DecimalMark::Point, false),
        }
    }
}

/// Whether the digits before a mark cannot be the first group of thousands: `0`, or four or more digits.
fn is_not_thousands(before: &str) -> bool {
    let digits = before.trim_start_matches(|c: char| !c.is_ascii_digit());
    digits.len() > 3 || digits.starts_with('0')
}

/// Parses one amount without context, as OFX and journals need it: the last of two marks is the decimal mark, and so is
/// a single mark. The flag says that a single comma or point is followed by exactly three digits.
pub(crate) fn parse_standalone(text: &str) -> Option<(ParsedAmount, bool)> {
    let mut inference = DecimalMarkInference::default();
    inference.observe(text);
    let unclear = inference.point_unclear + inference.comma_unclear > 0;
    let mark = match inference {
        DecimalMarkInference { point_unclear: 1.., .. } => DecimalMark::Point,
        DecimalMarkInference { comma_unclear: 1.., .. } => DecimalMark::Comma,
        _ => inference.infer().0,
    };
    Some((parse_amount(text, mark)?, unclear))
}

/// Whether a text could be an amount in either notation.
pub(crate) fn is_amount(text: &str) -> bool {
    parse_amount(text, DecimalMark::Point).is_some() || parse_amount(text, DecimalMark::Comma).is_some()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn point(text: &str) -> Option<String> {
        parse_amount(text, DecimalMark::Point).map(|parsed| parsed.amount.to_string())
    }

    fn comma(text: &str) -> Option<String> {
        parse_amount(text, DecimalMark::Comma).map(|parsed| parsed.amount.to_string())
    }

    #[test]
    fn parses_bank_amount_styles() {
        for (text, value) in [
            ("1.234,56-", "-1234.56"),
            ("1 234,56", "1234.56"),
            ("1\u{a0}234,56", "1234.56"),
            ("1\u{202f}234,5 €", "1234.5"),
            ("-1.234.567,00", "-1234567"),
            ("−5,00", "-5"),
            ("(5,00)", "-5"),
            ("5,00 S", "-5"),
            ("5,00 H", "5"),
            ("+ 5,00 EUR", "5"),
            ("- 5,00 EUR", "-5"),
            ("EUR -5,00", "-5"),
            (",50", "0.5"),
        ] {
            assert_eq!(comma(text).as_deref(), Some(value), "{text}");
        }
        for (text, value) in [
            ("1,234.56", "1234.56"),
            ("$1,234.56", "1234.56"),
            ("-$1,234.56", "-1234.56"),
            ("$-1,234.56", "-1234.56"),
            ("($1,234.56)", "-1234.56"),
            ("CHF 1'234.50", "1234.5"),
            ("1’234.50 CHF", "1234.5"),
            ("12,34,567.00", "1234567"),
            ("5.00CR", "5"),
            ("5.00 DR", "-5"),
            ("$.50", "0.5"),
            ("100", "100"),
            ("7.", "7"),
            ("0.10000000000", "0.1"),
        ] {
            assert_eq!(point(text).as_deref(), Some(value), "{text}");
        }
    }

    #[test]
    fn rejects_non_amounts() {
        for text in [
            "",
            "-",
            "abc",
            "1,23,4.00",
            "1.2.3",
            "12,3456.00",
            "--5",
            "-5-",
            "(5",
            "5 apples",
            "1e3",
            "0x10",
            "1/2",
            "12.01.2024",
            "$",
            "EUR USD 5",
            "0.12345678912",
            "99999999999999999999",
        ] {
            assert_eq!(point(text), None, "{text}");
        }
        assert_eq!(comma("1,234.56"), None);
    }

    #[test]
    fn parses_adjacent_currency() {
        assert_eq!(parse_amount("12 €", DecimalMark::Comma).unwrap().currency, Some(Currency::EUR));
        assert_eq!(parse_amount("USD 12.00", DecimalMark::Point).unwrap().currency, Some(Currency::USD));
    }

    #[test]
    fn infers_decimal_mark_from_all_amounts() {
        let infer = |texts: &[&str]| {
            let mut inference = DecimalMarkInference::default();
            texts.iter().for_each(|text| inference.observe(text));
            inference.infer()
        };
        assert_eq!(infer(&["1.234", "5,5"]), (DecimalMark::Comma, true));
        assert_eq!(infer(&["1,234", "0.125"]), (DecimalMark::Point, true));
        assert_eq!(infer(&["1.234.567"]), (DecimalMark::Comma, true));
        assert_eq!(infer(&["1.234"]), (DecimalMark::Comma, false));
        assert_eq!(infer(&["1,234"]), (DecimalMark::Point, false));
        assert_eq!(infer(&["12", "7"]), (DecimalMark::Point, true));
        assert_eq!(infer(&["1'234.50"]), (DecimalMark::Point, true));
    }

    proptest! {
        #[test]
        fn all_styles_parse_to_same_amount(units in -99_999_999i64..=99_999_999, cents in 0i32..100) {
            let plain = format!("{}.{cents:02}", units.abs());
            let expected = Amount::parse(&format!("{}{plain}", if units < 0 { "-" } else { "" })).unwrap();
            let mut grouped = String::new();
            let digits = units.abs().to_string();
            for (index, digit) in digits.chars().enumerate() {
                if index > 0 && (digits.len() - index).is_multiple_of(3) {
                    grouped.push('G');
                }
                grouped.push(digit);
            }
            for (group, mark, kind) in [(".", ",", DecimalMark::Comma), (" ", ",", DecimalMark::Comma),
                (",", ".", DecimalMark::Point), ("'", ".", DecimalMark::Point), ("\u{202f}", ".", DecimalMark::Point)] {
                let number = format!("{}{mark}{cents:02}", grouped.replace('G', group));
                let forms = if units < 0 {
                    [format!("-{number}"), format!("{number}-"), format!("({number})"), format!("-{number} EUR")]
                } else {
                    [number.clone(), format!("+{number}"), format!("{number} CR"), format!("€{number}")]
                };
                for form in forms {
                    prop_assert_eq!(parse_amount(&form, kind).map(|parsed| parsed.amount), Some(expected), "{}", form);
                }
            }
        }

        #[test]
        fn never_panics(text in "\\PC{0,24}", other in "[-+(). ,'0-9€$SHCR]{0,16}") {
            for text in [text, other] {
                let mut inference = DecimalMarkInference::default();
                inference.observe(&text);
                let _ = (point(&text), comma(&text), parse_standalone(&text), inference.infer());
            }
        }
    }
}
