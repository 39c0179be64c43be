//! Native runes of the package `storytelling`, one file each.

mod beat;
mod entry;
mod storyboard;

use super::RuneTransform;

/// The transform of a rune of this package.
pub(super) fn find_transform(rune: &str) -> Option<RuneTransform> {
    Some(match rune {
        "beat" => beat::transform,
        "plot" => beat::transform_plot,
        "character" => entry::transform_character,
        "faction" => entry::transform_faction,
        "realm" => entry::transform_realm,
        "storyboard" => storyboard::transform,
        "storyboard-panel" => storyboard::transform_panel,
        _ => return None,
    })
}
