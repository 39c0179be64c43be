//! Native runes of the package `plan`, one file each.

mod entity;
mod listing;
mod progress;

use super::RuneTransform;

/// The transform of a rune of this package.
pub(super) fn find_transform(rune: &str) -> Option<RuneTransform> {
    Some(match rune {
        "spec" => entity::transform_spec,
        "work" => entity::transform_work,
        "bug" => entity::transform_bug,
        "decision" => entity::transform_decision,
        "milestone" => entity::transform_milestone,
        "backlog" => listing::transform_backlog,
        "decision-log" => listing::transform_decision_log,
        "plan-activity" => listing::transform_activity,
        "plan-progress" => progress::transform,
        _ => return None,
    })
}
