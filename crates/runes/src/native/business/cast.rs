//! `cast` and `cast-member`: native because people come from list items and from tags alike, and a portrait may be a drawing.

use crate::schema::component::{element, field, is_rune, part, property};
use crate::schema::context::Result;
use crate::schema::header::Header;
use crate::schema::text::shown;
use crate::schema::{Arguments, Call, Component, Context, placeholder};
use crate::tree::{Node, Tag};
use crate::value::to_text;

pub(super) fn transform(call: Call<'_>, context: &mut Context<'_>) -> Result<Node> {
    let Call { arguments, mut content, .. } = call;
    let mut header = context.nodes(content.take("header"))?;
    Header::name(&mut header);
    let mut members = context.nodes(content.take_each(&["members", "items"]))?;
    members.retain(|member| is_rune(member, "li", "cast-member"));
    members.iter_mut().for_each(|member| field(member, "member"));
    Ok(Component::new("cast", "section")
        .property("contentSection")
        .value("layout", arguments.value_or("layout", "grid"))
        .child_if((!header.is_empty()).then(|| element("header", header)))
        .child(part("ul", "items", members))
        .build())
}

pub(super) fn transform_member(call: Call<'_>, context: &mut Context<'_>) -> Result<Node> {
    let Call { arguments, mut content, .. } = call;
    let body = context.nodes(content.take("body"))?;
    let line = |argument: &str, is: &str| {
        let mut line = part("span", argument, [shown(arguments.get(argument))]);
        property(&mut line, is);
        line
    };
    Ok(Component::new("cast-member", "li")
        .type_of("Person")
        .child_if(portrait(&arguments))
        .child(line("name", "name"))
        .child(line("role", "jobTitle"))
        .child(part("div", "body", body))
        .build())
}

fn portrait(arguments: &Arguments) -> Option<Node> {
    let source = arguments.given("image")?;
    let label = arguments.get("name").map(to_text).unwrap_or_default();
    let drawing = source.as_str().and_then(|source| placeholder::picture(source, &label));
    let picture = || Tag::new("img").with("src", source.clone()).with("alt", label.as_str()).into();
    let mut portrait = drawing.unwrap_or_else(picture);
    property(&mut portrait, "image");
    Some(portrait)
}
