//! Renders runes by their template.
//!
//! A rune without a template becomes a `section` with one named part for each field of its content model.

use indexmap::IndexMap;
use serde_json::Value;

use super::header::SectionHeader;
use super::media::unwrap_paragraphs;
use super::render_context::{RenderContext, Result, RuneUse};
use super::root_builder::{self, RootBuilder};
use crate::catalogue::{ContentModel, TemplatePart, kebab_case};
use crate::content::ContentFields;
use crate::expand::Arguments;
use crate::js_value::to_js_string;
use crate::render_tree::{Element, RenderNode};

/// Renders a rune by its template, or by the default.
pub(super) fn render(rune_use: RuneUse<'_>, cx: &mut RenderContext<'_>) -> Result<RenderNode> {
    let Some(template) = &rune_use.rune.emit else { return render_default(rune_use, cx) };
    let type_name = rune_use.type_name();
    let RuneUse { rune, arguments, mut content, .. } = rune_use;
    let attribute_fallback =
        |name: &str| rune.attributes.get(name).and_then(|attribute| attribute.fallback.clone());
    let scope = TemplateScope { arguments: &arguments, fallback: &attribute_fallback };
    let children = render_parts(&template.children, &scope, &mut content, cx)?;
    if template.plain {
        return Ok(with_attributes(
            root_builder::new_element(&template.element, children),
            &template.attributes,
            &scope,
        ));
    }
    let mut root = RootBuilder::new(&type_name, &template.element);
    if let Some(property) = &template.property {
        root = root.data_field(property);
    }
    if let Some(type_of) = &template.type_of {
        root = root.type_of(type_of);
    }
    if template.class {
        root = root.class(arguments.get("class").cloned());
    }
    for (name, text) in &template.values {
        let value = scope.resolve(text);
        // npm leaves an empty `meta` for a value that is missing and not optional.
        let must_be_present = value.is_none() && !text.ends_with('?');
        let empty_meta =
            must_be_present.then(|| Element::new("meta").with_attr("data-field", kebab_case(name)));
        root = root.value_if(name, value).child_if(empty_meta);
    }
    Ok(with_attributes(root.children(children).build(), &template.attributes, &scope))
}

fn with_attributes(
    mut node: RenderNode,
    attributes: &IndexMap<String, String>,
    scope: &TemplateScope<'_>,
) -> RenderNode {
    for (name, text) in attributes {
        if let Some(value) = scope.resolve(text) {
            node.set_attr(name, value);
        }
    }
    node
}

/// The arguments and defaults of `$name`.
struct TemplateScope<'s> {
    arguments: &'s Arguments,
    fallback: &'s dyn Fn(&str) -> Option<Value>,
}

impl TemplateScope<'_> {
    /// The value of a template text.
    fn resolve(&self, text: &str) -> Option<Value> {
        let Some(name) = text.strip_prefix('$') else { return Some(self.interpolate(text).into()) };
        if let Some((name, default)) = name.split_once("??") {
            return Some(self.arguments.non_null_or(name.trim_end(), default.trim_start()));
        }
        if let Some((name, default)) = name.split_once('|') {
            return Some(self.arguments.truthy_or(name, default));
        }
        if let Some(name) = name.strip_suffix('?') {
            return self.arguments.truthy(name).cloned();
        }
        self.argument(name)
    }

    fn argument(&self, name: &str) -> Option<Value> {
        self.arguments.get(name).filter(|value| !value.is_null()).cloned().or_else(|| (self.fallback)(name))
    }

    /// Inserts the arguments that a text refers to.
    fn interpolate(&self, text: &str) -> String {
        let Some((before, rest)) = text.split_once('{') else { return text.to_owned() };
        let Some((name, after)) = rest.split_once('}') else { return text.to_owned() };
        let value = self.argument(name).map(|value| to_js_string(&value)).unwrap_or_default();
        format!("{before}{value}{}", self.interpolate(after))
    }
}

fn render_parts(
    parts: &[TemplatePart],
    scope: &TemplateScope<'_>,
    content: &mut ContentFields,
    cx: &mut RenderContext<'_>,
) -> Result<Vec<RenderNode>> {
    let mut nodes = Vec::new();
    let is_included =
        |part: &&TemplatePart| part.when.as_ref().is_none_or(|name| scope.arguments.is_truthy(name));
    for part in parts.iter().filter(is_included) {
        let mut inner = render_held_fields(part, content, cx)?;
        if let Some(text) = &part.text {
            inner.push(RenderNode::Text(
                scope.resolve(text).map(|value| to_js_string(&value)).unwrap_or_default(),
            ));
        }
        inner.extend(self::render_parts(&part.children, scope, content, cx)?);
        if inner.is_empty() && !part.always && !has_meta_content(part, scope) {
            continue;
        }
        let Some(element) = &part.element else {
            nodes.append(&mut inner);
            continue;
        };
        let mut node = with_attributes(root_builder::new_element(element, inner), &part.attributes, scope);
        apply_marks(&mut node, part);
        nodes.push(node);
    }
    Ok(nodes)
}

/// Whether it is a `meta` element with content.
fn has_meta_content(part: &TemplatePart, scope: &TemplateScope<'_>) -> bool {
    let content = part.attributes.get("content").filter(|_| part.element.as_deref() == Some("meta"));
    content.and_then(|text| scope.resolve(text)).is_some_and(|content| content.as_str() != Some(""))
}

fn render_held_fields(
    part: &TemplatePart,
    content: &mut ContentFields,
    cx: &mut RenderContext<'_>,
) -> Result<Vec<RenderNode>> {
    let nodes = part.holds.iter().flat_map(|field| content.take(field)).collect();
    let mut nodes = cx.render_nodes(nodes)?;
    if part.unwrap {
        nodes = unwrap_paragraphs(nodes);
    }
    if part.header {
        SectionHeader::set_part_names(&mut nodes);
    }
    Ok(nodes)
}

fn apply_marks(node: &mut RenderNode, part: &TemplatePart) {
    if let Some(field) = &part.field {
        root_builder::set_field(node, field);
    }
    if let Some(name) = &part.name {
        root_builder::set_name(node, name);
    }
    if let Some(property) = &part.property {
        root_builder::set_rdfa_property(node, property);
    }
}

/// Every argument becomes a value, every field a named part.
fn render_default(rune_use: RuneUse<'_>, cx: &mut RenderContext<'_>) -> Result<RenderNode> {
    let type_name = rune_use.type_name();
    let RuneUse { rune, arguments, mut content, .. } = rune_use;
    let mut root = RootBuilder::new(&type_name, "section");
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
            root = root.child(root_builder::named_element("div", field, cx.render_nodes(nodes)?));
        }
    }
    let rest = content.take_all();
    Ok(root.children(cx.render_nodes(rest)?).build())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn template_values_are_resolved() {
        let mut arguments = Arguments::default();
        arguments.set("size", 3);
        arguments.set("open", false);
        let fallback = |name: &str| (name == "kind").then(|| Value::from("dry"));
        let scope = TemplateScope { arguments: &arguments, fallback: &fallback };
        let check = |text: &str, expect: Option<Value>| assert_eq!(scope.resolve(text), expect, "{text}");
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
