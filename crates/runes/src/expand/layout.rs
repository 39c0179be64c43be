//! Media beside text: the arguments of the split preset, and zones separated by thematic breaks.

use quad_markdoc::Node as MarkdocNode;
use serde_json::Value;

use super::arguments::Arguments;
use super::root_builder::RootBuilder;
use crate::content::node_ext;

/// The effective arguments of the split preset.
#[derive(Clone, Debug, PartialEq)]
pub struct SplitLayout {
    /// Side of the media; `top` by default.
    pub position: Value,
    /// Share of the row for the media; only if media and text are side by side.
    pub ratio: Option<Value>,
    /// Vertical alignment; only if media and text are side by side.
    pub valign: Option<Value>,
    /// Screen size below which media and text are stacked.
    pub collapse: Option<Value>,
}

impl SplitLayout {
    /// Reads the arguments.
    pub fn read(arguments: &Arguments) -> SplitLayout {
        SplitLayout::read_with_default(arguments, "top")
    }

    /// Reads the arguments with another default side.
    pub fn read_with_default(arguments: &Arguments, position: &str) -> SplitLayout {
        // Written but empty means `top`, whatever the default is.
        let position = match arguments.get("media-position") {
            None | Some(Value::Null) => position.into(),
            Some(_) => arguments.truthy_or("media-position", "top"),
        };
        let is_side_by_side = matches!(position.as_str(), Some("start" | "end"));
        SplitLayout {
            ratio: arguments.truthy("media-ratio").filter(|_| is_side_by_side).cloned(),
            valign: arguments.truthy("valign").filter(|_| is_side_by_side).cloned(),
            collapse: arguments.truthy("collapse").cloned(),
            position,
        }
    }

    /// Passes all of it to the engine.
    pub fn apply_to(self, root: RootBuilder) -> RootBuilder {
        root.value("media-position", self.position)
            .value_if("media-ratio", self.ratio)
            .value_if("valign", self.valign)
            .value_if("collapse", self.collapse)
    }
}

/// Zones separated by thematic breaks. One zone is the body, two are media and body; with more, the last is the footer.
#[derive(Debug, Default)]
pub struct Zones {
    /// Before the first break, if there is one.
    pub media: Vec<MarkdocNode>,
    /// The middle.
    pub body: Vec<MarkdocNode>,
    /// After the last break, if there are two or more.
    pub footer: Vec<MarkdocNode>,
}

impl Zones {
    /// Splits nodes at thematic breaks.
    pub fn split(nodes: Vec<MarkdocNode>) -> Zones {
        let mut groups = node_ext::split_at_thematic_breaks(nodes);
        let footer = if groups.len() > 2 { groups.pop().unwrap_or_default() } else { Vec::new() };
        let media = if groups.len() > 1 { groups.remove(0) } else { Vec::new() };
        Zones { media, body: groups.into_iter().flatten().collect(), footer }
    }
}

/// The nodes before and after the first thematic break; `None` without a break.
pub fn split_at_first_thematic_break(
    mut nodes: Vec<MarkdocNode>,
) -> (Vec<MarkdocNode>, Option<Vec<MarkdocNode>>) {
    let index = nodes.iter().position(|node| node.kind == quad_markdoc::NodeType::Hr);
    match index {
        Some(break_index) => {
            let after = nodes.split_off(break_index).into_iter().skip(1).collect();
            (nodes, Some(after))
        }
        None => (nodes, None),
    }
}
