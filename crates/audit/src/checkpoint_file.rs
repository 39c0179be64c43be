//! The copy of the checkpoints outside the database: one line each, append-only.
//!
//! An attacker who can rewrite the database can rewrite the checkpoints in it, but not this file on another disk, or
//! a copy that an auditor has taken. Processes that share a data directory share the file; each appends the
//! checkpoints that it made. If a process is killed between its commit and its line, the line is missing; the next
//! one's `previous` still names it.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fs::File;
use std::io::{BufRead, BufReader, BufWriter, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};

use quad_core::{Error, Result, TenantId};

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
        append_lines().map_err(|error| write_error(&self.0, &error))
    }
}

impl CheckpointFile {
    /// The checkpoint over the most events of each tenant. Reads the last `tail_bytes` bytes only, or all lines.
    /// Lines that are no checkpoint, or are not signed, are skipped.
    pub fn newest_of_each_tenant(&self, tail_bytes: Option<u64>) -> Result<Vec<Checkpoint>> {
        let failed = |error: std::io::Error| {
            Error::bad_input(format!("{} cannot be read: {error}", self.0.display()))
                .hint("Make the file readable for this user")
        };
        let mut file = match File::open(&self.0) {
            Ok(file) => file,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(failed(error)),
        };
        let length = file.metadata().map_err(failed)?.len();
        if let Some(start) = tail_bytes.and_then(|bytes| length.checked_sub(bytes)) {
            file.seek(SeekFrom::Start(start)).map_err(failed)?;
        }
        let mut newest: BTreeMap<String, Checkpoint> = BTreeMap::new();
        let mut source = BufReader::new(file);
        let mut line = Vec::new();
        loop {
            line.clear();
            let read = source.by_ref().take(limits::LINE_BYTES_MAX).read_until(b'\n', &mut line);
            if read.map_err(failed)? == 0 {
                return Ok(newest.into_values().collect());
            }
            let text = std::str::from_utf8(&line).unwrap_or_default().trim_end_matches('\n');
            let Some(checkpoint) = Checkpoint::parse(text) else { continue };
            let tenant = &checkpoint.statement.tenant;
            let is_newest =
                newest.get(tenant).is_none_or(|other| other.statement.size < checkpoint.statement.size);
            if is_newest && checkpoint.has_valid_signature() {
                newest.insert(tenant.clone(), checkpoint);
            }
        }
    }

    /// Starts new contents. They take the place of the present file when they are finished; it then stays as
    /// `former_file`.
    pub fn replace(&self, former_file: Option<PathBuf>) -> Result<CheckpointFileWriter> {
        let temp_path = self.0.with_extension("jsonl.new");
        let file = File::create(&temp_path).map_err(|error| write_error(&temp_path, &error))?;
        Ok(CheckpointFileWriter { file: BufWriter::new(file), temp_path, path: self.0.clone(), former_file })
    }
}

/// New contents of the checkpoint file.
#[derive(Debug)]
pub struct CheckpointFileWriter {
    file: BufWriter<File>,
    temp_path: PathBuf,
    path: PathBuf,
    former_file: Option<PathBuf>,
}

impl CheckpointFileWriter {
    /// Adds a checkpoint.
    pub fn write_line(&mut self, line: &str) -> Result<()> {
        writeln!(self.file, "{line}").map_err(|error| write_error(&self.temp_path, &error))
    }

    /// Puts the new contents in place. There is a complete file at any time.
    pub fn finish(mut self) -> Result<()> {
        let mut publish = || -> std::io::Result<()> {
            self.file.flush()?;
            self.file.get_ref().sync_all()?;
            if let Some(former_file) = &self.former_file {
                std::fs::hard_link(&self.path, former_file)?;
            }
            std::fs::rename(&self.temp_path, &self.path)
        };
        publish().map_err(|error| write_error(&self.path, &error))
    }
}

fn write_error(path: &Path, error: &std::io::Error) -> Error {
    Error::internal(format!("{} cannot be written: {error}", path.display()))
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
    origin: Origin,
}

/// Where checkpoints come from, which decides what they prove.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Origin {
    /// A copy that the verifier trusts.
    #[default]
    KeptCopy,
    /// The data folder of the server that made them: an administrator of the server can rewrite them.
    DataFolder,
}

impl Origin {
    /// One of the checkpoints, in messages.
    pub(crate) fn checkpoint(self) -> &'static str {
        match self {
            Origin::KeptCopy => "trusted checkpoint",
            Origin::DataFolder => "checkpoint in checkpoints.jsonl",
        }
    }
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

    /// Says where the checkpoints come from.
    pub fn with_origin(mut self, origin: Origin) -> TrustedCheckpoints {
        self.origin = origin;
        self
    }

    /// The checkpoints of one tenant, with all keys.
    pub fn only_of(&self, tenant: &TenantId) -> TrustedCheckpoints {
        let sizes = self.of_tenant(tenant.as_str());
        TrustedCheckpoints {
            checkpoints: HashMap::from([(tenant.as_str().to_owned(), sizes)]),
            keys: self.keys.clone(),
            ..*self
        }
    }

    /// Also accepts this key.
    pub fn with_key(mut self, public_key: Vec<u8>) -> TrustedCheckpoints {
        self.keys.insert(public_key);
        self
    }

    /// Where the checkpoints come from.
    pub(crate) fn origin(&self) -> Origin {
        self.origin
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
    fn newest_checkpoints_are_found_at_the_end_of_the_file() {
        let folder = tempfile::tempdir().unwrap();
        let file = CheckpointFile::in_folder(folder.path());
        assert_eq!(file.newest_of_each_tenant(None).unwrap(), []);
        let lines: Vec<Checkpoint> = (1..40).map(|size| checkpoint(size, "a")).collect();
        file.append(&lines, FileSync::Now).unwrap();
        let newest = [checkpoint(39, "a")];
        assert_eq!(file.newest_of_each_tenant(None).unwrap(), newest);
        let line_length = newest[0].to_line().len() as u64 + 1;
        for tail_bytes in [line_length, line_length * 3 / 2, 1 << 20] {
            assert_eq!(file.newest_of_each_tenant(Some(tail_bytes)).unwrap(), newest, "{tail_bytes}");
        }
        assert_eq!(file.newest_of_each_tenant(Some(line_length - 1)).unwrap(), [], "half a line");
        let mut forged = checkpoint(50, "a");
        forged.statement.size = 60;
        file.append(&[forged], FileSync::Now).unwrap();
        assert_eq!(file.newest_of_each_tenant(None).unwrap(), newest);
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
