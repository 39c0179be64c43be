//! Native runes of the package `docs`, one file each.

mod changelog;
mod symbol;

use super::RuneTransform;

/// The transform of a rune of this package.
pub(super) fn find_transform(rune: &str) -> Option<RuneTransform> {
    Some(match rune {
        "changelog" => changelog::transform,
        "symbol" => symbol::transform,
        "symbol-group" => symbol::transform_group,
        "symbol-member" => symbol::transform_member,
        _ => return None,
    })
}
