//! Runes that are a template in the catalogue.
//!
//! A rune without a template becomes a `section` in which each field of its content model is a part of its own: what an author
//! of a small rune wants most of the time.

use serde_json::Value;

use super::component::{self, Component};
use super::context::{Call, Context, Result};
use super::header::Header;
use super::media::unwrap_paragraphs;
use crate::catalogue::{ContentModel, Emit, EmitPart, argument};
use crate::content::Resolved;
use crate::schema::Arguments;
use crate::tree::{Node, Tag};
use crate::value::to_text;

/// Renders a rune by its template.
pub(super) fn render(call: Call<'_>, context: &mut Context<'_>) -> Result<Node> {
    let Some(template) = &call.rune.emit else { return without_template(call, context) };
    let type_name = call.type_name();
    let Call { rune, arguments, mut content, .. } = call;
    let fallback = |name: &str| rune.attributes.get(name).and_then(|attribute| attribute.fallback.clone());
    let source = Source { arguments: &arguments, fallback: &fallback };
    let mut root = Component::new(&type_name, &template.element);
    if let Some(property) = &template.property {
        root = root.property(property);
    }
    if let Some(type_of) = &template.type_of {
        root = root.type_of(type_of);
    }
    if template.class {
        root = root.class(arguments.get("class").cloned());
    }
    for (name, text) in &template.values {
        root = root.value_if(name, source.value(text));
    }
    let children = parts(&template.children, &source, &mut content, context)?;
    Ok(root.children(children).build())
}

/// Where `$name` is looked up.
struct Source<'s> {
    arguments: &'s Arguments,
    fallback: &'s dyn Fn(&str) -> Option<Value>,
}

impl Source<'_> {
    /// The value of an argument, or what holds without one; or the text itself.
    fn value(&self, text: &str) -> Option<Value> {
        let Some((name, otherwise)) = argument(text) else { return Some(text.into()) };
        match (otherwise, (self.fallback)(name)) {
            (Some(otherwise), _) => Some(self.arguments.value_or(name, otherwise)),
            (None, Some(fallback)) => Some(self.arguments.given(name).cloned().unwrap_or(fallback)),
            (None, None) => self.arguments.get(name).cloned(),
        }
    }
}

fn parts(
    parts: &[EmitPart],
    source: &Source<'_>,
    content: &mut Resolved,
    context: &mut Context<'_>,
) -> Result<Vec<Node>> {
    let mut nodes = Vec::new();
    for one in parts {
        let mut inner = held(one, content, context)?;
        if let Some(value) = one.text.as_deref().and_then(|text| source.value(text)) {
            inner.push(Node::Text(to_text(&value)));
        }
        inner.extend(self::parts(&one.children, source, content, context)?);
        if inner.is_empty() && !one.always {
            continue;
        }
        let Some(element) = &one.element else {
            nodes.append(&mut inner);
            continue;
        };
        let mut node: Node = Tag::new(element).holding(inner).into();
        for (name, text) in &one.attributes {
            if let Some(value) = source.value(text) {
                node.set(name, value);
            }
        }
        mark(&mut node, one);
        nodes.push(node);
    }
    Ok(nodes)
}

fn held(part: &EmitPart, content: &mut Resolved, context: &mut Context<'_>) -> Result<Vec<Node>> {
    let Some(field) = &part.holds else { return Ok(Vec::new()) };
    let nodes = content.take(field);
    let mut nodes = context.nodes(nodes)?;
    if part.unwrap {
        nodes = unwrap_paragraphs(nodes);
    }
    if part.header {
        Header::name(&mut nodes);
    }
    Ok(nodes)
}

fn mark(node: &mut Node, part: &EmitPart) {
    if let Some(field) = &part.field {
        component::field(node, field);
    }
    if let Some(name) = &part.name {
        component::name(node, name);
    }
    if let Some(property) = &part.property {
        component::property(node, property);
    }
}

/// Every argument is a value, every field a part.
fn without_template(call: Call<'_>, context: &mut Context<'_>) -> Result<Node> {
    let type_name = call.type_name();
    let Call { rune, arguments, mut content, .. } = call;
    let mut root = Component::new(&type_name, "section");
    for name in rune.attributes.keys() {
        root = root.value_if(name, arguments.get(name).cloned());
    }
    let fields: Vec<&str> = match &rune.content {
        Some(ContentModel::Sequence(fields)) => fields.iter().map(|field| field.name.as_str()).collect(),
        _ => Vec::new(),
    };
    for field in fields {
        let nodes = content.take(field);
        if !nodes.is_empty() {
            root = root.child(component::part("div", field, context.nodes(nodes)?));
        }
    }
    let rest = content.take_all();
    Ok(root.children(context.nodes(rest)?).build())
}

impl Emit {
    /// A template of one element that holds one field, for tests of the form.
    #[cfg(test)]
    fn holding(element: &str, field: &str) -> Emit {
        toml::from_str(&format!("element = '{element}'\nchildren = [{{ holds = '{field}' }}]")).unwrap()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_template_reads_from_toml() {
        let template = Emit::holding("section", "body");
        assert_eq!(template.children[0].holds.as_deref(), Some("body"));
    }
}
