//! Attacks that take more than one request.

use serde_json::{Value, json};

use super::fixture::{AttackFixture, INTRUDER, Ids, VICTIM, percent_encode};
use super::normalized_response::{NormalizedResponse, Responses, extract_code};
use crate::client::Client;
use crate::helpers::{with_token, without_header};
use crate::http::{HttpClient, Request};
use crate::matrix::Revision;

// --- other tenants' ids -----------------------------------------------------------------------------------------------

/// Reads every template with the victim's ids and with absent ids.
pub fn read_every_template(fixture: &AttackFixture, send: impl Fn(&str) -> NormalizedResponse) -> Responses {
    let groups = fixture.templates_with_ids().into_iter();
    Responses(
        groups.map(|template| fixture.for_existing_and_absent(|ids| send(&ids.expand(&template)))).collect(),
    )
}

/// Calls every tool that takes an id.
pub fn call_every_tool(fixture: &AttackFixture) -> Responses {
    call_tools(fixture, |name| !LOOKUP_TOOLS.contains(&name))
}

/// Calls the tools that answer an absent id with an empty result.
pub fn call_every_lookup_tool(fixture: &AttackFixture) -> Responses {
    call_tools(fixture, |name| LOOKUP_TOOLS.contains(&name))
}

/// Tools whose contract answers an absent id with an empty result instead of an error.
const LOOKUP_TOOLS: [&str; 2] = ["ledger_account_get", "ledger_transactions_list"];

fn call_tools(fixture: &AttackFixture, is_selected: impl Fn(&str) -> bool) -> Responses {
    let victim_calls = fixture.tools_with_id_arguments(&fixture.existing_ids);
    let absent_calls = fixture.tools_with_id_arguments(&fixture.absent_ids);
    let call = |(name, arguments): (String, Value), ids: &Ids| {
        fixture.send(&fixture.tool_request(&fixture.intruder_token, &name, arguments)).masking(ids)
    };
    let pairs = victim_calls.into_iter().zip(absent_calls).filter(|((name, _), _)| is_selected(name));
    Responses(
        pairs
            .map(|(victim_call, absent_call)| {
                vec![call(victim_call, &fixture.existing_ids), call(absent_call, &fixture.absent_ids)]
            })
            .collect(),
    )
}

/// Reads every template over stdio as the intruder's local agent.
pub fn read_every_template_over_stdio(fixture: &AttackFixture) -> Responses {
    let arguments = ["stdio", "--tenant", INTRUDER];
    let client = Client::over_stdio(Revision::MODERN, fixture.instance.quad_command(&arguments));
    let client = std::cell::RefCell::new(client);
    read_every_template(fixture, |uri| {
        let reply = client.borrow_mut().request("resources/read", Some(json!({"uri": uri})));
        let error = reply.outcome.expect_err("a foreign address was read over stdio").to_string();
        NormalizedResponse::from_text(format!("stdio {}", extract_code(&error)), error)
    })
}

/// A completion. Its outcome is the number of values.
pub fn complete(
    fixture: &AttackFixture,
    template: &str,
    variable: &str,
    prefix: &str,
    context: Value,
) -> NormalizedResponse {
    let params = json!({
        "ref": {"type": "ref/resource", "uri": template},
        "argument": {"name": variable, "value": prefix},
        "context": {"arguments": context},
    });
    let answer =
        fixture.send(&fixture.modern_request(&fixture.intruder_token, "completion/complete", params));
    let body = answer.text.split_once("\n\n").unwrap().1;
    let reply: Value = serde_json::from_str(body).unwrap();
    let values = reply["result"]["completion"]["values"].as_array().map(Vec::len);
    NormalizedResponse {
        outcome: values.map_or(answer.outcome, |values| format!("{values} values")),
        ..answer
    }
}

/// The events of an agent. The outcome is their number.
pub fn read_events_of(fixture: &AttackFixture, agent: &str) -> NormalizedResponse {
    let uri = format!("audit://events?agent={agent}");
    let answer = fixture.send(&fixture.plain_read_request(&fixture.intruder_token, &uri));
    let page: Value = serde_json::from_str(answer.text.split_once("\n\n").unwrap().1).unwrap();
    let events = page["events"].as_array().map(Vec::len).unwrap();
    NormalizedResponse { outcome: format!("{events} events"), ..answer }.masking_text(agent, "<agent>")
}

// --- sessions ---------------------------------------------------------------------------------------------------------

/// Uses a session id for a call, a stream and its deletion.
pub fn use_session(fixture: &AttackFixture, token: &str, session: &str) -> Vec<NormalizedResponse> {
    let session_request = |method: &str| {
        let request = with_token(Request::new(method, "/mcp"), token).header("Accept", "text/event-stream");
        request.header("Mcp-Session-Id", session).header("MCP-Protocol-Version", Revision::LEGACY.0)
    };
    let call = fixture.legacy_request(token, Some(session), "resources/read", json!({"uri": "bkend://orgs"}));
    [call, session_request("GET"), session_request("DELETE")].map(|request| fixture.send(&request)).into()
}

/// Uses another caller's session id, and one that never existed.
pub fn use_foreign_session(fixture: &AttackFixture, token: &str) -> Responses {
    let session = fixture.open_session(&fixture.owner_token);
    let made_up = format!("{}x", &session[..session.len() - 1]);
    let existing_responses = use_session(fixture, token, &session);
    let groups = existing_responses.into_iter().zip(use_session(fixture, token, &made_up));
    let responses = Responses(groups.map(|(existing, absent)| vec![existing, absent]).collect());
    // The session still works for its owner.
    fixture.fetch_result(&fixture.legacy_request(
        &fixture.owner_token,
        Some(&session),
        "resources/read",
        json!({"uri": "bkend://orgs"}),
    ));
    responses
}

// --- caches -----------------------------------------------------------------------------------------------------------

/// Reads an address as the victim, so that the answer is cached, and returns its ETag.
pub fn warm_cache(fixture: &AttackFixture, uri: &str) -> String {
    let response = fixture.fetch(&fixture.plain_read_request(&fixture.owner_token, uri));
    assert_eq!(response.status, 200, "{uri}");
    response.header("etag").unwrap().to_owned()
}

/// Reads an address with few scopes after a caller with more scopes has read it.
pub fn read_narrow_view(fixture: &AttackFixture) -> Responses {
    let read_context = |token: &str| {
        let answer = fixture.send(&fixture.plain_read_request(token, "bkend://context"));
        let context: Value = serde_json::from_str(answer.text.split_once("\n\n").unwrap().1).unwrap();
        let projects = context["projects"].as_array().unwrap().len();
        NormalizedResponse { outcome: format!("{projects} projects"), ..answer }
    };
    // Changes what both see, so that the wider view is cached first.
    fixture.instance.run(&["bkend", "org", "add", "Fresh", "--tenant", VICTIM]);
    assert_eq!(read_context(&fixture.owner_token).outcome, "1 projects");
    read_context(&fixture.limited_token).into()
}

// --- cursors ----------------------------------------------------------------------------------------------------------

/// A valid cursor of `resources/list`.
pub fn list_cursor(fixture: &AttackFixture, token: &str) -> String {
    let page = fixture.fetch_result(&fixture.modern_request(token, "resources/list", json!({})));
    page["nextCursor"].as_str().expect("the list has only one page").to_owned()
}

/// A valid cursor of `audit://events`.
pub fn audit_cursor(fixture: &AttackFixture, token: &str) -> String {
    // Pages hold fifty events.
    for _ in 0..60 {
        fixture.read_contents(token, "bkend://orgs");
    }
    let page = fixture.read_contents(token, "audit://events");
    page["nextCursor"].as_str().expect("the audit trail has only one page").to_owned()
}

pub fn list_at_cursor(fixture: &AttackFixture, cursor: &str) -> NormalizedResponse {
    fixture.send(&fixture.modern_request(
        &fixture.intruder_token,
        "resources/list",
        json!({"cursor": cursor}),
    ))
}

pub fn read_events_at_cursor(fixture: &AttackFixture, query: &str, cursor: &str) -> NormalizedResponse {
    fixture.send(
        &fixture
            .plain_read_request(&fixture.intruder_token, &format!("audit://events?{query}cursor={cursor}")),
    )
}

// --- subscriptions ----------------------------------------------------------------------------------------------------

fn listen_request(fixture: &AttackFixture, token: &str, uris: &[&str]) -> Request {
    fixture.modern_request(
        token,
        "subscriptions/listen",
        json!({"notifications": {"resourceSubscriptions": uris}}),
    )
}

/// Listens to a foreign address and an own one. Only the own one may cause notifications.
pub fn listen_to_foreign_uri(fixture: &AttackFixture, foreign: &str) -> NormalizedResponse {
    let own_uri = "bkend://orgs/org_other/projects/proj_other/environments/env_other/tables";
    let mut stream =
        fixture.open_stream(&listen_request(fixture, &fixture.intruder_token, &[foreign, own_uri])).body;
    let acknowledgement = stream.next_event().unwrap().unwrap();
    assert!(acknowledgement.contains(own_uri), "{acknowledgement}");
    fixture.write_as_victim();
    let fields = json!([{"name": "title", "type": "string"}]);
    let name = format!("t{}", quad_core::id::ulid().unwrap().to_lowercase());
    fixture.call_tool(
        &fixture.intruder_token,
        "backend_table_create",
        json!({"environmentId": "env_other", "name": name, "fields": fields}),
    );
    // The victim's change came first, so its notification would have come first.
    let notification = stream.next_event().unwrap().unwrap();
    assert!(notification.contains(own_uri), "{notification}");
    let events_page = fixture.read_contents(&fixture.intruder_token, "audit://events?agent=intruder");
    let mut events = events_page["events"].as_array().unwrap().iter();
    let opened = events.find(|event| event["inputs"]["method"] == "subscriptions/listen").unwrap();
    assert_eq!(opened["inputs"]["left_out"], 1, "{opened:#}");
    let uri_count = acknowledgement.matches("bkend://").count() + notification.matches("bkend://").count();
    NormalizedResponse::from_text(
        format!("{} of theirs", uri_count - 2),
        format!("{acknowledgement}\n{notification}"),
    )
}

/// What a stream sends after `revoke`, when the victim changes the subscribed table.
pub fn listen_after_revocation(
    fixture: &AttackFixture,
    token: &str,
    revoke: impl FnOnce(),
) -> NormalizedResponse {
    let rows = fixture.victim_rows_uri();
    let mut stream = fixture.open_stream(&listen_request(fixture, token, &[&rows])).body;
    let acknowledgement = stream.next_event().unwrap().unwrap();
    assert!(acknowledgement.contains(&rows), "{acknowledgement}");
    fixture.write_as_victim();
    assert!(
        stream.next_event().unwrap().unwrap().contains("updated"),
        "the stream sent no notification before"
    );
    revoke();
    fixture.write_as_victim();
    let mut notification_count = 0;
    while let Some(event) = stream.next_event().unwrap() {
        notification_count += usize::from(event.contains("notifications/"));
    }
    NormalizedResponse::from_text(format!("{notification_count} notices, then the end"), "")
}

/// The same with the stream of a legacy session.
pub fn session_listen_after_revocation(
    fixture: &AttackFixture,
    token: &str,
    revoke: impl FnOnce(),
) -> NormalizedResponse {
    let session = fixture.open_session(token);
    let rows = fixture.victim_rows_uri();
    fixture.fetch_result(&fixture.legacy_request(
        token,
        Some(&session),
        "resources/subscribe",
        json!({"uri": rows}),
    ));
    let request = with_token(Request::new("GET", "/mcp"), token).header("Accept", "text/event-stream");
    let request = request.header("Mcp-Session-Id", &session);
    let mut stream = fixture.open_stream(&request.header("MCP-Protocol-Version", Revision::LEGACY.0)).body;
    fixture.write_as_victim();
    assert!(
        stream.next_event().unwrap().unwrap().contains("updated"),
        "the stream sent no notification before"
    );
    revoke();
    fixture.write_as_victim();
    let mut notification_count = 0;
    while stream.next_event().unwrap().is_some() {
        notification_count += 1;
    }
    NormalizedResponse::from_text(format!("{notification_count} notices, then the end"), "")
}

// --- paths ------------------------------------------------------------------------------------------------------------

/// Reads a malformed address over MCP and over plain HTTP.
pub fn read_malformed_uri(fixture: &AttackFixture, uri: &str) -> Responses {
    let mcp_response =
        fixture.send(&fixture.modern_request(&fixture.intruder_token, "resources/read", json!({"uri": uri})));
    let http_response = fixture.send(&fixture.plain_read_request(&fixture.intruder_token, uri));
    let code_only = |answer: NormalizedResponse| {
        // The statuses differ, since one comes from MCP and the other from HTTP.
        let (_, code) = answer.outcome.split_once(' ').unwrap();
        NormalizedResponse { outcome: code.to_owned(), ..answer }
    };
    Responses(vec![vec![code_only(mcp_response)], vec![code_only(http_response)]])
}

/// Gets a path that is not served, with a valid token.
pub fn get_path(fixture: &AttackFixture, path: &str) -> Responses {
    fixture.send(&with_token(Request::new("GET", path), &fixture.intruder_token)).into()
}

// --- servers without authentication ------------------------------------------------------------------------------------------------------------

/// Starts a server without authentication on a public address. It must refuse to start.
pub fn serve_publicly_without_auth(
    fixture: &AttackFixture,
    arguments: &[&str],
    variables: &[(&str, &str)],
) -> Responses {
    let mut command = fixture.instance.quad_command(&[&["serve", "--json"], arguments].concat());
    command.envs(variables.iter().copied());
    let output = command.output().unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.stdout.is_empty(), "the server started: {}", String::from_utf8_lossy(&output.stdout));
    let reason = if stderr.contains("--no-auth is allowed on loopback only") { "refused" } else { &stderr };
    NormalizedResponse::from_text(format!("exit {} {reason}", output.status.code().unwrap()), stderr.clone())
        .into()
}

/// Sends a request of a foreign web page (by `Origin` or `Sec-Fetch-Site`), or one after DNS rebinding (by `Host`), to a
/// server without authentication.
pub fn request_no_auth_server(fixture: &AttackFixture, header: &str, value: &str) -> Responses {
    let server = fixture.instance.serve(&["--no-auth"]);
    let request =
        without_header(fixture.plain_read_request("", "bkend://orgs"), "Authorization").header(header, value);
    let response = HttpClient::new(&server.authority).send(&request).unwrap();
    // Writes the count of the refusal.
    server.stop();
    NormalizedResponse::from_response(&response).into()
}

/// Sends a request with both `Content-Length` and `Transfer-Encoding`, whose body contains a second request.
pub fn smuggle_request(fixture: &AttackFixture) -> Responses {
    let token = &fixture.intruder_token;
    let inner = format!(
        "GET /v1/resources?uri={} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {}\r\n\r\n",
        percent_encode("bkend://orgs"),
        fixture.owner_token,
    );
    let body = format!("0\r\n\r\n{inner}");
    let reply = fixture.send_raw(&format!(
        "POST /mcp HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {token}\r\nContent-Type: application/json\r\n\
         Content-Length: {}\r\nTransfer-Encoding: chunked\r\n\r\n{body}",
        body.len(),
    ));
    let replies = reply.matches("HTTP/1.1 ").count();
    let status = reply.split(' ').nth(1).unwrap_or("nothing");
    NormalizedResponse::from_text(format!("{replies} reply {status}"), reply.clone()).into()
}
