//! The trie: from path segments to a route, in one pass.
//!
//! All templates of a scheme share one tree with one edge per segment. A walk keeps the set of nodes
//! that the path can be at, the most specific first, and advances all of them with each segment. So
//! there is no backtracking, and a walk visits only templates that match the URI so far, usually one.

use std::collections::HashMap;

use crate::path::UriPath;
use crate::route::RouteId;
use crate::template::Segment;

/// The templates of one scheme.
#[derive(Debug)]
pub(crate) struct Trie {
    /// All nodes; the first is the root.
    nodes: Vec<Node>,
    /// The number of segments of the longest template.
    depth: usize,
}

type NodeIndex = usize;

const ROOT: NodeIndex = 0;

#[derive(Debug, Default)]
struct Node {
    literals: HashMap<String, NodeIndex>,
    /// Variables with literal text around them, those with more literal text first.
    affixed: Vec<AffixedSegment>,
    variable: Option<NodeIndex>,
    /// The route of a path that ends at this node.
    end: Option<RouteId>,
    /// The `{+x}` route of a path that continues from this node.
    tail: Option<RouteId>,
}

#[derive(Debug)]
struct AffixedSegment {
    prefix: String,
    suffix: String,
    next: NodeIndex,
}

impl Trie {
    pub(crate) fn new() -> Trie {
        Trie { nodes: vec![Node::default()], depth: 0 }
    }

    /// The number of segments that a walk can use.
    pub(crate) fn depth(&self) -> usize {
        self.depth
    }

    /// Adds a route, or returns the route that matches the same paths.
    pub(crate) fn insert(&mut self, segments: &[Segment], route: RouteId) -> Result<(), RouteId> {
        let mut node = ROOT;
        for segment in segments {
            match segment {
                Segment::Literal(literal) => node = self.literal_child(node, literal),
                Segment::Variable { prefix, suffix, .. } if prefix.is_empty() && suffix.is_empty() => {
                    node = self.variable_child(node);
                }
                Segment::Variable { prefix, suffix, .. } => node = self.affixed_child(node, prefix, suffix),
                // The parser lets no segment follow these two.
                Segment::Optional { .. } => {
                    let child = self.variable_child(node);
                    if let Some(existing) = self.nodes[node].end.or(self.nodes[child].end) {
                        return Err(existing);
                    }
                    self.nodes[node].end = Some(route);
                    node = child;
                }
                Segment::Tail { .. } => {
                    if let Some(existing) = self.nodes[node].tail {
                        return Err(existing);
                    }
                    self.nodes[node].tail = Some(route);
                    self.depth = self.depth.max(segments.len());
                    return Ok(());
                }
            }
        }
        if let Some(existing) = self.nodes[node].end {
            return Err(existing);
        }
        self.nodes[node].end = Some(route);
        self.depth = self.depth.max(segments.len());
        Ok(())
    }

    fn literal_child(&mut self, node: NodeIndex, literal: &str) -> NodeIndex {
        if let Some(&child) = self.nodes[node].literals.get(literal) {
            return child;
        }
        let child = self.new_node();
        self.nodes[node].literals.insert(literal.to_owned(), child);
        child
    }

    fn variable_child(&mut self, node: NodeIndex) -> NodeIndex {
        if let Some(child) = self.nodes[node].variable {
            return child;
        }
        let child = self.new_node();
        self.nodes[node].variable = Some(child);
        child
    }

    fn affixed_child(&mut self, node: NodeIndex, prefix: &str, suffix: &str) -> NodeIndex {
        let affixed = &self.nodes[node].affixed;
        if let Some(existing) =
            affixed.iter().find(|candidate| candidate.prefix == prefix && candidate.suffix == suffix)
        {
            return existing.next;
        }
        let next = self.new_node();
        let affixed = &mut self.nodes[node].affixed;
        affixed.push(AffixedSegment { prefix: prefix.to_owned(), suffix: suffix.to_owned(), next });
        // More literal text first, then the longer prefix: the order of insertion must not matter.
        affixed.sort_by_key(|segment| {
            let literal_bytes = segment.prefix.len() + segment.suffix.len();
            (std::cmp::Reverse(literal_bytes), std::cmp::Reverse(segment.prefix.len()))
        });
        next
    }

    fn new_node(&mut self) -> NodeIndex {
        self.nodes.push(Node::default());
        self.nodes.len() - 1
    }

    /// The route of a path: a match of the whole path, with the earliest literal segments; else the
    /// tail that begins deepest.
    pub(crate) fn walk(&self, path: &UriPath<'_>) -> Option<RouteId> {
        let mut current = vec![ROOT];
        let mut tail = self.nodes[ROOT].tail;
        for (index, segment) in path.segments.iter().enumerate() {
            let mut next = Vec::with_capacity(current.len());
            for &node in &current {
                self.nodes[node].push_children(&segment.text, &mut next);
            }
            if next.is_empty() {
                return tail;
            }
            current = next;
            let more_follows = index + 1 < path.segment_count;
            if more_follows && let Some(deeper) = current.iter().find_map(|&node| self.nodes[node].tail) {
                tail = Some(deeper);
            }
        }
        if path.segment_count > path.segments.len() {
            return tail;
        }
        current.iter().find_map(|&node| self.nodes[node].end).or(tail)
    }
}

impl Node {
    /// Appends the children that match `segment`, the most specific first. None matches an empty segment.
    fn push_children(&self, segment: &str, next: &mut Vec<NodeIndex>) {
        if segment.is_empty() {
            return;
        }
        next.extend(self.literals.get(segment));
        next.extend(
            self.affixed.iter().filter(|pattern| pattern.accepts(segment)).map(|pattern| pattern.next),
        );
        next.extend(self.variable);
    }
}

impl AffixedSegment {
    fn accepts(&self, segment: &str) -> bool {
        strip_affixes(segment, &self.prefix, &self.suffix).is_some()
    }
}

/// The text between a prefix and a suffix, if it is not empty.
pub(crate) fn strip_affixes<'s>(segment: &'s str, prefix: &str, suffix: &str) -> Option<&'s str> {
    segment.strip_prefix(prefix)?.strip_suffix(suffix).filter(|value| !value.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::template::Template;

    fn check(templates: &[&str], path: &str, expect: Option<&str>) {
        let mut trie = Trie::new();
        for (index, source) in templates.iter().enumerate() {
            let template = Template::parse(&format!("a://{source}")).unwrap();
            trie.insert(template.segments(), RouteId::new(index)).unwrap();
        }
        let path = UriPath::split(path, 0, trie.depth()).unwrap();
        assert_eq!(trie.walk(&path).map(|route| templates[route.index()]), expect);
    }

    #[test]
    fn literal_wins_over_affix_then_variable_then_tail() {
        let templates = ["x/{y}", "x/v{y}", "x/v{y}.json", "x/vz", "x/{+y}"];
        check(&templates, "x/vz", Some("x/vz"));
        check(&templates, "x/v1.json", Some("x/v{y}.json"));
        check(&templates, "x/v1", Some("x/v{y}"));
        check(&templates, "x/v", Some("x/{y}"));
        check(&templates, "x/b/c", Some("x/{+y}"));
        check(&templates, "x//b", Some("x/{+y}"));
        check(&templates, "x", None);
    }

    #[test]
    fn dead_end_literal_falls_back_to_variable() {
        let templates = ["x/b/d", "x/{y}/c", "x/{y}/{z}/e"];
        check(&templates, "x/b/d", Some("x/b/d"));
        check(&templates, "x/b/c", Some("x/{y}/c"));
        check(&templates, "x/b/d/e", Some("x/{y}/{z}/e"));
        check(&templates, "x/b", None);
        check(&templates, "x/b/d/e/f", None);
    }

    #[test]
    fn the_deepest_tail_wins() {
        let templates = ["wiki/{+slug}", "wiki/pages/{+slug}"];
        check(&templates, "wiki/pages/a/b/c/d", Some("wiki/pages/{+slug}"));
        check(&templates, "wiki/pages", Some("wiki/{+slug}"));
        check(&templates, "wiki/page/a", Some("wiki/{+slug}"));
    }

    #[test]
    fn optional_segment_matches_with_and_without_value() {
        let templates = ["x{/y}", "x/{y}/z"];
        check(&templates, "x", Some("x{/y}"));
        check(&templates, "x/1", Some("x{/y}"));
        check(&templates, "x/1/z", Some("x/{y}/z"));
        check(&templates, "x/", None);
    }

    #[test]
    fn insert_rejects_template_of_same_shape() {
        for (first, second) in [("x/{y}", "x/{z}"), ("x", "x{/y}"), ("x/{y}", "x{/y}"), ("{+y}", "{+z}")] {
            let mut trie = Trie::new();
            let segments =
                |source: &str| Template::parse(&format!("a://{source}")).unwrap().segments().to_vec();
            trie.insert(&segments(first), RouteId::new(0)).unwrap();
            assert_eq!(trie.insert(&segments(second), RouteId::new(1)), Err(RouteId::new(0)), "{second}");
        }
    }
}
