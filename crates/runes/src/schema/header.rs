//! The header of a page section: which of the nodes before the content is eyebrow, headline and blurb.
//!
//! A paragraph above the first heading is the eyebrow; without one, the first of two headings is. The heading after it is the
//! headline, the paragraph after that the blurb. Without a heading, the first paragraph is the blurb.

use crate::tree::Node;

/// Whether a node is one of the elements `h1` to `h6`.
pub fn is_heading(node: &Node) -> bool {
    let name = node.as_tag().and_then(|tag| tag.name.as_deref()).unwrap_or_default();
    matches!(name, "h1" | "h2" | "h3" | "h4" | "h5" | "h6")
}

/// Whether a node is an element of this name.
pub fn is_element(node: &Node, name: &str) -> bool {
    node.as_tag().is_some_and(|tag| tag.is(name))
}

/// Where the parts of a header are among nodes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Header {
    /// The line above the headline.
    pub eyebrow: Option<usize>,
    /// The headline.
    pub headline: Option<usize>,
    /// The first picture.
    pub image: Option<usize>,
    /// The paragraph below the headline.
    pub blurb: Option<usize>,
}

impl Header {
    /// Finds the parts.
    pub fn find(nodes: &[Node]) -> Header {
        let is_paragraph = |node: &Node| is_element(node, "p");
        let after = |at: usize, test: &dyn Fn(&Node) -> bool| {
            nodes.iter().enumerate().skip(at + 1).find(|(_, node)| test(node)).map(|(at, _)| at)
        };
        let image = nodes.iter().position(|node| is_element(node, "img"));
        let Some(first) = nodes.iter().position(is_heading) else {
            return Header { image, blurb: nodes.iter().position(is_paragraph), ..Header::default() };
        };
        let above = nodes.iter().take(first).position(is_paragraph);
        let (eyebrow, headline) = match (above, after(first, &is_heading)) {
            (Some(above), _) => (Some(above), first),
            (None, Some(second)) => (Some(first), second),
            (None, None) => (None, first),
        };
        Header { eyebrow, headline: Some(headline), image, blurb: after(headline, &is_paragraph) }
    }

    /// Names the parts (`data-name`) where they stand.
    pub fn name(nodes: &mut [Node]) -> Header {
        let header = Header::find(nodes);
        let parts = [
            ("eyebrow", header.eyebrow),
            ("headline", header.headline),
            ("image", header.image),
            ("blurb", header.blurb),
        ];
        for (name, at) in parts {
            if let Some(node) = at.and_then(|at| nodes.get_mut(at)) {
                node.set("data-name", name);
            }
        }
        header
    }

    /// Marks headline and blurb as name and description of a thing in the structured data.
    pub fn describe(&self, nodes: &mut [Node]) {
        for (property, at) in [("name", self.headline), ("description", self.blurb)] {
            if let Some(node) = at.and_then(|at| nodes.get_mut(at)) {
                node.set("property", property);
            }
        }
    }
}

/// The `header` element of a section around nodes, with its parts named; nothing where there are no nodes.
pub fn header(mut nodes: Vec<Node>) -> Option<Node> {
    Header::name(&mut nodes);
    (!nodes.is_empty()).then(|| super::component::element("header", nodes))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::Tag;

    #[test]
    fn parts_by_their_order() {
        let find = |names: &str| {
            let nodes: Vec<Node> = names.split(' ').map(|name| Tag::new(name).into()).collect();
            let Header { eyebrow, headline, blurb, .. } = Header::find(&nodes);
            (eyebrow, headline, blurb)
        };
        assert_eq!(find("h2 p p"), (None, Some(0), Some(1)));
        assert_eq!(find("p h2 p"), (Some(0), Some(1), Some(2)));
        assert_eq!(find("h3 h2 p"), (Some(0), Some(1), Some(2)));
        assert_eq!(find("p p"), (None, None, Some(0)));
        assert_eq!(find("h3 p h2"), (Some(0), Some(2), None));
    }
}
