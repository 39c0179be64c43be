//! Journeys by days and stops.
//!
//! Native: a journey keeps only days, and a day only stops.

use crate::expand::header::header_element;
use crate::expand::render_context::Result;
use crate::expand::root_builder::{RootBuilder, is_rune_root, named_element, new_element, set_field};
use crate::expand::{RenderContext, RuneUse};
use crate::js_value::to_js_string;
use crate::render_tree::RenderNode;

/// The journey.
pub(super) fn transform(mut rune_use: RuneUse<'_>, cx: &mut RenderContext<'_>) -> Result<RenderNode> {
    let head = cx.render_nodes(rune_use.content.take("header"))?;
    let mut days = cx.render_nodes(rune_use.content.take("sections"))?;
    days.retain(|node| is_rune_root(node, "article", "itinerary-day"));
    days.iter_mut().for_each(|node| set_field(node, "day"));
    let root = RootBuilder::new("itinerary", "section")
        .data_field("contentSection")
        .type_of("ItemList")
        .value("variant", rune_use.arguments.non_null_or("variant", "day-by-day"))
        .value("direction", rune_use.arguments.non_null_or("direction", "vertical"));
    Ok(root.child_if(header_element(head)).child(named_element("div", "days", days)).build())
}

/// One day.
pub(super) fn transform_day(mut rune_use: RuneUse<'_>, cx: &mut RenderContext<'_>) -> Result<RenderNode> {
    let head = cx.render_nodes(rune_use.content.take("header"))?;
    let mut stops = cx.render_nodes(rune_use.content.take("sections"))?;
    stops.retain(|node| is_rune_root(node, "li", "itinerary-stop"));
    stops.iter_mut().for_each(|node| set_field(node, "stop"));
    let mut label = new_element("h3", [to_js_string(&rune_use.arguments.non_null_or("label", "")).into()]);
    set_field(&mut label, "label");
    let head = (!head.is_empty()).then(|| new_element("div", head));
    let root = RootBuilder::new("itinerary-day", "article")
        .value("date", rune_use.arguments.non_null_or("date", ""));
    Ok(root.child(label).child_if(head).child(named_element("ol", "stops", stops)).build())
}
