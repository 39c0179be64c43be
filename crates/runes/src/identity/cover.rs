//! Cover: media that fills the rune, with the text on top.
//!
//! Sets the place of the text, the scrim, the text's colour scheme, and media that ignores clicks.

use super::find;
use super::root_style::RootStyle;
use super::rune_input::RuneInput;
use crate::js_value::is_js_whitespace;
use crate::render_tree::{Element, RenderNode};

/// Scrim fields that apply to the media of a cover.
const SCRIM_FIELDS: [&str; 4] = ["scrim", "scrim-type", "scrim-blur", "scrim-tone"];

/// The darkest edge of a scrim → direction of its gradient.
const SCRIM_DIRECTIONS: [(&str, &str); 4] =
    [("top", "to top"), ("bottom", "to bottom"), ("left", "to left"), ("right", "to right")];

/// A radial scrim for centred text: a linear gradient is darkest at an edge.
const CENTRE_SCRIM: &str =
    "radial-gradient(ellipse farthest-side at center, rgb(0 0 0 / 0.55) 40%, transparent 100%)";
const CENTRE_MASK: &str = "radial-gradient(ellipse farthest-side at center, #000 50%, transparent 100%)";

pub(super) fn apply(input: &RuneInput<'_>, root_style: &mut RootStyle) {
    if !root_style.is_cover {
        return;
    }
    apply_content_place(root_style);
    apply_scrim(input, root_style);
    let scope = input.config.root_attributes.get("data-cover-scope");
    let has_no_scrim = root_style.data.get("data-scrim").is_some_and(|scrim| scrim == "none");
    if !has_no_scrim && scope.is_none_or(|scope| scope != "header") {
        root_style.content_color_scheme =
            Some(input.meta("scrim-tone").cloned().unwrap_or_else(|| "dark".into()));
    }
}

/// Places the text; the scrim follows it.
fn apply_content_place(root_style: &mut RootStyle) {
    let place =
        root_style.modifier_value("content-place").filter(|place| !place.is_empty() && *place != "auto");
    let Some(place) = place.map(str::to_owned) else { return };
    let mut words = place.split(is_js_whitespace).filter(|word| !word.is_empty());
    let block = words.next();
    if let Some(block) = block {
        root_style.add_style("--cover-place-block", block);
    }
    if let Some(inline) = words.next() {
        root_style.add_style("--cover-place-inline", inline);
    }
    match block {
        Some("start") => root_style.add_style("--cover-scrim-dir", "to bottom"),
        Some("center") => {
            root_style.add_style("--cover-scrim-image", CENTRE_SCRIM);
            root_style.add_style("--cover-scrim-mask", CENTRE_MASK);
        }
        _ => {}
    }
}

fn apply_scrim(input: &RuneInput<'_>, root_style: &mut RootStyle) {
    root_style.mark_consumed(&SCRIM_FIELDS);
    let scrim = input.meta_text("scrim");
    if scrim.as_deref() == Some("none") {
        root_style.set_data_attr("data-scrim", "none");
        return;
    }
    if let Some(kind) = input.meta_text("scrim-type") {
        let blur = input.meta_text("scrim-blur").filter(|_| kind == "frost");
        root_style.set_data_attr("data-scrim-type", kind);
        if let Some(blur) = blur {
            root_style.set_data_attr("data-scrim-blur", blur);
        }
    }
    let direction = SCRIM_DIRECTIONS.iter().find(|(edge, _)| scrim.as_deref() == Some(edge));
    if let Some((_, direction)) = direction {
        root_style.add_style("--cover-scrim-dir", *direction);
    }
}

/// Sets the colour scheme of the text on top.
pub(super) fn set_content_color_scheme(root_style: &RootStyle, children: &mut [RenderNode]) {
    // A tint or a backdrop may have set the scheme.
    let Some(scheme) = root_style.content_color_scheme.as_ref().filter(|_| root_style.color_scheme.is_none())
    else {
        return;
    };
    if let Some(content) = find::find_named(children, "content") {
        content.attributes.insert("data-color-scheme".into(), scheme.clone());
    }
}

/// Media behind a clickable rune ignores clicks; a sandbox behind a cover fills it.
pub(super) fn disable_media_interaction(root_style: &RootStyle, children: &mut [RenderNode]) {
    if !root_style.is_cover && find::find_named(children, "link").is_none() {
        return;
    }
    let Some(media) = find::find_media(children) else { return };
    media.attributes.insert("data-guest-posture".into(), "presentational".into());
    if root_style.is_cover {
        fill_sandboxes(media);
    }
}

fn fill_sandboxes(tag: &mut Element) {
    if tag.is("rf-sandbox") {
        let height = tag.attributes.get("data-height").filter(|height| !height.is_null());
        if height.is_none_or(|height| height == "auto") {
            tag.attributes.insert("data-height".into(), "fill".into());
        }
    }
    tag.children.iter_mut().filter_map(RenderNode::as_element_mut).for_each(fill_sandboxes);
}
