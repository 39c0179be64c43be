//! The default profile: small enough for hosts, and complete: every tool that a text of ours names is in it.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::{all, ask, default_profile, list, name};

/// Cursor cuts a list at 40 to 50 tools, and choosing gets worse with more.
const TOOLS_MAX: usize = 45;

/// The size of names, descriptions and input schemas as JSON. 7,000 tokens of o200k_base are about this many bytes;
/// `tests/clients` counts the tokens themselves.
const BYTES_MAX: usize = 30_500;

/// What people and agents do in every session, and must not have to look for.
const EXPECTED: [&str; 6] =
    ["backend_data_delete", "memory_forget", "search_docs", "resource_read", "plan_update", "raw_contribute"];

#[test]
fn default_profile_is_small() {
    let tools = default_profile();
    let sent: Vec<Value> = tools
        .iter()
        .map(|tool| json!({"name": tool["name"], "description": tool["description"], "input_schema": tool["inputSchema"]}))
        .collect();
    let bytes = Value::Array(sent).to_string().len();
    assert!(tools.len() <= TOOLS_MAX, "{} tools", tools.len());
    assert!(bytes <= BYTES_MAX, "{} tools, {bytes} bytes", tools.len());
}

#[test]
fn default_profile_has_what_every_session_needs() {
    let names: Vec<&str> = default_profile().iter().map(name).collect();
    for expected in EXPECTED {
        assert!(names.contains(&expected), "{expected} is not in the default profile");
    }
}

/// The tools that a text names and the default profile lacks.
fn unlisted_mentions(text: &str) -> BTreeSet<String> {
    let is_word = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.');
    let words = text.split(|c| !is_word(c)).map(|word| word.trim_end_matches('.'));
    let listed = |word: &str| default_profile().iter().any(|tool| name(tool) == word);
    // `link` is an ordinary word, too.
    let known = |word: &str| all().iter().any(|tool| name(tool) == word && word.contains('_'));
    words.filter(|word| known(word) && !listed(word)).map(str::to_owned).collect()
}

/// Checks that an error names listed tools only. A caller of a tool that is not listed knows the full list; one of an
/// unknown tool may be told the tool whose name it misspelled.
pub fn check_mentions(text: &str, called: Option<&str>) -> Result<(), String> {
    let called = called.map(|name| name.replace('.', "_")).unwrap_or_default();
    let is_listed = default_profile().iter().any(|tool| name(tool) == called);
    if !is_listed && all().iter().any(|tool| name(tool) == called) {
        return Ok(());
    }
    let mut unlisted = unlisted_mentions(text);
    unlisted.retain(|mentioned| quad_core::closest(&called, [mentioned.as_str()]).is_none());
    if unlisted.is_empty() {
        return Ok(());
    }
    Err(format!("names {unlisted:?}, which the default profile lacks: {text}"))
}

#[test]
fn instructions_name_listed_tools_only() {
    let params = json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}});
    for scheme in ["", "bkend", "amem", "brain", "refrakt"] {
        let arguments: &[&str] = if scheme.is_empty() { &[] } else { &["--only", scheme] };
        let instructions = ask(arguments, "initialize", &params.to_string())["instructions"].clone();
        let instructions = instructions.as_str().unwrap();
        assert_eq!(unlisted_mentions(instructions), BTreeSet::new(), "{scheme}: {instructions}");
        let here = list(arguments);
        let foreign: Vec<&str> = default_profile()
            .iter()
            .map(name)
            .filter(|tool| {
                tool.contains('_')
                    && instructions.contains(tool)
                    && !here.iter().any(|own| name(own) == *tool)
            })
            .collect();
        assert!(foreign.is_empty(), "{scheme}: the instructions name {foreign:?}, which this endpoint lacks");
    }
}

#[test]
fn descriptions_of_listed_tools_name_listed_tools_only() {
    for tool in default_profile() {
        let text = format!("{} {}", tool["description"], tool["inputSchema"]);
        assert_eq!(unlisted_mentions(&text), BTreeSet::new(), "{}", name(tool));
    }
}

#[test]
fn prompts_name_listed_tools_only() {
    let prompts = ask(&[], "prompts/list", "{}");
    for prompt in prompts["prompts"].as_array().unwrap() {
        assert_eq!(unlisted_mentions(&prompt.to_string()), BTreeSet::new(), "{prompt}");
    }
}

#[test]
fn mentions_are_found() {
    assert_eq!(
        unlisted_mentions("List them with backend_org_list."),
        BTreeSet::from(["backend_org_list".to_owned()])
    );
    assert_eq!(unlisted_mentions("Call get_context, then link."), BTreeSet::new());
}
