//! The native runes of the package `plan`, one file each.

mod entity;
mod listing;
mod progress;

use super::Transform;

/// The transform of a rune of this package.
pub(super) fn find(rune: &str) -> Option<Transform> {
    Some(match rune {
        "spec" => entity::spec,
        "work" => entity::work,
        "bug" => entity::bug,
        "decision" => entity::decision,
        "milestone" => entity::milestone,
        "backlog" => listing::backlog,
        "decision-log" => listing::decision_log,
        "plan-activity" => listing::activity,
        "plan-progress" => progress::transform,
        _ => return None,
    })
}
