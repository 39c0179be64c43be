//! Reads a plan folder into an index. Files that have not changed are not read again.

use std::collections::HashMap;
use std::io;
use std::sync::Arc;
use std::time::SystemTime;

use quad_core::canonical::sha256_hex;

use super::entity::ParsedFile;
use super::index::{IndexedFile, PlanIndex};
use super::parse::parse_file;
use crate::diagnostic::{Diagnostic, Severity};
use crate::limits::MTIME_RESOLUTION;
use crate::project::project_dir::{FileEntry, ProjectDir};
use crate::project_cache::dir_scan::DirScan;

/// The index of a folder, and the scan that tells whether it is still current. A file with the same size and
/// modification time as in `previous` is not read again.
pub fn load(folder: &ProjectDir, previous: Option<&PlanIndex>) -> io::Result<(PlanIndex, DirScan)> {
    let (dir_scan, entries) = DirScan::scan(folder)?;
    let previous_files: HashMap<&str, &IndexedFile> = previous
        .into_iter()
        .flat_map(PlanIndex::files)
        .map(|file| (file.entry.path.as_str(), file))
        .collect();
    let files = entries.into_iter().map(|entry| match previous_files.get(entry.path.as_str()) {
        Some(file) if file.is_current(&entry) => (*file).clone(),
        file => load_file(folder, entry, file.copied()),
    });
    Ok((PlanIndex::new(files.collect()), dir_scan))
}

/// Reads a file. With the same hash as before, the previous result is reused.
fn load_file(folder: &ProjectDir, entry: FileEntry, previous: Option<&IndexedFile>) -> IndexedFile {
    let read_at = SystemTime::now();
    let (parsed, hash) = match folder.read_plan_file(&entry.path) {
        Ok(Some(text)) => {
            let hash: Arc<str> = sha256_hex(text.as_bytes()).into();
            match previous.filter(|previous| previous.hash == hash) {
                Some(previous) => (previous.parsed.clone(), hash),
                None => (Arc::new(parse_file(&entry.path, &text)), hash),
            }
        }
        // The file was deleted after it was listed.
        Ok(None) => (Arc::default(), Arc::from("")),
        Err(error) => {
            let message = format!("the file cannot be read: {error}");
            let diagnostic = Diagnostic {
                severity: Severity::Error,
                code: "unreadable-file",
                file: entry.path.clone(),
                line: 1,
                column: 1,
                message,
            };
            (Arc::new(ParsedFile { entity: None, diagnostics: vec![diagnostic] }), Arc::from(""))
        }
    };
    IndexedFile { entry, read_at, parsed, hash }
}

impl IndexedFile {
    /// Whether the file still holds what was read.
    fn is_current(&self, entry: &FileEntry) -> bool {
        let is_settled =
            self.read_at.duration_since(self.entry.modified).is_ok_and(|age| age > MTIME_RESOLUTION);
        is_settled && self.entry == *entry
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

    fn set_mtime_age(path: &std::path::Path, seconds: u64) {
        let file = fs::File::options().write(true).open(path).unwrap();
        file.set_modified(SystemTime::now() - Duration::from_secs(seconds)).unwrap();
    }

    #[test]
    fn load_parses_only_changed_files() {
        let root = tempfile::tempdir().unwrap();
        let folder = ProjectDir::new(root.path());
        let (old, new) = (root.path().join("old.md"), root.path().join("new.md"));
        for (path, id) in [(&old, "A"), (&new, "B")] {
            fs::write(path, work(id)).unwrap();
            set_mtime_age(path, 60);
        }
        let first = load(&folder, None).unwrap().0;
        fs::write(&new, work("C")).unwrap();
        let second = load(&folder, Some(&first)).unwrap().0;
        assert!(second.contains_id("A") && second.contains_id("C") && !second.contains_id("B"));
        let parsed_file = |index: &PlanIndex, path: &str| {
            index.files().iter().find(|file| file.entry.path == path).unwrap().parsed.clone()
        };
        assert!(Arc::ptr_eq(&parsed_file(&first, "old.md"), &parsed_file(&second, "old.md")));
    }

    #[test]
    fn load_rereads_file_with_recent_mtime() {
        let root = tempfile::tempdir().unwrap();
        let folder = ProjectDir::new(root.path());
        let path = root.path().join("a.md");
        fs::write(&path, work("A")).unwrap();
        let stamp = fs::metadata(&path).unwrap().modified().unwrap();
        let first = load(&folder, None).unwrap().0;
        fs::write(&path, work("B")).unwrap();
        fs::File::options().write(true).open(&path).unwrap().set_modified(stamp).unwrap();
        assert!(load(&folder, Some(&first)).unwrap().0.contains_id("B"), "same size, same stamp, other text");
    }

    #[test]
    fn unreadable_file_is_reported_and_others_load() {
        let root = tempfile::tempdir().unwrap();
        fs::write(root.path().join("a.md"), work("A")).unwrap();
        let big = usize::try_from(crate::limits::PLAN_FILE_BYTES_MAX).unwrap() + 1;
        fs::write(root.path().join("big.md"), vec![b' '; big]).unwrap();
        let index = load(&ProjectDir::new(root.path()), None).unwrap().0;
        assert!(index.contains_id("A"));
        assert_eq!(index.files()[1].parsed.diagnostics[0].code, "unreadable-file");
    }
}
