//! Reads the history of a folder with the program `git`.
//!
//! `git` is a program and not a library here: it reads every repository format, and it refuses repositories of other
//! users. It runs without hooks, without a network, and with no configuration that starts other programs.

use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Instant;

use quad_core::Timestamp;

use crate::limits::{HISTORY_COMMITS_MAX, HISTORY_TIME_MAX, PLAN_FILE_BYTES_MAX};
use crate::plan::history::Commit;

/// A Markdown file that a commit added or changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChangedFile {
    /// Its path below the folder, after the commit.
    pub path: String,
    /// Its text before the commit; `None` for a new file.
    pub before: Option<String>,
    /// Its text after the commit.
    pub after: String,
}

/// Why there is no history.
#[derive(Debug)]
pub enum GitError {
    /// The program is not installed.
    NotInstalled,
    /// It refused, or the folder is in no repository.
    Failed(String),
    /// It took longer than [`HISTORY_TIME_MAX`].
    TooSlow,
    /// It could not be run or read.
    Io(io::Error),
}

impl From<io::Error> for GitError {
    fn from(error: io::Error) -> GitError {
        match error.kind() {
            io::ErrorKind::NotFound => GitError::NotInstalled,
            _ => GitError::Io(error),
        }
    }
}

/// Begins the line of a commit. Neither occurs in a name of a person or in a first line of a message.
const COMMIT_MARK: char = '\u{1e}';
const FIELD_MARK: char = '\u{1f}';

/// Lines of git that are read before they are used.
const LINES_AHEAD: usize = 256;

/// Bytes of git's messages that are kept: the first says what is wrong.
const ERROR_BYTES_MAX: u64 = 4_096;

/// A blob that a line names for a file that is not there.
const NO_BLOB: &str = "0000000000000000000000000000000000000000";

/// Calls `visit` for each commit that changed Markdown files of the folder, newest first, until it returns `false`.
/// `is_wanted` says whether the files of a commit are read.
pub fn visit_commits(
    folder: &Path,
    since: Option<&str>,
    is_wanted: impl Fn(&Commit) -> bool,
    mut visit: impl FnMut(&Commit, ChangedFile) -> bool,
) -> Result<(), GitError> {
    let started = Instant::now();
    let mut command = git(folder);
    command.args([
        "log",
        "--no-color",
        "--no-ext-diff",
        "--no-textconv",
        "-M",
        "--raw",
        "--no-abbrev",
        "--relative",
    ]);
    command.arg(format!("--max-count={HISTORY_COMMITS_MAX}"));
    command.arg("--format=%x1e%H%x1f%at%x1f%aN%x1f%s");
    if let Some(since) = since {
        command.arg(format!("--since={since}"));
    }
    let mut log = Running(command.args(["--", "."]).stderr(Stdio::piped()).spawn()?);
    let output = log.0.stdout.take().ok_or_else(|| io::Error::other("no output"))?;
    let errors = log.0.stderr.take().ok_or_else(|| io::Error::other("no error output"))?;
    // git prints nothing while it walks commits that do not touch the folder, so the time is limited from outside. Both
    // threads end when the process does.
    let (sender, lines) = mpsc::sync_channel(LINES_AHEAD);
    thread::spawn(move || {
        for line in BufReader::new(output).split(b'\n') {
            if sender.send(line).is_err() {
                break;
            }
        }
    });
    let errors = thread::spawn(move || read_errors(errors));
    let mut blobs = BlobReader::start(folder)?;
    let mut commit: Option<Commit> = None;
    loop {
        let remaining = HISTORY_TIME_MAX.saturating_sub(started.elapsed());
        let line = match lines.recv_timeout(remaining) {
            _ if remaining.is_zero() => return Err(GitError::TooSlow),
            Ok(line) => line?,
            Err(RecvTimeoutError::Timeout) => return Err(GitError::TooSlow),
            Err(RecvTimeoutError::Disconnected) => break,
        };
        let line = String::from_utf8_lossy(&line);
        if let Some(header) = line.strip_prefix(COMMIT_MARK) {
            commit = parse_commit(header).filter(&is_wanted);
            continue;
        }
        let Some((commit, change)) = commit.as_ref().zip(parse_change(&line)) else { continue };
        let Some(after) = blobs.read(change.after)? else { continue };
        let before = if change.before == NO_BLOB { None } else { blobs.read(change.before)? };
        if !visit(commit, ChangedFile { path: change.path.to_owned(), before, after }) {
            return Ok(());
        }
    }
    let status = log.0.wait()?;
    let message = errors.join().unwrap_or_default();
    if status.success() { Ok(()) } else { Err(GitError::Failed(message)) }
}

/// Reads what git reports, to the end, and keeps the beginning. A pipe that is not read would block git.
fn read_errors(mut errors: impl io::Read) -> String {
    let mut kept = Vec::new();
    let _ = errors.by_ref().take(ERROR_BYTES_MAX).read_to_end(&mut kept);
    let _ = io::copy(&mut errors, &mut io::sink());
    String::from_utf8_lossy(&kept).into_owned()
}

/// The program with settings that keep it from starting others.
fn git(folder: &Path) -> Command {
    let mut command = Command::new("git");
    command.arg("-C").arg(folder).arg("--no-pager");
    for setting in [
        "core.quotePath=false",
        "core.fsmonitor=false",
        "core.hooksPath=/dev/null",
        "log.showSignature=false",
    ] {
        command.args(["-c", setting]);
    }
    for name in ["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY"] {
        command.env_remove(name);
    }
    command.envs([
        ("GIT_OPTIONAL_LOCKS", "0"),
        ("GIT_NO_LAZY_FETCH", "1"),
        // Older versions do not know the setting above: no protocol is allowed, so nothing is fetched.
        ("GIT_ALLOW_PROTOCOL", "none"),
        ("GIT_TERMINAL_PROMPT", "0"),
        ("LC_ALL", "C"),
    ]);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    command
}

/// A process that ends with this value.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// `git cat-file --batch`: the texts of blobs.
struct BlobReader {
    requests: ChildStdin,
    answers: BufReader<ChildStdout>,
    _process: Running,
}

impl BlobReader {
    fn start(folder: &Path) -> Result<BlobReader, GitError> {
        let mut process = Running(git(folder).args(["cat-file", "--batch"]).stdin(Stdio::piped()).spawn()?);
        let pipes = process.0.stdin.take().zip(process.0.stdout.take());
        let (requests, answers) = pipes.ok_or_else(|| io::Error::other("no pipes"))?;
        Ok(BlobReader { requests, answers: BufReader::new(answers), _process: process })
    }

    /// The text of a blob; `None` if it is missing or larger than a plan file.
    fn read(&mut self, hash: &str) -> io::Result<Option<String>> {
        writeln!(self.requests, "{hash}")?;
        self.requests.flush()?;
        let mut header = String::new();
        self.answers.read_line(&mut header)?;
        let mut fields = header.trim_end().split(' ');
        let (Some(kind), Some(size)) = (fields.nth(1), fields.next()) else { return Ok(None) };
        let size: u64 = size.parse().map_err(io::Error::other)?;
        let mut bytes = Vec::new();
        let mut blob = (&mut self.answers).take(size + 1);
        if kind != "blob" || size > PLAN_FILE_BYTES_MAX {
            io::copy(&mut blob, &mut io::sink())?;
            return Ok(None);
        }
        blob.read_to_end(&mut bytes)?;
        bytes.pop();
        Ok(Some(String::from_utf8_lossy(&bytes).into_owned()))
    }
}

fn parse_commit(header: &str) -> Option<Commit> {
    let mut fields = header.splitn(4, FIELD_MARK);
    let (hash, seconds, author) = (fields.next()?, fields.next()?, fields.next()?);
    let seconds: i64 = seconds.parse().ok()?;
    let date = Timestamp(seconds.checked_mul(1_000)?).to_string();
    // Commits have whole seconds.
    let date = date.split_once('.').map_or(date.clone(), |(date, _)| format!("{date}Z"));
    let message = fields.next().unwrap_or_default().to_owned();
    Some(Commit { hash: hash.to_owned(), date, author: author.to_owned(), message })
}

/// A changed file in a line of `--raw`.
struct RawChange<'l> {
    before: &'l str,
    after: &'l str,
    path: &'l str,
}

/// `:100644 100644 <before> <after> M<tab>path`, with two paths for a renamed file. `None` for a file that was deleted
/// or is no Markdown.
fn parse_change(line: &str) -> Option<RawChange<'_>> {
    let (fields, paths) = line.strip_prefix(':')?.split_once('\t')?;
    let path = paths.rsplit('\t').next()?;
    let mut fields = fields.split(' ').skip(2);
    let (before, after) = (fields.next()?, fields.next()?);
    (after != NO_BLOB && path.ends_with(".md")).then_some(RawChange { before, after, path })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn log_lines_are_parsed() {
        let commit = parse_commit("abc\u{1f}1740816000\u{1f}Ada Quill\u{1f}plan: gate").unwrap();
        assert_eq!((commit.date.as_str(), commit.author.as_str()), ("2025-03-01T08:00:00Z", "Ada Quill"));
        let renamed = parse_change(":100644 100644 a b R090\tdocs/old.md\tdocs/new.md").unwrap();
        assert_eq!((renamed.before, renamed.after, renamed.path), ("a", "b", "docs/new.md"));
        for line in [
            ":100644 000000 a 0000000000000000000000000000000000000000 D\ta.md",
            ":1 2 a b M\ta.txt",
            "",
            "text",
        ] {
            assert!(parse_change(line).is_none(), "{line}");
        }
    }

    #[test]
    fn folder_outside_a_repository_has_no_history() {
        let folder = tempfile::tempdir().unwrap();
        let error = visit_commits(folder.path(), None, |_| true, |_, _| true).unwrap_err();
        assert!(matches!(error, GitError::Failed(_)), "{error:?}");
    }
}
