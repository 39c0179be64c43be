//! Content models at work: the nodes inside a rune become named fields.
//!
//! [`resolve`] follows a [`ContentModel`] of the catalogue. It takes the nodes and gives them back sorted: each field holds the
//! nodes that it matched, zones and sections hold fields of their own. Nothing is rendered here, and nothing is known of runes.

pub mod ast;
pub mod headings;
mod items;
mod sections;
mod sequence;

use indexmap::IndexMap;
use quad_markdoc::Node;

use crate::catalogue::{Condition, ContentModel, Delimited, Match, MatchOne};
use crate::schema::Arguments;
use crate::value::to_text;

/// What was found in a rune, by name.
#[derive(Debug, Default)]
pub struct Resolved {
    fields: IndexMap<String, Content>,
}

/// What one name stands for.
#[derive(Debug)]
pub enum Content {
    /// Nodes that a field matched.
    Nodes(Vec<Node>),
    /// The fields of one zone.
    Group(Resolved),
    /// The fields of each section or of each zone.
    Groups(Vec<Resolved>),
    /// The parts of each list item.
    Items(Vec<Item>),
    /// A text: the heading of a section, or a part of it.
    Text(String),
}

/// The parts of one list item, by name.
pub type Item = IndexMap<String, String>;

impl Resolved {
    /// Sets a field.
    pub fn insert(&mut self, name: impl Into<String>, content: Content) {
        self.fields.insert(name.into(), content);
    }

    /// Whether there is such a field.
    pub fn has(&self, name: &str) -> bool {
        self.fields.contains_key(name)
    }

    /// The nodes of a field, taken out; none where it matched nothing.
    pub fn take(&mut self, name: &str) -> Vec<Node> {
        match self.fields.shift_remove(name) {
            Some(Content::Nodes(nodes)) => nodes,
            _ => Vec::new(),
        }
    }

    /// The nodes of several fields one after another, taken out.
    pub fn take_each(&mut self, names: &[&str]) -> Vec<Node> {
        names.iter().flat_map(|name| self.take(name)).collect()
    }

    /// The nodes of a field, to look at.
    pub fn nodes(&self, name: &str) -> &[Node] {
        match self.fields.get(name) {
            Some(Content::Nodes(nodes)) => nodes,
            _ => &[],
        }
    }

    /// The fields of a zone, taken out.
    pub fn take_group(&mut self, name: &str) -> Resolved {
        match self.fields.shift_remove(name) {
            Some(Content::Group(group)) => group,
            _ => Resolved::default(),
        }
    }

    /// The fields of all sections (`sections`) or of all zones (`zones`), taken out.
    pub fn take_groups(&mut self, name: &str) -> Vec<Resolved> {
        match self.fields.shift_remove(name) {
            Some(Content::Groups(groups)) => groups,
            _ => Vec::new(),
        }
    }

    /// The parts of the list items of a field: `<field>Data`, taken out.
    pub fn take_items(&mut self, name: &str) -> Vec<Item> {
        match self.fields.shift_remove(name) {
            Some(Content::Items(items)) => items,
            _ => Vec::new(),
        }
    }

    /// A text: `$heading`, `$canonicalName`, `$canonicalSlug` or `$<part of the heading>`.
    pub fn text(&self, name: &str) -> Option<&str> {
        match self.fields.get(name) {
            Some(Content::Text(text)) => Some(text),
            _ => None,
        }
    }

    /// All nodes of all fields in order, taken out: for runes that only sort nothing away.
    pub fn take_all(&mut self) -> Vec<Node> {
        let fields = std::mem::take(&mut self.fields).into_values();
        fields
            .flat_map(|content| if let Content::Nodes(nodes) = content { nodes } else { Vec::new() })
            .collect()
    }
}

/// Sorts nodes by a model. A custom model leaves them as they are, under the name `children`.
pub fn resolve(model: &ContentModel, nodes: Vec<Node>, arguments: &Arguments) -> Resolved {
    match model {
        ContentModel::Sequence(fields) => sequence::resolve(fields, nodes),
        ContentModel::Sections(model) => sections::resolve(model, nodes, arguments),
        ContentModel::Delimited(model) => delimited(model, nodes, arguments),
        ContentModel::Custom(_) => {
            let mut resolved = Resolved::default();
            resolved.insert("children", Content::Nodes(nodes));
            resolved
        }
        ContentModel::When(when) => {
            let branch = when.branches.iter().find(|branch| holds(&branch.condition, &nodes, arguments));
            resolve(branch.map_or(&when.default, |branch| &branch.model), nodes, arguments)
        }
    }
}

fn holds(condition: &Condition, nodes: &[Node], arguments: &Arguments) -> bool {
    match condition {
        Condition::HasChild(what) => nodes.iter().any(|node| what.takes(node)),
        Condition::AttributeIn(name, values) => {
            let value = arguments.get(name).filter(|value| !value.is_null()).map(to_text).unwrap_or_default();
            values.contains(&value)
        }
        Condition::AttributeExists(name) => {
            arguments.get(name).is_some_and(|value| !value.is_null() && value.as_str() != Some(""))
        }
    }
}

fn delimited(model: &Delimited, nodes: Vec<Node>, arguments: &Arguments) -> Resolved {
    let mut groups = ast::split_at_rules(nodes);
    let mut resolved = Resolved::default();
    if let Some(zone) = &model.dynamic {
        let zones = groups.into_iter().map(|group| resolve(zone, group, arguments)).collect();
        resolved.insert("zones", Content::Groups(zones));
        return resolved;
    }
    let alone = groups.len() == 1;
    let primary = if alone { model.zones.iter().position(|zone| zone.primary) } else { None };
    for (at, zone) in model.zones.iter().enumerate() {
        let from = match primary {
            Some(primary) if primary == at => Some(0),
            Some(_) => None,
            None => Some(at),
        };
        let group = from.and_then(|from| groups.get_mut(from)).map(std::mem::take).unwrap_or_default();
        resolved.insert(zone.name.as_str(), Content::Group(sequence::resolve(&zone.fields, group)));
    }
    resolved
}

impl Match {
    /// Whether a field that is written so takes this node.
    pub fn takes(&self, node: &Node) -> bool {
        self.any_of.iter().any(|one| one.takes(node))
    }

    /// Whether it takes pictures and nothing else, which are then freed of their paragraph.
    pub(crate) fn is_image_only(&self) -> bool {
        self.any_of == [MatchOne::Image]
    }
}

impl MatchOne {
    fn takes(&self, node: &Node) -> bool {
        use quad_markdoc::NodeType;
        match self {
            MatchOne::Any => true,
            MatchOne::Paragraph => node.kind == NodeType::Paragraph,
            MatchOne::Heading(None) => node.kind == NodeType::Heading,
            MatchOne::Heading(level) => ast::heading_level(node) == *level,
            MatchOne::List(None) => node.kind == NodeType::List,
            MatchOne::List(ordered) => ast::list_is_ordered(node) == *ordered,
            MatchOne::Image => node.kind == NodeType::Image || ast::is_lone_image(node),
            MatchOne::Blockquote => node.kind == NodeType::Blockquote,
            MatchOne::Fence => node.kind == NodeType::Fence,
            MatchOne::Rule => node.kind == NodeType::Hr,
            MatchOne::Table => node.kind == NodeType::Table,
            MatchOne::Tag(None) => node.kind == NodeType::Tag,
            MatchOne::Tag(Some(name)) => node.is_tag(name),
        }
    }
}
