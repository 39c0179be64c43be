//! Markup that runs in an iframe.
//!
//! Native: its content is not Markdown: the source lines between its tags are used unchanged.

use serde_json::Value;

use crate::expand::render_context::Result;
use crate::expand::root_builder::RootBuilder;
use crate::expand::{RenderContext, RuneUse};
use crate::js_value::{JsTrim, to_js_string};
use crate::render_tree::{Element, RenderNode};

pub(super) fn transform(rune_use: RuneUse<'_>, cx: &mut RenderContext<'_>) -> Result<RenderNode> {
    let source = lines_between(cx.source, &rune_use.node.lines);
    let template = |name: &str, inner: RenderNode| -> RenderNode {
        Element::new("template").with_attr("data-content", name).with_children([inner]).into()
    };
    let fallback = (!source.is_empty()).then(|| {
        let code =
            Element::new("code").with_attr("data-language", "html").with_children([source.as_str().into()]);
        template(
            "fallback",
            Element::new("pre").with_attr("data-language", "html").with_children([code.into()]).into(),
        )
    });
    let root = RootBuilder::new("sandbox", "rf-sandbox")
        .child_if(fallback)
        .child(template("source", source.as_str().into()));
    let mut root = root.build();
    let arguments = &rune_use.arguments;
    let mut set_if_some = |name: &str, value: Option<&Value>| {
        if let Some(value) = value {
            root.set_attr(name, value.clone());
        }
    };
    set_if_some("data-source-content", Some(&source.into()));
    set_if_some("data-framework", arguments.truthy("framework"));
    set_if_some("data-dependencies", arguments.truthy("dependencies"));
    set_if_some("data-label", arguments.truthy("label"));
    set_if_some("data-height", Some(&height(arguments.get("height")).into()));
    set_if_some("data-security-mode", Some(&"trusted".into()));
    set_if_some("data-allow-js", Some(&"true".into()));
    // The script loads everything else at once, without a poster.
    if let Some(activation) =
        arguments.get("activation").filter(|when| *when == "visible" || *when == "click")
    {
        set_if_some("data-activation", Some(activation));
        set_if_some("data-poster", arguments.truthy("poster"));
    }
    if let Some(query) = arguments.truthy("data") {
        set_if_some("data-rf-query", Some(query));
        set_if_some("data-rf-fields", arguments.truthy("data-fields"));
        set_if_some("data-rf-shape", arguments.truthy("data-shape"));
        let limit = arguments.get("data-limit").filter(|limit| !limit.is_null());
        set_if_some("data-rf-limit", limit.map(|limit| Value::from(to_js_string(limit))).as_ref());
    }
    Ok(root)
}

/// A number of pixels, or `fill`; anything else is `auto`.
fn height(value: Option<&Value>) -> String {
    let text = match value {
        Some(value) if !value.is_null() => to_js_string(value),
        _ => return "auto".into(),
    };
    let is_number = text.js_trim().parse::<f64>().is_ok_and(f64::is_finite);
    if text == "fill" || is_number { text } else { "auto".into() }
}

/// The source lines between the opening and the closing tag.
fn lines_between(source: &str, lines: &[u32]) -> String {
    let (Some(first), Some(last)) = (lines.first(), lines.last().filter(|_| lines.len() >= 2)) else {
        return String::new();
    };
    let (start, end) = (*first as usize + 1, (*last as usize).saturating_sub(1));
    let inner_lines = source.split('\n').skip(start).take(end.saturating_sub(start));
    inner_lines.collect::<Vec<_>>().join("\n").js_trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn height_is_pixels_fill_or_auto() {
        assert_eq!(height(None), "auto");
        assert_eq!(height(Some(&240.into())), "240");
        assert_eq!(height(Some(&"fill".into())), "fill");
        assert_eq!(height(Some(&"tall".into())), "auto");
        assert_eq!(lines_between("a\nb\nc\nd", &[0, 1, 3, 4]), "b\nc");
        assert_eq!(lines_between("a", &[0, 1]), "");
    }
}
