//! Menus: items by slug or link, in groups below headings, in columns between rules.
//!
//! Native because lists and their items render differently here, and because the shape depends on layout and headings.

use quad_markdoc::{Map, Node as Parsed, NodeType};

use crate::content::ast;
use crate::content::headings::below_headings;
use crate::schema::component::{Component, element, field, field_meta, name, part};
use crate::schema::context::{Result, Ruled};
use crate::schema::header::{is_element, is_heading};
use crate::schema::{Arguments, Call, Context};
use crate::tree::{Node, Tag};

pub(super) fn transform(mut call: Call<'_>, out: &mut Context<'_>) -> Result<Node> {
    let arguments = &call.arguments;
    let layout = arguments.text("layout").unwrap_or_default();
    let root = Component::new("nav", "nav");
    if arguments.is_given("auto") {
        // A later stage, which knows the other pages, fills it.
        let root = root.children(trigger(&layout)).child(field_meta("__nav-auto", "true")).build();
        return Ok(with_behaviour(root, arguments));
    }
    let root = root.class(arguments.is_given("ordered").then(|| "ordered".into()));
    let mut nodes = out.nodes_with(list_rule, below_first_level(call.content.take("children")))?;
    if layout == "strip" {
        every_item(&mut nodes);
        return Ok(with_behaviour(root.children(nodes).build(), &call.arguments));
    }
    let content = if nodes.iter().any(is_heading) {
        grouped(nodes, layout == "columns", call.arguments.is_given("collapsible"))
    } else {
        every_item(&mut nodes);
        if layout == "columns" && nodes.iter().any(is_rule) { flat_columns(nodes) } else { nodes }
    };
    let root = root.children(trigger(&layout)).children(content).build();
    Ok(with_behaviour(root, &call.arguments))
}

/// Headings of the first level and what stands below them become items of one list.
fn below_first_level(nodes: Vec<Parsed>) -> Vec<Parsed> {
    match below_headings(nodes, Some(1)) {
        Ok(grouped) => {
            let item = |(heading, body): (Parsed, Vec<Parsed>)| {
                ast::node(NodeType::Item, Map::new(), std::iter::once(heading).chain(body).collect())
            };
            let items = grouped.groups.into_iter().map(item).collect();
            grouped.before.into_iter().chain([ast::node(NodeType::List, Map::new(), items)]).collect()
        }
        Err(nodes) => nodes,
    }
}

/// The button that opens a menu bar on small screens.
fn trigger(layout: &str) -> Option<Node> {
    (layout == "menubar").then(|| {
        Tag::new("button")
            .with("data-name", "trigger")
            .with("type", "button")
            .with("aria-label", "Toggle navigation")
            .with("aria-expanded", "false")
            .into()
    })
}

/// What scripts and the engine read off the root.
fn with_behaviour(mut root: Node, arguments: &Arguments) -> Node {
    if let Some(layout) = arguments.given("layout") {
        root.set("layout", layout.clone());
    }
    if arguments.is_given("auto") {
        root.set("data-auto", "true");
    }
    if arguments.is_given("collapsible") {
        root.set("data-collapsible", "true");
        let own = root.as_tag().and_then(|tag| tag.text("class")).unwrap_or_default();
        let class = format!("{own} rf-nav--collapsible");
        root.set("class", class.trim_start());
        let open = arguments.get("defaultOpen").and_then(|open| open.as_str()).unwrap_or_default().trim();
        if !open.is_empty() {
            root.set("data-default-open", open);
        }
    }
    root
}

/// Lists are unordered whatever they were, and their items are items of a menu.
fn list_rule(node: Parsed, out: &mut Context<'_>) -> Result<Ruled> {
    Ok(match node.kind {
        NodeType::List => Ruled::Done(vec![element("ul", out.nodes(node.children)?)]),
        NodeType::Item => Ruled::Done(vec![item(out.nodes_with(text_rule, node.children)?)]),
        _ => Ruled::Pass(node),
    })
}

/// Text within an item is a slug until the page is known.
fn text_rule(node: Parsed, out: &mut Context<'_>) -> Result<Ruled> {
    if node.kind != NodeType::Text {
        return Ok(Ruled::Pass(node));
    }
    let content = out.text(&node);
    Ok(Ruled::Done(vec![Tag::new("span").with("data-field", "slug").holding([content]).into()]))
}

fn item(children: Vec<Node>) -> Node {
    let is_badge = |node: &Node| node.as_tag().and_then(|tag| tag.text("data-rune")) == Some("badge");
    let (mut links, mut slugs, mut lists, mut paragraphs, mut badges) =
        (Vec::new(), Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for child in children {
        if is_badge(&child) {
            badges.push(child);
        } else if is_element(&child, "a") {
            links.push(child);
        } else if is_element(&child, "span") {
            slugs.push(child);
        } else if is_element(&child, "ul") {
            lists.push(child);
        } else if let Node::Tag(tag) = child
            && tag.is("p")
        {
            paragraphs.push(tag.children);
        }
    }
    // In a list with blank lines between, the link stands in the first paragraph.
    if links.is_empty()
        && let Some(at) = paragraphs.iter().position(|nodes| nodes.iter().any(|node| is_element(node, "a")))
    {
        links = paragraphs.remove(at).into_iter().filter(|node| is_element(node, "a")).collect();
    }
    badges.iter_mut().for_each(|badge| name(badge, "badge"));
    let root = Component::new("nav-item", "li");
    if let Some(Node::Tag(link)) = links.first_mut() {
        // The engine gives no class to what stands within a link, which has no name.
        let tag = Tag::new("span").with("data-name", "description").with("class", "rf-nav-item__description");
        link.children.extend(description(tag, paragraphs));
        return root.children(links).children(badges).build();
    }
    let description = description(Tag::new("p").with("data-name", "description"), paragraphs);
    for list in &mut lists {
        each_item(list, &mut |item| field(item, "children"));
    }
    root.children(slugs).children(description).children(badges).children(lists).build()
}

/// The text below an item, within an element.
fn description(tag: Tag, paragraphs: Vec<Vec<Node>>) -> Option<Node> {
    (!paragraphs.is_empty()).then(|| {
        let mut node: Node = tag.holding(paragraphs.into_iter().flatten()).into();
        field(&mut node, "description");
        node
    })
}

/// Calls for every list item within a node, itself included.
fn each_item(node: &mut Node, call: &mut dyn FnMut(&mut Node)) {
    if is_element(node, "li") {
        call(node);
    }
    if let Some(tag) = node.as_tag_mut() {
        tag.children.iter_mut().for_each(|child| each_item(child, call));
    }
}

fn every_item(nodes: &mut [Node]) {
    nodes.iter_mut().for_each(|node| each_item(node, &mut |item| field(item, "item")));
}

/// Marks list items within nodes, but not those within items.
fn outer_items(nodes: &mut [Node]) {
    for node in nodes {
        if is_element(node, "li") {
            field(node, "item");
        } else if let Some(tag) = node.as_tag_mut() {
            outer_items(&mut tag.children);
        }
    }
}

fn is_rule(node: &Node) -> bool {
    is_element(node, "hr")
}

fn is_list(node: &Node) -> bool {
    is_element(node, "ul") || is_element(node, "ol")
}

fn items_of(list: Node) -> Vec<Node> {
    match list {
        Node::Tag(list) => list.children.into_iter().filter(|child| is_element(child, "li")).collect(),
        _ => Vec::new(),
    }
}

/// Without headings, rules part the items of all lists into columns.
fn flat_columns(nodes: Vec<Node>) -> Vec<Node> {
    let mut columns = vec![Vec::new()];
    for node in nodes {
        if is_rule(&node) {
            columns.push(Vec::new());
        } else if let (true, Some(column)) = (is_list(&node), columns.last_mut()) {
            column.extend(items_of(node));
        }
    }
    let columns = columns.into_iter().filter(|items| !items.is_empty());
    columns.map(|items| part("div", "column", [element("ul", items)])).collect()
}

/// Items above the first heading stand in a row of their own; each heading opens a group; rules part groups into columns.
fn grouped(nodes: Vec<Node>, in_columns: bool, collapsible: bool) -> Vec<Node> {
    let mut top = Vec::new();
    let mut columns: Vec<Vec<(Node, Vec<Node>)>> = vec![Vec::new()];
    let mut has_rules = false;
    let mut is_open = false;
    for node in nodes {
        let column = columns.last_mut();
        if is_rule(&node) {
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
            top.extend(items_of(node));
        }
    }
    let build = |(heading, body): (Node, Vec<Node>)| {
        let group = nav_group(heading, body);
        if collapsible { group.having("data-collapsed", "auto") } else { group }
    };
    let mut content = Vec::new();
    if !top.is_empty() {
        outer_items(&mut top);
        content.push(part("div", "top-level", [element("ul", top)]));
    }
    if in_columns && has_rules {
        let columns = columns.into_iter().filter(|column| !column.is_empty());
        content.extend(columns.map(|column| part("div", "column", column.into_iter().map(build))));
    } else {
        content.extend(columns.into_iter().flatten().map(build));
    }
    content
}

/// A heading and its panel. Text that the panel begins or ends with is its intro or its footer.
fn nav_group(mut heading: Node, mut body: Vec<Node>) -> Node {
    outer_items(&mut body);
    let is_text = |node: &Node| node.as_tag().is_some() && !is_list(node);
    if body.len() > 1 && body.last().is_some_and(is_text) {
        let footer = body.pop().map(|node| part("div", "footer", [node]));
        body.extend(footer);
    }
    if body.first().is_some_and(|node| is_text(node) && !is_footer(node)) {
        let intro = part("div", "intro", [body.remove(0)]);
        body.insert(0, intro);
    }
    field(&mut heading, "title");
    let panel = (!body.is_empty()).then(|| part("div", "panel", body));
    let mut group = Component::new("nav-group", "section").child(heading).child_if(panel).build();
    field(&mut group, "group");
    group
}

fn is_footer(node: &Node) -> bool {
    node.as_tag().and_then(|tag| tag.text("data-name")) == Some("footer")
}
