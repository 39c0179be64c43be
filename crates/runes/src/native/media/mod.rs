//! Native runes of the package `media`, one file each.

mod audio;
mod cues;
mod duration;
mod playlist;
mod track;

use super::RuneTransform;

/// The transform of a rune of this package. Two have an older name.
pub(super) fn find_transform(rune: &str) -> Option<RuneTransform> {
    Some(match rune {
        "playlist" | "music-playlist" => playlist::transform,
        "track" | "music-recording" => track::transform,
        "audio" => audio::transform,
        _ => return None,
    })
}
