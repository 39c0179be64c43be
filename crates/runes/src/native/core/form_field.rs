//! One field of a form.
//!
//! Native: each kind of field is another element.

use serde_json::Value;

use crate::expand::render_context::Result;
use crate::expand::root_builder::{RootBuilder, field_meta_element, named_element, new_element};
use crate::expand::slug::hyphenate;
use crate::expand::{RenderContext, RuneUse};
use crate::js_value::{JsTrim, is_truthy, to_js_string};
use crate::render_tree::{Element, RenderNode};

pub(super) fn transform(rune_use: RuneUse<'_>, _cx: &mut RenderContext<'_>) -> Result<RenderNode> {
    let arguments = &rune_use.arguments;
    let name = to_js_string(&arguments.non_null_or("name", ""));
    let kind = arguments.non_null_or("fieldType", "text");
    let control = Control {
        id: format!("field-{}", hyphenate(name.to_lowercase().chars())),
        required: is_truthy(&arguments.non_null_or("required", true)),
        placeholder: arguments.text("placeholder"),
        options: to_js_string(&arguments.non_null_or("options", ""))
            .split(',')
            .map(str::js_trim)
            .filter(|option| !option.is_empty())
            .map(str::to_owned)
            .collect(),
        name,
        kind,
    };
    Ok(match control.kind.as_str().unwrap_or_default() {
        "submit" => {
            named_element_with_attr("button", "submit", [control.name.into()], Some(("type", "submit")))
        }
        "separator" => named_element("hr", "separator", []),
        "help" => named_element("p", "help", [control.name.into()]),
        "description" => named_element("p", "text", [control.name.into()]),
        "group" => {
            let legend = new_element("legend", [control.name.into()]);
            Element::new("fieldset").with_attr("class", "rf-form-fieldset").with_children([legend]).into()
        }
        "radio" | "checkbox" => control.render_choices(),
        _ => control.render_input(),
    })
}

fn named_element_with_attr(
    element: &str,
    name: &str,
    children: impl IntoIterator<Item = RenderNode>,
    first: Option<(&str, &str)>,
) -> RenderNode {
    let tag = first.into_iter().fold(Element::new(element), |tag, (key, value)| tag.with_attr(key, value));
    tag.with_attr("data-name", name).with_children(children).into()
}

/// An input element.
struct Control {
    id: String,
    name: String,
    kind: Value,
    required: bool,
    placeholder: Option<String>,
    options: Vec<String>,
}

impl Control {
    fn label_nodes(&self) -> Vec<RenderNode> {
        let required_mark = Element::new("span")
            .with_attr("data-name", "required")
            .with_attr("aria-hidden", "true")
            .with_children(["*".into()]);
        let required_mark = self.required.then(|| required_mark.into());
        std::iter::once(self.name.as_str().into()).chain(required_mark).collect()
    }

    fn render_choices(&self) -> RenderNode {
        let choice = |(index, option): (usize, &String)| {
            let mut input = Element::new("input")
                .with_attr("type", self.kind.clone())
                .with_attr("name", self.id.as_str())
                .with_attr("value", option.as_str());
            if self.required && self.kind.as_str() == Some("radio") && index == 0 {
                input = input.with_attr("required", "");
            }
            let text = new_element("span", [option.as_str().into()]);
            Element::new("label")
                .with_attr("class", "rf-form-choice")
                .with_children([input.into(), text])
                .into()
        };
        let head =
            [field_meta_element("field-type", self.kind.clone()), new_element("legend", self.label_nodes())];
        let choices = self.options.iter().enumerate().map(choice);
        let group = Element::new("fieldset")
            .with_attr("data-rune", "form-field")
            .with_attr("class", "rf-form-choice-group");
        group.with_children(head.into_iter().chain(choices)).into()
    }

    fn render_input(&self) -> RenderNode {
        let label =
            Element::new("label").with_attr("for", self.id.as_str()).with_children(self.label_nodes());
        let body = named_element("div", "body", [label.into(), self.input_element().into()]);
        RootBuilder::new("form-field", "div").value("fieldType", self.kind.clone()).child(body).build()
    }

    fn input_element(&self) -> Element {
        let with_id =
            |tag: Element| tag.with_attr("id", self.id.as_str()).with_attr("name", self.id.as_str());
        let with_placeholder = |tag: Element| match &self.placeholder {
            Some(placeholder) => tag.with_attr("placeholder", placeholder.as_str()),
            None => tag,
        };
        let with_required = |tag: Element| if self.required { tag.with_attr("required", "") } else { tag };
        match self.kind.as_str() {
            Some("textarea") => {
                with_required(with_placeholder(with_id(Element::new("textarea")))).with_attr("rows", "4")
            }
            Some("select") => {
                let prompt = Element::new("option")
                    .with_attr("value", "")
                    .with_attr("disabled", "")
                    .with_attr("selected", "");
                let prompt = prompt.with_children(["Select an option".into()]);
                let options = self.options.iter().map(|option| {
                    Element::new("option")
                        .with_attr("value", option.as_str())
                        .with_children([option.as_str().into()])
                        .into()
                });
                with_required(with_id(Element::new("select")))
                    .with_children(std::iter::once(prompt.into()).chain(options))
            }
            _ => with_required(with_placeholder(with_id(
                Element::new("input").with_attr("type", self.kind.clone()),
            ))),
        }
    }
}
