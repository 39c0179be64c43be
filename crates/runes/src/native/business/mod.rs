//! Native runes of the package `business`, one file each.

mod cast;
mod organization;
mod timeline;

use super::RuneTransform;

/// The transform of a rune of this package.
pub(super) fn find_transform(rune: &str) -> Option<RuneTransform> {
    Some(match rune {
        "cast" => cast::transform,
        "cast-member" => cast::transform_member,
        "organization" => organization::transform,
        "timeline" => timeline::transform,
        _ => return None,
    })
}
