//! Attributes of a query, checked against what a rune knows.

use std::fmt;

use indexmap::IndexMap;
use quad_address::nearest_few;
use serde_json::Value;

use crate::catalogue::{Attribute, AttributeType, Catalogue, Rune};

/// The word that stands for every value of a closed set.
pub const ALL: &str = "all";

/// Attributes and their values, in the order of the query.
pub type Values = IndexMap<String, Value>;

/// Attributes that have passed.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Checked {
    /// Those with one value, of the type that the rune expects.
    pub values: Values,
    /// The one that is to be shown with each of its values.
    pub every: Option<(String, Vec<String>)>,
}

/// An attribute that a rune does not have, or a value that the attribute does not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InvalidAttribute {
    /// The rune.
    pub rune: String,
    /// The attribute.
    pub attribute: String,
    /// What is wrong, in one sentence.
    pub message: String,
    /// The values or the attributes that there are; empty where that cannot be listed.
    pub allowed: Vec<String>,
    /// Up to three of them that were probably meant.
    pub nearest: Vec<String>,
}

impl fmt::Display for InvalidAttribute {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.message)
    }
}

impl std::error::Error for InvalidAttribute {}

impl InvalidAttribute {
    /// What to do about it.
    pub fn hint(&self) -> String {
        let known = || format!("known are {}", self.allowed.join(", "));
        match (self.nearest.as_slice(), self.allowed.as_slice()) {
            ([], []) => format!("refrakt://reference tells what {} understands", self.rune),
            ([], _) => known(),
            (near, []) => format!("did you mean {}?", near.join(", ")),
            (near, _) => format!("did you mean {}? Known are {}", near.join(", "), self.allowed.join(", ")),
        }
    }
}

/// Checks attributes as a query gives them: that the rune has them, that their values are of the right type and in the set of
/// values where there is one. An attribute given twice has its last value.
pub fn check(
    catalogue: &Catalogue,
    rune: &Rune,
    attributes: &[(String, String)],
) -> Result<Checked, InvalidAttribute> {
    let mut checked = Checked::default();
    for (name, text) in attributes {
        let Some(attribute) = catalogue.attribute(rune, name) else {
            return Err(unknown(catalogue, rune, name));
        };
        let is_every = text == ALL && !attribute.matches.is_empty() && !attribute.matches.contains(text);
        if is_every {
            if let Some((other, _)) = checked.every.as_ref().filter(|(other, _)| other != name) {
                let message = format!("{other} and {name} cannot both be `{ALL}`");
                return Err(invalid(rune, name, message, &attribute.matches, Vec::new()));
            }
            checked.every = Some((name.clone(), attribute.matches.clone()));
            continue;
        }
        checked.values.insert(name.clone(), value(rune, name, attribute, text)?);
    }
    Ok(checked)
}

fn unknown(catalogue: &Catalogue, rune: &Rune, name: &str) -> InvalidAttribute {
    let own: Vec<&str> = catalogue.own_attributes(rune).keys().copied().collect();
    let universal = catalogue.universal().map(|(name, _)| name).filter(|_| rune.universal);
    let nearest = nearest_few(name, own.iter().copied().chain(universal));
    let nearest = nearest.into_iter().map(str::to_owned).collect();
    let own: Vec<String> = own.into_iter().map(str::to_owned).collect();
    invalid(rune, name, format!("the rune {} has no attribute called {name}", rune.name), &own, nearest)
}

fn invalid(
    rune: &Rune,
    name: &str,
    message: String,
    allowed: &[String],
    nearest: Vec<String>,
) -> InvalidAttribute {
    let (rune, attribute) = (rune.name.clone(), name.to_owned());
    InvalidAttribute { rune, attribute, message, allowed: allowed.to_vec(), nearest }
}

/// A text as a value of the attribute's type.
fn value(rune: &Rune, name: &str, attribute: &Attribute, text: &str) -> Result<Value, InvalidAttribute> {
    let refuse = |what: &str| {
        invalid(rune, name, format!("{name}={text} of {} is {what}", rune.name), &[], Vec::new())
    };
    if text.contains(|sign: char| sign.is_control() && !matches!(sign, '\n' | '\r' | '\t')) {
        return Err(invalid(rune, name, format!("{name} holds a control character"), &[], Vec::new()));
    }
    if !attribute.matches.is_empty() && !attribute.matches.iter().any(|known| known == text) {
        let message = format!("`{text}` is not a value of {name} of {}", rune.name);
        let nearest = nearest_few(text, attribute.matches.iter().map(String::as_str));
        let nearest = nearest.into_iter().map(str::to_owned).collect();
        return Err(invalid(rune, name, message, &attribute.matches, nearest));
    }
    let json = || serde_json::from_str::<Value>(text).ok();
    match attribute.kind {
        AttributeType::String | AttributeType::List => Ok(text.into()),
        AttributeType::NumberOrString => Ok(number(text).unwrap_or_else(|| text.into())),
        AttributeType::Number => number(text).ok_or_else(|| refuse("no number")),
        AttributeType::Boolean => match text {
            "true" => Ok(true.into()),
            "false" => Ok(false.into()),
            _ => {
                let message = format!("{name} of {} is true or false, not `{text}`", rune.name);
                Err(invalid(rune, name, message, &["true".into(), "false".into()], Vec::new()))
            }
        },
        AttributeType::Array => json().filter(Value::is_array).ok_or_else(|| refuse("no JSON list")),
        AttributeType::Object => json().filter(Value::is_object).ok_or_else(|| refuse("no JSON object")),
    }
}

/// A number as a document may hold it: digits, perhaps a sign and a fraction.
fn number(text: &str) -> Option<Value> {
    let digits = text.strip_prefix('-').unwrap_or(text);
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, "0"));
    let is_number = [whole, fraction]
        .iter()
        .all(|part| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit()));
    let number = text.parse::<f64>().ok().filter(|number| is_number && number.is_finite())?;
    Some(crate::value::number(number))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn checked(rune: &str, attributes: &[(&str, &str)]) -> Result<Checked, InvalidAttribute> {
        let catalogue = Catalogue::official();
        let attributes: Vec<_> =
            attributes.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        check(&catalogue, catalogue.rune(rune).unwrap(), &attributes)
    }

    #[test]
    fn values_take_the_type_of_their_attribute() {
        let values =
            checked("toc", &[("depth", "2"), ("ordered", "true"), ("width", "wide")]).unwrap().values;
        let expect = [("depth", Value::from(2)), ("ordered", true.into()), ("width", "wide".into())];
        assert!(
            values
                .iter()
                .map(|(name, value)| (name.as_str(), value))
                .eq(expect.iter().map(|(name, value)| (*name, value)))
        );
        let sandbox = checked("sandbox", &[("height", "fill")]).unwrap().values;
        assert_eq!(sandbox["height"], "fill");
        assert_eq!(checked("sandbox", &[("height", "12.5")]).unwrap().values["height"], 12.5);
    }

    #[test]
    fn a_refusal_names_what_there_is() {
        let error = checked("hint", &[("type", "bogus")]).unwrap_err();
        assert_eq!(error.allowed, ["caution", "check", "note", "warning"]);
        assert_eq!(error.hint(), "known are caution, check, note, warning");
        let error = checked("hint", &[("tpye", "note")]).unwrap_err();
        assert_eq!((error.nearest, error.allowed), (vec!["type".to_owned()], vec!["type".to_owned()]));
        let error = checked("hint", &[("widht", "wide")]).unwrap_err();
        assert_eq!(error.nearest, ["width"], "also among those that every rune has");
        for (rune, name, text) in
            [("toc", "depth", "two"), ("toc", "depth", "1e3"), ("toc", "ordered", "yes")]
        {
            assert_eq!(checked(rune, &[(name, text)]).unwrap_err().attribute, name, "{text}");
        }
        assert!(checked("details", &[("summary", "a\u{1b}b")]).is_err());
        assert!(checked("badge", &[("width", "wide")]).is_err(), "a badge has none of the shared ones");
    }

    #[test]
    fn one_attribute_may_be_everything() {
        let every = checked("hint", &[("type", "all"), ("width", "wide")]).unwrap();
        assert_eq!(every.every.unwrap().1.len(), 4);
        assert!(checked("hint", &[("type", "all"), ("width", "all")]).is_err());
        assert_eq!(checked("details", &[("summary", "all")]).unwrap().values["summary"], "all");
        // The backlog has a value of that name.
        assert_eq!(checked("plan-history", &[("type", "all")]).unwrap().every, None);
    }
}
