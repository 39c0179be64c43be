//! Assembly: blocks and named parts put where the layout wants them.
//!
//! The author's parts lie in a pool by name. A layout takes them out one by one, each once; what it does not name follows
//! behind in its old order.

use std::collections::{HashMap, HashSet};

use super::block;
use super::find::name_of;
use crate::catalogue::{Container, EngineConfig};
use crate::tree::{Attributes, Node, Tag};

/// The children of a rune, in their places.
pub(super) fn assemble(config: &EngineConfig, axes: &Attributes, children: Vec<Node>) -> Vec<Node> {
    let layout = &config.layout;
    let has_layout = layout.root.is_some() || !layout.containers.is_empty();
    if has_layout || !config.blocks.is_empty() {
        let assembly = Assembly { config, axes };
        return match &layout.root {
            Some(order) => assembly.put_in_order(children, order, &mut vec!["root"]),
            None => assembly.put_containers_in_order(children),
        };
    }
    surround(config, children)
}

/// Older configurations: elements before and after the content, and one around it.
fn surround(config: &EngineConfig, children: Vec<Node>) -> Vec<Node> {
    let side = |before: bool| {
        let elements = config.structure.iter().filter(move |(_, element)| element.before == before);
        elements.map(|(name, element)| Tag::new(&*element.tag).with("data-name", name.as_str()).into())
    };
    let content = match &config.content_wrapper {
        Some(wrapper) => {
            vec![Tag::new(&*wrapper.tag).with("data-name", wrapper.name.as_str()).holding(children).into()]
        }
        None => children,
    };
    side(true).chain(content).chain(side(false)).collect()
}

struct Assembly<'a> {
    config: &'a EngineConfig,
    axes: &'a Attributes,
}

/// Parts that are still to be placed.
struct Pool {
    nodes: Vec<Option<Node>>,
    /// Where a name lies; of several, the last.
    places: HashMap<String, usize>,
    placed: HashSet<String>,
}

impl Pool {
    fn new(nodes: Vec<Node>) -> Pool {
        let named = nodes.iter().enumerate().filter_map(|(at, node)| Some((name_of(node)?.to_owned(), at)));
        let places = named.collect();
        Pool { nodes: nodes.into_iter().map(Some).collect(), places, placed: HashSet::new() }
    }

    fn take(&mut self, name: &str) -> Option<Node> {
        let at = *self.places.get(name)?;
        self.nodes.get_mut(at)?.take()
    }

    /// What no one has asked for. A name that was placed is gone, however many parts bore it.
    fn rest(self) -> impl Iterator<Item = Node> {
        let placed = self.placed;
        let left = self.nodes.into_iter().flatten();
        left.filter(move |node| name_of(node).is_none_or(|name| !placed.contains(name)))
    }
}

impl<'a> Assembly<'a> {
    /// Parts in this order, then the rest. `within` are the containers around, so that none ends up in itself.
    fn put_in_order(&self, children: Vec<Node>, order: &'a [String], within: &mut Vec<&'a str>) -> Vec<Node> {
        let mut pool = Pool::new(children);
        let mut placed = self.place(order, &mut pool, within);
        placed.extend(pool.rest());
        placed
    }

    fn place(&self, order: &'a [String], pool: &mut Pool, within: &mut Vec<&'a str>) -> Vec<Node> {
        let mut out = Vec::new();
        for name in order {
            if pool.placed.contains(name) || within.contains(&name.as_str()) {
                continue;
            }
            if let Some(node) = self.part(name, pool, within) {
                pool.placed.insert(name.clone());
                out.push(node);
            }
        }
        out
    }

    /// What a name stands for: a new container, an existing one, a block, or a part of the author's.
    fn part(&self, name: &'a str, pool: &mut Pool, within: &mut Vec<&'a str>) -> Option<Node> {
        if let Some(container) = self.config.layout.containers.get(name) {
            if let Some(tag) = &container.tag {
                pool.placed.insert(name.to_owned());
                within.push(name);
                let children = self.place(&container.children, pool, within);
                within.pop();
                return Some(created(tag, name, container, children));
            }
            if let Some(Node::Tag(mut existing)) = pool.take(name) {
                within.push(name);
                existing.children = self.put_in_order(existing.children, &container.children, within);
                within.pop();
                return Some(Node::Tag(existing));
            }
        }
        block::project(self.config, name, self.axes).or_else(|| pool.take(name))
    }

    /// Without an order for the root, each container is put in order where it stands.
    fn put_containers_in_order(&self, mut children: Vec<Node>) -> Vec<Node> {
        for (name, container) in &self.config.layout.containers {
            if let Some(existing) = super::find::named(&mut children, name) {
                let inner = std::mem::take(&mut existing.children);
                existing.children = self.put_in_order(inner, &container.children, &mut vec![name]);
            }
        }
        children
    }
}

fn created(tag: &str, name: &str, container: &Container, children: Vec<Node>) -> Node {
    let mut created = Tag::new(tag).with("data-name", name);
    for (attribute, value) in &container.attrs {
        created = created.with(attribute.as_str(), value.as_str());
    }
    created.holding(children).into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::html;

    fn check(config: &str, names: &[&str], expect: &str) {
        let config: EngineConfig = toml::from_str(config).unwrap();
        let children = names.iter().map(|name| Tag::new("i").with("data-name", *name).into()).collect();
        let assembled = assemble(&config, &Attributes::new(), children);
        let html = html::print(&Tag::default().holding(assembled).into());
        let short = html.replace(" data-name=", "=").replace(['\n', '"'], "").replace("  ", "");
        assert_eq!(short, expect);
    }

    #[test]
    fn parts_stand_where_the_layout_wants_them() {
        let layout = "[layout]\nroot = ['b', 'box']\nbox = { tag = 'p', children = ['a', 'x'] }";
        check(layout, &["a", "b", "c"], "<i=b></i><p=box><i=a></i></p><i=c></i>");
    }

    #[test]
    fn a_name_is_placed_once_and_takes_its_doubles_along() {
        check("[layout]\nroot = ['a', 'a']", &["a", "b", "a"], "<i=a></i><i=b></i>");
    }

    #[test]
    fn a_container_is_never_within_itself() {
        let layout = "[layout]\nroot = ['p', 'q']\np = { tag = 'p', children = ['q'] }\n\
                      q = { tag = 'q', children = ['p', 'a'] }";
        check(layout, &["a"], "<p=p><q=q><i=a></i></q></p>");
    }

    #[test]
    fn a_container_leaves_its_namesake_within_alone() {
        let config: EngineConfig =
            toml::from_str("[layout]\nroot = ['p']\np = { children = ['p', 'a'] }").unwrap();
        let named = |name: &str| Tag::new("i").with("data-name", name);
        let outer = named("p").holding([named("p").into(), named("a").into()]);
        let assembled = assemble(&config, &Attributes::new(), vec![outer.into()]);
        let inner = assembled.first().and_then(Node::as_tag).unwrap();
        assert_eq!(inner.children.iter().filter_map(name_of).collect::<Vec<_>>(), ["a", "p"]);
    }

    #[test]
    fn older_configurations_surround_the_content() {
        let config = "content-wrapper = { tag = 'div', ref = 'inner' }\n\
                      [structure]\nfoot = { tag = 'p' }\nhead = { tag = 'b', before = true }";
        check(config, &["a"], "<b=head></b><div=inner><i=a></i></div><p=foot></p>");
    }
}
