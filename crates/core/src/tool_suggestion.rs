//! Names of tools to use instead of an unknown one.
//!
//! A model guesses names from parts that it knows: `memory_delete` for `memory_forget`. Such a name is far from the
//! right one in letters, but shares words with it.

use crate::{Tool, closest};

/// Most names in one hint: the tools of one family, such as `memory_*`, fit.
const NAMES_MAX: usize = 8;

/// Words that callers use for a word of our names.
const SYNONYMS: [(&str, &str); 19] = [
    ("append", "add"),
    ("balance", "accounts"),
    ("column", "field"),
    ("columns", "field"),
    ("database", "backend"),
    ("delete", "forget"),
    ("document", "page"),
    ("edit", "update"),
    ("find", "search"),
    ("insert", "create"),
    ("lookup", "search"),
    ("note", "memory"),
    ("record", "data"),
    ("records", "data"),
    ("remember", "memory"),
    ("remove", "delete"),
    ("row", "data"),
    ("rows", "data"),
    ("task", "plan"),
];

/// What to do instead of calling `name`. Tools outside the core list are suggested only for a misspelled name: a caller
/// that does not know them may not be able to call them.
pub(crate) fn hint(name: &str, tools: &[&Tool]) -> String {
    let words = split(name);
    let core = tools.iter().filter(|tool| tool.core);
    let scored: Vec<(usize, &str)> = core.map(|tool| (shared_words(&words, tool.name), tool.name)).collect();
    let best = scored.iter().map(|(score, _)| *score).max().unwrap_or_default();
    let mut near: Vec<&str> =
        scored.iter().filter(|(score, _)| *score == best).map(|(_, name)| *name).collect();
    near.sort_unstable();
    near.truncate(NAMES_MAX);
    let spelled_alike =
        |core| closest(name, tools.iter().filter(|tool| tool.core == core).map(|tool| tool.name));
    match (spelled_alike(true).or_else(|| spelled_alike(false)), near.as_slice()) {
        (_, [only]) if best == words.len() && best > 1 => format!("Use {only}, the nearest name"),
        (Some(spelled), _) => format!("Use {spelled}, the nearest name"),
        (None, [only]) if best > 0 => format!("Use {only}, the nearest name"),
        (None, several) if best > 0 => format!("Use one of the nearest names {}", several.join(", ")),
        _ => "List the addresses with resource_list, and the tools with tools/list".to_owned(),
    }
}

fn split(name: &str) -> Vec<String> {
    let words = name.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    words.map(str::to_lowercase).collect()
}

/// How many words of the sent name a candidate has, synonyms included.
fn shared_words(words: &[String], candidate: &str) -> usize {
    let own = split(candidate);
    let has = |word: &str| own.iter().any(|own| own == word || own.strip_suffix('s') == Some(word));
    let has_synonym = |word: &str| SYNONYMS.iter().any(|(other, ours)| *other == word && has(ours));
    words.iter().filter(|word| has(word) || has_synonym(word)).count()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::ScopeRequirement;
    use crate::tool::ToolEffect;

    const CORE: [&str; 8] = [
        "backend_data_create",
        "backend_data_list",
        "memory_add",
        "memory_forget",
        "memory_search",
        "plan_next",
        "resource_list",
        "search_docs",
    ];

    fn tool(name: &'static str) -> Tool {
        Tool::new(name, "", "", json!({}), ScopeRequirement::NONE, ToolEffect::Reads)
    }

    #[test]
    fn hint_names_tools_that_share_words() {
        let mut tools = vec![tool("plan_init"), tool("backend_org_list")];
        tools.extend(CORE.map(|name| Tool { core: true, ..tool(name) }));
        let tools: Vec<&Tool> = tools.iter().collect();
        let check = |name: &str, expected: &str| assert_eq!(hint(name, &tools), expected, "{name}");
        check("backend_org_lst", "Use backend_org_list, the nearest name");
        check("plan_list", "Use plan_next, the nearest name");
        check("memory_delete", "Use memory_forget, the nearest name");
        check("backend_row_list", "Use backend_data_list, the nearest name");
        check("backend_insert_row", "Use backend_data_create, the nearest name");
        check("search", "Use one of the nearest names memory_search, search_docs");
        check("memory.remember", "Use one of the nearest names memory_add, memory_forget, memory_search");
        check("weather", "List the addresses with resource_list, and the tools with tools/list");
        check("", "List the addresses with resource_list, and the tools with tools/list");
    }
}
