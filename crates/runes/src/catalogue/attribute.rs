//! An attribute of a rune: its type, its allowed values, its default.

use serde::Deserialize;
use serde_json::Value;

/// The type of an attribute's value.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum AttributeType {
    /// Text.
    #[default]
    String,
    /// A number.
    Number,
    /// `true` or `false`.
    Boolean,
    /// A Markdoc array.
    Array,
    /// A Markdoc hash.
    Object,
    /// Words separated by spaces.
    List,
    /// A number, or text such as `fill`.
    #[serde(rename = "number|string")]
    NumberOrString,
}

impl AttributeType {
    /// The name in the syntax reference of npm, which has none for the rarest types.
    pub fn reference_name(self) -> &'static str {
        match self {
            AttributeType::String => "string",
            AttributeType::Number => "number",
            AttributeType::Boolean => "boolean",
            AttributeType::Array => "array",
            AttributeType::List => "SpaceSeparatedList",
            AttributeType::Object | AttributeType::NumberOrString => "unknown",
        }
    }

    /// Whether a value is of this type.
    pub fn accepts(self, value: &Value) -> bool {
        match self {
            AttributeType::String | AttributeType::List => value.is_string(),
            AttributeType::Number => value.is_number(),
            AttributeType::Boolean => value.is_boolean(),
            AttributeType::Array => value.is_array(),
            AttributeType::Object => value.is_object(),
            AttributeType::NumberOrString => value.is_number() || value.is_string(),
        }
    }
}

/// One attribute: of a rune, of a preset, or universal.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Attribute {
    /// The type of the value; text by default.
    #[serde(default, rename = "type")]
    pub kind: AttributeType,
    /// The allowed values, in the order in which `?attribute=all` shows them. Empty: any value.
    #[serde(default)]
    pub matches: Vec<String>,
    /// Whether the attribute must be written.
    #[serde(default)]
    pub required: bool,
    /// The value that the rune receives when the attribute is missing.
    pub default: Option<Value>,
    /// What the rune does when the attribute is missing and there is no `default`. Only the reference shows it.
    pub fallback: Option<Value>,
    /// Still works, but no longer recommended.
    #[serde(default)]
    pub deprecated: bool,
    /// The newer attribute that receives the value, if this name is outdated.
    pub replaced_by: Option<String>,
    /// One line for the author of a page.
    pub description: String,
}

impl Attribute {
    /// Checks the attribute on its own, without the rest of the package.
    pub(crate) fn validate(&self) -> Result<(), String> {
        if !self.matches.is_empty() && !self.kind.accepts(&Value::String(String::new())) {
            return Err("`matches` is for text; drop it or the type".into());
        }
        if self.required && self.default.is_some() {
            return Err("a required attribute cannot have a default".into());
        }
        for (name, value) in [("default", &self.default), ("fallback", &self.fallback)] {
            let Some(value) = value else { continue };
            if !self.kind.accepts(value) {
                let kind = self.kind.reference_name();
                return Err(format!("`{name}` is {value}, but the type is {kind}"));
            }
            let text = value.as_str().unwrap_or_default();
            if !self.matches.is_empty()
                && !text.is_empty()
                && !self.matches.iter().any(|allowed| allowed == text)
            {
                return Err(format!("`{name}` is {value}, which is not one of {}", self.matches.join(", ")));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn validate(text: &str) -> Result<(), String> {
        toml::from_str::<Attribute>(text).unwrap().validate()
    }

    #[test]
    fn default_must_match_type_and_allowed_values() {
        assert_eq!(validate("description = ''\nmatches = ['a', 'b']\ndefault = 'b'"), Ok(()));
        assert_eq!(validate("description = ''\nmatches = ['a', 'b']\ndefault = ''"), Ok(()));
        assert_eq!(
            validate("description = ''\nmatches = ['a', 'b']\nfallback = 'c'").unwrap_err(),
            "`fallback` is \"c\", which is not one of a, b"
        );
        assert_eq!(
            validate("description = ''\ntype = 'number'\ndefault = '3'").unwrap_err(),
            "`default` is \"3\", but the type is number"
        );
        assert!(validate("description = ''\ntype = 'boolean'\nmatches = ['a']").is_err());
        assert!(validate("description = ''\nrequired = true\ndefault = 'a'").is_err());
    }
}
