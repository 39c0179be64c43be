//! The native runes of the package `places`, one file each.

mod event;
mod itinerary;
mod map;

use super::Transform;

/// The transform of a rune of this package.
pub(super) fn find(rune: &str) -> Option<Transform> {
    Some(match rune {
        "event" => event::transform,
        "itinerary" => itinerary::transform,
        "itinerary-day" => itinerary::day,
        "map" => map::transform,
        _ => return None,
    })
}
