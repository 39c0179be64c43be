//! The current pages of a content folder, revalidated at every read like the plan.

use std::io;
use std::sync::Arc;

use super::dir_scan::DirScan;
use super::{CachedState, DocumentCache, ProjectCache, lock};
use crate::limits::SITES_MAX;
use crate::pages::PageIndex;
use crate::project::project_dir::{DirError, ProjectDir};

/// The pages of a content folder.
#[derive(Debug)]
pub struct PagesSnapshot {
    /// The folder.
    pub dir: ProjectDir,
    /// Its pages.
    pub index: PageIndex,
    /// The generation of the folder.
    pub generation: u64,
    /// Documents built from this generation.
    pub documents: DocumentCache,
    dir_scan: DirScan,
    fingerprint: String,
}

/// Why there are no pages.
#[derive(Debug)]
pub enum PagesError {
    /// The folder does not exist.
    Missing,
    /// The folder is outside the project.
    Outside,
    /// The folder cannot be read.
    Io(io::Error),
}

/// The cached state of a content folder.
#[derive(Debug, Default)]
pub(super) struct Slot {
    /// The state that the first read was answered from, until the poller takes it as its baseline.
    baseline: Option<Arc<PagesSnapshot>>,
    current: Option<Arc<PagesSnapshot>>,
}

/// A content folder, read again.
#[derive(Debug)]
pub(crate) struct RescannedDir {
    /// The folder, as the configuration spells it.
    pub dir: String,
    /// The state of the first read, if the poller has not taken it yet.
    pub baseline: Option<Arc<PagesSnapshot>>,
    /// The current state; `None` if the folder does not exist any more.
    pub current: Option<Arc<PagesSnapshot>>,
}

impl ProjectCache {
    /// The pages in a folder below the project.
    pub fn pages(&self, dir: &str) -> Result<Arc<PagesSnapshot>, PagesError> {
        let mut slots = lock(&self.pages);
        if slots.len() >= SITES_MAX && !slots.contains_key(dir) {
            // More folders than a project can have sites: most of these are no longer configured.
            slots.clear();
        }
        let previous = slots.get_mut(dir).and_then(|slot| slot.current.take());
        let pages = self.load_pages(dir, previous)?;
        let slot = slots
            .entry(dir.to_owned())
            .or_insert_with(|| Slot { baseline: Some(pages.clone()), current: None });
        slot.current = Some(pages.clone());
        Ok(pages)
    }

    fn load_pages(
        &self,
        dir: &str,
        previous: Option<Arc<PagesSnapshot>>,
    ) -> Result<Arc<PagesSnapshot>, PagesError> {
        let pages_dir = ProjectDir::new(&self.root).subdir_checked(dir).map_err(|error| match error {
            DirError::Missing => PagesError::Missing,
            DirError::Outside => PagesError::Outside,
        })?;
        let previous = previous.filter(|pages| pages.dir.root() == pages_dir.root());
        if let Some(pages) = previous.as_ref().filter(|pages| pages.dir_scan.is_unchanged()) {
            return Ok(pages.clone());
        }
        let loaded = PageIndex::load(&pages_dir, previous.as_ref().map(|pages| &pages.index));
        let (index, dir_scan) = loaded.map_err(|error| match error.kind() {
            // The folder was deleted in the meantime.
            io::ErrorKind::NotFound => PagesError::Missing,
            _ => PagesError::Io(error),
        })?;
        let fingerprint = index.fingerprint();
        let unchanged = previous.filter(|previous| previous.fingerprint == fingerprint);
        let generation =
            unchanged.as_ref().map_or_else(|| self.next_generation(), |previous| previous.generation);
        let documents = unchanged.map_or_else(DocumentCache::default, |previous| previous.documents.clone());
        Ok(Arc::new(PagesSnapshot { dir: pages_dir, index, generation, documents, dir_scan, fingerprint }))
    }

    /// The state of a folder's pages, without waiting for a lock and without reading its files.
    pub fn cached_pages_state(&self, dir: &str) -> CachedState {
        let Ok(slots) = self.pages.try_lock() else { return CachedState::Unknown };
        let Some(pages) = slots.get(dir).and_then(|slot| slot.current.as_ref()) else {
            return CachedState::NotLoaded;
        };
        let pages_dir = ProjectDir::new(&self.root).subdir_checked(dir);
        let is_same_dir = pages_dir.is_ok_and(|folder| folder.root() == pages.dir.root());
        if is_same_dir && pages.dir_scan.has_no_events() {
            CachedState::Current(pages.generation)
        } else {
            CachedState::Unknown
        }
    }

    /// Reads every cached content folder again.
    pub(crate) fn rescan_pages(&self) -> Vec<RescannedDir> {
        let mut dirs: Vec<String> = lock(&self.pages).keys().cloned().collect();
        dirs.sort_unstable();
        let rescan = |dir: String| {
            let current = self.pages(&dir).ok();
            let baseline = lock(&self.pages).get_mut(&dir).and_then(|slot| slot.baseline.take());
            RescannedDir { dir, baseline, current }
        };
        dirs.into_iter().map(rescan).collect()
    }
}

impl PagesSnapshot {
    /// A hash of all files, equal in every process.
    pub fn fingerprint(&self) -> &str {
        &self.fingerprint
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn project_cache_detects_page_changes() {
        let root = tempfile::tempdir().unwrap();
        let cache = ProjectCache::new(root.path());
        assert!(matches!(cache.pages("content"), Err(PagesError::Missing)));
        assert!(matches!(cache.pages("../content"), Err(PagesError::Outside)));
        fs::create_dir(root.path().join("content")).unwrap();
        fs::write(root.path().join("content/a.md"), "# A").unwrap();
        let one = cache.pages("./content").unwrap();
        assert_eq!(cache.pages("./content").unwrap().generation, one.generation);
        let rescanned = cache.rescan_pages();
        assert!(Arc::ptr_eq(rescanned[0].baseline.as_ref().unwrap(), &one));
        fs::write(root.path().join("content/a.md"), "# B").unwrap();
        let two = cache.pages("./content").unwrap();
        assert_ne!((two.generation, two.fingerprint()), (one.generation, one.fingerprint()));
        assert!(cache.rescan_pages()[0].baseline.is_none(), "changes count from the first look once");
        fs::remove_dir_all(root.path().join("content")).unwrap();
        assert!(cache.rescan_pages()[0].current.is_none());
        assert_eq!(cache.cached_pages_state("./content"), CachedState::NotLoaded);
    }

    #[cfg(unix)]
    #[test]
    fn pages_ignore_symlinks_that_leave_the_project() {
        let (root, elsewhere) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        fs::write(elsewhere.path().join("secret.md"), "# S").unwrap();
        std::os::unix::fs::symlink(elsewhere.path(), root.path().join("content")).unwrap();
        let cache = ProjectCache::new(root.path());
        assert!(matches!(cache.pages("content"), Err(PagesError::Outside)));
        fs::create_dir_all(root.path().join("pages/.hidden")).unwrap();
        fs::write(root.path().join("pages/.hidden/x.md"), "# X").unwrap();
        std::os::unix::fs::symlink(elsewhere.path(), root.path().join("pages/dir")).unwrap();
        std::os::unix::fs::symlink(elsewhere.path().join("secret.md"), root.path().join("pages/s.md"))
            .unwrap();
        std::os::unix::fs::symlink(root.path().join("pages"), root.path().join("inner")).unwrap();
        assert_eq!(cache.pages("pages").unwrap().index.pages().count(), 0);
        assert!(cache.pages("inner").is_ok(), "a link within the project is as good as a folder");
    }
}
