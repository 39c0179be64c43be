//! A row, with a group at its start and one at its end.
//!
//! Native because its root is not built by the schema: it is the markup that the engine makes of a row of values.

use crate::schema::component::element;
use crate::schema::context::Result;
use crate::schema::layout::split_at_first_rule;
use crate::schema::{Call, Context};
use crate::tree::{Node, Tag};

pub(super) fn transform(mut call: Call<'_>, out: &mut Context<'_>) -> Result<Node> {
    let (left, right) = split_at_first_rule(call.content.take("body"));
    let right = right.filter(|right| !right.is_empty());
    let mut groups = vec![element("div", out.nodes(left)?)];
    if let Some(right) = right {
        groups.push(Tag::new("div").with("data-align", "end").holding(out.nodes(right)?).into());
    }
    Ok(Tag::new("div").with("data-rune", "bar").with("data-zone-layout", "bar").holding(groups).into())
}
