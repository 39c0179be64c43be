//! Ways that take more than one request.

use serde_json::{Value, json};

use super::answer::{Answer, Tried, word};
use super::house::{House, INTRUDER, Ids, VICTIM, bearing, escaped, without};
use crate::client::Client;
use crate::combination::Revision;
use crate::http::{HttpClient, Request};

// --- other tenants' ids -----------------------------------------------------------------------------------------------

/// Every template, asked about what the victim has and about what nobody has.
pub fn every_template(house: &House, ask: impl Fn(&str) -> Answer) -> Tried {
    let groups = house.templates().into_iter();
    Tried(groups.map(|template| house.twice(|ids| ask(&ids.expand(&template)))).collect())
}

/// Every tool that takes an id.
pub fn every_tool(house: &House) -> Tried {
    tools(house, |name| !LOOKING.contains(&name))
}

/// Every tool that says of an id only whether something is there.
pub fn every_tool_that_looks(house: &House) -> Tried {
    tools(house, |name| LOOKING.contains(&name))
}

/// Tools by which the money's own contract lets one ask: the answer to what is not there is that it is not.
const LOOKING: [&str; 2] = ["ledger.account.get", "ledger.transactions.list"];

fn tools(house: &House, is_meant: impl Fn(&str) -> bool) -> Tried {
    let of_victim = house.tools(&house.existing);
    let of_nobody = house.tools(&house.absent);
    let ask = |(name, arguments): (String, Value), ids: &Ids| {
        house.send(&house.tool(&house.intruder, &name, arguments)).hiding(ids)
    };
    let pairs = of_victim.into_iter().zip(of_nobody).filter(|((name, _), _)| is_meant(name));
    Tried(pairs.map(|(one, other)| vec![ask(one, &house.existing), ask(other, &house.absent)]).collect())
}

/// Every template over stdio, as the agent of the intruder's machine.
pub fn over_stdio(house: &House) -> Tried {
    let arguments = ["stdio", "--tenant", INTRUDER];
    let client = Client::over_stdio(Revision::MODERN, house.place.quad(&arguments));
    let client = std::cell::RefCell::new(client);
    every_template(house, |uri| {
        let reply = client.borrow_mut().request("resources/read", Some(json!({"uri": uri})));
        let error = reply.outcome.expect_err("a foreign address was read over stdio").to_string();
        Answer::saying(format!("stdio {}", word(&error)), error)
    })
}

/// A completion, by the number of values that it shows.
pub fn completion(house: &House, template: &str, variable: &str, prefix: &str, context: Value) -> Answer {
    let params = json!({
        "ref": {"type": "ref/resource", "uri": template},
        "argument": {"name": variable, "value": prefix},
        "context": {"arguments": context},
    });
    let answer = house.send(&house.modern(&house.intruder, "completion/complete", params));
    let shown = answer.bytes.split_once("\n\n").unwrap().1;
    let shown: Value = serde_json::from_str(shown).unwrap();
    let values = shown["result"]["completion"]["values"].as_array().map(Vec::len);
    Answer { said: values.map_or(answer.said, |values| format!("{values} values")), ..answer }
}

/// The events of an agent, by their number.
pub fn events_of(house: &House, agent: &str) -> Answer {
    let uri = format!("audit://events?agent={agent}");
    let answer = house.send(&house.twin(&house.intruder, &uri));
    let shown: Value = serde_json::from_str(answer.bytes.split_once("\n\n").unwrap().1).unwrap();
    let events = shown["events"].as_array().map(Vec::len).unwrap();
    Answer { said: format!("{events} events"), ..answer }.hiding_text(agent, "<agent>")
}

// --- sessions ---------------------------------------------------------------------------------------------------------

/// A session id as it is used: with a call, to listen, and to end it.
pub fn session_uses(house: &House, token: &str, session: &str) -> Vec<Answer> {
    let bare = |method: &str| {
        let request = bearing(Request::new(method, "/mcp"), token).header("Accept", "text/event-stream");
        request.header("Mcp-Session-Id", session).header("MCP-Protocol-Version", Revision::LEGACY.0)
    };
    let call = house.legacy(token, Some(session), "resources/read", json!({"uri": "bkend://orgs"}));
    [call, bare("GET"), bare("DELETE")].map(|request| house.send(&request)).into()
}

/// Somebody else's session in comparison with one that never was.
pub fn sessions_of_others(house: &House, token: &str) -> Tried {
    let session = house.session(&house.owner);
    let made_up = format!("{}x", &session[..session.len() - 1]);
    let used = session_uses(house, token, &session);
    let groups = used.into_iter().zip(session_uses(house, token, &made_up));
    let tried = Tried(groups.map(|(one, other)| vec![one, other]).collect());
    // It is still there for the one whose it is.
    house.result(&house.legacy(
        &house.owner,
        Some(&session),
        "resources/read",
        json!({"uri": "bkend://orgs"}),
    ));
    tried
}

// --- caches -----------------------------------------------------------------------------------------------------------

/// The tag of what the victim sees there, which is then surely in the cache.
pub fn warmed(house: &House, uri: &str) -> String {
    let response = house.response(&house.twin(&house.owner, uri));
    assert_eq!(response.status, 200, "{uri}");
    response.header("etag").unwrap().to_owned()
}

/// What somebody who sees little gets after somebody who sees much was here.
pub fn narrow_view(house: &House) -> Tried {
    let look = |token: &str| {
        let answer = house.send(&house.twin(token, "bkend://context"));
        let shown: Value = serde_json::from_str(answer.bytes.split_once("\n\n").unwrap().1).unwrap();
        let projects = shown["projects"].as_array().unwrap().len();
        Answer { said: format!("{projects} projects"), ..answer }
    };
    // A change of what both see, so that the wider view is the first one to be kept.
    house.place.run(&["bkend", "org", "add", "Fresh", "--tenant", VICTIM]);
    assert_eq!(look(&house.owner).said, "1 projects");
    look(&house.visitor).into()
}

// --- cursors ----------------------------------------------------------------------------------------------------------

/// A genuine cursor of `resources/list`.
pub fn list_cursor(house: &House, token: &str) -> String {
    let page = house.result(&house.modern(token, "resources/list", json!({})));
    page["nextCursor"].as_str().expect("the list has one page only").to_owned()
}

/// A genuine cursor of `audit://events`.
pub fn audit_cursor(house: &House, token: &str) -> String {
    // Pages hold fifty events.
    for _ in 0..60 {
        house.contents(token, "bkend://orgs");
    }
    let page = house.contents(token, "audit://events");
    page["nextCursor"].as_str().expect("the trail has one page only").to_owned()
}

pub fn list_from(house: &House, cursor: &str) -> Answer {
    house.send(&house.modern(&house.intruder, "resources/list", json!({"cursor": cursor})))
}

pub fn audit_from(house: &House, query: &str, cursor: &str) -> Answer {
    house.send(&house.twin(&house.intruder, &format!("audit://events?{query}cursor={cursor}")))
}

// --- subscriptions ----------------------------------------------------------------------------------------------------

fn listen_request(house: &House, token: &str, uris: &[&str]) -> Request {
    house.modern(token, "subscriptions/listen", json!({"notifications": {"resourceSubscriptions": uris}}))
}

/// A stream that names a foreign address beside one of one's own: it must speak of the latter alone.
pub fn listening_to(house: &House, foreign: &str) -> Answer {
    let own = "bkend://orgs/org_other/projects/proj_other/environments/env_other/tables";
    let mut stream = house.open(&listen_request(house, &house.intruder, &[foreign, own])).body;
    let acknowledged = stream.next_event().unwrap().unwrap();
    assert!(acknowledged.contains(own), "{acknowledged}");
    house.victim_writes();
    let fields = json!([{"name": "title", "type": "string"}]);
    let name = format!("t{}", quad_core::id::ulid().unwrap().to_lowercase());
    house.call(
        &house.intruder,
        "backend_table_create",
        json!({"environmentId": "env_other", "name": name, "fields": fields}),
    );
    // The victim's change came first; had it been told, it would have been told first.
    let heard = stream.next_event().unwrap().unwrap();
    assert!(heard.contains(own), "{heard}");
    let trail = house.contents(&house.intruder, "audit://events?agent=intruder");
    let mut events = trail["events"].as_array().unwrap().iter();
    let opened = events.find(|event| event["inputs"]["method"] == "subscriptions/listen").unwrap();
    assert_eq!(opened["inputs"]["left_out"], 1, "{opened:#}");
    let accepted = acknowledged.matches("bkend://").count() + heard.matches("bkend://").count();
    Answer::saying(format!("{} of theirs", accepted - 2), format!("{acknowledged}\n{heard}"))
}

/// What a stream says after its holder was withdrawn by `withdraw`, and the victim has changed what it watches.
pub fn listening_on(house: &House, token: &str, withdraw: impl FnOnce()) -> Answer {
    let rows = house.rows();
    let mut stream = house.open(&listen_request(house, token, &[&rows])).body;
    let acknowledged = stream.next_event().unwrap().unwrap();
    assert!(acknowledged.contains(&rows), "{acknowledged}");
    house.victim_writes();
    assert!(stream.next_event().unwrap().unwrap().contains("updated"), "the stream was deaf before");
    withdraw();
    house.victim_writes();
    let mut told = 0;
    while let Some(event) = stream.next_event().unwrap() {
        told += usize::from(event.contains("notifications/"));
    }
    Answer::saying(format!("{told} notices, then the end"), "")
}

/// The same with a legacy session.
pub fn session_listening_on(house: &House, token: &str, withdraw: impl FnOnce()) -> Answer {
    let session = house.session(token);
    let rows = house.rows();
    house.result(&house.legacy(token, Some(&session), "resources/subscribe", json!({"uri": rows})));
    let request = bearing(Request::new("GET", "/mcp"), token).header("Accept", "text/event-stream");
    let request = request.header("Mcp-Session-Id", &session);
    let mut stream = house.open(&request.header("MCP-Protocol-Version", Revision::LEGACY.0)).body;
    house.victim_writes();
    assert!(stream.next_event().unwrap().unwrap().contains("updated"), "the stream was deaf before");
    withdraw();
    house.victim_writes();
    let mut told = 0;
    while stream.next_event().unwrap().is_some() {
        told += 1;
    }
    Answer::saying(format!("{told} notices, then the end"), "")
}

// --- paths ------------------------------------------------------------------------------------------------------------

/// An address in a form that only a program would write, by the protocol and by plain HTTP.
pub fn address(house: &House, uri: &str) -> Tried {
    let asked = house.send(&house.modern(&house.intruder, "resources/read", json!({"uri": uri})));
    let twin = house.send(&house.twin(&house.intruder, uri));
    let said = |answer: Answer| {
        // The one has its status from the protocol, the other from HTTP.
        let (_, code) = answer.said.split_once(' ').unwrap();
        Answer { said: code.to_owned(), ..answer }
    };
    Tried(vec![vec![said(asked)], vec![said(twin)]])
}

/// A path beside those that are served, with a good token.
pub fn path(house: &House, path: &str) -> Tried {
    house.send(&bearing(Request::new("GET", path), &house.intruder)).into()
}

// --- doors ------------------------------------------------------------------------------------------------------------

/// A server without tokens that everybody could reach: it must not start.
pub fn open_to_the_world(house: &House, arguments: &[&str], variables: &[(&str, &str)]) -> Tried {
    let mut command = house.place.quad(&[&["serve", "--json"], arguments].concat());
    command.envs(variables.iter().copied());
    let output = command.output().unwrap();
    let complaint = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.stdout.is_empty(), "it has opened: {}", String::from_utf8_lossy(&output.stdout));
    let why = if complaint.contains("--no-auth would let everyone") { "refused" } else { &complaint };
    Answer::saying(format!("exit {} {why}", output.status.code().unwrap()), complaint.clone()).into()
}

/// A page of somebody else, or one that has pointed its own name at a server without tokens.
pub fn open_to_a_page(house: &House, header: &str, value: &str) -> Tried {
    let open = house.place.serve(&["--no-auth"]);
    let request = without(house.twin("", "bkend://orgs"), "Authorization").header(header, value);
    Answer::of(&HttpClient::new(&open.authority).send(&request).unwrap()).into()
}

/// Two requests in the body of one, told apart only by whoever counts differently.
pub fn smuggled(house: &House) -> Tried {
    let token = &house.intruder;
    let inner = format!(
        "GET /v1/resources?uri={} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {}\r\n\r\n",
        escaped("bkend://orgs"),
        house.owner,
    );
    let body = format!("0\r\n\r\n{inner}");
    let back = house.raw(&format!(
        "POST /mcp HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {token}\r\nContent-Type: application/json\r\n\
         Content-Length: {}\r\nTransfer-Encoding: chunked\r\n\r\n{body}",
        body.len(),
    ));
    let replies = back.matches("HTTP/1.1 ").count();
    let status = back.split(' ').nth(1).unwrap_or("nothing");
    Answer::saying(format!("{replies} reply {status}"), back.clone()).into()
}
