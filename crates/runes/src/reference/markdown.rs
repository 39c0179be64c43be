//! The reference as Markdown, for terminals and for agents that read text.

use std::fmt::Write as _;

use serde_json::Value;

use super::{Detail, grouped, one};
use crate::catalogue::{Catalogue, ContentModel, Field, Rune};

/// Names and descriptions, one line each, by package.
pub fn list_as_markdown(catalogue: &Catalogue) -> String {
    let mut text = String::from("# Runes\n");
    for (package, runes) in grouped(catalogue) {
        let _ = write!(text, "\n## {}\n\n", package.label);
        for rune in runes {
            let _ = write!(text, "- `{}`", rune.name);
            if !rune.aliases.is_empty() {
                let _ = write!(text, " (also {})", code_list(&rune.aliases));
            }
            let _ = writeln!(text, ": {}", rune.description);
        }
    }
    text
}

/// Every rune, one after another.
pub fn all_as_markdown(catalogue: &Catalogue) -> String {
    let mut text = String::from("# Rune reference\n\n## Attributes of every rune\n\n");
    for (name, attribute) in catalogue.universal() {
        let entry = super::attribute(attribute, None, Detail::Full);
        attribute_line(&mut text, name, &entry);
    }
    for rune in super::by_name(catalogue) {
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
    let entry = one(catalogue, rune, Detail::Full);
    let attributes = &entry["attributes"];
    let shared = attributes["base"]["attributes"].as_object().into_iter().flatten();
    let all: Vec<(&String, &Value)> =
        attributes["own"].as_object().into_iter().flatten().chain(shared).collect();
    if !all.is_empty() {
        text.push_str("\n### Attributes\n\n");
        for (name, attribute) in all {
            attribute_line(&mut text, name, attribute);
        }
    }
    if rune.universal {
        text.push_str("\nThe attributes of every rune hold here too.\n");
    }
    if let Some(content) = &rune.content {
        text.push_str("\n### Content\n\n");
        content_lines(&mut text, content);
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

fn attribute_line(text: &mut String, name: &str, attribute: &Value) {
    let words: Vec<&str> =
        attribute["matches"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    let kind = if words.is_empty() {
        attribute["type"].as_str().unwrap_or_default().to_owned()
    } else {
        words.join(" \\| ")
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

fn content_lines(text: &mut String, content: &ContentModel) {
    match content {
        ContentModel::Sequence(fields) if fields.is_empty() => text.push_str("Nothing.\n"),
        ContentModel::Sequence(fields) => field_lines(text, fields),
        ContentModel::Sections(sections) => {
            field_lines(text, &sections.fields);
            let emits = sections.emit_tag.as_ref().map(|tag| format!(", as `{tag}`")).unwrap_or_default();
            let _ = writeln!(text, "- then one section for each `{}`{emits}", sections.section_heading);
            for (name, known) in &sections.known_sections {
                let _ = write!(text, "  - {name}");
                if !known.alias.is_empty() {
                    let _ = write!(text, " (also {})", known.alias.join(", "));
                }
                text.push('\n');
            }
        }
        ContentModel::Delimited(delimited) => {
            for zone in &delimited.zones {
                let _ = writeln!(text, "Zone `{}`:\n", zone.name);
                field_lines(text, &zone.fields);
                text.push('\n');
            }
            text.push_str("A rule (`---`) parts one zone from the next.\n");
        }
        ContentModel::Custom(custom) => drop(writeln!(text, "{}", custom.description)),
        ContentModel::When(when) => content_lines(text, &when.default),
    }
}

fn field_lines(text: &mut String, fields: &[Field]) {
    for field in fields {
        let _ = write!(text, "- {}: {}", field.name, field.matches.source.replace('|', " or "));
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

/// A fence longer than any within.
fn fence_for(example: &str) -> String {
    let longest = example
        .lines()
        .map(|line| line.trim_start().chars().take_while(|sign| *sign == '`').count())
        .max()
        .unwrap_or(0);
    "`".repeat(longest.max(2) + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_rune_reads_well() {
        let catalogue = Catalogue::official();
        let text = rune_as_markdown(&catalogue, catalogue.rune("callout").unwrap());
        let expect = "## hint\n\nCallout that sets a remark apart from the text around it\n\n- package: core\n\
            - also: `callout`, `alert`\n\n### Attributes\n\n- `type` (caution \\| check \\| note \\| warning; note unless \
            set): What kind of remark it is; decides colour, icon and label\n\nThe attributes of every rune hold here \
            too.\n\n### Content\n\n- body: any, any number\n\n### Example\n\n```markdoc\n{% hint type=\"note\" %}\nThe gate \
            closes at **ten** in the evening.\n{% /hint %}\n```\n";
        assert_eq!(text, expect);
    }

    #[test]
    fn every_rune_is_in_the_whole_and_in_the_list() {
        let catalogue = Catalogue::official();
        let (all, list) = (all_as_markdown(&catalogue), list_as_markdown(&catalogue));
        assert_eq!(all.matches("\n### Example\n").count(), 118);
        assert_eq!(list.matches("\n- `").count(), 118);
    }

    #[test]
    fn a_fence_within_gets_a_longer_one_around() {
        assert_eq!(fence_for("plain"), "```");
        assert_eq!(fence_for("```js\n```"), "````");
    }
}
