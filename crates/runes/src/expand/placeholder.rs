//! Images without a file: `placeholder:cover` is an inline SVG, `icon:star` is left to the theme.

use crate::js_value::json_number;
use crate::render_tree::{Element, RenderNode};

/// Placeholder shapes: name, width, height.
const SHAPES: [(&str, f64, f64); 7] = [
    ("cover", 1600.0, 900.0),
    ("square", 1000.0, 1000.0),
    ("portrait", 750.0, 1000.0),
    ("wide", 2400.0, 1000.0),
    ("banner", 1800.0, 600.0),
    ("avatar", 1000.0, 1000.0),
    ("thumbnail", 800.0, 600.0),
];

const SURFACE: &str = "var(--rf-color-surface)";
const BORDER: &str = "var(--rf-color-border)";
const MUTED: &str = "var(--rf-color-muted)";

/// The node for an image source with one of our schemes; `None` for other sources.
pub fn placeholder_or_icon(source: &str, label: &str) -> Option<RenderNode> {
    let (scheme, rest) = source.split_once(':')?;
    if scheme.eq_ignore_ascii_case("placeholder") {
        return Some(placeholder_svg(rest, label));
    }
    scheme.eq_ignore_ascii_case("icon").then(|| icon(rest, None, label))
}

/// An icon of the theme, by name. There are no icon files here, so only the name is passed on.
pub fn icon(name: &str, size: Option<&str>, label: &str) -> RenderNode {
    let mut tag = Element::new("span").with_attr("class", "rf-icon").with_attr("data-icon", name);
    if let Some(size) = size {
        tag = tag.with_attr("style", format!("width:{size};height:{size}"));
    }
    with_label(tag, label).into()
}

fn with_label(tag: Element, label: &str) -> Element {
    if label.is_empty() { tag } else { tag.with_attr("role", "img").with_attr("aria-label", label) }
}

/// An inline SVG in the theme's colours. An unknown shape renders as `cover`.
fn placeholder_svg(shape: &str, label: &str) -> RenderNode {
    let entry = SHAPES.iter().find(|(name, _, _)| *name == shape);
    let &(shape, width, height) = entry.unwrap_or(&("cover", 1600.0, 900.0));
    let tag = Element::new("svg")
        .with_attr("class", "rf-placeholder")
        .with_attr("data-shape", shape)
        .with_attr("viewBox", format!("0 0 {width} {height}"))
        .with_attr("preserveAspectRatio", "xMidYMid slice")
        .with_attr("width", "100%")
        .with_attr("fill", "none");
    let tag = if label.is_empty() { tag.with_attr("aria-hidden", "true") } else { with_label(tag, label) };
    let scene = if shape == "avatar" { portrait(width, height) } else { landscape(width, height) };
    tag.with_children(scene.map(RenderNode::from)).into()
}

/// Rounds half up, as JavaScript does.
fn round_half_up(value: f64) -> f64 {
    (value + 0.5).floor()
}

fn svg_shape(name: &str, numbers: &[(&str, f64)]) -> Element {
    numbers.iter().fold(Element::new(name), |tag, &(key, value)| tag.with_attr(key, json_number(value)))
}

/// Background, sun, hill and frame.
fn landscape(w: f64, h: f64) -> [Element; 4] {
    let shorter_side = w.min(h);
    let stroke = round_half_up(shorter_side * 0.008);
    let hill = format!(
        "M0 {} Q {} {} {} {} T {w} {} L {w} {h} L 0 {h} Z",
        round_half_up(h * 0.72),
        round_half_up(w * 0.28),
        round_half_up(h * 0.55),
        round_half_up(w * 0.5),
        round_half_up(h * 0.7),
        round_half_up(h * 0.64),
    );
    let inset = round_half_up(stroke / 2.0);
    let frame = [
        ("x", inset),
        ("y", inset),
        ("width", round_half_up(w - stroke)),
        ("height", round_half_up(h - stroke)),
    ];
    [
        svg_shape("rect", &[("x", 0.0), ("y", 0.0), ("width", w), ("height", h)]).with_attr("fill", SURFACE),
        svg_shape(
            "circle",
            &[
                ("cx", round_half_up(w * 0.76)),
                ("cy", round_half_up(h * 0.3)),
                ("r", round_half_up(shorter_side * 0.1)),
            ],
        )
        .with_attr("fill", BORDER),
        Element::new("path").with_attr("d", hill).with_attr("fill", MUTED),
        svg_shape("rect", &frame)
            .with_attr("fill", "none")
            .with_attr("stroke", BORDER)
            .with_attr("stroke-width", json_number(stroke)),
    ]
}

/// Background, shoulders, head and ring.
fn portrait(w: f64, h: f64) -> [Element; 4] {
    let (cx, cy) = (round_half_up(w / 2.0), round_half_up(h / 2.0));
    let stroke = round_half_up(w.min(h) * 0.02);
    let shoulders = format!(
        "M {} {h} Q {cx} {} {} {h} Z",
        round_half_up(w * 0.24),
        round_half_up(h * 0.6),
        round_half_up(w * 0.76)
    );
    [
        svg_shape("circle", &[("cx", cx), ("cy", cy), ("r", round_half_up(w / 2.0))])
            .with_attr("fill", SURFACE),
        Element::new("path").with_attr("d", shoulders).with_attr("fill", MUTED),
        svg_shape("circle", &[("cx", cx), ("cy", round_half_up(h * 0.42)), ("r", round_half_up(w * 0.16))])
            .with_attr("fill", MUTED),
        svg_shape("circle", &[("cx", cx), ("cy", cy), ("r", round_half_up(w / 2.0 - stroke))])
            .with_attr("fill", "none")
            .with_attr("stroke", BORDER)
            .with_attr("stroke-width", json_number(stroke)),
    ]
}
