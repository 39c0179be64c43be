//! `track`: native because its name is read out of what is written first, and lengths have two forms.

use serde_json::Value;

use super::duration;
use crate::schema::component::{field, part, property, structured};
use crate::schema::context::Result;
use crate::schema::header::{is_element, is_heading};
use crate::schema::text::text_of_node;
use crate::schema::{Arguments, Call, Component, Context};
use crate::tree::Node;
use crate::value::to_text;

pub(super) fn transform(call: Call<'_>, context: &mut Context<'_>) -> Result<Node> {
    let Call { arguments, mut content, .. } = call;
    let title = context.nodes(content.take("title"))?;
    let body = context.nodes(content.take("body"))?;
    let title = title.iter().find(|node| is_heading(node) || is_element(node, "p"));
    let mut name = part("span", "track-name", [Node::from(title.map(text_of_node).unwrap_or_default())]);
    field(&mut name, "name");
    property(&mut name, "name");
    let line = |name: &str, text: Option<String>| text.map(|text| part("span", name, [Node::from(text)]));
    let number = arguments.get("number").map(|number| Value::from(to_text(number)));
    Ok(values(Component::new("track", "li"), &arguments)
        .type_of("MusicRecording")
        .value_if("position", number.clone())
        .child(name)
        .child_if(line("track-artist", arguments.text("artist")))
        .child_if(line("track-duration", arguments.text("duration").map(read_out)))
        .child_if(line("track-meta", arguments.text("date")))
        .child_if((!body.is_empty()).then(|| part("div", "track-description", body)))
        .child_if(structured("url", arguments.given("url")))
        .child_if(structured("position", number.as_ref()))
        .child_if(structured("datePublished", arguments.given("date")))
        .build())
}

fn values(root: Component, arguments: &Arguments) -> Component {
    let length = arguments.text("duration").map(|length| match length.starts_with("PT") {
        true => length,
        false => format!("PT{}S", duration::seconds(&length)),
    });
    root.value_if("artist", arguments.given("artist").cloned())
        .value_if("duration", length)
        .value_if("url", arguments.given("url").cloned())
        .value_if("datePublished", arguments.given("date").cloned())
        .value("type", arguments.value_or("type", "song"))
}

/// A length as it is shown: one that is written for machines is put into words.
fn read_out(length: String) -> String {
    if length.starts_with("PT") { duration::clock(duration::seconds(&length)) } else { length }
}
