//! The reference as Markdown.

use std::fmt::Write as _;

use serde_json::Value;

use super::rune_reference;
use crate::catalogue::{Catalogue, ContentModel, Field, Rune};

/// Every rune, one after another.
pub fn site_reference_as_markdown(catalogue: &Catalogue) -> String {
    let mut text = String::from("# Rune reference\n\n## Attributes of every rune\n\n");
    for (name, attribute) in catalogue.universal_attributes() {
        let entry = super::attribute_entry(attribute, None);
        write_attribute_line(&mut text, name, &entry);
    }
    for rune in super::visible_runes_by_name(catalogue) {
        let _ = write!(text, "\n{}", rune_as_markdown(catalogue, rune));
    }
    text
}

/// One rune.
pub fn rune_as_markdown(catalogue: &Catalogue, rune: &Rune) -> String {
    let mut text = format!("## {}\n\n{}\n\n", rune.name, rune.description);
    let _ = writeln!(text, "- package: {}", rune.package);
    if !rune.aliases.is_empty() {
        let _ = writeln!(text, "- also: {}", code_list(&rune.aliases));
    }
    if rune.self_closing {
        let _ = writeln!(text, "- written without a body: `{{% {} /%}}`", rune.name);
    }
    let entry = rune_reference(catalogue, rune);
    let attributes = &entry["attributes"];
    let shared = attributes["base"]["attributes"].as_object().into_iter().flatten();
    let attributes_with_preset: Vec<(&String, &Value)> =
        attributes["own"].as_object().into_iter().flatten().chain(shared).collect();
    if !attributes_with_preset.is_empty() {
        text.push_str("\n### Attributes\n\n");
        for (name, attribute) in attributes_with_preset {
            write_attribute_line(&mut text, name, attribute);
        }
    }
    if rune.universal {
        text.push_str("\nThe attributes of every rune hold here too.\n");
    }
    if let Some(content) = &rune.content {
        text.push_str("\n### Content\n\n");
        write_content_lines(&mut text, content);
    }
    if let Some(example) = &rune.example {
        let fence = fence_for(example);
        let _ = write!(text, "\n### Example\n\n{fence}markdoc\n{example}\n{fence}\n");
    }
    text
}

fn code_list(names: &[String]) -> String {
    names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}

fn write_attribute_line(text: &mut String, name: &str, attribute: &Value) {
    let allowed: Vec<&str> =
        attribute["matches"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    let kind = if allowed.is_empty() {
        attribute["type"].as_str().unwrap_or_default().to_owned()
    } else {
        allowed.join(" \\| ")
    };
    let _ = write!(text, "- `{name}` ({kind}");
    if attribute["required"] == true {
        text.push_str(", required");
    }
    match attribute.get("default") {
        Some(Value::String(default)) if default.is_empty() => {}
        Some(Value::String(default)) => drop(write!(text, "; {default} unless set")),
        Some(default) => drop(write!(text, "; {default} unless set")),
        None => {}
    }
    if attribute["deprecated"] == true {
        text.push_str("; deprecated");
    }
    let _ = writeln!(text, "): {}", attribute["description"].as_str().unwrap_or_default());
}

fn write_content_lines(text: &mut String, content: &ContentModel) {
    match content {
        ContentModel::Sequence(fields) if fields.is_empty() => text.push_str("Nothing.\n"),
        ContentModel::Sequence(fields) => write_field_lines(text, fields),
        ContentModel::Sections(sections) => {
            write_field_lines(text, &sections.fields);
            let emits = sections.emit_tag.as_ref().map(|tag| format!(", as `{tag}`")).unwrap_or_default();
            let _ = writeln!(text, "- then one section for each `{}`{emits}", sections.section_heading);
            for (name, definition) in &sections.known_sections {
                let _ = write!(text, "  - {name}");
                if !definition.alias.is_empty() {
                    let _ = write!(text, " (also {})", definition.alias.join(", "));
                }
                text.push('\n');
            }
        }
        ContentModel::Delimited(delimited) => {
            for zone in &delimited.zones {
                let _ = writeln!(text, "Zone `{}`:\n", zone.name);
                write_field_lines(text, &zone.fields);
                text.push('\n');
            }
            text.push_str("A rule (`---`) parts one zone from the next.\n");
        }
        ContentModel::Custom(custom) => drop(writeln!(text, "{}", custom.description)),
        ContentModel::When(when) => write_content_lines(text, &when.default),
    }
}

fn write_field_lines(text: &mut String, fields: &[Field]) {
    for field in fields {
        let _ = write!(text, "- {}: {}", field.name, field.pattern.source.replace('|', " or "));
        match (field.optional == Some(true), field.greedy) {
            (true, true) => text.push_str(", any number"),
            (true, false) => text.push_str(", may be missing"),
            (false, true) => text.push_str(", one or more"),
            (false, false) => {}
        }
        if let Some(description) = &field.description {
            let _ = write!(text, "; {description}");
        }
        text.push('\n');
    }
}

/// A fence that is longer than any in the example.
fn fence_for(example: &str) -> String {
    let longest = example
        .lines()
        .map(|line| line.trim_start().chars().take_while(|ch| *ch == '`').count())
        .max()
        .unwrap_or(0);
    "`".repeat(longest.max(2) + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rune_as_markdown_formats_one_rune() {
        let catalogue = Catalogue::all_builtin();
        let text = rune_as_markdown(&catalogue, catalogue.rune("callout").unwrap());
        let expect = "## hint\n\nCallout that sets a remark apart from the text around it\n\n- package: core\n\
            - also: `callout`, `alert`\n\n### Attributes\n\n- `type` (caution \\| check \\| note \\| warning; note unless \
            set): What kind of remark it is; decides colour, icon and label\n\nThe attributes of every rune hold here \
            too.\n\n### Content\n\n- body: any, any number\n\n### Example\n\n```markdoc\n{% hint type=\"note\" %}\nThe gate \
            closes at **ten** in the evening.\n{% /hint %}\n```\n";
        assert_eq!(text, expect);
    }

    #[test]
    fn every_rune_is_in_the_reference() {
        let all = site_reference_as_markdown(&Catalogue::all_builtin());
        assert_eq!(all.matches("\n### Example\n").count(), 118);
    }

    #[test]
    fn fence_is_longer_than_fences_in_the_example() {
        assert_eq!(fence_for("plain"), "```");
        assert_eq!(fence_for("```js\n```"), "````");
    }
}
