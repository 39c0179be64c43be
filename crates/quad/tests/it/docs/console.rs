//! Runs the `console` blocks of a page and compares what they print with what the page shows.
//!
//! The blocks of one page run in order, in one shell, in a fresh environment: an empty home, an empty working folder and
//! `quad` on the path. A line that starts with `$ ` is a command; it goes on over heredocs, open quotes and a backslash at
//! the end of a line. The lines below it are its output: `…` stands for any text within a line, and a line that is only
//! `…` for any number of lines. A server of a page listens on a free port, which replaces the port 4704 of the page.

use std::fmt::Write as _;
use std::io::{BufRead, BufReader};
use std::net::TcpListener;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;

use super::{markdown, pages};

/// How long one command may take.
const COMMAND_TIME: Duration = Duration::from_secs(60);

/// Pages that run at the same time.
const PAGES_AT_ONCE: usize = 4;

/// The port that pages write down.
const PORT: &str = "127.0.0.1:4704";

#[test]
fn console_examples_print_what_is_shown() {
    let pages: Vec<_> = pages::all().into_iter().filter(|page| !examples(&page.text).is_empty()).collect();
    let next = AtomicUsize::new(0);
    let failures = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..PAGES_AT_ONCE {
            scope.spawn(|| {
                while let Some(page) = pages.get(next.fetch_add(1, Ordering::Relaxed)) {
                    if let Err(failure) = run(&page.name, &examples(&page.text)) {
                        failures.lock().unwrap().push(failure);
                    }
                }
            });
        }
    });
    let failures = failures.into_inner().unwrap();
    assert!(failures.is_empty(), "{} pages fail:\n\n{}", failures.len(), failures.join("\n"));
}

/// A command and what it prints.
#[derive(Debug, PartialEq, Eq)]
struct Example {
    /// The line of the page on which the command begins.
    line: usize,
    command: String,
    output: Vec<String>,
}

/// All examples of a page, in order.
fn examples(text: &str) -> Vec<Example> {
    let mut examples: Vec<Example> = Vec::new();
    for block in markdown::split(text).0.iter().filter(|block| block.language == "console") {
        let mut open = false;
        for (index, line) in block.lines.iter().enumerate() {
            if open {
                let command = &mut examples.last_mut().unwrap().command;
                command.push('\n');
                command.push_str(line);
                open = is_unfinished(command);
            } else if let Some(command) = line.strip_prefix("$ ") {
                let command = command.to_owned();
                open = is_unfinished(&command);
                examples.push(Example { line: block.line + index, command, output: Vec::new() });
            } else if index > 0 {
                examples.last_mut().unwrap().output.push((*line).to_owned());
            }
        }
        assert!(!open, "line {}: the command has no end", block.line);
        assert!(block.lines.first().is_some_and(|line| line.starts_with("$ ")), "line {}: no $", block.line);
    }
    examples
}

/// Whether a shell would wait for more: a quote or a heredoc is open, or the last line ends with a backslash.
fn is_unfinished(command: &str) -> bool {
    let mut lines = command.lines();
    let mut quote = None;
    while let Some(line) = lines.next() {
        let mut ends = Vec::new();
        let mut letters = line.char_indices().peekable();
        let mut goes_on = false;
        while let Some((at, letter)) = letters.next() {
            match (quote, letter) {
                (Some(open), letter) if letter == open => quote = None,
                (Some('\''), _) => {}
                (_, '\\') => goes_on = letters.next().is_none(),
                (Some(_), _) => {}
                (None, '\'' | '"') => quote = Some(letter),
                (None, '<') if line[at..].starts_with("<<<") => {
                    letters.next();
                    letters.next();
                }
                (None, '<') if line[at..].starts_with("<<") => {
                    letters.next();
                    let word = line[at + 2..].trim_start_matches('-').split([' ', '>', '|', ')', ';']).next();
                    ends.push(word.unwrap_or_default().trim_matches(['\'', '"']));
                }
                _ => {}
            }
        }
        for end in ends {
            if !lines.by_ref().any(|line| line.trim_start_matches('\t') == end) {
                return true;
            }
        }
        if goes_on && lines.clone().next().is_none() {
            return true;
        }
    }
    quote.is_some()
}

/// Runs the examples of one page. The error is a report for a person.
fn run(page: &str, examples: &[Example]) -> Result<(), String> {
    let home = TempHome::new();
    let mark = "--- end of an example of the documentation ---";
    let mut script = String::from("exec 2>&1\n");
    for example in examples {
        let command = example.command.replace(PORT, &home.listen);
        let _ = write!(script, "{command}\nprintf '\\n%s\\n' '{mark}'\n");
    }
    std::fs::write(home.folder.join("script"), script).unwrap();
    let mut shell = Shell::start(&home);
    let mut report = String::new();
    for example in examples {
        let found = match shell.read_until(mark) {
            Ok(found) => found,
            Err(problem) => {
                let _ = writeln!(report, "{page}:{}: {problem}\n$ {}\n", example.line, example.command);
                break;
            }
        };
        let expected: Vec<String> = example
            .output
            .iter()
            .map(|line| line.replace(PORT, &home.listen).trim_end().to_owned())
            .collect();
        let expected = trimmed(&expected);
        let found = trimmed(&found);
        if !matches(expected, found) {
            let _ = writeln!(report, "{page}:{}:\n$ {}", example.line, example.command);
            report.push_str(&difference(expected, found));
        }
    }
    if report.is_empty() { Ok(()) } else { Err(report) }
}

/// The folders and the address of one page's run. They are removed at the end.
struct TempHome {
    folder: PathBuf,
    listen: String,
}

impl TempHome {
    fn new() -> TempHome {
        static NUMBER: AtomicUsize = AtomicUsize::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let folder = std::env::temp_dir().join(format!("quad-docs-{}-{number}", std::process::id()));
        for name in ["home", "work", "bin", "tmp"] {
            std::fs::create_dir_all(folder.join(name)).unwrap();
        }
        std::os::unix::fs::symlink(pages::QUAD, folder.join("bin/quad")).unwrap();
        let listen = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string();
        TempHome { folder, listen }
    }

    fn at(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }
}

impl Drop for TempHome {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

/// A running shell. It and everything that it started are killed when this is dropped.
struct Shell {
    child: Child,
    lines: Receiver<String>,
}

impl Shell {
    fn start(home: &TempHome) -> Shell {
        let path = std::env::var("PATH").unwrap_or_default();
        let mut child = Command::new("bash")
            .arg(home.at("script"))
            .current_dir(home.at("work"))
            .env_clear()
            .env("PATH", format!("{}:{path}", home.at("bin").display()))
            .env("HOME", home.at("home"))
            .env("TMPDIR", home.at("tmp"))
            .env("LANG", "C.UTF-8")
            .env("QUAD_LISTEN", &home.listen)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .process_group(0)
            .spawn()
            .unwrap();
        let (sender, lines) = channel();
        let output = BufReader::new(child.stdout.take().unwrap());
        // Ends with the last process that holds the pipe, or with the receiver.
        std::thread::spawn(move || {
            for line in output.split(b'\n').map_while(Result::ok) {
                if sender.send(String::from_utf8_lossy(&line).trim_end().to_owned()).is_err() {
                    return;
                }
            }
        });
        Shell { child, lines }
    }

    /// The lines up to the next mark.
    fn read_until(&mut self, mark: &str) -> Result<Vec<String>, String> {
        let mut found = Vec::new();
        let deadline = std::time::Instant::now() + COMMAND_TIME;
        loop {
            match self.lines.recv_timeout(deadline.saturating_duration_since(std::time::Instant::now())) {
                Ok(line) if line == mark => return Ok(found),
                Ok(line) => found.push(line),
                Err(RecvTimeoutError::Timeout) => {
                    return Err(format!("no end after {COMMAND_TIME:?}; printed\n{}", found.join("\n")));
                }
                Err(RecvTimeoutError::Disconnected) => {
                    return Err(format!("the shell ended; printed\n{}", found.join("\n")));
                }
            }
        }
    }
}

impl Drop for Shell {
    fn drop(&mut self) {
        let group = format!("-{}", self.child.id());
        let _ = Command::new("kill").args(["-KILL", "--", &group]).stderr(Stdio::null()).status();
        let _ = self.child.wait();
    }
}

/// Without the empty lines at both ends.
fn trimmed(lines: &[String]) -> &[String] {
    let Some(first) = lines.iter().position(|line| !line.is_empty()) else { return &[] };
    let last = lines.iter().rposition(|line| !line.is_empty()).unwrap_or(first);
    &lines[first..=last]
}

/// Whether output fits the pattern of the page.
fn matches(expected: &[String], found: &[String]) -> bool {
    match expected.split_first() {
        None => found.is_empty(),
        Some((first, rest)) if first.trim() == "…" => {
            (0..=found.len()).any(|skipped| matches(rest, &found[skipped..]))
        }
        Some((first, rest)) => {
            found.split_first().is_some_and(|(line, more)| line_matches(first, line) && matches(rest, more))
        }
    }
}

fn line_matches(expected: &str, found: &str) -> bool {
    let mut parts = expected.split('…');
    let first = parts.next().unwrap_or_default();
    let Some(mut rest) = found.strip_prefix(first) else { return false };
    let Some(last) = parts.next_back() else { return rest.is_empty() };
    for part in parts {
        let Some(at) = rest.find(part) else { return false };
        rest = &rest[at + part.len()..];
    }
    rest.len() >= last.len() && rest.ends_with(last)
}

/// Both texts, with the first line that differs marked.
fn difference(expected: &[String], found: &[String]) -> String {
    let mut text = String::from("  the page shows:\n");
    let same =
        expected.iter().zip(found).take_while(|(expected, found)| line_matches(expected, found)).count();
    for (title, lines) in [("", expected), ("  it prints:\n", found)] {
        text.push_str(title);
        for (index, line) in lines.iter().enumerate() {
            let _ = writeln!(text, "  {} {line}", if index == same { '>' } else { '|' });
        }
    }
    text
}

#[test]
fn command_continues_in_quotes_heredocs_and_after_backslash() {
    for (unfinished, finished) in [
        ("cat > a <<'CSV'\nx", "cat > a <<'CSV'\nx\nCSV"),
        ("cat <<EOF > a", "cat <<EOF > a\nit's\nEOF"),
        ("echo '{", "echo '{\n}'"),
        ("echo a \\", "echo a \\\n b"),
        ("echo \"it's", "echo \"it's\""),
    ] {
        assert!(is_unfinished(unfinished), "{unfinished}");
        assert!(!is_unfinished(finished), "{finished}");
    }
    assert!(!is_unfinished("cat <<< word"));
}

#[test]
fn ellipsis_matches_any_text_or_lines() {
    let check = |expected: &str, found: &str| {
        let lines = |text: &str| text.lines().map(str::to_owned).collect::<Vec<_>>();
        matches(&lines(expected), &lines(found))
    };
    assert!(check("id tok_…, until …", "id tok_01ABC, until tomorrow"));
    assert!(check("a\n…\nz", "a\nb\nc\nz"));
    assert!(check("a\n…", "a"));
    assert!(!check("a\n…\nz", "a\nb"));
    assert!(!check("ab…b", "ab"));
    assert!(!check("a", "a\nb"));
}

#[test]
fn different_output_is_reported() {
    let text = "```console\n$ echo one\ntwo\n$ cat > f <<'E'\nx\nE\n$ cat f\nx\n```\n";
    let report = run("page.md", &examples(text)).unwrap_err();
    assert!(report.contains("page.md:2:\n$ echo one"), "{report}");
    assert!(report.contains("> two") && report.contains("> one"), "{report}");
    assert!(!report.contains("cat f"), "{report}");
}

#[test]
fn processes_started_by_a_page_are_killed() {
    let pid = std::env::temp_dir().join(format!("quad-docs-pid-{}", std::process::id()));
    let text = format!("```console\n$ sleep 300 &\n$ echo $! > {}\n```\n", pid.display());
    run("page.md", &examples(&text)).unwrap();
    let id = std::fs::read_to_string(&pid).unwrap();
    std::fs::remove_file(&pid).unwrap();
    let stat = Path::new("/proc").join(id.trim()).join("stat");
    let runs = || std::fs::read_to_string(&stat).is_ok_and(|state| !state.contains(" Z "));
    let deadline = std::time::Instant::now() + Duration::from_secs(5);
    while runs() {
        assert!(std::time::Instant::now() < deadline, "process {id} still runs");
        std::thread::sleep(Duration::from_millis(10));
    }
}
