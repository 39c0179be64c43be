//! Changes to four types that need code, made at the end of the transform.

use super::root_style::RootStyle;
use crate::catalogue::PostTransform;
use crate::html;
use crate::render_tree::{Element, RenderNode};

pub(super) fn apply(post_transform: PostTransform, tag: &mut Element, root_style: &RootStyle) {
    match post_transform {
        PostTransform::Nav => tag.name = Some("rf-nav".into()),
        PostTransform::NavItem => transform_nav_item(tag),
        PostTransform::Plot => transform_plot(tag, root_style),
        PostTransform::Preview => transform_preview(tag),
    }
}

/// An entry with a slug shows the slug until a site knows the page's title; other entries are links.
fn transform_nav_item(tag: &mut Element) {
    let is_slug = |node: &RenderNode| {
        node.as_element().is_some_and(|tag| tag.is("span") && tag.attr_str("data-field") == Some("slug"))
    };
    let (slugs, others): (Vec<RenderNode>, Vec<RenderNode>) = tag.children.drain(..).partition(is_slug);
    tag.children = others;
    // The last one wins.
    let slug: String = slugs.last().and_then(RenderNode::as_element).map(direct_text).unwrap_or_default();
    if !slug.is_empty() {
        tag.attributes.insert("data-slug".into(), slug.as_str().into());
        tag.children.insert(0, slug.into());
        return;
    }
    let links = tag.children.iter_mut().filter_map(RenderNode::as_element_mut).filter(|child| child.is("a"));
    for link in links {
        let existing = link.attr_str("class").unwrap_or_default();
        let separator = if existing.is_empty() { "" } else { " " };
        let class = format!("rf-nav-item__link{separator}{existing}");
        link.attributes.insert("class".into(), class.into());
    }
}

fn direct_text(tag: &Element) -> String {
    let texts = tag.children.iter().filter_map(|child| match child {
        RenderNode::Text(text) => Some(text.as_str()),
        _ => None,
    });
    texts.collect()
}

/// Connects the beats of a linear plot.
fn transform_plot(tag: &mut Element, root_style: &RootStyle) {
    if root_style.modifier_value("structure") != Some("linear") {
        return;
    }
    for list in tag.children.iter_mut().filter_map(RenderNode::as_element_mut).filter(|child| child.is("ol"))
    {
        list.attributes.insert("data-sequence".into(), "connected".into());
    }
}

/// A preview with source also shows the produced markup.
fn transform_preview(tag: &mut Element) {
    let is_source = |node: &RenderNode| {
        node.as_element().is_some_and(|tag| tag.is("pre") && tag.attr_str("data-name") == Some("source"))
    };
    if !tag.children.iter().any(is_source) {
        return;
    }
    let has = |tag: &Element, key: &str| tag.attr_str(key).is_some_and(|value| !value.is_empty());
    let is_content = |node: &&RenderNode| {
        let is_metadata = |tag: &Element| match tag.name.as_deref() {
            Some("meta") => has(tag, "data-field"),
            Some("pre") => has(tag, "data-name"),
            _ => false,
        };
        !node.as_element().is_some_and(is_metadata)
    };
    let content = tag.children.iter().filter(is_content).cloned();
    let markup = html::to_html(&Element::default().with_children(content).into());
    if markup.is_empty() {
        return;
    }
    let code = Element::new("code").with_attr("data-language", "html").with_children([markup.into()]);
    let source =
        Element::new("pre").with_attr("data-name", "themed-source").with_attr("data-language", "html");
    tag.children.push(source.with_children([code.into()]).into());
}
