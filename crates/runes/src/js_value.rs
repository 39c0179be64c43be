//! Values with JavaScript semantics: truthiness, white space, conversion to text, number formatting and parsing.
//!
//! npm is written in JavaScript and an attribute may have any type, so the output depends on these rules: `0` and `""`
//! are falsy, `true` prints as `true`, `3.0` as `3`, and a byte order mark is white space.

use serde_json::{Number, Value};

/// White space as JavaScript defines it: with the byte order mark, without U+0085.
pub fn is_js_whitespace(ch: char) -> bool {
    ch == '\u{feff}' || (ch.is_whitespace() && ch != '\u{85}')
}

/// [`str::trim`] and the like, with JavaScript's white space.
pub trait JsTrim {
    /// Without white space at both ends.
    fn js_trim(&self) -> &str;
    /// Without white space at the start.
    fn js_trim_start(&self) -> &str;
    /// Without white space at the end.
    fn js_trim_end(&self) -> &str;
}

impl JsTrim for str {
    fn js_trim(&self) -> &str {
        self.trim_matches(is_js_whitespace)
    }

    fn js_trim_start(&self) -> &str {
        self.trim_start_matches(is_js_whitespace)
    }

    fn js_trim_end(&self) -> &str {
        self.trim_end_matches(is_js_whitespace)
    }
}

/// Formats a number as JavaScript does: the fewest digits that parse to the same number; an exponent only for very large
/// and very small numbers.
pub fn format_js_number(number: f64) -> String {
    if number.is_nan() {
        return "NaN".into();
    }
    if number.is_infinite() {
        return if number > 0.0 { "Infinity".into() } else { "-Infinity".into() };
    }
    let magnitude = number.abs();
    if magnitude != 0.0 && !(1e-6..1e21).contains(&magnitude) {
        let exponential = format!("{number:e}");
        // Rust omits the plus sign of a positive exponent.
        return match exponential.split_once('e') {
            Some((digits, exponent)) if !exponent.starts_with('-') => format!("{digits}e+{exponent}"),
            _ => exponential,
        };
    }
    if number == 0.0 { "0".into() } else { number.to_string() }
}

/// Converts a value to text.
pub fn to_js_string(value: &Value) -> String {
    match value {
        Value::Null => "null".into(),
        Value::Bool(truth) => truth.to_string(),
        Value::Number(value) => match value.as_f64() {
            Some(value) => format_js_number(value),
            None => value.to_string(),
        },
        Value::String(text) => text.clone(),
        // `null` within an array is empty text.
        Value::Array(items) => {
            let items =
                items.iter().map(|item| if item.is_null() { String::new() } else { to_js_string(item) });
            items.collect::<Vec<_>>().join(",")
        }
        Value::Object(_) => "[object Object]".into(),
    }
}

/// Whether a value is truthy.
pub fn is_truthy(value: &Value) -> bool {
    match value {
        Value::Null => false,
        Value::Bool(truth) => *truth,
        Value::Number(number) => number.as_f64().is_some_and(|number| number != 0.0 && !number.is_nan()),
        Value::String(text) => !text.is_empty(),
        Value::Array(_) | Value::Object(_) => true,
    }
}

/// A JSON number; an integer if the value has no fraction.
pub fn json_number(value: f64) -> Value {
    /// Above this, a float cannot represent every integer.
    const EXACT_INTEGER_MAX: f64 = 9_007_199_254_740_992.0;
    if value.fract() == 0.0 && value.abs() <= EXACT_INTEGER_MAX {
        #[allow(clippy::cast_possible_truncation)]
        return Value::from(value as i64);
    }
    Number::from_f64(value).map_or(Value::Null, Value::Number)
}

/// The integer at the start of a text, like `parseInt`: after white space and a sign; the rest is ignored.
pub fn parse_int(text: &str) -> Option<f64> {
    let text = text.js_trim_start();
    let (sign, digits) = match text.strip_prefix('-') {
        Some(rest) => (-1.0, rest),
        None => (1.0, text.strip_prefix('+').unwrap_or(text)),
    };
    let end = digits.find(|c: char| !c.is_ascii_digit()).unwrap_or(digits.len());
    digits.get(..end).filter(|digits| !digits.is_empty())?.parse::<f64>().ok().map(|value| sign * value)
}

/// The number at the start of a text, like `parseFloat`.
pub fn parse_float(text: &str) -> Option<f64> {
    let text = text.js_trim_start();
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
    // The text after the number may look like an exponent (`1.5e`): shorten until it parses.
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
    fn white_space_is_that_of_javascript() {
        assert_eq!(" \u{feff}\u{2028}a\u{85}\u{a0}\n".js_trim(), "a\u{85}");
        assert_eq!("\u{feff}a ".js_trim_start(), "a ");
        assert_eq!(" a\u{feff}".js_trim_end(), " a");
    }

    #[test]
    fn json_number_is_an_integer_where_possible() {
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

    #[test]
    fn format_js_number_uses_shortest_digits() {
        let check = |value: f64, expect: &str| assert_eq!(format_js_number(value), expect);
        check(0.0, "0");
        check(-0.0, "0");
        check(5.0, "5");
        check(-2.5, "-2.5");
        check(0.1 + 0.2, "0.30000000000000004");
        check(1e21, "1e+21");
        check(123_456_789_012_345_680_000.0, "123456789012345680000");
        check(1.5e-7, "1.5e-7");
        check(0.000_001, "0.000001");
        check(f64::NAN, "NaN");
    }

    #[test]
    fn to_js_string_formats_arrays_and_objects() {
        assert_eq!(to_js_string(&json!([1, null, "a", [true, 2.5]])), "1,,a,true,2.5");
        assert_eq!(to_js_string(&json!({ "a": 1 })), "[object Object]");
    }

    #[test]
    fn is_truthy_is_false_only_for_empty_values() {
        for empty in [json!(null), json!(false), json!(0), json!("")] {
            assert!(!is_truthy(&empty), "{empty}");
        }
        for full in [json!(true), json!(-1), json!("false"), json!([]), json!({})] {
            assert!(is_truthy(&full), "{full}");
        }
    }
}
