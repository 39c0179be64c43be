//! Media beside text: the arguments of the split preset, and the zones that rules part.

use quad_markdoc::Node as Parsed;
use serde_json::Value;

use super::arguments::Arguments;
use super::component::Component;
use crate::content::ast;

/// The arguments of the split preset, as far as they mean something.
#[derive(Clone, Debug, PartialEq)]
pub struct SplitLayout {
    /// Side on which the media stands; `top` where the author says nothing.
    pub position: Value,
    /// Share of the row that the media takes; only beside the text.
    pub ratio: Option<Value>,
    /// How the shorter of the two is aligned; only beside the text.
    pub valign: Option<Value>,
    /// Screen size below which the two are stacked.
    pub collapse: Option<Value>,
}

impl SplitLayout {
    /// Reads the arguments.
    pub fn read(arguments: &Arguments) -> SplitLayout {
        SplitLayout::read_or(arguments, "top")
    }

    /// Reads the arguments of a rune whose media stands elsewhere by default.
    pub fn read_or(arguments: &Arguments, position: &str) -> SplitLayout {
        // Written and empty is the top, whatever holds by default.
        let position = match arguments.get("media-position") {
            None | Some(Value::Null) => position.into(),
            Some(_) => arguments.given_or("media-position", "top"),
        };
        let beside = matches!(position.as_str(), Some("start" | "end"));
        SplitLayout {
            ratio: arguments.given("media-ratio").filter(|_| beside).cloned(),
            valign: arguments.given("valign").filter(|_| beside).cloned(),
            collapse: arguments.given("collapse").cloned(),
            position,
        }
    }

    /// Hands all of it to the engine.
    pub fn hand_to(self, root: Component) -> Component {
        root.value("media-position", self.position)
            .value_if("media-ratio", self.ratio)
            .value_if("valign", self.valign)
            .value_if("collapse", self.collapse)
    }
}

/// Nodes that rules part: one group is the body, two are media and body, of more the last is the footer.
#[derive(Debug, Default)]
pub struct Zones {
    /// Before the first rule, if there is one.
    pub media: Vec<Parsed>,
    /// The middle.
    pub body: Vec<Parsed>,
    /// After the last rule, if there are two or more.
    pub footer: Vec<Parsed>,
}

impl Zones {
    /// Splits nodes at rules.
    pub fn split(nodes: Vec<Parsed>) -> Zones {
        let mut groups = ast::split_at_rules(nodes);
        let footer = if groups.len() > 2 { groups.pop().unwrap_or_default() } else { Vec::new() };
        let media = if groups.len() > 1 { groups.remove(0) } else { Vec::new() };
        Zones { media, body: groups.into_iter().flatten().collect(), footer }
    }
}

/// Nodes before the first rule, and those after it; `None` where there is no rule.
pub fn split_at_first_rule(mut nodes: Vec<Parsed>) -> (Vec<Parsed>, Option<Vec<Parsed>>) {
    let at = nodes.iter().position(|node| node.kind == quad_markdoc::NodeType::Hr);
    match at {
        Some(at) => {
            let after = nodes.split_off(at).into_iter().skip(1).collect();
            (nodes, Some(after))
        }
        None => (nodes, None),
    }
}
