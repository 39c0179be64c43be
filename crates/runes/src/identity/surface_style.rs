//! Frames around a surface and patterns on it. The surface is the rune itself or its media.
//!
//! Both are computed early and applied late: the media element exists only after the children are placed.

use super::find;
use super::root_style::RootStyle;
use super::rune_input::RuneInput;
use super::style::append_styles;
use crate::js_value::to_js_string;
use crate::render_tree::{Attributes, RenderNode};

/// Attributes and styles of a surface.
#[derive(Default)]
pub(super) struct SurfaceStyle {
    attributes: Attributes,
    styles: Vec<(String, String)>,
}

/// The surface that receives them.
enum Target {
    Rune,
    Media,
    Nothing,
}

const OFFSETS: [(&str, &str); 8] = [
    ("none", "0"),
    ("sm", "var(--rf-spacing-sm)"),
    ("md", "var(--rf-spacing-md)"),
    ("lg", "var(--rf-spacing-lg)"),
    ("xl", "var(--rf-spacing-xl)"),
    ("2xl", "var(--rf-spacing-section)"),
    ("3xl", "var(--rf-spacing-section-loose)"),
    ("4xl", "var(--rf-spacing-section-breathe)"),
];

const CELL_SIZES: [(&str, &str); 3] = [("sm", "12px"), ("md", "16px"), ("lg", "24px")];
const OPACITIES: [(&str, &str); 3] = [("sm", "0.25"), ("md", "0.5"), ("lg", "0.85")];

/// The value for a key in a table.
pub(super) fn lookup<'w>(table: &[(&str, &'w str)], key: &str) -> Option<&'w str> {
    table.iter().find(|(entry_key, _)| *entry_key == key).map(|(_, value)| *value)
}

/// Reads fields and remembers which are present.
struct FieldReader<'s, 'a> {
    input: &'s RuneInput<'a>,
    present_fields: Vec<&'static str>,
}

impl FieldReader<'_, '_> {
    /// A field as text, if it is not empty.
    fn read(&mut self, field: &'static str) -> Option<String> {
        let value = self.input.meta(field)?;
        self.present_fields.push(field);
        Some(to_js_string(value)).filter(|text| !text.is_empty())
    }
}

/// Applies a frame: the name of a preset, and values beside it.
pub(super) fn apply_frame(input: &RuneInput<'_>, root_style: &mut RootStyle) {
    let mut reader = FieldReader { input, present_fields: Vec::new() };
    let surface_style = frame_style(&mut reader, input.config.guest_fit.as_deref() == Some("bleed"));
    if reader.present_fields.is_empty() {
        return;
    }
    root_style.mark_consumed(&reader.present_fields);
    let target = match input.config.frame_target.as_deref() {
        Some("self") => Target::Rune,
        Some("media") => Target::Media,
        Some(_) => Target::Nothing,
        None if has_media(input) => Target::Media,
        None => Target::Nothing,
    };
    apply(surface_style, &target, root_style);
}

fn frame_style(reader: &mut FieldReader<'_, '_>, is_bleeding: bool) -> SurfaceStyle {
    let mut surface_style = SurfaceStyle::default();
    let preset = reader.read("frame");
    let aspect = reader.read("frame-aspect");
    let displace = reader.read("frame-displace");
    let mode = reader.read("frame-displace-mode");
    let offset = reader.read("frame-offset");
    let oversize = reader.read("frame-oversize");
    let place = reader.read("frame-place");
    let anchor = reader.read("frame-anchor");
    let overflow = reader.read("frame-overflow");
    let shadow = reader.read("frame-shadow");
    // A displaced guest follows the host's `guest-fit`, unless it sets a mode.
    let mode = mode.or_else(|| displace.as_ref().filter(|_| is_bleeding).map(|_| "bleed".into()));
    // Without bleeding guests, overflow has no effect.
    let overflow = overflow.filter(|overflow| is_bleeding && overflow == "bleed");
    let attributes = [
        ("data-frame", preset),
        ("data-displace", displace),
        ("data-displace-mode", mode),
        ("data-frame-shadow", shadow),
        ("data-frame-overflow", overflow),
    ];
    for (name, value) in attributes {
        surface_style.attributes.extend(value.map(|value| (name.to_owned(), value.into())));
    }
    let offset = offset.map(|offset| lookup(&OFFSETS, &offset).unwrap_or("0").to_owned());
    let styles = [
        ("--frame-aspect", aspect),
        ("--frame-offset", offset),
        ("--frame-oversize", oversize),
        ("--frame-anchor", anchor),
    ];
    for (property, value) in styles {
        surface_style.styles.extend(value.map(|value| (property.to_owned(), value)));
    }
    if let Some((x, y)) = place.map(|place| placement(&place)) {
        surface_style.styles.push(("--frame-place-x".into(), x.into()));
        surface_style.styles.push(("--frame-place-y".into(), y.into()));
    }
    surface_style
}

/// `top left` → position along the x axis and the y axis.
fn placement(place: &str) -> (&'static str, &'static str) {
    match place {
        "left" => ("start", "center"),
        "right" => ("end", "center"),
        "top" | "top center" => ("center", "start"),
        "bottom" | "bottom center" => ("center", "end"),
        "top left" => ("start", "start"),
        "top right" => ("end", "start"),
        "bottom left" => ("start", "end"),
        "bottom right" => ("end", "end"),
        _ => ("center", "center"),
    }
}

/// Applies a pattern; its other values have no effect without one.
pub(super) fn apply_substrate(input: &RuneInput<'_>, root_style: &mut RootStyle) {
    let mut reader = FieldReader { input, present_fields: Vec::new() };
    let pattern = reader.read("substrate");
    let size = reader.read("substrate-size");
    let opacity = reader.read("substrate-opacity");
    let fill = reader.read("substrate-fill");
    let target = reader.read("substrate-target");
    let Some(pattern) = pattern else { return };
    root_style.mark_consumed(&reader.present_fields);
    let mut surface_style = SurfaceStyle::default();
    surface_style.attributes.insert("data-substrate".into(), pattern.into());
    surface_style.attributes.extend(fill.map(|fill| ("data-substrate-fill".to_owned(), fill.into())));
    let cell = size.and_then(|size| lookup(&CELL_SIZES, &size));
    let opacity = opacity.and_then(|opacity| lookup(&OPACITIES, &opacity));
    surface_style.styles.extend(cell.map(|cell| ("--substrate-cell".to_owned(), cell.to_owned())));
    surface_style
        .styles
        .extend(opacity.map(|opacity| ("--substrate-opacity".to_owned(), opacity.to_owned())));
    let target = match target.as_deref() {
        Some("media") if has_media(input) => Target::Media,
        Some("media") => Target::Nothing,
        _ => Target::Rune,
    };
    apply(surface_style, &target, root_style);
}

fn apply(surface_style: SurfaceStyle, target: &Target, root_style: &mut RootStyle) {
    match target {
        Target::Rune => {
            root_style.data.extend(surface_style.attributes);
            root_style.styles.extend(surface_style.styles);
        }
        Target::Media => root_style.media_styles.push(surface_style),
        Target::Nothing => {}
    }
}

fn has_media(input: &RuneInput<'_>) -> bool {
    input.config.sections.values().any(|role| role == "media")
}

/// Applies the attributes and styles for the media to its element.
pub(super) fn apply_media_attributes(root_style: &mut RootStyle, children: &mut [RenderNode]) {
    for surface_style in std::mem::take(&mut root_style.media_styles) {
        let Some(media) = find::find_media(children) else { return };
        media.attributes.extend(surface_style.attributes);
        append_styles(media, &surface_style.styles);
    }
}
