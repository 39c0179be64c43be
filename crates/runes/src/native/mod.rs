//! Runes that a template cannot express, one file each; what the file does and why it is code stands at its top.
//!
//! A transform is given the [`RuneUse`]: the arguments, and what the content model found in the body. It renders nodes with
//! [`RenderContext::nodes`] and builds its root with [`Component`](crate::schema::Component). The packages each have a folder and a table of their own.

mod business;
mod core;
mod design;
mod docs;
mod learning;
mod marketing;
mod media;
mod places;
mod plan;
mod storytelling;

use crate::catalogue::{CORE, Rune};
use crate::expand::render_context::Result;
use crate::expand::{RenderContext, RuneUse};
use crate::render_tree::RenderNode;

/// What a native rune does.
pub type RuneTransform = fn(RuneUse<'_>, &mut RenderContext<'_>) -> Result<RenderNode>;

/// The transform of a rune, if it is native. A rune of another package that has the name of one of ours is not.
pub(crate) fn find_transform(rune: &Rune) -> Option<RuneTransform> {
    let name = rune.name.as_str();
    match rune.package.as_str() {
        CORE => core::find_transform(name),
        "@refrakt-md/marketing" => marketing::find_transform(name),
        "@refrakt-md/docs" => docs::find_transform(name),
        "@refrakt-md/storytelling" => storytelling::find_transform(name),
        "@refrakt-md/places" => places::find_transform(name),
        "@refrakt-md/business" => business::find_transform(name),
        "@refrakt-md/design" => design::find_transform(name),
        "@refrakt-md/learning" => learning::find_transform(name),
        "@refrakt-md/media" => media::find_transform(name),
        "@refrakt-md/plan" => plan::find_transform(name),
        _ => None,
    }
}

/// Arguments that a rune hands to the runes within it and does not take itself.
pub(crate) fn forwarded_attributes(rune: &Rune) -> &'static [&'static str] {
    if rune.package == "@refrakt-md/marketing" { marketing::forwarded_attributes(&rune.name) } else { &[] }
}
