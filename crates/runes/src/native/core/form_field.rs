//! One field of a form.
//!
//! Native because each kind of field is another element.

use serde_json::Value;

use crate::schema::component::{Component, element, field_meta, part};
use crate::schema::context::Result;
use crate::schema::{Call, Context};
use crate::tree::{Node, Tag};
use crate::value::{to_text, truthy};

pub(super) fn transform(call: Call<'_>, _out: &mut Context<'_>) -> Result<Node> {
    let arguments = &call.arguments;
    let name = to_text(&arguments.value_or("name", ""));
    let kind = arguments.value_or("fieldType", "text");
    let control = Control {
        id: format!("field-{}", hyphenated(&name.to_lowercase())),
        required: truthy(&arguments.value_or("required", true)),
        placeholder: arguments.text("placeholder"),
        options: to_text(&arguments.value_or("options", ""))
            .split(',')
            .map(str::trim)
            .filter(|option| !option.is_empty())
            .map(str::to_owned)
            .collect(),
        name,
        kind,
    };
    Ok(match control.kind.as_str().unwrap_or_default() {
        "submit" => named("button", "submit", [control.name.into()], Some(("type", "submit"))),
        "separator" => part("hr", "separator", []),
        "help" => part("p", "help", [control.name.into()]),
        "description" => part("p", "text", [control.name.into()]),
        "group" => {
            let legend = element("legend", [control.name.into()]);
            Tag::new("fieldset").with("class", "rf-form-fieldset").holding([legend]).into()
        }
        "radio" | "checkbox" => control.choices(),
        _ => control.input(),
    })
}

fn named(
    element: &str,
    name: &str,
    children: impl IntoIterator<Item = Node>,
    first: Option<(&str, &str)>,
) -> Node {
    let tag = first.into_iter().fold(Tag::new(element), |tag, (key, value)| tag.with(key, value));
    tag.with("data-name", name).holding(children).into()
}

/// Runs of white space as hyphens.
fn hyphenated(text: &str) -> String {
    let mut result = String::with_capacity(text.len());
    let mut in_space = false;
    for c in text.chars() {
        if !c.is_whitespace() {
            result.push(c);
        } else if !in_space {
            result.push('-');
        }
        in_space = c.is_whitespace();
    }
    result
}

/// A field in which something is entered.
struct Control {
    id: String,
    name: String,
    kind: Value,
    required: bool,
    placeholder: Option<String>,
    options: Vec<String>,
}

impl Control {
    fn label(&self) -> Vec<Node> {
        let star =
            Tag::new("span").with("data-name", "required").with("aria-hidden", "true").holding(["*".into()]);
        let star = self.required.then(|| star.into());
        std::iter::once(self.name.as_str().into()).chain(star).collect()
    }

    fn choices(&self) -> Node {
        let choice = |(at, option): (usize, &String)| {
            let mut input = Tag::new("input")
                .with("type", self.kind.clone())
                .with("name", self.id.as_str())
                .with("value", option.as_str());
            if self.required && self.kind.as_str() == Some("radio") && at == 0 {
                input = input.with("required", "");
            }
            let text = element("span", [option.as_str().into()]);
            Tag::new("label").with("class", "rf-form-choice").holding([input.into(), text]).into()
        };
        let head = [field_meta("field-type", self.kind.clone()), element("legend", self.label())];
        let choices = self.options.iter().enumerate().map(choice);
        let group =
            Tag::new("fieldset").with("data-rune", "form-field").with("class", "rf-form-choice-group");
        group.holding(head.into_iter().chain(choices)).into()
    }

    fn input(&self) -> Node {
        let label = Tag::new("label").with("for", self.id.as_str()).holding(self.label());
        let body = part("div", "body", [label.into(), self.entry().into()]);
        Component::new("form-field", "div").value("fieldType", self.kind.clone()).child(body).build()
    }

    fn entry(&self) -> Tag {
        let with_id = |tag: Tag| tag.with("id", self.id.as_str()).with("name", self.id.as_str());
        let with_placeholder = |tag: Tag| match &self.placeholder {
            Some(placeholder) => tag.with("placeholder", placeholder.as_str()),
            None => tag,
        };
        let with_required = |tag: Tag| if self.required { tag.with("required", "") } else { tag };
        match self.kind.as_str() {
            Some("textarea") => {
                with_required(with_placeholder(with_id(Tag::new("textarea")))).with("rows", "4")
            }
            Some("select") => {
                let hint = Tag::new("option").with("value", "").with("disabled", "").with("selected", "");
                let hint = hint.holding(["Select an option".into()]);
                let options = self.options.iter().map(|option| {
                    Tag::new("option").with("value", option.as_str()).holding([option.as_str().into()]).into()
                });
                with_required(with_id(Tag::new("select")))
                    .holding(std::iter::once(hint.into()).chain(options))
            }
            _ => with_required(with_placeholder(with_id(Tag::new("input").with("type", self.kind.clone())))),
        }
    }
}
