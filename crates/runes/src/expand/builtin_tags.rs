//! Features of Markdoc itself: variables, functions, and the tags `if`, `else`, `partial`, `slot`, `table` and `link`.

use quad_markdoc::{AttributeMap, Function, Node as MarkdocNode, PathPart, Value as MarkdocValue, Variable};
use serde_json::Value;

use super::arguments::{to_json_value, to_markdoc_value};
use super::markdown_nodes;
use super::render_context::{RenderContext, Result};
use super::root_builder::fragment;
use crate::render_tree::RenderNode;

/// Evaluates the attributes of a tree in place. An attribute that evaluates to nothing is removed, so its default
/// applies.
pub(super) fn evaluate(cx: &RenderContext<'_>, root: &mut MarkdocNode) {
    if root.attributes.iter().any(|(_, value)| needs_evaluation(value)) {
        let mut attributes = AttributeMap::new();
        for (name, value) in root.attributes.iter() {
            if let Some(value) = evaluate_value(cx, value) {
                attributes.insert(name.to_owned(), value);
            }
        }
        root.attributes = attributes;
    }
    root.children.iter_mut().for_each(|child| evaluate(cx, child));
}

fn needs_evaluation(value: &MarkdocValue) -> bool {
    match value {
        MarkdocValue::Variable(_) | MarkdocValue::Function(_) => true,
        MarkdocValue::Array(values) => values.iter().any(needs_evaluation),
        MarkdocValue::Hash(map) => map.iter().any(|(_, value)| needs_evaluation(value)),
        _ => false,
    }
}

fn evaluate_value(cx: &RenderContext<'_>, value: &MarkdocValue) -> Option<MarkdocValue> {
    Some(match value {
        MarkdocValue::Variable(variable) => to_markdoc_value(&resolve_variable(cx, variable)?),
        MarkdocValue::Function(function) => call_function(cx, function)?,
        MarkdocValue::Array(values) => MarkdocValue::Array(
            values.iter().map(|value| evaluate_value(cx, value).unwrap_or(MarkdocValue::Null)).collect(),
        ),
        MarkdocValue::Hash(map) => MarkdocValue::Hash(evaluate_map(cx, map)),
        literal => literal.clone(),
    })
}

fn evaluate_map(cx: &RenderContext<'_>, map: &AttributeMap) -> AttributeMap {
    let mut values = AttributeMap::new();
    for (name, value) in map.iter() {
        if let Some(value) = evaluate_value(cx, value) {
            values.insert(name.to_owned(), value);
        }
    }
    values
}

fn resolve_variable(cx: &RenderContext<'_>, variable: &Variable) -> Option<Value> {
    let (PathPart::Name(first), rest) = variable.path.split_first()? else { return None };
    let mut value = cx.variable(first)?;
    for part in rest {
        let next = match (part, &mut value) {
            (PathPart::Name(name), Value::Object(object)) => object.get_mut(name),
            #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
            (PathPart::Index(index), Value::Array(values)) if *index >= 0.0 => {
                values.get_mut(*index as usize)
            }
            _ => None,
        };
        value = next?.take();
    }
    Some(value)
}

/// An unknown function returns null.
fn call_function(cx: &RenderContext<'_>, function: &Function) -> Option<MarkdocValue> {
    let parameters = evaluate_map(cx, &function.parameters);
    let first = parameters.get("0");
    Some(match function.name.as_str() {
        "and" => {
            MarkdocValue::Bool(function.parameters.iter().all(|(name, _)| is_true(parameters.get(name))))
        }
        "or" => MarkdocValue::Bool(parameters.iter().any(|(_, value)| is_true(Some(value)))),
        "not" => MarkdocValue::Bool(!is_true(first)),
        "equals" => {
            let mut values = function.parameters.iter().map(|(name, _)| parameters.get(name));
            let expected = values.next();
            MarkdocValue::Bool(
                values.all(|value| expected.is_none_or(|expected_value| scalar_eq(expected_value, value))),
            )
        }
        "default" => return first.or_else(|| parameters.get("1")).cloned(),
        "debug" => {
            MarkdocValue::String(serde_json::to_string_pretty(&first.map(to_json_value)?).unwrap_or_default())
        }
        _ => MarkdocValue::Null,
    })
}

/// Whether a value is true in a condition: everything except `false`, `null` and a missing value.
fn is_true(value: Option<&MarkdocValue>) -> bool {
    !matches!(value, None | Some(MarkdocValue::Null | MarkdocValue::Bool(false)))
}

/// Whether two scalars are equal. Arrays and hashes never are.
fn scalar_eq(left: Option<&MarkdocValue>, right: Option<&MarkdocValue>) -> bool {
    !matches!(left, Some(MarkdocValue::Array(_) | MarkdocValue::Hash(_))) && left == right
}

/// Renders a tag that is not a rune.
pub(super) fn render_tag(
    node: MarkdocNode,
    cx: &mut RenderContext<'_>,
    rendered: &mut Vec<RenderNode>,
) -> Result<()> {
    match node.tag.as_deref() {
        Some("if") => rendered.extend(cx.render_nodes(select_branch(node))?),
        // There are no other files to include.
        Some("partial") => rendered.push(RenderNode::Null),
        Some("link") => rendered.push(markdown_nodes::render_link(node, cx)?),
        // `else` outside of `if`, `slot`, `table` and unknown tags: render their children.
        _ => rendered.extend(cx.render_nodes(node.children)?),
    }
    Ok(())
}

/// The nodes of the first branch whose condition is true.
fn select_branch(node: MarkdocNode) -> Vec<MarkdocNode> {
    let mut is_active = is_true(node.attributes.get("primary"));
    let mut nodes = Vec::new();
    for child in node.children {
        if child.is_tag("else") {
            if is_active {
                break;
            }
            is_active = !child.attributes.contains("primary") && !has_condition(&child)
                || is_true(child.attributes.get("primary"));
        } else if is_active {
            nodes.push(child);
        }
    }
    nodes
}

/// Whether a condition was written, even if it evaluates to nothing.
fn has_condition(node: &MarkdocNode) -> bool {
    node.annotations.iter().any(|annotation| annotation.name == "primary")
}

/// The content of a text node: text, or the value of a variable. Other values render as nothing.
pub(super) fn content_node(value: Option<&MarkdocValue>) -> RenderNode {
    match value {
        Some(MarkdocValue::String(text)) => RenderNode::Text(text.clone()),
        Some(MarkdocValue::Number(number)) => RenderNode::Number(*number),
        Some(MarkdocValue::Array(values)) => fragment(values.iter().map(|value| content_node(Some(value)))),
        _ => RenderNode::Null,
    }
}
