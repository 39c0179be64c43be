//! The reading mode of body text: fine print, interface, prose. Only prose may have a drop cap.

use super::root_style::RootStyle;
use super::rune_input::RuneInput;
use crate::js_value::is_truthy;

const READING_MODES: [&str; 3] = ["fine", "ui", "prose"];

/// The mode of unmarked text; not written to the output.
pub(super) const DEFAULT_READING_MODE: &str = "ui";

pub(super) fn apply(input: &RuneInput<'_>, root_style: &mut RootStyle) {
    // An unknown mode counts as none.
    let requested = input.tag.attr_str("reading").filter(|mode| READING_MODES.contains(mode));
    let mode = requested.or(input.config.default_reading.as_deref()).unwrap_or(DEFAULT_READING_MODE);
    root_style.has_dropcap = mode == "prose" && input.attribute("dropcap").is_some_and(is_truthy);
    root_style.reading_mode = mode.to_owned();
}
