//! Lists of a plan's entities: backlog, decision log, activity.
//!
//! Native because each is a `collection` whose question and template depend on the arguments. Which entities there are only a
//! site knows; what stands here is the question, and the Markdoc that each entity is shown by.

use serde_json::Value;

use crate::schema::component::{Component, field_meta, part};
use crate::schema::context::Result;
use crate::schema::{Call, Context};
use crate::tree::Node;
use crate::value::to_text;

/// Marks the element that a site fills with entities.
const SENTINEL: &str = "__collection-sentinel";

/// How a table of any entities is shown: a heading names a column, what follows fills its cells.
const TABLE: &str = "# Identifier
{% link href=$item.url %}{% $item.identifier %}{% /link %}
# Type
{% humanize($item.type) %}
# Status
{% badge type=\"status\" sentiment=$item.sentiment %}{% $item.data.status %}{% /badge %}
# Title
{% $item.data.title %}
";

const DECISIONS: &str = "# Decision
{% link href=$item.url %}**{% $item.id %}** — {% $item.data.title %}{% /link %}
# Status
{% humanize($item.data.status) %}
# Date
{% date($item.data.date) %}
";

const CHANGES: &str = "# Item
{% link href=$item.url %}**{% $item.id %}** — {% $item.data.title %}{% /link %}
# Type
{% humanize($item.type) %}
# Status
{% humanize($item.data.status) %}
# Modified
{% date($item.data.modified) %}
";

/// What is asked for, and how it is shown.
struct Listing {
    types: String,
    filter: String,
    sort: String,
    group: String,
    limit: String,
    layout: String,
    group_display: String,
    template: String,
}

/// The template of an author who keeps the body for later, else the usual one.
fn template(call: &Call<'_>, usual: &str) -> String {
    let kept = call.arguments.get("__deferred-body").and_then(Value::as_str);
    kept.filter(|kept| !kept.is_empty()).unwrap_or(usual).to_owned()
}

/// Work and bugs, or entities of another type.
pub(super) fn backlog(call: Call<'_>, _: &mut Context<'_>) -> Result<Node> {
    let argument = |name: &str, otherwise: &str| to_text(&call.arguments.value_or(name, otherwise));
    let show = argument("show", "all");
    let types = if show == "all" { "work,bug".to_owned() } else { show };
    let layout = argument("layout", "cards");
    let usual = if layout == "table" { TABLE.to_owned() } else { card(&types) };
    let listing = Listing {
        types,
        filter: argument("filter", ""),
        sort: argument("sort", "priority"),
        group: argument("group", "status"),
        limit: call.arguments.get("limit").map(to_text).unwrap_or_default(),
        layout,
        group_display: argument("group-display", "headings"),
        template: template(&call, &usual),
    };
    Ok(listing.element())
}

/// How an entity is shown as a card. Where all are of one type, what matters most about that type stands on it.
fn card(types: &str) -> String {
    let field = match types {
        "work" => Some("priority"),
        "bug" => Some("severity"),
        _ => None,
    };
    let field = field.map(|field| {
        format!(
            " {{% if $item.data.{field} %}}{{% badge %}}{{% $item.data.{field} %}}{{% /badge %}}{{% /if %}}"
        )
    });
    [
        "{% card href=$item.url %}\n{% bar %}\n{% $item.identifier %}{% if $item.mixed %} ",
        "{% badge type=\"category\" %}{% humanize($item.type) %}{% /badge %}{% /if %}",
        &field.unwrap_or_default(),
        "\n---\n{% badge type=\"status\" sentiment=$item.sentiment %}{% $item.data.status %}{% /badge %}\n",
        "{% /bar %}\n\n#### {% $item.data.title %}\n{% /card %}\n",
    ]
    .concat()
}

/// All decisions. `date` alone means the latest first.
pub(super) fn decision_log(call: Call<'_>, _: &mut Context<'_>) -> Result<Node> {
    let sort = to_text(&call.arguments.value_or("sort", "date"));
    let listing = Listing {
        types: "decision".into(),
        filter: to_text(&call.arguments.value_or("filter", "")),
        sort: if sort == "date" { "-date".into() } else { sort },
        template: template(&call, DECISIONS),
        ..Listing::table()
    };
    Ok(listing.element())
}

/// What changed last, of any type.
pub(super) fn activity(call: Call<'_>, _: &mut Context<'_>) -> Result<Node> {
    let listing = Listing {
        types: "work,bug,spec,decision,milestone".into(),
        sort: "-modified".into(),
        limit: to_text(&call.arguments.value_or("limit", 10)),
        template: template(&call, CHANGES),
        ..Listing::table()
    };
    Ok(listing.element())
}

impl Listing {
    /// A table that asks for nothing yet.
    fn table() -> Listing {
        Listing {
            types: String::new(),
            filter: String::new(),
            sort: String::new(),
            group: String::new(),
            limit: String::new(),
            layout: "table".into(),
            group_display: "headings".into(),
            template: String::new(),
        }
    }

    fn element(self) -> Node {
        let question = [
            ("collection-type", self.types),
            ("collection-filter", self.filter),
            ("collection-sort", self.sort),
            ("collection-group", self.group),
            ("collection-limit", self.limit),
            ("collection-fields", String::new()),
            ("collection-layout", self.layout),
            ("collection-group-display", self.group_display),
            ("collection-empty", String::new()),
            (SENTINEL, "true".into()),
            ("collection-body", self.template),
        ];
        let metas = question.map(|(field, content)| field_meta(field, Value::from(content)));
        Component::new("collection", "section").children(metas).child(part("div", "items", [])).build()
    }
}
