//! Plan entities: specifications, work items, bugs, decisions, milestones.
//!
//! Native: missing dates come from the file, thematic breaks between paragraphs are dropped, and known sections get
//! their canonical name whatever the heading says.

use serde_json::Value;

use crate::content::ContentFields;
use crate::expand::header::is_element;
use crate::expand::render_context::Result;
use crate::expand::root_builder::{RootBuilder, named_element, new_element};
use crate::expand::{RenderContext, RuneUse};
use crate::render_tree::RenderNode;

/// An argument and its default.
type AttributeDefault = (&'static str, &'static str);

/// A specification.
pub(super) fn transform_spec(mut rune_use: RuneUse<'_>, cx: &mut RenderContext<'_>) -> Result<RenderNode> {
    const VALUES: [AttributeDefault; 6] = [
        ("id", ""),
        ("status", "draft"),
        ("version", ""),
        ("supersedes", ""),
        ("released-in", ""),
        ("tags", ""),
    ];
    let root = with_values(RootBuilder::new("spec", "article"), &rune_use, cx, &VALUES);
    let root =
        root.child(title_element(&mut rune_use, cx)?).child_if(blurb_element(&mut rune_use, cx, "summary")?);
    let body = without_thematic_breaks(cx.render_nodes(rune_use.content.take("body"))?);
    Ok(root.child(named_element("div", "body", body)).build())
}

/// A work item.
pub(super) fn transform_work(rune_use: RuneUse<'_>, cx: &mut RenderContext<'_>) -> Result<RenderNode> {
    const VALUES: [AttributeDefault; 10] = [
        ("id", ""),
        ("status", "draft"),
        ("priority", "medium"),
        ("complexity", "unknown"),
        ("assignee", ""),
        ("milestone", ""),
        ("source", ""),
        ("supersedes", ""),
        ("pr", ""),
        ("tags", ""),
    ];
    render_sectioned("work", &VALUES, rune_use, cx)
}

/// A bug.
pub(super) fn transform_bug(rune_use: RuneUse<'_>, cx: &mut RenderContext<'_>) -> Result<RenderNode> {
    const VALUES: [AttributeDefault; 8] = [
        ("id", ""),
        ("status", "reported"),
        ("severity", "major"),
        ("assignee", ""),
        ("milestone", ""),
        ("source", ""),
        ("pr", ""),
        ("tags", ""),
    ];
    render_sectioned("bug", &VALUES, rune_use, cx)
}

/// A decision.
pub(super) fn transform_decision(rune_use: RuneUse<'_>, cx: &mut RenderContext<'_>) -> Result<RenderNode> {
    const VALUES: [AttributeDefault; 6] =
        [("id", ""), ("status", "proposed"), ("date", ""), ("supersedes", ""), ("source", ""), ("tags", "")];
    render_sectioned("decision", &VALUES, rune_use, cx)
}

/// A milestone. Only a milestone may have no title.
pub(super) fn transform_milestone(
    mut rune_use: RuneUse<'_>,
    cx: &mut RenderContext<'_>,
) -> Result<RenderNode> {
    const VALUES: [AttributeDefault; 3] = [("name", ""), ("target", ""), ("status", "planning")];
    let mut root = with_values(RootBuilder::new("milestone", "section"), &rune_use, cx, &VALUES);
    if !rune_use.content.nodes("title").is_empty() {
        root = root.child(title_element(&mut rune_use, cx)?);
    }
    root = root.child_if(blurb_element(&mut rune_use, cx, "description")?);
    let mut body = cx.render_nodes(rune_use.content.take("goals"))?;
    body.truncate(1);
    body.extend(cx.render_nodes(rune_use.content.take("notes"))?);
    Ok(root.child(named_element("div", "body", body)).build())
}

/// An entity with sections as body.
fn render_sectioned(
    rune: &str,
    values: &[AttributeDefault],
    mut rune_use: RuneUse<'_>,
    cx: &mut RenderContext<'_>,
) -> Result<RenderNode> {
    let root = with_values(RootBuilder::new(rune, "article"), &rune_use, cx, values);
    let root = root.child(title_element(&mut rune_use, cx)?).child_if(blurb_element(
        &mut rune_use,
        cx,
        "description",
    )?);
    let mut body = Vec::new();
    for section in rune_use.content.take_groups("sections") {
        body.push(self::section_element(section, cx)?);
    }
    Ok(root.child(named_element("div", "body", body)).build())
}

fn with_values(
    mut root: RootBuilder,
    rune_use: &RuneUse<'_>,
    cx: &RenderContext<'_>,
    values: &[AttributeDefault],
) -> RootBuilder {
    for (name, default) in values {
        root = root.value(name, rune_use.arguments.non_null_or(name, *default));
    }
    let file = cx.variable("file").unwrap_or_default();
    for name in ["created", "modified"] {
        let file_value = file.get(name).cloned().unwrap_or_else(|| Value::from(""));
        root = root.value(name, rune_use.arguments.truthy_or(name, file_value));
    }
    root
}

fn title_element(rune_use: &mut RuneUse<'_>, cx: &mut RenderContext<'_>) -> Result<RenderNode> {
    Ok(named_element("header", "title", cx.render_nodes(rune_use.content.take("title"))?))
}

fn blurb_element(
    rune_use: &mut RuneUse<'_>,
    cx: &mut RenderContext<'_>,
    field: &str,
) -> Result<Option<RenderNode>> {
    let nodes = cx.render_nodes(rune_use.content.take(field))?;
    Ok((!nodes.is_empty()).then(|| named_element("div", "blurb", nodes)))
}

fn without_thematic_breaks(mut nodes: Vec<RenderNode>) -> Vec<RenderNode> {
    nodes.retain(|node| !is_element(node, "hr"));
    nodes
}

/// A section with its heading. A known section gets its canonical name.
fn section_element(mut section: ContentFields, cx: &mut RenderContext<'_>) -> Result<RenderNode> {
    let mut children = cx.render_nodes(section.take("$headingNode"))?;
    if let (Some(name), Some(heading)) = (section.text("$canonicalName"), children.first_mut()) {
        heading.set_attr("data-known-section", name);
    }
    let slug = section.text("$canonicalSlug").map(str::to_owned);
    let slug = slug.unwrap_or_else(|| slugify(section.text("$heading").unwrap_or_default()));
    children.extend(without_thematic_breaks(cx.render_nodes(section.take("body"))?));
    Ok(new_element("section", children).with_attr("data-name", slug))
}

/// Slug of a heading: runs of other characters than letters and digits become one hyphen, none at either end.
fn slugify(heading: &str) -> String {
    let heading = heading.to_lowercase();
    let words = heading.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
    words.collect::<Vec<_>>().join("-")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slugify_keeps_ascii_letters_and_digits() {
        assert_eq!(slugify("Why & how?"), "why-how");
        assert_eq!(slugify("  Größe "), "gr-e");
        assert_eq!(slugify("…"), "");
    }
}
