//! `howto`: native because lists of either kind are gathered, and each of their items is marked.

use super::{Kind, items};
use crate::schema::component::{part, structured};
use crate::schema::context::Result;
use crate::schema::header::Header;
use crate::schema::media::unwrap_paragraphs;
use crate::schema::{Call, Component, Context};
use crate::tree::Node;

const TOOL: Kind = Kind { part: "tool", type_of: "HowToTool", property: "tool", words: "name" };
const STEP: Kind = Kind { part: "step", type_of: "HowToStep", property: "step", words: "text" };

pub(super) fn transform(call: Call<'_>, context: &mut Context<'_>) -> Result<Node> {
    let Call { arguments, mut content, .. } = call;
    let mut header = unwrap_paragraphs(context.nodes(content.take("header"))?);
    Header::name(&mut header).describe(&mut header);
    let mut body = context.nodes(content.take("body"))?;
    let (mut tools, mut steps) = (items(&mut body, "ul"), items(&mut body, "ol"));
    TOOL.mark(&mut tools);
    STEP.mark(&mut steps);
    Ok(Component::new("how-to", "article")
        .property("contentSection")
        .type_of("HowTo")
        .value_if("estimatedTime", arguments.get("estimatedTime").cloned())
        .value("difficulty", arguments.value_or("difficulty", ""))
        .child_if(structured("totalTime", arguments.get("estimatedTime")))
        .children(header)
        .child_if((!tools.is_empty()).then(|| part("ul", "tools", tools)))
        .child(part("ol", "steps", steps))
        .build())
}
