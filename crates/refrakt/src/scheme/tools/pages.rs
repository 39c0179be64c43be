//! The tools that mirror the resources of pages.

use quad_core::ToolEntry;
use serde_json::json;

use super::schema::{object, site, string};
use super::{read_resource, read_tool, results};
use crate::scheme::Refrakt;
use crate::scheme::query::ResourceQuery;

pub(super) fn tools() -> Vec<ToolEntry<Refrakt>> {
    vec![
        ToolEntry::new(
            read_tool(
                "refrakt_pages",
                "List pages",
                "Lists the pages of a site: url, file, title, layout, front matter, runes, problem.",
                object(&[("site", site())], &[]),
            )
            .dotted("refrakt.pages")
            .output(results::pages())
            .example(json!({"site": "main"}))
            .with_stored_text(),
            |refrakt, call| {
                Box::pin(read_resource(refrakt, call, |arguments| ResourceQuery::Pages {
                    site: arguments.text("site"),
                }))
            },
        ),
        ToolEntry::new(
            read_tool(
                "refrakt_page",
                "Read a rendered page",
                "Reads one page rendered: html, selectors, headings, front matter.",
                object(
                    &[
                        ("url", string("Url, file or title, such as /docs/intro; / is the first page")),
                        ("site", site()),
                    ],
                    &["url"],
                ),
            )
            .dotted("refrakt.page")
            .output(results::page())
            .example(json!({"url": "/docs/intro"}))
            .aliases(&[("page", "url"), ("path", "url"), ("file", "url"), ("title", "url")])
            .with_stored_text(),
            |refrakt, call| {
                Box::pin(read_resource(refrakt, call, |arguments| ResourceQuery::Page {
                    url: arguments.text("url").unwrap_or_default(),
                    site: arguments.text("site"),
                }))
            },
        ),
    ]
}
