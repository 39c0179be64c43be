//! The native runes of the package `docs`, one file each.

mod changelog;
mod symbol;

use super::Transform;

/// The transform of a rune of this package.
pub(super) fn find(rune: &str) -> Option<Transform> {
    Some(match rune {
        "changelog" => changelog::transform,
        "symbol" => symbol::transform,
        "symbol-group" => symbol::group,
        "symbol-member" => symbol::member,
        _ => return None,
    })
}
