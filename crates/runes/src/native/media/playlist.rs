//! `playlist`: native because its tracks are read out of list items, once for the reader and once for the player.

use serde_json::{Map, Value, json};

use super::cues::{self, Cue};
use super::duration;
use crate::content::Item;
use crate::schema::component::{element, field, meta, part, property, structured};
use crate::schema::context::Result;
use crate::schema::header::Header;
use crate::schema::layout::SplitLayout;
use crate::schema::media::take_media;
use crate::schema::{Call, Component, Context};
use crate::tree::{Node, Tag};
use crate::value::to_text;

pub(super) fn transform(call: Call<'_>, context: &mut Context<'_>) -> Result<Node> {
    let Call { arguments, mut content, .. } = call;
    let mut words = content.take_group("content");
    let mut header = context.nodes(words.take_each(&["headline", "blurb"]))?;
    let named = Header::name(&mut header);
    if let Some(headline) = named.headline.and_then(|at| header.get_mut(at)) {
        property(headline, "name");
    }
    let artist = arguments.given("artist").cloned();
    let artist_name = artist.as_ref().map(to_text).unwrap_or_default();
    let mode = to_text(&arguments.value_or("content", "auto"));
    let items = words.take_items("tracksData");
    let cues: Vec<Vec<Cue>> =
        words.take("tracks").iter().flat_map(|list| &list.children).map(Cue::below).collect();
    let tracks =
        items.iter().zip(&cues).map(|(item, cues)| track(item, &artist_name, cues::list(cues, &mode)));
    let tracks = part("ol", "tracks", tracks);
    let player = arguments.is_given("player").then(|| player(&items, &artist_name));
    let body = context.nodes(words.take("body"))?;
    let media = match take_media(context.nodes(content.take_group("media").take("media"))?) {
        Ok(mut picture) => {
            property(&mut picture, "image");
            vec![picture]
        }
        Err(media) => media,
    };
    let root = Component::new("playlist", "section")
        .property("contentSection")
        .type_of("MusicPlaylist")
        .value("type", arguments.value_or("type", "album"))
        .value_if("artist", artist.clone())
        .value_if("id", arguments.given("id").cloned())
        // The engine is not told of the player; the element is left behind, as in the original.
        .child_if(player.as_ref().map(|_| meta("true")))
        .child_if(structured("byArtist", artist.as_ref()))
        .child_if((!media.is_empty()).then(|| part("div", "media", media)))
        .children(header)
        .child_if(player)
        .child(tracks)
        .child_if((!body.is_empty()).then(|| part("div", "body", body)));
    Ok(SplitLayout::read(&arguments).hand_to(root).build())
}

/// A part of a list item, where it has one.
fn of<'i>(item: &'i Item, name: &str) -> Option<&'i str> {
    item.get(name).map(String::as_str)
}

fn track(item: &Item, artist: &str, cues: Option<Node>) -> Node {
    let said = |name: &str, text: &str, is: Option<&str>| {
        let mut line = part("span", name, [Node::from(text)]);
        if let Some(is) = is {
            property(&mut line, is);
        }
        line
    };
    let mut lines = vec![said("track-name", of(item, "name").unwrap_or_default(), Some("name"))];
    let artist = of(item, "artist").unwrap_or(artist);
    if !artist.is_empty() {
        lines.push(said("track-artist", artist, Some("byArtist")));
    }
    if let Some(length) = of(item, "duration") {
        lines.push(said("track-duration", length, None));
        let seconds = format!("PT{}S", duration::seconds(length));
        lines.push(Tag::new("meta").with("property", "duration").with("content", seconds).into());
    }
    let date = of(item, "date").unwrap_or_default().trim();
    if !date.is_empty() {
        lines.push(said("track-meta", date, Some("datePublished")));
    }
    lines.extend(cues);
    let mut track = Tag::new("li").with("typeof", "MusicRecording");
    if let Some(source) = of(item, "src").filter(|source| !source.is_empty()) {
        track = track.with("data-src", source);
    }
    let mut track = track.holding(lines).into();
    field(&mut track, "track");
    property(&mut track, "track");
    track
}

/// The player, with all that it needs to know of the tracks.
fn player(items: &[Item], artist: &str) -> Node {
    let known = items.iter().map(|item| {
        let mut known = Map::new();
        known.insert("name".into(), of(item, "name").unwrap_or_default().into());
        if let Some(source) = of(item, "src").filter(|source| !source.is_empty()) {
            known.insert("src".into(), source.into());
        }
        let artist = of(item, "artist").unwrap_or(artist);
        if !artist.is_empty() {
            known.insert("artist".into(), artist.into());
        }
        if let Some(length) = of(item, "duration") {
            known.insert("duration".into(), json!(duration::seconds(length)));
        }
        Value::Object(known)
    });
    let script = script(&known.collect());
    part("div", "player", [Tag::new("rf-audio").with("waveform", "false").holding([script]).into()])
}

/// Data for a player in the page.
pub(super) fn script(data: &Value) -> Node {
    let mut script = element("script", [Node::from(data.to_string())]);
    script.set("type", "application/json");
    script
}
