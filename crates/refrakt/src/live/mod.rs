//! The project as it is now: detected once and read once, and looked at again whenever somebody asks.
//!
//! No answer waits for a notice from the file system, or relies on one. Whoever asks gets an answer that was checked against the folder after the
//! question was put: by the stamps of all that it rests on, and by reading again what they do not vouch for. Each state has a number;
//! equal numbers mean equal contents. This module knows no database and no protocol.

mod memo;
mod pages;

use std::collections::HashMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use quad_core::canonical::sha256_hex;

use crate::plan::{PlanIndex, load_with_survey};
use crate::project::detect::detect_noting;
use crate::project::folder::Folder;
use crate::project::notes::Notes;
use crate::project::survey::Survey;
use crate::project::{CONFIG_FILE, Project};

pub use memo::Memo;
pub(crate) use pages::Followed;
pub use pages::{NoPages, Pages};

/// A project's folder and what is known of it.
#[derive(Debug)]
pub struct Live {
    root: PathBuf,
    detected: Mutex<Option<Arc<Detected>>>,
    plan: Mutex<Option<Arc<Plan>>>,
    /// Content folders that were asked for, as the configuration spells them.
    pages: Mutex<HashMap<String, pages::Slot>>,
    numbers: AtomicU64,
}

/// What is known of files without looking at them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AtOnce {
    /// Nobody has read them yet.
    Unread,
    /// They are in the state of this number.
    State(u64),
    /// They have to be looked at, or somebody does so just now.
    Unsure,
}

/// What the project is.
#[derive(Debug)]
pub struct Detected {
    /// The project.
    pub project: Project,
    /// Which state of the configuration this is.
    pub number: u64,
    /// What was worked out from it.
    pub memo: Memo,
    notes: Notes,
    print: String,
}

/// What the plan says.
#[derive(Debug)]
pub struct Plan {
    /// Its folder.
    pub folder: Folder,
    /// Its entities.
    pub index: PlanIndex,
    /// Which state of the plan this is.
    pub number: u64,
    /// What was worked out from it.
    pub memo: Memo,
    survey: Survey,
    print: String,
}

impl Live {
    /// The project in a folder. Nothing is looked at yet.
    pub fn new(root: impl Into<PathBuf>) -> Live {
        let root = root.into();
        // Links in the way to the folder are followed once, so that every process calls it by one name.
        let root = root.canonicalize().unwrap_or(root);
        Live {
            root,
            detected: Mutex::default(),
            plan: Mutex::default(),
            pages: Mutex::default(),
            numbers: AtomicU64::new(1),
        }
    }

    /// The folder.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// What the project is now.
    pub fn detected(&self) -> Arc<Detected> {
        let mut kept = lock(&self.detected);
        if let Some(detected) = kept.as_ref().filter(|detected| detected.notes.hold()) {
            return detected.clone();
        }
        let (project, notes) = detect_noting(&self.root);
        let print = notes.print();
        let previous = kept.take().filter(|previous| previous.print == print);
        let number = previous.as_ref().map_or_else(|| self.number(), |previous| previous.number);
        let memo = previous.map_or_else(Memo::default, |previous| previous.memo.clone());
        let detected = Arc::new(Detected { project, number, memo, notes, print });
        *kept = Some(detected.clone());
        detected
    }

    /// What the plan says now; none where there is no plan folder.
    pub fn plan(&self) -> io::Result<Option<Arc<Plan>>> {
        let Some(folder) = self.detected().project.plan_folder() else { return Ok(None) };
        let mut kept = lock(&self.plan);
        let previous = kept.take().filter(|plan| plan.folder.root() == folder.root());
        if let Some(plan) = previous.as_ref().filter(|plan| plan.survey.holds()) {
            *kept = previous.clone();
            return Ok(Some(plan.clone()));
        }
        let loaded = load_with_survey(&folder, previous.as_ref().map(|plan| &plan.index));
        let (index, survey) = match loaded {
            Ok(loaded) => loaded,
            // Gone since it was looked for.
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        };
        let print = print(&index);
        let same = previous.filter(|previous| previous.print == print);
        let number = same.as_ref().map_or_else(|| self.number(), |previous| previous.number);
        let memo = same.map_or_else(Memo::default, |previous| previous.memo.clone());
        let plan = Arc::new(Plan { folder, index, number, memo, survey, print });
        *kept = Some(plan.clone());
        Ok(Some(plan))
    }

    /// How many Markdown files the plan has now; none where there is no plan folder.
    pub fn plan_count(&self, detected: &Detected) -> Option<usize> {
        let folder = detected.project.plan_folder()?;
        // Whoever reads the plan at this moment keeps nobody from counting.
        let kept = self.plan.try_lock().ok();
        let known = kept.as_ref().and_then(|kept| kept.as_ref());
        let known = known.filter(|plan| plan.folder.root() == folder.root() && plan.survey.is_quiet());
        Some(known.map_or_else(|| folder.markdown_count(), |plan| plan.survey.len()))
    }

    /// What `refrakt://detect` says: the plan's files are counted now.
    pub fn detected_json(&self) -> serde_json::Value {
        let detected = self.detected();
        let mut project = detected.project.clone();
        if let (Some(count), Some(plan)) = (self.plan_count(&detected), project.plan.as_mut()) {
            plan.file_count = count;
        }
        project.to_json()
    }

    /// What is known of the plan without waiting for anybody or anything.
    pub fn plan_at_once(&self) -> AtOnce {
        let Ok(kept) = self.plan.try_lock() else { return AtOnce::Unsure };
        let Some(plan) = kept.as_ref() else { return AtOnce::Unread };
        let folder = self.detected().project.plan_folder();
        let is_there = folder.is_some_and(|folder| folder.root() == plan.folder.root());
        if is_there && plan.survey.is_quiet() { AtOnce::State(plan.number) } else { AtOnce::Unsure }
    }

    /// A number that no state has.
    pub fn number(&self) -> u64 {
        self.numbers.fetch_add(1, Ordering::Relaxed)
    }
}

impl Detected {
    /// One word for all that the project was found to be; the same in every process that looks at it.
    pub fn print(&self) -> &str {
        &self.print
    }

    /// What keeps the configuration from being used, in a sentence.
    pub fn config_error(&self) -> Option<String> {
        let severe =
            self.project.problems.iter().find(|problem| problem.severe && problem.file == CONFIG_FILE)?;
        Some(format!("{}:{}:{}: {}", severe.file, severe.line, severe.column, severe.message))
    }
}

impl Plan {
    /// One word for all that the plan's files say; the same in every process that looks at them.
    pub fn print(&self) -> &str {
        &self.print
    }
}

/// A hash over every file's name and text.
fn print(index: &PlanIndex) -> String {
    let mut all = String::new();
    for file in index.files() {
        all.push_str(&file.entry.path);
        all.push('\n');
        all.push_str(&file.hash);
        all.push('\n');
    }
    sha256_hex(all.as_bytes())
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn work(status: &str) -> String {
        format!("{{% work id=\"WORK-001\" status=\"{status}\" %}}\n# T\n{{% /work %}}\n")
    }

    #[test]
    fn a_project_is_followed_as_it_changes() {
        let root = tempfile::tempdir().unwrap();
        let live = Live::new(root.path());
        assert!(live.plan().unwrap().is_none());
        assert!(live.detected().project.sites.is_empty());
        fs::create_dir(root.path().join("plan")).unwrap();
        let empty = live.plan().unwrap().unwrap();
        fs::write(root.path().join("plan/a.md"), work("ready")).unwrap();
        let one = live.plan().unwrap().unwrap();
        assert!(empty.number != one.number && one.index.knows("WORK-001"));
        assert_eq!(live.detected_json()["plan"]["fileCount"], 1);
        fs::write(root.path().join("plan/a.md"), work("ready")).unwrap();
        assert_eq!(live.plan().unwrap().unwrap().number, one.number, "the same text is the same state");
        fs::write(root.path().join("plan/a.md"), work("doing")).unwrap();
        let two = live.plan().unwrap().unwrap();
        assert_ne!((two.number, two.print()), (one.number, one.print()));
        fs::write(root.path().join("refrakt.config.json"), r#"{"site": {"contentDir": "c"}}"#).unwrap();
        assert_eq!(live.detected().project.sites.len(), 1);
        fs::remove_dir_all(root.path().join("plan")).unwrap();
        assert!(live.plan().unwrap().is_none());
    }

    #[test]
    fn a_plan_that_is_being_read_keeps_nobody_from_what_the_project_is() {
        let root = tempfile::tempdir().unwrap();
        fs::create_dir(root.path().join("plan")).unwrap();
        let live = Live::new(root.path());
        let reading = lock(&live.plan);
        assert_eq!(live.detected_json()["plan"]["fileCount"], 0);
        drop(reading);
    }

    #[test]
    fn a_broken_configuration_says_where_and_the_plan_stays() {
        let root = tempfile::tempdir().unwrap();
        fs::create_dir(root.path().join("plan")).unwrap();
        fs::write(root.path().join("refrakt.config.json"), "{\n  \"site\": }").unwrap();
        let live = Live::new(root.path());
        assert!(live.plan().unwrap().is_some());
        let error = live.detected().config_error().unwrap();
        assert!(error.starts_with("refrakt.config.json:2:"), "{error}");
    }
}
