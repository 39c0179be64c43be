//! `quad tools [NAME]`

use std::fmt::Write as _;

use quad_core::resolver::View;
use quad_core::tool::ToolEffect;
use quad_core::{Error, Kind, Result, Tool, closest};
use serde_json::{Map, Value, json};

use crate::app::App;
use crate::output;

/// Lists all tools, or shows one with its arguments and an example.
pub fn run(app: &App, name: Option<&str>, as_json: bool) -> Result<()> {
    let caller = app.local_agent();
    let tools: Vec<&Tool> = app.resolver.tools(&caller, View::All, true).collect();
    let Some(name) = name else {
        print_list(&tools, as_json);
        return Ok(());
    };
    let tool = tools.iter().find(|tool| tool.name == name || tool.dotted_name == Some(name));
    let tool = tool.ok_or_else(|| unknown_tool(name, &tools))?;
    if as_json {
        output::print_json(&entry(tool));
    } else {
        output::print_line(describe(tool).trim_end());
    }
    Ok(())
}

fn unknown_tool(name: &str, tools: &[&Tool]) -> Error {
    let names = tools.iter().flat_map(|tool| [Some(tool.name), tool.dotted_name]).flatten();
    let hint = match closest(name, names) {
        Some(near) => format!("Use the nearest name, {near}; list all tools with `quad tools`"),
        None => "List all tools with `quad tools`".to_owned(),
    };
    Error::new(Kind::BadInput, "UNKNOWN_TOOL", format!("There is no tool named {name}")).hint(hint)
}

fn print_list(tools: &[&Tool], as_json: bool) {
    if as_json {
        let entries: Vec<Value> = tools.iter().map(|tool| entry(tool)).collect();
        output::print_json(&json!({"tools": entries}));
        return;
    }
    let mut rows = vec![["NAME", "TITLE", "SCOPE", "LISTED"].map(str::to_owned)];
    rows.extend(tools.iter().map(|tool| {
        let listed = if tool.core { "by default" } else { "with --tools all" };
        [tool.name, tool.title, &scope(tool), listed].map(str::to_owned)
    }));
    for line in columns(&rows, "") {
        output::print_line(line);
    }
}

/// The entry of `tools/list`, and what the protocol does not have.
fn entry(tool: &Tool) -> Value {
    let mut entry = tool.to_json();
    entry["scope"] = tool.required_scope.0.into();
    entry["default"] = tool.core.into();
    entry["originalName"] = tool.dotted_name.into();
    entry["example"] = tool.example.clone();
    entry
}

fn describe(tool: &Tool) -> String {
    let effect = match tool.effect {
        ToolEffect::Reads => "changes nothing",
        ToolEffect::Creates => "creates something",
        ToolEffect::Updates => "changes something",
        ToolEffect::Deletes => "deletes something",
    };
    let listed =
        if tool.core { "by default" } else { "with --tools all; every tool can be called either way" };
    let mut text = format!("{}: {}\n\n{}\n\n", tool.name, tool.title, tool.description);
    if let Some(name) = tool.dotted_name {
        let _ = writeln!(text, "original name  {name}");
    }
    let _ = writeln!(text, "scope          {}", scope(tool));
    let _ = writeln!(text, "effect         {effect}");
    let _ = writeln!(text, "listed         {listed}");
    let mut rows = Vec::new();
    add_arguments(&tool.input_schema, "", &mut rows);
    if rows.is_empty() {
        text.push_str("\nArguments: none\n");
    } else {
        let _ = writeln!(text, "\nArguments:\n{}", columns(&rows, "  ").join("\n"));
    }
    let _ = writeln!(text, "\nExample:\n  {}", example_command(tool));
    text
}

/// The command line of the example call, quoted for a shell.
fn example_command(tool: &Tool) -> String {
    match tool.example.as_object() {
        Some(arguments) if arguments.is_empty() => format!("quad call {}", tool.name),
        _ => format!("quad call {} '{}'", tool.name, tool.example.to_string().replace('\'', r"'\''")),
    }
}

/// The scopes of which a caller needs one.
fn scope(tool: &Tool) -> String {
    match tool.required_scope.0 {
        [] => "none".to_owned(),
        scopes => scopes.join(" or "),
    }
}

/// A row for each property of a schema: name, type, and what it is. The properties of an object in an argument follow it,
/// under its name.
fn add_arguments(schema: &Value, prefix: &str, rows: &mut Vec<[String; 3]>) {
    let no_properties = Map::new();
    let properties = schema["properties"].as_object().unwrap_or(&no_properties);
    let required: Vec<&str> =
        schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    for (name, property) in properties {
        let path = format!("{prefix}{name}");
        let mut kind = type_name(property);
        if required.contains(&name.as_str()) {
            kind.push_str(", required");
        }
        rows.push([path.clone(), kind, explanation(property)]);
        add_arguments(property, &format!("{path}."), rows);
        add_arguments(&property["items"], &format!("{path}[]."), rows);
    }
}

/// The type of a property, such as `array of string`.
fn type_name(property: &Value) -> String {
    let name = match &property["type"] {
        Value::String(name) => name.clone(),
        Value::Array(names) => names.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(" or "),
        _ => "any".to_owned(),
    };
    match &property["items"] {
        Value::Null => name,
        items => format!("{name} of {}", type_name(items)),
    }
}

/// The description of a property, its bounds, default and allowed values.
fn explanation(property: &Value) -> String {
    let mut parts =
        vec![property["description"].as_str().unwrap_or_default().trim_end_matches('.').to_owned()];
    let bound = |name: &str| property.get(name).map(Value::to_string);
    match (bound("minimum"), bound("maximum")) {
        (Some(min), Some(max)) => parts.push(format!("from {min} to {max}")),
        (Some(min), None) => parts.push(format!("{min} or more")),
        (None, Some(max)) => parts.push(format!("{max} or less")),
        (None, None) => {}
    }
    let values = property.get("enum").or_else(|| property["items"].get("enum")).and_then(Value::as_array);
    if let Some(values) = values {
        let values: Vec<String> = values.iter().map(plain).collect();
        parts.push(format!("one of {}", values.join(", ")));
    }
    if let Some(default) = property.get("default") {
        parts.push(format!("default {}", plain(default)));
    }
    parts.retain(|part| !part.is_empty());
    parts.join("; ")
}

/// A value as a person writes it: a string without quotes.
fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// Lines of left-aligned columns.
fn columns<const N: usize>(rows: &[[String; N]], indentation: &str) -> Vec<String> {
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or_default();
    let widths: Vec<usize> = (0..N).map(width).collect();
    let line = |row: &[String; N]| {
        let cells = row.iter().zip(&widths).map(|(cell, width)| format!("{cell:width$}"));
        format!("{indentation}{}", cells.collect::<Vec<_>>().join("  ")).trim_end().to_owned()
    };
    rows.iter().map(line).collect()
}

#[cfg(test)]
mod tests {
    use quad_core::ScopeRequirement;

    use super::*;

    fn tool() -> Tool {
        let schema = json!({
            "type": "object",
            "properties": {
                "limit": {"type": "integer", "minimum": 1, "maximum": 50, "default": 5, "description": "How many."},
                "kind": {"type": "string", "enum": ["a", "b"], "description": "The kind"},
                "fields": {
                    "type": "array",
                    "description": "The fields",
                    "items": {
                        "type": "object",
                        "properties": {"name": {"type": "string", "description": "The name"}},
                        "required": ["name"],
                    },
                },
            },
            "required": ["kind"],
        });
        let scope = ScopeRequirement(&["toy:read", "toy:write"]);
        Tool::new("toy_list", "List toys", "Lists toys.", schema, scope, ToolEffect::Reads)
            .dotted("toy.list")
            .example(json!({"kind": "it's"}))
    }

    #[test]
    fn arguments_are_listed_with_type_bounds_and_values() {
        let text = describe(&tool());
        for line in [
            "toy_list: List toys",
            "original name  toy.list",
            "scope          toy:read or toy:write",
            "  fields         array of object   The fields",
            "  fields[].name  string, required  The name",
            "  kind           string, required  The kind; one of a, b",
            "  limit          integer           How many; from 1 to 50; default 5",
            r#"  quad call toy_list '{"kind":"it'\''s"}'"#,
        ] {
            assert!(text.lines().any(|found| found == line), "{line:?} is not in\n{text}");
        }
    }

    #[test]
    fn unknown_tool_names_the_nearest() {
        let tool = tool();
        let hint = |name: &str| unknown_tool(name, &[&tool]).hint_text().unwrap().to_owned();
        assert!(hint("toy_lst").contains("toy_list"));
        assert_eq!(hint("frobnicate"), "List all tools with `quad tools`");
    }
}
