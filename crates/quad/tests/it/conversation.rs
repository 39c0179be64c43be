//! A transcript in one combination: speaks its requests and checks its expectations.

use std::collections::HashMap;
use std::process::Output;

use serde_json::{Value, json};

use crate::client::{Client, Reply};
use crate::combination::{Combination, Transport};
use crate::http::{HttpClient, Request};
use crate::pattern::{Kept, Mismatch, Pattern, fill_text};
use crate::place::{Place, Server};
use crate::project::Project;
use crate::transcript::{Action, ErrorKind, Expectation, Step, Transcript};

/// The agent that has every scope.
const OWNER: &str = "owner";

/// Its name to the server. Over stdio every client has this one, so rows have the same `createdBy` over both transports.
const OWNER_SUBJECT: &str = "agent_local";

/// A transcript that is being spoken.
pub struct Conversation<'a> {
    transcript: &'a Transcript,
    place: &'a Place,
    server: &'a Server,
    combination: Combination,
    kept: Kept,
    tenant: String,
    agent: String,
    all_tools: bool,
    project: Option<Project>,
    tokens: HashMap<(String, String), String>,
    clients: HashMap<(String, String, bool), Client>,
    reply: Option<Reply>,
    /// What the last command printed and complained of, and how it ended.
    printed: Option<Output>,
    /// Every reply with its line, for comparison with other combinations.
    pub replies: Vec<(usize, Reply)>,
}

/// What went wrong, and where.
pub struct Failure {
    pub line: usize,
    pub text: String,
}

impl<'a> Conversation<'a> {
    /// Nothing has been said yet.
    pub fn new(
        transcript: &'a Transcript,
        place: &'a Place,
        server: &'a Server,
        combination: Combination,
    ) -> Conversation<'a> {
        Conversation {
            transcript,
            place,
            server,
            combination,
            kept: Kept::new(),
            tenant: String::new(),
            agent: OWNER.to_owned(),
            all_tools: false,
            project: None,
            tokens: HashMap::new(),
            clients: HashMap::new(),
            reply: None,
            printed: None,
            replies: Vec::new(),
        }
    }

    /// Speaks all of it, or up to the first thing that is wrong.
    pub fn run(&mut self) -> Result<(), Failure> {
        let transcript = self.transcript;
        for step in &transcript.steps {
            let failed = |text: String| Failure { line: step.line, text };
            let spoken = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| self.step(step)));
            match spoken {
                Ok(done) => done.map_err(failed)?,
                Err(panic) => return Err(failed(message_of(&*panic))),
            }
        }
        Ok(())
    }

    fn step(&mut self, step: &Step) -> Result<(), String> {
        match &step.action {
            Action::Tenant(name) => self.enter(name),
            Action::Load(file) => {
                let file = self.transcript.path.with_file_name(file);
                let scheme = if self.transcript.scheme == "brain" { "brain" } else { "bkend" };
                self.place.load_into(scheme, &self.tenant, &file);
                Ok(())
            }
            Action::Project(name) => {
                self.project = Some(Project::copy(&self.transcript.path, name));
                Ok(())
            }
            Action::Save { from, to } => self.project()?.save(&self.transcript.path, from, to),
            Action::Remove(path) => self.project()?.remove(path),
            Action::Tools(all) => {
                self.all_tools = *all;
                Ok(())
            }
            Action::Agent { name, scopes } => self.speak_as(name, scopes),
            Action::Quad(arguments) => {
                self.command(arguments);
                Ok(())
            }
            Action::Repeat { name, text, times } => {
                self.kept.insert(name.clone(), text.repeat(*times).into());
                Ok(())
            }
            Action::Http(request) => {
                let request = request.fill(&self.kept)?;
                self.send(&request);
                Ok(())
            }
            Action::Keep { name, value } => {
                let value = value.fill(&self.kept)?;
                self.kept.insert(name.clone(), value);
                Ok(())
            }
            Action::Request { method, params } => {
                let params = params.as_ref().map(|params| params.fill(&self.kept)).transpose()?;
                self.ask(step.line, method, params);
                Ok(())
            }
            Action::Read(uri) => {
                let uri = fill_text(uri, &self.kept);
                self.ask(step.line, "resources/read", Some(json!({"uri": uri})));
                Ok(())
            }
            Action::Call { tool, arguments } => {
                let arguments = arguments.fill(&self.kept)?;
                self.ask(step.line, "tools/call", Some(json!({"name": tool, "arguments": arguments})));
                Ok(())
            }
            Action::Subscribe(uri) => {
                let uri = fill_text(uri, &self.kept);
                self.client().watch(&uri).map_err(|error| format!("the subscription was refused: {error:#}"))
            }
            Action::Unsubscribe(uri) => {
                let uri = fill_text(uri, &self.kept);
                self.client().unwatch(&uri).map_err(|error| format!("it was refused: {error:#}"))
            }
            Action::Expect(expectation) => self.expect(expectation, &step.source),
        }
    }

    fn project(&self) -> Result<&Project, String> {
        self.project.as_ref().ok_or_else(|| "there is no @project yet".to_owned())
    }

    /// Runs a command for the present tenant.
    fn command(&mut self, arguments: &[String]) {
        let mut command = self.place.quad(&[]);
        for argument in arguments {
            let filled = fill_text(argument, &self.kept);
            let beside = self.transcript.path.with_file_name(&filled);
            match filled.contains('.') && beside.is_file() {
                true => command.arg(beside),
                false => command.arg(filled),
            };
        }
        command.args(["--tenant", &self.tenant, "--json"]);
        self.printed = Some(command.output().unwrap());
    }

    /// Sends a request of HTTP as it stands. Other combinations are not held against its answer: it names their ports.
    fn send(&mut self, request: &Value) {
        let path = format!("{}/{}", self.server.path, self.transcript.scheme);
        let mut sent = Request::new(
            request["method"].as_str().unwrap_or("POST"),
            request["path"].as_str().unwrap_or(&path),
        );
        for (name, value) in request["headers"].as_object().into_iter().flatten() {
            sent = sent.header(name, value.as_str().unwrap_or_default());
        }
        let body = match &request["body"] {
            Value::Null => None,
            Value::String(text) => Some(text.clone()),
            json => Some(json.to_string()),
        };
        if let Some(body) = body {
            sent = sent.header("Content-Type", "application/json").body(body);
        }
        let response = HttpClient::new(&self.server.authority).send(&sent).unwrap();
        let names =
            response.headers.iter().map(|(name, value)| (name.to_ascii_lowercase(), value.as_str().into()));
        let headers: serde_json::Map<String, Value> = names.collect();
        let text = response.text();
        let body = serde_json::from_str(&text).unwrap_or_else(|_| Value::from(text.as_str()));
        let answer = json!({"status": response.status, "headers": headers, "body": body});
        let (status, challenge) = (Some(response.status), None);
        self.reply = Some(Reply { outcome: Ok(answer), receipt: None, cache: None, status, challenge });
    }

    /// Turns to a tenant of this transcript and combination, and makes it if need be.
    fn enter(&mut self, name: &str) -> Result<(), String> {
        let Combination { transport, revision, .. } = self.combination;
        let (transcript, date) = (self.transcript.name(), revision.0.replace('-', ""));
        self.tenant = format!("{transcript}-{transport}-{date}-{name}");
        self.agent = OWNER.to_owned();
        if !self.tokens.contains_key(&(self.tenant.clone(), OWNER.to_owned())) {
            self.place.add_tenant(&self.tenant);
            // Over stdio the program at the other end needs no token.
            let token = match transport {
                Transport::Stdio => String::new(),
                Transport::Http => self.place.token(&self.tenant, OWNER_SUBJECT, "*:*"),
            };
            self.tokens.insert((self.tenant.clone(), OWNER.to_owned()), token);
        }
        // A folder belongs to one tenant, the one that the server was started for; the next tenants have none.
        if let (Transport::Http, Some(project)) = (transport, &mut self.project) {
            project.serve(self.place, &self.tenant);
        }
        self.keep_token();
        Ok(())
    }

    fn keep_token(&mut self) {
        let token = self.tokens.get(&(self.tenant.clone(), self.agent.clone())).cloned();
        self.kept.insert("token".to_owned(), token.into());
    }

    fn speak_as(&mut self, name: &str, scopes: &str) -> Result<(), String> {
        let key = (self.tenant.clone(), name.to_owned());
        if !scopes.is_empty() {
            let token = self.place.token(&self.tenant, name, scopes);
            self.tokens.insert(key, token);
        } else if !self.tokens.contains_key(&key) {
            return Err(format!("the agent {name} has no scopes yet"));
        }
        self.agent = name.to_owned();
        self.keep_token();
        Ok(())
    }

    /// The client of the present tenant and agent.
    fn client(&mut self) -> &mut Client {
        let key = (self.tenant.clone(), self.agent.clone(), self.all_tools);
        let Combination { transport, revision, .. } = self.combination;
        let (place, scheme) = (self.place, self.transcript.scheme.as_str());
        let server = self.project.as_ref().and_then(|project| project.server.as_ref()).unwrap_or(self.server);
        let folder =
            self.project.as_ref().filter(|project| project.is_of(tenant_of(&key))).map(Project::path);
        let token = self.tokens.get(&(self.tenant.clone(), self.agent.clone()));
        self.clients.entry(key).or_insert_with_key(|(tenant, _, all_tools)| match transport {
            Transport::Stdio => {
                let mut command = place.quad(&["stdio", "--tenant", tenant, "--only", scheme]);
                if *all_tools {
                    command.args(["--tools", "all"]);
                }
                if let Some(folder) = folder {
                    command.args(["--project", folder]);
                }
                Client::over_stdio(revision, command)
            }
            Transport::Http => {
                let query = if *all_tools { "?tools=all" } else { "" };
                let path = format!("{}/{scheme}{query}", server.path);
                Client::over_http(revision, &server.authority, &path, token.map(String::as_str))
            }
        })
    }

    fn ask(&mut self, line: usize, method: &str, params: Option<Value>) {
        let requested = params.as_ref().map_or(Value::Null, |params| params["uri"].clone());
        let mut reply = self.client().request(method, params);
        if let Some(project) = &self.project {
            project.hide_in(&mut reply);
        }
        self.kept.insert("uri".to_owned(), requested);
        self.replies.push((line, reply.clone()));
        self.reply = Some(reply);
    }

    fn expect(&mut self, expectation: &Expectation, source: &str) -> Result<(), String> {
        if let Expectation::Notification { method, params } = expectation {
            return self.expect_notification(method, params, source);
        }
        if let Expectation::Printed(pattern) | Expectation::Exit { complaint: pattern, .. } = expectation {
            let code = if let Expectation::Exit { code, .. } = expectation { *code } else { 0 };
            return self.expect_printed(code, pattern, source);
        }
        let reply = self.reply.clone().ok_or("nothing has been asked yet")?;
        let got = match &reply.outcome {
            Ok(result) => result.clone(),
            Err(error) => json!({"error": error}),
        };
        let explain = |wrong: String| format!("{wrong}\nexpected {source}\ngot {got:#}");
        let mismatch = |mismatch: Mismatch| explain(mismatch.to_string());
        let result = || reply.outcome.as_ref().map_err(|_| explain("the request was refused".to_owned()));
        let kept = &mut self.kept;
        match expectation {
            Expectation::Result(pattern) => pattern.check(result()?, kept).map_err(mismatch),
            Expectation::Json(pattern) => {
                let uri = kept.get("uri").cloned().unwrap_or_default();
                let document = document(result()?, &uri).map_err(&explain)?;
                pattern.check(&document, kept).map_err(mismatch)
            }
            Expectation::Tool(pattern) => {
                let structure = self.combination.revision.has_structure();
                let said = said_by_tool(result()?, false, structure).map_err(&explain)?;
                pattern.check(&said, kept).map_err(mismatch)
            }
            Expectation::ToolError(pattern) => {
                let structure = self.combination.revision.has_structure();
                let said = said_by_tool(result()?, true, structure).map_err(&explain)?;
                pattern.check(&said["error"], kept).map_err(mismatch)
            }
            Expectation::Error { kind, data } => {
                let Err(error) = &reply.outcome else {
                    return Err(explain("the request was answered".to_owned()));
                };
                check_number(*kind, error, &reply, self.combination).map_err(&explain)?;
                data.check(&error["data"], kept).map_err(mismatch)
            }
            Expectation::Cache { ttl_ms, scope } => match &reply.cache {
                Some(hint) if hint.ttl_ms == *ttl_ms && hint.scope == *scope => Ok(()),
                None if !self.combination.revision.is_modern() => Ok(()),
                other => Err(explain(format!("the result keeps {other:?}"))),
            },
            Expectation::Notification { .. } | Expectation::Printed(_) | Expectation::Exit { .. } => Ok(()),
        }
    }

    fn expect_printed(&mut self, code: i32, pattern: &Pattern, source: &str) -> Result<(), String> {
        let output = self.printed.as_ref().ok_or("no command was run yet")?;
        let said = if code == 0 { &output.stdout } else { &output.stderr };
        let said = String::from_utf8_lossy(said).into_owned();
        if output.status.code() != Some(code) {
            let complaint = String::from_utf8_lossy(&output.stderr);
            return Err(format!(
                "the command ended with {}\nexpected {source}\n{said}{complaint}",
                output.status
            ));
        }
        let printed = serde_json::from_str(&said).unwrap_or_else(|_| Value::from(said.as_str()));
        let explain = |mismatch: Mismatch| format!("{mismatch}\nexpected {source}\ngot {printed:#}");
        pattern.check(&printed, &mut self.kept).map_err(explain)
    }

    fn expect_notification(&mut self, method: &str, params: &Pattern, source: &str) -> Result<(), String> {
        let message =
            self.client().notification().ok_or_else(|| format!("nothing came\nexpected {source}"))?;
        let explain = |wrong: String| format!("{wrong}\nexpected {source}\ngot {message:#}");
        if message["method"].as_str() != Some(&format!("notifications/{method}")) {
            return Err(explain("another notification came".to_owned()));
        }
        let sent = message.get("params").cloned().unwrap_or_else(|| json!({}));
        params.check(&sent, &mut self.kept).map_err(|mismatch| explain(mismatch.to_string()))
    }
}

fn tenant_of(key: &(String, String, bool)) -> &str {
    &key.0
}

/// The JSON document that a read gave, which must be all it gave.
fn document(result: &Value, uri: &Value) -> Result<Value, String> {
    let contents = result["contents"].as_array().ok_or("there are no contents")?;
    let [content] = contents.as_slice() else { return Err(format!("there are {} contents", contents.len())) };
    if content["uri"] != *uri {
        return Err("the contents do not repeat the address".to_owned());
    }
    if content["mimeType"] != "application/json" {
        return Err("the contents are not application/json".to_owned());
    }
    let text = content["text"].as_str().ok_or("the contents have no text")?;
    serde_json::from_str(text).map_err(|error| format!("the text is not JSON: {error}"))
}

/// What a tool says: its structure, and, for clients that do not look there, the same as text.
fn said_by_tool(result: &Value, failed: bool, structure: bool) -> Result<Value, String> {
    if result["isError"] != failed {
        return Err(format!("isError is not {failed}"));
    }
    let texts = result["content"].as_array().into_iter().flatten().filter_map(|block| block["text"].as_str());
    let mut parsed = texts.filter_map(|text| serde_json::from_str::<Value>(text).ok());
    let said = parsed.next().ok_or("no block of text is JSON")?;
    match (structure, result.get("structuredContent")) {
        (true, Some(structured)) if *structured == said => Ok(said),
        (true, other) => Err(format!("structuredContent and text differ: {other:?}")),
        (false, None) => Ok(said),
        (false, Some(_)) => Err("this revision has no structuredContent".to_owned()),
    }
}

fn check_number(
    kind: ErrorKind,
    error: &Value,
    reply: &Reply,
    combination: Combination,
) -> Result<(), String> {
    let (number, name) = match kind {
        ErrorKind::NotFound if combination.revision.is_modern() => (-32602, Some("not_found")),
        ErrorKind::NotFound => (-32002, Some("not_found")),
        ErrorKind::BadInput => (-32602, Some("bad_input")),
        ErrorKind::Scope => (-32602, Some("scope")),
        ErrorKind::Number(number) => (number, None),
    };
    if error["code"] != number {
        return Err(format!("the number is not {number}"));
    }
    if let Some(name) = name
        && error["data"]["kind"] != name
    {
        return Err(format!("the kind is not {name}"));
    }
    if error["data"]["message"] != error["message"] {
        return Err("the message of the error and of its data differ".to_owned());
    }
    if kind == ErrorKind::Scope && combination.transport == Transport::Http {
        let scope = error["data"]["scope"].as_str().unwrap_or_default();
        let challenge = reply.challenge.as_deref().unwrap_or_default();
        let wanted = [r#"error="insufficient_scope""#, &format!(r#"scope="{scope}""#), "resource_metadata="];
        let names_all =
            challenge.starts_with("Bearer ") && wanted.iter().all(|part| challenge.contains(part));
        if reply.status != Some(403) || scope.is_empty() || !names_all {
            return Err(format!("no proper challenge: {:?} {challenge}", reply.status));
        }
    }
    Ok(())
}

fn message_of(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().cloned();
    text.or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned()))
        .unwrap_or_else(|| "panicked".to_owned())
}
