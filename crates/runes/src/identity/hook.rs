//! What only code can do with four types, after everything else.

use super::look::Look;
use crate::catalogue::PostTransform;
use crate::html;
use crate::tree::{Node, Tag};

pub(super) fn run(hook: PostTransform, tag: &mut Tag, look: &Look) {
    match hook {
        PostTransform::Nav => tag.name = Some("rf-nav".into()),
        PostTransform::NavItem => nav_item(tag),
        PostTransform::Plot => plot(tag, look),
        PostTransform::Preview => preview(tag),
    }
}

/// An entry by slug shows the slug until the page knows its title; any other entry is a link.
fn nav_item(tag: &mut Tag) {
    let is_slug = |node: &Node| {
        node.as_tag().is_some_and(|tag| tag.is("span") && tag.text("data-field") == Some("slug"))
    };
    let (slugs, others): (Vec<Node>, Vec<Node>) = tag.children.drain(..).partition(is_slug);
    tag.children = others;
    // Of several, the last counts.
    let slug: String = slugs.last().and_then(Node::as_tag).map(texts).unwrap_or_default();
    if !slug.is_empty() {
        tag.attributes.insert("data-slug".into(), slug.as_str().into());
        tag.children.insert(0, slug.into());
        return;
    }
    let links = tag.children.iter_mut().filter_map(Node::as_tag_mut).filter(|child| child.is("a"));
    for link in links {
        let own = link.text("class").unwrap_or_default();
        let space = if own.is_empty() { "" } else { " " };
        let class = format!("rf-nav-item__link{space}{own}");
        link.attributes.insert("class".into(), class.into());
    }
}

fn texts(tag: &Tag) -> String {
    let texts = tag.children.iter().filter_map(|child| match child {
        Node::Text(text) => Some(text.as_str()),
        _ => None,
    });
    texts.collect()
}

/// The beats of a linear plot hang together.
fn plot(tag: &mut Tag, look: &Look) {
    if look.axis("structure") != Some("linear") {
        return;
    }
    for list in tag.children.iter_mut().filter_map(Node::as_tag_mut).filter(|child| child.is("ol")) {
        list.attributes.insert("data-sequence".into(), "connected".into());
    }
}

/// A preview that shows its source also shows the markup that came out of it.
fn preview(tag: &mut Tag) {
    let is_source = |node: &Node| {
        node.as_tag().is_some_and(|tag| tag.is("pre") && tag.text("data-name") == Some("source"))
    };
    if !tag.children.iter().any(is_source) {
        return;
    }
    let has = |tag: &Tag, key: &str| tag.text(key).is_some_and(|value| !value.is_empty());
    let is_content = |node: &&Node| {
        let aside = |tag: &Tag| match tag.name.as_deref() {
            Some("meta") => has(tag, "data-field"),
            Some("pre") => has(tag, "data-name"),
            _ => false,
        };
        !node.as_tag().is_some_and(aside)
    };
    let content = tag.children.iter().filter(is_content).cloned();
    let markup = html::print(&Tag::default().holding(content).into());
    if markup.is_empty() {
        return;
    }
    let code = Tag::new("code").with("data-language", "html").holding([markup.into()]);
    let source = Tag::new("pre").with("data-name", "themed-source").with("data-language", "html");
    tag.children.push(source.holding([code.into()]).into());
}
