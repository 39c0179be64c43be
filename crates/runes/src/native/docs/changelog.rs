//! Release notes, one heading a release.
//!
//! Native because a heading says two things in one text, the version and the date, in several ways of writing them.

use std::sync::LazyLock;

use quad_markdoc::Node as Parsed;
use regex::Regex;

use crate::content::{Resolved, ast};
use crate::schema::component::{Component, field, is_rune, part};
use crate::schema::context::Result;
use crate::schema::header::header;
use crate::schema::{Call, Context};
use crate::tree::Node;

/// A version, a dash, a date: `v2.1.0-rc.1 — 3 May`.
static VERSION_AND_DATE: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r"^v?([0-9.]+(?:-[A-Za-z0-9_.]+)?)\s*[-–—]\s*(.+)$").ok());

pub(super) fn transform(mut call: Call<'_>, out: &mut Context<'_>) -> Result<Node> {
    let head = out.nodes(call.content.take("header"))?;
    let mut releases = call.content.take("items");
    releases.extend(call.content.take_groups("sections").into_iter().map(release));
    let mut releases = out.nodes(releases)?;
    releases.retain(|node| is_rune(node, "section", "changelog-release"));
    releases.iter_mut().for_each(|node| field(node, "release"));
    let root = Component::new("changelog", "section").property("contentSection");
    let root = root.value("project", call.arguments.value_or("project", "")).child_if(header(head));
    Ok(root.child(part("div", "releases", releases)).build())
}

/// The tag that a section becomes.
fn release(mut section: Resolved) -> Parsed {
    let (version, date) = version_and_date(section.text("$heading").unwrap_or_default());
    ast::tag_with("changelog-release", [("version", version), ("date", date)], section.take("body"))
}

fn version_and_date(heading: &str) -> (String, String) {
    let found = VERSION_AND_DATE.as_ref().and_then(|pattern| pattern.captures(heading));
    let part = |at: usize| {
        let part = found.as_ref().and_then(|found| found.get(at));
        part.map(|part| part.as_str().trim().to_owned())
    };
    (part(1).unwrap_or_else(|| heading.to_owned()), part(2).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headings_say_version_and_date() {
        let check = |heading: &str, version: &str, date: &str| {
            assert_eq!(version_and_date(heading), (version.to_owned(), date.to_owned()), "{heading}");
        };
        check("v2.1.0-rc.1 — 3 May 2024", "2.1.0-rc.1", "3 May 2024");
        check("2.0 – 2023", "2.0", "2023");
        check("1.2-3", "1.2", "3");
        check("Unreleased", "Unreleased", "");
    }
}
