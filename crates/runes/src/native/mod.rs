//! Runes that a template cannot express, one file each. The module doc of each file says why it is code.
//!
//! A transform receives a [`RuneUse`]: the arguments, and the content by field. It renders nodes with
//! [`RenderContext::render_nodes`] and builds its root with [`RootBuilder`](crate::expand::RootBuilder). Each package
//! has a folder with a table of its runes.

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

/// The transform of a native rune.
pub type RuneTransform = fn(RuneUse<'_>, &mut RenderContext<'_>) -> Result<RenderNode>;

/// The transform of a rune, if it is native. A rune of a plugin that reuses one of our names is not native.
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

/// Arguments that a rune passes to nested runes and does not use itself.
pub(crate) fn forwarded_attributes(rune: &Rune) -> &'static [&'static str] {
    if rune.package == "@refrakt-md/marketing" { marketing::forwarded_attributes(&rune.name) } else { &[] }
}
