//! Telling of changes in content folders, for those who wait. Only folders that somebody has asked for are looked at; changes count
//! from what the first to ask was answered.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::{Duration, Instant};

use quad_core::canonical::sha256_hex;
use quad_core::{Result, Tag};

use super::tags::Root;
use super::telling::{Step, tell};
use crate::limits::CHANGE_ENTITIES_MAX;
use crate::live::{Followed, Pages};
use crate::pages::route;

/// Content folders as they were when their last change was told; none for one that was gone.
pub(super) type Told = BTreeMap<String, Option<Arc<Pages>>>;

/// Looks at the folders once and tells what is different. Says how long the look took.
pub(super) async fn look_and_tell(refrakt: &super::Refrakt) -> Result<Duration> {
    let (Some((tenant, live)), Some(root)) = (refrakt.owned(), refrakt.root()) else {
        return Ok(Duration::ZERO);
    };
    let mut told = refrakt.told_pages.lock().await;
    let started = Instant::now();
    let followed = super::blocking(move || Ok(live.followed_pages())).await?;
    let took = started.elapsed();
    let (mut before, mut now) = (Told::new(), Told::new());
    for Followed { dir, first, now: found } in followed {
        before.insert(dir.clone(), told.get(&dir).cloned().unwrap_or(first));
        now.insert(dir, found);
    }
    let tags = tags_between(&before, &now, &root);
    // Beside the plan's step, so that neither keeps the other from being told.
    let step = Step::new(format!("{}/pages", root.as_str()), print(&before), print(&now), tags);
    // Kept even if telling fails: the first looks are used up.
    *told = before;
    tell(refrakt, &tenant, step).await?;
    *told = now;
    Ok(took)
}

fn print(folders: &Told) -> String {
    let mut all = String::new();
    for (dir, pages) in folders {
        all.push_str(&format!("{dir}\n{}\n", pages.as_ref().map_or("", |pages| pages.print())));
    }
    sha256_hex(all.as_bytes())
}

fn tags_between(before: &Told, now: &Told, root: &Root) -> Vec<Tag> {
    let mut tags = Vec::new();
    let number = |pages: &Option<Arc<Pages>>| pages.as_ref().map(|pages| pages.number);
    for (dir, found) in now {
        let Some(known) = before.get(dir).filter(|known| number(known) != number(found)) else { continue };
        tags.push(root.pages());
        tags.extend(page_tags(known.as_deref(), found.as_deref(), root));
    }
    tags.sort_unstable();
    tags.dedup();
    if tags.len() > CHANGE_ENTITIES_MAX {
        return vec![root.pages(), root.many_pages()];
    }
    tags
}

/// The tags of addresses at which a file stands that differs, came or went.
fn page_tags(before: Option<&Pages>, now: Option<&Pages>, root: &Root) -> Vec<Tag> {
    let files = |pages: Option<&Pages>| -> HashMap<String, (Arc<str>, String)> {
        let pages = pages.into_iter().flat_map(|pages| pages.index.pages());
        pages.map(|page| (page.file.clone(), (page.hash.clone(), route::key(&page.url)))).collect()
    };
    let (before, now) = (files(before), files(now));
    let other = |(file, page): (&String, &(Arc<str>, String)),
                 there: &HashMap<String, (Arc<str>, String)>| {
        (there.get(file) != Some(page)).then(|| root.page(&page.1))
    };
    let gone = before.iter().filter_map(|page| other(page, &now));
    let come = now.iter().filter_map(|page| other(page, &before));
    gone.chain(come).collect()
}
