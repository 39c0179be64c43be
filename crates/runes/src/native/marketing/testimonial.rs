//! `testimonial`. Native: the content of each paragraph decides between quote, author and portrait.

use serde_json::Value;

use crate::expand::header::is_element;
use crate::expand::media::is_media;
use crate::expand::render_context::Result;
use crate::expand::root_builder::{meta_element, new_element, set_name, set_rdfa_property};
use crate::expand::text::bare_text;
use crate::expand::{RenderContext, RootBuilder, RuneUse};
use crate::js_value::JsTrim;
use crate::render_tree::{Element, RenderNode};

/// The parts of a testimonial.
#[derive(Default)]
struct TestimonialParts {
    quote: Option<RenderNode>,
    author: Option<Author>,
    avatar: Option<RenderNode>,
}

struct Author {
    name: String,
    role: String,
}

pub(super) fn transform(rune_use: RuneUse<'_>, cx: &mut RenderContext<'_>) -> Result<RenderNode> {
    let RuneUse { arguments, mut content, .. } = rune_use;
    let TestimonialParts { mut quote, author, mut avatar } =
        read_parts(cx.render_nodes(content.take("body"))?);
    if let Some(quote) = &mut quote {
        set_name(quote, "quote");
        set_rdfa_property(quote, "reviewBody");
    }
    if let Some(avatar) = &mut avatar {
        set_name(avatar, "avatar");
    }
    let rating = arguments.get("rating").cloned();
    let mut root = RootBuilder::new("testimonial", "article")
        .type_of("Review")
        .value_if("rating", rating.clone())
        .child_if(quote)
        .children(author.iter().flat_map(Author::name_and_role))
        // As in npm: the variant is not passed to the engine, but its `meta` stays.
        .child(meta_element(arguments.non_null_or("variant", "card")))
        .child_if(avatar)
        .child_if(author.map(|author| author.rdfa_element()));
    if let Some(rating) = rating {
        root = root.child(rdfa_entity("Rating", "reviewRating", [("ratingValue", rating)]));
    }
    Ok(root.build())
}

/// The first block quote is the quote. The first bold text of a paragraph is the author, the last image after it the
/// portrait.
fn read_parts(nodes: Vec<RenderNode>) -> TestimonialParts {
    let mut parts = TestimonialParts::default();
    for node in nodes {
        if is_element(&node, "blockquote") && parts.quote.is_none() {
            parts.quote = Some(node);
        } else if is_element(&node, "p") && parts.author.is_none() {
            parts.author = node.as_element().and_then(|tag| Author::parse(&tag.children));
        } else if is_media(&node) {
            parts.avatar = Some(node);
        } else if let RenderNode::Element(tag) = node
            && tag.is("p")
        {
            parts.avatar = tag.children.into_iter().find(is_media).or(parts.avatar);
        }
    }
    parts
}

impl Author {
    fn parse(nodes: &[RenderNode]) -> Option<Author> {
        let index = nodes.iter().position(|node| is_element(node, "strong"))?;
        let (_, rest) = nodes.split_at_checked(index + 1)?;
        let name = nodes.get(index)?.as_element().map(|tag| bare_text(&tag.children))?;
        let role = bare_text(rest);
        let role = role.js_trim_start();
        let role = role.strip_prefix(['-', '–', '—']).unwrap_or(role).js_trim().to_owned();
        Some(Author { name, role })
    }

    fn name_and_role(&self) -> Vec<RenderNode> {
        let line = |part: &str, text: &str| {
            let mut line = new_element("span", [RenderNode::from(text)]);
            set_name(&mut line, part);
            line
        };
        let role = (!self.role.is_empty()).then(|| line("author-role", &self.role));
        [line("author-name", &self.name)].into_iter().chain(role).collect()
    }

    fn rdfa_element(self) -> RenderNode {
        let role = (!self.role.is_empty()).then(|| ("jobTitle", Value::from(self.role)));
        rdfa_entity("Person", "author", [("name", Value::from(self.name))].into_iter().chain(role))
    }
}

/// A nested RDFa entity with its properties.
fn rdfa_entity(
    type_of: &str,
    rdfa_property: &str,
    properties: impl IntoIterator<Item = (&'static str, Value)>,
) -> RenderNode {
    let metas = properties.into_iter().map(|(property, content)| {
        Element::new("meta").with_attr("property", property).with_attr("content", content)
    });
    Element::new("span")
        .with_attr("typeof", type_of)
        .with_attr("property", rdfa_property)
        .with_children(metas.map(RenderNode::from))
        .into()
}
