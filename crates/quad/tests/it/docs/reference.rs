//! The generated pages of the reference: `cli.md`, `tools.md` and `limits.md`.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

use serde_json::Value;

use super::{pages, source};
use crate::published_tools;

/// Writes a generated page with `QUAD_TEST_BLESS=1`; otherwise compares it.
fn check(name: &str, generated: &str) {
    let file = pages::root().join("docs/reference").join(name);
    if std::env::var_os("QUAD_TEST_BLESS").is_some() {
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(&file, generated).unwrap();
    }
    let kept = std::fs::read_to_string(&file).unwrap_or_default();
    let differs = kept.lines().zip(generated.lines()).position(|(kept, new)| kept != new);
    let line = differs.unwrap_or_else(|| kept.lines().count().min(generated.lines().count()));
    assert!(
        kept == generated,
        "docs/reference/{name} is not current, first at line {}:\n  kept {:?}\n  now  {:?}\n\
         QUAD_TEST_BLESS=1 writes it anew",
        line + 1,
        kept.lines().nth(line).unwrap_or_default(),
        generated.lines().nth(line).unwrap_or_default(),
    );
}

// --- the command line ----------------------------------------------------------------------------------------------

#[test]
fn cli_reference_is_current() {
    let kept = pages::root().join("crates/quad/tests/it/cli-reference.txt");
    check("cli.md", &cli_page(&std::fs::read_to_string(kept).unwrap()));
}

/// The options that every command takes. They are described once.
const COMMON_OPTIONS: [&str; 7] =
    ["--data-dir", "--database-url", "--config", "--tenant", "--project", "--json", "--help"];

fn cli_page(reference: &str) -> String {
    let sections: Vec<(&str, &str)> = reference
        .split("=== ")
        .skip(1)
        .map(|section| section.split_once('\n').unwrap())
        .map(|(title, help)| (title.trim(), help.trim()))
        .collect();
    let mut page = String::from(
        "# Commands\n\n\
         Every command of `quad`, with its arguments and options. This page is generated from `quad help`.\n\n\
         | command | what it does |\n| --- | --- |\n",
    );
    for (title, help) in sections.iter().filter(|(title, _)| *title != "quad") {
        let about = cell(help.lines().next().unwrap_or_default());
        let _ = writeln!(page, "| [`{title}`](#{}) | {about} |", title.replace(' ', "-"));
    }
    page.push_str(
        "\nEvery command also takes the [common options](#common-options). They are not repeated below.\n\n\
         ## Exit codes\n\n\
         | code | meaning |\n| --- | --- |\n\
         | 0 | done |\n\
         | 1 | internal error, or a check of `quad doctor` failed |\n\
         | 2 | bad input or usage |\n\
         | 3 | not found |\n\
         | 4 | a scope is missing |\n\
         | 5 | conflict |\n\
         | 6 | a limit, or busy: retry |\n\n\
         Errors go to standard error. With `--json` they have the [same shape](errors.md) that a client gets.\n\n\
         ## Common options\n\n",
    );
    let (_, top) = sections.iter().find(|(title, _)| *title == "quad").unwrap();
    let _ = writeln!(page, "```text\n{}\n```", options_of(top, true).join("\n"));
    for (title, help) in &sections {
        if *title != "quad" {
            let _ = writeln!(page, "\n## {title}\n\n```text\n{}\n```", without_common_options(help));
        }
    }
    page
}

/// The blocks of the section `Options:` of a help text: those of the common options, or the others.
fn options_of(help: &str, common: bool) -> Vec<&str> {
    let lines = help.lines().skip_while(|line| *line != "Options:").skip(1);
    let mut keeps = false;
    let mut kept: Vec<&str> = Vec::new();
    for line in lines {
        let name = line.split_whitespace().find(|word| word.starts_with("--"));
        if line.trim_start().starts_with('-')
            && let Some(name) = name
        {
            keeps = COMMON_OPTIONS.contains(&name) == common;
        }
        if keeps {
            kept.push(line);
        }
    }
    while kept.last().is_some_and(|line| line.is_empty()) {
        kept.pop();
    }
    kept
}

fn without_common_options(help: &str) -> String {
    let own = options_of(help, false);
    let before: Vec<&str> = help.lines().take_while(|line| *line != "Options:").collect();
    let mut text = before.join("\n").trim_end().to_owned();
    if !own.is_empty() {
        text.push_str("\n\nOptions:\n");
        text.push_str(&own.join("\n"));
    }
    text
}

// --- tools ---------------------------------------------------------------------------------------------------------

#[test]
fn tool_reference_is_current() {
    let everything = published_tools::list(&["--tools", "all"]);
    let core: Vec<String> = published_tools::list(&["--tools", "core"]).iter().map(name).collect();
    let mut shared: Vec<&Value> = everything.iter().collect();
    let mut groups = Vec::new();
    for (scheme, title) in SCHEMES {
        let here: Vec<String> =
            published_tools::list(&["--tools", "all", "--only", scheme]).iter().map(name).collect();
        let is_own = |tool: &&Value| here.contains(&name(tool)) && !name(tool).starts_with("resource_");
        let own: Vec<&Value> = shared.iter().copied().filter(is_own).collect();
        shared.retain(|tool| !own.contains(tool));
        groups.push((title, own));
    }
    groups.push(("Resources as tools", shared));
    check("tools.md", &tools_page(&groups, &core, &scopes_of_tools()));
}

const SCHEMES: [(&str, &str); 5] = [
    ("bkend", "Backend: bkend"),
    ("amem", "Memory: amem"),
    ("brain", "Money: brain"),
    ("refrakt", "Project: refrakt"),
    ("link", "Links: link"),
];

fn name(tool: &Value) -> String {
    tool["name"].as_str().unwrap().to_owned()
}

/// The scopes that open each tool, from the reviewed authorization matrix. A tool without a scope is open to all callers.
fn scopes_of_tools() -> BTreeMap<String, String> {
    let matrix = pages::root().join("crates/quad/tests/it/authorization-matrix.txt");
    let matrix = std::fs::read_to_string(matrix).unwrap();
    let rows = matrix.split("# tool:").nth(1).unwrap().lines().skip(1);
    rows.filter_map(|row| row.split_once(": "))
        .map(|(tool, row)| {
            let scopes = row.split(" | ").next().unwrap_or_default().split_whitespace();
            let scopes: Vec<String> =
                scopes.filter(|word| word.contains(':')).map(|word| format!("`{word}`")).collect();
            (tool.to_owned(), scopes.join(" or "))
        })
        .collect()
}

fn tools_page(groups: &[(&str, Vec<&Value>)], core: &[String], scopes: &BTreeMap<String, String>) -> String {
    let count: usize = groups.iter().map(|(_, tools)| tools.len()).sum();
    let mut page = format!(
        "# Tools\n\n\
         All {count} tools with their scopes and arguments. This page is generated from `tools/list`.\n\n\
         A client sees the {} tools marked *core*. `quad serve --tools all`, `quad stdio --tools all` or `?tools=all` in\n\
         the address of the endpoint lists the rest. Every tool can be called, listed or not.\n\n\
         ```sh\nquad call backend_org_list '{{}}'\n```\n\n\
         An argument that the tool does not know is an error. A missing scope is an error that names the scope; see\n\
         [scopes](scopes.md). A failed call returns `isError: true` and an [error envelope](errors.md).\n",
        core.len(),
    );
    for (title, tools) in groups {
        let _ = writeln!(
            page,
            "\n## {title}\n\n| tool | what it does | scope | changes data |\n| --- | --- | --- | --- |"
        );
        for tool in tools {
            let name = name(tool);
            let scope =
                scopes.get(&name).unwrap_or_else(|| panic!("{name} is not in the authorization matrix"));
            let scope = if scope.is_empty() { "none" } else { scope };
            let changes =
                match (&tool["annotations"]["readOnlyHint"], &tool["annotations"]["destructiveHint"]) {
                    (Value::Bool(true), _) => "no",
                    (_, Value::Bool(true)) => "deletes",
                    _ => "writes",
                };
            let mark = if core.contains(&name) { " *core*" } else { "" };
            let title = cell(tool["title"].as_str().unwrap_or_default());
            let _ =
                writeln!(page, "| [`{name}`](#{}){mark} | {title} | {scope} | {changes} |", anchor(&name));
        }
        for tool in tools {
            let description = tool["description"].as_str().unwrap_or_default();
            let _ = writeln!(page, "\n### {}\n\n{}", name(tool), wrapped(description));
            let mut rows = Vec::new();
            arguments("", &tool["inputSchema"], &mut rows);
            if rows.is_empty() {
                page.push_str("\nNo arguments.\n");
            } else {
                page.push_str("\n| argument | type | what it is |\n| --- | --- | --- |\n");
                page.push_str(&rows.concat());
            }
        }
    }
    page
}

fn anchor(name: &str) -> String {
    name.replace('.', "")
}

/// One row for each argument of a schema, those of nested objects after the object that holds them.
fn arguments(within: &str, schema: &Value, rows: &mut Vec<String>) {
    let Some(properties) = schema["properties"].as_object() else { return };
    let required: Vec<&str> =
        schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    for (name, property) in properties {
        let path = format!("{within}{name}");
        let need = if required.contains(&name.as_str()) { ", required" } else { "" };
        let mut about = Vec::new();
        about.extend(property["description"].as_str().map(cell));
        if let Some(words) = property["enum"].as_array() {
            let words: Vec<String> = words.iter().map(|word| format!("`{}`", plain(word))).collect();
            about.push(format!("One of {}", words.join(", ")));
        }
        if let Some(default) = property.get("default") {
            about.push(format!("Default `{}`", plain(default)));
        }
        let about: Vec<&str> = about.iter().map(|text| text.trim_end_matches('.')).collect();
        rows.push(format!("| `{path}` | {}{need} | {} |\n", kind(property), about.join(". ")));
        arguments(&format!("{path}."), property, rows);
        arguments(&format!("{path}[]."), &property["items"], rows);
        for alternative in property["anyOf"].as_array().into_iter().flatten() {
            arguments(&format!("{path}."), alternative, rows);
            arguments(&format!("{path}[]."), &alternative["items"], rows);
        }
    }
}

fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// The type of an argument with its range.
fn kind(schema: &Value) -> String {
    if let Some(constant) = schema.get("const") {
        return format!("`{}`", plain(constant));
    }
    let mut text = match &schema["type"] {
        Value::String(one) => one.clone(),
        Value::Array(several) => several.iter().map(plain).collect::<Vec<_>>().join(" or "),
        _ => match schema["anyOf"].as_array() {
            Some(several) => several.iter().map(kind).collect::<Vec<_>>().join(" or "),
            None => "any".to_owned(),
        },
    };
    let items = &schema["items"];
    if items.is_object() && schema["type"] == "array" {
        text = format!("array of {}", kind(items));
    }
    for (low, high, what) in [
        ("minimum", "maximum", ""),
        ("minLength", "maxLength", " characters"),
        ("minItems", "maxItems", " items"),
    ] {
        match (schema.get(low), schema.get(high)) {
            (Some(low), Some(high)) if low == high => {
                let _ = write!(text, ", {low}{what}");
            }
            (Some(low), Some(high)) => {
                let _ = write!(text, ", {low} to {high}{what}");
            }
            (Some(low), None) => {
                let _ = write!(text, ", from {low}{what}");
            }
            (None, Some(high)) => {
                let _ = write!(text, ", at most {high}{what}");
            }
            (None, None) => {}
        }
    }
    text
}

/// A text as one cell of a table.
fn cell(text: &str) -> String {
    text.replace('\n', " ").replace('|', "\\|")
}

/// A paragraph in lines of at most 120 characters.
fn wrapped(text: &str) -> String {
    let mut wrapped = String::new();
    let mut length = 0;
    for word in text.split_whitespace() {
        let letters = word.chars().count();
        if length + 1 + letters > 120 && length > 0 {
            wrapped.push('\n');
            length = 0;
        } else if length > 0 {
            wrapped.push(' ');
            length += 1;
        }
        wrapped.push_str(word);
        length += letters;
    }
    wrapped
}

// --- limits --------------------------------------------------------------------------------------------------------

#[test]
fn limit_reference_is_current() {
    check("limits.md", &limits_page(&source::all_limits()));
}

/// What the limits of a crate are about. A crate without a line here appears under its own name.
const SUBJECTS: [(&str, &str); 14] = [
    ("server", "HTTP and connections"),
    ("mcp", "Messages"),
    ("auth", "Tokens, keys and rates"),
    ("core", "Reads, cache and subscriptions"),
    ("address", "Addresses"),
    ("bkend", "Backend: bkend"),
    ("amem", "Memory: amem"),
    ("brain", "Money: brain"),
    ("statements", "Bank files"),
    ("refrakt", "Project: refrakt"),
    ("runes", "Runes"),
    ("markdoc", "Markdoc documents"),
    ("audit", "Audit and links"),
    ("store", "Database"),
];

fn limits_page(crates: &[source::Limits]) -> String {
    let mut page = String::from(
        "# Limits\n\n\
         Every limit of `quad` by name, with its value and its reason. This page is generated from the source.\n\n\
         A request beyond a limit of size or number is refused with an error of the kind `limit`;\n\
         [errors](errors.md) lists the codes. Other limits size a page, a queue or a cache, and refuse nothing.\n\
         All are constants except the rate of requests, which is a [setting](configuration.md#the-rate-limit).\n",
    );
    let place = |name: &str| SUBJECTS.iter().position(|(known, _)| *known == name).unwrap_or(SUBJECTS.len());
    let mut sorted: Vec<&source::Limits> = crates.iter().collect();
    sorted.sort_by_key(|limits| (place(&limits.of), limits.part.clone(), limits.of.clone()));
    for limits in sorted {
        let known = SUBJECTS.iter().find(|(name, _)| *name == limits.of);
        let subject = known.map_or(limits.of.as_str(), |(_, subject)| subject);
        let part = if limits.part.is_empty() { String::new() } else { format!(", {}", limits.part) };
        let _ = writeln!(page, "\n## {subject}{part}\n\n| limit | value | why |\n| --- | --- | --- |");
        for limit in &limits.all {
            let _ = writeln!(page, "| `{}` | {} | {} |", limit.name, cell(&limit.value), cell(&limit.reason));
        }
    }
    page
}

#[test]
fn common_options_are_described_once() {
    let help = "Read\n\nUsage: quad read\n\nOptions:\n      --data-dir <DIR>  The folder\n                        of it\n      \
                --deep            Deep\n  -h, --help            Print help";
    assert_eq!(
        without_common_options(help),
        "Read\n\nUsage: quad read\n\nOptions:\n      --deep            Deep"
    );
    let plain = "Read\n\nOptions:\n      --json  As JSON\n  -h, --help  Print help";
    assert_eq!(without_common_options(plain), "Read");
}

#[test]
fn the_reference_folder_is_in_the_repository() {
    assert!(Path::new(&pages::root()).join("docs/reference").is_dir());
}
