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

use std::fmt;

use crate::catalogue::CORE;
use crate::expand::render_context::Result;
use crate::expand::{RenderContext, RuneUse};
use crate::render_tree::RenderNode;

/// The code of a native rune.
pub type RuneTransform = fn(RuneUse<'_>, &mut RenderContext<'_>) -> Result<RenderNode>;

/// A rune that is rendered by code.
#[derive(Clone, Copy)]
pub struct NativeRune {
    /// Renders one use of the rune.
    pub(crate) transform: RuneTransform,
    /// Arguments that it passes to nested runes and does not use itself.
    pub(crate) forwarded_attributes: &'static [&'static str],
}

impl PartialEq for NativeRune {
    fn eq(&self, other: &NativeRune) -> bool {
        std::ptr::fn_addr_eq(self.transform, other.transform)
    }
}

impl fmt::Debug for NativeRune {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("NativeRune")
    }
}

/// The code of a rune of a package, if it is native. A rune of a plugin that reuses one of our names is not native.
pub(crate) fn find(package: &str, rune: &str) -> Option<NativeRune> {
    let transform = match package {
        CORE => core::find_transform(rune),
        "@refrakt-md/marketing" => marketing::find_transform(rune),
        "@refrakt-md/docs" => docs::find_transform(rune),
        "@refrakt-md/storytelling" => storytelling::find_transform(rune),
        "@refrakt-md/places" => places::find_transform(rune),
        "@refrakt-md/business" => business::find_transform(rune),
        "@refrakt-md/design" => design::find_transform(rune),
        "@refrakt-md/learning" => learning::find_transform(rune),
        "@refrakt-md/media" => media::find_transform(rune),
        "@refrakt-md/plan" => plan::find_transform(rune),
        _ => None,
    }?;
    let forwarded_attributes: &[&str] =
        if package == "@refrakt-md/marketing" { marketing::forwarded_attributes(rune) } else { &[] };
    Some(NativeRune { transform, forwarded_attributes })
}
