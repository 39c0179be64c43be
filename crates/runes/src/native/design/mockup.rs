//! A device frame around content.
//!
//! Native: each family of devices has its own frame.

use serde_json::Value;

use crate::expand::render_context::Result;
use crate::expand::root_builder::{RootBuilder, named_element};
use crate::expand::{RenderContext, RuneUse};
use crate::js_value::{is_truthy, to_js_string};
use crate::render_tree::RenderNode;

pub(super) fn transform(mut rune_use: RuneUse<'_>, cx: &mut RenderContext<'_>) -> Result<RenderNode> {
    let viewport = named_element("div", "viewport", cx.render_nodes(rune_use.content.take("body"))?);
    let device = rune_use.arguments.non_null_or("device", "browser");
    let frame = named_element(
        "div",
        "frame",
        frame_content(&rune_use, device.as_str().unwrap_or_default(), viewport),
    );
    let label = rune_use.arguments.text("label").map(|label| named_element("div", "label", [label.into()]));
    let root = RootBuilder::new("mockup", "div")
        .value("device", device)
        .value("color", rune_use.arguments.non_null_or("color", "dark"))
        .value("fit", rune_use.arguments.non_null_or("fit", "auto"));
    let mut root = root.child(frame).child_if(label).build();
    let scale = rune_use.arguments.truthy("scale").filter(|scale| scale.as_f64() != Some(1.0));
    if let Some(scale) = scale {
        root.set_attr("style", format!("--mockup-scale: {}", to_js_string(scale)));
    }
    Ok(root)
}

/// The content of a device's frame.
fn frame_content(rune_use: &RuneUse<'_>, device: &str, viewport: RenderNode) -> Vec<RenderNode> {
    match device {
        "iphone-15" | "iphone-se" | "pixel" | "phone" => {
            let mut bezel: Vec<RenderNode> = notch(device).into_iter().collect();
            if is_truthy(&rune_use.arguments.non_null_or("statusBar", true)) {
                bezel.push(status_bar());
            }
            bezel.extend([viewport, empty_element("div", "home-indicator")]);
            vec![named_element("div", "bezel", bezel)]
        }
        "ipad" | "tablet" | "watch" => vec![named_element("div", "bezel", [viewport])],
        "browser" | "browser-dark" => {
            let url = rune_use.arguments.text("url").map(|url| named_element("span", "url", [url.into()]));
            let bar = named_element(
                "div",
                "title-bar",
                [traffic_lights(), named_element("div", "address-bar", url)],
            );
            vec![bar, viewport]
        }
        "macbook" => {
            let keyboard = named_element("div", "keyboard", [empty_element("div", "trackpad")]);
            vec![named_element("div", "title-bar", [traffic_lights()]), viewport, keyboard]
        }
        _ => vec![viewport],
    }
}

fn empty_element(element: &str, name: &str) -> RenderNode {
    named_element(element, name, [])
}

fn notch(device: &str) -> Option<RenderNode> {
    let shape = match device {
        "iphone-15" => "dynamic-island",
        "iphone-se" => "classic",
        "pixel" => "punch-hole",
        _ => return None,
    };
    Some(empty_element("div", "notch").with_attr("data-notch", shape))
}

fn status_bar() -> RenderNode {
    let time = named_element("span", "status-time", ["9:41".into()]);
    named_element("div", "status-bar", [time, empty_element("span", "status-icons")])
}

fn traffic_lights() -> RenderNode {
    let lights = ["close", "minimize", "maximize"];
    let lights = lights
        .map(|light| empty_element("span", "traffic-light").with_attr("data-light", Value::from(light)));
    named_element("div", "traffic-lights", lights)
}
