//! Forms: lists are fields, a quotation before a list is a question with choices, bold text is the button.
//!
//! Native because what each piece of Markdown means depends on its neighbours.

use quad_markdoc::{Map, Node as Parsed, NodeType, Value as Written};

use crate::content::ast;
use crate::schema::component::{Component, field, is_rune, part};
use crate::schema::context::Result;
use crate::schema::{Call, Context};
use crate::tree::Node;
use crate::value::to_text;

/// Words in the name of a field that say what is typed into it.
const TYPES: [(&[&str], &str); 8] = [
    (&["email", "e-mail"], "email"),
    (&["phone", "telephone", "mobile", "cell"], "tel"),
    (&["website", "url", "homepage", "link"], "url"),
    (&["date", "birthday", "dob"], "date"),
    (&["number", "amount", "quantity", "age", "count"], "number"),
    (&["password", "pin", "passcode"], "password"),
    (&["message", "comments", "description", "feedback", "notes", "bio", "about"], "textarea"),
    (&["file", "upload", "attachment", "resume", "document", "cv"], "file"),
];

/// Most choices that are shown at once; more become a menu.
const RADIO_CHOICES_MAX: usize = 4;

pub(super) fn transform(mut call: Call<'_>, out: &mut Context<'_>) -> Result<Node> {
    let mut body = out.nodes(fields(call.content.take("children")))?;
    for node in body.iter_mut().filter(|node| is_rune(node, "div", "form-field")) {
        field(node, "field");
    }
    let arguments = &call.arguments;
    let root = Component::new("form", "form")
        .value("action", arguments.value_or("action", ""))
        .value("method", arguments.value_or("method", "POST"))
        .value("success", arguments.value_or("success", ""))
        .value("error", arguments.value_or("error", ""))
        .value("variant", arguments.value_or("variant", "stacked"))
        .value("honeypot", to_text(&arguments.value_or("honeypot", true)));
    Ok(root.child(part("div", "body", body)).build())
}

/// A field that is yet to be rendered.
#[derive(Default)]
struct Field {
    name: String,
    kind: &'static str,
    required: bool,
    placeholder: String,
    options: String,
}

impl Field {
    fn new(kind: &'static str, name: String) -> Field {
        Field { name, kind, ..Field::default() }
    }

    fn into_tag(self) -> Parsed {
        let mut attributes = Map::new();
        attributes.insert("name", Written::String(self.name));
        attributes.insert("fieldType", Written::String(self.kind.to_owned()));
        attributes.insert("required", Written::Bool(self.required));
        attributes.insert("placeholder", Written::String(self.placeholder));
        attributes.insert("options", Written::String(self.options));
        ast::tag("form-field", attributes, Vec::new())
    }
}

fn fields(nodes: Vec<Parsed>) -> Vec<Parsed> {
    let submit = nodes.iter().rposition(is_all_bold);
    let mut converted = Vec::new();
    // A quotation waits for the list that may follow; without one it is a hint.
    let mut question: Option<String> = None;
    for (at, node) in nodes.into_iter().enumerate() {
        let waiting = question.take();
        if let (NodeType::List, Some(question)) = (node.kind, &waiting) {
            converted.push(choice(question, &node).into_tag());
            continue;
        }
        converted.extend(waiting.map(|text| Field::new("help", text).into_tag()));
        let text = ast::text_of(&node, "");
        match node.kind {
            NodeType::Heading => converted.push(Field::new("group", text).into_tag()),
            NodeType::List => {
                let items = node.children.iter().filter(|item| item.kind == NodeType::Item);
                converted.extend(items.map(|item| typed(&ast::text_of(item, "")).into_tag()));
            }
            NodeType::Blockquote => question = Some(text),
            _ if submit == Some(at) => converted.push(Field::new("submit", text).into_tag()),
            NodeType::Hr => converted.push(Field::new("separator", String::new()).into_tag()),
            NodeType::Paragraph => converted.push(Field::new("description", text).into_tag()),
            _ => converted.push(node),
        }
    }
    converted.extend(question.map(|text| Field::new("help", text).into_tag()));
    converted
}

/// Whether a paragraph is bold from beginning to end.
fn is_all_bold(node: &Parsed) -> bool {
    if node.kind != NodeType::Paragraph {
        return false;
    }
    let bold: String = node
        .walk()
        .filter(|node| node.kind == NodeType::Strong)
        .map(|strong| ast::text_of(strong, ""))
        .collect();
    let text = ast::text_of(node, "");
    !text.trim().is_empty() && text.trim() == bold.trim()
}

/// `Email (optional, placeholder: you@example.org)`
fn typed(text: &str) -> Field {
    let (name, notes) = name_and_notes(text);
    let lower = name.to_lowercase();
    let kind = TYPES.iter().find(|(words, _)| words.iter().any(|word| lower.contains(word)));
    Field {
        kind: kind.map_or("text", |(_, kind)| kind),
        required: !has_word(notes, "optional"),
        placeholder: placeholder(notes).to_owned(),
        name: name.to_owned(),
        options: String::new(),
    }
}

/// The name of a field, and what stands in parentheses at its end.
fn name_and_notes(text: &str) -> (&str, &str) {
    let whole = text.trim();
    let found = whole.strip_suffix(')').and_then(|inner| {
        let last = inner.rfind(')').map_or(0, |at| at + 1);
        let first = whole.chars().next().map_or(0, char::len_utf8);
        let start = inner.match_indices('(').map(|(at, _)| at).find(|at| *at >= last.max(first))?;
        let notes = inner.get(start + 1..).filter(|notes| !notes.is_empty())?;
        Some((inner.get(..start)?.trim(), notes))
    });
    found.unwrap_or((whole, ""))
}

fn has_word(text: &str, word: &str) -> bool {
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
    text.split(|c: char| !is_part(c)).any(|part| part.eq_ignore_ascii_case(word))
}

/// What follows `placeholder:`, without quotes, up to the next comma.
fn placeholder(notes: &str) -> &str {
    let lower = notes.to_ascii_lowercase();
    let Some(at) = lower.find("placeholder:") else { return "" };
    let rest = notes.get(at + "placeholder:".len()..).unwrap_or_default().trim_start();
    let rest = rest.strip_prefix(['"', '\'']).unwrap_or(rest);
    rest.split(['"', '\'', ',']).next().unwrap_or_default().trim()
}

/// A question and the list of answers to it.
fn choice(question: &str, list: &Parsed) -> Field {
    let lower = question.to_ascii_lowercase();
    let options: Vec<String> = list
        .children
        .iter()
        .filter(|item| item.kind == NodeType::Item)
        .map(|item| ast::text_of(item, ""))
        .collect();
    let kind = if lower.contains("(multiple)") || lower.contains("select all") {
        "checkbox"
    } else if lower.contains("(radio)") || options.len() <= RADIO_CHOICES_MAX {
        "radio"
    } else {
        "select"
    };
    let label = ["(multiple)", "(radio)", "(optional)"].into_iter().fold(question.to_owned(), without);
    Field {
        name: label.trim().to_owned(),
        kind,
        required: !lower.contains("(optional)"),
        placeholder: String::new(),
        options: options.join(","),
    }
}

/// A text without a mark, wherever and however often it stands, and without the space before it.
fn without(text: String, mark: &str) -> String {
    let lower = text.to_ascii_lowercase();
    let Some(at) = lower.find(mark) else { return text };
    let before = text.get(..at).unwrap_or_default().trim_end();
    let after = text.get(at + mark.len()..).unwrap_or_default();
    without(format!("{before}{after}"), mark)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_named_and_noted() {
        assert_eq!(name_and_notes("Email (optional)"), ("Email", "optional"));
        assert_eq!(name_and_notes("Age (in years) (optional)"), ("Age (in years)", "optional"));
        assert_eq!(name_and_notes("Name"), ("Name", ""));
        assert_eq!(name_and_notes("(x)"), ("(x)", ""));
        assert_eq!(placeholder("optional, Placeholder: 'you@x', y"), "you@x");
        assert_eq!(without("Pick (radio) one (RADIO)".into(), "(radio)"), "Pick one");
    }
}
