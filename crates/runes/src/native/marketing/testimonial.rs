//! `testimonial`: native because quote, author and portrait are told apart by what each paragraph holds.

use serde_json::Value;

use crate::schema::component::{element, meta, name, property};
use crate::schema::context::Result;
use crate::schema::header::is_element;
use crate::schema::media::is_media;
use crate::schema::text::bare_text;
use crate::schema::{Call, Component, Context};
use crate::tree::{Node, Tag};

/// Who says something, and what.
#[derive(Default)]
struct Voice {
    quote: Option<Node>,
    author: Option<Author>,
    avatar: Option<Node>,
}

struct Author {
    name: String,
    role: String,
}

pub(super) fn transform(call: Call<'_>, context: &mut Context<'_>) -> Result<Node> {
    let Call { arguments, mut content, .. } = call;
    let Voice { mut quote, author, mut avatar } = read(context.nodes(content.take("body"))?);
    if let Some(quote) = &mut quote {
        name(quote, "quote");
        property(quote, "reviewBody");
    }
    if let Some(avatar) = &mut avatar {
        name(avatar, "avatar");
    }
    let rating = arguments.get("rating").cloned();
    let mut root = Component::new("testimonial", "article")
        .type_of("Review")
        .value_if("rating", rating.clone())
        .child_if(quote)
        .children(author.iter().flat_map(Author::lines))
        // The engine is not told of the variant; the element is left behind, as in the original.
        .child(meta(arguments.value_or("variant", "card")))
        .child_if(avatar)
        .child_if(author.map(|author| author.structured()));
    if let Some(rating) = rating {
        root = root.child(entity("Rating", "reviewRating", [("ratingValue", rating)]));
    }
    Ok(root.build())
}

/// The first quotation is the quote, the first bold words of a paragraph before any other author are the author, the last
/// picture after the author is the portrait.
fn read(nodes: Vec<Node>) -> Voice {
    let mut voice = Voice::default();
    for node in nodes {
        if is_element(&node, "blockquote") && voice.quote.is_none() {
            voice.quote = Some(node);
        } else if is_element(&node, "p") && voice.author.is_none() {
            voice.author = node.as_tag().and_then(|tag| Author::find(&tag.children));
        } else if is_media(&node) {
            voice.avatar = Some(node);
        } else if let Node::Tag(tag) = node
            && tag.is("p")
        {
            voice.avatar = tag.children.into_iter().find(is_media).or(voice.avatar);
        }
    }
    voice
}

impl Author {
    fn find(nodes: &[Node]) -> Option<Author> {
        let at = nodes.iter().position(|node| is_element(node, "strong"))?;
        let (_, rest) = nodes.split_at_checked(at + 1)?;
        let name = nodes.get(at)?.as_tag().map(|tag| bare_text(&tag.children))?;
        let role = bare_text(rest);
        let role = role.trim_start();
        let role = role.strip_prefix(['-', '–', '—']).unwrap_or(role).trim().to_owned();
        Some(Author { name, role })
    }

    fn lines(&self) -> Vec<Node> {
        let line = |part: &str, text: &str| {
            let mut line = element("span", [Node::from(text)]);
            name(&mut line, part);
            line
        };
        let role = (!self.role.is_empty()).then(|| line("author-role", &self.role));
        [line("author-name", &self.name)].into_iter().chain(role).collect()
    }

    fn structured(self) -> Node {
        let role = (!self.role.is_empty()).then(|| ("jobTitle", Value::from(self.role)));
        entity("Person", "author", [("name", Value::from(self.name))].into_iter().chain(role))
    }
}

/// A thing within the structured data, with its own properties.
fn entity(type_of: &str, is: &str, properties: impl IntoIterator<Item = (&'static str, Value)>) -> Node {
    let metas = properties
        .into_iter()
        .map(|(property, content)| Tag::new("meta").with("property", property).with("content", content));
    Tag::new("span").with("typeof", type_of).with("property", is).holding(metas.map(Node::from)).into()
}
