//! A server with two tenants on it, and everything that somebody of the one can send in order to reach the other.

use std::collections::BTreeMap;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;

use serde_json::{Value, json};

use super::answer::Answer;
use crate::combination::Revision;
use crate::era;
use crate::gate::{self, Provider};
use crate::http::{HttpClient, OpenResponse, IO_TIMEOUT, Request, Response};
use crate::place::{Place, Server};
use crate::project::copy_all;
use crate::transcripts;

/// Whose things they are.
pub const VICTIM: &str = "victim";
/// Who wants them.
pub const INTRUDER: &str = "intruder";

/// The variable that is a number and not an id: the same for what exists and what does not.
const NUMBER: &str = "n";

/// The id of a memory and of a session. Each tenant counts its own from 0, so that the same number is nothing of the intruder's.
const MEMORY: &str = "memory";

/// A second one, for what takes two.
const OTHER_MEMORY: &str = "other memory";

/// The numbers under which the victim remembers something, and two as long under which nobody does.
const MEMORIES: usize = 4_748;
const REMEMBERED: [&str; 2] = ["4747", "4646"];
const FORGOTTEN: [&str; 2] = ["9747", "9646"];

/// The arguments that take the id of a memory.
const MEMORY_IDS: [&str; 5] = ["node_id", "old_node_id", "source_id", "start_id", "from_id"];
const OTHER_MEMORY_IDS: [&str; 2] = ["target_id", "to_id"];

/// The id of an entity of the victim's plan.
const ENTITY: &str = "entity";

/// The variables whose values are a closed vocabulary: everybody has each of them.
const VOCABULARIES: [&str; 2] = ["{type}", "{name}"];

/// Organizations that each tenant has beside its real ones, so that its lists have a second page.
const BULK: usize = 205;

/// Ids, all of one place.
#[derive(Clone, Debug)]
pub struct Ids(BTreeMap<&'static str, String>);

impl Ids {
    pub fn get(&self, name: &str) -> &str {
        &self.0[name]
    }

    /// Ids of the same lengths that name nothing anywhere.
    fn absent(&self) -> Ids {
        let changed = |(name, id): (&&'static str, &String)| match *name {
            NUMBER => (NUMBER, id.clone()),
            MEMORY => (MEMORY, FORGOTTEN[0].to_owned()),
            OTHER_MEMORY => (OTHER_MEMORY, FORGOTTEN[1].to_owned()),
            name => (name, format!("{}00", &id[..id.len() - 2])),
        };
        Ids(self.0.iter().map(changed).collect())
    }

    /// An address of a template with these ids.
    pub fn expand(&self, template: &str) -> String {
        let path = template.split_once("{?").map_or(template, |(path, _)| path);
        let path = match path.starts_with("amem://") {
            true => path.replace("{id}", self.get(MEMORY)),
            false => path.to_owned(),
        };
        let path = match path.starts_with("refrakt://") {
            true => path.replace("{type}", "work").replace("{id}", self.get(ENTITY)),
            false => path,
        };
        let filled = |uri: String, (name, id): (&&str, &String)| {
            uri.replace(&format!("{{{name}}}"), id).replace(&format!("{{+{name}}}"), id)
        };
        let uri = self.0.iter().fold(path, filled);
        assert!(!uri.contains('{'), "{template} has a variable that the house does not know");
        uri
    }

    /// A text in which these ids are replaced by what they are ids of.
    pub fn hide(&self, text: &str) -> String {
        self.0.iter().filter(|(name, _)| **name != NUMBER).fold(text.to_owned(), |text, (name, id)| {
            text.replace(id.as_str(), &format!("<{name}>")).replace(&escaped(id), &format!("<{name}>"))
        })
    }
}

/// The house.
pub struct House {
    pub place: Place,
    pub server: Server,
    /// May do everything that the victim may.
    pub owner: String,
    /// May do everything that the intruder may.
    pub intruder: String,
    /// The victim's, too, but sees organizations only.
    pub visitor: String,
    /// Whom the server trusts beside itself.
    pub provider: Provider,
    /// What the victim has.
    pub existing: Ids,
    /// What nobody has.
    pub absent: Ids,
    /// The victim's, made with a key that signs no more.
    pub old: String,
    /// The victim's project.
    _project: tempfile::TempDir,
}

impl House {
    pub fn new(place: Place) -> House {
        let provider = Provider::new();
        provider.is_trusted_in(&place);
        for (tenant, file) in [(VICTIM, "backend.jsonl"), (INTRUDER, "second-organization.jsonl")] {
            place.add_tenant(tenant);
            place.load(tenant, &transcripts::folder().join(file));
            let bulk = |n: usize| {
                format!("{}\n", json!({"kind": "organization", "id": format!("org_bulk{n}"), "name": "Bulk"}))
            };
            let more = place.folder().join("bulk.jsonl");
            std::fs::write(&more, (0..BULK).map(bulk).collect::<String>()).unwrap();
            place.load(tenant, &more);
        }
        place.load_into("brain", VICTIM, &transcripts::folder().join("money.jsonl"));
        let old = place.token(VICTIM, "old", "*:*");
        place.run(&["key", "rotate"]);
        let owner = place.token(VICTIM, "owner", "*:*");
        let intruder = place.token(INTRUDER, "intruder", "*:*");
        let visitor = place.token(VICTIM, "visitor", "organization:read");
        let project = tempfile::tempdir().unwrap();
        copy_all(&transcripts::folder().join("projects/full"), project.path());
        let folder = project.path().to_str().unwrap();
        let server = place.serve(&["--tools", "all", "--tenant", VICTIM, "--project", folder]);
        let ids = Ids(BTreeMap::new());
        let absent = ids.clone();
        let mut house = House {
            place,
            server,
            owner,
            intruder,
            visitor,
            provider,
            existing: ids,
            absent,
            old,
            _project: project,
        };
        house.victim_remembers();
        let ids = house.victims_ids();
        house.absent = ids.absent();
        house.existing = ids;
        house
    }

    fn victims_ids(&self) -> Ids {
        let tokens = self.call(&self.owner, "backend_access_token_list", json!({}));
        let events = self.contents(&self.owner, "audit://events");
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        Ids(BTreeMap::from([
            ("orgId", "org_abc123".to_owned()),
            ("organizationId", "org_abc123".to_owned()),
            ("projectId", "proj_xyz789".to_owned()),
            ("envId", "env_dev001".to_owned()),
            ("environmentId", "env_dev001".to_owned()),
            ("tableId", "tbl_users".to_owned()),
            ("recordId", "rec_abc123".to_owned()),
            ("account_id", "acct_8231".to_owned()),
            ("transaction_id", "tx_4127".to_owned()),
            ("payment_intent_id", "pi_a1b2c3".to_owned()),
            ("raw_artifact_id", "raw_cited".to_owned()),
            ("obligation_id", "obl_1".to_owned()),
            ("counterparty_id", "cp_aws".to_owned()),
            ("invoice_id", "inv_1".to_owned()),
            ("slug", "accounts%2Facct_8231".to_owned()),
            ("accessTokenId", text(&tokens["items"][0]["id"])),
            ("id", text(&events["events"][0]["id"])),
            (ENTITY, "WORK-001".to_owned()),
            ("url", "berth-12".to_owned()),
            (MEMORY, REMEMBERED[0].to_owned()),
            (OTHER_MEMORY, REMEMBERED[1].to_owned()),
            (NUMBER, "1".to_owned()),
        ]))
    }

    /// The victim remembers this and that.
    fn victim_remembers(&self) {
        let session: u64 = REMEMBERED[0].parse().unwrap();
        self.call(&self.owner, "session_start", json!({"session_id": session}));
        let memory =
            |n: usize| json!({"event_type": "fact", "content": format!("my-app was built {n} times")});
        let all: Vec<Value> = (0..MEMORIES).map(memory).collect();
        for some in all.chunks(quad_amem::limits::MAX_NODES_PER_ADD_MANY) {
            self.call(&self.owner, "memory_add_many", json!({"nodes": some}));
        }
        let last = self.contents(&self.owner, &format!("amem://node/{}", REMEMBERED[0]));
        assert_eq!(last["session_id"], session, "{last:#}");
    }

    /// The same question about what the victim has and about what nobody has.
    pub fn twice(&self, ask: impl Fn(&Ids) -> Answer) -> Vec<Answer> {
        [&self.existing, &self.absent].map(|ids| ask(ids).hiding(ids)).into()
    }

    /// The templates that have an id in them.
    pub fn templates(&self) -> Vec<String> {
        let listed = self.result(&self.modern(&self.intruder, "resources/templates/list", json!({})));
        let templates = listed["resourceTemplates"].as_array().unwrap().iter();
        let templates = templates.map(|template| template["uriTemplate"].as_str().unwrap().to_owned());
        let has_id = |template: &String| {
            let path = template.split("{?").next().unwrap();
            VOCABULARIES.iter().fold(path.to_owned(), |path, name| path.replace(name, "")).contains('{')
        };
        let with_ids: Vec<String> = templates.filter(has_id).collect();
        assert!(with_ids.len() >= 15, "{with_ids:?}");
        with_ids
    }

    /// The tools that take an id, each with arguments that its schema accepts.
    pub fn tools(&self, ids: &Ids) -> Vec<(String, Value)> {
        let listed = self.result(&self.modern(&self.intruder, "tools/list", json!({})));
        let mut tools = Vec::new();
        for tool in listed["tools"].as_array().unwrap() {
            let schema = &tool["inputSchema"];
            let takes = schema["properties"].as_object().unwrap();
            let mut arguments = json!({});
            for name in takes.keys().filter(|name| ids.0.contains_key(name.as_str())) {
                arguments[name] = ids.get(name).into();
            }
            for (names, id) in [(&MEMORY_IDS[..], MEMORY), (&OTHER_MEMORY_IDS[..], OTHER_MEMORY)] {
                for name in takes.keys().filter(|name| names.contains(&name.as_str())) {
                    arguments[name] = ids.get(id).parse::<u64>().unwrap().into();
                }
            }
            if arguments == json!({}) {
                continue;
            }
            let name = tool["name"].as_str().unwrap();
            if name.starts_with("plan.") {
                arguments["id"] = ids.get(ENTITY).into();
            }
            if name == "plan.update" {
                arguments["status"] = "done".into();
            }
            if name == "plan.create" {
                arguments["type"] = "work".into();
                arguments["title"] = "mallory".into();
            }
            let beside = [
                "name",
                "fields",
                "data",
                "action",
                "field",
                "index",
                "versionId",
                "reason",
                "new_content",
                "edge_type",
            ];
            for name in beside.into_iter().filter(|name| takes.contains_key(*name)) {
                arguments[name] = filling(name);
            }
            let is_plain = !beside.iter().any(|name| takes.contains_key(*name)) && !name.starts_with("plan.");
            if is_plain && takes.contains_key("body") {
                arguments["body"] = json!({"displayName": "Mallory"});
            }
            tools.push((tool["name"].as_str().unwrap().to_owned(), arguments));
        }
        assert!(tools.len() >= 20, "{tools:?}");
        tools
    }

    // --- how things are sent ---------------------------------------------------------------------------------------

    pub fn send(&self, request: &Request) -> Answer {
        Answer::of(&self.response(request))
    }

    pub fn response(&self, request: &Request) -> Response {
        HttpClient::new(&self.server.authority).send(request).unwrap()
    }

    pub fn open(&self, request: &Request) -> OpenResponse {
        HttpClient::new(&self.server.authority).open(request).unwrap()
    }

    /// Bytes as they are, for what no client would send; and all that comes back.
    pub fn raw(&self, bytes: &str) -> String {
        let mut stream = TcpStream::connect(&self.server.authority).unwrap();
        stream.set_read_timeout(Some(IO_TIMEOUT)).unwrap();
        stream.write_all(bytes.as_bytes()).unwrap();
        let mut back = Vec::new();
        stream.read_to_end(&mut back).unwrap();
        String::from_utf8_lossy(&back).into_owned()
    }

    /// A read by plain HTTP.
    pub fn twin(&self, token: &str, uri: &str) -> Request {
        bearing(Request::new("GET", &format!("/v1/resources?uri={}", escaped(uri))), token)
    }

    /// A modern request with all its headers.
    pub fn modern(&self, token: &str, method: &str, params: Value) -> Request {
        let name = params["uri"].as_str().or(params["name"].as_str()).map(str::to_owned);
        let params = era::dress(Revision::MODERN, Some(params));
        let request = post(json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}))
            .header("MCP-Protocol-Version", Revision::MODERN.0)
            .header("Mcp-Method", method);
        let request = match name {
            Some(name) if matches!(method, "resources/read" | "tools/call" | "prompts/get") => {
                request.header("Mcp-Name", &name)
            }
            _ => request,
        };
        bearing(request, token)
    }

    /// A legacy request, in a session or without.
    pub fn legacy(&self, token: &str, session: Option<&str>, method: &str, params: Value) -> Request {
        let request = post(json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}))
            .header("MCP-Protocol-Version", Revision::LEGACY.0);
        let request = bearing(request, token);
        match session {
            Some(session) => request.header("Mcp-Session-Id", session),
            None => request,
        }
    }

    /// A tool call.
    pub fn tool(&self, token: &str, name: &str, arguments: Value) -> Request {
        self.modern(token, "tools/call", json!({"name": name, "arguments": arguments}))
    }

    /// Opens a legacy session.
    pub fn session(&self, token: &str) -> String {
        let info = json!({"name": "ways", "version": "1"});
        let params = json!({"protocolVersion": Revision::LEGACY.0, "capabilities": {}, "clientInfo": info});
        let opened = self.response(&self.legacy(token, None, "initialize", params));
        opened.header("mcp-session-id").unwrap_or_else(|| panic!("{}", opened.text())).to_owned()
    }

    /// What a good request gives.
    pub fn result(&self, request: &Request) -> Value {
        let response = self.response(request);
        let body: Value = serde_json::from_slice(&response.body).unwrap();
        assert!(body["result"].is_object(), "{body:#}");
        body["result"].clone()
    }

    /// What a good read gives.
    pub fn contents(&self, token: &str, uri: &str) -> Value {
        let response = self.response(&self.twin(token, uri));
        assert_eq!(response.status, 200, "{uri}: {}", response.text());
        serde_json::from_slice(&response.body).unwrap()
    }

    /// What a good tool call gives.
    pub fn call(&self, token: &str, tool: &str, arguments: Value) -> Value {
        let result = self.result(&self.tool(token, tool, arguments));
        assert_eq!(result["isError"], false, "{result:#}");
        result["structuredContent"].clone()
    }

    /// The victim changes its table, so that whoever watches it must hear of that.
    pub fn victim_writes(&self) {
        let data =
            json!({"name": "Noise", "email": format!("{}@noise.example", quad_core::id::ulid().unwrap())});
        self.call(&self.owner, "backend_data_create", json!({"tableId": "tbl_users", "data": data}));
    }

    /// The address of the victim's rows.
    pub fn rows(&self) -> String {
        let path = "orgs/{orgId}/projects/{projectId}/environments/{envId}/tables/{tableId}/rows";
        self.existing.expand(&format!("bkend://{path}"))
    }

    /// Withdraws a victim's token by its holder.
    pub fn revoke(&self, subject: &str) {
        let list = self.place.run(&["token", "list", "--json", "--tenant", VICTIM]);
        let list: Value = serde_json::from_str(&list).unwrap();
        let token =
            list["tokens"].as_array().unwrap().iter().find(|token| token["subject"] == subject).unwrap();
        self.place.run(&["token", "revoke", token["id"].as_str().unwrap(), "--tenant", VICTIM]);
    }

    /// A victim's agent with a token, and then a command about it.
    pub fn agent(&self, name: &str, command: &[&str]) -> String {
        let token = self.place.token(VICTIM, name, "*:read");
        assert_eq!(self.response(&self.twin(&token, "bkend://orgs")).status, 200);
        if !command.is_empty() {
            self.place.run(&[&["agent", command[0], name, "--tenant", VICTIM], &command[1..]].concat());
        }
        token
    }
}

/// What a tool wants beside ids.
fn filling(name: &str) -> Value {
    match name {
        "fields" => json!([{"name": "title", "type": "string"}]),
        "data" => json!({"name": "Mallory", "email": "mallory@example.org"}),
        "action" => "add".into(),
        "field" => json!({"name": "phone", "type": "string"}),
        "index" => json!({"name": "by_name", "fields": {"name": 1}}),
        "versionId" => 1.into(),
        "edge_type" => "supports".into(),
        _ => "mallory".into(),
    }
}

pub fn post(body: impl ToString) -> Request {
    Request::new("POST", "/mcp").header("Content-Type", "application/json").body(body.to_string())
}

pub fn bearing(request: Request, token: &str) -> Request {
    request.header("Authorization", &format!("Bearer {token}"))
}

pub fn without(mut request: Request, header: &str) -> Request {
    request.headers.retain(|(name, _)| !name.eq_ignore_ascii_case(header));
    request
}

/// Percent-encodes what a query cannot hold as it is.
pub fn escaped(text: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
    text.bytes()
        .map(|byte| if plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") })
        .collect()
}

pub use gate::kid_of;
