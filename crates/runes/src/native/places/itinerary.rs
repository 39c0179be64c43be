//! Journeys by days and stops.
//!
//! Native because a journey takes days and nothing else, and a day takes stops and nothing else.

use crate::schema::component::{Component, element, field, is_rune, part};
use crate::schema::context::Result;
use crate::schema::header::header;
use crate::schema::{Call, Context};
use crate::tree::Node;
use crate::value::to_text;

/// The journey.
pub(super) fn transform(mut call: Call<'_>, out: &mut Context<'_>) -> Result<Node> {
    let head = out.nodes(call.content.take("header"))?;
    let mut days = out.nodes(call.content.take("sections"))?;
    days.retain(|node| is_rune(node, "article", "itinerary-day"));
    days.iter_mut().for_each(|node| field(node, "day"));
    let root = Component::new("itinerary", "section")
        .property("contentSection")
        .type_of("ItemList")
        .value("variant", call.arguments.value_or("variant", "day-by-day"))
        .value("direction", call.arguments.value_or("direction", "vertical"));
    Ok(root.child_if(header(head)).child(part("div", "days", days)).build())
}

/// One day.
pub(super) fn day(mut call: Call<'_>, out: &mut Context<'_>) -> Result<Node> {
    let head = out.nodes(call.content.take("header"))?;
    let mut stops = out.nodes(call.content.take("sections"))?;
    stops.retain(|node| is_rune(node, "li", "itinerary-stop"));
    stops.iter_mut().for_each(|node| field(node, "stop"));
    let mut label = element("h3", [to_text(&call.arguments.value_or("label", "")).into()]);
    field(&mut label, "label");
    let head = (!head.is_empty()).then(|| element("div", head));
    let root = Component::new("itinerary-day", "article").value("date", call.arguments.value_or("date", ""));
    Ok(root.child(label).child_if(head).child(part("ol", "stops", stops)).build())
}
