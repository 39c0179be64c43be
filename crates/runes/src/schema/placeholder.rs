//! Pictures without a file: `placeholder:cover` is drawn, `icon:star` is left to the theme.

use crate::tree::{Node, Tag};
use crate::value::number;

/// Shapes of placeholders with width and height of their drawing.
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

/// What stands for a picture whose source names a scheme of ours; `None` for every other source.
pub fn picture(source: &str, label: &str) -> Option<Node> {
    let (scheme, rest) = source.split_once(':')?;
    if scheme.eq_ignore_ascii_case("placeholder") {
        return Some(drawing(rest, label));
    }
    scheme.eq_ignore_ascii_case("icon").then(|| icon(rest, None, label))
}

/// An icon of the theme, by name. This engine has no icons, so the name stands for the drawing.
pub fn icon(name: &str, size: Option<&str>, label: &str) -> Node {
    let mut tag = Tag::new("span").with("class", "rf-icon").with("data-icon", name);
    if let Some(size) = size {
        tag = tag.with("style", format!("width:{size};height:{size}"));
    }
    labelled(tag, label).into()
}

fn labelled(tag: Tag, label: &str) -> Tag {
    if label.is_empty() { tag } else { tag.with("role", "img").with("aria-label", label) }
}

/// A drawing in the colours of the theme. A shape that is not known is a cover.
fn drawing(shape: &str, label: &str) -> Node {
    let known = SHAPES.iter().find(|(name, _, _)| *name == shape);
    let &(shape, width, height) = known.unwrap_or(&("cover", 1600.0, 900.0));
    let tag = Tag::new("svg")
        .with("class", "rf-placeholder")
        .with("data-shape", shape)
        .with("viewBox", format!("0 0 {width} {height}"))
        .with("preserveAspectRatio", "xMidYMid slice")
        .with("width", "100%")
        .with("fill", "none");
    let tag = if label.is_empty() { tag.with("aria-hidden", "true") } else { labelled(tag, label) };
    let scene = if shape == "avatar" { portrait(width, height) } else { landscape(width, height) };
    tag.holding(scene.map(Node::from)).into()
}

/// Half up, as the original rounds.
fn round(value: f64) -> f64 {
    (value + 0.5).floor()
}

fn shape(name: &str, numbers: &[(&str, f64)]) -> Tag {
    numbers.iter().fold(Tag::new(name), |tag, &(key, value)| tag.with(key, number(value)))
}

/// Ground, sun, hill and frame.
fn landscape(w: f64, h: f64) -> [Tag; 4] {
    let small = w.min(h);
    let stroke = round(small * 0.008);
    let hill = format!(
        "M0 {} Q {} {} {} {} T {w} {} L {w} {h} L 0 {h} Z",
        round(h * 0.72),
        round(w * 0.28),
        round(h * 0.55),
        round(w * 0.5),
        round(h * 0.7),
        round(h * 0.64),
    );
    let inset = round(stroke / 2.0);
    let frame = [("x", inset), ("y", inset), ("width", round(w - stroke)), ("height", round(h - stroke))];
    [
        shape("rect", &[("x", 0.0), ("y", 0.0), ("width", w), ("height", h)]).with("fill", SURFACE),
        shape("circle", &[("cx", round(w * 0.76)), ("cy", round(h * 0.3)), ("r", round(small * 0.1))])
            .with("fill", BORDER),
        Tag::new("path").with("d", hill).with("fill", MUTED),
        shape("rect", &frame)
            .with("fill", "none")
            .with("stroke", BORDER)
            .with("stroke-width", number(stroke)),
    ]
}

/// Field, shoulders, head and ring.
fn portrait(w: f64, h: f64) -> [Tag; 4] {
    let (cx, cy) = (round(w / 2.0), round(h / 2.0));
    let stroke = round(w.min(h) * 0.02);
    let shoulders = format!("M {} {h} Q {cx} {} {} {h} Z", round(w * 0.24), round(h * 0.6), round(w * 0.76));
    [
        shape("circle", &[("cx", cx), ("cy", cy), ("r", round(w / 2.0))]).with("fill", SURFACE),
        Tag::new("path").with("d", shoulders).with("fill", MUTED),
        shape("circle", &[("cx", cx), ("cy", round(h * 0.42)), ("r", round(w * 0.16))]).with("fill", MUTED),
        shape("circle", &[("cx", cx), ("cy", cy), ("r", round(w / 2.0 - stroke))])
            .with("fill", "none")
            .with("stroke", BORDER)
            .with("stroke-width", number(stroke)),
    ]
}
