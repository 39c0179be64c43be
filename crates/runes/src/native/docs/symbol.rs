//! API symbols, with groups and members.
//!
//! Native: the kind of symbol decides whether headings split it. A class, an interface or a module has groups with
//! members; both are named by their first heading.

use quad_markdoc::{AttributeMap, Node as MarkdocNode};

use crate::catalogue::ContentModel;
use crate::content::{self, headings, node_ext};
use crate::expand::header::{SectionHeader, is_heading};
use crate::expand::media::unwrap_paragraphs;
use crate::expand::render_context::Result;
use crate::expand::root_builder::{RootBuilder, named_element};
use crate::expand::{RenderContext, RuneUse};
use crate::render_tree::RenderNode;

/// Level of the headings that start a group, and of those that start a member.
const GROUP_LEVEL: u8 = 3;
const MEMBER_LEVEL: u8 = 4;

/// The symbol. Its groups are in its body.
pub(super) fn transform(mut rune_use: RuneUse<'_>, cx: &mut RenderContext<'_>) -> Result<RenderNode> {
    if let (true, Some(ContentModel::When(model))) =
        (rune_use.content.has("children"), &rune_use.rune.content)
    {
        let nodes = wrap_by_heading("symbol-group", GROUP_LEVEL, rune_use.content.take("children"));
        rune_use.content = content::resolve(&model.default, nodes, &rune_use.arguments);
    }
    let mut header = unwrap_paragraphs(cx.render_nodes(rune_use.content.take("header"))?);
    SectionHeader::set_part_names(&mut header);
    let body = cx.render_nodes(rune_use.content.take("body"))?;
    let mut root = RootBuilder::new("symbol", "article").data_field("contentSection").type_of("TechArticle");
    for name in ["kind", "lang", "since", "deprecated", "source"] {
        root = root.value_if(name, rune_use.arguments.get(name).cloned());
    }
    Ok(root.children(header).child(named_element("div", "body", body)).build())
}

/// A group of members.
pub(super) fn transform_group(mut rune_use: RuneUse<'_>, cx: &mut RenderContext<'_>) -> Result<RenderNode> {
    let nodes = wrap_by_heading("symbol-member", MEMBER_LEVEL, rune_use.content.take("children"));
    Ok(titled_section("symbol-group", "h3", "label", cx.render_nodes(nodes)?))
}

/// One member.
pub(super) fn transform_member(mut rune_use: RuneUse<'_>, cx: &mut RenderContext<'_>) -> Result<RenderNode> {
    Ok(titled_section("symbol-member", "h4", "name", cx.render_nodes(rune_use.content.take("body"))?))
}

/// Converts each heading of a level and the nodes below it to a tag; other nodes stay unchanged.
fn wrap_by_heading(rune: &str, level: u8, nodes: Vec<MarkdocNode>) -> Vec<MarkdocNode> {
    let grouped = match headings::group_by_heading_or_list(nodes, Some(level)) {
        Ok(grouped) => grouped,
        Err(nodes) => return nodes,
    };
    let tags = grouped.groups.into_iter().map(|(heading, mut body)| {
        body.insert(0, heading);
        node_ext::new_tag(rune, AttributeMap::new(), body)
    });
    grouped.before.into_iter().chain(tags).collect()
}

/// A section with a title. As in npm, the first node counts as the heading even if it is not one.
fn titled_section(rune: &str, element: &str, name: &str, nodes: Vec<RenderNode>) -> RenderNode {
    let heading = nodes.iter().find(|node| is_heading(node)).and_then(RenderNode::as_element);
    let title = heading.map(|heading| heading.children.clone());
    let body = nodes.into_iter().skip(usize::from(title.is_some()));
    let title = named_element(element, name, title.unwrap_or_default());
    RootBuilder::new(rune, "section").child(title).child(named_element("div", "body", body)).build()
}
