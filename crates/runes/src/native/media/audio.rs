//! `audio`: native because all that it is told is handed to the player as data.

use serde_json::{Map, Value, json};

use super::duration;
use super::playlist::script;
use crate::content::Item;
use crate::schema::component::part;
use crate::schema::context::Result;
use crate::schema::{Arguments, Call, Component, Context};
use crate::tree::{Node, Tag};
use crate::value::to_text;

pub(super) fn transform(call: Call<'_>, context: &mut Context<'_>) -> Result<Node> {
    let Call { arguments, mut content, .. } = call;
    let chapters = content.take_items("chapterListData");
    let description = context.nodes(content.take("description"))?;
    let known = if arguments.is_given("src") { vec![recording(&arguments, &chapters)] } else { Vec::new() };
    let mut player = Tag::new("rf-audio").with("waveform", to_text(&arguments.value_or("waveform", false)));
    for name in ["playlist", "chapters"] {
        if let Some(value) = arguments.given(name) {
            player = player.with(name, value.clone());
        }
    }
    Ok(Component::new("audio", "div")
        .value_if("waveform", arguments.is_given("waveform").then_some("true"))
        .child(player.holding([script(&Value::Array(known))]))
        .child_if((!description.is_empty()).then(|| part("div", "description", description)))
        .build())
}

/// The recording as the player knows it.
fn recording(arguments: &Arguments, chapters: &[Item]) -> Value {
    let mut known = Map::new();
    for (name, argument) in
        [("src", "src"), ("name", "title"), ("artist", "artist"), ("playlist", "playlist")]
    {
        if let Some(value) = arguments.given(argument) {
            known.insert(name.to_owned(), value.clone());
        }
    }
    if !chapters.is_empty() {
        known.insert("chapters".to_owned(), chapters.iter().map(chapter).collect());
    }
    Value::Object(known)
}

fn chapter(item: &Item) -> Value {
    let name = ["label", "text"].into_iter().filter_map(|part| item.get(part)).find(|text| !text.is_empty());
    let time = item.get("time").map(|time| duration::seconds(time)).unwrap_or_default();
    json!({ "name": name.map(String::as_str).unwrap_or_default(), "time": time })
}
