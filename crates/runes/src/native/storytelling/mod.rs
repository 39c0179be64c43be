//! The native runes of the package `storytelling`, one file each.

mod beat;
mod entry;
mod storyboard;

use super::Transform;

/// The transform of a rune of this package.
pub(super) fn find(rune: &str) -> Option<Transform> {
    Some(match rune {
        "beat" => beat::transform,
        "plot" => beat::plot,
        "character" => entry::character,
        "faction" => entry::faction,
        "realm" => entry::realm,
        "storyboard" => storyboard::transform,
        "storyboard-panel" => storyboard::panel,
        _ => return None,
    })
}
