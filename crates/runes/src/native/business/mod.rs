//! The native runes of the package `business`, one file each.

mod cast;
mod organization;
mod timeline;

use super::Transform;

/// The transform of a rune of this package.
pub(super) fn find(rune: &str) -> Option<Transform> {
    Some(match rune {
        "cast" => cast::transform,
        "cast-member" => cast::transform_member,
        "organization" => organization::transform,
        "timeline" => timeline::transform,
        _ => return None,
    })
}
