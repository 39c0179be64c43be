//! Checks the attributes of a query against the attributes of a rune.

use std::fmt;

use indexmap::IndexMap;
use quad_address::{closest_few, nearest_first};
use serde_json::Value;

use crate::catalogue::{Attribute, AttributeType, Catalogue, Rune};
use crate::choices;

/// The value that stands for every allowed value.
pub const ALL_VALUES: &str = "all";

/// Attributes and values, in the order of the query.
pub type AttributeValues = IndexMap<String, Value>;

/// Checked attributes.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CheckedAttributes {
    /// Attributes with one value, converted to the attribute's type.
    pub values: AttributeValues,
    /// The attribute to show with each of its values.
    pub expand_over: Option<(String, Vec<String>)>,
}

/// An unknown attribute, or a value that the attribute does not allow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InvalidAttribute {
    /// The rune.
    pub rune: String,
    /// The attribute.
    pub attribute: String,
    /// What is wrong, in one sentence.
    pub message: String,
    /// The allowed values, or the known attributes, similar ones first; empty if they cannot be listed.
    pub allowed: Vec<String>,
    /// Up to three similar ones.
    pub nearest: Vec<String>,
}

impl fmt::Display for InvalidAttribute {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.message)
    }
}

impl std::error::Error for InvalidAttribute {}

impl InvalidAttribute {
    /// What the caller can do.
    pub fn hint(&self) -> String {
        match (self.nearest.as_slice(), self.allowed.as_slice()) {
            ([], []) => format!("read refrakt://reference?rune={} for its attributes", self.rune),
            ([], allowed) => format!("use one of {}", choices::list(allowed)),
            (near, []) => format!("did you mean {}?", near.join(" or ")),
            (near, allowed) => {
                format!("did you mean {}? Use one of {}", near.join(" or "), choices::list(allowed))
            }
        }
    }
}

/// Checks that the rune has the attributes and that their values have the right type and are allowed. If an attribute
/// is given twice, its last value is used.
pub fn check_attributes(
    catalogue: &Catalogue,
    rune: &Rune,
    attributes: &[(String, String)],
) -> Result<CheckedAttributes, InvalidAttribute> {
    let mut checked = CheckedAttributes::default();
    for (name, text) in attributes {
        let Some(attribute) = catalogue.attribute(rune, name) else {
            return Err(unknown_attribute(catalogue, rune, name));
        };
        let expands_all =
            text == ALL_VALUES && !attribute.matches.is_empty() && !attribute.matches.contains(text);
        if expands_all {
            if let Some((already_expanded, _)) =
                checked.expand_over.as_ref().filter(|(expanded_name, _)| expanded_name != name)
            {
                let message = format!("{already_expanded} and {name} cannot both be `{ALL_VALUES}`");
                return Err(invalid_attribute(rune, name, message, &attribute.matches, Vec::new()));
            }
            checked.expand_over = Some((name.clone(), attribute.matches.clone()));
            continue;
        }
        checked.values.insert(name.clone(), parse_value(rune, name, attribute, text)?);
    }
    Ok(checked)
}

fn unknown_attribute(catalogue: &Catalogue, rune: &Rune, name: &str) -> InvalidAttribute {
    let own: Vec<&str> = catalogue.own_attributes(rune).keys().copied().collect();
    let universal = catalogue.universal_attributes().map(|(name, _)| name).filter(|_| rune.universal);
    let nearest = closest_few(name, own.iter().copied().chain(universal));
    let message = format!("the rune {} has no attribute called {name}", rune.name);
    let allowed = similar_first(name, &nearest, own);
    invalid_attribute(rune, name, message, &allowed, to_strings(nearest))
}

/// The choices, sorted by similarity if any is similar.
fn similar_first(given: &str, nearest: &[&str], choices: Vec<&str>) -> Vec<String> {
    to_strings(if nearest.is_empty() { choices } else { nearest_first(given, choices) })
}

fn to_strings(texts: Vec<&str>) -> Vec<String> {
    texts.into_iter().map(str::to_owned).collect()
}

fn invalid_attribute(
    rune: &Rune,
    name: &str,
    message: String,
    allowed: &[String],
    nearest: Vec<String>,
) -> InvalidAttribute {
    let (rune, attribute) = (rune.name.clone(), name.to_owned());
    InvalidAttribute { rune, attribute, message, allowed: allowed.to_vec(), nearest }
}

/// Converts text to the attribute's type.
fn parse_value(
    rune: &Rune,
    name: &str,
    attribute: &Attribute,
    text: &str,
) -> Result<Value, InvalidAttribute> {
    let reject = |expected: &str| {
        invalid_attribute(
            rune,
            name,
            format!("{name} of {} must be {expected}, not `{text}`", rune.name),
            &[],
            Vec::new(),
        )
    };
    if text.contains(|ch: char| ch.is_control() && !matches!(ch, '\n' | '\r' | '\t')) {
        return Err(invalid_attribute(
            rune,
            name,
            format!("{name} contains a control character"),
            &[],
            Vec::new(),
        ));
    }
    if !attribute.matches.is_empty() && !attribute.matches.iter().any(|allowed| allowed == text) {
        let message = format!("`{text}` is not an allowed value of {name} of {}", rune.name);
        let matches: Vec<&str> = attribute.matches.iter().map(String::as_str).collect();
        let nearest = closest_few(text, matches.iter().copied());
        let allowed = similar_first(text, &nearest, matches);
        return Err(invalid_attribute(rune, name, message, &allowed, to_strings(nearest)));
    }
    let parse_json = || serde_json::from_str::<Value>(text).ok();
    match attribute.kind {
        AttributeType::String | AttributeType::List => Ok(text.into()),
        AttributeType::NumberOrString => Ok(parse_number(text).unwrap_or_else(|| text.into())),
        AttributeType::Number => parse_number(text).ok_or_else(|| reject("a number")),
        AttributeType::Boolean => match text {
            "true" => Ok(true.into()),
            "false" => Ok(false.into()),
            _ => {
                let message = format!("{name} of {} must be true or false, not `{text}`", rune.name);
                Err(invalid_attribute(rune, name, message, &["true".into(), "false".into()], Vec::new()))
            }
        },
        AttributeType::Array => parse_json().filter(Value::is_array).ok_or_else(|| reject("a JSON array")),
        AttributeType::Object => parse_json().filter(Value::is_object).ok_or_else(|| reject("a JSON object")),
    }
}

/// Parses a number in Markdoc syntax: optional sign, digits, optional fraction.
fn parse_number(text: &str) -> Option<Value> {
    let digits = text.strip_prefix('-').unwrap_or(text);
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, "0"));
    let is_number = [whole, fraction]
        .iter()
        .all(|part| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit()));
    let number = text.parse::<f64>().ok().filter(|number| is_number && number.is_finite())?;
    Some(crate::js_value::json_number(number))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check_rune(rune: &str, attributes: &[(&str, &str)]) -> Result<CheckedAttributes, InvalidAttribute> {
        let catalogue = Catalogue::all_builtin();
        let attributes: Vec<_> =
            attributes.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        check_attributes(&catalogue, catalogue.rune(rune).unwrap(), &attributes)
    }

    #[test]
    fn values_are_parsed_by_attribute_type() {
        let values =
            check_rune("toc", &[("depth", "2"), ("ordered", "true"), ("width", "wide")]).unwrap().values;
        let expect = [("depth", Value::from(2)), ("ordered", true.into()), ("width", "wide".into())];
        assert!(
            values
                .iter()
                .map(|(name, value)| (name.as_str(), value))
                .eq(expect.iter().map(|(name, value)| (*name, value)))
        );
        let sandbox = check_rune("sandbox", &[("height", "fill")]).unwrap().values;
        assert_eq!(sandbox["height"], "fill");
        assert_eq!(check_rune("sandbox", &[("height", "12.5")]).unwrap().values["height"], 12.5);
    }

    #[test]
    fn invalid_attribute_error_lists_allowed_values() {
        let error = check_rune("hint", &[("type", "bogus")]).unwrap_err();
        assert_eq!(error.allowed, ["caution", "check", "note", "warning"]);
        assert_eq!(error.hint(), "use one of caution, check, note, warning");
        let error = check_rune("hint", &[("type", "worning")]).unwrap_err();
        assert_eq!(error.allowed[0], "warning");
        assert!(error.hint().starts_with("did you mean warning? Use one of warning, "), "{}", error.hint());
        let error = check_rune("hint", &[("tpye", "note")]).unwrap_err();
        assert_eq!((error.nearest, error.allowed), (vec!["type".to_owned()], vec!["type".to_owned()]));
        let error = check_rune("hint", &[("widht", "wide")]).unwrap_err();
        assert_eq!(error.nearest, ["width"], "also among those that every rune has");
        for (rune, name, text) in
            [("toc", "depth", "two"), ("toc", "depth", "1e3"), ("toc", "ordered", "yes")]
        {
            assert_eq!(check_rune(rune, &[(name, text)]).unwrap_err().attribute, name, "{text}");
        }
        assert!(check_rune("details", &[("summary", "a\u{1b}b")]).is_err());
        assert!(check_rune("badge", &[("width", "wide")]).is_err(), "a badge has none of the shared ones");
    }

    #[test]
    fn value_all_expands_one_attribute() {
        let checked = check_rune("hint", &[("type", "all"), ("width", "wide")]).unwrap();
        assert_eq!(checked.expand_over.unwrap().1.len(), 4);
        assert!(check_rune("hint", &[("type", "all"), ("width", "all")]).is_err());
        assert_eq!(check_rune("details", &[("summary", "all")]).unwrap().values["summary"], "all");
        // `plan-history` allows a value named `all`.
        assert_eq!(check_rune("plan-history", &[("type", "all")]).unwrap().expand_over, None);
    }
}
