//! Publishes changes of content folders. A folder is polled once a caller has read its pages; changes count from the
//! state that the first read was answered from.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::{Duration, Instant};

use quad_core::canonical::sha256_hex;
use quad_core::{Result, Tag};

use super::change_poller::{ChangePoller, FolderChange};
use super::{PagesSnapshot, ProjectTags, RescannedDir};
use crate::blocking::run_blocking;
use crate::limits::CHANGE_ENTITIES_MAX;
use crate::pages::route;

/// Content folders at their last published change; `None` for a folder that did not exist.
pub(super) type PublishedPages = BTreeMap<String, Option<Arc<PagesSnapshot>>>;

impl ChangePoller {
    /// Compares the content folders once and publishes the difference. Returns how long the comparison took.
    pub(super) async fn poll_pages(&self) -> Result<Duration> {
        let (project, project_tags) = (self.project.clone(), self.project.tags());
        let mut published = self.published_pages.lock().await;
        let started = Instant::now();
        let rescanned = run_blocking(move || Ok(project.rescan_pages())).await?;
        let elapsed = started.elapsed();
        let (mut before, mut current) = (PublishedPages::new(), PublishedPages::new());
        for RescannedDir { dir, baseline, current: pages } in rescanned {
            before.insert(dir.clone(), published.get(&dir).cloned().unwrap_or(baseline));
            current.insert(dir, pages);
        }
        let tags = changed_tags(&before, &current, project_tags);
        // A row of its own in `refrakt_told`: the change of the plan does not overwrite it.
        let change = FolderChange::new(
            format!("{}/pages", project_tags.as_str()),
            fingerprint(&before),
            fingerprint(&current),
            tags,
        );
        // Stored even if publishing fails: `rescan_pages` returns each baseline only once.
        *published = before;
        self.publish(change).await?;
        *published = current;
        Ok(elapsed)
    }
}

fn fingerprint(dirs: &PublishedPages) -> String {
    let mut hash_input = String::new();
    for (dir, pages) in dirs {
        hash_input.push_str(&format!("{dir}\n{}\n", pages.as_ref().map_or("", |pages| pages.fingerprint())));
    }
    sha256_hex(hash_input.as_bytes())
}

fn changed_tags(before: &PublishedPages, current: &PublishedPages, project_tags: &ProjectTags) -> Vec<Tag> {
    let mut tags = Vec::new();
    let generation = |pages: &Option<Arc<PagesSnapshot>>| pages.as_ref().map(|pages| pages.generation);
    for (dir, current_pages) in current {
        let Some(previous_pages) =
            before.get(dir).filter(|pages| generation(pages) != generation(current_pages))
        else {
            continue;
        };
        tags.push(project_tags.pages());
        tags.extend(page_tags(previous_pages.as_deref(), current_pages.as_deref(), project_tags));
    }
    tags.sort_unstable();
    tags.dedup();
    if tags.len() > CHANGE_ENTITIES_MAX {
        return vec![project_tags.pages(), project_tags.bulk_pages()];
    }
    tags
}

/// The tags of URLs whose file was added, removed or changed.
fn page_tags(
    before: Option<&PagesSnapshot>,
    current: Option<&PagesSnapshot>,
    project_tags: &ProjectTags,
) -> Vec<Tag> {
    let files = |pages: Option<&PagesSnapshot>| -> HashMap<String, (Arc<str>, String)> {
        let pages = pages.into_iter().flat_map(|pages| pages.index.pages());
        pages.map(|page| (page.file.clone(), (page.hash.clone(), route::normalize_url(&page.url)))).collect()
    };
    let (before, current) = (files(before), files(current));
    let tag_if_changed = |(file, page): (&String, &(Arc<str>, String)),
                          other_files: &HashMap<String, (Arc<str>, String)>| {
        (other_files.get(file) != Some(page)).then(|| project_tags.page(&page.1))
    };
    let removed = before.iter().filter_map(|page| tag_if_changed(page, &current));
    let added = current.iter().filter_map(|page| tag_if_changed(page, &before));
    removed.chain(added).collect()
}
