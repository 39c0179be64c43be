//! Cover: media that fills the rune, with the text on top of it.
//!
//! The place of the text, the scrim that keeps it legible, the colours of the text, and media that does not take clicks.

use super::find;
use super::look::Look;
use super::subject::Subject;
use crate::tree::{Node, Tag};

/// The scrim's fields that the media takes over in a cover.
const SCRIM: [&str; 4] = ["scrim", "scrim-type", "scrim-blur", "scrim-tone"];

/// The edge at which a scrim is heaviest, as a direction of a gradient.
const DIRECTIONS: [(&str, &str); 4] =
    [("top", "to top"), ("bottom", "to bottom"), ("left", "to left"), ("right", "to right")];

/// Shades around text in the middle, where a straight gradient cannot have its dark part.
const CENTRE_SCRIM: &str =
    "radial-gradient(ellipse farthest-side at center, rgb(0 0 0 / 0.55) 40%, transparent 100%)";
const CENTRE_MASK: &str = "radial-gradient(ellipse farthest-side at center, #000 50%, transparent 100%)";

pub(super) fn apply(subject: &Subject<'_>, look: &mut Look) {
    if look.axis("media-position") != Some("cover") {
        return;
    }
    look.is_cover = true;
    place_content(look);
    scrim(subject, look);
    let scope = subject.config.root_attributes.get("data-cover-scope");
    let is_bare = look.data.get("data-scrim").is_some_and(|scrim| scrim == "none");
    if !is_bare && scope.is_none_or(|scope| scope != "header") {
        look.content_scheme = Some(subject.meta("scrim-tone").cloned().unwrap_or_else(|| "dark".into()));
    }
}

/// Where the text stands; the scrim follows it.
fn place_content(look: &mut Look) {
    let place = look.axis("content-place").filter(|place| !place.is_empty() && *place != "auto");
    let Some(place) = place.map(str::to_owned) else { return };
    let mut words = place.split_whitespace();
    let block = words.next();
    if let Some(block) = block {
        look.style("--cover-place-block", block);
    }
    if let Some(inline) = words.next() {
        look.style("--cover-place-inline", inline);
    }
    match block {
        Some("start") => look.style("--cover-scrim-dir", "to bottom"),
        Some("center") => {
            look.style("--cover-scrim-image", CENTRE_SCRIM);
            look.style("--cover-scrim-mask", CENTRE_MASK);
        }
        _ => {}
    }
}

fn scrim(subject: &Subject<'_>, look: &mut Look) {
    look.consume(&SCRIM);
    let scrim = subject.meta_text("scrim");
    if scrim.as_deref() == Some("none") {
        look.set("data-scrim", "none");
        return;
    }
    if let Some(kind) = subject.meta_text("scrim-type") {
        let blur = subject.meta_text("scrim-blur").filter(|_| kind == "frost");
        look.set("data-scrim-type", kind);
        if let Some(blur) = blur {
            look.set("data-scrim-blur", blur);
        }
    }
    let direction = DIRECTIONS.iter().find(|(edge, _)| scrim.as_deref() == Some(edge));
    if let Some((_, direction)) = direction {
        look.style("--cover-scrim-dir", *direction);
    }
}

/// Puts the text on top into the colours that go with the scrim.
pub(super) fn colour_content(look: &Look, children: &mut [Node]) {
    // A tint or a backdrop may have fixed the colours since.
    let Some(scheme) = look.content_scheme.as_ref().filter(|_| look.color_scheme.is_none()) else { return };
    if let Some(content) = find::named(children, "content") {
        content.attributes.insert("data-color-scheme".into(), scheme.clone());
    }
}

/// Media that stands behind something to click on takes no clicks itself, and a sandbox behind a cover fills it.
pub(super) fn quieten_media(look: &Look, children: &mut [Node]) {
    if !look.is_cover && find::named(children, "link").is_none() {
        return;
    }
    let Some(media) = find::media(children) else { return };
    media.attributes.insert("data-guest-posture".into(), "presentational".into());
    if look.is_cover {
        fill_sandboxes(media);
    }
}

fn fill_sandboxes(tag: &mut Tag) {
    if tag.is("rf-sandbox") {
        let height = tag.attributes.get("data-height").filter(|height| !height.is_null());
        if height.is_none_or(|height| height == "auto") {
            tag.attributes.insert("data-height".into(), "fill".into());
        }
    }
    tag.children.iter_mut().filter_map(Node::as_tag_mut).for_each(fill_sandboxes);
}
