//! Content models: sorts the nodes inside a rune into named fields.
//!
//! [`resolve`] applies a [`ContentModel`]. Each field holds the nodes that it matched; zones and sections hold fields
//! of their own. This module renders nothing and knows no particular rune.

mod field_sequence;
pub mod headings;
mod items;
pub mod node_ext;
mod sections;

use indexmap::IndexMap;
use quad_markdoc::Node;

use crate::catalogue::{Condition, ContentModel, DelimitedModel, NodePattern, NodePatternAlternative};
use crate::expand::Arguments;
use crate::js_value::to_js_string;

/// The content of a rune, by field name.
#[derive(Debug, Default)]
pub struct ContentFields {
    fields: IndexMap<String, FieldContent>,
}

/// The content of one field.
#[derive(Debug)]
pub enum FieldContent {
    /// Nodes that a field matched.
    Nodes(Vec<Node>),
    /// The fields of a zone.
    Group(ContentFields),
    /// The fields of each section or zone.
    Groups(Vec<ContentFields>),
    /// The extracted parts of each list item.
    Items(Vec<ItemFields>),
    /// Text: the heading of a section, or a part of it.
    Text(String),
}

/// The extracted parts of one list item, by name.
pub type ItemFields = IndexMap<String, String>;

impl ContentFields {
    /// Sets a field.
    pub fn insert(&mut self, name: impl Into<String>, content: FieldContent) {
        self.fields.insert(name.into(), content);
    }

    /// Whether the field exists.
    pub fn has(&self, name: &str) -> bool {
        self.fields.contains_key(name)
    }

    /// Takes the nodes of a field; empty if it matched nothing.
    pub fn take(&mut self, name: &str) -> Vec<Node> {
        match self.fields.shift_remove(name) {
            Some(FieldContent::Nodes(nodes)) => nodes,
            _ => Vec::new(),
        }
    }

    /// Takes the nodes of several fields, in order.
    pub fn take_each(&mut self, names: &[&str]) -> Vec<Node> {
        names.iter().flat_map(|name| self.take(name)).collect()
    }

    /// The nodes of a field.
    pub fn nodes(&self, name: &str) -> &[Node] {
        match self.fields.get(name) {
            Some(FieldContent::Nodes(nodes)) => nodes,
            _ => &[],
        }
    }

    /// Takes the fields of a zone.
    pub fn take_group(&mut self, name: &str) -> ContentFields {
        match self.fields.shift_remove(name) {
            Some(FieldContent::Group(group)) => group,
            _ => ContentFields::default(),
        }
    }

    /// Takes the fields of all sections (`sections`) or of all zones (`zones`).
    pub fn take_groups(&mut self, name: &str) -> Vec<ContentFields> {
        match self.fields.shift_remove(name) {
            Some(FieldContent::Groups(groups)) => groups,
            _ => Vec::new(),
        }
    }

    /// Takes the extracted parts of a field's list items: `<field>Data`.
    pub fn take_items(&mut self, name: &str) -> Vec<ItemFields> {
        match self.fields.shift_remove(name) {
            Some(FieldContent::Items(items)) => items,
            _ => Vec::new(),
        }
    }

    /// A text: `$heading`, `$canonicalName`, `$canonicalSlug` or `$<part of the heading>`.
    pub fn text(&self, name: &str) -> Option<&str> {
        match self.fields.get(name) {
            Some(FieldContent::Text(text)) => Some(text),
            _ => None,
        }
    }

    /// Takes the nodes of all fields, in order.
    pub fn take_all(&mut self) -> Vec<Node> {
        let fields = std::mem::take(&mut self.fields).into_values();
        fields
            .flat_map(|content| if let FieldContent::Nodes(nodes) = content { nodes } else { Vec::new() })
            .collect()
    }
}

/// Sorts nodes into fields. A custom model keeps them unsorted, as the field `children`.
pub fn resolve(model: &ContentModel, nodes: Vec<Node>, arguments: &Arguments) -> ContentFields {
    match model {
        ContentModel::Sequence(fields) => field_sequence::resolve(fields, nodes),
        ContentModel::Sections(model) => sections::resolve(model, nodes, arguments),
        ContentModel::Delimited(model) => resolve_delimited(model, nodes, arguments),
        ContentModel::Custom(_) => {
            let mut resolved = ContentFields::default();
            resolved.insert("children", FieldContent::Nodes(nodes));
            resolved
        }
        ContentModel::When(when) => {
            let branch = when.branches.iter().find(|branch| is_met(&branch.condition, &nodes, arguments));
            resolve(branch.map_or(&when.default, |branch| &branch.model), nodes, arguments)
        }
    }
}

fn is_met(condition: &Condition, nodes: &[Node], arguments: &Arguments) -> bool {
    match condition {
        Condition::HasChild(pattern) => nodes.iter().any(|node| pattern.matches(node)),
        Condition::AttributeIn(name, values) => {
            let value =
                arguments.get(name).filter(|value| !value.is_null()).map(to_js_string).unwrap_or_default();
            values.contains(&value)
        }
        Condition::AttributeExists(name) => {
            arguments.get(name).is_some_and(|value| !value.is_null() && value.as_str() != Some(""))
        }
    }
}

fn resolve_delimited(model: &DelimitedModel, nodes: Vec<Node>, arguments: &Arguments) -> ContentFields {
    let mut groups = node_ext::split_at_thematic_breaks(nodes);
    let mut resolved = ContentFields::default();
    if let Some(zone) = &model.dynamic {
        let zones = groups.into_iter().map(|group| resolve(zone, group, arguments)).collect();
        resolved.insert("zones", FieldContent::Groups(zones));
        return resolved;
    }
    let is_single_group = groups.len() == 1;
    let primary = if is_single_group { model.zones.iter().position(|zone| zone.primary) } else { None };
    for (index, zone) in model.zones.iter().enumerate() {
        let group_index = match primary {
            Some(primary) if primary == index => Some(0),
            Some(_) => None,
            None => Some(index),
        };
        let group = group_index
            .and_then(|group_index| groups.get_mut(group_index))
            .map(std::mem::take)
            .unwrap_or_default();
        resolved
            .insert(zone.name.as_str(), FieldContent::Group(field_sequence::resolve(&zone.fields, group)));
    }
    resolved
}

impl NodePattern {
    /// Whether the node matches one of the alternatives.
    pub fn matches(&self, node: &Node) -> bool {
        self.any_of.iter().any(|alternative| alternative.matches(node))
    }

    /// Whether the pattern matches images only. Matched images are then unwrapped from their paragraph.
    pub(crate) fn is_image_only(&self) -> bool {
        self.any_of == [NodePatternAlternative::Image]
    }
}

impl NodePatternAlternative {
    fn matches(&self, node: &Node) -> bool {
        use quad_markdoc::NodeType;
        match self {
            NodePatternAlternative::Any => true,
            NodePatternAlternative::Paragraph => node.kind == NodeType::Paragraph,
            NodePatternAlternative::Heading(None) => node.kind == NodeType::Heading,
            NodePatternAlternative::Heading(level) => node_ext::heading_level(node) == *level,
            NodePatternAlternative::List(None) => node.kind == NodeType::List,
            NodePatternAlternative::List(ordered) => node_ext::list_is_ordered(node) == *ordered,
            NodePatternAlternative::Image => node.kind == NodeType::Image || node_ext::is_lone_image(node),
            NodePatternAlternative::Blockquote => node.kind == NodeType::Blockquote,
            NodePatternAlternative::Fence => node.kind == NodeType::Fence,
            NodePatternAlternative::ThematicBreak => node.kind == NodeType::Hr,
            NodePatternAlternative::Table => node.kind == NodeType::Table,
            NodePatternAlternative::Tag(None) => node.kind == NodeType::Tag,
            NodePatternAlternative::Tag(Some(name)) => node.is_tag(name),
        }
    }
}
