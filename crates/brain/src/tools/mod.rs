//! Tools: what a caller can do. One file a kind of doing; this one has what they share and the dispatch.

mod evidence;
mod ledger;
mod payments;
mod raw;
mod wiki;

use quad_core::tool::{ToolCall, ToolResult};
use quad_core::{Error, Principal, ReadSet, Result, Timestamp, Tool, ToolOutput};
use quad_store::Sql;
use serde_json::{Map, Value, json};

use crate::errors::invalid;
use crate::{Brain, errors};

/// The names of all tools, for whoever asks for another.
pub(crate) const NAMES: &[&str] = &[
    "ledger.account.get",
    "ledger.accounts.list",
    "ledger.transactions.list",
    "ledger.obligations.list",
    "ledger.counterparties.list",
    "wiki.question",
    "wiki.page.get",
    "raw.contribute",
    "raw.artifact.get",
    "payment_intent.list",
    "evidence.resolve",
];

/// The one that only those need who follow references of others.
const NON_CORE_TOOL: &str = "evidence.resolve";

/// All tools, in the order in which they are published.
pub(crate) fn all() -> Vec<Tool> {
    let mut tools = ledger::tools();
    tools.extend(wiki::tools());
    tools.extend(raw::tools());
    tools.extend(payments::tools());
    tools.extend(evidence::tools());
    for tool in &mut tools {
        tool.core = tool.name != NON_CORE_TOOL;
    }
    tools
}

/// Calls one.
pub(crate) async fn call(brain: &Brain, call: ToolCall<'_>) -> Result<ToolResult> {
    let (family, _) = call.tool.name.split_once('.').unwrap_or((call.tool.name, ""));
    match family {
        "ledger" => ledger::call(brain, call).await,
        "wiki" => wiki::call(brain, call).await,
        "raw" => raw::call(brain, call).await,
        "payment_intent" => payments::call(brain, call).await,
        "evidence" => evidence::call(brain, call).await,
        other => Err(Error::internal(format!("tools of {other} are published but not implemented"))),
    }
}

/// A tool that is published but that no file knows.
fn not_implemented(name: &str) -> Error {
    Error::internal(format!("tool {name} is published but not implemented"))
}

/// Runs a tool that only reads.
async fn run_read(
    brain: &Brain,
    caller: &Principal,
    mut work: impl FnMut(&mut dyn Sql) -> Result<(Value, ReadSet)> + Send + 'static,
) -> Result<ToolResult> {
    let (value, read_set) = brain.store.read(&caller.tenant, move |sql| work(sql)).await?;
    Ok(ToolResult::read_only(ToolOutput::structured(value), read_set))
}

/// The schema of a tool's arguments: an object with these properties and no others.
fn input_schema(properties: &[(&str, Value)], required: &[&str]) -> Value {
    let properties: Map<String, Value> =
        properties.iter().map(|(name, schema)| ((*name).to_owned(), schema.clone())).collect();
    let mut schema = json!({"type": "object", "properties": properties, "additionalProperties": false});
    if let (false, Some(schema)) = (required.is_empty(), schema.as_object_mut()) {
        schema.insert("required".into(), required.into());
    }
    schema
}

/// A text property.
fn string_schema(description: &str) -> Value {
    json!({"type": "string", "description": description})
}

/// An id.
fn id(description: &str) -> Value {
    json!({"type": "string", "pattern": "^[A-Za-z0-9_-]{1,64}$", "description": description})
}

/// A word of a vocabulary.
fn string_enum(words: &[&str], description: &str) -> Value {
    json!({"type": "string", "enum": words, "description": description})
}

/// A whole number with bounds.
fn integer(min: usize, max: usize, default: usize) -> Value {
    json!({"type": "integer", "minimum": min, "maximum": max, "default": default})
}

/// A moment.
fn timestamp(description: &str) -> Value {
    json!({"type": "string", "description": format!("{description}; such as 2025-09-14 or 2025-09-14T08:30:00Z")})
}

/// A cursor of an earlier answer.
fn cursor() -> Value {
    string_schema("next_cursor of the page before")
}

/// The arguments of a call. Their types have been checked against the schema; here they become what they mean.
#[derive(Clone, Debug)]
struct Arguments(Map<String, Value>);

impl Arguments {
    /// A text; null is as good as nothing.
    fn text(&self, name: &str) -> Option<&str> {
        self.0.get(name).and_then(Value::as_str)
    }

    fn owned_text(&self, name: &str) -> Option<String> {
        self.text(name).map(str::to_owned)
    }

    fn required(&self, name: &str) -> Result<&str> {
        self.text(name).ok_or_else(|| errors::missing(name))
    }

    fn bool_or(&self, name: &str, default: bool) -> bool {
        self.0.get(name).and_then(Value::as_bool).unwrap_or(default)
    }

    /// A whole number within bounds that the schema has checked; 3.0 is one too.
    fn usize_or(&self, name: &str, default: usize) -> usize {
        let number = self.0.get(name).and_then(Value::as_f64);
        number.filter(|number| *number >= 0.0).map_or(default, |number| number as usize)
    }

    /// A moment. Where it ends a range, a bare day means all of it.
    fn timestamp(&self, name: &str, is_range_end: bool) -> Result<Option<Timestamp>> {
        let Some(text) = self.text(name) else { return Ok(None) };
        let invalid_time = || invalid(name, "must be a time such as 2025-09-14 or 2025-09-14T08:30:00Z");
        let time = Timestamp::parse(text).ok_or_else(invalid_time)?;
        let is_day = text.len() <= 10;
        Ok(Some(if is_range_end && is_day { time.plus_ms(crate::calendar::DAY_MS - 1) } else { time }))
    }

    /// A cursor of a list that these filters make: another filter or tenant is another list.
    fn cursor_scope(&self, caller: &Principal, tool: &str) -> String {
        let filters: Map<String, Value> = self
            .0
            .iter()
            .filter(|(name, value)| *name != "cursor" && *name != "limit" && !value.is_null())
            .map(|(name, value)| (name.clone(), value.clone()))
            .collect();
        format!("{tool} of {} {}", caller.tenant, quad_core::canonical::to_string(&Value::Object(filters)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_match_published_tools() {
        let names: Vec<&str> = all().iter().map(|tool| tool.name).collect();
        assert_eq!(names, NAMES);
        assert!(all().iter().filter(|tool| tool.core).count() <= 10);
        for tool in all() {
            assert!(!tool.name.contains("execute"), "{}", tool.name);
            assert!(!tool.input_schema.to_string().contains("tenant_id"), "{}", tool.name);
        }
    }

    #[test]
    fn core_tool_list_under_10_kib() {
        let core: Vec<Value> = all().iter().filter(|tool| tool.core).map(Tool::to_json).collect();
        let bytes = json!({"tools": core}).to_string().len();
        assert!(bytes <= 10_240, "{bytes} bytes");
    }
}
