//! Lists the Markdown files below a folder, through symbolic links that stay within a larger folder.

use std::fs::{self, DirEntry};
use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use super::project_dir::{FileEntry, FileStamp};
use crate::limits::{LINKS_MAX, PLAN_DEPTH_MAX, PLAN_FILES_MAX};
use crate::project_cache::inotify::Watch;

/// The result of a listing.
#[derive(Default)]
pub(crate) struct DirListing {
    pub files: Vec<FileEntry>,
    /// The folders with their modification times.
    pub dirs: Vec<(PathBuf, SystemTime)>,
    /// The symbolic links to folders and Markdown files, followed or not, with what each resolves to.
    pub links: Vec<(PathBuf, Option<PathBuf>)>,
    /// A watch on all of these folders, if all of them could be watched and there is no symbolic link. A change behind a
    /// link causes no event in the folder of the link.
    pub(crate) watch: Option<Watch>,
}

impl DirListing {
    /// Lists a folder and watches it. Links are followed to targets below `boundary`.
    pub(super) fn of(root: &Path, boundary: &Path, is_content: bool) -> io::Result<DirListing> {
        let mut walk = Walk::new(root, boundary, is_content, true);
        if !walk.is_within_boundary() {
            return Err(io::ErrorKind::NotFound.into());
        }
        walk.listing.watch = Watch::new();
        walk.visit_dir(root, &walk.root.clone(), "", false)?;
        let mut listing = walk.listing;
        listing.watch = listing.watch.filter(|_| listing.links.is_empty());
        Ok(listing)
    }

    /// The paths of the files of a listing. Does not stat them.
    pub(super) fn paths(root: &Path, boundary: &Path, is_content: bool) -> Vec<String> {
        let mut walk = Walk::new(root, boundary, is_content, false);
        if walk.is_within_boundary() {
            let _ = walk.visit_dir(root, &walk.root.clone(), "", false);
        }
        walk.paths
    }
}

/// A listing in progress.
struct Walk {
    /// The listed folder without symbolic links.
    root: PathBuf,
    boundary: Option<PathBuf>,
    is_content: bool,
    /// Whether files are statted.
    stats_files: bool,
    listing: DirListing,
    paths: Vec<String>,
    /// The folders on the way to the current one, without symbolic links. A link to one of them would be a loop.
    ancestors: Vec<PathBuf>,
    /// Targets of the links that were followed.
    followed: Vec<PathBuf>,
}

/// What an entry of a folder is.
enum EntryKind {
    /// A folder, and its path without symbolic links.
    Dir(PathBuf),
    File,
}

impl Walk {
    fn new(root: &Path, boundary: &Path, is_content: bool, stats_files: bool) -> Walk {
        Walk {
            root: root.canonicalize().unwrap_or_else(|_| root.to_owned()),
            boundary: boundary.canonicalize().ok(),
            is_content,
            stats_files,
            listing: DirListing::default(),
            paths: Vec::new(),
            ancestors: Vec::new(),
            followed: Vec::new(),
        }
    }

    /// Whether the listed folder is in the boundary: it may itself be a symbolic link that now leads elsewhere.
    fn is_within_boundary(&self) -> bool {
        self.boundary.as_ref().is_some_and(|boundary| self.root.starts_with(boundary))
    }

    /// `canonical` is the folder without symbolic links.
    fn visit_dir(&mut self, dir: &Path, canonical: &Path, prefix: &str, is_linked: bool) -> io::Result<()> {
        if self.ancestors.len() > PLAN_DEPTH_MAX {
            return Ok(());
        }
        if self.stats_files {
            self.listing.watch = self.listing.watch.take().filter(|watch| watch.add(dir));
            // Read before the listing: an entry that is added in between then shows as a later change.
            let modified = fs::metadata(dir)?.modified().unwrap_or(SystemTime::UNIX_EPOCH);
            self.listing.dirs.push((dir.to_owned(), modified));
        }
        let mut entries: Vec<(String, DirEntry)> = fs::read_dir(dir)?
            .filter_map(Result::ok)
            .filter_map(|entry| Some((entry.file_name().into_string().ok()?, entry)))
            .collect();
        entries.sort_unstable_by(|(a, _), (b, _)| a.cmp(b));
        self.ancestors.push(canonical.to_owned());
        for (name, entry) in entries {
            let Ok(is_link) = entry.file_type().map(|kind| kind.is_symlink()) else { continue };
            let path = if prefix.is_empty() { name.clone() } else { format!("{prefix}/{name}") };
            let is_linked = is_linked || is_link;
            match self.entry_kind(&name, &entry, canonical) {
                Some(EntryKind::Dir(target)) => {
                    // A folder that was deleted in the meantime does not fail the listing.
                    let _ = self.visit_dir(&entry.path(), &target, &path, is_linked);
                }
                Some(EntryKind::File) if self.paths.len() < PLAN_FILES_MAX => {
                    self.add_file(&entry, path, is_linked);
                }
                _ => {}
            }
        }
        self.ancestors.pop();
        Ok(())
    }

    fn add_file(&mut self, entry: &DirEntry, path: String, is_linked: bool) {
        if self.stats_files {
            // Unlike the metadata of an entry, those of a path are of the target of a link.
            let metadata = if is_linked { fs::metadata(entry.path()) } else { entry.metadata() };
            let Ok(metadata) = metadata else { return };
            let FileStamp { size, modified } = FileStamp::from(&metadata);
            self.listing.files.push(FileEntry { path: path.clone(), size, modified, is_linked });
        }
        self.paths.push(path);
    }

    /// What an entry is; `None` if it is skipped.
    fn entry_kind(&mut self, name: &str, entry: &DirEntry, canonical_dir: &Path) -> Option<EntryKind> {
        let kind = entry.file_type().ok()?;
        let is_markdown = name.ends_with(".md");
        let is_hidden = self.is_content && name.starts_with('.');
        if kind.is_dir() {
            return (!is_hidden).then(|| EntryKind::Dir(canonical_dir.join(name)));
        }
        if kind.is_file() {
            return is_markdown.then_some(EntryKind::File);
        }
        if !kind.is_symlink() || is_hidden || self.listing.links.len() >= LINKS_MAX {
            return None;
        }
        let path = entry.path();
        let target = path.canonicalize().ok();
        let is_dir = target.as_deref().is_some_and(Path::is_dir);
        if is_dir || is_markdown || target.is_none() {
            self.listing.links.push((path, target.clone()));
        }
        let target = target
            .filter(|target| self.boundary.as_ref().is_some_and(|boundary| target.starts_with(boundary)))?;
        // A plan has each file once; an entity of two files would be a duplicate.
        let is_listed =
            || target.starts_with(&self.root) || self.followed.iter().any(|other| target.starts_with(other));
        if (!self.is_content && is_listed()) || self.ancestors.contains(&target) {
            return None;
        }
        if is_dir {
            self.followed.push(target.clone());
            return Some(EntryKind::Dir(target));
        }
        let is_file = is_markdown && target.is_file();
        is_file.then(|| {
            self.followed.push(target);
            EntryKind::File
        })
    }
}
