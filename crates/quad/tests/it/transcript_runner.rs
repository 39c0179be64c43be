//! Runs a transcript in one combination: sends its requests and checks its expectations.

use std::collections::HashMap;
use std::process::Output;

use serde_json::{Value, json};

use crate::client::{Client, Reply};
use crate::http::{HttpClient, Request};
use crate::instance::{Server, TestInstance};
use crate::matrix::{Combination, Transport};
use crate::pattern::{Captures, Mismatch, Pattern, fill_text};
use crate::project::Project;
use crate::published_tools;
use crate::transcript::{Action, ErrorKind, Expectation, Step, Transcript};

/// The agent with every scope.
const OWNER: &str = "owner";

/// Its subject. Over stdio every client has this subject, so that rows have the same `createdBy` over both transports.
const OWNER_SUBJECT: &str = "agent_local";

/// The state of a running transcript.
pub struct TranscriptRunner<'a> {
    transcript: &'a Transcript,
    instance: &'a TestInstance,
    server: &'a Server,
    combination: Combination,
    captures: Captures,
    tenant: String,
    agent: String,
    all_tools: bool,
    project: Option<Project>,
    tokens: HashMap<(String, String), String>,
    clients: HashMap<(String, String, bool), Client>,
    reply: Option<Reply>,
    /// Output, error and exit code of the last command.
    command_output: Option<Output>,
    /// Every reply with its line, for comparison with other combinations.
    pub replies: Vec<(usize, Reply)>,
}

/// A failed step.
pub struct Failure {
    pub line: usize,
    pub text: String,
}

impl<'a> TranscriptRunner<'a> {
    /// A runner before the first step.
    pub fn new(
        transcript: &'a Transcript,
        instance: &'a TestInstance,
        server: &'a Server,
        combination: Combination,
    ) -> TranscriptRunner<'a> {
        TranscriptRunner {
            transcript,
            instance,
            server,
            combination,
            captures: Captures::new(),
            tenant: String::new(),
            agent: OWNER.to_owned(),
            all_tools: false,
            project: None,
            tokens: HashMap::new(),
            clients: HashMap::new(),
            reply: None,
            command_output: None,
            replies: Vec::new(),
        }
    }

    /// Runs all steps up to the first failure.
    pub fn run(&mut self) -> Result<(), Failure> {
        let transcript = self.transcript;
        for step in &transcript.steps {
            let to_failure = |text: String| Failure { line: step.line, text };
            let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| self.run_step(step)));
            match result {
                Ok(step_result) => step_result.map_err(to_failure)?,
                Err(panic) => return Err(to_failure(panic_message(&*panic))),
            }
        }
        Ok(())
    }

    fn run_step(&mut self, step: &Step) -> Result<(), String> {
        match &step.action {
            Action::Tenant(name) => self.set_tenant(name),
            Action::Load(file) => {
                let file = self.transcript.path.with_file_name(file);
                let scheme = if self.transcript.scheme == "brain" { "brain" } else { "bkend" };
                self.instance.load_into(scheme, &self.tenant, &file);
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
            Action::Agent { name, scopes } => self.set_agent(name, scopes),
            Action::QuadCommand(arguments) => {
                self.run_command(arguments);
                Ok(())
            }
            Action::Repeat { name, text, times } => {
                self.captures.insert(name.clone(), text.repeat(*times).into());
                Ok(())
            }
            Action::Http(request) => {
                let request = request.fill(&self.captures)?;
                self.send_http(&request);
                Ok(())
            }
            Action::Capture { name, value } => {
                let value = value.fill(&self.captures)?;
                self.captures.insert(name.clone(), value);
                Ok(())
            }
            Action::Request { method, params } => {
                let params = params.as_ref().map(|params| params.fill(&self.captures)).transpose()?;
                self.send_request(step.line, method, params)
            }
            Action::Read(uri) => {
                let uri = fill_text(uri, &self.captures);
                self.send_request(step.line, "resources/read", Some(json!({"uri": uri})))
            }
            Action::Call { tool, arguments } => {
                let arguments = arguments.fill(&self.captures)?;
                let params = json!({"name": tool, "arguments": arguments});
                self.send_request(step.line, "tools/call", Some(params))
            }
            Action::Subscribe(uri) => {
                let uri = fill_text(uri, &self.captures);
                self.client()
                    .subscribe(&uri)
                    .map_err(|error| format!("the subscription was refused: {error:#}"))
            }
            Action::Unsubscribe(uri) => {
                let uri = fill_text(uri, &self.captures);
                self.client().unsubscribe(&uri).map_err(|error| format!("it was refused: {error:#}"))
            }
            Action::Expect(expectation) => self.check_expectation(expectation, &step.source),
        }
    }

    fn project(&self) -> Result<&Project, String> {
        self.project.as_ref().ok_or_else(|| "there is no @project yet".to_owned())
    }

    /// Runs a command for the present tenant.
    fn run_command(&mut self, arguments: &[String]) {
        let mut command = self.instance.quad_command(&[]);
        for argument in arguments {
            let expanded = fill_text(argument, &self.captures);
            let file_path = self.transcript.path.with_file_name(&expanded);
            match expanded.contains('.') && file_path.is_file() {
                true => command.arg(file_path),
                false => command.arg(expanded),
            };
        }
        command.args(["--tenant", &self.tenant, "--json"]);
        self.command_output = Some(command.output().unwrap());
    }

    /// Sends a raw HTTP request. Its answer is not compared between combinations, since it contains ports.
    fn send_http(&mut self, request: &Value) {
        let path = format!("{}/{}", self.server.path, self.transcript.scheme);
        let mut http_request = Request::new(
            request["method"].as_str().unwrap_or("POST"),
            request["path"].as_str().unwrap_or(&path),
        );
        for (name, value) in request["headers"].as_object().into_iter().flatten() {
            http_request = http_request.header(name, value.as_str().unwrap_or_default());
        }
        let body = match &request["body"] {
            Value::Null => None,
            Value::String(text) => Some(text.clone()),
            json => Some(json.to_string()),
        };
        if let Some(body) = body {
            http_request = http_request.header("Content-Type", "application/json").body(body);
        }
        let response = HttpClient::new(&self.server.authority).send(&http_request).unwrap();
        let header_pairs =
            response.headers.iter().map(|(name, value)| (name.to_ascii_lowercase(), value.as_str().into()));
        let headers: serde_json::Map<String, Value> = header_pairs.collect();
        let text = response.text();
        let body = serde_json::from_str(&text).unwrap_or_else(|_| Value::from(text.as_str()));
        let answer = json!({"status": response.status, "headers": headers, "body": body});
        let (status, challenge) = (Some(response.status), None);
        self.reply = Some(Reply { outcome: Ok(answer), receipt: None, cache_hint: None, status, challenge });
    }

    /// Switches to a tenant of this transcript and combination, and creates it if needed.
    fn set_tenant(&mut self, name: &str) -> Result<(), String> {
        let Combination { transport, revision, .. } = self.combination;
        let (transcript, date) = (self.transcript.name(), revision.0.replace('-', ""));
        self.tenant = format!("{transcript}-{transport}-{date}-{name}");
        self.agent = OWNER.to_owned();
        if !self.tokens.contains_key(&(self.tenant.clone(), OWNER.to_owned())) {
            self.instance.add_tenant(&self.tenant);
            // Over stdio there is no token.
            let token = match transport {
                Transport::Stdio => String::new(),
                Transport::Http => self.instance.mint_token(&self.tenant, OWNER_SUBJECT, "*:*"),
            };
            self.tokens.insert((self.tenant.clone(), OWNER.to_owned()), token);
        }
        // A project belongs to the tenant that its server was started for; later tenants have none.
        if let (Transport::Http, Some(project)) = (transport, &mut self.project) {
            project.serve(self.instance, &self.tenant);
        }
        self.capture_token();
        Ok(())
    }

    fn capture_token(&mut self) {
        let token = self.tokens.get(&(self.tenant.clone(), self.agent.clone())).cloned();
        self.captures.insert("token".to_owned(), token.into());
    }

    fn set_agent(&mut self, name: &str, scopes: &str) -> Result<(), String> {
        let key = (self.tenant.clone(), name.to_owned());
        if !scopes.is_empty() {
            let token = self.instance.mint_token(&self.tenant, name, scopes);
            self.tokens.insert(key, token);
        } else if !self.tokens.contains_key(&key) {
            return Err(format!("the agent {name} has no scopes yet"));
        }
        self.agent = name.to_owned();
        self.capture_token();
        Ok(())
    }

    /// The client of the present tenant and agent.
    fn client(&mut self) -> &mut Client {
        let key = (self.tenant.clone(), self.agent.clone(), self.all_tools);
        let Combination { transport, revision, .. } = self.combination;
        let (place, scheme) = (self.instance, self.transcript.scheme.as_str());
        let server = self.project.as_ref().and_then(|project| project.server.as_ref()).unwrap_or(self.server);
        let folder =
            self.project.as_ref().filter(|project| project.is_owned_by(tenant_of(&key))).map(Project::path);
        let token = self.tokens.get(&(self.tenant.clone(), self.agent.clone()));
        self.clients.entry(key).or_insert_with_key(|(tenant, _, all_tools)| match transport {
            Transport::Stdio => {
                let mut command = place.quad_command(&["stdio", "--tenant", tenant, "--only", scheme]);
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

    fn send_request(&mut self, line: usize, method: &str, params: Option<Value>) -> Result<(), String> {
        let requested_uri = params.as_ref().map_or(Value::Null, |params| params["uri"].clone());
        let tool =
            params.as_ref().filter(|_| method == "tools/call").and_then(|params| params["name"].as_str());
        let tool = tool.map(str::to_owned);
        let mut reply = self.client().request(method, params);
        if let Some(project) = &self.project {
            project.mask_path_in(&mut reply);
        }
        self.captures.insert("uri".to_owned(), requested_uri);
        self.replies.push((line, reply.clone()));
        let checked = check_published(tool.as_deref(), &reply);
        self.reply = Some(reply);
        checked
    }

    fn check_expectation(&mut self, expectation: &Expectation, source: &str) -> Result<(), String> {
        if let Expectation::Notification { method, params } = expectation {
            return self.check_notification(method, params, source);
        }
        if let Expectation::Printed(pattern) | Expectation::Exit { stderr: pattern, .. } = expectation {
            let code = if let Expectation::Exit { code, .. } = expectation { *code } else { 0 };
            return self.check_command_output(code, pattern, source);
        }
        let reply = self.reply.clone().ok_or("nothing has been asked yet")?;
        let actual = match &reply.outcome {
            Ok(result) => result.clone(),
            Err(error) => json!({"error": error}),
        };
        let explain = |problem: String| format!("{problem}\nexpected {source}\ngot {actual:#}");
        let explain_mismatch = |mismatch: Mismatch| explain(mismatch.to_string());
        let result = || reply.outcome.as_ref().map_err(|_| explain("the request was refused".to_owned()));
        let captures = &mut self.captures;
        match expectation {
            Expectation::Result(pattern) => pattern.check(result()?, captures).map_err(explain_mismatch),
            Expectation::Json(pattern) => {
                let uri = captures.get("uri").cloned().unwrap_or_default();
                let document = parse_document(result()?, &uri).map_err(&explain)?;
                pattern.check(&document, captures).map_err(explain_mismatch)
            }
            Expectation::Tool(pattern) => {
                let has_structure = self.combination.revision.has_structured_content();
                let tool_output = parse_tool_result(result()?, false, has_structure).map_err(&explain)?;
                pattern.check(&tool_output, captures).map_err(explain_mismatch)
            }
            Expectation::ToolError(pattern) => {
                let has_structure = self.combination.revision.has_structured_content();
                let tool_output = parse_tool_result(result()?, true, has_structure).map_err(&explain)?;
                pattern.check(&tool_output["error"], captures).map_err(explain_mismatch)
            }
            Expectation::Error { kind, data } => {
                let Err(error) = &reply.outcome else {
                    return Err(explain("the request was answered".to_owned()));
                };
                check_error_code(*kind, error, &reply, self.combination).map_err(&explain)?;
                data.check(&error["data"], captures).map_err(explain_mismatch)
            }
            Expectation::Cache { ttl_ms, scope } => match &reply.cache_hint {
                Some(hint) if hint.ttl_ms == *ttl_ms && hint.scope == *scope => Ok(()),
                None if !self.combination.revision.is_modern() => Ok(()),
                other => Err(explain(format!("the result keeps {other:?}"))),
            },
            Expectation::Notification { .. } | Expectation::Printed(_) | Expectation::Exit { .. } => Ok(()),
        }
    }

    fn check_command_output(&mut self, code: i32, pattern: &Pattern, source: &str) -> Result<(), String> {
        let output = self.command_output.as_ref().ok_or("no command was run yet")?;
        let bytes = if code == 0 { &output.stdout } else { &output.stderr };
        let text = String::from_utf8_lossy(bytes).into_owned();
        if output.status.code() != Some(code) {
            let stderr = String::from_utf8_lossy(&output.stderr);
            return Err(format!(
                "the command ended with {}\nexpected {source}\n{text}{stderr}",
                output.status
            ));
        }
        let printed = serde_json::from_str(&text).unwrap_or_else(|_| Value::from(text.as_str()));
        let explain = |mismatch: Mismatch| format!("{mismatch}\nexpected {source}\ngot {printed:#}");
        pattern.check(&printed, &mut self.captures).map_err(explain)
    }

    fn check_notification(&mut self, method: &str, params: &Pattern, source: &str) -> Result<(), String> {
        let message =
            self.client().next_notification().ok_or_else(|| format!("nothing came\nexpected {source}"))?;
        let explain = |problem: String| format!("{problem}\nexpected {source}\ngot {message:#}");
        if message["method"].as_str() != Some(&format!("notifications/{method}")) {
            return Err(explain("another notification came".to_owned()));
        }
        let actual_params = message.get("params").cloned().unwrap_or_else(|| json!({}));
        params.check(&actual_params, &mut self.captures).map_err(|mismatch| explain(mismatch.to_string()))
    }
}

/// What holds for every reply: results match the output schema of their tool, and errors name listed tools only.
fn check_published(tool: Option<&str>, reply: &Reply) -> Result<(), String> {
    match (&reply.outcome, tool) {
        (Ok(result), Some(tool)) => {
            published_tools::check_result(tool, result)?;
            let error = &result["structuredContent"]["error"];
            let text = |member: &str| error[member].as_str().unwrap_or_default().to_owned();
            published_tools::check_mentions(&text("message"), Some(tool))
                .and(published_tools::check_mentions(&text("hint"), Some(tool)))
        }
        (Err(error), tool) => {
            published_tools::check_mentions(error["message"].as_str().unwrap_or_default(), tool)
        }
        (Ok(_), None) => Ok(()),
    }
}

fn tenant_of(key: &(String, String, bool)) -> &str {
    &key.0
}

/// The only content of a read, parsed as JSON.
fn parse_document(result: &Value, uri: &Value) -> Result<Value, String> {
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

/// The structured content of a tool result, which must equal its text.
fn parse_tool_result(result: &Value, is_error: bool, has_structure: bool) -> Result<Value, String> {
    if result["isError"] != is_error {
        return Err(format!("isError is not {is_error}"));
    }
    let texts = result["content"].as_array().into_iter().flatten().filter_map(|block| block["text"].as_str());
    let mut parsed = texts.filter_map(|text| serde_json::from_str::<Value>(text).ok());
    let output = parsed.next().ok_or("no block of text is JSON")?;
    match (has_structure, result.get("structuredContent")) {
        (true, Some(structured)) if *structured == output => Ok(output),
        (true, other) => Err(format!("structuredContent and text differ: {other:?}")),
        (false, None) => Ok(output),
        (false, Some(_)) => Err("this revision has no structuredContent".to_owned()),
    }
}

fn check_error_code(
    kind: ErrorKind,
    error: &Value,
    reply: &Reply,
    combination: Combination,
) -> Result<(), String> {
    let (code, kind_name) = match kind {
        ErrorKind::NotFound if combination.revision.is_modern() => (-32602, Some("not_found")),
        ErrorKind::NotFound => (-32002, Some("not_found")),
        ErrorKind::BadInput => (-32602, Some("bad_input")),
        ErrorKind::Scope => (-32602, Some("scope")),
        ErrorKind::Code(error_code) => (error_code, None),
    };
    if error["code"] != code {
        return Err(format!("the number is not {code}"));
    }
    if let Some(name) = kind_name
        && error["data"]["kind"] != name
    {
        return Err(format!("the kind is not {name}"));
    }
    let message = error["message"].as_str().unwrap_or_default();
    let has_both = message.starts_with(error["data"]["message"].as_str().unwrap_or("\0"))
        && message.ends_with(error["data"]["hint"].as_str().unwrap_or_default());
    if !has_both {
        return Err("the message of the error is not the message and the hint of its data".to_owned());
    }
    if kind == ErrorKind::Scope && combination.transport == Transport::Http {
        let scope = error["data"]["scope"].as_str().unwrap_or_default();
        let challenge = reply.challenge.as_deref().unwrap_or_default();
        let expected_parts =
            [r#"error="insufficient_scope""#, &format!(r#"scope="{scope}""#), "resource_metadata="];
        let has_all_parts =
            challenge.starts_with("Bearer ") && expected_parts.iter().all(|part| challenge.contains(part));
        if reply.status != Some(403) || scope.is_empty() || !has_all_parts {
            return Err(format!("no proper challenge: {:?} {challenge}", reply.status));
        }
    }
    Ok(())
}

fn panic_message(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().cloned();
    text.or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned()))
        .unwrap_or_else(|| "panicked".to_owned())
}
