//! Assembly: places blocks and named parts in the order of the layout.
//!
//! The author's parts are kept by name. A layout takes each part once; parts that it does not name follow in their old
//! order.

use std::collections::{HashMap, HashSet};

use super::block;
use super::find::part_name;
use crate::catalogue::{Container, EngineConfig};
use crate::render_tree::{Attributes, Element, RenderNode};

/// The children of a rune, in their final order.
pub(super) fn assemble(
    config: &EngineConfig,
    modifier_values: &Attributes,
    children: Vec<RenderNode>,
) -> Vec<RenderNode> {
    let layout = &config.layout;
    let has_layout = layout.root.is_some() || !layout.containers.is_empty();
    if has_layout || !config.blocks.is_empty() {
        let assembly = Assembly { config, modifier_values };
        return match &layout.root {
            Some(order) => assembly.order_children(children, order, &mut vec!["root"]),
            None => assembly.order_containers(children),
        };
    }
    wrap_legacy(config, children)
}

/// Older configurations: elements before and after the content, and a wrapper.
fn wrap_legacy(config: &EngineConfig, children: Vec<RenderNode>) -> Vec<RenderNode> {
    let side = |before: bool| {
        let elements = config.structure.iter().filter(move |(_, element)| element.before == before);
        elements
            .map(|(name, element)| Element::new(&*element.tag).with_attr("data-name", name.as_str()).into())
    };
    let content = match &config.content_wrapper {
        Some(wrapper) => {
            vec![
                Element::new(&*wrapper.tag)
                    .with_attr("data-name", wrapper.name.as_str())
                    .with_children(children)
                    .into(),
            ]
        }
        None => children,
    };
    side(true).chain(content).chain(side(false)).collect()
}

struct Assembly<'a> {
    config: &'a EngineConfig,
    modifier_values: &'a Attributes,
}

/// Parts that are not yet placed.
struct NamedChildren {
    nodes: Vec<Option<RenderNode>>,
    /// Index of a name; of several parts with the name, the last.
    indices: HashMap<String, usize>,
    placed: HashSet<String>,
}

impl NamedChildren {
    fn new(nodes: Vec<RenderNode>) -> NamedChildren {
        let named_indices =
            nodes.iter().enumerate().filter_map(|(index, node)| Some((part_name(node)?.to_owned(), index)));
        let indices = named_indices.collect();
        NamedChildren { nodes: nodes.into_iter().map(Some).collect(), indices, placed: HashSet::new() }
    }

    fn take(&mut self, name: &str) -> Option<RenderNode> {
        let index = *self.indices.get(name)?;
        self.nodes.get_mut(index)?.take()
    }

    /// The parts that were not taken. A taken name is gone, even if several parts have it.
    fn remaining(self) -> impl Iterator<Item = RenderNode> {
        let placed = self.placed;
        let unplaced = self.nodes.into_iter().flatten();
        unplaced.filter(move |node| part_name(node).is_none_or(|name| !placed.contains(name)))
    }
}

impl<'a> Assembly<'a> {
    /// Parts in the given order, then the rest. `within` lists the enclosing containers, so that none contains itself.
    fn order_children(
        &self,
        children: Vec<RenderNode>,
        order: &'a [String],
        ancestors: &mut Vec<&'a str>,
    ) -> Vec<RenderNode> {
        let mut named_children = NamedChildren::new(children);
        let mut placed = self.lay_out(order, &mut named_children, ancestors);
        placed.extend(named_children.remaining());
        placed
    }

    fn lay_out(
        &self,
        order: &'a [String],
        named_children: &mut NamedChildren,
        ancestors: &mut Vec<&'a str>,
    ) -> Vec<RenderNode> {
        let mut placed_nodes = Vec::new();
        for name in order {
            if named_children.placed.contains(name) || ancestors.contains(&name.as_str()) {
                continue;
            }
            if let Some(node) = self.build_part(name, named_children, ancestors) {
                named_children.placed.insert(name.clone());
                placed_nodes.push(node);
            }
        }
        placed_nodes
    }

    /// The part for a name: a new container, an existing one, a block, or a part of the author.
    fn build_part(
        &self,
        name: &'a str,
        named_children: &mut NamedChildren,
        ancestors: &mut Vec<&'a str>,
    ) -> Option<RenderNode> {
        if let Some(container) = self.config.layout.containers.get(name) {
            if let Some(tag) = &container.tag {
                named_children.placed.insert(name.to_owned());
                ancestors.push(name);
                let children = self.lay_out(&container.children, named_children, ancestors);
                ancestors.pop();
                return Some(new_container(tag, name, container, children));
            }
            if let Some(RenderNode::Element(mut existing)) = named_children.take(name) {
                ancestors.push(name);
                existing.children = self.order_children(existing.children, &container.children, ancestors);
                ancestors.pop();
                return Some(RenderNode::Element(existing));
            }
        }
        block::build_block(self.config, name, self.modifier_values).or_else(|| named_children.take(name))
    }

    /// Without an order for the root, reorders each container in place.
    fn order_containers(&self, mut children: Vec<RenderNode>) -> Vec<RenderNode> {
        for (name, container) in &self.config.layout.containers {
            if let Some(existing) = super::find::find_named(&mut children, name) {
                let inner = std::mem::take(&mut existing.children);
                existing.children = self.order_children(inner, &container.children, &mut vec![name]);
            }
        }
        children
    }
}

fn new_container(tag: &str, name: &str, container: &Container, children: Vec<RenderNode>) -> RenderNode {
    let mut element = Element::new(tag).with_attr("data-name", name);
    for (attribute, value) in &container.attrs {
        element = element.with_attr(attribute.as_str(), value.as_str());
    }
    element.with_children(children).into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::html;

    fn assert_layout(config: &str, names: &[&str], expect: &str) {
        let config: EngineConfig = toml::from_str(config).unwrap();
        let children =
            names.iter().map(|name| Element::new("i").with_attr("data-name", *name).into()).collect();
        let assembled = assemble(&config, &Attributes::new(), children);
        let html = html::to_html(&Element::default().with_children(assembled).into());
        let short = html.replace(" data-name=", "=").replace(['\n', '"'], "").replace("  ", "");
        assert_eq!(short, expect);
    }

    #[test]
    fn layout_orders_parts_and_creates_containers() {
        let layout = "[layout]\nroot = ['b', 'box']\nbox = { tag = 'p', children = ['a', 'x'] }";
        assert_layout(layout, &["a", "b", "c"], "<i=b></i><p=box><i=a></i></p><i=c></i>");
    }

    #[test]
    fn layout_places_each_named_part_once() {
        assert_layout("[layout]\nroot = ['a', 'a']", &["a", "b", "a"], "<i=a></i><i=b></i>");
    }

    #[test]
    fn container_is_not_nested_in_itself() {
        let layout = "[layout]\nroot = ['p', 'q']\np = { tag = 'p', children = ['q'] }\n\
                      q = { tag = 'q', children = ['p', 'a'] }";
        assert_layout(layout, &["a"], "<p=p><q=q><i=a></i></q></p>");
    }

    #[test]
    fn container_keeps_inner_part_of_the_same_name() {
        let config: EngineConfig =
            toml::from_str("[layout]\nroot = ['p']\np = { children = ['p', 'a'] }").unwrap();
        let named = |name: &str| Element::new("i").with_attr("data-name", name);
        let outer = named("p").with_children([named("p").into(), named("a").into()]);
        let assembled = assemble(&config, &Attributes::new(), vec![outer.into()]);
        let inner = assembled.first().and_then(RenderNode::as_element).unwrap();
        assert_eq!(inner.children.iter().filter_map(part_name).collect::<Vec<_>>(), ["a", "p"]);
    }

    #[test]
    fn legacy_structure_wraps_the_content() {
        let config = "content-wrapper = { tag = 'div', ref = 'inner' }\n\
                      [structure]\nfoot = { tag = 'p' }\nhead = { tag = 'b', before = true }";
        assert_layout(config, &["a"], "<b=head></b><div=inner><i=a></i></div><p=foot></p>");
    }
}
