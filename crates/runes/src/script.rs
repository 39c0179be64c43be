//! Values as JavaScript sees them: as text, and as true or false. The original is written in that language, so what it prints
//! and what it takes for absent follow these rules.

use serde_json::Value;

/// A number as JavaScript writes it: the fewest digits that read back as the same number, with an exponent only for the very
/// large and the very small.
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
        // Rust leaves out the plus of a positive exponent.
        return match exponential.split_once('e') {
            Some((digits, exponent)) if !exponent.starts_with('-') => format!("{digits}e+{exponent}"),
            _ => exponential,
        };
    }
    if number == 0.0 { "0".into() } else { number.to_string() }
}

/// A value as text.
pub fn to_js_string(value: &Value) -> String {
    match value {
        Value::Null => "null".into(),
        Value::Bool(truth) => truth.to_string(),
        Value::Number(value) => match value.as_f64() {
            Some(value) => format_js_number(value),
            None => value.to_string(),
        },
        Value::String(text) => text.clone(),
        // An empty place of a list is written as nothing.
        Value::Array(items) => {
            let items =
                items.iter().map(|item| if item.is_null() { String::new() } else { to_js_string(item) });
            items.collect::<Vec<_>>().join(",")
        }
        Value::Object(_) => "[object Object]".into(),
    }
}

/// Whether a value counts as true.
pub fn is_truthy(value: &Value) -> bool {
    match value {
        Value::Null => false,
        Value::Bool(truth) => *truth,
        Value::Number(number) => number.as_f64().is_some_and(|number| number != 0.0 && !number.is_nan()),
        Value::String(text) => !text.is_empty(),
        Value::Array(_) | Value::Object(_) => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

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
