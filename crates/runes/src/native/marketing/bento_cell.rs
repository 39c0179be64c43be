//! `bento-cell`: native because its zones are counted after its title is taken off, and its size decides where media stands.

use quad_markdoc::{NodeType, Value as Written};
use serde_json::Value;

use crate::schema::component::{name, part};
use crate::schema::context::Result;
use crate::schema::layout::Zones;
use crate::schema::media::unwrap_paragraphs;
use crate::schema::{Arguments, Call, Component, Context};
use crate::tree::{Node, Tag};
use crate::value::{number, to_text};

/// Level of every title: tiles are neighbours whatever the heading was that made them.
const TITLE_LEVEL: f64 = 3.0;

/// Columns of a grid that does not say.
const COLUMNS: i64 = 6;

/// How much of the grid a tile covers.
#[derive(Clone, Debug)]
pub(super) struct Span {
    pub columns: Value,
    pub rows: Value,
}

/// What a named size covers of a grid with so many columns. A name that is not known is small.
pub(super) fn preset(size: &str, columns: &Value) -> Span {
    let all = as_number(columns);
    let share = |part: f64| {
        // Not a number stays so, and counts as not given where it is used.
        let rounded = (part + 0.5).floor();
        if all.is_nan() { Value::Null } else { number(rounded.min(all).max(1.0)) }
    };
    let (columns, rows) = match size {
        "full" => (if all.is_nan() { Value::Null } else { columns.clone() }, 1),
        "large" => (share(all * 2.0 / 3.0), 2),
        "medium" => (share(all / 2.0), 1),
        _ => (share(all / 3.0), 1),
    };
    Span { columns, rows: rows.into() }
}

/// A value as a number, as the original's language reads one in a sum.
fn as_number(value: &Value) -> f64 {
    match value {
        Value::Null => 0.0,
        Value::Bool(value) => f64::from(u8::from(*value)),
        Value::Number(number) => number.as_f64().unwrap_or(f64::NAN),
        Value::String(text) => {
            let text = text.trim();
            let spells_a_word =
                text.bytes().any(|byte| byte.is_ascii_alphabetic() && byte != b'e' && byte != b'E');
            match text {
                "" => 0.0,
                _ if spells_a_word => f64::NAN,
                _ => text.parse().unwrap_or(f64::NAN),
            }
        }
        Value::Array(_) | Value::Object(_) => f64::NAN,
    }
}

pub(super) fn transform(call: Call<'_>, context: &mut Context<'_>) -> Result<Node> {
    let Call { arguments, mut content, .. } = call;
    let mut nodes = content.take("body");
    let title = match nodes.first() {
        Some(first) if first.kind == NodeType::Heading => Some(nodes.remove(0)),
        _ => None,
    };
    let zones = Zones::split(nodes);

    let size = arguments.value_or("size", "medium");
    let mut root = values(Component::new("bento-cell", "div"), &arguments, &size);
    if !zones.media.is_empty() {
        let media = unwrap_paragraphs(context.nodes(zones.media)?);
        root = root
            .child(Tag::new("div").with("data-section", "media").with("data-name", "media").holding(media));
    }
    if let Some(mut title) = title {
        title.attributes.insert("level".to_owned(), Written::Number(TITLE_LEVEL));
        let mut title = context.nodes(vec![title])?;
        title.truncate(1);
        title.iter_mut().for_each(|title| name(title, "title"));
        root = root.children(title);
    }
    root = root.child(part("div", "body", unwrap_paragraphs(context.nodes(zones.body)?)));
    if !zones.footer.is_empty() {
        root = root.child(part("footer", "footer", context.nodes(zones.footer)?));
    }
    let href = to_text(&arguments.value_or("href", ""));
    if !href.is_empty() {
        let link = Tag::new("a").with("data-name", "link").with("href", href);
        root = root.child(link.with("aria-hidden", "true").with("tabindex", "-1"));
    }
    let otherwise = if matches!(size.as_str(), Some("large" | "full")) { "start" } else { "top" };
    Ok(root.build().having("data-media-position", arguments.value_or("media-position", otherwise)))
}

fn values(root: Component, arguments: &Arguments, size: &Value) -> Component {
    let span = preset(&to_text(size), &Value::from(COLUMNS));
    let covered = |name: &str, otherwise: &Value| to_text(arguments.given(name).unwrap_or(otherwise));
    root.value("size", size.clone())
        .value("cols", covered("cols", &span.columns))
        .value("rows", covered("rows", &span.rows))
        .value("content-height", arguments.value_or("content-height", ""))
        .value("media-ratio", arguments.value_or("media-ratio", ""))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn named_sizes_keep_their_share() {
        let span = |size: &str, columns: Value| {
            let span = preset(size, &columns);
            format!("{}x{}", span.columns, span.rows)
        };
        assert_eq!(span("large", 6.into()), "4x2");
        assert_eq!(span("medium", 5.into()), "3x1");
        assert_eq!(span("small", 1.into()), "1x1");
        assert_eq!(span("full", "4".into()), "\"4\"x1");
        assert_eq!(span("medium", "four".into()), "nullx1");
    }
}
