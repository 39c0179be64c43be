//! Runes that are a template in the catalogue.
//!
//! A rune without a template becomes a `section` in which each field of its content model is a part of its own: what an author
//! of a small rune wants most of the time.

use serde_json::Value;

use super::component::{self, Component};
use super::context::{Call, Context, Result};
use super::header::Header;
use super::media::unwrap_paragraphs;
use crate::catalogue::{ContentModel, EmitPart, Ordered, kebab_case};
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
    let children = parts(&template.children, &source, &mut content, context)?;
    if template.plain {
        return Ok(with_attributes(
            component::element(&template.element, children),
            &template.attributes,
            &source,
        ));
    }
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
        let value = source.value(text);
        // A value that is promised but missing leaves its empty mark behind, as in the original.
        let promised = value.is_none() && !text.ends_with('?');
        let mark = promised.then(|| Tag::new("meta").with("data-field", kebab_case(name)));
        root = root.value_if(name, value).child_if(mark);
    }
    Ok(with_attributes(root.children(children).build(), &template.attributes, &source))
}

fn with_attributes(mut node: Node, attributes: &Ordered<String>, source: &Source<'_>) -> Node {
    for (name, text) in attributes {
        if let Some(value) = source.value(text) {
            node.set(name, value);
        }
    }
    node
}

/// Where `$name` is looked up.
struct Source<'s> {
    arguments: &'s Arguments,
    fallback: &'s dyn Fn(&str) -> Option<Value>,
}

impl Source<'_> {
    /// What a text of a template stands for.
    fn value(&self, text: &str) -> Option<Value> {
        let Some(name) = text.strip_prefix('$') else { return Some(self.filled(text).into()) };
        if let Some((name, otherwise)) = name.split_once("??") {
            return Some(self.arguments.value_or(name.trim_end(), otherwise.trim_start()));
        }
        if let Some((name, otherwise)) = name.split_once('|') {
            return Some(self.arguments.given_or(name, otherwise));
        }
        if let Some(name) = name.strip_suffix('?') {
            return self.arguments.given(name).cloned();
        }
        self.argument(name)
    }

    fn argument(&self, name: &str) -> Option<Value> {
        self.arguments.get(name).filter(|value| !value.is_null()).cloned().or_else(|| (self.fallback)(name))
    }

    /// A text with the arguments it names filled in.
    fn filled(&self, text: &str) -> String {
        let Some((before, rest)) = text.split_once('{') else { return text.to_owned() };
        let Some((name, after)) = rest.split_once('}') else { return text.to_owned() };
        let value = self.argument(name).map(|value| to_text(&value)).unwrap_or_default();
        format!("{before}{value}{}", self.filled(after))
    }
}

fn parts(
    parts: &[EmitPart],
    source: &Source<'_>,
    content: &mut Resolved,
    context: &mut Context<'_>,
) -> Result<Vec<Node>> {
    let mut nodes = Vec::new();
    let wanted = |part: &&EmitPart| part.when.as_ref().is_none_or(|name| source.arguments.is_given(name));
    for one in parts.iter().filter(wanted) {
        let mut inner = held(one, content, context)?;
        if let Some(text) = &one.text {
            inner.push(Node::Text(source.value(text).map(|value| to_text(&value)).unwrap_or_default()));
        }
        inner.extend(self::parts(&one.children, source, content, context)?);
        if inner.is_empty() && !one.always && !has_content(one, source) {
            continue;
        }
        let Some(element) = &one.element else {
            nodes.append(&mut inner);
            continue;
        };
        let mut node = with_attributes(component::element(element, inner), &one.attributes, source);
        mark(&mut node, one);
        nodes.push(node);
    }
    Ok(nodes)
}

/// Whether it is a `meta` element that says something.
fn has_content(part: &EmitPart, source: &Source<'_>) -> bool {
    let content = part.attributes.get("content").filter(|_| part.element.as_deref() == Some("meta"));
    content.and_then(|text| source.value(text)).is_some_and(|content| content.as_str() != Some(""))
}

fn held(part: &EmitPart, content: &mut Resolved, context: &mut Context<'_>) -> Result<Vec<Node>> {
    let nodes = part.holds.iter().flat_map(|field| content.take(field)).collect();
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_text_stands_for() {
        let mut arguments = Arguments::default();
        arguments.set("size", 3);
        arguments.set("open", false);
        let fallback = |name: &str| (name == "kind").then(|| Value::from("dry"));
        let source = Source { arguments: &arguments, fallback: &fallback };
        let check = |text: &str, expect: Option<Value>| assert_eq!(source.value(text), expect, "{text}");
        check("plain", Some("plain".into()));
        check("$size", Some(3.into()));
        check("$kind", Some("dry".into()));
        check("$open|shut", Some("shut".into()));
        check("$open ?? shut", Some(false.into()));
        check("$nothing ?? shut", Some("shut".into()));
        check("$open?", None);
        check("$nothing", None);
        check("{size} by {size} m, {nothing}", Some("3 by 3 m, ".into()));
    }
}
