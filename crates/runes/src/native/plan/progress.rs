//! Progress of a plan: one `aggregate` for each type of entity.
//!
//! Native: each type has its own bar and its own "done" state. A site counts the entities; the output here is the
//! query.

use serde_json::Value;

use crate::expand::render_context::Result;
use crate::expand::root_builder::{RootBuilder, field_meta_element, named_element};
use crate::expand::{RenderContext, RuneUse};
use crate::js_value::{JsTrim, to_js_string};
use crate::render_tree::RenderNode;

/// Marks the element that a site fills with counts.
const SENTINEL: &str = "__aggregate-sentinel";

/// All types, and the default types.
const ALL_TYPES: &str = "work,bug,spec,decision,milestone";
const DEFAULT_TYPES: &str = "work,bug";

pub(super) fn transform(rune_use: RuneUse<'_>, _: &mut RenderContext<'_>) -> Result<RenderNode> {
    let argument = |name: &str| rune_use.arguments.text(name);
    let show = argument("show").map(|show| if show == "all" { ALL_TYPES.to_owned() } else { show });
    let types = argument("type").or(show).unwrap_or_else(|| DEFAULT_TYPES.to_owned());
    let milestone_filter = argument("milestone").map(|milestone| format!("milestone:{milestone}"));
    let query = AggregateQuery {
        filter: argument("filter").or(milestone_filter).unwrap_or_default(),
        done_filter: argument("value"),
        sort: to_js_string(&rune_use.arguments.non_null_or("sort", "")),
        limit: to_js_string(&rune_use.arguments.non_null_or("limit", "")),
    };
    let bars = types.split(',').filter_map(|entity| query.progress_bar(entity.js_trim()));
    Ok(RootBuilder::new("plan-progress", "section").children(bars).build())
}

/// The query that all types share.
struct AggregateQuery {
    filter: String,
    done_filter: Option<String>,
    sort: String,
    limit: String,
}

impl AggregateQuery {
    /// The bar of one type; `None` for an unknown type.
    fn progress_bar(&self, entity: &str) -> Option<RenderNode> {
        let (heading, done, done_label) = match entity {
            "work" => ("Work", "done", "Done"),
            "bug" => ("Bugs", "fixed", "Fixed"),
            "spec" => ("Specs", "accepted", "Accepted"),
            "decision" => ("Decisions", "accepted", "Accepted"),
            "milestone" => ("Milestones", "complete", "Complete"),
            _ => return None,
        };
        let fields = [
            ("aggregate-type", entity.to_owned()),
            ("aggregate-filter", self.filter.clone()),
            ("aggregate-value", self.done_filter.clone().unwrap_or_else(|| format!("status:{done}"))),
            ("aggregate-group", "status".to_owned()),
            ("aggregate-sort", self.sort.clone()),
            ("aggregate-limit", self.limit.clone()),
            ("aggregate-empty", String::new()),
            (SENTINEL, "true".to_owned()),
            ("aggregate-body", body_template(done_label)),
        ];
        let metas = fields.map(|(field, content)| field_meta_element(field, Value::from(content)));
        let counts = RootBuilder::new("aggregate", "section").children(metas).build();
        let heading = named_element("h3", "heading", [heading.into()]).with_attr("data-type", entity);
        Some(named_element("div", "group", [heading, counts]).with_attr("data-type", entity))
    }
}

/// Template of the counts: a bar, a badge for each state, and a text for no entities.
fn body_template(done_label: &str) -> String {
    [
        "{% progress value=$item.value max=$item.count %}",
        done_label,
        "{% /progress %}\n---\n{% badge type=\"status\" sentiment=$item.sentiment %}{% $item.count %} ",
        "{% humanize($item.key) %}{% /badge %}\n---\nNo items yet.\n",
    ]
    .concat()
}
