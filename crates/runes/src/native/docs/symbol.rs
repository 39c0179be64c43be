//! Symbols of a programming interface, with their groups and members.
//!
//! Native because the kind of the symbol says whether headings part it: a class, an interface or a module has groups, each with
//! members, and both are named by the heading that opens them.

use quad_markdoc::{Map, Node as Parsed};

use crate::catalogue::ContentModel;
use crate::content::{self, ast, headings};
use crate::schema::component::{Component, part};
use crate::schema::context::Result;
use crate::schema::header::{Header, is_heading};
use crate::schema::media::unwrap_paragraphs;
use crate::schema::{Call, Context};
use crate::tree::Node;

/// Level of the headings that open a group, and of those that open a member.
const GROUP_LEVEL: u8 = 3;
const MEMBER_LEVEL: u8 = 4;

/// The symbol itself. Its groups stand in its body.
pub(super) fn transform(mut call: Call<'_>, out: &mut Context<'_>) -> Result<Node> {
    if let (true, Some(ContentModel::When(model))) = (call.content.has("children"), &call.rune.content) {
        let nodes = opened_by_headings("symbol-group", GROUP_LEVEL, call.content.take("children"));
        call.content = content::resolve(&model.default, nodes, &call.arguments);
    }
    let mut header = unwrap_paragraphs(out.nodes(call.content.take("header"))?);
    Header::name(&mut header);
    let body = out.nodes(call.content.take("body"))?;
    let mut root = Component::new("symbol", "article").property("contentSection").type_of("TechArticle");
    for name in ["kind", "lang", "since", "deprecated", "source"] {
        root = root.value_if(name, call.arguments.get(name).cloned());
    }
    Ok(root.children(header).child(part("div", "body", body)).build())
}

/// A group of members.
pub(super) fn group(mut call: Call<'_>, out: &mut Context<'_>) -> Result<Node> {
    let nodes = opened_by_headings("symbol-member", MEMBER_LEVEL, call.content.take("children"));
    Ok(titled("symbol-group", "h3", "label", out.nodes(nodes)?))
}

/// One member.
pub(super) fn member(mut call: Call<'_>, out: &mut Context<'_>) -> Result<Node> {
    Ok(titled("symbol-member", "h4", "name", out.nodes(call.content.take("body"))?))
}

/// Each heading of a level with what stands below it, as a tag; everything else as it is.
fn opened_by_headings(rune: &str, level: u8, nodes: Vec<Parsed>) -> Vec<Parsed> {
    let grouped = match headings::group(nodes, Some(level)) {
        Ok(grouped) => grouped,
        Err(nodes) => return nodes,
    };
    let tags = grouped.groups.into_iter().map(|(heading, mut body)| {
        body.insert(0, heading);
        ast::tag(rune, Map::new(), body)
    });
    grouped.before.into_iter().chain(tags).collect()
}

/// A section whose title is the first heading in it. The first node is taken for that heading, whether it is or not.
fn titled(rune: &str, element: &str, name: &str, nodes: Vec<Node>) -> Node {
    let heading = nodes.iter().find(|node| is_heading(node)).and_then(Node::as_tag);
    let title = heading.map(|heading| heading.children.clone());
    let body = nodes.into_iter().skip(usize::from(title.is_some()));
    let title = part(element, name, title.unwrap_or_default());
    Component::new(rune, "section").child(title).child(part("div", "body", body)).build()
}
