//! A link to a file of the project.
//!
//! Native because the text of the link is the last part of the path where none is given; where it leads, a later stage knows.

use crate::schema::component::{Component, field_meta, part};
use crate::schema::context::Result;
use crate::schema::{Call, Context};
use crate::tree::Node;
use crate::value::to_text;

pub(super) fn transform(call: Call<'_>, _out: &mut Context<'_>) -> Result<Node> {
    let written = |name: &str| call.arguments.get(name).map(to_text).unwrap_or_default();
    let (path, label) = (written("path"), written("label"));
    let mut root = Component::new("file-ref", "span");
    for name in ["path", "lines", "label", "preview"] {
        root = root.child(field_meta(&format!("file-ref-{name}"), written(name)));
    }
    let whole = path.strip_suffix('/').unwrap_or(&path);
    let file = whole.rsplit('/').next().unwrap_or(whole).to_owned();
    let text = if label.is_empty() { file } else { label };
    Ok(root.child(field_meta("__file-ref-sentinel", "true")).child(part("a", "link", [text.into()])).build())
}
