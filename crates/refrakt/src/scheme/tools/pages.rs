//! The tools that mirror the addresses of pages.

use quad_core::Tool;

use super::reads::reader;
use super::schema::{input, site, string};
use crate::scheme::question::Question;

pub(super) fn tools() -> Vec<Tool> {
    vec![
        reader(
            "refrakt.pages",
            "List pages",
            "Lists the pages of a site with url, file, title, layout, front matter and the runes they use; a broken one with its problem. The same as refrakt://pages/index.",
            input(&[("site", site())], &[]),
        ),
        reader(
            "refrakt.page",
            "Read a rendered page",
            "Gives one page rendered: html, the selectors in it, headings and front matter. The same as refrakt://pages/{url}.",
            input(
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
pub(super) fn mirrored(name: &str, text: impl Fn(&str) -> Option<String>) -> Option<Question> {
    match name {
        "refrakt.pages" => Some(Question::Pages { site: text("site") }),
        "refrakt.page" => Some(Question::Page { url: text("url").unwrap_or_default(), site: text("site") }),
        _ => None,
    }
}
