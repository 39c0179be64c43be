//! Answers about the pages of a site, for resources, tools and completion, and the errors of pages.

use std::sync::Arc;

use quad_core::{Address, Error, Kind, Result};
use quad_runes::expand::RenderError;

use super::errors::{excerpt, io_error, nearest_hint};
use super::query::{ResourceDocument, require_site};
use crate::pages::{Page, page, route};
use crate::project::Site;
use crate::project::project_dir::ProjectDir;
use crate::project_cache::{CachedState, PagesError, PagesSnapshot, ProjectCache, ProjectSnapshot};

/// The list of a site's pages. Blocks.
pub(super) fn index_document(project: &ProjectCache, site: Option<&str>) -> Result<ResourceDocument> {
    let snapshot = project.project_snapshot();
    let site = require_site(&snapshot, site)?;
    let (dir, pages) = require_pages(project, site)?;
    // The runes of a page also depend on the configuration.
    let cache_key = format!("index {} {}", snapshot.generation, site.name);
    let build = || {
        let index = pages.index.to_json(site, dir, &pages.dir);
        Ok::<_, Error>(index.to_string())
    };
    let project_tags = project.tags();
    let tags = vec![project_tags.sites(), project_tags.pages()];
    Ok(ResourceDocument {
        text: pages.documents.get_or_insert_with(&cache_key, build)?,
        mime_type: "application/json",
        tags,
        cacheable: true,
    })
}

/// One page, rendered. Blocks.
pub(super) fn page_document(
    project: &ProjectCache,
    url: &str,
    site: Option<&str>,
) -> Result<ResourceDocument> {
    let snapshot = project.project_snapshot();
    let site = require_site(&snapshot, site)?;
    let (_, pages) = require_pages(project, site)?;
    let indexed_page =
        find_page(&pages, site, url).ok_or_else(|| page_not_found(url, &pages, &snapshot, site))?;
    let text = pages
        .dir
        .read_page(&indexed_page.file)
        .map_err(|error| page_unreadable(indexed_page, &error.to_string()))?;
    let text = text.ok_or_else(|| page_not_found(url, &pages, &snapshot, site))?;
    let project_dir = ProjectDir::new(project.root());
    let rendered =
        page::render_page(site, indexed_page, &text, &project_dir).map_err(|error| match error {
            RenderError::Rune { .. } => page_unreadable(indexed_page, &error.to_string()),
            _ => Error::new(Kind::Limit, "PAGE_TOO_LARGE", format!("{}: {error}", indexed_page.file))
                .hint("Split the page into several"),
        })?;
    let project_tags = project.tags();
    let tags = vec![
        project_tags.sites(),
        project_tags.page(&route::normalize_url(&indexed_page.url)),
        project_tags.bulk_pages(),
    ];
    Ok(ResourceDocument {
        text: rendered.document.to_string().into(),
        mime_type: "application/json",
        tags,
        cacheable: !rendered.shows_files,
    })
}

/// The URLs of a site's pages. They start with a slash only if `prefix` does. Blocks.
pub(super) fn complete_urls(project: &ProjectCache, site: Option<&str>, prefix: &str) -> Vec<String> {
    let snapshot = project.project_snapshot();
    let Ok(site) = snapshot.project.site(site) else { return Vec::new() };
    let Ok((_, pages)) = require_pages(project, site) else { return Vec::new() };
    let with_prefix_style = |page: &Arc<Page>| match page.url.strip_prefix('/') {
        Some(relative) if !relative.is_empty() && !prefix.starts_with('/') => relative.to_owned(),
        _ => page.url.clone(),
    };
    pages.index.pages().map(with_prefix_style).collect()
}

/// The generations of the configuration and of the content folder that an answer about pages depends on.
pub(super) fn cache_key_part(project: &ProjectCache, address: &Address) -> String {
    let snapshot = project.project_snapshot();
    let site = snapshot.project.site(address.variable("site").filter(|site| !site.is_empty()));
    let dir = site.ok().and_then(|site| site.config.content_dir.as_deref());
    let state = dir.map_or(CachedState::NotLoaded, |dir| project.cached_pages_state(dir));
    let load = || {
        dir.and_then(|dir| project.pages(dir).ok())
            .map_or_else(|| project.next_generation(), |pages| pages.generation)
    };
    format!("{}/{}", snapshot.generation, super::current_generation(state, project, &load))
}

fn require_pages<'s>(project: &ProjectCache, site: &'s Site) -> Result<(&'s str, Arc<PagesSnapshot>)> {
    let Some(dir) = site.config.content_dir.as_deref() else {
        let message = format!("The site {} has no content folder", site.name);
        return Err(content_dir_missing(message).hint("Set contentDir in refrakt.config.json"));
    };
    let pages = project.pages(dir).map_err(|error| match error {
        PagesError::Missing => {
            content_dir_missing(format!("The content folder {dir} of the site {} does not exist", site.name))
                .hint("Create the folder, or change contentDir in refrakt.config.json")
                .with_detail("contentDir", dir)
        }
        PagesError::Outside => content_dir_missing(format!(
            "The content folder {dir} of the site {} is outside the project",
            site.name
        ))
        .hint("Set contentDir in refrakt.config.json to a folder within the project")
        .with_detail("contentDir", dir),
        PagesError::Io(error) => io_error(error),
    })?;
    Ok((dir, pages))
}

fn content_dir_missing(message: String) -> Error {
    Error::new(Kind::NotFound, "CONTENT_DIR_MISSING", message)
}

/// The page that a caller means: by its URL, or by its file or title if only one page has it.
fn find_page<'p>(pages: &'p PagesSnapshot, site: &Site, url: &str) -> Option<&'p Page> {
    let by_name = || {
        let content_dir = site.config.content_dir.as_deref().unwrap_or_default();
        let content_dir = content_dir.trim_start_matches("./").trim_matches('/');
        let file = url.trim_start_matches("./").trim_start_matches('/');
        let file = file.strip_prefix(content_dir).map_or(file, |below| below.trim_start_matches('/'));
        let is_named = |page: &&Arc<Page>| {
            page.file == file || page.front_matter.get_str("title").is_some_and(|title| title == url)
        };
        let mut named = pages.index.pages().filter(is_named);
        named.next().filter(|_| named.next().is_none()).map(|page| &**page)
    };
    pages.index.find(url).or_else(by_name)
}

fn page_not_found(url: &str, pages: &PagesSnapshot, project: &ProjectSnapshot, site: &Site) -> Error {
    let normalized = route::normalize_url(url);
    let near = quad_address::closest_few(&normalized, pages.index.pages().map(|page| page.url.as_str()));
    let is_only_site = project.project.sites.len() == 1;
    let query = if is_only_site { String::new() } else { format!("?site={}", site.name) };
    let hint = nearest_hint(&near, &format!("refrakt://pages/index{query}"));
    Error::new(Kind::NotFound, "NOT_FOUND", format!("There is no page {}", excerpt(&normalized)))
        .hint(hint)
        .with_detail("nearest", near.as_slice())
}

fn page_unreadable(page: &Page, reason: &str) -> Error {
    Error::new(Kind::Conflict, "PAGE_UNREADABLE", format!("{} cannot be rendered: {reason}", page.file))
        .hint("Fix the file; check its text with refrakt_validate_content")
}
