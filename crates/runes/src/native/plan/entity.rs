//! The entities of a plan: specifications, work, bugs, decisions, milestones.
//!
//! Native because their dates come from the file where the author gives none, rules between paragraphs are dropped, and sections
//! carry the name that is known for them, whatever their heading says.

use serde_json::Value;

use crate::content::Resolved;
use crate::schema::component::{Component, element, part};
use crate::schema::context::Result;
use crate::schema::header::is_element;
use crate::schema::{Call, Context};
use crate::tree::Node;

/// A value and what holds without one.
type Given = (&'static str, &'static str);

/// A specification.
pub(super) fn spec(mut call: Call<'_>, out: &mut Context<'_>) -> Result<Node> {
    const VALUES: [Given; 6] = [
        ("id", ""),
        ("status", "draft"),
        ("version", ""),
        ("supersedes", ""),
        ("released-in", ""),
        ("tags", ""),
    ];
    let root = with_values(Component::new("spec", "article"), &call, out, &VALUES);
    let root = root.child(title(&mut call, out)?).child_if(blurb(&mut call, out, "summary")?);
    let body = without_rules(out.nodes(call.content.take("body"))?);
    Ok(root.child(part("div", "body", body)).build())
}

/// A piece of work.
pub(super) fn work(call: Call<'_>, out: &mut Context<'_>) -> Result<Node> {
    const VALUES: [Given; 10] = [
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
    sectioned("work", &VALUES, call, out)
}

/// A fault.
pub(super) fn bug(call: Call<'_>, out: &mut Context<'_>) -> Result<Node> {
    const VALUES: [Given; 8] = [
        ("id", ""),
        ("status", "reported"),
        ("severity", "major"),
        ("assignee", ""),
        ("milestone", ""),
        ("source", ""),
        ("pr", ""),
        ("tags", ""),
    ];
    sectioned("bug", &VALUES, call, out)
}

/// A decision.
pub(super) fn decision(call: Call<'_>, out: &mut Context<'_>) -> Result<Node> {
    const VALUES: [Given; 6] =
        [("id", ""), ("status", "proposed"), ("date", ""), ("supersedes", ""), ("source", ""), ("tags", "")];
    sectioned("decision", &VALUES, call, out)
}

/// A milestone. Unlike the others it may be without a title.
pub(super) fn milestone(mut call: Call<'_>, out: &mut Context<'_>) -> Result<Node> {
    const VALUES: [Given; 3] = [("name", ""), ("target", ""), ("status", "planning")];
    let mut root = with_values(Component::new("milestone", "section"), &call, out, &VALUES);
    if !call.content.nodes("title").is_empty() {
        root = root.child(title(&mut call, out)?);
    }
    root = root.child_if(blurb(&mut call, out, "description")?);
    let mut body = out.nodes(call.content.take("goals"))?;
    body.truncate(1);
    body.extend(out.nodes(call.content.take("notes"))?);
    Ok(root.child(part("div", "body", body)).build())
}

/// An entity whose body is sections.
fn sectioned(rune: &str, values: &[Given], mut call: Call<'_>, out: &mut Context<'_>) -> Result<Node> {
    let root = with_values(Component::new(rune, "article"), &call, out, values);
    let root = root.child(title(&mut call, out)?).child_if(blurb(&mut call, out, "description")?);
    let mut body = Vec::new();
    for section in call.content.take_groups("sections") {
        body.push(self::section(section, out)?);
    }
    Ok(root.child(part("div", "body", body)).build())
}

fn with_values(mut root: Component, call: &Call<'_>, out: &Context<'_>, values: &[Given]) -> Component {
    for (name, otherwise) in values {
        root = root.value(name, call.arguments.value_or(name, *otherwise));
    }
    let file = out.variable("file").unwrap_or_default();
    for name in ["created", "modified"] {
        let of_file = file.get(name).cloned().unwrap_or_else(|| Value::from(""));
        root = root.value(name, call.arguments.given_or(name, of_file));
    }
    root
}

fn title(call: &mut Call<'_>, out: &mut Context<'_>) -> Result<Node> {
    Ok(part("header", "title", out.nodes(call.content.take("title"))?))
}

fn blurb(call: &mut Call<'_>, out: &mut Context<'_>, field: &str) -> Result<Option<Node>> {
    let nodes = out.nodes(call.content.take(field))?;
    Ok((!nodes.is_empty()).then(|| part("div", "blurb", nodes)))
}

fn without_rules(mut nodes: Vec<Node>) -> Vec<Node> {
    nodes.retain(|node| !is_element(node, "hr"));
    nodes
}

/// A section, with its heading in it. One that is known is named the same whatever its heading says.
fn section(mut section: Resolved, out: &mut Context<'_>) -> Result<Node> {
    let mut children = out.nodes(section.take("$headingNode"))?;
    if let (Some(name), Some(heading)) = (section.text("$canonicalName"), children.first_mut()) {
        heading.set("data-known-section", name);
    }
    let slug = section.text("$canonicalSlug").map(str::to_owned);
    let slug = slug.unwrap_or_else(|| slug_of(section.text("$heading").unwrap_or_default()));
    children.extend(without_rules(out.nodes(section.take("body"))?));
    Ok(element("section", children).having("data-name", slug))
}

/// A name made of a heading: runs of anything but letters and digits become one hyphen, none at either end.
fn slug_of(heading: &str) -> String {
    let heading = heading.to_lowercase();
    let words = heading.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
    words.collect::<Vec<_>>().join("-")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slugs_of_headings() {
        assert_eq!(slug_of("Why & how?"), "why-how");
        assert_eq!(slug_of("  Größe "), "gr-e");
        assert_eq!(slug_of("…"), "");
    }
}
