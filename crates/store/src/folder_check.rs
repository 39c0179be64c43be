//! Whether a folder can be written.

use std::fs::OpenOptions;
use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use quad_core::Result;

use crate::DbError;

/// Bytes that are written: a page of a database. On a full disk a smaller file may still fit into its directory entry.
const BYTES: usize = 4_096;

/// Writes a file into a folder, waits for the disk, and removes it. The error says whether the disk is full, read-only
/// or failing. Blocks.
pub fn check_folder_writable(folder: &Path) -> Result<()> {
    let path = folder.join(format!(".readiness-{}", std::process::id()));
    let write = || {
        let mut file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&path)?;
        file.write_all(&[0; BYTES])?;
        file.sync_all()
    };
    let written = write();
    // Two servers on one folder may have the same process id, each in its own container.
    let removed = match std::fs::remove_file(&path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(()),
        removed => removed,
    };
    Ok(written.and(removed).map_err(DbError::of_file)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn leaves_no_file_behind_and_names_a_missing_folder() {
        let folder = tempfile::tempdir().unwrap();
        check_folder_writable(folder.path()).unwrap();
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
        let error = check_folder_writable(&folder.path().join("gone")).unwrap_err();
        assert_eq!(error.code(), "DATABASE_IO_ERROR");
    }
}
