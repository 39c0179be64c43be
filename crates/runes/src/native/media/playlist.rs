//! `playlist`. Native: tracks are parsed from list items, once for the reader and once for the player.

use serde_json::{Map, Value, json};

use super::cues::{self, Cue};
use super::duration;
use crate::content::ItemFields;
use crate::expand::header::SectionHeader;
use crate::expand::layout::SplitLayout;
use crate::expand::media::take_media;
use crate::expand::render_context::Result;
use crate::expand::root_builder::{
    meta_element, named_element, new_element, rdfa_meta_element, set_field, set_rdfa_property,
};
use crate::expand::{RenderContext, RootBuilder, RuneUse};
use crate::js_value::{JsTrim, to_js_string};
use crate::render_tree::{Element, RenderNode};

pub(super) fn transform(rune_use: RuneUse<'_>, cx: &mut RenderContext<'_>) -> Result<RenderNode> {
    let RuneUse { arguments, mut content, .. } = rune_use;
    let mut content_fields = content.take_group("content");
    let mut header = cx.render_nodes(content_fields.take_each(&["headline", "blurb"]))?;
    let section_header = SectionHeader::set_part_names(&mut header);
    if let Some(headline) = section_header.headline.and_then(|index| header.get_mut(index)) {
        set_rdfa_property(headline, "name");
    }
    let artist = arguments.truthy("artist").cloned();
    let artist_name = artist.as_ref().map(to_js_string).unwrap_or_default();
    let mode = to_js_string(&arguments.non_null_or("content", "auto"));
    let items = content_fields.take_items("tracksData");
    let cues: Vec<Vec<Cue>> =
        content_fields.take("tracks").iter().flat_map(|list| &list.children).map(Cue::read_all).collect();
    let tracks = items
        .iter()
        .zip(&cues)
        .map(|(item, cues)| track_element(item, &artist_name, cues::cue_list(cues, &mode)));
    let tracks = named_element("ol", "tracks", tracks);
    let player = arguments.is_truthy("player").then(|| player_element(&items, &artist_name));
    let body = cx.render_nodes(content_fields.take("body"))?;
    let media = match take_media(cx.render_nodes(content.take_group("media").take("media"))?) {
        Ok(mut picture) => {
            set_rdfa_property(&mut picture, "image");
            vec![picture]
        }
        Err(media) => media,
    };
    let root = RootBuilder::new("playlist", "section")
        .data_field("contentSection")
        .type_of("MusicPlaylist")
        .value("type", arguments.non_null_or("type", "album"));
    let root = SplitLayout::read(&arguments)
        .apply_to(root)
        .value_if("artist", artist.clone())
        .value_if("id", arguments.truthy("id").cloned())
        // As in npm: the player is not passed to the engine, but its `meta` stays.
        .child_if(player.as_ref().map(|_| meta_element("true")))
        .child_if(rdfa_meta_element("byArtist", artist.as_ref()))
        .child_if((!media.is_empty()).then(|| named_element("div", "media", media)))
        .children(header)
        .child_if(player)
        .child(tracks)
        .child_if((!body.is_empty()).then(|| named_element("div", "body", body)));
    Ok(root.build())
}

/// A non-empty part of a list item.
fn item_field<'i>(item: &'i ItemFields, name: &str) -> Option<&'i str> {
    item.get(name).map(String::as_str)
}

fn track_element(item: &ItemFields, artist: &str, cues: Option<RenderNode>) -> RenderNode {
    let named_span = |name: &str, text: &str, rdfa_property: Option<&str>| {
        let mut line = named_element("span", name, [RenderNode::from(text)]);
        if let Some(property_name) = rdfa_property {
            set_rdfa_property(&mut line, property_name);
        }
        line
    };
    let mut lines =
        vec![named_span("track-name", item_field(item, "name").unwrap_or_default(), Some("name"))];
    let artist = item_field(item, "artist").unwrap_or(artist);
    if !artist.is_empty() {
        lines.push(named_span("track-artist", artist, Some("byArtist")));
    }
    if let Some(length) = item_field(item, "duration") {
        lines.push(named_span("track-duration", length, None));
        let seconds = format!("PT{}S", duration::seconds(length));
        lines.push(
            Element::new("meta").with_attr("property", "duration").with_attr("content", seconds).into(),
        );
    }
    let date = item_field(item, "date").unwrap_or_default().js_trim();
    if !date.is_empty() {
        lines.push(named_span("track-meta", date, Some("datePublished")));
    }
    lines.extend(cues);
    let mut track = Element::new("li").with_attr("typeof", "MusicRecording");
    if let Some(source) = item_field(item, "src").filter(|source| !source.is_empty()) {
        track = track.with_attr("data-src", source);
    }
    let mut track = track.with_children(lines).into();
    set_field(&mut track, "track");
    set_rdfa_property(&mut track, "track");
    track
}

/// The player element with the data of all tracks.
fn player_element(items: &[ItemFields], artist: &str) -> RenderNode {
    let tracks = items.iter().map(|item| {
        let mut fields = Map::new();
        fields.insert("name".into(), item_field(item, "name").unwrap_or_default().into());
        if let Some(source) = item_field(item, "src").filter(|source| !source.is_empty()) {
            fields.insert("src".into(), source.into());
        }
        let artist = item_field(item, "artist").unwrap_or(artist);
        if !artist.is_empty() {
            fields.insert("artist".into(), artist.into());
        }
        if let Some(length) = item_field(item, "duration") {
            fields.insert("duration".into(), json!(duration::seconds(length)));
        }
        Value::Object(fields)
    });
    let script = json_script(&tracks.collect());
    named_element(
        "div",
        "player",
        [Element::new("rf-audio").with_attr("waveform", "false").with_children([script]).into()],
    )
}

/// JSON data for a player in the page.
pub(super) fn json_script(data: &Value) -> RenderNode {
    let mut script = new_element("script", [RenderNode::from(data.to_string())]);
    script.set_attr("type", "application/json");
    script
}
