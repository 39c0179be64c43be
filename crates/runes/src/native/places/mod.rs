//! Native runes of the package `places`, one file each.

mod event;
mod itinerary;
mod map;

use super::RuneTransform;

/// The transform of a rune of this package.
pub(super) fn find_transform(rune: &str) -> Option<RuneTransform> {
    Some(match rune {
        "event" => event::transform,
        "itinerary" => itinerary::transform,
        "itinerary-day" => itinerary::transform_day,
        "map" => map::transform,
        _ => return None,
    })
}
