//! A progress bar.
//!
//! Native: percentage and text are computed.

use crate::expand::render_context::Result;
use crate::expand::root_builder::{RootBuilder, named_element};
use crate::expand::text::text_of;
use crate::expand::{Arguments, RenderContext, RuneUse};
use crate::js_value::{JsTrim, format_js_number};
use crate::render_tree::RenderNode;
use serde_json::Value;

pub(super) fn transform(mut rune_use: RuneUse<'_>, cx: &mut RenderContext<'_>) -> Result<RenderNode> {
    let arguments = &rune_use.arguments;
    let (value, max) = (number_argument(arguments, "value"), number_argument(arguments, "max"));
    let ratio = value.zip(max).filter(|(value, max)| value.is_finite() && max.is_finite() && *max > 0.0);
    let percent = match ratio {
        // Rounds half up, also below zero.
        Some((value, max)) => (value / max * 100.0 + 0.5).floor(),
        None => number_argument(arguments, "percent").filter(|percent| percent.is_finite()).unwrap_or(0.0),
    };
    let percent = percent.clamp(0.0, 100.0);
    let display = arguments.text_or("display", if ratio.is_some() { "fraction" } else { "percent" });
    let value_text = match (display.as_str(), ratio) {
        ("fraction", Some((value, max))) => {
            Some(format!("{}/{}", format_js_number(value), format_js_number(max)))
        }
        ("percent", _) => Some(format!("{}%", format_js_number(percent))),
        _ => None,
    };
    let label = cx.render_nodes(rune_use.content.take("body"))?;
    let label_text = text_of(&label).js_trim().to_owned();
    let label = (!label.is_empty()).then(|| named_element("span", "label", label));
    let root = RootBuilder::new("progress", "div")
        .value_if("sentiment", rune_use.arguments.truthy("sentiment").cloned())
        .child_if(label)
        .child_if(value_text.map(|reading| named_element("span", "value", [reading.into()])))
        .child(named_element("span", "track", [named_element("span", "fill", [])]));
    let (current, maximum) = ratio.unwrap_or((percent, 100.0));
    let mut root = root.build();
    root.set_attr("role", "progressbar");
    root.set_attr("aria-valuemin", "0");
    root.set_attr("aria-valuenow", format_js_number(current));
    root.set_attr("aria-valuemax", format_js_number(maximum));
    if !label_text.is_empty() {
        root.set_attr("aria-label", label_text);
    }
    root.set_attr("style", format!("--rf-progress: {}%", format_js_number(percent)));
    Ok(root)
}

/// An argument as a number. The whole text must be a number: `"3 of 4"` is none.
fn number_argument(arguments: &Arguments, name: &str) -> Option<f64> {
    Some(match arguments.get(name)? {
        Value::Null => return None,
        Value::Number(number) => number.as_f64()?,
        Value::Bool(value) => f64::from(u8::from(*value)),
        Value::String(text) if text.js_trim().is_empty() => 0.0,
        Value::String(text) => text.js_trim().parse().unwrap_or(f64::NAN),
        _ => f64::NAN,
    })
}
