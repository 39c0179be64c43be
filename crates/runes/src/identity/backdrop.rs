//! The backdrop: a layer behind the content with an image or gradient, a video or a sandbox, a wash of colour and a scrim.
//!
//! Presets belong to a theme. There is none here, so a name is passed on for the style sheet to know.

use super::chrome::word;
use super::look::Look;
use super::subject::Subject;
use crate::tree::{Node, Tag};
use crate::value::{leading_number, number_text, truthy};

/// Fields that the backdrop has done with once it is there.
const FIELDS: [&str; 20] = [
    "bg-preset",
    "bg-src",
    "bg-video",
    "bg-overlay",
    "bg-blur",
    "bg-position",
    "bg-fit",
    "bg-opacity",
    "bg-fixed",
    "bg-gradient",
    "bg-from",
    "bg-via",
    "bg-to",
    "bg-gradient-type",
    "bg-overlay-opacity",
    "scrim",
    "scrim-type",
    "scrim-strength",
    "scrim-blur",
    "scrim-tone",
];

/// Mark of a sandbox that stands behind the content instead of in it.
const GUEST: &str = "data-bg-guest";

const DIRECTIONS: [(&str, &str); 8] = [
    ("to-t", "to top"),
    ("to-b", "to bottom"),
    ("to-l", "to left"),
    ("to-r", "to right"),
    ("to-tr", "to top right"),
    ("to-br", "to bottom right"),
    ("to-bl", "to bottom left"),
    ("to-tl", "to top left"),
];

const BLURS: [(&str, &str); 3] = [("sm", "4px"), ("md", "8px"), ("lg", "16px")];
const STRENGTHS: [(&str, &str); 3] = [("sm", "0.3"), ("md", "0.55"), ("lg", "0.8")];

pub(super) fn apply(subject: &Subject<'_>, look: &mut Look) {
    let field = |name| subject.meta_text(name);
    let (preset, source, video, overlay) =
        (field("bg-preset"), field("bg-src"), field("bg-video"), field("bg-overlay"));
    let gradient = gradient(subject);
    // In a cover the scrim lies on the media, not here.
    let scrim_edge = field("scrim").filter(|edge| edge != "none" && !look.is_cover);
    let guest = subject.tag.children.iter().find(|child| is_guest(child));
    let image = source.map(|source| format!("url({source})")).or(gradient);
    let is_there = [&preset, &image, &video, &overlay, &scrim_edge].iter().any(|part| part.is_some());
    if !is_there && guest.is_none() {
        return;
    }
    let styles = styles(subject, image);
    let mut layer = Tag::new("div").with("data-name", "bg");
    if let Some(preset) = preset {
        layer = layer.with("data-bg-preset", preset);
    }
    if !styles.is_empty() {
        layer = layer.with("style", styles.join("; "));
    }
    if subject.meta("bg-fixed").is_some_and(truthy) {
        layer = layer.with("data-bg-fixed", "");
    }
    layer.children.extend(video.map(|source| moving(source, &styles)));
    layer.children.extend(guest.cloned());
    layer.children.extend(overlay.map(|overlay| wash(&overlay, field("bg-overlay-opacity"))));
    layer.children.extend(scrim_edge.map(|edge| scrim(subject, edge, look)));
    look.set("data-bg", "");
    look.class(subject, "has-bg");
    look.consume(&FIELDS);
    look.backdrop = Some(layer.into());
}

/// Takes the guest out of the content: it stands in the backdrop now.
pub(super) fn take_guest_out(children: &mut Vec<Node>) {
    if let Some(at) = children.iter().position(is_guest) {
        children.remove(at);
    }
}

fn is_guest(node: &Node) -> bool {
    node.as_tag().is_some_and(|tag| tag.attributes.contains_key(GUEST))
}

fn styles(subject: &Subject<'_>, image: Option<String>) -> Vec<String> {
    let blur =
        subject.meta_text("bg-blur").map(|blur| word(&BLURS, &blur).map_or(blur.clone(), str::to_owned));
    let styles = [
        ("--bg-image", image),
        ("--bg-position", subject.meta_text("bg-position")),
        ("--bg-blur", blur),
        ("--bg-fit", subject.meta_text("bg-fit")),
        ("--bg-opacity", subject.meta_text("bg-opacity")),
    ];
    let given = styles.into_iter().filter_map(|(property, value)| Some(format!("{property}: {}", value?)));
    given.collect()
}

fn moving(source: String, styles: &[String]) -> Node {
    let mut video = Tag::new("video").with("data-name", "bg-video");
    for attribute in ["autoplay", "muted", "loop", "playsinline"] {
        video = video.with(attribute, "");
    }
    video = video.with("src", source);
    if !styles.is_empty() {
        // The image is what is seen before the video plays.
        let own: Vec<&str> =
            styles.iter().map(String::as_str).filter(|style| !style.starts_with("--bg-image")).collect();
        video = video.with("style", own.join("; "));
    }
    video.into()
}

/// A colour all over: dark, light, a token of the theme, or CSS as it is.
fn wash(colour: &str, opacity: Option<String>) -> Node {
    let layer = Tag::new("div").with("data-name", "bg-overlay");
    let opacity = opacity.map(|opacity| format!("opacity: {opacity}"));
    if matches!(colour, "dark" | "light") {
        let layer = layer.with("data-bg-overlay", colour);
        return match opacity {
            Some(opacity) => layer.with("style", opacity),
            None => layer,
        }
        .into();
    }
    if !is_token(colour) {
        return layer.with("style", format!("background: {colour}")).into();
    }
    let background = format!("background: var(--rf-color-{colour})");
    let styles: Vec<String> = std::iter::once(background).chain(opacity).collect();
    layer.with("style", styles.join("; ")).into()
}

fn is_token(text: &str) -> bool {
    text.starts_with(|first: char| first.is_ascii_lowercase())
        && text.chars().all(|letter| letter.is_ascii_lowercase() || letter.is_ascii_digit() || letter == '-')
}

/// What keeps text on the backdrop legible; text takes the colours that go with its tone.
fn scrim(subject: &Subject<'_>, edge: String, look: &mut Look) -> Node {
    let or = |field, default: &str| match subject.meta(field) {
        Some(value) => crate::value::to_text(value),
        None => default.to_owned(),
    };
    let (kind, tone) = (or("scrim-type", "gradient"), or("scrim-tone", "dark"));
    let style = if kind == "frost" {
        let blur = or("scrim-blur", "md");
        format!("--scrim-blur: {}", word(&BLURS, &blur).unwrap_or("8px"))
    } else {
        let strength = or("scrim-strength", "md");
        format!("--scrim-strength: {}", word(&STRENGTHS, &strength).unwrap_or("0.55"))
    };
    if look.color_scheme.is_none() {
        look.set("data-color-scheme", tone.as_str());
        look.color_scheme = Some(tone.clone()).filter(|tone| !tone.is_empty());
    }
    Tag::new("div")
        .with("data-name", "scrim")
        .with("data-scrim", kind)
        .with("data-scrim-tone", tone)
        .with("data-scrim-dir", edge)
        .with("style", style)
        .into()
}

/// A gradient out of tokens of the theme; none with fewer than two colours.
fn gradient(subject: &Subject<'_>) -> Option<String> {
    let stops = ["bg-from", "bg-via", "bg-to"].into_iter().filter_map(|field| subject.meta_text(field));
    let stops: Vec<String> = stops.map(|stop| colour(&stop)).collect();
    if stops.len() < 2 {
        return None;
    }
    let stops = stops.join(", ");
    Some(match subject.meta_text("bg-gradient-type").as_deref() {
        Some("radial") => format!("radial-gradient({stops})"),
        Some("conic") => format!("conic-gradient({stops})"),
        _ => {
            let direction = subject.meta_text("bg-gradient").unwrap_or_else(|| "to-b".into());
            format!("linear-gradient({}, {stops})", word(&DIRECTIONS, &direction).unwrap_or("to bottom"))
        }
    })
}

/// `primary`, or `primary/40` for two fifths of it.
fn colour(stop: &str) -> String {
    if stop == "transparent" {
        return stop.to_owned();
    }
    if let Some((name, share)) =
        stop.split_once('/').filter(|(name, share)| !name.is_empty() && !share.is_empty())
        && let Some(share) = leading_number(share.strip_suffix('%').unwrap_or(share))
    {
        let share = if share > 1.0 { share / 100.0 } else { share };
        if (0.0..=1.0).contains(&share) {
            let percent = number_text(share * 100.0);
            return format!("color-mix(in srgb, var(--rf-color-{name}) {percent}%, transparent)");
        }
    }
    format!("var(--rf-color-{stop})")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_may_be_thin() {
        assert_eq!(colour("primary"), "var(--rf-color-primary)");
        assert_eq!(colour("transparent"), "transparent");
        let half = "color-mix(in srgb, var(--rf-color-accent) 50%, transparent)";
        for stop in ["accent/50", "accent/0.5", "accent/50%"] {
            assert_eq!(colour(stop), half, "{stop}");
        }
        assert_eq!(colour("accent/500"), "var(--rf-color-accent/500)");
        assert_eq!(colour("accent/x"), "var(--rf-color-accent/x)");
        assert_eq!(colour("/5"), "var(--rf-color-/5)");
    }
}
