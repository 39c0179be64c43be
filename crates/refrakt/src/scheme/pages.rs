//! What is asked about the pages of a site, by an address, a tool or a completion; and why there may be no answer.

use std::sync::Arc;

use quad_core::{Address, Error, Kind, Result};
use quad_runes::schema::RenderError;

use super::question::{Answer, chosen};
use super::refusal::{disk, shown};
use super::tags::Root;
use crate::live::{AtOnce, Live, NoPages, Pages};
use crate::pages::{Page, page, route};
use crate::project::Site;

/// The list of a site's pages. Blocks.
pub(super) fn index(live: &Live, site: Option<&str>) -> Result<Answer> {
    let detected = live.detected();
    let site = chosen(&detected, site)?;
    let (dir, pages) = pages_of(live, site)?;
    // The runes that a page uses depend on the configuration, too.
    let name = format!("index {} {}", detected.number, site.name);
    let make = || {
        let index = pages.index.to_json(&site.name, dir, &pages.folder, &site.catalogue);
        Ok::<_, Error>(index.to_string())
    };
    let root = Root::of(live.root());
    let tags = vec![root.sites(), root.pages()];
    Ok(Answer { text: pages.memo.get(&name, make)?, mime_type: "application/json", tags })
}

/// One page, rendered. Blocks.
pub(super) fn one(live: &Live, url: &str, site: Option<&str>) -> Result<Answer> {
    let detected = live.detected();
    let site = chosen(&detected, site)?;
    let (_, pages) = pages_of(live, site)?;
    let found = pages.index.find(url).ok_or_else(|| not_found(url, &pages))?;
    let text = pages.folder.page_text(&found.file).map_err(|error| unreadable(found, &error.to_string()))?;
    let text = text.ok_or_else(|| not_found(url, &pages))?;
    let rendered = page::rendered(&site.catalogue, found, &text).map_err(|error| match error {
        RenderError::Rune { .. } => unreadable(found, &error.to_string()),
        _ => Error::new(Kind::Limit, "PAGE_TOO_LARGE", format!("{}: {error}", found.file))
            .hint("Split the page into several"),
    })?;
    let root = Root::of(live.root());
    let tags = vec![root.sites(), root.page(&route::key(&found.url)), root.many_pages()];
    Ok(Answer { text: rendered.to_string().into(), mime_type: "application/json", tags })
}

/// The addresses of a site's pages that begin so, spelt as the beginning is: with a slash or without. Blocks.
pub(super) fn urls(live: &Live, site: Option<&str>, prefix: &str) -> Vec<String> {
    let detected = live.detected();
    let Ok(site) = detected.project.site(site) else { return Vec::new() };
    let Ok((_, pages)) = pages_of(live, site) else { return Vec::new() };
    let spelt = |page: &Arc<Page>| match page.url.strip_prefix('/') {
        Some(bare) if !bare.is_empty() && !prefix.starts_with('/') => bare.to_owned(),
        _ => page.url.clone(),
    };
    pages.index.pages().map(spelt).collect()
}

/// The number of the state that an answer about pages is about; `waiting` runs what takes long for so many files.
pub(super) fn facts(live: &Live, address: &Address) -> String {
    let detected = live.detected();
    let site = detected.project.site(address.variable("site").filter(|site| !site.is_empty()));
    let dir = site.ok().and_then(|site| site.config.content_dir.as_deref());
    let known = dir.map_or(AtOnce::Unread, |dir| live.pages_at_once(dir));
    let look =
        || dir.and_then(|dir| live.pages(dir).ok()).map_or_else(|| live.number(), |pages| pages.number);
    format!("{}/{}", detected.number, super::number(known, live, &look))
}

fn pages_of<'s>(live: &Live, site: &'s Site) -> Result<(&'s str, Arc<Pages>)> {
    let Some(dir) = site.config.content_dir.as_deref() else {
        let message = format!("The site {} names no folder of pages", site.name);
        return Err(missing(message).hint("Name it as contentDir in refrakt.config.json"));
    };
    let pages = live.pages(dir).map_err(|error| match error {
        NoPages::Missing => missing(format!("The site {} has no folder {dir}", site.name))
            .hint("Make the folder, or correct contentDir in refrakt.config.json")
            .fact("contentDir", dir),
        NoPages::Outside => {
            missing(format!("The folder {dir} of the site {} lies outside the project", site.name))
                .hint("Name a folder within the project as contentDir in refrakt.config.json")
                .fact("contentDir", dir)
        }
        NoPages::Disk(error) => disk(error),
    })?;
    Ok((dir, pages))
}

fn missing(message: String) -> Error {
    Error::new(Kind::NotFound, "CONTENT_DIR_MISSING", message)
}

fn not_found(url: &str, pages: &Pages) -> Error {
    let wanted = route::key(url);
    let near = quad_address::nearest_few(&wanted, pages.index.pages().map(|page| page.url.as_str()));
    let hint = if near.is_empty() {
        "refrakt://pages/index has them all".to_owned()
    } else {
        format!("Nearest urls: {}; refrakt://pages/index has them all", near.join(", "))
    };
    Error::new(Kind::NotFound, "NOT_FOUND", format!("There is no page {}", shown(&wanted)))
        .hint(hint)
        .fact("nearest", near.as_slice())
}

fn unreadable(page: &Page, reason: &str) -> Error {
    Error::new(Kind::Conflict, "PAGE_UNREADABLE", format!("{} cannot be shown: {reason}", page.file))
        .hint("Correct the file; refrakt.validate_content says what is wrong with a text")
}
