//! What Markdoc itself brings: variables, functions, and the tags `if`, `else`, `partial`, `slot`, `table` and `link`.

use quad_markdoc::{Function, Map, Node as Parsed, PathPart, Value as Written, Variable};
use serde_json::Value;

use super::arguments::{json, written};
use super::component::fragment;
use super::context::{Context, Result};
use super::nodes;
use crate::tree::Node;

/// Evaluates the attributes of a tree in place. An attribute whose value turns out to be nothing is removed, so that a default
/// holds.
pub(super) fn evaluate(context: &Context<'_>, root: &mut Parsed) {
    if root.attributes.iter().any(|(_, value)| is_open(value)) {
        let mut attributes = Map::new();
        for (name, value) in root.attributes.iter() {
            if let Some(value) = value_of(context, value) {
                attributes.insert(name.to_owned(), value);
            }
        }
        root.attributes = attributes;
    }
    root.children.iter_mut().for_each(|child| evaluate(context, child));
}

fn is_open(value: &Written) -> bool {
    match value {
        Written::Variable(_) | Written::Function(_) => true,
        Written::Array(values) => values.iter().any(is_open),
        Written::Hash(map) => map.iter().any(|(_, value)| is_open(value)),
        _ => false,
    }
}

fn value_of(context: &Context<'_>, value: &Written) -> Option<Written> {
    Some(match value {
        Written::Variable(variable) => written(&variable_value(context, variable)?),
        Written::Function(function) => call(context, function)?,
        Written::Array(values) => Written::Array(
            values.iter().map(|value| value_of(context, value).unwrap_or(Written::Null)).collect(),
        ),
        Written::Hash(map) => Written::Hash(evaluated(context, map)),
        plain => plain.clone(),
    })
}

fn evaluated(context: &Context<'_>, map: &Map) -> Map {
    let mut values = Map::new();
    for (name, value) in map.iter() {
        if let Some(value) = value_of(context, value) {
            values.insert(name.to_owned(), value);
        }
    }
    values
}

fn variable_value(context: &Context<'_>, variable: &Variable) -> Option<Value> {
    let (PathPart::Name(first), rest) = variable.path.split_first()? else { return None };
    let mut value = context.variable(first)?;
    for part in rest {
        let next = match (part, &mut value) {
            (PathPart::Name(name), Value::Object(object)) => object.get_mut(name),
            #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
            (PathPart::Index(at), Value::Array(values)) if *at >= 0.0 => values.get_mut(*at as usize),
            _ => None,
        };
        value = next?.take();
    }
    Some(value)
}

/// A function that is not known is null.
fn call(context: &Context<'_>, function: &Function) -> Option<Written> {
    let parameters = evaluated(context, &function.parameters);
    let first = parameters.get("0");
    Some(match function.name.as_str() {
        "and" => Written::Bool(function.parameters.iter().all(|(name, _)| holds(parameters.get(name)))),
        "or" => Written::Bool(parameters.iter().any(|(_, value)| holds(Some(value)))),
        "not" => Written::Bool(!holds(first)),
        "equals" => {
            let mut values = function.parameters.iter().map(|(name, _)| parameters.get(name));
            let one = values.next();
            Written::Bool(values.all(|value| one.is_none_or(|one| same(one, value))))
        }
        "default" => return first.or_else(|| parameters.get("1")).cloned(),
        "debug" => Written::String(serde_json::to_string_pretty(&first.map(json)?).unwrap_or_default()),
        _ => Written::Null,
    })
}

/// What counts as true in a condition: everything but `false`, `null` and nothing.
fn holds(value: Option<&Written>) -> bool {
    !matches!(value, None | Some(Written::Null | Written::Bool(false)))
}

/// Whether two scalars are the same. Lists and hashes are never the same as another.
fn same(one: Option<&Written>, other: Option<&Written>) -> bool {
    !matches!(one, Some(Written::Array(_) | Written::Hash(_))) && one == other
}

/// Renders a tag that is no rune.
pub(super) fn render_tag(node: Parsed, context: &mut Context<'_>, rendered: &mut Vec<Node>) -> Result<()> {
    match node.tag.as_deref() {
        Some("if") => rendered.extend(context.nodes(branch(node))?),
        // There are no other files here, so none can be included.
        Some("partial") => rendered.push(Node::Null),
        Some("link") => rendered.push(nodes::link(node, context)?),
        // `else` outside of `if`, `slot`, `table` and what nobody knows: only what they hold.
        _ => rendered.extend(context.nodes(node.children)?),
    }
    Ok(())
}

/// The nodes of the first branch whose condition holds.
fn branch(node: Parsed) -> Vec<Parsed> {
    let mut taken = holds(node.attributes.get("primary"));
    let mut nodes = Vec::new();
    for child in node.children {
        if child.is_tag("else") {
            if taken {
                break;
            }
            taken = !child.attributes.contains("primary") && !has_primary(&child)
                || holds(child.attributes.get("primary"));
        } else if taken {
            nodes.push(child);
        }
    }
    nodes
}

/// Whether a condition was written, even one whose value is nothing.
fn has_primary(node: &Parsed) -> bool {
    node.annotations.iter().any(|annotation| annotation.name == "primary")
}

/// The content of a text node: a text, or the value of a variable. What is neither text nor number shows as nothing.
pub(super) fn content(value: Option<&Written>) -> Node {
    match value {
        Some(Written::String(text)) => Node::Text(text.clone()),
        Some(Written::Number(number)) => Node::Number(*number),
        Some(Written::Array(values)) => fragment(values.iter().map(|value| content(Some(value)))),
        _ => Node::Null,
    }
}
