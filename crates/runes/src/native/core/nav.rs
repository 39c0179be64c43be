//! Menus: items by slug or link, in groups below headings, in columns between thematic breaks.
//!
//! Native: lists and their items are rendered differently here, and the shape depends on layout and headings.

use quad_markdoc::{AttributeMap, Node as MarkdocNode, NodeType};

use crate::content::headings::group_by_heading;
use crate::content::node_ext;
use crate::expand::header::{is_element, is_heading};
use crate::expand::render_context::{Override, Result};
use crate::expand::root_builder::{
    RootBuilder, field_meta_element, named_element, new_element, set_field, set_name,
};
use crate::expand::text::text_of_node;
use crate::expand::{Arguments, RenderContext, RuneUse};
use crate::js_value::{JsTrim, is_js_whitespace};
use crate::render_tree::{Element, RenderNode};

pub(super) fn transform(mut rune_use: RuneUse<'_>, cx: &mut RenderContext<'_>) -> Result<RenderNode> {
    let arguments = &rune_use.arguments;
    let layout = arguments.text("layout").unwrap_or_default();
    let root = RootBuilder::new("nav", "nav");
    if arguments.is_truthy("auto") {
        // A site, which knows the other pages, fills the menu.
        let root =
            root.children(menu_trigger(&layout)).child(field_meta_element("__nav-auto", "true")).build();
        return Ok(with_script_attributes(root, arguments));
    }
    let root = root.class(arguments.is_truthy("ordered").then(|| "ordered".into()));
    let mut nodes =
        cx.render_nodes_with(render_nav_list, group_first_level(rune_use.content.take("children")))?;
    if layout == "strip" {
        mark_all_items(&mut nodes);
        return Ok(with_script_attributes(root.children(nodes).build(), &rune_use.arguments));
    }
    let content = if nodes.iter().any(is_heading) {
        group_by_headings(nodes, layout == "columns", rune_use.arguments.is_truthy("collapsible"))
    } else {
        mark_all_items(&mut nodes);
        if layout == "columns" && nodes.iter().any(is_thematic_break) { flat_columns(nodes) } else { nodes }
    };
    let root = root.children(menu_trigger(&layout)).children(content).build();
    Ok(with_script_attributes(root, &rune_use.arguments))
}

/// Converts headings of the first level and the nodes below them to the items of one list.
fn group_first_level(nodes: Vec<MarkdocNode>) -> Vec<MarkdocNode> {
    match group_by_heading(nodes, Some(1)) {
        Ok(grouped) => {
            let item = |(heading, body): (MarkdocNode, Vec<MarkdocNode>)| {
                node_ext::new_node(
                    NodeType::Item,
                    AttributeMap::new(),
                    std::iter::once(heading).chain(body).collect(),
                )
            };
            let items = grouped.groups.into_iter().map(item).collect();
            grouped
                .before
                .into_iter()
                .chain([node_ext::new_node(NodeType::List, AttributeMap::new(), items)])
                .collect()
        }
        Err(nodes) => nodes,
    }
}

/// The button that opens a menu bar on small screens.
fn menu_trigger(layout: &str) -> Option<RenderNode> {
    (layout == "menubar").then(|| {
        Element::new("button")
            .with_attr("data-name", "trigger")
            .with_attr("type", "button")
            .with_attr("aria-label", "Toggle navigation")
            .with_attr("aria-expanded", "false")
            .into()
    })
}

/// Attributes that scripts and the engine read from the root.
fn with_script_attributes(mut root: RenderNode, arguments: &Arguments) -> RenderNode {
    if let Some(layout) = arguments.truthy("layout") {
        root.set_attr("layout", layout.clone());
    }
    if arguments.is_truthy("auto") {
        root.set_attr("data-auto", "true");
    }
    if arguments.is_truthy("collapsible") {
        root.set_attr("data-collapsible", "true");
        let existing = root.as_element().and_then(|tag| tag.attr_str("class")).unwrap_or_default();
        let class = format!("{existing} rf-nav--collapsible");
        root.set_attr("class", class.js_trim_start());
        let open = arguments.get("defaultOpen").and_then(|open| open.as_str()).unwrap_or_default().js_trim();
        if !open.is_empty() {
            root.set_attr("data-default-open", open);
        }
    }
    root
}

/// Lists are always unordered, and their items become `nav-item` runes.
fn render_nav_list(node: MarkdocNode, cx: &mut RenderContext<'_>) -> Result<Override> {
    Ok(match node.kind {
        NodeType::List => Override::Rendered(vec![new_element("ul", cx.render_nodes(node.children)?)]),
        NodeType::Item => {
            Override::Rendered(vec![nav_item(cx.render_nodes_with(render_nav_text, node.children)?)])
        }
        _ => Override::NotHandled(node),
    })
}

/// Text of an item is a slug until the page is known.
fn render_nav_text(node: MarkdocNode, cx: &mut RenderContext<'_>) -> Result<Override> {
    if node.kind != NodeType::Text {
        return Ok(Override::NotHandled(node));
    }
    let content = cx.text_content(&node);
    Ok(Override::Rendered(vec![
        Element::new("span").with_attr("data-field", "slug").with_children([content]).into(),
    ]))
}

/// Sorts the content of an item. Without a link, text is a slug; other inline content is dropped.
fn nav_item(children: Vec<RenderNode>) -> RenderNode {
    let has_rune = children.iter().any(is_inline_rune);
    let (mut links, mut label, mut lists, mut paragraphs) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for mut child in children {
        if is_badge(&child) {
            set_name(&mut child, "badge");
            label.push(child);
        } else if is_element(&child, "a") {
            links.push(child);
        } else if is_element(&child, "span") {
            label.push(child);
        } else if is_element(&child, "ul") {
            lists.push(child);
        } else if let RenderNode::Element(tag) = child
            && tag.is("p")
        {
            paragraphs.push(tag.children);
        }
    }
    // In a loose list the link is in the first paragraph.
    if links.is_empty()
        && let Some(index) =
            paragraphs.iter().position(|nodes| nodes.iter().any(|node| is_element(node, "a")))
    {
        links = paragraphs.remove(index).into_iter().filter(|node| is_element(node, "a")).collect();
    }
    let root = RootBuilder::new("nav-item", "li");
    let description = description_element(paragraphs);
    if let Some(RenderNode::Element(link)) = links.first_mut() {
        link.children.extend(description);
        return root.children(links).children(label.into_iter().filter(is_badge)).build();
    }
    for list in &mut lists {
        for_each_item(list, &mut |item| set_field(item, "children"));
    }
    let (label, slug) = if has_rune { mixed_label(label) } else { (label, String::new()) };
    let mut item = root.children(label).children(description).children(lists).build();
    if !slug.is_empty() {
        item.set_attr("data-slug", slug);
    }
    item
}

fn rune_name(node: &RenderNode) -> Option<&str> {
    node.as_element()?.attr_str("data-rune")
}

fn is_badge(node: &RenderNode) -> bool {
    rune_name(node) == Some("badge")
}

fn is_slug(node: &RenderNode) -> bool {
    node.as_element().is_some_and(|tag| tag.is("span") && tag.attr_str("data-field") == Some("slug"))
}

/// Whether a node is an icon, a badge or a reference.
fn is_inline_rune(node: &RenderNode) -> bool {
    is_badge(node) || (is_element(node, "span") && !is_slug(node))
}

/// A label of text and runes, in the author's order, and its text as a slug. npm drops the runes, and text beside them.
fn mixed_label(label: Vec<RenderNode>) -> (Vec<RenderNode>, String) {
    let mut slug = String::new();
    let mut nodes = Vec::with_capacity(label.len());
    for node in label {
        match node {
            RenderNode::Element(tag) if tag.is("span") && tag.attr_str("data-field") == Some("slug") => {
                slug.extend(tag.children.iter().map(text_of_node));
                nodes.extend(tag.children);
            }
            node => nodes.push(node),
        }
    }
    let words = slug.split(is_js_whitespace).filter(|word| !word.is_empty());
    (nodes, words.collect::<Vec<_>>().join(" "))
}

/// The text below an item. The class is set here because the engine does not reach unnamed elements in a link. Without
/// a link the engine adds it again, as npm does.
fn description_element(paragraphs: Vec<Vec<RenderNode>>) -> Option<RenderNode> {
    (!paragraphs.is_empty()).then(|| {
        let mut node: RenderNode = Element::new("span")
            .with_attr("data-name", "description")
            .with_attr("class", "rf-nav-item__description")
            .with_children(paragraphs.into_iter().flatten())
            .into();
        set_field(&mut node, "description");
        node
    })
}

/// Visits every list item within a node, including the node.
fn for_each_item(node: &mut RenderNode, visit: &mut dyn FnMut(&mut RenderNode)) {
    if is_element(node, "li") {
        visit(node);
    }
    if let Some(tag) = node.as_element_mut() {
        tag.children.iter_mut().for_each(|child| for_each_item(child, visit));
    }
}

fn mark_all_items(nodes: &mut [RenderNode]) {
    nodes.iter_mut().for_each(|node| for_each_item(node, &mut |item| set_field(item, "item")));
}

/// Marks the outermost list items.
fn mark_outer_items(nodes: &mut [RenderNode]) {
    for node in nodes {
        if is_element(node, "li") {
            set_field(node, "item");
        } else if let Some(tag) = node.as_element_mut() {
            mark_outer_items(&mut tag.children);
        }
    }
}

fn is_thematic_break(node: &RenderNode) -> bool {
    is_element(node, "hr")
}

fn is_list(node: &RenderNode) -> bool {
    is_element(node, "ul") || is_element(node, "ol")
}

fn list_items(list: RenderNode) -> Vec<RenderNode> {
    match list {
        RenderNode::Element(list) => {
            list.children.into_iter().filter(|child| is_element(child, "li")).collect()
        }
        _ => Vec::new(),
    }
}

/// Without headings, thematic breaks split the items of all lists into columns.
fn flat_columns(nodes: Vec<RenderNode>) -> Vec<RenderNode> {
    let mut columns = vec![Vec::new()];
    for node in nodes {
        if is_thematic_break(&node) {
            columns.push(Vec::new());
        } else if let (true, Some(column)) = (is_list(&node), columns.last_mut()) {
            column.extend(list_items(node));
        }
    }
    let columns = columns.into_iter().filter(|items| !items.is_empty());
    columns.map(|items| named_element("div", "column", [new_element("ul", items)])).collect()
}

/// Items above the first heading form a row; each heading starts a group; thematic breaks split groups into columns.
fn group_by_headings(nodes: Vec<RenderNode>, in_columns: bool, collapsible: bool) -> Vec<RenderNode> {
    let mut top_items = Vec::new();
    let mut columns: Vec<Vec<(RenderNode, Vec<RenderNode>)>> = vec![Vec::new()];
    let mut has_rules = false;
    let mut is_open = false;
    for node in nodes {
        let column = columns.last_mut();
        if is_thematic_break(&node) {
            (has_rules, is_open) = (true, false);
            columns.push(Vec::new());
        } else if let (true, Some(column)) = (is_heading(&node) || is_open, column) {
            if is_heading(&node) {
                column.push((node, Vec::new()));
                is_open = true;
            } else if let Some((_, body)) = column.last_mut() {
                body.push(node);
            }
        } else if is_list(&node) {
            top_items.extend(list_items(node));
        }
    }
    let build = |(heading, body): (RenderNode, Vec<RenderNode>)| {
        let group = nav_group(heading, body);
        if collapsible { group.with_attr("data-collapsed", "auto") } else { group }
    };
    let mut content = Vec::new();
    if !top_items.is_empty() {
        mark_outer_items(&mut top_items);
        content.push(named_element("div", "top-level", [new_element("ul", top_items)]));
    }
    if in_columns && has_rules {
        let columns = columns.into_iter().filter(|column| !column.is_empty());
        content.extend(columns.map(|column| named_element("div", "column", column.into_iter().map(build))));
    } else {
        content.extend(columns.into_iter().flatten().map(build));
    }
    content
}

/// A heading and its panel. What is neither a list nor a rune is text: at the start of the panel its intro, at the end its
/// footer.
fn nav_group(mut heading: RenderNode, mut body: Vec<RenderNode>) -> RenderNode {
    mark_outer_items(&mut body);
    let is_text = |node: &RenderNode| {
        node.as_element().is_some_and(|tag| tag.attr_str("data-rune").is_none()) && !is_list(node)
    };
    if body.len() > 1 && body.last().is_some_and(is_text) {
        let footer = body.pop().map(|node| named_element("div", "footer", [node]));
        body.extend(footer);
    }
    if body.first().is_some_and(|node| is_text(node) && !is_footer(node)) {
        let intro = named_element("div", "intro", [body.remove(0)]);
        body.insert(0, intro);
    }
    set_field(&mut heading, "title");
    let panel = (!body.is_empty()).then(|| named_element("div", "panel", body));
    let mut group = RootBuilder::new("nav-group", "section").child(heading).child_if(panel).build();
    set_field(&mut group, "group");
    group
}

fn is_footer(node: &RenderNode) -> bool {
    node.as_element().and_then(|tag| tag.attr_str("data-name")) == Some("footer")
}
