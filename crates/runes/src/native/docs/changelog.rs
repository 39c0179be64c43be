//! Release notes, one heading for each release.
//!
//! Native: a heading contains version and date in one text, in several notations.

use std::sync::LazyLock;

use quad_markdoc::Node as MarkdocNode;

use crate::content::{ContentFields, node_ext};
use crate::expand::header::header_element;
use crate::expand::render_context::Result;
use crate::expand::root_builder::{RootBuilder, is_rune_root, named_element, set_field};
use crate::expand::{RenderContext, RuneUse};
use crate::js_regex::JsRegex;
use crate::js_value::JsTrim;
use crate::render_tree::RenderNode;

/// A version, a dash, a date: `v2.1.0-rc.1 — 3 May`.
static VERSION_AND_DATE: LazyLock<Option<JsRegex>> =
    LazyLock::new(|| JsRegex::new(r"^v?([0-9.]+(?:-[A-Za-z0-9_.]+)?)\s*[-–—]\s*(.+)$").ok());

pub(super) fn transform(mut rune_use: RuneUse<'_>, cx: &mut RenderContext<'_>) -> Result<RenderNode> {
    let head = cx.render_nodes(rune_use.content.take("header"))?;
    let mut releases = rune_use.content.take("items");
    releases.extend(rune_use.content.take_groups("sections").into_iter().map(to_release_node));
    let mut releases = cx.render_nodes(releases)?;
    releases.retain(|node| is_rune_root(node, "section", "changelog-release"));
    releases.iter_mut().for_each(|node| set_field(node, "release"));
    let root = RootBuilder::new("changelog", "section").data_field("contentSection");
    let root =
        root.value("project", rune_use.arguments.non_null_or("project", "")).child_if(header_element(head));
    Ok(root.child(named_element("div", "releases", releases)).build())
}

/// Converts a section to a tag.
fn to_release_node(mut section: ContentFields) -> MarkdocNode {
    let (version, date) = version_and_date(section.text("$heading").unwrap_or_default());
    node_ext::new_tag_with("changelog-release", [("version", version), ("date", date)], section.take("body"))
}

fn version_and_date(heading: &str) -> (String, String) {
    let captures = VERSION_AND_DATE.as_ref().and_then(|pattern| pattern.captures(heading));
    let part = |group_index: usize| {
        let part = captures.as_ref().and_then(|found| found.get(group_index));
        part.map(|part| part.as_str().js_trim().to_owned())
    };
    (part(1).unwrap_or_else(|| heading.to_owned()), part(2).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heading_is_split_into_version_and_date() {
        let check = |heading: &str, version: &str, date: &str| {
            assert_eq!(version_and_date(heading), (version.to_owned(), date.to_owned()), "{heading}");
        };
        check("v2.1.0-rc.1 — 3 May 2024", "2.1.0-rc.1", "3 May 2024");
        check("2.0 – 2023", "2.0", "2023");
        check("1.2-3", "1.2", "3");
        check("Unreleased", "Unreleased", "");
    }
}
