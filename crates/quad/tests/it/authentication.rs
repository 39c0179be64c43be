//! Tests authentication as a program: key rotation under running servers, suspended agents, an external issuer,
//! rate limits, and refusals in the audit chain. Two servers on one database stand for processes and nodes.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD as BASE64;
use ring::signature::{Ed25519KeyPair, KeyPair as _};
use serde_json::{Value, json};

use crate::audit_chain;
use crate::helpers::json_body;
use crate::http::{HttpClient, Request, Response};
use crate::instance::{Server, TestInstance};

fn get(server: &Server, path: &str, token: Option<&str>) -> Response {
    let mut request = Request::new("GET", path);
    if let Some(token) = token {
        request = request.header("Authorization", &format!("Bearer {token}"));
    }
    HttpClient::new(&server.authority).send(&request).unwrap()
}

/// The outcome of a read with this token: `ok`, or the reason of a 401.
fn read_outcome(server: &Server, token: &str) -> String {
    let response = get(server, "/v1/resources?uri=bkend://orgs", Some(token));
    match response.status {
        200 => "ok".to_owned(),
        401 => {
            let envelope = json_body(&response);
            let names: Vec<&String> = envelope.as_object().unwrap().keys().collect();
            assert_eq!(names, ["code", "kind", "message", "hint", "reason"], "{envelope}");
            assert!(response.header("www-authenticate").is_some_and(|value| value.contains("invalid_token")));
            envelope["reason"].as_str().unwrap().to_owned()
        }
        other => panic!("{other}: {}", response.text()),
    }
}

fn published_key_ids(server: &Server) -> Vec<String> {
    let response = get(server, "/.well-known/jwks.json", None);
    assert_eq!(response.status, 200);
    assert!(response.header("cache-control").is_some_and(|value| value.contains("max-age")));
    let set = json_body(&response);
    let keys = set["keys"].as_array().unwrap();
    assert!(keys.iter().all(|key| key["alg"] == "EdDSA" && key["use"] == "sig" && key.get("d").is_none()));
    keys.iter().map(|key| key["kid"].as_str().unwrap().to_owned()).collect()
}

pub fn kid_of(token: &str) -> String {
    let header = BASE64.decode(token.split('.').next().unwrap()).unwrap();
    serde_json::from_slice::<Value>(&header).unwrap()["kid"].as_str().unwrap().to_owned()
}

#[test]
fn key_rotation_reaches_running_servers_and_drop_ends_tokens() {
    for instance in TestInstance::on_each_backend() {
        let old = instance.mint_token("local", "reader", "organization:read");
        let servers = [instance.serve(&[]), instance.serve(&[])];
        for server in &servers {
            assert_eq!(read_outcome(server, &old), "ok");
        }
        instance.run(&["key", "rotate"]);
        let new = instance.mint_token("local", "reader", "organization:read");
        assert_ne!(kid_of(&old), kid_of(&new));
        for server in &servers {
            assert_eq!(
                (read_outcome(server, &new), read_outcome(server, &old)),
                ("ok".to_owned(), "ok".to_owned())
            );
            assert_eq!(published_key_ids(server), [kid_of(&new), kid_of(&old)]);
        }
        let listed: Value = serde_json::from_str(&instance.run(&["key", "list", "--json"])).unwrap();
        assert_eq!(listed["keys"][0]["kid"], kid_of(&new));
        assert_eq!(listed["keys"][0]["current"], true);
        let refused = instance.quad_command(&["key", "drop", &kid_of(&new)]).output().unwrap();
        assert_eq!(refused.status.code(), Some(5), "the key that signs cannot be dropped");
        instance.run(&["key", "drop", &kid_of(&old)]);
        for server in &servers {
            assert_eq!(read_outcome(server, &old), "unknown_key");
            assert_eq!(read_outcome(server, &new), "ok");
        }
        // The saved local token was signed with the dropped key; the next server mints another.
        let restarted = instance.serve(&[]);
        let local_token = std::fs::read_to_string(instance.folder().join("local.token")).unwrap();
        assert_eq!(read_outcome(&restarted, local_token.trim()), "ok");
    }
}

#[test]
fn agent_state_change_takes_effect_on_next_call() {
    for instance in TestInstance::on_each_backend() {
        let token = instance.mint_token("local", "reader", "organization:read");
        let bystander = instance.mint_token("local", "bystander", "organization:read");
        let servers = [instance.serve(&[]), instance.serve(&[])];
        let check = |expect: &str| {
            for server in &servers {
                assert_eq!(read_outcome(server, &token), expect);
                assert_eq!(read_outcome(server, &bystander), "ok");
            }
        };
        check("ok");
        instance.run(&["agent", "quarantine", "reader"]);
        check("agent_quarantined");
        instance.run(&["agent", "restore", "reader"]);
        check("ok");
        instance.run(&["agent", "register", "reader", "--scope", "project:read"]);
        check("scope_exceeded");
        instance.run(&["agent", "register", "reader", "--scope", "*:read"]);
        check("ok");
        instance.run(&["agent", "revoke", "reader"]);
        check("agent_revoked");
        let restored = instance.quad_command(&["agent", "restore", "reader"]).output().unwrap();
        assert_eq!(restored.status.code(), Some(5), "a revoked agent came back");
        let listed: Value = serde_json::from_str(&instance.run(&["agent", "list", "--json"])).unwrap();
        let states: Vec<(&str, &str)> = listed["agents"]
            .as_array()
            .unwrap()
            .iter()
            .map(|agent| (agent["subject"].as_str().unwrap(), agent["state"].as_str().unwrap()))
            .collect();
        assert_eq!(states, [("agent_local", "active"), ("bystander", "active"), ("reader", "revoked")]);
        assert!(listed["agents"][0]["scope_hash"].as_str().unwrap().starts_with("0x"));
    }
}

#[test]
fn quarantined_local_agent_does_not_block_other_agents() {
    let instance = TestInstance::on_sqlite();
    let token = instance.mint_token("local", "reader", "organization:read");
    drop(instance.serve(&[]));
    instance.run(&["agent", "quarantine", "agent_local"]);
    assert_eq!(read_outcome(&instance.serve(&[]), &token), "ok");
}

/// An identity provider with one key.
pub struct IdentityProvider(Ed25519KeyPair);

impl IdentityProvider {
    pub fn new() -> IdentityProvider {
        IdentityProvider(Ed25519KeyPair::from_seed_unchecked(&[42; 32]).unwrap())
    }

    fn key_set(&self) -> String {
        let x = BASE64.encode(self.0.public_key().as_ref());
        json!({"keys": [{"kty": "OKP", "crv": "Ed25519", "kid": "idp", "use": "sig", "x": x}]}).to_string()
    }

    /// Makes the servers of an instance trust this issuer, from their next start on.
    pub fn configure_as_issuer(&self, instance: &TestInstance) {
        std::fs::write(instance.folder().join("jwks.json"), self.key_set()).unwrap();
        let settings = "[issuer]\nissuer = \"https://idp.example/\"\naudience = \"https://quad.example\"\n\
                        jwks_file = \"jwks.json\"\n\
                        claims = { tenant = \"org\", subject = \"client_id\", scopes = \"scp\" }\n";
        std::fs::write(instance.folder().join("quad.toml"), settings).unwrap();
    }

    pub fn issue_token(&self, tenant: &str, change: impl FnOnce(&mut Value, &mut Value)) -> String {
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_secs();
        let mut header = json!({"alg": "EdDSA", "kid": "idp"});
        let mut claims = json!({
            "iss": "https://idp.example/", "aud": "https://quad.example", "client_id": "crawler", "org": tenant,
            "scp": ["organization:read", "project:delete"], "iat": now, "exp": now + 3_000,
        });
        change(&mut header, &mut claims);
        let signed = format!("{}.{}", BASE64.encode(header.to_string()), BASE64.encode(claims.to_string()));
        format!("{signed}.{}", BASE64.encode(self.0.sign(signed.as_bytes())))
    }
}

#[test]
fn external_token_authenticates_and_registry_sets_scopes() {
    for instance in TestInstance::on_each_backend() {
        let provider = IdentityProvider::new();
        provider.configure_as_issuer(&instance);
        instance.add_tenant("elsewhere");
        let server = instance.serve(&[]);
        let valid_token = provider.issue_token("local", |_, _| {});
        assert_eq!(read_outcome(&server, &valid_token), "agent_unregistered");
        instance.run(&["agent", "register", "crawler", "--scope", "organization:read table:read"]);
        assert_eq!(read_outcome(&server, &valid_token), "ok");
        assert_eq!(
            read_outcome(&server, &provider.issue_token(&instance.tenant_id("local"), |_, _| {})),
            "ok"
        );
        // One scope is claimed but not granted, another granted but not claimed.
        for uri in ["bkend://orgs/org_none/projects", "bkend://orgs/org_none"] {
            let response = get(&server, &format!("/v1/resources?uri={uri}"), Some(&valid_token));
            assert!(matches!(response.status, 403 | 404), "{uri}: {}", response.text());
        }
        type TokenEdit = fn(&mut Value, &mut Value);
        let cases: [(TokenEdit, &str); 8] = [
            (|header, _| header["alg"] = "none".into(), "algorithm"),
            (|header, _| header["alg"] = "HS256".into(), "algorithm"),
            (|header, _| header["kid"] = "other".into(), "unknown_key"),
            (|_, claims| claims["iss"] = "https://evil.example/".into(), "wrong_issuer"),
            (|_, claims| claims["aud"] = "https://other.example".into(), "wrong_audience"),
            (|_, claims| claims["exp"] = 1.into(), "expired"),
            (|_, claims| claims["exp"] = (claims["iat"].as_i64().unwrap() + 3_601).into(), "lives_too_long"),
            (|_, claims| claims["org"] = "elsewhere".into(), "agent_unregistered"),
        ];
        for (change, expect) in cases {
            assert_eq!(read_outcome(&server, &provider.issue_token("local", change)), expect);
        }
        instance.run(&["agent", "quarantine", "crawler"]);
        assert_eq!(read_outcome(&server, &valid_token), "agent_quarantined");
        let metadata = json_body(&get(&server, "/.well-known/oauth-protected-resource", None));
        assert_eq!(metadata["authorization_servers"], json!(["https://idp.example/"]));
    }
}

#[test]
fn serve_fails_when_issuer_keys_cannot_be_read() {
    let instance = TestInstance::on_sqlite();
    let settings =
        "[issuer]\nissuer = \"https://idp.example/\"\naudience = \"quad\"\njwks_file = \"missing.json\"\n";
    std::fs::write(instance.folder().join("quad.toml"), settings).unwrap();
    let output = instance.quad_command(&["serve", "--listen", "127.0.0.1:0"]).output().unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{stderr}");
    assert!(stderr.contains("missing.json cannot be read") && stderr.contains("hint: "), "{stderr}");
}

#[test]
fn rate_limit_refusals_are_counted_in_tenant_chain() {
    let instance = TestInstance::on_sqlite();
    std::fs::write(instance.folder().join("quad.toml"), "rate_limit = { per_second = 1, burst = 2 }\n")
        .unwrap();
    let token = instance.mint_token("local", "reader", "organization:read");
    let server = instance.serve(&[]);
    let mut refused = 0;
    for _ in 0..20 {
        let response = get(&server, "/v1/resources?uri=bkend://orgs", Some(&token));
        if response.status == 429 {
            refused += 1;
            assert!(response.header("retry-after").is_some_and(|value| value.parse::<u64>().unwrap() >= 1));
            assert_eq!(json_body(&response)["kind"], "limit");
        }
    }
    assert!(refused > 0);
    let tenant = instance.tenant_id("local");
    wait_for_refusals(&instance, &tenant, "rate_limited", refused);
}

#[test]
fn unauthenticated_refusals_are_counted_in_system_chain() {
    for instance in TestInstance::on_each_backend() {
        let token = instance.mint_token("local", "reader", "organization:read");
        let (signed, _) = token.rsplit_once('.').unwrap();
        let server = instance.serve(&[]);
        let tenant = instance.tenant_id("local");
        let before = instance.query(&format!("SELECT sequence FROM head WHERE tenant_id = '{tenant}'"));
        for _ in 0..50 {
            assert_eq!(read_outcome(&server, &format!("{signed}.AAAA")), "bad_signature");
        }
        assert_eq!(get(&server, "/v1/resources?uri=bkend://orgs", None).status, 401);
        wait_for_refusals(&instance, "system", "bad_signature", 50);
        wait_for_refusals(&instance, "system", "missing", 1);
        let after = instance.query(&format!("SELECT sequence FROM head WHERE tenant_id = '{tenant}'"));
        assert_eq!(before, after, "a claimed tenant's chain was written to");
    }
}

/// Waits until a chain counts this many refusals with this reason. They are written up to a second later.
fn wait_for_refusals(instance: &TestInstance, tenant: &str, reason: &str, count: u64) {
    loop {
        let events = audit_chain::load_events(instance, tenant);
        let refused = events
            .iter()
            .filter(|event| event["action"] == "auth.refused" && event["inputs"]["reason"] == reason);
        let total: u64 = refused.map(|event| event["inputs"]["count"].as_u64().unwrap()).sum();
        assert!(total <= count, "{reason}: {total} instead of {count}");
        if total == count {
            return;
        }
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
}
