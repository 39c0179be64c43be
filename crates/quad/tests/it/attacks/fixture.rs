//! A server with two tenants, and the requests that a caller of one sends to reach data of the other.

use std::collections::BTreeMap;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;

use serde_json::{Value, json};

use super::normalized_response::NormalizedResponse;
use crate::authentication::IdentityProvider;
use crate::era;
use crate::helpers::{post_request, with_token};
use crate::http::{HttpClient, IO_TIMEOUT, OpenResponse, Request, Response};
use crate::instance::{Server, TestInstance};
use crate::matrix::Revision;
use crate::project::copy_dir;
use crate::transcripts;

/// The tenant that is attacked.
pub const VICTIM: &str = "victim";
/// The tenant of the attacker.
pub const INTRUDER: &str = "intruder";

/// The variable that is a number, not an id. It has the same value for existing and absent data.
const VERSION_NUMBER: &str = "n";

/// The id of a memory and of a session. Each tenant counts from 0, and the intruder has none with this number.
const NODE_ID: &str = "memory";

/// A second id, for templates and tools with two.
const OTHER_NODE_ID: &str = "other memory";

/// Two ids of the victim's nodes, and two absent ids of the same length.
const VICTIM_NODE_COUNT: usize = 4_748;
const EXISTING_NODE_IDS: [&str; 2] = ["4747", "4646"];
const ABSENT_NODE_IDS: [&str; 2] = ["9747", "9646"];

/// Tool arguments that take the id of a memory.
const NODE_ID_ARGUMENTS: [&str; 5] = ["node_id", "old_node_id", "source_id", "start_id", "from_id"];
const OTHER_NODE_ID_ARGUMENTS: [&str; 2] = ["target_id", "to_id"];

/// The id of an entity of the victim's plan.
const PLAN_ENTITY: &str = "entity";

/// Variables with a closed vocabulary, whose values exist for every tenant.
const CLOSED_VARIABLES: [&str; 2] = ["{type}", "{name}"];

/// Further organizations of each tenant, so that its lists have a second page.
const EXTRA_ORGANIZATIONS: usize = 205;

/// Ids by template variable.
#[derive(Clone, Debug)]
pub struct Ids(BTreeMap<&'static str, String>);

impl Ids {
    pub fn get(&self, name: &str) -> &str {
        &self.0[name]
    }

    /// Ids of the same lengths that do not exist in any tenant.
    fn to_absent(&self) -> Ids {
        let to_absent_id = |(name, id): (&&'static str, &String)| match *name {
            VERSION_NUMBER => (VERSION_NUMBER, id.clone()),
            NODE_ID => (NODE_ID, ABSENT_NODE_IDS[0].to_owned()),
            OTHER_NODE_ID => (OTHER_NODE_ID, ABSENT_NODE_IDS[1].to_owned()),
            name => (name, format!("{}00", &id[..id.len() - 2])),
        };
        Ids(self.0.iter().map(to_absent_id).collect())
    }

    /// Expands a template with these ids.
    pub fn expand(&self, template: &str) -> String {
        let path = template.split_once("{?").map_or(template, |(path, _)| path);
        let path = match path.starts_with("amem://") {
            true => path.replace("{id}", self.get(NODE_ID)),
            false => path.to_owned(),
        };
        let path = match path.starts_with("refrakt://") {
            true => path.replace("{type}", "work").replace("{id}", self.get(PLAN_ENTITY)),
            false => path,
        };
        let substitute = |uri: String, (name, id): (&&str, &String)| {
            uri.replace(&format!("{{{name}}}"), id).replace(&format!("{{+{name}}}"), id)
        };
        let uri = self.0.iter().fold(path, substitute);
        assert!(!uri.contains('{'), "{template} has a variable that the fixture does not know");
        uri
    }

    /// Replaces these ids in a text by the names of their variables.
    pub fn mask(&self, text: &str) -> String {
        self.0.iter().filter(|(name, _)| **name != VERSION_NUMBER).fold(
            text.to_owned(),
            |text, (name, id)| {
                text.replace(id.as_str(), &format!("<{name}>"))
                    .replace(&percent_encode(id), &format!("<{name}>"))
            },
        )
    }
}

/// The server, the tokens and the ids of both tenants.
pub struct AttackFixture {
    pub instance: TestInstance,
    pub server: Server,
    /// A token of the victim with all scopes.
    pub owner_token: String,
    /// A token of the intruder with all scopes.
    pub intruder_token: String,
    /// A token of the victim that may read organizations only.
    pub limited_token: String,
    /// The identity provider that the server trusts.
    pub provider: IdentityProvider,
    /// Ids of the victim's data.
    pub existing_ids: Ids,
    /// Absent ids of the same lengths.
    pub absent_ids: Ids,
    /// A token of the victim that was signed before the key was rotated.
    pub old_key_token: String,
    /// The victim's project folder.
    _project: tempfile::TempDir,
}

impl AttackFixture {
    pub fn new(instance: TestInstance) -> AttackFixture {
        let provider = IdentityProvider::new();
        provider.configure_as_issuer(&instance);
        for (tenant, file) in [(VICTIM, "backend.jsonl"), (INTRUDER, "second-organization.jsonl")] {
            instance.add_tenant(tenant);
            instance.load(tenant, &transcripts::folder().join(file));
            let bulk = |n: usize| {
                format!("{}\n", json!({"kind": "organization", "id": format!("org_bulk{n}"), "name": "Bulk"}))
            };
            let bulk_file = instance.folder().join("bulk.jsonl");
            std::fs::write(&bulk_file, (0..EXTRA_ORGANIZATIONS).map(bulk).collect::<String>()).unwrap();
            instance.load(tenant, &bulk_file);
        }
        instance.load_into("brain", VICTIM, &transcripts::folder().join("money.jsonl"));
        let old_key_token = instance.mint_token(VICTIM, "old", "*:*");
        instance.run(&["key", "rotate"]);
        let owner_token = instance.mint_token(VICTIM, "owner", "*:*");
        let intruder_token = instance.mint_token(INTRUDER, "intruder", "*:*");
        let limited_token = instance.mint_token(VICTIM, "visitor", "organization:read");
        let project = tempfile::tempdir().unwrap();
        copy_dir(&transcripts::folder().join("projects/full"), project.path());
        let folder = project.path().to_str().unwrap();
        let server = instance.serve(&["--tools", "all", "--tenant", VICTIM, "--project", folder]);
        let ids = Ids(BTreeMap::new());
        let absent_ids = ids.clone();
        let mut fixture = AttackFixture {
            instance,
            server,
            owner_token,
            intruder_token,
            limited_token,
            provider,
            existing_ids: ids,
            absent_ids,
            old_key_token,
            _project: project,
        };
        fixture.seed_victim_memory();
        let ids = fixture.load_victim_ids();
        fixture.absent_ids = ids.to_absent();
        fixture.existing_ids = ids;
        fixture
    }

    fn load_victim_ids(&self) -> Ids {
        let tokens = self.call_tool(&self.owner_token, "backend_access_token_list", json!({}));
        let events = self.read_contents(&self.owner_token, "audit://events");
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
            (PLAN_ENTITY, "WORK-001".to_owned()),
            ("url", "berth-12".to_owned()),
            (NODE_ID, EXISTING_NODE_IDS[0].to_owned()),
            (OTHER_NODE_ID, EXISTING_NODE_IDS[1].to_owned()),
            (VERSION_NUMBER, "1".to_owned()),
        ]))
    }

    /// Adds nodes to the victim's memory.
    fn seed_victim_memory(&self) {
        let session: u64 = EXISTING_NODE_IDS[0].parse().unwrap();
        self.call_tool(&self.owner_token, "session_start", json!({"session_id": session}));
        let node = |n: usize| json!({"event_type": "fact", "content": format!("my-app was built {n} times")});
        let nodes: Vec<Value> = (0..VICTIM_NODE_COUNT).map(node).collect();
        for chunk in nodes.chunks(quad_amem::limits::MAX_NODES_PER_ADD_MANY) {
            self.call_tool(&self.owner_token, "memory_add_many", json!({"nodes": chunk}));
        }
        let last_node =
            self.read_contents(&self.owner_token, &format!("amem://node/{}", EXISTING_NODE_IDS[0]));
        assert_eq!(last_node["session_id"], session, "{last_node:#}");
    }

    /// Sends the same request for existing and for absent ids.
    pub fn for_existing_and_absent(
        &self,
        send: impl Fn(&Ids) -> NormalizedResponse,
    ) -> Vec<NormalizedResponse> {
        [&self.existing_ids, &self.absent_ids].map(|ids| send(ids).masking(ids)).into()
    }

    /// The templates that contain an id.
    pub fn templates_with_ids(&self) -> Vec<String> {
        let listed = self.fetch_result(&self.modern_request(
            &self.intruder_token,
            "resources/templates/list",
            json!({}),
        ));
        let templates = listed["resourceTemplates"].as_array().unwrap().iter();
        let templates = templates.map(|template| template["uriTemplate"].as_str().unwrap().to_owned());
        let has_id = |template: &String| {
            let path = template.split("{?").next().unwrap();
            CLOSED_VARIABLES.iter().fold(path.to_owned(), |path, name| path.replace(name, "")).contains('{')
        };
        let with_ids: Vec<String> = templates.filter(has_id).collect();
        assert!(with_ids.len() >= 15, "{with_ids:?}");
        with_ids
    }

    /// The tools that take an id, each with arguments that its schema accepts.
    pub fn tools_with_id_arguments(&self, ids: &Ids) -> Vec<(String, Value)> {
        let listed = self.fetch_result(&self.modern_request(&self.intruder_token, "tools/list", json!({})));
        let mut tools = Vec::new();
        for tool in listed["tools"].as_array().unwrap() {
            let schema = &tool["inputSchema"];
            let properties = schema["properties"].as_object().unwrap();
            let mut arguments = json!({});
            for name in properties.keys().filter(|name| ids.0.contains_key(name.as_str())) {
                arguments[name] = ids.get(name).into();
            }
            for (names, id) in
                [(&NODE_ID_ARGUMENTS[..], NODE_ID), (&OTHER_NODE_ID_ARGUMENTS[..], OTHER_NODE_ID)]
            {
                for name in properties.keys().filter(|name| names.contains(&name.as_str())) {
                    arguments[name] = ids.get(id).parse::<u64>().unwrap().into();
                }
            }
            if arguments == json!({}) {
                continue;
            }
            let name = tool["name"].as_str().unwrap();
            if name.starts_with("plan_") {
                arguments["id"] = ids.get(PLAN_ENTITY).into();
            }
            if name == "plan_update" {
                arguments["status"] = "done".into();
            }
            if name == "plan_create" {
                arguments["type"] = "work".into();
                arguments["title"] = "mallory".into();
            }
            let other_arguments = [
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
                "displayName",
                "indexes",
            ];
            for name in other_arguments.into_iter().filter(|name| properties.contains_key(*name)) {
                arguments[name] = sample_argument(name);
            }
            let has_only_ids = !other_arguments.iter().any(|name| properties.contains_key(*name))
                && !name.starts_with("plan_");
            if has_only_ids && properties.contains_key("body") {
                arguments["body"] = json!({"displayName": "Mallory"});
            }
            tools.push((tool["name"].as_str().unwrap().to_owned(), arguments));
        }
        assert!(tools.len() >= 20, "{tools:?}");
        tools
    }

    // --- sending ---------------------------------------------------------------------------------------

    pub fn send(&self, request: &Request) -> NormalizedResponse {
        NormalizedResponse::from_response(&self.fetch(request))
    }

    pub fn fetch(&self, request: &Request) -> Response {
        HttpClient::new(&self.server.authority).send(request).unwrap()
    }

    pub fn open_stream(&self, request: &Request) -> OpenResponse {
        HttpClient::new(&self.server.authority).open(request).unwrap()
    }

    /// Sends raw bytes, for requests that no client sends, and returns everything that comes back.
    pub fn send_raw(&self, bytes: &str) -> String {
        let mut stream = TcpStream::connect(&self.server.authority).unwrap();
        stream.set_read_timeout(Some(IO_TIMEOUT)).unwrap();
        stream.write_all(bytes.as_bytes()).unwrap();
        let mut reply = Vec::new();
        stream.read_to_end(&mut reply).unwrap();
        String::from_utf8_lossy(&reply).into_owned()
    }

    /// A read by plain HTTP.
    pub fn plain_read_request(&self, token: &str, uri: &str) -> Request {
        with_token(Request::new("GET", &format!("/v1/resources?uri={}", percent_encode(uri))), token)
    }

    /// A modern request with all its headers.
    pub fn modern_request(&self, token: &str, method: &str, params: Value) -> Request {
        let name = params["uri"].as_str().or(params["name"].as_str()).map(str::to_owned);
        let params = era::add_era_fields(Revision::MODERN, Some(params));
        let request = post_request(json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}))
            .header("MCP-Protocol-Version", Revision::MODERN.0)
            .header("Mcp-Method", method);
        let request = match name {
            Some(name) if matches!(method, "resources/read" | "tools/call" | "prompts/get") => {
                request.header("Mcp-Name", &name)
            }
            _ => request,
        };
        with_token(request, token)
    }

    /// A legacy request, in a session or without.
    pub fn legacy_request(&self, token: &str, session: Option<&str>, method: &str, params: Value) -> Request {
        let request = post_request(json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}))
            .header("MCP-Protocol-Version", Revision::LEGACY.0);
        let request = with_token(request, token);
        match session {
            Some(session) => request.header("Mcp-Session-Id", session),
            None => request,
        }
    }

    /// A tool call.
    pub fn tool_request(&self, token: &str, name: &str, arguments: Value) -> Request {
        self.modern_request(token, "tools/call", json!({"name": name, "arguments": arguments}))
    }

    /// Opens a legacy session.
    pub fn open_session(&self, token: &str) -> String {
        let info = json!({"name": "attacks", "version": "1"});
        let params = json!({"protocolVersion": Revision::LEGACY.0, "capabilities": {}, "clientInfo": info});
        let response = self.fetch(&self.legacy_request(token, None, "initialize", params));
        response.header("mcp-session-id").unwrap_or_else(|| panic!("{}", response.text())).to_owned()
    }

    /// The result of a request that must succeed.
    pub fn fetch_result(&self, request: &Request) -> Value {
        let response = self.fetch(request);
        let body: Value = serde_json::from_slice(&response.body).unwrap();
        assert!(body["result"].is_object(), "{body:#}");
        body["result"].clone()
    }

    /// The contents of a read that must succeed.
    pub fn read_contents(&self, token: &str, uri: &str) -> Value {
        let response = self.fetch(&self.plain_read_request(token, uri));
        assert_eq!(response.status, 200, "{uri}: {}", response.text());
        serde_json::from_slice(&response.body).unwrap()
    }

    /// The result of a tool call that must succeed.
    pub fn call_tool(&self, token: &str, tool: &str, arguments: Value) -> Value {
        let result = self.fetch_result(&self.tool_request(token, tool, arguments));
        assert_eq!(result["isError"], false, "{result:#}");
        result["structuredContent"].clone()
    }

    /// Changes the victim's table, so that its subscribers are notified.
    pub fn write_as_victim(&self) {
        let data =
            json!({"name": "Noise", "email": format!("{}@noise.example", quad_core::id::ulid().unwrap())});
        self.call_tool(
            &self.owner_token,
            "backend_data_create",
            json!({"tableId": "tbl_users", "data": data}),
        );
    }

    /// The address of the victim's rows.
    pub fn victim_rows_uri(&self) -> String {
        let path = "orgs/{orgId}/projects/{projectId}/environments/{envId}/tables/{tableId}/rows";
        self.existing_ids.expand(&format!("bkend://{path}"))
    }

    /// Revokes the token of one of the victim's agents.
    pub fn revoke_token(&self, subject: &str) {
        let list = self.instance.run(&["token", "list", "--json", "--tenant", VICTIM]);
        let list: Value = serde_json::from_str(&list).unwrap();
        let token =
            list["tokens"].as_array().unwrap().iter().find(|token| token["subject"] == subject).unwrap();
        self.instance.run(&["token", "revoke", token["id"].as_str().unwrap(), "--tenant", VICTIM]);
    }

    /// Creates an agent of the victim, runs `quad agent COMMAND` about it, and returns its token.
    pub fn add_agent(&self, name: &str, command: &[&str]) -> String {
        let token = self.instance.mint_token(VICTIM, name, "*:read");
        assert_eq!(self.fetch(&self.plain_read_request(&token, "bkend://orgs")).status, 200);
        if !command.is_empty() {
            self.instance.run(&[&["agent", command[0], name, "--tenant", VICTIM], &command[1..]].concat());
        }
        token
    }
}

/// A valid value for a tool argument that is not an id.
fn sample_argument(name: &str) -> Value {
    match name {
        "fields" => json!([{"name": "title", "type": "string"}]),
        "data" => json!({"name": "Mallory", "email": "mallory@example.org"}),
        "action" => "add".into(),
        "field" => json!({"name": "phone", "type": "string"}),
        "indexes" => json!([{"fields": ["name"]}]),
        "index" => json!({"name": "by_name", "fields": {"name": 1}}),
        "versionId" => 1.into(),
        "edge_type" => "supports".into(),
        _ => "mallory".into(),
    }
}

/// Percent-encodes everything but unreserved characters.
pub fn percent_encode(text: &str) -> String {
    let is_unreserved = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
    text.bytes()
        .map(|byte| if is_unreserved(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") })
        .collect()
}
