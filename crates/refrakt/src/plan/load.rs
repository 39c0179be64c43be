//! Reads a plan folder into an index. Files that have not changed are not read again.

use std::collections::HashMap;
use std::io;
use std::sync::Arc;
use std::thread;
use std::time::SystemTime;

use quad_core::canonical::sha256_hex;
use quad_runes::catalogue::line_and_column;

use super::entity::{Entity, ParsedFile};
use super::entity_type::EntityType;
use super::index::{IndexedFile, PlanIndex, distance_from_type_dir};
use super::parse::parse_file;
use crate::diagnostic::{Diagnostic, Severity};
use crate::limits::{LOAD_THREADS_MAX, MTIME_RESOLUTION, NAMED_FILES_READ_MAX, PARALLEL_LOAD_FILES_MIN};
use crate::project::project_dir::{FileEntry, FileText, ProjectDir};
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
    let load = |entry: FileEntry| match previous_files.get(entry.path.as_str()) {
        Some(file) if file.is_current(&entry) => (*file).clone(),
        file => load_file(folder, entry, file.copied()),
    };
    let files = if previous_files.is_empty() && entries.len() >= PARALLEL_LOAD_FILES_MIN {
        load_in_parallel(entries, &load)
    } else {
        entries.into_iter().map(load).collect()
    };
    Ok((PlanIndex::new(files), dir_scan))
}

/// Loads files on several threads, in the order of the entries. For the first read of a plan, which waits for parsing
/// more than for the disk.
fn load_in_parallel(
    mut entries: Vec<FileEntry>,
    load: &(impl Fn(FileEntry) -> IndexedFile + Sync),
) -> Vec<IndexedFile> {
    let threads = thread::available_parallelism().map_or(1, usize::from).min(LOAD_THREADS_MAX);
    let chunk_len = entries.len().div_ceil(threads).max(1);
    let mut files = Vec::with_capacity(entries.len());
    thread::scope(|scope| {
        let mut running = Vec::with_capacity(threads);
        while !entries.is_empty() {
            let rest = entries.split_off(chunk_len.min(entries.len()));
            let chunk = std::mem::replace(&mut entries, rest);
            running.push(scope.spawn(move || chunk.into_iter().map(load).collect::<Vec<_>>()));
        }
        for chunk in running {
            files.extend(chunk.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        }
    });
    files
}

/// The entity of a type with an id, and its file, found by the name of the file: the plan is listed, and only files that
/// are named after the id are read. `None` if there is none; the index may still know one.
pub(crate) fn find_by_file_name(
    folder: &ProjectDir,
    kind: Option<EntityType>,
    id: &str,
) -> Option<(Entity, FileText)> {
    let named_after = |path: &String| {
        let name = path.rsplit('/').next().unwrap_or(path);
        !id.is_empty() && name.contains(id)
    };
    let mut paths: Vec<String> = folder.markdown_paths().into_iter().filter(named_after).collect();
    paths.truncate(NAMED_FILES_READ_MAX);
    let mut best: Option<(u8, Entity, FileText)> = None;
    for path in paths {
        let Ok(Some(file)) = folder.read_plan_file(&path) else { continue };
        let Some(entity) = parse_file(&path, &file.text).entity else { continue };
        let is_wanted = entity.id() == Some(id) && kind.is_none_or(|kind| entity.kind == kind);
        let distance = distance_from_type_dir(&entity);
        if is_wanted && best.as_ref().is_none_or(|(nearest, ..)| distance < *nearest) {
            best = Some((distance, entity, file));
        }
    }
    best.map(|(_, entity, file)| (entity, file))
}

/// Reads a file. With the same hash as before, the previous result is reused.
fn load_file(folder: &ProjectDir, entry: FileEntry, previous: Option<&IndexedFile>) -> IndexedFile {
    let read_at = SystemTime::now();
    let (parsed, hash) = match folder.read_listed_file(&entry) {
        Ok(Some(file)) => {
            let hash: Arc<str> = sha256_hex(file.text.as_bytes()).into();
            match previous.filter(|previous| previous.hash == hash && file.invalid_utf8_at.is_none()) {
                Some(previous) => (previous.parsed.clone(), hash),
                None => {
                    let mut parsed = parse_file(&entry.path, &file.text);
                    parsed.diagnostics.extend(not_utf8_diagnostic(&entry.path, &file));
                    (Arc::new(parsed), hash)
                }
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

fn not_utf8_diagnostic(path: &str, file: &FileText) -> Option<Diagnostic> {
    let offset = file.invalid_utf8_at?;
    let (line, column) = line_and_column(&file.text, offset);
    Some(Diagnostic {
        severity: Severity::Error,
        code: "not-utf8",
        file: path.to_owned(),
        line,
        column,
        message: "the file is not UTF-8; save it as UTF-8".to_owned(),
    })
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
    fn parallel_load_keeps_the_order_of_files() {
        let root = tempfile::tempdir().unwrap();
        for number in 0..PARALLEL_LOAD_FILES_MIN + 3 {
            let path = root.path().join(format!("{number:04}.md"));
            fs::write(&path, work(&format!("W-{number}"))).unwrap();
            set_mtime_age(&path, 60);
        }
        let index = load(&ProjectDir::new(root.path()), None).unwrap().0;
        let ids: Vec<&str> = index.entities().filter_map(Entity::id).collect();
        let expected: Vec<String> =
            (0..PARALLEL_LOAD_FILES_MIN + 3).map(|number| format!("W-{number}")).collect();
        assert_eq!(ids, expected);
    }

    #[test]
    fn entity_is_found_by_the_name_of_its_file() {
        let root = tempfile::tempdir().unwrap();
        let folder = ProjectDir::new(root.path());
        for (path, text) in [
            ("work/WORK-1-a.md", work("WORK-1")),
            ("works/WORK-1.md", work("WORK-1")),
            ("WORK-10.md", work("WORK-10")),
            ("WORK-2.md", work("WORK-3")),
            ("bugs/WORK-1.md", "{% bug id=\"WORK-1\" /%}\n".to_owned()),
        ] {
            let path = root.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(&path, text).unwrap();
            set_mtime_age(&path, 60);
        }
        let index = load(&folder, None).unwrap().0;
        let file = |kind, id: &str| find_by_file_name(&folder, Some(kind), id).map(|(entity, _)| entity.file);
        for id in ["WORK-1", "WORK-10"] {
            let indexed = index.find(EntityType::Work, id).unwrap();
            assert_eq!(file(EntityType::Work, id).as_deref(), Some(indexed.file.as_str()), "as the index");
        }
        assert_eq!(file(EntityType::Bug, "WORK-1").as_deref(), Some("bugs/WORK-1.md"));
        for id in ["WORK-2", "WORK-3", "", "nothing"] {
            assert_eq!(file(EntityType::Work, id), None, "{id}");
        }
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
    fn file_that_is_not_utf8_is_reported_with_position() {
        let root = tempfile::tempdir().unwrap();
        let folder = ProjectDir::new(root.path());
        fs::write(root.path().join("a.md"), [work("A").as_bytes(), b"Gr\xfc\xdfe\n"].concat()).unwrap();
        let index = load(&folder, None).unwrap().0;
        assert!(index.contains_id("A"), "the rest is read");
        let diagnostic = &index.files()[0].parsed.diagnostics[0];
        assert_eq!((diagnostic.code, diagnostic.line, diagnostic.column), ("not-utf8", 3, 3));
        fs::write(root.path().join("a.md"), work("A")).unwrap();
        assert_eq!(load(&folder, Some(&index)).unwrap().0.files()[0].parsed.diagnostics, []);
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
