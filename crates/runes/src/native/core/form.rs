//! Forms: list items are fields, a block quote before a list is a question with choices, bold text is the button.
//!
//! Native: the meaning of a node depends on its neighbours.

use quad_markdoc::{AttributeMap, Node as MarkdocNode, NodeType, Value as MarkdocValue};

use crate::content::node_ext;
use crate::expand::render_context::Result;
use crate::expand::root_builder::{RootBuilder, is_rune_root, named_element, set_field};
use crate::expand::{RenderContext, RuneUse};
use crate::js_value::{JsTrim, to_js_string};
use crate::render_tree::RenderNode;

/// Words in the name of a field that determine its input type.
const FIELD_TYPES: [(&[&str], &str); 8] = [
    (&["email", "e-mail"], "email"),
    (&["phone", "telephone", "mobile", "cell"], "tel"),
    (&["website", "url", "homepage", "link"], "url"),
    (&["date", "birthday", "dob"], "date"),
    (&["number", "amount", "quantity", "age", "count"], "number"),
    (&["password", "pin", "passcode"], "password"),
    (&["message", "comments", "description", "feedback", "notes", "bio", "about"], "textarea"),
    (&["file", "upload", "attachment", "resume", "document", "cv"], "file"),
];

/// Most choices that are shown as radio buttons; more become a select menu.
const RADIO_CHOICES_MAX: usize = 4;

pub(super) fn transform(mut rune_use: RuneUse<'_>, cx: &mut RenderContext<'_>) -> Result<RenderNode> {
    let mut body = cx.render_nodes(to_field_nodes(rune_use.content.take("children")))?;
    for node in body.iter_mut().filter(|node| is_rune_root(node, "div", "form-field")) {
        set_field(node, "field");
    }
    let arguments = &rune_use.arguments;
    let root = RootBuilder::new("form", "form")
        .value("action", arguments.non_null_or("action", ""))
        .value("method", arguments.non_null_or("method", "POST"))
        .value("success", arguments.non_null_or("success", ""))
        .value("error", arguments.non_null_or("error", ""))
        .value("variant", arguments.non_null_or("variant", "stacked"))
        .value("honeypot", to_js_string(&arguments.non_null_or("honeypot", true)));
    Ok(root.child(named_element("div", "body", body)).build())
}

/// A field before rendering.
#[derive(Default)]
struct FormField {
    name: String,
    kind: &'static str,
    required: bool,
    placeholder: String,
    options: String,
}

impl FormField {
    fn new(kind: &'static str, name: String) -> FormField {
        FormField { name, kind, ..FormField::default() }
    }

    fn into_node(self) -> MarkdocNode {
        let mut attributes = AttributeMap::new();
        attributes.insert("name", MarkdocValue::String(self.name));
        attributes.insert("fieldType", MarkdocValue::String(self.kind.to_owned()));
        attributes.insert("required", MarkdocValue::Bool(self.required));
        attributes.insert("placeholder", MarkdocValue::String(self.placeholder));
        attributes.insert("options", MarkdocValue::String(self.options));
        node_ext::new_tag("form-field", attributes, Vec::new())
    }
}

fn to_field_nodes(nodes: Vec<MarkdocNode>) -> Vec<MarkdocNode> {
    let submit = nodes.iter().rposition(is_all_bold);
    let mut converted = Vec::new();
    // A block quote is a question if a list follows, otherwise a hint.
    let mut question: Option<String> = None;
    for (index, node) in nodes.into_iter().enumerate() {
        let pending = question.take();
        if let (NodeType::List, Some(question)) = (node.kind, &pending) {
            converted.push(choice_field(question, &node).into_node());
            continue;
        }
        converted.extend(pending.map(|text| FormField::new("help", text).into_node()));
        let text = node_ext::joined_text(&node, "");
        match node.kind {
            NodeType::Heading => converted.push(FormField::new("group", text).into_node()),
            NodeType::List => {
                let items = node.children.iter().filter(|item| item.kind == NodeType::Item);
                converted.extend(items.map(|item| parse_field(&node_ext::joined_text(item, "")).into_node()));
            }
            NodeType::Blockquote => question = Some(text),
            _ if submit == Some(index) => converted.push(FormField::new("submit", text).into_node()),
            NodeType::Hr => converted.push(FormField::new("separator", String::new()).into_node()),
            NodeType::Paragraph => converted.push(FormField::new("description", text).into_node()),
            _ => converted.push(node),
        }
    }
    converted.extend(question.map(|text| FormField::new("help", text).into_node()));
    converted
}

/// Whether a paragraph is bold text only.
fn is_all_bold(node: &MarkdocNode) -> bool {
    if node.kind != NodeType::Paragraph {
        return false;
    }
    let bold: String = node
        .descendants()
        .filter(|node| node.kind == NodeType::Strong)
        .map(|strong| node_ext::joined_text(strong, ""))
        .collect();
    let text = node_ext::joined_text(node, "");
    !text.js_trim().is_empty() && text.js_trim() == bold.js_trim()
}

/// `Email (optional, placeholder: you@example.org)`
fn parse_field(text: &str) -> FormField {
    let (name, notes) = split_notes(text);
    let lower = name.to_lowercase();
    let kind = FIELD_TYPES.iter().find(|(words, _)| words.iter().any(|word| lower.contains(word)));
    FormField {
        kind: kind.map_or("text", |(_, kind)| kind),
        required: !has_word(notes, "optional"),
        placeholder: parse_placeholder(notes).to_owned(),
        name: name.to_owned(),
        options: String::new(),
    }
}

/// Splits the name of a field from the notes in parentheses at its end.
fn split_notes(text: &str) -> (&str, &str) {
    let whole = text.js_trim();
    let found = whole.strip_suffix(')').and_then(|inner| {
        let last = inner.rfind(')').map_or(0, |index| index + 1);
        let first = whole.chars().next().map_or(0, char::len_utf8);
        let start =
            inner.match_indices('(').map(|(index, _)| index).find(|index| *index >= last.max(first))?;
        let notes = inner.get(start + 1..).filter(|notes| !notes.is_empty())?;
        Some((inner.get(..start)?.js_trim(), notes))
    });
    found.unwrap_or((whole, ""))
}

fn has_word(text: &str, word: &str) -> bool {
    let is_word_char = |c: char| c.is_ascii_alphanumeric() || c == '_';
    text.split(|c: char| !is_word_char(c)).any(|part| part.eq_ignore_ascii_case(word))
}

/// The text after `placeholder:`, without quotes, up to the next comma.
fn parse_placeholder(notes: &str) -> &str {
    let lower = notes.to_ascii_lowercase();
    let Some(index) = lower.find("placeholder:") else { return "" };
    let rest = notes.get(index + "placeholder:".len()..).unwrap_or_default().js_trim_start();
    let rest = rest.strip_prefix(['"', '\'']).unwrap_or(rest);
    rest.split(['"', '\'', ',']).next().unwrap_or_default().js_trim()
}

/// A question and its answers.
fn choice_field(question: &str, list: &MarkdocNode) -> FormField {
    let lower = question.to_ascii_lowercase();
    let options: Vec<String> = list
        .children
        .iter()
        .filter(|item| item.kind == NodeType::Item)
        .map(|item| node_ext::joined_text(item, ""))
        .collect();
    let kind = if lower.contains("(multiple)") || lower.contains("select all") {
        "checkbox"
    } else if lower.contains("(radio)") || options.len() <= RADIO_CHOICES_MAX {
        "radio"
    } else {
        "select"
    };
    let label = ["(multiple)", "(radio)", "(optional)"].into_iter().fold(question.to_owned(), remove_mark);
    FormField {
        name: label.js_trim().to_owned(),
        kind,
        required: !lower.contains("(optional)"),
        placeholder: String::new(),
        options: options.join(","),
    }
}

/// Removes every occurrence of a mark, with the space before it.
fn remove_mark(text: String, mark: &str) -> String {
    let lower = text.to_ascii_lowercase();
    let Some(index) = lower.find(mark) else { return text };
    let before = text.get(..index).unwrap_or_default().js_trim_end();
    let after = text.get(index + mark.len()..).unwrap_or_default();
    remove_mark(format!("{before}{after}"), mark)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn field_names_notes_and_marks_are_parsed() {
        assert_eq!(split_notes("Email (optional)"), ("Email", "optional"));
        assert_eq!(split_notes("Age (in years) (optional)"), ("Age (in years)", "optional"));
        assert_eq!(split_notes("Name"), ("Name", ""));
        assert_eq!(split_notes("(x)"), ("(x)", ""));
        assert_eq!(parse_placeholder("optional, Placeholder: 'you@x', y"), "you@x");
        assert_eq!(remove_mark("Pick (radio) one (RADIO)".into(), "(radio)"), "Pick one");
    }
}
