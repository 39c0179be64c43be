//! Tints: the colours of one rune, by preset name or as values, and the colour scheme that it is locked to.
//!
//! Presets belong to a theme. There is no theme here, so preset names are passed on to the style sheet.

use super::root_style::RootStyle;
use super::rune_input::RuneInput;

/// The colours that a tint may set, in output order.
const COLOUR_TOKENS: [&str; 6] = ["bg", "surface", "text", "muted", "primary", "border"];

pub(super) fn apply(input: &RuneInput<'_>, root_style: &mut RootStyle) {
    let name = input.meta_text("tint");
    let mode = input.meta_text("tint-mode");
    if name.is_none() && mode.is_none() {
        return;
    }
    root_style.mark_consumed(&["tint", "tint-mode"]);
    let has_colours = apply_colours(input, "tint", root_style) > 0;
    let has_dark_colours = apply_colours(input, "tint-dark", root_style) > 0;
    if name.is_some() || has_colours {
        root_style.set_data_attr("data-tint", name.unwrap_or_else(|| "custom".into()));
    }
    // `auto` does not lock the scheme.
    if let Some(mode) = mode.filter(|mode| mode != "auto") {
        root_style.set_data_attr("data-color-scheme", mode.as_str());
        root_style.color_scheme = Some(mode);
    }
    if has_dark_colours {
        root_style.set_data_attr("data-tint-dark", "");
    }
    if has_colours {
        root_style.add_class(input, "tinted");
    }
}

/// Converts the colours of one scheme to styles; returns their number.
fn apply_colours(input: &RuneInput<'_>, prefix: &str, root_style: &mut RootStyle) -> usize {
    let mut count = 0;
    for token in COLOUR_TOKENS {
        let field = format!("{prefix}-{token}");
        if let Some(colour) = input.meta_text(&field) {
            root_style.add_style(&format!("--{field}"), colour);
            root_style.consumed.push(field);
            count += 1;
        }
    }
    count
}
