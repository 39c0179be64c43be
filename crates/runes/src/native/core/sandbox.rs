//! Markup that runs in a frame of its own.
//!
//! Native because its content is not Markdown: the lines between its tags are taken as they were written.

use serde_json::Value;

use crate::schema::component::Component;
use crate::schema::context::Result;
use crate::schema::{Call, Context};
use crate::tree::{Node, Tag};
use crate::value::to_text;

pub(super) fn transform(call: Call<'_>, out: &mut Context<'_>) -> Result<Node> {
    let source = lines_between(out.source, &call.node.lines);
    let template = |name: &str, inner: Node| -> Node {
        Tag::new("template").with("data-content", name).holding([inner]).into()
    };
    let shown = (!source.is_empty()).then(|| {
        let code = Tag::new("code").with("data-language", "html").holding([source.as_str().into()]);
        template("fallback", Tag::new("pre").with("data-language", "html").holding([code.into()]).into())
    });
    let root = Component::new("sandbox", "rf-sandbox")
        .child_if(shown)
        .child(template("source", source.as_str().into()));
    let mut root = root.build();
    let arguments = &call.arguments;
    let mut note = |name: &str, value: Option<&Value>| {
        if let Some(value) = value {
            root.set(name, value.clone());
        }
    };
    note("data-source-content", Some(&source.into()));
    note("data-framework", arguments.given("framework"));
    note("data-dependencies", arguments.given("dependencies"));
    note("data-label", arguments.given("label"));
    note("data-height", Some(&height(arguments.get("height")).into()));
    note("data-security-mode", Some(&"trusted".into()));
    note("data-allow-js", Some(&"true".into()));
    if let Some(activation) = arguments.given("activation").filter(|when| when.as_str() != Some("eager")) {
        note("data-activation", Some(activation));
        note("data-poster", arguments.given("poster"));
    }
    if let Some(query) = arguments.given("data") {
        note("data-rf-query", Some(query));
        note("data-rf-fields", arguments.given("data-fields"));
        note("data-rf-shape", arguments.given("data-shape"));
        let limit = arguments.get("data-limit").filter(|limit| !limit.is_null());
        note("data-rf-limit", limit.map(|limit| Value::from(to_text(limit))).as_ref());
    }
    Ok(root)
}

/// A number of pixels, or `fill`; everything else is `auto`.
fn height(value: Option<&Value>) -> String {
    let text = match value {
        Some(value) if !value.is_null() => to_text(value),
        _ => return "auto".into(),
    };
    let is_number = text.trim().parse::<f64>().is_ok_and(f64::is_finite);
    if text == "fill" || is_number { text } else { "auto".into() }
}

/// The lines after that of the opening tag and before that of the closing one.
fn lines_between(source: &str, lines: &[u32]) -> String {
    let (Some(first), Some(last)) = (lines.first(), lines.last().filter(|_| lines.len() >= 2)) else {
        return String::new();
    };
    let (start, end) = (*first as usize + 1, (*last as usize).saturating_sub(1));
    let between = source.split('\n').skip(start).take(end.saturating_sub(start));
    between.collect::<Vec<_>>().join("\n").trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heights_are_pixels_or_fill() {
        assert_eq!(height(None), "auto");
        assert_eq!(height(Some(&240.into())), "240");
        assert_eq!(height(Some(&"fill".into())), "fill");
        assert_eq!(height(Some(&"tall".into())), "auto");
        assert_eq!(lines_between("a\nb\nc\nd", &[0, 1, 3, 4]), "b\nc");
        assert_eq!(lines_between("a", &[0, 1]), "");
    }
}
