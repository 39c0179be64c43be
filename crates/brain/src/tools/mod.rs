//! Tools. One file per group of tools, with one function per tool; this file has the table of all tools and shared
//! helpers.

mod contribute;
mod evidence;
mod ledger;
mod payments;
mod raw;
mod wiki;

use quad_core::text::truncate;
use quad_core::tool::ToolResult;
use quad_core::{Principal, ReadSet, Result, Timestamp, Tool, ToolOutput, ToolTable, tool_schema};
use quad_store::Sql;
use serde_json::{Map, Value, json};

use crate::errors::invalid;
use crate::{Brain, calendar, errors, limits};

/// The tools outside the default profile. An account is in the list of accounts and has an address; only agents that
/// check the references of others need to resolve them.
const NON_CORE_TOOLS: [&str; 2] = ["ledger_account_get", "evidence_resolve"];

/// All tools, in the order in which they are published.
pub(crate) fn table() -> ToolTable<Brain> {
    let groups =
        [ledger::entries(), wiki::entries(), raw::entries(), payments::entries(), evidence::entries()];
    ToolTable::new(groups.into_iter().flatten(), |name| !NON_CORE_TOOLS.contains(&name))
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

/// The schema of a reference to a row: an id, or a name where the description says so.
fn reference(description: &str) -> Value {
    json!({"type": "string", "minLength": 1, "maxLength": limits::REFERENCE_CHARS, "description": description})
}

/// The schema of the bound of a range; see [`calendar::parse_bound`].
fn bound(description: &str) -> Value {
    tool_schema::string(&format!("{description}: ISO date, time or month"))
}

/// The schema of the number of items in a page.
fn limit(max: usize, default: usize) -> Value {
    json!({"type": "integer", "minimum": 1, "maximum": max, "default": default, "description": "Items per page"})
}

/// The schema of a cursor.
fn cursor() -> Value {
    tool_schema::cursor("next_cursor of the page before")
}

/// The schema of the cursor in a result.
fn next_cursor() -> Value {
    json!({"type": ["string", "null"], "description": "The cursor of the next page; null on the last one"})
}

/// The schema of a hint in a result that found nothing.
fn hint() -> Value {
    json!({"type": "string", "description": "What to do next, if nothing was found"})
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

    /// A bound of a range; see [`calendar::parse_bound`].
    fn bound(&self, name: &str, is_range_end: bool) -> Result<Option<Timestamp>> {
        let Some(text) = self.text(name) else { return Ok(None) };
        let Some(time) = calendar::parse_bound(text, is_range_end) else {
            let message = format!("'{}' is not an ISO date, time or month", truncate(text, 40));
            let hint = format!("Write it as in {}", calendar::BOUND_EXAMPLES);
            return Err(invalid(name, message).hint(hint));
        };
        Ok(Some(time))
    }

    /// Identifies the list of a cursor: the tool, the tenant and the filters.
    fn cursor_scope(&self, caller: &Principal, tool: &Tool) -> String {
        let filters: Map<String, Value> = self
            .0
            .iter()
            .filter(|(name, value)| *name != "cursor" && *name != "limit" && !value.is_null())
            .map(|(name, value)| (name.clone(), value.clone()))
            .collect();
        // The name with dots keeps the cursors of earlier versions valid.
        let tool = tool.dotted_name.unwrap_or(tool.name);
        format!("{tool} of {} {}", caller.tenant, quad_core::canonical::to_string(&Value::Object(filters)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_match_published_tools() {
        let names = [
            "ledger_account_get",
            "ledger_accounts_list",
            "ledger_transactions_list",
            "ledger_obligations_list",
            "ledger_counterparties_list",
            "wiki_question",
            "wiki_page_get",
            "raw_contribute",
            "raw_artifact_get",
            "payment_intent_list",
            "evidence_resolve",
        ];
        let tools = table().tools();
        assert_eq!(table().names(), names);
        assert_eq!(tools.iter().filter(|tool| tool.core).count(), 9);
        for tool in tools {
            assert!(!tool.name.contains("execute"), "{}", tool.name);
            assert!(!tool.input_schema.to_string().contains("tenant_id"), "{}", tool.name);
        }
    }

    #[test]
    fn core_tool_list_under_6_kib() {
        // What hosts send to a model.
        let sent = |tool: &Tool| {
            let entry = tool.to_json();
            json!({"name": entry["name"], "description": entry["description"], "input_schema": entry["inputSchema"]})
        };
        let core: Vec<Value> =
            table().tools().iter().filter(|tool| tool.core).map(|tool| sent(tool)).collect();
        let bytes = Value::from(core).to_string().len();
        assert!(bytes <= 6 * 1_024, "{bytes} bytes");
    }

    #[test]
    fn every_tool_has_a_name_with_dots_a_result_schema_and_a_valid_example() {
        for tool in table().tools() {
            assert_eq!(tool.dotted_name.unwrap().replace('.', "_"), tool.name);
            assert!(tool.returns_stored_text, "{}", tool.name);
            let output = tool.output_schema.as_ref().unwrap_or_else(|| panic!("{} has no output", tool.name));
            jsonschema::validator_for(output).unwrap();
            let input = jsonschema::validator_for(&tool.input_schema).unwrap();
            let problems: Vec<String> =
                input.iter_errors(&tool.example).map(|error| error.to_string()).collect();
            assert!(problems.is_empty(), "{}: {problems:?}", tool.name);
        }
    }

    #[test]
    fn instructions_prompts_and_hints_name_only_default_tools() {
        let tools = table();
        let mut texts = vec![crate::INSTRUCTIONS.to_owned(), errors::ARTIFACTS_HINT.to_owned()];
        let kinds = ["account", "transaction", "obligation", "counterparty", "invoice", "payment_intent", ""];
        texts.extend(kinds.map(|kind| errors::rows_hint(kind).to_owned()));
        for prompt in &crate::prompt::PROMPTS {
            let arguments = json!({"period": "2025-09", "invoice_number": "1"});
            let (messages, _) = crate::prompt::messages(prompt, arguments.as_object().unwrap()).unwrap();
            texts.push(format!("{messages:?}"));
        }
        for text in texts {
            for tool in tools.tools() {
                assert!(!text.contains(tool.dotted_name.unwrap()), "{text}");
                assert!(tool.core || !text.contains(tool.name), "{text}");
            }
        }
    }
}
