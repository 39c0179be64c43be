//! `audio`. Native: all arguments are passed to the player as JSON.

use serde_json::{Map, Value, json};

use super::duration;
use super::playlist::json_script;
use crate::content::ItemFields;
use crate::expand::render_context::Result;
use crate::expand::root_builder::named_element;
use crate::expand::{Arguments, RenderContext, RootBuilder, RuneUse};
use crate::js_value::to_js_string;
use crate::render_tree::{Element, RenderNode};

pub(super) fn transform(rune_use: RuneUse<'_>, cx: &mut RenderContext<'_>) -> Result<RenderNode> {
    let RuneUse { arguments, mut content, .. } = rune_use;
    let chapters = content.take_items("chapterListData");
    let description = cx.render_nodes(content.take("description"))?;
    let tracks =
        if arguments.is_truthy("src") { vec![track_data(&arguments, &chapters)] } else { Vec::new() };
    let mut player = Element::new("rf-audio")
        .with_attr("waveform", to_js_string(&arguments.non_null_or("waveform", false)));
    for name in ["playlist", "chapters"] {
        if let Some(value) = arguments.truthy(name) {
            player = player.with_attr(name, value.clone());
        }
    }
    Ok(RootBuilder::new("audio", "div")
        .value_if("waveform", arguments.is_truthy("waveform").then_some("true"))
        .child(player.with_children([json_script(&Value::Array(tracks))]))
        .child_if((!description.is_empty()).then(|| named_element("div", "description", description)))
        .build())
}

/// The recording as JSON for the player.
fn track_data(arguments: &Arguments, chapters: &[ItemFields]) -> Value {
    let mut fields = Map::new();
    for (name, argument) in
        [("src", "src"), ("name", "title"), ("artist", "artist"), ("playlist", "playlist")]
    {
        if let Some(value) = arguments.truthy(argument) {
            fields.insert(name.to_owned(), value.clone());
        }
    }
    if !chapters.is_empty() {
        fields.insert("chapters".to_owned(), chapters.iter().map(chapter_data).collect());
    }
    Value::Object(fields)
}

fn chapter_data(item: &ItemFields) -> Value {
    let name = ["label", "text"].into_iter().filter_map(|part| item.get(part)).find(|text| !text.is_empty());
    let time = item.get("time").map(|time| duration::seconds(time)).unwrap_or_default();
    json!({ "name": name.map(String::as_str).unwrap_or_default(), "time": time })
}
