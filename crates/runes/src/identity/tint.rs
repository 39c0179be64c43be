//! Tints: colours of one rune, by the name of a preset or written out, and the scheme that it is locked to.
//!
//! Presets belong to a theme. There is none here, so a name is passed on for the style sheet to know.

use super::look::Look;
use super::subject::Subject;

/// The colours that a tint may set, in order.
const TOKENS: [&str; 6] = ["bg", "surface", "text", "muted", "primary", "border"];

pub(super) fn apply(subject: &Subject<'_>, look: &mut Look) {
    let name = subject.meta_text("tint");
    let mode = subject.meta_text("tint-mode");
    if name.is_none() && mode.is_none() {
        return;
    }
    look.consume(&["tint", "tint-mode"]);
    let has_colours = colours(subject, "tint", look) > 0;
    let has_dark_colours = colours(subject, "tint-dark", look) > 0;
    if name.is_some() || has_colours {
        look.set("data-tint", name.unwrap_or_else(|| "custom".into()));
    }
    // `auto` is no lock at all.
    if let Some(mode) = mode.filter(|mode| mode != "auto") {
        look.set("data-color-scheme", mode.as_str());
        look.color_scheme = Some(mode);
    }
    if has_dark_colours {
        look.set("data-tint-dark", "");
    }
    if has_colours {
        look.class(subject, "tinted");
    }
}

/// Turns the colours of one scheme into styles and counts them.
fn colours(subject: &Subject<'_>, prefix: &str, look: &mut Look) -> usize {
    let mut count = 0;
    for token in TOKENS {
        let field = format!("{prefix}-{token}");
        if let Some(colour) = subject.meta_text(&field) {
            look.style(&format!("--{field}"), colour);
            look.consumed.push(field);
            count += 1;
        }
    }
    count
}
