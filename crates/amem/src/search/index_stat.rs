//! Which commit a folder has, without opening it.

use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// Changes with each commit. Two commits may have the same one if they follow each other within the clock's step; then the
/// older one stays in use for a while, which costs time and nothing else.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct IndexFileStat {
    inode: u64,
    size: u64,
    modified: (i64, i64),
}

impl IndexFileStat {
    /// None if there is no index.
    pub fn read(folder: &Path) -> Option<IndexFileStat> {
        let metadata: Metadata = std::fs::metadata(folder.join("meta.json")).ok()?;
        Some(IndexFileStat {
            inode: metadata.ino(),
            size: metadata.len(),
            modified: (metadata.mtime(), metadata.mtime_nsec()),
        })
    }
}
