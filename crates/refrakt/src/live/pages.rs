//! The pages of a content folder as they are now, in the same way as the plan: looked at whenever somebody asks.

use std::io;
use std::sync::Arc;

use super::{AtOnce, Live, Memo, lock};
use crate::limits::SITES_MAX;
use crate::pages::PageIndex;
use crate::project::folder::{Folder, NoFolder};
use crate::project::survey::Survey;

/// What a content folder holds.
#[derive(Debug)]
pub struct Pages {
    /// The folder.
    pub folder: Folder,
    /// Its pages.
    pub index: PageIndex,
    /// Which state of the folder this is.
    pub number: u64,
    /// What was worked out from it.
    pub memo: Memo,
    survey: Survey,
    print: String,
}

/// Why there are no pages.
#[derive(Debug)]
pub enum NoPages {
    /// The folder is not there.
    Missing,
    /// The folder lies outside the project.
    Outside,
    /// The folder cannot be read.
    Disk(io::Error),
}

/// A content folder that somebody has asked for.
#[derive(Debug, Default)]
pub(super) struct Slot {
    /// What the first to ask was answered from, until changes are counted from there.
    first: Option<Arc<Pages>>,
    now: Option<Arc<Pages>>,
}

/// A content folder that somebody has asked for, looked at again.
#[derive(Debug)]
pub(crate) struct Followed {
    /// As the configuration spells it.
    pub dir: String,
    /// What it was for the first who asked, unless that was told before.
    pub first: Option<Arc<Pages>>,
    /// What it is now; none where it is gone.
    pub now: Option<Arc<Pages>>,
}

impl Live {
    /// The pages in a folder below the project.
    pub fn pages(&self, dir: &str) -> Result<Arc<Pages>, NoPages> {
        let mut slots = lock(&self.pages);
        if slots.len() >= SITES_MAX && !slots.contains_key(dir) {
            // So many folders are not configured at one time: these are of the past.
            slots.clear();
        }
        let previous = slots.get_mut(dir).and_then(|slot| slot.now.take());
        let pages = self.look_at_pages(dir, previous)?;
        let slot =
            slots.entry(dir.to_owned()).or_insert_with(|| Slot { first: Some(pages.clone()), now: None });
        slot.now = Some(pages.clone());
        Ok(pages)
    }

    fn look_at_pages(&self, dir: &str, previous: Option<Arc<Pages>>) -> Result<Arc<Pages>, NoPages> {
        let folder = Folder::new(&self.root).subfolder(dir).map_err(|missing| match missing {
            NoFolder::Missing => NoPages::Missing,
            NoFolder::Outside => NoPages::Outside,
        })?;
        let previous = previous.filter(|pages| pages.folder.root() == folder.root());
        if let Some(pages) = previous.as_ref().filter(|pages| pages.survey.holds()) {
            return Ok(pages.clone());
        }
        let loaded = PageIndex::load(&folder, previous.as_ref().map(|pages| &pages.index));
        let (index, survey) = loaded.map_err(|error| match error.kind() {
            // Gone since it was looked for.
            io::ErrorKind::NotFound => NoPages::Missing,
            _ => NoPages::Disk(error),
        })?;
        let print = index.print();
        let same = previous.filter(|previous| previous.print == print);
        let number = same.as_ref().map_or_else(|| self.number(), |previous| previous.number);
        let memo = same.map_or_else(Memo::default, |previous| previous.memo.clone());
        Ok(Arc::new(Pages { folder, index, number, memo, survey, print }))
    }

    /// What is known of a folder's pages without waiting for anybody or anything.
    pub fn pages_at_once(&self, dir: &str) -> AtOnce {
        let Ok(slots) = self.pages.try_lock() else { return AtOnce::Unsure };
        let Some(pages) = slots.get(dir).and_then(|slot| slot.now.as_ref()) else { return AtOnce::Unread };
        let folder = Folder::new(&self.root).subfolder(dir);
        let is_there = folder.is_ok_and(|folder| folder.root() == pages.folder.root());
        if is_there && pages.survey.is_quiet() { AtOnce::State(pages.number) } else { AtOnce::Unsure }
    }

    /// Looks again at every content folder that somebody has asked for.
    pub(crate) fn followed_pages(&self) -> Vec<Followed> {
        let mut dirs: Vec<String> = lock(&self.pages).keys().cloned().collect();
        dirs.sort_unstable();
        let look = |dir: String| {
            let now = self.pages(&dir).ok();
            let first = lock(&self.pages).get_mut(&dir).and_then(|slot| slot.first.take());
            Followed { dir, first, now }
        };
        dirs.into_iter().map(look).collect()
    }
}

impl Pages {
    /// One word for all that the files say; the same in every process that looks at them.
    pub fn print(&self) -> &str {
        &self.print
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn pages_are_followed_as_they_change() {
        let root = tempfile::tempdir().unwrap();
        let live = Live::new(root.path());
        assert!(matches!(live.pages("content"), Err(NoPages::Missing)));
        assert!(matches!(live.pages("../content"), Err(NoPages::Outside)));
        fs::create_dir(root.path().join("content")).unwrap();
        fs::write(root.path().join("content/a.md"), "# A").unwrap();
        let one = live.pages("./content").unwrap();
        assert_eq!(live.pages("./content").unwrap().number, one.number);
        let followed = live.followed_pages();
        assert!(Arc::ptr_eq(followed[0].first.as_ref().unwrap(), &one));
        fs::write(root.path().join("content/a.md"), "# B").unwrap();
        let two = live.pages("./content").unwrap();
        assert_ne!((two.number, two.print()), (one.number, one.print()));
        assert!(live.followed_pages()[0].first.is_none(), "changes count from the first look once");
        fs::remove_dir_all(root.path().join("content")).unwrap();
        assert!(live.followed_pages()[0].now.is_none());
        assert_eq!(live.pages_at_once("./content"), AtOnce::Unread);
    }

    #[cfg(unix)]
    #[test]
    fn links_do_not_lead_out() {
        let (root, elsewhere) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        fs::write(elsewhere.path().join("secret.md"), "# S").unwrap();
        std::os::unix::fs::symlink(elsewhere.path(), root.path().join("content")).unwrap();
        let live = Live::new(root.path());
        assert!(matches!(live.pages("content"), Err(NoPages::Outside)));
        fs::create_dir_all(root.path().join("pages/.hidden")).unwrap();
        fs::write(root.path().join("pages/.hidden/x.md"), "# X").unwrap();
        std::os::unix::fs::symlink(elsewhere.path(), root.path().join("pages/dir")).unwrap();
        std::os::unix::fs::symlink(elsewhere.path().join("secret.md"), root.path().join("pages/s.md"))
            .unwrap();
        std::os::unix::fs::symlink(root.path().join("pages"), root.path().join("inner")).unwrap();
        assert_eq!(live.pages("pages").unwrap().index.pages().count(), 0);
        assert!(live.pages("inner").is_ok(), "a link within the project is as good as a folder");
    }
}
