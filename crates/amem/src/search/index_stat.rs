//! Detects a new commit in a folder without opening the index.

use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// The file status of the index, which changes with each commit. Two commits within one step of the clock may have
/// the same status. The older one then stays in use longer, which costs time but no correctness.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct IndexFileStat {
    inode: u64,
    size: u64,
    modified: (i64, i64),
}

impl IndexFileStat {
    /// `None` if there is no index.
    pub fn read(folder: &Path) -> Option<IndexFileStat> {
        let metadata: Metadata = std::fs::metadata(folder.join("meta.json")).ok()?;
        Some(IndexFileStat {
            inode: metadata.ino(),
            size: metadata.len(),
            modified: (metadata.mtime(), metadata.mtime_nsec()),
        })
    }
}
