//! Tools. One file per group of tools, with one function per tool; this file has the table of all tools and shared
//! helpers.

mod evidence;
mod ledger;
mod payments;
mod raw;
mod wiki;

use quad_core::tool::ToolResult;
use quad_core::{Principal, ReadSet, Result, Timestamp, ToolOutput, ToolTable, tool_schema};
use quad_store::Sql;
use serde_json::{Map, Value, json};

use crate::errors::invalid;
use crate::{Brain, errors};

/// The tool outside the default profile: only agents that check the references of others need it.
const NON_CORE_TOOL: &str = "evidence.resolve";

/// All tools, in the order in which they are published.
pub(crate) fn table() -> ToolTable<Brain> {
    let groups =
        [ledger::entries(), wiki::entries(), raw::entries(), payments::entries(), evidence::entries()];
    ToolTable::new(groups.into_iter().flatten(), |name| name != NON_CORE_TOOL)
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

/// The schema of an id.
fn id(description: &str) -> Value {
    json!({"type": "string", "pattern": "^[A-Za-z0-9_-]{1,64}$", "description": description})
}

/// The schema of a timestamp.
fn timestamp(description: &str) -> Value {
    tool_schema::string(&format!("{description}; such as 2025-09-14 or 2025-09-14T08:30:00Z"))
}

/// The schema of a cursor.
fn cursor() -> Value {
    tool_schema::cursor("next_cursor of the page before")
}

/// The arguments of a call, already checked against the schema.
#[derive(Clone, Debug)]
struct Arguments(Map<String, Value>);

impl Arguments {
    /// A string; null counts as absent.
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

    /// An integer. The schema has checked its bounds; it also accepts 3.0.
    fn usize_or(&self, name: &str, default: usize) -> usize {
        let number = self.0.get(name).and_then(Value::as_f64);
        number.filter(|number| *number >= 0.0).map_or(default, |number| number as usize)
    }

    /// A timestamp. At the end of a range, a day without a time means its last millisecond.
    fn timestamp(&self, name: &str, is_range_end: bool) -> Result<Option<Timestamp>> {
        let Some(text) = self.text(name) else { return Ok(None) };
        let invalid_time = || invalid(name, "must be a time such as 2025-09-14 or 2025-09-14T08:30:00Z");
        let time = Timestamp::parse(text).ok_or_else(invalid_time)?;
        let is_day = text.len() <= 10;
        Ok(Some(if is_range_end && is_day { time.plus_ms(crate::calendar::DAY_MS - 1) } else { time }))
    }

    /// Identifies the list of a cursor: the tool, the tenant and the filters.
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
    use quad_core::Tool;

    use super::*;

    #[test]
    fn names_match_published_tools() {
        let names = [
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
        let tools = table().tools();
        assert_eq!(table().names(), names);
        assert!(tools.iter().filter(|tool| tool.core).count() <= 10);
        for tool in tools {
            assert!(!tool.name.contains("execute"), "{}", tool.name);
            assert!(!tool.input_schema.to_string().contains("tenant_id"), "{}", tool.name);
        }
    }

    #[test]
    fn core_tool_list_under_10_kib() {
        let core: Vec<Value> =
            table().tools().iter().filter(|tool| tool.core).map(|tool| Tool::to_json(tool)).collect();
        let bytes = json!({"tools": core}).to_string().len();
        assert!(bytes <= 10_240, "{bytes} bytes");
    }
}
