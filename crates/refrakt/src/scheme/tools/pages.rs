//! The tools that mirror the resources of pages.

use quad_core::ToolEntry;

use super::schema::{object, site, string};
use super::{read_resource, read_tool};
use crate::scheme::Refrakt;
use crate::scheme::query::ResourceQuery;

pub(super) fn tools() -> Vec<ToolEntry<Refrakt>> {
    vec![
        ToolEntry::new(
            read_tool(
                "refrakt.pages",
                "List pages",
                "Lists the pages of a site with url, file, title, layout, front matter and the runes they use; a broken one with its problem. The same as refrakt://pages/index.",
                object(&[("site", site())], &[]),
            ),
            |refrakt, call| {
                Box::pin(read_resource(refrakt, call, |arguments| ResourceQuery::Pages {
                    site: arguments.text("site"),
                }))
            },
        ),
        ToolEntry::new(
            read_tool(
                "refrakt.page",
                "Read a rendered page",
                "Gives one page rendered: html, the selectors in it, headings and front matter. The same as refrakt://pages/{url}.",
                object(
                    &[
                        ("url", string("The page's url, such as /docs/intro; / is the first page")),
                        ("site", site()),
                    ],
                    &["url"],
                ),
            ),
            |refrakt, call| {
                Box::pin(read_resource(refrakt, call, |arguments| ResourceQuery::Page {
                    url: arguments.text("url").unwrap_or_default(),
                    site: arguments.text("site"),
                }))
            },
        ),
    ]
}
