//! Runes that a template cannot express, one file each; what the file does and why it is code stands at its top.
//!
//! A transform is given the [`Call`]: the arguments, and what the content model found in the body. It renders nodes with
//! [`Context::nodes`] and builds its root with [`Component`](crate::schema::Component). The packages each have a folder and a table of their own.

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
use crate::schema::context::Result;
use crate::schema::{Call, Context};
use crate::tree::Node;

/// What a native rune does.
pub type Transform = fn(Call<'_>, &mut Context<'_>) -> Result<Node>;

/// The transform of a rune, if it is native. A rune of another package that has the name of one of ours is not.
pub(crate) fn find(rune: &Rune) -> Option<Transform> {
    let name = rune.name.as_str();
    match rune.package.as_str() {
        CORE => core::find(name),
        "@refrakt-md/marketing" => marketing::find(name),
        "@refrakt-md/docs" => docs::find(name),
        "@refrakt-md/storytelling" => storytelling::find(name),
        "@refrakt-md/places" => places::find(name),
        "@refrakt-md/business" => business::find(name),
        "@refrakt-md/design" => design::find(name),
        "@refrakt-md/learning" => learning::find(name),
        "@refrakt-md/media" => media::find(name),
        "@refrakt-md/plan" => plan::find(name),
        _ => None,
    }
}

/// Arguments that a rune hands to the runes within it and does not take itself.
pub(crate) fn handed_down(rune: &Rune) -> &'static [&'static str] {
    if rune.package == "@refrakt-md/marketing" { marketing::handed_down(&rune.name) } else { &[] }
}
