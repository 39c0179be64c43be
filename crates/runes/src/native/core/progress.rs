//! How far something has come.
//!
//! Native because percentage and reading are computed.

use crate::schema::component::{Component, part};
use crate::schema::context::Result;
use crate::schema::text::text_of;
use crate::schema::{Arguments, Call, Context};
use crate::tree::Node;
use crate::value::number_text;
use serde_json::Value;

pub(super) fn transform(mut call: Call<'_>, out: &mut Context<'_>) -> Result<Node> {
    let arguments = &call.arguments;
    let (value, max) = (number(arguments, "value"), number(arguments, "max"));
    let ratio = value.zip(max).filter(|(value, max)| value.is_finite() && max.is_finite() && *max > 0.0);
    let percent = match ratio {
        // Half up, whatever the sign.
        Some((value, max)) => (value / max * 100.0 + 0.5).floor(),
        None => number(arguments, "percent").filter(|percent| percent.is_finite()).unwrap_or(0.0),
    };
    let percent = percent.clamp(0.0, 100.0);
    let display = arguments.text_or("display", if ratio.is_some() { "fraction" } else { "percent" });
    let reading = match (display.as_str(), ratio) {
        ("fraction", Some((value, max))) => Some(format!("{}/{}", number_text(value), number_text(max))),
        ("percent", _) => Some(format!("{}%", number_text(percent))),
        _ => None,
    };
    let label = out.nodes(call.content.take("body"))?;
    let spoken = text_of(&label).trim().to_owned();
    let label = (!label.is_empty()).then(|| part("span", "label", label));
    let root = Component::new("progress", "div")
        .value_if("sentiment", call.arguments.given("sentiment").cloned())
        .child_if(label)
        .child_if(reading.map(|reading| part("span", "value", [reading.into()])))
        .child(part("span", "track", [part("span", "fill", [])]));
    let (now, most) = ratio.unwrap_or((percent, 100.0));
    let mut root = root.build();
    root.set("role", "progressbar");
    root.set("aria-valuemin", "0");
    root.set("aria-valuenow", number_text(now));
    root.set("aria-valuemax", number_text(most));
    if !spoken.is_empty() {
        root.set("aria-label", spoken);
    }
    root.set("style", format!("--rf-progress: {}%", number_text(percent)));
    Ok(root)
}

/// An argument as a number, as a whole: `"3 of 4"` is none.
fn number(arguments: &Arguments, name: &str) -> Option<f64> {
    Some(match arguments.get(name)? {
        Value::Null => return None,
        Value::Number(number) => number.as_f64()?,
        Value::Bool(value) => f64::from(u8::from(*value)),
        Value::String(text) if text.trim().is_empty() => 0.0,
        Value::String(text) => text.trim().parse().unwrap_or(f64::NAN),
        _ => f64::NAN,
    })
}
