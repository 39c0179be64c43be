//! The frame of a device around content.
//!
//! Native because each family of devices has a frame of its own.

use serde_json::Value;

use crate::schema::component::{Component, part};
use crate::schema::context::Result;
use crate::schema::{Call, Context};
use crate::tree::Node;
use crate::value::{to_text, truthy};

pub(super) fn transform(mut call: Call<'_>, out: &mut Context<'_>) -> Result<Node> {
    let viewport = part("div", "viewport", out.nodes(call.content.take("body"))?);
    let device = call.arguments.value_or("device", "browser");
    let frame = part("div", "frame", frame(&call, device.as_str().unwrap_or_default(), viewport));
    let label = call.arguments.text("label").map(|label| part("div", "label", [label.into()]));
    let root = Component::new("mockup", "div")
        .value("device", device)
        .value("color", call.arguments.value_or("color", "dark"))
        .value("fit", call.arguments.value_or("fit", "auto"));
    let mut root = root.child(frame).child_if(label).build();
    let scale = call.arguments.given("scale").filter(|scale| scale.as_f64() != Some(1.0));
    if let Some(scale) = scale {
        root.set("style", format!("--mockup-scale: {}", to_text(scale)));
    }
    Ok(root)
}

/// What stands in the frame of a device.
fn frame(call: &Call<'_>, device: &str, viewport: Node) -> Vec<Node> {
    match device {
        "iphone-15" | "iphone-se" | "pixel" | "phone" => {
            let mut bezel: Vec<Node> = notch(device).into_iter().collect();
            if truthy(&call.arguments.value_or("statusBar", true)) {
                bezel.push(status_bar());
            }
            bezel.extend([viewport, empty("div", "home-indicator")]);
            vec![part("div", "bezel", bezel)]
        }
        "ipad" | "tablet" | "watch" => vec![part("div", "bezel", [viewport])],
        "browser" | "browser-dark" => {
            let url = call.arguments.text("url").map(|url| part("span", "url", [url.into()]));
            let bar = part("div", "title-bar", [traffic_lights(), part("div", "address-bar", url)]);
            vec![bar, viewport]
        }
        "macbook" => {
            let keyboard = part("div", "keyboard", [empty("div", "trackpad")]);
            vec![part("div", "title-bar", [traffic_lights()]), viewport, keyboard]
        }
        _ => vec![viewport],
    }
}

fn empty(element: &str, name: &str) -> Node {
    part(element, name, [])
}

fn notch(device: &str) -> Option<Node> {
    let shape = match device {
        "iphone-15" => "dynamic-island",
        "iphone-se" => "classic",
        "pixel" => "punch-hole",
        _ => return None,
    };
    Some(empty("div", "notch").having("data-notch", shape))
}

fn status_bar() -> Node {
    let time = part("span", "status-time", ["9:41".into()]);
    part("div", "status-bar", [time, empty("span", "status-icons")])
}

fn traffic_lights() -> Node {
    let lights = ["close", "minimize", "maximize"];
    let lights = lights.map(|light| empty("span", "traffic-light").having("data-light", Value::from(light)));
    part("div", "traffic-lights", lights)
}
