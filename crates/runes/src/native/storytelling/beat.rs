//! Plots and the beats that they are made of.
//!
//! Native because a beat reads its state from the mark that a checklist has, and because a plot takes beats and nothing else.

use serde_json::Value;

use crate::schema::component::{Component, element, field, is_rune, part, property, structured};
use crate::schema::context::Result;
use crate::schema::{Call, Context};
use crate::tree::Node;
use crate::value::to_text;

/// One beat.
pub(super) fn transform(mut call: Call<'_>, out: &mut Context<'_>) -> Result<Node> {
    let arguments = &call.arguments;
    let status = arguments.given_or("status", "planned");
    let label = part("span", "label", [to_text(&arguments.value_or("label", "")).into()]);
    let mut root = Component::new("beat", "li").value("status", state(&status).map_or(status, Value::from));
    for name in ["id", "track", "follows"] {
        root = root.value(name, arguments.value_or(name, ""));
    }
    let description = to_text(&arguments.value_or("description", ""));
    let is_lead = |c: char| c.is_whitespace() || matches!(c, '—' | '–' | '-');
    let description = description.trim_start_matches(is_lead).trim();
    let mut body = Vec::new();
    if !description.is_empty() {
        body.push(element("p", [description.into()]));
    }
    body.extend(out.nodes(call.content.take("body"))?);
    Ok(root.child(label).child(part("div", "body", body)).build())
}

/// The state that a mark stands for.
fn state(mark: &Value) -> Option<&'static str> {
    Some(match mark.as_str()? {
        "x" => "complete",
        ">" => "active",
        " " => "planned",
        "-" => "abandoned",
        _ => return None,
    })
}

/// A plot.
pub(super) fn plot(mut call: Call<'_>, out: &mut Context<'_>) -> Result<Node> {
    let arguments = &call.arguments;
    let kind = arguments.value_or("type", "arc");
    let mut title = part("span", "title", [to_text(&arguments.value_or("title", "")).into()]);
    property(&mut title, "name");
    let genre = structured("genre", Some(&kind));
    let root = Component::new("plot", "section")
        .property("contentSection")
        .type_of("CreativeWork")
        .value("plotType", kind)
        .value("structure", arguments.value_or("structure", "linear"))
        .value("tags", arguments.value_or("tags", ""));
    let description = out.nodes(call.content.take("description"))?;
    let mut beats = out.nodes(call.content.take("beats"))?;
    beats.retain(|node| is_rune(node, "li", "beat"));
    beats.iter_mut().for_each(|node| field(node, "beat"));
    let root = root.child(title).child_if(genre).children(description);
    Ok(root.child(part("ol", "beats", beats)).build())
}
