//! Media beside content: the values that every rune of the preset `split` hands to the engine.

use serde_json::Value;

use super::arguments::Arguments;
use super::component::Component;

/// Hands over where the media stands and how. `otherwise` holds where the author does not say. Ratio and alignment mean
/// something only where media and content stand side by side.
pub fn hand_over(root: Component, arguments: &Arguments, otherwise: &str) -> Component {
    let position = position(arguments, otherwise);
    let beside = matches!(position.as_str(), Some("start" | "end"));
    let if_beside = |name: &str| arguments.given(name).filter(|_| beside).cloned();
    root.value("media-position", position)
        .value_if("media-ratio", if_beside("media-ratio"))
        .value_if("valign", if_beside("valign"))
        .value_if("collapse", arguments.given("collapse").cloned())
}

/// Where the media stands. Written and empty is `top`, whatever holds otherwise.
fn position(arguments: &Arguments, otherwise: &str) -> Value {
    match arguments.get("media-position") {
        None | Some(Value::Null) => otherwise.into(),
        Some(_) => arguments.given_or("media-position", "top"),
    }
}
