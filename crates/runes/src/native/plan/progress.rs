//! How much of a plan is done: one `aggregate` for each type of entity.
//!
//! Native because each type has a bar of its own, with the state that counts as done for it. Only a site can count; what stands
//! here is the question.

use serde_json::Value;

use crate::schema::component::{Component, field_meta, part};
use crate::schema::context::Result;
use crate::schema::{Call, Context};
use crate::tree::Node;
use crate::value::to_text;

/// Marks the element that a site fills with counts.
const SENTINEL: &str = "__aggregate-sentinel";

/// All types, and those that are shown unless the author says.
const ALL_TYPES: &str = "work,bug,spec,decision,milestone";
const USUAL_TYPES: &str = "work,bug";

pub(super) fn transform(call: Call<'_>, _: &mut Context<'_>) -> Result<Node> {
    let given = |name: &str| call.arguments.text(name);
    let show = given("show").map(|show| if show == "all" { ALL_TYPES.to_owned() } else { show });
    let types = given("type").or(show).unwrap_or_else(|| USUAL_TYPES.to_owned());
    let of_milestone = given("milestone").map(|milestone| format!("milestone:{milestone}"));
    let question = Question {
        filter: given("filter").or(of_milestone).unwrap_or_default(),
        done: given("value"),
        sort: to_text(&call.arguments.value_or("sort", "")),
        limit: to_text(&call.arguments.value_or("limit", "")),
    };
    let bars = types.split(',').filter_map(|entity| question.bar(entity.trim()));
    Ok(Component::new("plan-progress", "section").children(bars).build())
}

/// What is counted, the same for all types.
struct Question {
    filter: String,
    done: Option<String>,
    sort: String,
    limit: String,
}

impl Question {
    /// The bar of one type; none for what is no type.
    fn bar(&self, entity: &str) -> Option<Node> {
        let (heading, done, done_label) = match entity {
            "work" => ("Work", "done", "Done"),
            "bug" => ("Bugs", "fixed", "Fixed"),
            "spec" => ("Specs", "accepted", "Accepted"),
            "decision" => ("Decisions", "accepted", "Accepted"),
            "milestone" => ("Milestones", "complete", "Complete"),
            _ => return None,
        };
        let question = [
            ("aggregate-type", entity.to_owned()),
            ("aggregate-filter", self.filter.clone()),
            ("aggregate-value", self.done.clone().unwrap_or_else(|| format!("status:{done}"))),
            ("aggregate-group", "status".to_owned()),
            ("aggregate-sort", self.sort.clone()),
            ("aggregate-limit", self.limit.clone()),
            ("aggregate-empty", String::new()),
            (SENTINEL, "true".to_owned()),
            ("aggregate-body", template(done_label)),
        ];
        let metas = question.map(|(field, content)| field_meta(field, Value::from(content)));
        let counts = Component::new("aggregate", "section").children(metas).build();
        let heading = part("h3", "heading", [heading.into()]).having("data-type", entity);
        Some(part("div", "group", [heading, counts]).having("data-type", entity))
    }
}

/// How the counts are shown: a bar, then a badge for each state, then what stands there without any.
fn template(done: &str) -> String {
    [
        "{% progress value=$item.value max=$item.count %}",
        done,
        "{% /progress %}\n---\n{% badge type=\"status\" sentiment=$item.sentiment %}{% $item.count %} ",
        "{% humanize($item.key) %}{% /badge %}\n---\nNo items yet.\n",
    ]
    .concat()
}
