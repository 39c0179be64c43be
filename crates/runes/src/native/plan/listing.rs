//! Lists of plan entities: backlog, decision log, activity.
//!
//! Native: each is a `collection` whose query and template depend on the arguments. A site, which knows the entities,
//! runs the query; the output here is the query and the Markdoc template of an entity.

use serde_json::Value;

use crate::expand::render_context::Result;
use crate::expand::root_builder::{RootBuilder, field_meta_element, named_element};
use crate::expand::{RenderContext, RuneUse};
use crate::js_value::to_js_string;
use crate::render_tree::RenderNode;

/// Marks the element that a site fills with entities.
const SENTINEL: &str = "__collection-sentinel";

/// Table template for any entity: a heading names a column, the text below fills its cells.
const TABLE_TEMPLATE: &str = "# Identifier
{% link href=$item.url %}{% $item.identifier %}{% /link %}
# Type
{% humanize($item.type) %}
# Status
{% badge type=\"status\" sentiment=$item.sentiment %}{% $item.data.status %}{% /badge %}
# Title
{% $item.data.title %}
";

const DECISIONS_TEMPLATE: &str = "# Decision
{% link href=$item.url %}**{% $item.id %}** — {% $item.data.title %}{% /link %}
# Status
{% humanize($item.data.status) %}
# Date
{% date($item.data.date) %}
";

const CHANGES_TEMPLATE: &str = "# Item
{% link href=$item.url %}**{% $item.id %}** — {% $item.data.title %}{% /link %}
# Type
{% humanize($item.type) %}
# Status
{% humanize($item.data.status) %}
# Modified
{% date($item.data.modified) %}
";

/// A query and its template.
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

/// The author's template if the body is deferred, else the default.
fn deferred_body_or(rune_use: &RuneUse<'_>, default_template: &str) -> String {
    let deferred = rune_use.arguments.get("__deferred-body").and_then(Value::as_str);
    deferred.filter(|body| !body.is_empty()).unwrap_or(default_template).to_owned()
}

/// Work and bugs, or entities of another type.
pub(super) fn transform_backlog(rune_use: RuneUse<'_>, _: &mut RenderContext<'_>) -> Result<RenderNode> {
    let argument = |name: &str, default: &str| to_js_string(&rune_use.arguments.non_null_or(name, default));
    let show = argument("show", "all");
    let types = if show == "all" { "work,bug".to_owned() } else { show };
    let layout = argument("layout", "cards");
    let default_template = if layout == "table" { TABLE_TEMPLATE.to_owned() } else { card_template(&types) };
    let listing = Listing {
        types,
        filter: argument("filter", ""),
        sort: argument("sort", "priority"),
        group: argument("group", "status"),
        limit: rune_use.arguments.get("limit").map(to_js_string).unwrap_or_default(),
        layout,
        group_display: argument("group-display", "headings"),
        template: deferred_body_or(&rune_use, &default_template),
    };
    Ok(listing.into_element())
}

/// Card template. If all entities have one type, the card shows the most important fields of that type.
fn card_template(types: &str) -> String {
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

/// All decisions. `date` alone sorts the latest first.
pub(super) fn transform_decision_log(rune_use: RuneUse<'_>, _: &mut RenderContext<'_>) -> Result<RenderNode> {
    let sort = to_js_string(&rune_use.arguments.non_null_or("sort", "date"));
    let listing = Listing {
        types: "decision".into(),
        filter: to_js_string(&rune_use.arguments.non_null_or("filter", "")),
        sort: if sort == "date" { "-date".into() } else { sort },
        template: deferred_body_or(&rune_use, DECISIONS_TEMPLATE),
        ..Listing::empty_table()
    };
    Ok(listing.into_element())
}

/// The latest changes of any type.
pub(super) fn transform_activity(rune_use: RuneUse<'_>, _: &mut RenderContext<'_>) -> Result<RenderNode> {
    let listing = Listing {
        types: "work,bug,spec,decision,milestone".into(),
        sort: "-modified".into(),
        limit: to_js_string(&rune_use.arguments.non_null_or("limit", 10)),
        template: deferred_body_or(&rune_use, CHANGES_TEMPLATE),
        ..Listing::empty_table()
    };
    Ok(listing.into_element())
}

impl Listing {
    /// An empty query, shown as a table.
    fn empty_table() -> Listing {
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

    fn into_element(self) -> RenderNode {
        let fields = [
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
        let metas = fields.map(|(field, content)| field_meta_element(field, Value::from(content)));
        RootBuilder::new("collection", "section")
            .children(metas)
            .child(named_element("div", "items", []))
            .build()
    }
}
