//! `organization`: native because its type in the structured data is an argument.

use crate::schema::component::{element, part};
use crate::schema::context::Result;
use crate::schema::header::Header;
use crate::schema::media::unwrap_paragraphs;
use crate::schema::{Call, Component, Context};
use crate::tree::Node;

pub(super) fn transform(call: Call<'_>, context: &mut Context<'_>) -> Result<Node> {
    let Call { arguments, mut content, .. } = call;
    let mut header = unwrap_paragraphs(context.nodes(content.take("header"))?);
    Header::name(&mut header).describe(&mut header);
    let body = context.nodes(content.take("body"))?;
    Ok(Component::new("organization", "article")
        .property("contentSection")
        .type_of(arguments.text_or("type", "Organization"))
        .value("type", arguments.value_or("type", "Organization"))
        .child(element("header", header))
        .child(part("div", "body", body))
        .build())
}
