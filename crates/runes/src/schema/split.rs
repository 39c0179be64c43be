//! Media beside content: the arguments of the preset `split`, as far as they mean something.

use serde_json::Value;

use super::arguments::Arguments;
use super::component::Component;

/// Where the media stands, and how.
#[derive(Clone, Debug, PartialEq)]
pub struct Split {
    /// Side on which the media stands.
    pub position: Value,
    /// Share of the row that the media takes; only beside the text.
    pub ratio: Option<Value>,
    /// How the shorter of the two is aligned; only beside the text.
    pub valign: Option<Value>,
    /// Screen size below which the two are stacked.
    pub collapse: Option<Value>,
}

impl Split {
    /// Reads the arguments; `otherwise` is the side where the author does not say. Written and empty is `top`, whatever holds
    /// otherwise.
    pub fn read(arguments: &Arguments, otherwise: &str) -> Split {
        let position = match arguments.get("media-position") {
            None | Some(Value::Null) => otherwise.into(),
            Some(_) => arguments.given_or("media-position", "top"),
        };
        let beside = matches!(position.as_str(), Some("start" | "end"));
        let if_beside = |name: &str| arguments.given(name).filter(|_| beside).cloned();
        Split {
            ratio: if_beside("media-ratio"),
            valign: if_beside("valign"),
            collapse: arguments.given("collapse").cloned(),
            position,
        }
    }
}

/// Hands all of it to the engine.
pub fn hand_over(root: Component, arguments: &Arguments, otherwise: &str) -> Component {
    let split = Split::read(arguments, otherwise);
    root.value("media-position", split.position)
        .value_if("media-ratio", split.ratio)
        .value_if("valign", split.valign)
        .value_if("collapse", split.collapse)
}
