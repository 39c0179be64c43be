//! Values as the original's language treats them: what counts as true, how a value reads as text, how a number is printed.
//!
//! A rune's attribute may be of any type whatever its schema says, and the result depends on these rules: `0` and `""` count as
//! missing, `true` prints as `true`, `3.0` as `3`.

use serde_json::{Number, Value};

pub use crate::script::{format_js_number as number_text, is_truthy, to_js_string as to_text};

/// A number, whole where it is whole.
pub fn json_number(value: f64) -> Value {
    /// Beyond this, a float no longer tells two whole numbers apart.
    const EXACT_INTEGER_MAX: f64 = 9_007_199_254_740_992.0;
    if value.fract() == 0.0 && value.abs() <= EXACT_INTEGER_MAX {
        #[allow(clippy::cast_possible_truncation)]
        return Value::from(value as i64);
    }
    Number::from_f64(value).map_or(Value::Null, Value::Number)
}

/// The whole number that a text begins with, as `parseInt` reads it: white space and a sign first, anything after.
pub fn parse_int(text: &str) -> Option<f64> {
    let text = text.trim_start();
    let (sign, digits) = match text.strip_prefix('-') {
        Some(rest) => (-1.0, rest),
        None => (1.0, text.strip_prefix('+').unwrap_or(text)),
    };
    let end = digits.find(|c: char| !c.is_ascii_digit()).unwrap_or(digits.len());
    digits.get(..end).filter(|digits| !digits.is_empty())?.parse::<f64>().ok().map(|value| sign * value)
}

/// The number that a text begins with, as `parseFloat` reads it.
pub fn parse_float(text: &str) -> Option<f64> {
    let text = text.trim_start();
    let mut end = 0;
    let (mut digits, mut point, mut exponent) = (false, false, false);
    for (pos, c) in text.char_indices() {
        let fits = match c {
            '0'..='9' => {
                digits = true;
                true
            }
            '+' | '-' => pos == 0 || text[..pos].ends_with(['e', 'E']),
            '.' if !point && !exponent => {
                point = true;
                true
            }
            'e' | 'E' if digits && !exponent => {
                exponent = true;
                true
            }
            _ => false,
        };
        if !fits {
            break;
        }
        end = pos + c.len_utf8();
    }
    // What follows the number may look like the start of an exponent: shorten until it reads.
    (1..=end)
        .rev()
        .filter_map(|end| text.get(..end))
        .find_map(|part| part.parse::<f64>().ok().filter(|_| digits))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn is_truthy_matches_javascript() {
        for value in [json!(null), json!(false), json!(0), json!("")] {
            assert!(!is_truthy(&value), "{value}");
        }
        for value in [json!(true), json!(-1), json!("0"), json!([]), json!({})] {
            assert!(is_truthy(&value), "{value}");
        }
    }

    #[test]
    fn numbers_format_like_javascript() {
        let cases = [
            (3.0, "3"),
            (-0.0, "0"),
            (0.1 + 0.2, "0.30000000000000004"),
            (1e21, "1e+21"),
            (1.5e-7, "1.5e-7"),
        ];
        for (value, expect) in cases {
            assert_eq!(number_text(value), expect);
        }
        assert_eq!(json_number(3.0).to_string(), "3");
        assert_eq!(json_number(2.5).to_string(), "2.5");
    }

    #[test]
    fn parse_int_and_parse_float_read_the_prefix() {
        assert_eq!(parse_int(" 12px"), Some(12.0));
        assert_eq!(parse_int("-3"), Some(-3.0));
        assert_eq!(parse_int("px"), None);
        assert_eq!(parse_float("1.5e"), Some(1.5));
        assert_eq!(parse_float("2.50 kg"), Some(2.5));
        assert_eq!(parse_float("1e3x"), Some(1000.0));
        assert_eq!(parse_float("."), None);
        assert_eq!(parse_float("-"), None);
    }
}
