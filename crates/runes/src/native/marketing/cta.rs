//! `cta`: native because its actions are rendered by rules of their own.

use super::actions;
use crate::schema::component::{element, part};
use crate::schema::context::Result;
use crate::schema::header::Header;
use crate::schema::{Call, Component, Context};
use crate::tree::Node;

pub(super) fn transform(call: Call<'_>, context: &mut Context<'_>) -> Result<Node> {
    let Call { arguments, mut content, .. } = call;
    let mut header = context.nodes(content.take("header"))?;
    Header::name(&mut header);
    let actions = actions::render(content.take("actions"), context)?;
    Ok(Component::new("call-to-action", "section")
        .property("contentSection")
        .class(arguments.get("class").cloned())
        .child(element("header", header))
        .child(part("div", "actions", actions))
        .build())
}
