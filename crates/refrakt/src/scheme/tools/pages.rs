//! The tools that mirror the addresses of pages.

use quad_core::Tool;

use super::reads::read_tool;
use super::schema::{input_schema, site, string};
use crate::scheme::query::ResourceQuery;

pub(super) fn tools() -> Vec<Tool> {
    vec![
        read_tool(
            "refrakt.pages",
            "List pages",
            "Lists the pages of a site with url, file, title, layout, front matter and the runes they use; a broken one with its problem. The same as refrakt://pages/index.",
            input_schema(&[("site", site())], &[]),
        ),
        read_tool(
            "refrakt.page",
            "Read a rendered page",
            "Gives one page rendered: html, the selectors in it, headings and front matter. The same as refrakt://pages/{url}.",
            input_schema(
                &[
                    ("url", string("The page's url, such as /docs/intro; / is the first page")),
                    ("site", site()),
                ],
                &["url"],
            ),
        ),
    ]
}

/// The resource that a tool mirrors.
pub(super) fn query_for_tool(name: &str, text: impl Fn(&str) -> Option<String>) -> Option<ResourceQuery> {
    match name {
        "refrakt.pages" => Some(ResourceQuery::Pages { site: text("site") }),
        "refrakt.page" => {
            Some(ResourceQuery::Page { url: text("url").unwrap_or_default(), site: text("site") })
        }
        _ => None,
    }
}
