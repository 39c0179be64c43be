//! The copy of the checkpoints outside the database: one line each, append-only.
//!
//! An attacker who can rewrite the database can rewrite the checkpoints in it, but not this file on another disk, or
//! a copy that an auditor has taken. Processes that share a data directory share the file; each appends the
//! checkpoints that it made. If a process is killed between its commit and its line, the line is missing; the next
//! one's `previous` still names it.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::io::{BufRead, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};

use quad_core::{Error, Result};

use crate::checkpoint::Checkpoint;
use crate::{chain_error, limits};

/// The checkpoint file of a data directory.
#[derive(Clone, Debug)]
pub struct CheckpointFile(PathBuf);

impl CheckpointFile {
    /// The name of the file in a data directory.
    pub const NAME: &'static str = "checkpoints.jsonl";

    /// The file of this data directory. It is created with the first line.
    pub fn in_folder(folder: &Path) -> CheckpointFile {
        CheckpointFile(folder.join(Self::NAME))
    }

    /// The path of the file.
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// Appends a line for each checkpoint.
    pub fn append(&self, checkpoints: &[Checkpoint], sync: FileSync) -> Result<()> {
        let append_lines = || -> std::io::Result<()> {
            let mut file = std::fs::OpenOptions::new().read(true).append(true).create(true).open(&self.0)?;
            file.lock()?;
            let mut lines = String::new();
            for checkpoint in checkpoints {
                lines.push_str(&checkpoint.to_line());
                lines.push('\n');
            }
            if file.metadata()?.len() > 0 {
                let mut last = [0];
                file.seek(SeekFrom::End(-1))?;
                file.read_exact(&mut last)?;
                if last != *b"\n" {
                    // A process was killed in the middle of a line. The partial line stays, and the new ones begin
                    // after it.
                    lines.insert(0, '\n');
                }
            }
            file.write_all(lines.as_bytes())?;
            match sync {
                FileSync::Now => file.sync_data(),
                FileSync::Later => Ok(()),
            }
        };
        append_lines()
            .map_err(|error| Error::internal(format!("{} cannot be written: {error}", self.0.display())))
    }
}

/// When the lines reach the disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileSync {
    /// Before the call returns.
    Now,
    /// With the next call that syncs. A power failure may lose them; they are in the database.
    Later,
}

/// Checkpoints from a trusted copy of the file: the chain at these sizes, and the keys that sign.
#[derive(Clone, Debug, Default)]
pub struct TrustedCheckpoints {
    checkpoints: HashMap<String, BTreeMap<u64, Checkpoint>>,
    keys: BTreeSet<Vec<u8>>,
    /// Lines that are no checkpoint, such as partial lines of a killed process.
    pub unreadable_lines: usize,
}

impl TrustedCheckpoints {
    /// Reads a checkpoint file. A bad signature, or two checkpoints that contradict each other, is an error.
    pub fn read(mut source: impl BufRead) -> Result<TrustedCheckpoints> {
        let mut trusted = TrustedCheckpoints::default();
        let mut line = Vec::new();
        for line_number in 1.. {
            line.clear();
            let read = source.by_ref().take(limits::LINE_BYTES_MAX).read_until(b'\n', &mut line);
            if read.map_err(|error| Error::bad_input(format!("The checkpoints cannot be read: {error}")))?
                == 0
            {
                break;
            }
            let text = std::str::from_utf8(&line).unwrap_or_default().trim_end_matches('\n');
            match Checkpoint::parse(text) {
                Some(checkpoint) if checkpoint.has_valid_signature() => {
                    trusted.add(line_number, checkpoint)?
                }
                Some(_) => {
                    return Err(chain_error::file(line_number, "of the checkpoints has a bad signature"));
                }
                None => trusted.unreadable_lines += 1,
            }
        }
        Ok(trusted)
    }

    fn add(&mut self, line: u64, checkpoint: Checkpoint) -> Result<()> {
        self.keys.insert(checkpoint.signature.public_key.clone());
        let sizes = self.checkpoints.entry(checkpoint.statement.tenant.clone()).or_default();
        let size = checkpoint.statement.size;
        let existing = sizes.entry(size).or_insert_with(|| checkpoint.clone());
        if existing.statement.root != checkpoint.statement.root {
            let reason =
                format!("contradicts an earlier checkpoint over {size} events: the chain was rewritten");
            return Err(chain_error::file(line, &reason));
        }
        Ok(())
    }

    /// The checkpoints of a tenant, by size.
    pub(crate) fn of_tenant(&self, tenant: &str) -> BTreeMap<u64, Checkpoint> {
        self.checkpoints.get(tenant).cloned().unwrap_or_default()
    }

    /// Whether the key signed one of the checkpoints.
    pub(crate) fn has_key(&self, public_key: &[u8]) -> bool {
        self.keys.contains(public_key)
    }
}

#[cfg(test)]
mod tests {
    use quad_core::Timestamp;

    use super::*;
    use crate::checkpoint::Statement;
    use crate::hash::Hash;
    use crate::testing::TestKey;

    fn checkpoint(size: u64, root: &str) -> Checkpoint {
        let (root, event_hash) = (Hash::compute(root.as_bytes()), Hash::compute(b"event"));
        let time = Timestamp(0);
        Statement { tenant: "t".to_owned(), size, root, event_hash, previous: None, time }
            .sign(&TestKey::new(1))
    }

    fn read(file: &CheckpointFile) -> Result<TrustedCheckpoints> {
        TrustedCheckpoints::read(std::fs::read(file.path()).unwrap().as_slice())
    }

    #[test]
    fn unfinished_line_is_skipped() {
        let folder = tempfile::tempdir().unwrap();
        let file = CheckpointFile::in_folder(folder.path());
        file.append(&[checkpoint(1, "a")], FileSync::Now).unwrap();
        let complete = std::fs::read(file.path()).unwrap();
        std::fs::write(file.path(), [&complete[..], &complete[..40]].concat()).unwrap();
        file.append(&[checkpoint(2, "b")], FileSync::Now).unwrap();
        let trusted = read(&file).unwrap();
        assert_eq!(trusted.of_tenant("t").keys().copied().collect::<Vec<_>>(), [1, 2]);
        assert_eq!(trusted.unreadable_lines, 1);
        assert!(trusted.of_tenant("other").is_empty());
    }

    #[test]
    fn rejects_bad_signature_and_contradicting_checkpoint() {
        let folder = tempfile::tempdir().unwrap();
        let file = CheckpointFile::in_folder(folder.path());
        file.append(&[checkpoint(1, "a")], FileSync::Now).unwrap();
        file.append(&[checkpoint(1, "a")], FileSync::Now).unwrap();
        read(&file).unwrap();
        file.append(&[checkpoint(1, "b")], FileSync::Now).unwrap();
        assert!(read(&file).unwrap_err().message().contains("contradicts"));
        let mut forged = checkpoint(3, "c");
        forged.statement.size = 4;
        std::fs::write(file.path(), forged.to_line() + "\n").unwrap();
        assert!(read(&file).unwrap_err().message().contains("bad signature"));
    }
}
