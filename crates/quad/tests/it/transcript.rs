//! Transcripts: readable text files of requests and expected answers.
//!
//! ```text
//! # A comment. What stands indented continues the line before it.
//! @only http              runs over this transport, era or backend only (http, stdio, modern, legacy, sqlite, postgres)
//! @revision 2025-03-26    runs in this revision as well
//! @scheme amem            speaks to the endpoint of this scheme; of bkend unless it says so
//! @tenant shop            the conversation is with this tenant from here on; the first mention makes it
//! @load backend.jsonl     loads this file, which lies beside the transcript, into the tenant, as the scheme's lines or bkend's
//! @project harbour        the tenant that comes next owns a copy of this folder, which lies in projects/ beside the transcript
//! @save late.md plan/a.md copies a file of projects/ into the project, as an editor would save it
//! @remove plan/a.md       removes a file or a folder of the project
//! @tools all              asks for all tools, not only the core ones
//! @agent reader table:read     speaks as this agent, whose token has these scopes; over HTTP only
//! @agent owner            speaks as the agent that has every scope, as at the beginning
//! @quad agent revoke A1   runs this command for the tenant; names of files that lie beside the transcript are found
//! $B = "bkend://orgs"     keeps a value under a name
//! $S = "/" times 200000   keeps a text that is too long to write; `$token` is always the present agent's, over HTTP
//!
//! → resources/read {"uri": "$B"}         a request: method and parameters
//! → read $B                              the same, shorter
//! → call get_context {}                  tools/call
//! → http {"headers": {"Authorization": "Bearer $token"}, "body": "{"}     a request of HTTP, as it stands, to the scheme's
//!                                        endpoint; "method" and "path" are others than POST and that; the answer is
//!                                        {"status", "headers", "body"}
//! → subscribe $B                         whatever the era needs to hear of changes; also `unsubscribe`
//!
//! ← {"contents": [{"uri": "$B"}]}        the result matches this pattern
//! ← json [{"id": "org_abc123"}]          a read of one JSON document that matches
//! ← tool {"id": id as $table}            a tool's result: its structure, and the same as text
//! ← tool error {"code": "NOT_FOUND"}     a tool's failure
//! ← error not_found {"uri": "$B"}        an error of the protocol, and its data; also bad_input, scope, a number
//! ← cache 0 private                      how long a client may keep the result; the modern era says so
//! ← notification resources/updated {}    the next notification
//! ← printed {"added": 3}                 what the last `@quad` printed, as JSON
//! ← exit 5 {"code": "CONFLICT"}          how it failed, and what it complained of
//! ```

use std::path::{Path, PathBuf};

use crate::pattern::Pattern;
use crate::pattern_parser;

/// A transcript file.
#[derive(Debug)]
pub struct Transcript {
    /// The path.
    pub path: PathBuf,
    /// Words of `@only`.
    pub only: Vec<String>,
    /// Further revisions.
    pub extra_revisions: Vec<String>,
    /// The scheme whose endpoint it uses; counts are exact there.
    pub scheme: String,
    /// The steps, in order.
    pub steps: Vec<Step>,
}

/// A step, and its line.
#[derive(Debug)]
pub struct Step {
    /// From 1.
    pub line: usize,
    /// The source text.
    pub source: String,
    /// The action.
    pub action: Action,
}

/// The action of a step.
#[derive(Debug)]
pub enum Action {
    Tenant(String),
    Load(String),
    Project(String),
    Save { from: String, to: String },
    Remove(String),
    Tools(bool),
    Agent { name: String, scopes: String },
    QuadCommand(Vec<String>),
    Capture { name: String, value: Pattern },
    Repeat { name: String, text: String, times: usize },
    Http(Pattern),
    Request { method: String, params: Option<Pattern> },
    Read(String),
    Call { tool: String, arguments: Pattern },
    Subscribe(String),
    Unsubscribe(String),
    Expect(Expectation),
}

/// An expectation of a reply.
#[derive(Debug)]
pub enum Expectation {
    Result(Pattern),
    Json(Pattern),
    Tool(Pattern),
    ToolError(Pattern),
    Error { kind: ErrorKind, data: Pattern },
    Cache { ttl_ms: i64, scope: String },
    Notification { method: String, params: Pattern },
    Printed(Pattern),
    Exit { code: i32, stderr: Pattern },
}

/// Kinds of errors; the number depends on the era.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorKind {
    NotFound,
    BadInput,
    Scope,
    Code(i64),
}

impl Transcript {
    /// Reads a file.
    pub fn read(path: &Path) -> Result<Transcript, String> {
        let source = std::fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))?;
        Transcript::parse(path, &source)
    }

    fn parse(path: &Path, source: &str) -> Result<Transcript, String> {
        let mut transcript = Transcript {
            path: path.to_owned(),
            only: Vec::new(),
            extra_revisions: Vec::new(),
            scheme: "bkend".to_owned(),
            steps: Vec::new(),
        };
        for (line, text) in join_continuation_lines(source) {
            let words = || text.split_whitespace().skip(1).map(str::to_owned);
            match text.split_whitespace().next() {
                Some("@only") => transcript.only.extend(words()),
                Some("@revision") => transcript.extra_revisions.extend(words()),
                Some("@scheme") => transcript.scheme = words().collect(),
                _ => {
                    let with_line = |error| format!("{}:{line}: {error}", path.display());
                    let action = parse_action(&text).map_err(with_line)?;
                    transcript.steps.push(Step { line, source: text, action });
                }
            }
        }
        let needs_http = |step: &Step| match &step.action {
            Action::Agent { scopes, .. } => !scopes.is_empty(),
            action => matches!(action, Action::Http(_)),
        };
        if transcript.steps.iter().any(needs_http) && !transcript.only.iter().any(|word| word == "http") {
            return Err(format!(
                "{}: agents with scopes of their own and requests of HTTP need `@only http`",
                path.display()
            ));
        }
        Ok(transcript)
    }

    /// The file name without its extension.
    pub fn name(&self) -> &str {
        self.path.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default()
    }
}

/// The lines joined with their continuations, without comments.
fn join_continuation_lines(source: &str) -> Vec<(usize, String)> {
    let mut paragraphs: Vec<(usize, String)> = Vec::new();
    for (index, line) in source.lines().enumerate() {
        if line.trim().is_empty() || line.trim_start().starts_with('#') {
            continue;
        }
        match paragraphs.last_mut() {
            Some((_, last)) if line.starts_with(char::is_whitespace) => {
                last.push('\n');
                last.push_str(line.trim_end());
            }
            _ => paragraphs.push((index + 1, line.trim_end().to_owned())),
        }
    }
    paragraphs
}

fn parse_action(text: &str) -> Result<Action, String> {
    let (first, rest) = split_first_word(text);
    let required = |description: &str| {
        if rest.is_empty() { Err(format!("{first} needs {description}")) } else { Ok(rest.to_owned()) }
    };
    Ok(match first {
        "@tenant" => Action::Tenant(required("a name")?),
        "@load" => Action::Load(required("a file")?),
        "@project" => Action::Project(required("a folder")?),
        "@save" => {
            let (from, to) = split_first_word(rest);
            Action::Save { from: from.to_owned(), to: to.to_owned() }
        }
        "@remove" => Action::Remove(required("a path")?),
        "@tools" => Action::Tools(match rest {
            "all" => true,
            "core" => false,
            _ => return Err("@tools needs `all` or `core`".to_owned()),
        }),
        "@agent" => {
            let (name, scopes) = split_first_word(rest);
            Action::Agent { name: name.to_owned(), scopes: scopes.to_owned() }
        }
        "@quad" => {
            Action::QuadCommand(required("a command")?.split_whitespace().map(str::to_owned).collect())
        }
        "→" => parse_request(rest)?,
        "←" => Action::Expect(parse_expectation(rest)?),
        name if name.starts_with('$') => {
            let value = rest.strip_prefix('=').ok_or("a name needs `= VALUE`")?;
            if let Some((text, times)) = value.rsplit_once(" times ") {
                let times = times.trim().parse().map_err(|_| "times needs a number")?;
                let text = text.trim().trim_matches('"').to_owned();
                return Ok(Action::Repeat { name: name[1..].to_owned(), text, times });
            }
            Action::Capture { name: name[1..].to_owned(), value: pattern_parser::parse(value)? }
        }
        _ => return Err(format!("`{first}` begins no step; steps begin with →, ←, @ or $")),
    })
}

fn parse_request(text: &str) -> Result<Action, String> {
    let (method, rest) = split_first_word(text);
    Ok(match method {
        "read" => Action::Read(rest.to_owned()),
        "subscribe" => Action::Subscribe(rest.to_owned()),
        "unsubscribe" => Action::Unsubscribe(rest.to_owned()),
        "http" => Action::Http(pattern_parser::parse(rest)?),
        "call" => {
            let (tool, arguments) = split_first_word(rest);
            let arguments = pattern_parser::parse(if arguments.is_empty() { "{}" } else { arguments })?;
            Action::Call { tool: tool.to_owned(), arguments }
        }
        _ => {
            let params = if rest.is_empty() { None } else { Some(pattern_parser::parse(rest)?) };
            Action::Request { method: method.to_owned(), params }
        }
    })
}

fn parse_expectation(text: &str) -> Result<Expectation, String> {
    let (first, rest) = split_first_word(text);
    let pattern_or_any =
        |text: &str| if text.is_empty() { Ok(Pattern::Any) } else { pattern_parser::parse(text) };
    Ok(match first {
        "json" => Expectation::Json(pattern_or_any(rest)?),
        "tool" => match split_first_word(rest) {
            ("error", data) => Expectation::ToolError(pattern_or_any(data)?),
            _ => Expectation::Tool(pattern_or_any(rest)?),
        },
        "error" => {
            let (kind, data) = split_first_word(rest);
            let kind = match kind {
                "not_found" => ErrorKind::NotFound,
                "bad_input" => ErrorKind::BadInput,
                "scope" => ErrorKind::Scope,
                code => ErrorKind::Code(code.parse().map_err(|_| format!("`{code}` is no kind of error"))?),
            };
            Expectation::Error { kind, data: pattern_or_any(data)? }
        }
        "printed" => Expectation::Printed(pattern_or_any(rest)?),
        "exit" => {
            let (code, stderr) = split_first_word(rest);
            let code = code.parse().map_err(|_| "exit needs a code")?;
            Expectation::Exit { code, stderr: pattern_or_any(stderr)? }
        }
        "cache" => {
            let (ttl, scope) = split_first_word(rest);
            let ttl_ms = ttl.parse().map_err(|_| "cache needs milliseconds and a scope")?;
            Expectation::Cache { ttl_ms, scope: scope.to_owned() }
        }
        "notification" => {
            let (method, params) = split_first_word(rest);
            Expectation::Notification { method: method.to_owned(), params: pattern_or_any(params)? }
        }
        _ => Expectation::Result(pattern_or_any(text)?),
    })
}

/// The first word and what follows it.
fn split_first_word(text: &str) -> (&str, &str) {
    let text = text.trim();
    match text.split_once(char::is_whitespace) {
        Some((first, rest)) => (first, rest.trim()),
        None => (text, ""),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(source: &str) -> Result<Transcript, String> {
        Transcript::parse(Path::new("a.mcp"), source)
    }

    #[test]
    fn step_keeps_its_line_and_continuation_lines() {
        let source = "# title\n\n@only http\n@tenant shop\n→ read x://y\n← {\"a\":\n    # why\n    1}\n";
        let transcript = parse(source).unwrap();
        assert_eq!(transcript.only, ["http"]);
        let lines: Vec<usize> = transcript.steps.iter().map(|step| step.line).collect();
        assert_eq!(lines, [4, 5, 6]);
        assert!(matches!(
            &transcript.steps[2].action,
            Action::Expect(Expectation::Result(Pattern::Object { .. }))
        ));
    }

    #[test]
    fn parse_error_names_the_line() {
        let check = |source: &str, expect: &str| assert_eq!(parse(source).unwrap_err(), expect);
        check("@tenant a\n\nread x", "a.mcp:3: `read` begins no step; steps begin with →, ←, @ or $");
        check("← error frob", "a.mcp:1: `frob` is no kind of error");
        check("← {\"a\": }", "a.mcp:1: expected a pattern at `}`");
        check(
            "@agent a b:c",
            "a.mcp: agents with scopes of their own and requests of HTTP need `@only http`",
        );
    }
}
