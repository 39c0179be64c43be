//! Frames around and patterns behind a surface: the rune itself, or its media.
//!
//! Both are worked out early and put on late, since the media's element exists only when the children stand.

use super::find;
use super::look::Look;
use super::style::append;
use super::subject::Subject;
use crate::tree::{Attributes, Node};
use crate::value::to_text;

/// Attributes and styles for a surface.
#[derive(Default)]
pub(super) struct Chrome {
    attributes: Attributes,
    styles: Vec<(String, String)>,
}

/// The surface that is dressed.
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

const CELLS: [(&str, &str); 3] = [("sm", "12px"), ("md", "16px"), ("lg", "24px")];
const OPACITIES: [(&str, &str); 3] = [("sm", "0.25"), ("md", "0.5"), ("lg", "0.85")];

/// The value that belongs to a word.
pub(super) fn word<'w>(words: &[(&str, &'w str)], wanted: &str) -> Option<&'w str> {
    words.iter().find(|(word, _)| *word == wanted).map(|(_, value)| *value)
}

/// Reads fields and remembers which were there.
struct Reader<'s, 'a> {
    subject: &'s Subject<'a>,
    seen: Vec<&'static str>,
}

impl Reader<'_, '_> {
    /// A field as text, where it is not empty.
    fn read(&mut self, field: &'static str) -> Option<String> {
        let value = self.subject.meta(field)?;
        self.seen.push(field);
        Some(to_text(value)).filter(|text| !text.is_empty())
    }
}

/// A frame: a preset's name and what is written beside it.
pub(super) fn apply_frame(subject: &Subject<'_>, look: &mut Look) {
    let mut reader = Reader { subject, seen: Vec::new() };
    let chrome = frame(&mut reader, subject.config.guest_fit.as_deref() == Some("bleed"));
    if reader.seen.is_empty() {
        return;
    }
    look.consume(&reader.seen);
    let target = match subject.config.frame_target.as_deref() {
        Some("self") => Target::Rune,
        Some("media") => Target::Media,
        Some(_) => Target::Nothing,
        None if has_media(subject) => Target::Media,
        None => Target::Nothing,
    };
    put(chrome, &target, look);
}

fn frame(reader: &mut Reader<'_, '_>, is_bleeding: bool) -> Chrome {
    let mut chrome = Chrome::default();
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
    // A displaced guest does what its host does with guests, unless told otherwise.
    let mode = mode.or_else(|| displace.as_ref().filter(|_| is_bleeding).map(|_| "bleed".into()));
    // Where guests are clipped, overflowing would have no effect.
    let overflow = overflow.filter(|overflow| is_bleeding && overflow == "bleed");
    let attributes = [
        ("data-frame", preset),
        ("data-displace", displace),
        ("data-displace-mode", mode),
        ("data-frame-shadow", shadow),
        ("data-frame-overflow", overflow),
    ];
    for (name, value) in attributes {
        chrome.attributes.extend(value.map(|value| (name.to_owned(), value.into())));
    }
    let offset = offset.map(|offset| word(&OFFSETS, &offset).unwrap_or("0").to_owned());
    let styles = [
        ("--frame-aspect", aspect),
        ("--frame-offset", offset),
        ("--frame-oversize", oversize),
        ("--frame-anchor", anchor),
    ];
    for (property, value) in styles {
        chrome.styles.extend(value.map(|value| (property.to_owned(), value)));
    }
    if let Some((x, y)) = place.map(|place| placement(&place)) {
        chrome.styles.push(("--frame-place-x".into(), x.into()));
        chrome.styles.push(("--frame-place-y".into(), y.into()));
    }
    chrome
}

/// `top left` → where along the line and where across it.
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

/// A pattern; its other values mean nothing without one.
pub(super) fn apply_substrate(subject: &Subject<'_>, look: &mut Look) {
    let mut reader = Reader { subject, seen: Vec::new() };
    let pattern = reader.read("substrate");
    let size = reader.read("substrate-size");
    let opacity = reader.read("substrate-opacity");
    let fill = reader.read("substrate-fill");
    let target = reader.read("substrate-target");
    let Some(pattern) = pattern else { return };
    look.consume(&reader.seen);
    let mut chrome = Chrome::default();
    chrome.attributes.insert("data-substrate".into(), pattern.into());
    chrome.attributes.extend(fill.map(|fill| ("data-substrate-fill".to_owned(), fill.into())));
    let cell = size.and_then(|size| word(&CELLS, &size));
    let opacity = opacity.and_then(|opacity| word(&OPACITIES, &opacity));
    chrome.styles.extend(cell.map(|cell| ("--substrate-cell".to_owned(), cell.to_owned())));
    chrome.styles.extend(opacity.map(|opacity| ("--substrate-opacity".to_owned(), opacity.to_owned())));
    let target = match target.as_deref() {
        Some("media") if has_media(subject) => Target::Media,
        Some("media") => Target::Nothing,
        _ => Target::Rune,
    };
    put(chrome, &target, look);
}

fn put(chrome: Chrome, target: &Target, look: &mut Look) {
    match target {
        Target::Rune => {
            look.data.extend(chrome.attributes);
            look.styles.extend(chrome.styles);
        }
        Target::Media => look.media_chrome.push(chrome),
        Target::Nothing => {}
    }
}

fn has_media(subject: &Subject<'_>) -> bool {
    subject.config.sections.values().any(|role| role == "media")
}

/// Puts what is for the media on its element.
pub(super) fn dress_media(look: &mut Look, children: &mut [Node]) {
    for chrome in std::mem::take(&mut look.media_chrome) {
        let Some(media) = find::media(children) else { return };
        media.attributes.extend(chrome.attributes);
        append(media, &chrome.styles);
    }
}
