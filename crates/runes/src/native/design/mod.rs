//! Native runes of the package `design`, one file each. [`tokens`] holds what the token runes share.

mod design_context;
mod mockup;
mod palette;
mod preview;
mod spacing;
mod swatch;
mod tokens;
mod typography;

use super::RuneTransform;

/// The transform of a rune of this package.
pub(super) fn find_transform(rune: &str) -> Option<RuneTransform> {
    Some(match rune {
        "design-context" => design_context::transform,
        "mockup" => mockup::transform,
        "palette" => palette::transform,
        "preview" => preview::transform,
        "spacing" => spacing::transform,
        "swatch" => swatch::transform,
        "typography" => typography::transform,
        _ => return None,
    })
}
