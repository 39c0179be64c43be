//! Parses and formats amounts of money.

use crate::js_value::{JsTrim, format_js_number, is_js_whitespace, parse_float, parse_int};

/// Currency symbols by code.
const CURRENCY_SIGNS: [(&str, &str); 16] = [
    ("USD", "$"),
    ("EUR", "€"),
    ("GBP", "£"),
    ("JPY", "¥"),
    ("CNY", "¥"),
    ("AUD", "A$"),
    ("CAD", "C$"),
    ("CHF", "CHF "),
    ("SEK", "kr"),
    ("NOK", "kr"),
    ("DKK", "kr"),
    ("INR", "₹"),
    ("KRW", "₩"),
    ("BRL", "R$"),
    ("MXN", "MX$"),
    ("ZAR", "R"),
];

/// A currency symbol.
pub(super) struct Currency {
    sign: String,
}

impl Currency {
    /// A currency by its code. An unknown code is used as the symbol.
    pub(super) fn from_code(code: &str) -> Currency {
        let upper = code.to_uppercase();
        let sign =
            CURRENCY_SIGNS.iter().find(|(known, _)| *known == upper).map(|(_, sign)| (*sign).to_owned());
        Currency { sign: sign.unwrap_or_else(|| format!("{code} ")) }
    }

    /// An amount with its symbol: two decimals if it is not whole, commas between thousands.
    pub(super) fn format(&self, amount: f64) -> String {
        let text = if amount.fract() == 0.0 { format_js_number(amount) } else { two_decimals(amount) };
        let (whole, decimals) = match text.split_once('.') {
            Some((whole, decimals)) => (whole, format!(".{decimals}")),
            None => (text.as_str(), String::new()),
        };
        format!("{}{}{decimals}", self.sign, group_thousands(whole))
    }
}

/// Rounds halves away from zero; Rust's formatter rounds them to even. Only eighths are exact halves of a cent.
fn two_decimals(amount: f64) -> String {
    let eighths = amount * 8.0;
    let is_half = eighths.fract() == 0.0 && eighths % 2.0 != 0.0;
    let amount = if is_half { (amount * 100.0).abs().ceil() / 100.0 * amount.signum() } else { amount };
    format!("{amount:.2}")
}

fn group_thousands(whole: &str) -> String {
    let (sign, digits) = match whole.strip_prefix('-') {
        Some(digits) => ("-", digits),
        None => ("", whole),
    };
    let mut text = String::from(sign);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// The amount at the start of a text, without symbols and commas; the middle of a range; zero if there is none.
pub(super) fn parse_amount(text: &str) -> f64 {
    let clean: String =
        text.chars().filter(|c| !matches!(c, '€' | '$' | '£' | '¥' | ',') && !is_js_whitespace(*c)).collect();
    let end = clean.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(clean.len());
    let (low, rest) = clean.split_at(end);
    let high = rest
        .strip_prefix(['-', '–'])
        .filter(|high| high.starts_with(|c: char| c.is_ascii_digit() || c == '.'));
    match (parse_float(low), high.and_then(leading_digits)) {
        (Some(low), Some(high)) => (low + high) / 2.0,
        _ => parse_float(&clean).unwrap_or(0.0),
    }
}

fn leading_digits(text: &str) -> Option<f64> {
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    text.get(..end).and_then(parse_float)
}

/// The days of a duration: `2 weeks 3 days` → 17; a bare number counts days.
pub(super) fn duration_days(duration: &str) -> f64 {
    let lower = duration.to_lowercase();
    let units = [("day", 1.0), ("week", 7.0), ("month", 30.0)];
    let sum: f64 =
        units.iter().filter_map(|(unit, days)| Some(count_before_unit(&lower, unit)? * days)).sum();
    if sum == 0.0 { parse_int(duration).unwrap_or(0.0) } else { sum }
}

/// The first number before a unit.
fn count_before_unit(text: &str, unit: &str) -> Option<f64> {
    text.match_indices(unit).find_map(|(index, _)| {
        let before = text.get(..index)?.js_trim_end();
        let start = before.rfind(|c: char| !c.is_ascii_digit()).map_or(0, |last| last + 1);
        let start = (start..before.len()).find(|start| before.is_char_boundary(*start))?;
        parse_int(before.get(start..)?)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parse_amount_reads_ranges_and_signs() {
        let cases =
            [("€1,200.50", 1200.5), ("80 - 100", 90.0), ("80–100 each", 90.0), ("few", 0.0), ("12 pp", 12.0)];
        for (text, expect) in cases {
            assert_eq!(parse_amount(text), expect, "{text}");
        }
    }

    #[test]
    fn amounts_are_formatted_by_currency() {
        let format_amount = |code: &str, amount: f64| Currency::from_code(code).format(amount);
        assert_eq!(format_amount("EUR", 1_234_567.0), "€1,234,567");
        assert_eq!(format_amount("usd", 12.5), "$12.50");
        assert_eq!(format_amount("XYZ", 0.125), "XYZ 0.13");
        assert_eq!(format_amount("CHF", 100.0), "CHF 100");
    }

    #[test]
    fn duration_days_counts_units() {
        assert_eq!(duration_days("2 weeks 3 days"), 17.0);
        assert_eq!(duration_days("10"), 10.0);
        assert_eq!(duration_days("soon"), 0.0);
        assert_eq!(duration_days("1 Month"), 30.0);
    }
}
