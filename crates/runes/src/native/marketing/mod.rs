//! Native runes of the package `marketing`, one file each.

mod actions;
mod bento;
mod bento_cell;
mod comparison;
mod comparison_table;
mod cta;
mod definition;
mod feature;
mod hero;
mod pricing;
mod steps;
mod testimonial;

use super::RuneTransform;

/// The transform of a rune of this package.
pub(super) fn find_transform(rune: &str) -> Option<RuneTransform> {
    Some(match rune {
        "hero" => hero::transform,
        "cta" => cta::transform,
        "bento" => bento::transform,
        "bento-cell" => bento_cell::transform,
        "feature" => feature::transform,
        "definition" => definition::transform,
        "steps" => steps::transform,
        "step" => steps::transform_step,
        "pricing" => pricing::transform,
        "tier" => pricing::transform_tier,
        "testimonial" => testimonial::transform,
        "comparison" => comparison::transform,
        "comparison-column" => comparison::transform_column,
        _ => return None,
    })
}

/// Arguments that a rune of this package passes to nested runes and does not use itself.
pub(super) fn forwarded_attributes(rune: &str) -> &'static [&'static str] {
    if rune == "bento" { &bento::FORWARDED_ATTRIBUTES } else { &[] }
}
