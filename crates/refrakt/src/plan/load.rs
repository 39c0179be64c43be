//! Reading a plan folder into an index, again and again: what has not changed is not read twice.

use std::collections::HashMap;
use std::io;
use std::sync::Arc;
use std::time::SystemTime;

use quad_core::canonical::sha256_hex;

use super::entity::{Fault, ScannedFile};
use super::index::{IndexedFile, PlanIndex};
use super::scan::scan;
use crate::limits::STAMP_DOUBT;
use crate::project::folder::{FileEntry, Folder};
use crate::project::survey::Survey;

/// The index of a folder. Files that the previous index knows with the same size and time stamp are taken from there.
pub fn load(folder: &Folder, previous: Option<&PlanIndex>) -> io::Result<PlanIndex> {
    Ok(load_with_survey(folder, previous)?.0)
}

/// The same, and the survey by which to tell whether it still holds.
pub fn load_with_survey(folder: &Folder, previous: Option<&PlanIndex>) -> io::Result<(PlanIndex, Survey)> {
    let (survey, entries) = Survey::take(folder)?;
    let known: HashMap<&str, &IndexedFile> = previous
        .into_iter()
        .flat_map(PlanIndex::files)
        .map(|file| (file.entry.path.as_str(), file))
        .collect();
    let files = entries.into_iter().map(|entry| match known.get(entry.path.as_str()) {
        Some(file) if file.is_current(&entry) => (*file).clone(),
        file => read(folder, entry, file.copied()),
    });
    Ok((PlanIndex::new(files.collect()), survey))
}

/// Reads a file. If it says what it said before, nothing is scanned again.
fn read(folder: &Folder, entry: FileEntry, known: Option<&IndexedFile>) -> IndexedFile {
    let read_at = SystemTime::now();
    let (scanned, hash) = match folder.plan_text(&entry.path) {
        Ok(Some(text)) => {
            let hash: Arc<str> = sha256_hex(text.as_bytes()).into();
            match known.filter(|known| known.hash == hash) {
                Some(known) => (known.scanned.clone(), hash),
                None => (Arc::new(scan(&entry.path, &text)), hash),
            }
        }
        // Gone between the listing and the reading.
        Ok(None) => (Arc::default(), Arc::from("")),
        Err(error) => {
            let message = format!("the file cannot be read: {error}");
            let faults = vec![Fault { code: "unreadable-file", line: 1, column: 1, message }];
            (Arc::new(ScannedFile { entity: None, faults }), Arc::from(""))
        }
    };
    IndexedFile { entry, read_at, scanned, hash }
}

impl IndexedFile {
    /// Whether what was read is still what the file holds.
    fn is_current(&self, now: &FileEntry) -> bool {
        let settled = self.read_at.duration_since(self.entry.modified).is_ok_and(|age| age > STAMP_DOUBT);
        settled && self.entry == *now
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::time::Duration;

    use super::*;

    fn work(id: &str) -> String {
        format!("{{% work id=\"{id}\" %}}\n{{% /work %}}\n")
    }

    fn age(path: &std::path::Path, seconds: u64) {
        let file = fs::File::options().write(true).open(path).unwrap();
        file.set_modified(SystemTime::now() - Duration::from_secs(seconds)).unwrap();
    }

    #[test]
    fn only_what_changed_is_read_again() {
        let root = tempfile::tempdir().unwrap();
        let folder = Folder::new(root.path());
        let (old, new) = (root.path().join("old.md"), root.path().join("new.md"));
        for (path, id) in [(&old, "A"), (&new, "B")] {
            fs::write(path, work(id)).unwrap();
            age(path, 60);
        }
        let first = load(&folder, None).unwrap();
        fs::write(&new, work("C")).unwrap();
        let second = load(&folder, Some(&first)).unwrap();
        assert!(second.knows("A") && second.knows("C") && !second.knows("B"));
        let scanned = |index: &PlanIndex, path: &str| {
            index.files().iter().find(|file| file.entry.path == path).unwrap().scanned.clone()
        };
        assert!(Arc::ptr_eq(&scanned(&first, "old.md"), &scanned(&second, "old.md")));
    }

    #[test]
    fn a_fresh_time_stamp_is_not_trusted() {
        let root = tempfile::tempdir().unwrap();
        let folder = Folder::new(root.path());
        let path = root.path().join("a.md");
        fs::write(&path, work("A")).unwrap();
        let stamp = fs::metadata(&path).unwrap().modified().unwrap();
        let first = load(&folder, None).unwrap();
        fs::write(&path, work("B")).unwrap();
        fs::File::options().write(true).open(&path).unwrap().set_modified(stamp).unwrap();
        assert!(load(&folder, Some(&first)).unwrap().knows("B"), "same size, same stamp, other text");
    }

    #[test]
    fn a_file_that_cannot_be_read_is_a_fault_and_not_the_end() {
        let root = tempfile::tempdir().unwrap();
        fs::write(root.path().join("a.md"), work("A")).unwrap();
        let big = usize::try_from(crate::limits::PLAN_FILE_BYTES_MAX).unwrap() + 1;
        fs::write(root.path().join("big.md"), vec![b' '; big]).unwrap();
        let index = load(&Folder::new(root.path()), None).unwrap();
        assert!(index.knows("A"));
        assert_eq!(index.files()[1].scanned.faults[0].code, "unreadable-file");
    }
}
