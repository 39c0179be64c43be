//! The header of a section: finds eyebrow, headline and blurb among the nodes before the content.
//!
//! A paragraph above the first heading is the eyebrow. Without one, the first of two headings is. The heading after it is
//! the headline, the paragraph after that the blurb. Without a heading, the first paragraph is the blurb.

use crate::render_tree::RenderNode;

/// Whether a node is one of the elements `h1` to `h6`.
pub fn is_heading(node: &RenderNode) -> bool {
    let name = node.as_element().and_then(|tag| tag.name.as_deref()).unwrap_or_default();
    matches!(name, "h1" | "h2" | "h3" | "h4" | "h5" | "h6")
}

/// Whether a node is an element of this name.
pub fn is_element(node: &RenderNode, name: &str) -> bool {
    node.as_element().is_some_and(|tag| tag.is(name))
}

/// The indices of the header's parts among nodes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SectionHeader {
    /// The line above the headline.
    pub eyebrow: Option<usize>,
    /// The headline.
    pub headline: Option<usize>,
    /// The first image.
    pub image: Option<usize>,
    /// The paragraph below the headline.
    pub blurb: Option<usize>,
}

impl SectionHeader {
    /// Finds the parts among nodes.
    pub fn find(nodes: &[RenderNode]) -> SectionHeader {
        let is_paragraph = |node: &RenderNode| is_element(node, "p");
        let find_after = |index: usize, test: &dyn Fn(&RenderNode) -> bool| {
            nodes.iter().enumerate().skip(index + 1).find(|(_, node)| test(node)).map(|(index, _)| index)
        };
        let image = nodes.iter().position(|node| is_element(node, "img"));
        let Some(first) = nodes.iter().position(is_heading) else {
            return SectionHeader {
                image,
                blurb: nodes.iter().position(is_paragraph),
                ..SectionHeader::default()
            };
        };
        let above = nodes.iter().take(first).position(is_paragraph);
        let (eyebrow, headline) = match (above, find_after(first, &is_heading)) {
            (Some(above), _) => (Some(above), first),
            (None, Some(second)) => (Some(first), second),
            (None, None) => (None, first),
        };
        SectionHeader { eyebrow, headline: Some(headline), image, blurb: find_after(headline, &is_paragraph) }
    }

    /// Finds the parts and sets their `data-name`.
    pub fn set_part_names(nodes: &mut [RenderNode]) -> SectionHeader {
        let header = SectionHeader::find(nodes);
        let parts = [
            ("eyebrow", header.eyebrow),
            ("headline", header.headline),
            ("image", header.image),
            ("blurb", header.blurb),
        ];
        for (name, index) in parts {
            if let Some(node) = index.and_then(|index| nodes.get_mut(index)) {
                node.set_attr("data-name", name);
            }
        }
        header
    }

    /// Marks headline and blurb as RDFa name and description.
    pub fn set_rdfa_properties(&self, nodes: &mut [RenderNode]) {
        for (property, index) in [("name", self.headline), ("description", self.blurb)] {
            if let Some(node) = index.and_then(|index| nodes.get_mut(index)) {
                node.set_attr("property", property);
            }
        }
    }
}

/// The `header` element around nodes, with named parts; `None` without nodes.
pub fn header_element(mut nodes: Vec<RenderNode>) -> Option<RenderNode> {
    SectionHeader::set_part_names(&mut nodes);
    (!nodes.is_empty()).then(|| super::root_builder::new_element("header", nodes))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::render_tree::Element;

    #[test]
    fn header_parts_are_found_by_order() {
        let find = |names: &str| {
            let nodes: Vec<RenderNode> = names.split(' ').map(|name| Element::new(name).into()).collect();
            let SectionHeader { eyebrow, headline, blurb, .. } = SectionHeader::find(&nodes);
            (eyebrow, headline, blurb)
        };
        assert_eq!(find("h2 p p"), (None, Some(0), Some(1)));
        assert_eq!(find("p h2 p"), (Some(0), Some(1), Some(2)));
        assert_eq!(find("h3 h2 p"), (Some(0), Some(1), Some(2)));
        assert_eq!(find("p p"), (None, None, Some(0)));
        assert_eq!(find("h3 p h2"), (Some(0), Some(2), None));
    }
}
