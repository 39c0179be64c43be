//! The backdrop: a layer behind the content with an image, gradient, video or sandbox, an overlay colour and a scrim.
//!
//! Presets belong to a theme. There is no theme here, so preset names are passed on to the style sheet.

use super::root_style::RootStyle;
use super::rune_input::RuneInput;
use super::surface_style::lookup;
use crate::js_value::{format_js_number, is_truthy, parse_float};
use crate::render_tree::{Element, RenderNode};

/// Fields that the backdrop consumes.
const CONSUMED_FIELDS: [&str; 20] = [
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

/// Marks a sandbox that is part of the backdrop instead of the content.
const BACKGROUND_SANDBOX_ATTRIBUTE: &str = "data-bg-guest";

const GRADIENT_DIRECTIONS: [(&str, &str); 8] = [
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

pub(super) fn apply(input: &RuneInput<'_>, root_style: &mut RootStyle) {
    let field_text = |name| input.meta_text(name);
    let (preset, source, video, overlay) =
        (field_text("bg-preset"), field_text("bg-src"), field_text("bg-video"), field_text("bg-overlay"));
    let gradient = gradient_css(input);
    // In a cover the scrim is on the media.
    let scrim_edge = field_text("scrim").filter(|edge| edge != "none" && !root_style.is_cover);
    let sandbox = input.tag.children.iter().find(|child| is_background_sandbox(child));
    let image = source.map(|source| format!("url({source})")).or(gradient);
    let has_visual = [&preset, &image, &video, &overlay, &scrim_edge].iter().any(|part| part.is_some());
    if !has_visual && sandbox.is_none() {
        return;
    }
    let styles = background_styles(input, image);
    let mut layer = Element::new("div").with_attr("data-name", "bg");
    if let Some(preset) = preset {
        layer = layer.with_attr("data-bg-preset", preset);
    }
    if !styles.is_empty() {
        layer = layer.with_attr("style", styles.join("; "));
    }
    if input.meta("bg-fixed").is_some_and(is_truthy) {
        layer = layer.with_attr("data-bg-fixed", "");
    }
    layer.children.extend(video.map(|source| video_layer(source, &styles)));
    layer.children.extend(sandbox.cloned());
    layer.children.extend(overlay.map(|overlay| overlay_layer(&overlay, field_text("bg-overlay-opacity"))));
    layer.children.extend(scrim_edge.map(|edge| scrim_layer(input, edge, root_style)));
    root_style.set_data_attr("data-bg", "");
    root_style.add_class(input, "has-bg");
    root_style.mark_consumed(&CONSUMED_FIELDS);
    root_style.backdrop = Some(layer.into());
}

/// Removes the sandbox from the content: it is in the backdrop now.
pub(super) fn remove_background_sandbox(children: &mut Vec<RenderNode>) {
    if let Some(index) = children.iter().position(is_background_sandbox) {
        children.remove(index);
    }
}

fn is_background_sandbox(node: &RenderNode) -> bool {
    node.as_element().is_some_and(|tag| tag.attributes.contains_key(BACKGROUND_SANDBOX_ATTRIBUTE))
}

fn background_styles(input: &RuneInput<'_>, image: Option<String>) -> Vec<String> {
    let blur =
        input.meta_text("bg-blur").map(|blur| lookup(&BLURS, &blur).map_or(blur.clone(), str::to_owned));
    let styles = [
        ("--bg-image", image),
        ("--bg-position", input.meta_text("bg-position")),
        ("--bg-blur", blur),
        ("--bg-fit", input.meta_text("bg-fit")),
        ("--bg-opacity", input.meta_text("bg-opacity")),
    ];
    let declarations =
        styles.into_iter().filter_map(|(property, value)| Some(format!("{property}: {}", value?)));
    declarations.collect()
}

fn video_layer(source: String, styles: &[String]) -> RenderNode {
    let mut video = Element::new("video").with_attr("data-name", "bg-video");
    for attribute in ["autoplay", "muted", "loop", "playsinline"] {
        video = video.with_attr(attribute, "");
    }
    video = video.with_attr("src", source);
    if !styles.is_empty() {
        // The image is shown until the video plays.
        let video_styles: Vec<&str> =
            styles.iter().map(String::as_str).filter(|style| !style.starts_with("--bg-image")).collect();
        video = video.with_attr("style", video_styles.join("; "));
    }
    video.into()
}

/// An overlay colour: dark, light, a token of the theme, or CSS.
fn overlay_layer(colour: &str, opacity: Option<String>) -> RenderNode {
    let layer = Element::new("div").with_attr("data-name", "bg-overlay");
    let opacity = opacity.map(|opacity| format!("opacity: {opacity}"));
    if matches!(colour, "dark" | "light") {
        let layer = layer.with_attr("data-bg-overlay", colour);
        return match opacity {
            Some(opacity) => layer.with_attr("style", opacity),
            None => layer,
        }
        .into();
    }
    if !is_token(colour) {
        return layer.with_attr("style", format!("background: {colour}")).into();
    }
    let background = format!("background: var(--rf-color-{colour})");
    let styles: Vec<String> = std::iter::once(background).chain(opacity).collect();
    layer.with_attr("style", styles.join("; ")).into()
}

fn is_token(text: &str) -> bool {
    text.starts_with(|first: char| first.is_ascii_lowercase())
        && text.chars().all(|letter| letter.is_ascii_lowercase() || letter.is_ascii_digit() || letter == '-')
}

/// The scrim, which keeps text on the backdrop legible. The text gets the colour scheme of its tone.
fn scrim_layer(input: &RuneInput<'_>, edge: String, root_style: &mut RootStyle) -> RenderNode {
    let field_or = |field, default: &str| match input.meta(field) {
        Some(value) => crate::js_value::to_js_string(value),
        None => default.to_owned(),
    };
    let (kind, tone) = (field_or("scrim-type", "gradient"), field_or("scrim-tone", "dark"));
    let style = if kind == "frost" {
        let blur = field_or("scrim-blur", "md");
        format!("--scrim-blur: {}", lookup(&BLURS, &blur).unwrap_or("8px"))
    } else {
        let strength = field_or("scrim-strength", "md");
        format!("--scrim-strength: {}", lookup(&STRENGTHS, &strength).unwrap_or("0.55"))
    };
    if root_style.color_scheme.is_none() {
        root_style.set_data_attr("data-color-scheme", tone.as_str());
        root_style.color_scheme = Some(tone.clone()).filter(|tone| !tone.is_empty());
    }
    Element::new("div")
        .with_attr("data-name", "scrim")
        .with_attr("data-scrim", kind)
        .with_attr("data-scrim-tone", tone)
        .with_attr("data-scrim-dir", edge)
        .with_attr("style", style)
        .into()
}

/// A gradient of theme colours; `None` with fewer than two.
fn gradient_css(input: &RuneInput<'_>) -> Option<String> {
    let stops = ["bg-from", "bg-via", "bg-to"].into_iter().filter_map(|field| input.meta_text(field));
    let stops: Vec<String> = stops.map(|stop| stop_colour(&stop)).collect();
    if stops.len() < 2 {
        return None;
    }
    let stops = stops.join(", ");
    Some(match input.meta_text("bg-gradient-type").as_deref() {
        Some("radial") => format!("radial-gradient({stops})"),
        Some("conic") => format!("conic-gradient({stops})"),
        _ => {
            let direction = input.meta_text("bg-gradient").unwrap_or_else(|| "to-b".into());
            format!(
                "linear-gradient({}, {stops})",
                lookup(&GRADIENT_DIRECTIONS, &direction).unwrap_or("to bottom")
            )
        }
    })
}

/// `primary`, or `primary/40` for 40 %.
fn stop_colour(stop: &str) -> String {
    if stop == "transparent" {
        return stop.to_owned();
    }
    if let Some((name, share)) =
        stop.split_once('/').filter(|(name, share)| !name.is_empty() && !share.is_empty())
        && let Some(share) = parse_float(share.strip_suffix('%').unwrap_or(share))
    {
        let share = if share > 1.0 { share / 100.0 } else { share };
        if (0.0..=1.0).contains(&share) {
            let percent = format_js_number(share * 100.0);
            return format!("color-mix(in srgb, var(--rf-color-{name}) {percent}%, transparent)");
        }
    }
    format!("var(--rf-color-{stop})")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gradient_stop_supports_opacity() {
        assert_eq!(stop_colour("primary"), "var(--rf-color-primary)");
        assert_eq!(stop_colour("transparent"), "transparent");
        let half = "color-mix(in srgb, var(--rf-color-accent) 50%, transparent)";
        for stop in ["accent/50", "accent/0.5", "accent/50%"] {
            assert_eq!(stop_colour(stop), half, "{stop}");
        }
        assert_eq!(stop_colour("accent/500"), "var(--rf-color-accent/500)");
        assert_eq!(stop_colour("accent/x"), "var(--rf-color-accent/x)");
        assert_eq!(stop_colour("/5"), "var(--rf-color-/5)");
    }
}
