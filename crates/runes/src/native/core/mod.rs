//! Native runes of the core, one file each.

mod accordion;
mod annotate;
mod bar;
mod bg;
mod breadcrumb;
mod budget;
mod card;
mod chart;
mod codegroup;
mod compare;
mod conversation;
mod datatable;
mod deflist;
mod details;
mod diagram;
mod diff;
mod drawer;
mod embed;
mod error;
mod figure;
mod file_content;
mod file_ref;
mod form;
mod form_field;
mod gallery;
mod grid;
mod inline_runes;
mod juxtapose;
mod layout;
mod line_diff;
mod mediatext;
mod money;
mod nav;
mod pagination;
mod progress;
mod pullquote;
mod query;
mod reveal;
mod sandbox;
mod showcase;
mod tabs;
mod textblock;
mod tint;
mod toc;

use super::RuneTransform;

/// The transform of a rune of this package.
pub(super) fn find_transform(rune: &str) -> Option<RuneTransform> {
    Some(match rune {
        "accordion" => accordion::transform,
        "aggregate" => query::transform_aggregate,
        "annotate" => annotate::transform,
        "badge" => inline_runes::transform_badge,
        "bar" => bar::transform,
        "bg" => bg::transform,
        "breadcrumb" => breadcrumb::transform,
        "budget" => budget::transform,
        "budget-category" => budget::transform_category,
        "card" => card::transform,
        "chart" => chart::transform,
        "codegroup" => codegroup::transform,
        "collection" => query::transform_collection,
        "compare" => compare::transform,
        "conversation" => conversation::transform,
        "data" | "snippet" => file_content::transform,
        "datatable" => datatable::transform,
        "deflist" => deflist::transform,
        "details" => details::transform,
        "diagram" => diagram::transform,
        "diff" => diff::transform,
        "drawer" => drawer::transform,
        "embed" => embed::transform,
        "error" => error::transform,
        "expand" => inline_runes::transform_expand,
        "figure" => figure::transform,
        "file-ref" => file_ref::transform,
        "form" => form::transform,
        "form-field" => form_field::transform,
        "gallery" => gallery::transform,
        "grid" => grid::transform,
        "icon" => inline_runes::transform_icon,
        "juxtapose" => juxtapose::transform,
        "layout" => layout::transform,
        "mediatext" => mediatext::transform,
        "nav" => nav::transform,
        "pagination" => pagination::transform,
        "progress" => progress::transform,
        "pullquote" => pullquote::transform,
        "relationships" => query::transform_relationships,
        "reveal" => reveal::transform,
        "sandbox" => sandbox::transform,
        "showcase" => showcase::transform,
        "tab" => tabs::transform_tab,
        "tabs" => tabs::transform_tabs,
        "textblock" => textblock::transform,
        "tint" => tint::transform,
        "toc" => toc::transform,
        "xref" => inline_runes::transform_xref,
        _ => return None,
    })
}
