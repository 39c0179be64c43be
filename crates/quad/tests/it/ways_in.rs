//! Ways in that must not work.
//!
//! One table, one row a way: what it is called, how it is tried, what must come back, and where it must be written down. Every
//! row is tried against a running `quad serve` with two tenants on it. What comes back about the victim's things must be, byte
//! for byte, what comes back about things that nobody has; the chains of both tenants must have exactly the refusals that the
//! table says, and the system's chain those of callers that had proven nothing.

mod answer;
mod attempts;
mod forge;
mod house;

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::http::Request;
use crate::place::Place;
use crate::trail;
use answer::{Answer, Tried};
use attempts as try_;
use house::{House, INTRUDER, VICTIM, bearing, escaped, post, without};

/// What only the victim may ever see.
const SECRETS: [&str; 3] = ["ada@example.org", "my-app", "Noise"];

/// Where an attempt must be written down.
#[derive(Clone, Copy, Debug)]
enum Audited {
    /// As a refusal in the chain of the tenant that the caller has proven.
    In(&'static str),
    /// In the system's chain, for this reason: no tenant is proven.
    System(&'static str),
    /// As a call that was allowed and showed nothing.
    AsAllowed,
    /// Nowhere: it was not even a request, or not one to a server that keeps a chain.
    Nowhere,
}

use Audited::{AsAllowed, In, Nowhere, System};

/// One row.
struct Way {
    of: &'static str,
    name: &'static str,
    back: &'static str,
    audited: Audited,
    tried: fn(&House) -> Tried,
}

fn way(
    of: &'static str,
    name: &'static str,
    back: &'static str,
    audited: Audited,
    tried: fn(&House) -> Tried,
) -> Way {
    Way { of, name, back, audited, tried }
}

/// A read with a token, as whoever forged it would try it.
fn read(house: &House, token: &str) -> Tried {
    house.send(&house.twin(token, "bkend://orgs")).into()
}

/// A good modern read by the intruder, to be spoilt.
fn good(house: &House) -> Request {
    house.modern(&house.intruder, "resources/read", json!({"uri": "bkend://orgs"}))
}

#[rustfmt::skip]
fn ways() -> Vec<Way> {
    vec![
        // Tokens that nobody gave out.
        way("forged", "no signature at all, alg none", "401 algorithm", System("algorithm"), |house| {
            let token = forge::changed(house, |parts| { parts.header["alg"] = "none".into(); parts.signature.clear(); });
            read(house, &token)
        }),
        way("forged", "alg none in another spelling", "401 algorithm", System("algorithm"), |house| {
            let token = forge::changed(house, |parts| { parts.header["alg"] = "nOnE".into(); parts.signature.clear(); });
            read(house, &token)
        }),
        way("forged", "alg HS256 under the public key", "401 algorithm", System("algorithm"), |house| {
            let mut parts = forge::as_the_victim(house);
            parts.header["alg"] = "HS256".into();
            read(house, &parts.sealed_with(&forge::public_key(house)))
        }),
        way("forged", "the MAC of the public key under alg EdDSA", "401 bad_signature", System("bad_signature"), |house| {
            read(house, &forge::as_the_victim(house).sealed_with(&forge::public_key(house)))
        }),
        way("forged", "no algorithm", "401 algorithm", System("algorithm"), |house| {
            read(house, &forge::changed(house, |parts| { parts.header.as_object_mut().unwrap().remove("alg"); }))
        }),
        way("forged", "the name of a key that is none", "401 unknown_key", System("unknown_key"), |house| {
            read(house, &forge::changed(house, |parts| parts.header["kid"] = "0000000000000000".into()))
        }),
        way("forged", "a path as the name of a key", "401 unknown_key", System("unknown_key"), |house| {
            read(house, &forge::changed(house, |parts| parts.header["kid"] = "../../../../dev/null".into()))
        }),
        way("forged", "no name of a key", "401 unknown_key", System("unknown_key"), |house| {
            read(house, &forge::changed(house, |parts| { parts.header.as_object_mut().unwrap().remove("kid"); }))
        }),
        way("forged", "a foreign key under our key's name", "401 bad_signature", System("bad_signature"), |house| {
            read(house, &forge::as_the_victim(house).signed_by_another())
        }),
        way("forged", "a foreign key that the token brings along", "401 bad_signature", System("bad_signature"), |house| {
            let mut parts = forge::as_the_victim(house);
            parts.header["jwk"] = forge::another_public_key();
            parts.header["jku"] = "https://evil.example/jwks.json".into();
            read(house, &parts.signed_by_another())
        }),
        way("forged", "a signature that lacks its last byte", "401 bad_signature", System("bad_signature"), |house| {
            read(house, &forge::resigned(house, |signature| { signature.pop(); }))
        }),
        way("forged", "a signature with a byte too many", "401 bad_signature", System("bad_signature"), |house| {
            read(house, &forge::resigned(house, |signature| signature.push(0)))
        }),
        way("forged", "an empty signature", "401 bad_signature", System("bad_signature"), |house| {
            read(house, &forge::resigned(house, Vec::clear))
        }),
        way("forged", "a signature plus the order of its group", "401 bad_signature", System("bad_signature"), |house| {
            read(house, &forge::resigned(house, |signature| forge::malleated(signature)))
        }),
        way("forged", "a signature in another spelling", "401 malformed", System("malformed"), |house| {
            // 64 bytes leave four bits unused in the last letter; a careless decoder does not look at them.
            let (rest, last) = house.intruder.split_at(house.intruder.len() - 1);
            let alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
            let place = alphabet.find(last).unwrap();
            read(house, &format!("{rest}{}", &alphabet[place + 1..place + 2]))
        }),
        way("forged", "a padded signature", "401 malformed", System("malformed"), |house| {
            read(house, &format!("{}==", house.intruder))
        }),
        way("forged", "somebody else's claims under our signature", "401 bad_signature", System("bad_signature"), |house| {
            let owner = forge::Parts::of(&house.owner);
            read(house, &forge::changed(house, |parts| parts.claims = owner.claims))
        }),
        way("forged", "another tenant in our own claims", "401 bad_signature", System("bad_signature"), |house| {
            read(house, &forge::as_the_victim(house).token())
        }),
        way("forged", "one more scope in our own claims", "401 bad_signature", System("bad_signature"), |house| {
            let mut parts = forge::Parts::of(&house.visitor);
            parts.claims["scope"] = "*:*".into();
            read(house, &parts.token())
        }),
        way("forged", "the tenant of system", "401 bad_signature", System("bad_signature"), |house| {
            read(house, &forge::changed(house, |parts| parts.claims["tenant_id"] = "system".into()))
        }),
        way("forged", "a claim that stands twice", "401 duplicate_claim", System("duplicate_claim"), |house| {
            let parts = forge::Parts::of(&house.intruder);
            let claims = forge::doubled(&parts.claims, &format!(r#""tenant_id":"{}""#, house.place.tenant_id(VICTIM)));
            read(house, &forge::with_signature(&forge::signed(&parts.header.to_string(), &claims), &parts.signature))
        }),
        way("forged", "an algorithm that stands twice", "401 duplicate_claim", System("duplicate_claim"), |house| {
            let parts = forge::Parts::of(&house.intruder);
            let header = forge::doubled(&parts.header, r#""alg":"none""#);
            read(house, &forge::with_signature(&forge::signed(&header, &parts.claims.to_string()), &parts.signature))
        }),
        way("forged", "a header that must be understood", "401 malformed", System("malformed"), |house| {
            read(house, &forge::changed(house, |parts| { parts.header["crit"] = json!(["b64"]); parts.header["b64"] = false.into(); }))
        }),
        way("forged", "a token of four parts", "401 malformed", System("malformed"), |house| {
            read(house, &format!("{}.{}", house.intruder, house.intruder.rsplit('.').next().unwrap()))
        }),
        way("forged", "two tokens in one header", "401 malformed", System("malformed"), |house| {
            read(house, &format!("{}, Bearer {}", house.intruder, house.owner))
        }),
        way("forged", "two headers with a token each", "400 INVALID_REQUEST", System("several_credentials"), |house| {
            let order = |first: &str, second: &str| house.send(&bearing(house.twin(first, "bkend://orgs"), second));
            vec![order(&house.intruder, &house.owner), order(&house.owner, &house.intruder)].into()
        }),
        way("forged", "a token of another server", "401 unknown_key", System("unknown_key"), |house| {
            let elsewhere = Place::on_sqlite();
            elsewhere.add_tenant(VICTIM);
            read(house, &elsewhere.token(VICTIM, "owner", "*:*"))
        }),
        way("forged", "a token as long as a book", "401 too_long", System("too_long"), |house| {
            read(house, &forge::changed(house, |parts| parts.claims["sub"] = "x".repeat(9_000).into()))
        }),
        way("forged", "a good token in the query", "401 missing", System("missing"), |house| {
            house.send(&Request::new("GET", &format!("/v1/resources?uri=bkend://orgs&access_token={}", house.owner))).into()
        }),
        way("forged", "a good token in a cookie", "401 missing", System("missing"), |house| {
            house.send(&Request::new("GET", "/v1/resources?uri=bkend://orgs").header("Cookie", &format!("token={}", house.owner))).into()
        }),
        way("forged", "a good token as a password", "401 missing", System("missing"), |house| {
            house.send(&Request::new("GET", "/v1/resources?uri=bkend://orgs").header("Authorization", &format!("Basic {}", house.owner))).into()
        }),
        way("forged", "a session's id as a token", "401 malformed", System("malformed"), |house| {
            read(house, &house.session(&house.owner))
        }),
        // Tokens that the trusted issuer has signed, and that are still not good.
        way("forged", "an issuer's token for another server", "401 wrong_audience", System("wrong_audience"), |house| {
            read(house, &house.provider.token(VICTIM, |_, claims| claims["aud"] = "https://other.example".into()))
        }),
        way("forged", "an issuer's token in our own name", "401 wrong_issuer", System("wrong_issuer"), |house| {
            read(house, &house.provider.token(VICTIM, |_, claims| claims["iss"] = "quad".into()))
        }),
        way("forged", "an issuer's token under our key's name", "401 bad_signature", System("bad_signature"), |house| {
            read(house, &house.provider.token(VICTIM, |header, claims| {
                header["kid"] = house::kid_of(&house.owner).into();
                claims["iss"] = "quad".into();
            }))
        }),
        way("forged", "an issuer's token that has ended", "401 expired", System("expired"), |house| {
            read(house, &house.provider.token(VICTIM, |_, claims| claims["exp"] = (claims["iat"].as_i64().unwrap() - 60).into()))
        }),
        way("forged", "an issuer's token that has not begun", "401 not_yet_valid", System("not_yet_valid"), |house| {
            read(house, &house.provider.token(VICTIM, |_, claims| claims["nbf"] = (claims["iat"].as_i64().unwrap() + 600).into()))
        }),
        way("forged", "an issuer's token that lives too long", "401 lives_too_long", System("lives_too_long"), |house| {
            read(house, &house.provider.token(VICTIM, |_, claims| claims["exp"] = (claims["iat"].as_i64().unwrap() + 86_400).into()))
        }),
        way("forged", "an issuer's token for a tenant that does not know its holder", "401 agent_unregistered", System("agent_unregistered"), |house| {
            // Whether there is such a tenant is not told.
            let token = |tenant: &str| house.send(&house.twin(&house.provider.token(tenant, |_, _| {}), "bkend://orgs"));
            vec![token(VICTIM), token("nobody"), token("system")].into()
        }),

        // What was good once.
        way("replayed", "a token that was revoked", "401 revoked", In(VICTIM), |house| {
            let token = house.agent("revoked-token", &[]);
            house.revoke("revoked-token");
            read(house, &token)
        }),
        way("replayed", "a token of an agent that was revoked", "401 agent_revoked", In(VICTIM), |house| {
            read(house, &house.agent("revoked", &["revoke"]))
        }),
        way("replayed", "a token of an agent that was narrowed", "401 scope_exceeded", In(VICTIM), |house| {
            read(house, &house.agent("narrowed", &["register", "--scope", "organization:read"]))
        }),
        way("replayed", "a tag of what a revoked token had read", "401 revoked", In(VICTIM), |house| {
            let token = house.agent("revoked-with-tag", &[]);
            let tag = try_::warmed(house, "bkend://orgs");
            house.revoke("revoked-with-tag");
            house.send(&house.twin(&token, "bkend://orgs").header("If-None-Match", &tag)).into()
        }),
        way("replayed", "a session of another agent of the tenant", "404 SESSION_NOT_FOUND", In(VICTIM), |house| {
            try_::sessions_of_others(house, &house.visitor)
        }),
        way("replayed", "a session of another tenant", "404 SESSION_NOT_FOUND", In(INTRUDER), |house| {
            try_::sessions_of_others(house, &house.intruder)
        }),
        way("replayed", "a session that was ended", "404 SESSION_NOT_FOUND", In(INTRUDER), |house| {
            let session = house.session(&house.intruder);
            let end = bearing(Request::new("DELETE", "/mcp"), &house.intruder).header("Mcp-Session-Id", &session);
            assert_eq!(house.response(&end).status, 204);
            Tried(try_::session_uses(house, &house.intruder, &session).into_iter().map(|answer| vec![answer]).collect())
        }),
        way("replayed", "a session with a longer life written into it", "404 SESSION_NOT_FOUND", In(INTRUDER), |house| {
            let session = house.session(&house.intruder);
            let parts: Vec<&str> = session.split('.').collect();
            let written = format!(r#"{{"t":"{}","s":"owner","r":"2025-11-25","x":9999999999999}}"#, house.place.tenant_id(VICTIM));
            let forged = format!("{}.{}.{}", parts[0], forge::signed(&written, "").trim_end_matches('.'), parts[2]);
            Tried(try_::session_uses(house, &house.intruder, &forged).into_iter().map(|answer| vec![answer]).collect())
        }),
        way("replayed", "two sessions at once", "400 HEADER_MISMATCH", In(INTRUDER), |house| {
            let session = house.session(&house.intruder);
            let request = house.legacy(&house.intruder, Some(&session), "ping", json!({}));
            house.send(&request.header("Mcp-Session-Id", &house.session(&house.owner))).into()
        }),
        way("replayed", "a session of a key that was dropped, and a token of it", "401 unknown_key", System("unknown_key"), |house| {
            let session = house.session(&house.old);
            house.place.run(&["key", "drop", &house::kid_of(&house.old)]);
            let with_session = house.legacy(&house.old, Some(&session), "ping", json!({}));
            Tried(vec![vec![house.send(&house.twin(&house.old, "bkend://orgs"))], vec![house.send(&with_session)]])
        }),

        // Agents that are halted.
        way("quarantined", "a token of a quarantined agent", "401 agent_quarantined", In(VICTIM), |house| {
            read(house, &house.agent("halted", &["quarantine"]))
        }),
        way("quarantined", "a new token for a quarantined agent", "exit 5", Nowhere, |house| {
            house.agent("halted-twice", &["quarantine"]);
            let mint = ["token", "mint", "--tenant", VICTIM, "--subject", "halted-twice", "--kind", "agent", "--scope", "*:read"];
            let output = house.place.quad(&mint).output().unwrap();
            Answer::saying(format!("exit {}", output.status.code().unwrap()), String::from_utf8(output.stdout).unwrap()).into()
        }),
        way("quarantined", "a session of a quarantined agent", "401 agent_quarantined", In(VICTIM), |house| {
            let token = house.agent("halted-in-session", &[]);
            let session = house.session(&token);
            house.place.run(&["agent", "quarantine", "halted-in-session", "--tenant", VICTIM]);
            house.send(&house.legacy(&token, Some(&session), "resources/read", json!({"uri": "bkend://orgs"}))).into()
        }),
        way("quarantined", "an issuer's token of a quarantined agent", "401 agent_quarantined", In(VICTIM), |house| {
            house.place.run(&["agent", "register", "crawler", "--scope", "organization:read", "--tenant", VICTIM]);
            let token = house.provider.token(VICTIM, |_, _| {});
            assert_eq!(house.response(&house.twin(&token, "bkend://orgs")).status, 200);
            house.place.run(&["agent", "quarantine", "crawler", "--tenant", VICTIM]);
            read(house, &token)
        }),
        way("quarantined", "a stream of an agent that is quarantined while it listens", "0 notices, then the end", AsAllowed, |house| {
            let token = house.agent("halted-listener", &[]);
            let withdraw = || { house.place.run(&["agent", "quarantine", "halted-listener", "--tenant", VICTIM]); };
            try_::listening_on(house, &token, withdraw).into()
        }),

        // Other tenants' ids.
        way("cross-tenant", "every template, by the protocol", "200 NOT_FOUND", In(INTRUDER), |house| {
            try_::every_template(house, |uri| house.send(&house.modern(&house.intruder, "resources/read", json!({"uri": uri}))))
        }),
        way("cross-tenant", "every template, in a legacy session", "200 NOT_FOUND", In(INTRUDER), |house| {
            let session = house.session(&house.intruder);
            try_::every_template(house, |uri| house.send(&house.legacy(&house.intruder, Some(&session), "resources/read", json!({"uri": uri}))))
        }),
        way("cross-tenant", "every template, by plain HTTP", "404 NOT_FOUND", In(INTRUDER), |house| {
            try_::every_template(house, |uri| house.send(&house.twin(&house.intruder, uri)))
        }),
        way("cross-tenant", "every template, by the tool that reads", "200 NOT_FOUND", In(INTRUDER), |house| {
            try_::every_template(house, |uri| house.send(&house.tool(&house.intruder, "resource_read", json!({"uri": uri}))))
        }),
        way("cross-tenant", "every template, over stdio", "stdio NOT_FOUND", In(INTRUDER), try_::over_stdio),
        way("cross-tenant", "every tool that takes an id", "200 NOT_FOUND", In(INTRUDER), try_::every_tool),
        way("cross-tenant", "every tool that looks for an id", "200 ok", AsAllowed, try_::every_tool_that_looks),
        way("cross-tenant", "their project below our organization", "200 NOT_FOUND", In(INTRUDER), |house| {
            house.twice(|ids| {
                let uri = format!("bkend://orgs/org_other/projects/{}", ids.get("projectId"));
                house.send(&house.modern(&house.intruder, "resources/read", json!({"uri": uri})))
            }).into()
        }),
        way("cross-tenant", "our table below their environment", "200 NOT_FOUND", In(INTRUDER), |house| {
            house.twice(|ids| {
                let arguments = json!({"environmentId": ids.get("envId"), "name": "planted", "fields": [{"name": "a", "type": "string"}]});
                house.send(&house.tool(&house.intruder, "backend_table_create", arguments))
            }).into()
        }),
        way("cross-tenant", "a prompt about their project", "200 NOT_FOUND", In(INTRUDER), |house| {
            house.twice(|ids| {
                let arguments = json!({"projectId": ids.get("projectId")});
                house.send(&house.modern(&house.intruder, "prompts/get", json!({"name": "backend_overview", "arguments": arguments})))
            }).into()
        }),
        way("cross-tenant", "their ids, letter by letter", "0 values", AsAllowed, |house| {
            let template = "bkend://orgs/{orgId}/projects";
            house.twice(|ids| try_::completion(house, template, "orgId", ids.get("orgId"), json!({}))).into()
        }),
        way("cross-tenant", "what lies below their ids", "0 values", AsAllowed, |house| {
            let template = "bkend://orgs/{orgId}/projects/{projectId}/environments";
            house.twice(|ids| try_::completion(house, template, "projectId", "", json!({"orgId": ids.get("orgId")}))).into()
        }),
        way("cross-tenant", "the versions of their table", "0 values", AsAllowed, |house| {
            let template = "bkend://orgs/{orgId}/projects/{projectId}/environments/{envId}/tables/{tableId}/schema/versions/{n}";
            house.twice(|ids| try_::completion(house, template, "n", "", json!({"tableId": ids.get("tableId")}))).into()
        }),
        way("cross-tenant", "their agents' events in our trail", "0 events", AsAllowed, |house| {
            // As long as each other, so that the answers are.
            vec![try_::events_of(house, "owner"), try_::events_of(house, "nobod")].into()
        }),
        way("cross-tenant", "a tenant as an argument", "200 VALIDATION_ERROR", In(INTRUDER), |house| {
            let arguments = |tenant: &str| json!({"organizationId": "org_abc123", "tenant_id": tenant});
            let send = |tenant: &str| house.send(&house.tool(&house.intruder, "backend_org_get", arguments(tenant)));
            vec![send(VICTIM), send("nobody")].into()
        }),
        way("cross-tenant", "a tenant in _meta", "200 NOT_FOUND", In(INTRUDER), |house| {
            house.twice(|ids| {
                let mut body: Value = serde_json::from_slice(&good(house).body.unwrap()).unwrap();
                let uri = format!("bkend://orgs/{}", ids.get("orgId"));
                body["params"]["uri"] = uri.as_str().into();
                body["params"]["_meta"]["tenant"] = house.place.tenant_id(VICTIM).into();
                body["params"]["_meta"]["dev.quadrivium/tenant"] = VICTIM.into();
                house.send(&without(good(house), "Mcp-Name").header("Mcp-Name", &uri).body(body.to_string()))
            }).into()
        }),
        way("cross-tenant", "another scheme's endpoint", "200 NOT_FOUND", In(INTRUDER), |house| {
            house.twice(|ids| {
                let uri = format!("audit://events/{}", ids.get("id"));
                let request = house.modern(&house.intruder, "resources/read", json!({"uri": uri}));
                house.send(&Request { path: "/mcp/bkend".to_owned(), ..request })
            }).into()
        }),

        // Paths.
        way("path", "dots between endpoints", "404 NOT_FOUND", Nowhere, |house| try_::path(house, "/mcp/../v1/resources?uri=bkend://orgs")),
        way("path", "encoded dots between endpoints", "404 NOT_FOUND", Nowhere, |house| try_::path(house, "/mcp/%2e%2e/v1/resources?uri=bkend://orgs")),
        way("path", "an encoded slash in an endpoint", "404 NOT_FOUND", Nowhere, |house| try_::path(house, "/v1%2fresources?uri=bkend://orgs")),
        way("path", "a doubled slash before an endpoint", "404 NOT_FOUND", Nowhere, |house| try_::path(house, "//v1/resources?uri=bkend://orgs")),
        way("path", "an encoded NUL behind an endpoint", "404 NOT_FOUND", Nowhere, |house| try_::path(house, "/v1/resources%00?uri=bkend://orgs")),
        way("path", "overlong dots", "404 NOT_FOUND", Nowhere, |house| try_::path(house, "/%c0%ae%c0%ae/v1/resources?uri=bkend://orgs")),
        way("path", "a backslash", "404 NOT_FOUND", Nowhere, |house| try_::path(house, "/mcp/..%5cv1%5cresources?uri=bkend://orgs")),
        way("path", "an endpoint of a scheme that is a path", "404 NOT_FOUND", Nowhere, |house| {
            house.send(&Request { path: "/mcp/..%2f..%2fetc".to_owned(), ..good(house) }).into()
        }),
        way("path", "dots in an address", "INVALID_URI", In(INTRUDER), |house| try_::address(house, "bkend://orgs/org_other/../org_abc123")),
        way("path", "encoded dots in an address", "INVALID_URI", In(INTRUDER), |house| try_::address(house, "bkend://orgs/%2e%2e/orgs/org_abc123")),
        way("path", "an encoded slash in an address", "INVALID_URI", In(INTRUDER), |house| try_::address(house, "bkend://orgs/org_other%2Fprojects")),
        way("path", "a NUL in an address", "INVALID_URI", In(INTRUDER), |house| try_::address(house, "bkend://orgs/org_abc123%00")),
        way("path", "overlong UTF-8 in an address", "INVALID_URI", In(INTRUDER), |house| try_::address(house, "bkend://orgs/%c0%ae%c0%ae/org_abc123")),
        way("path", "a backslash in an address", "INVALID_URI", In(INTRUDER), |house| try_::address(house, "bkend://orgs\\org_abc123")),
        way("path", "somebody's name in an address", "INVALID_URI", In(INTRUDER), |house| try_::address(house, "bkend://owner@orgs/org_abc123")),
        way("path", "a file as an address", "INVALID_URI", In(INTRUDER), |house| try_::address(house, "file:///etc/passwd")),
        way("path", "an address that is not UTF-8 once decoded", "400 VALIDATION_ERROR", In(INTRUDER), |house| {
            house.send(&bearing(Request::new("GET", "/v1/resources?uri=bkend://orgs/%c0%ae"), &house.intruder)).into()
        }),
        way("path", "two addresses in one query", "400 VALIDATION_ERROR", In(INTRUDER), |house| {
            house.send(&bearing(Request::new("GET", "/v1/resources?uri=bkend://orgs&uri=bkend://orgs/org_abc123"), &house.intruder)).into()
        }),

        // Headers.
        way("header", "a foreign host", "403 HOST_NOT_ALLOWED", System("foreign_host"), |house| house.send(&good(house).header("Host", "evil.example")).into()),
        way("header", "a host that begins like ours", "403 HOST_NOT_ALLOWED", System("foreign_host"), |house| {
            house.send(&good(house).header("Host", "localhost.evil.example")).into()
        }),
        way("header", "two hosts", "403 HOST_NOT_ALLOWED", System("foreign_host"), |house| {
            house.send(&good(house).header("Host", "localhost").header("Host", "evil.example")).into()
        }),
        way("header", "a foreign host in the request line", "403 HOST_NOT_ALLOWED", System("foreign_host"), |house| {
            house.send(&Request { path: "http://evil.example/mcp".to_owned(), ..good(house).header("Host", "localhost") }).into()
        }),
        way("header", "a foreign host, forwarded as ours", "403 HOST_NOT_ALLOWED", System("foreign_host"), |house| {
            house.send(&good(house).header("Host", "evil.example").header("X-Forwarded-Host", "localhost").header("Forwarded", "host=localhost")).into()
        }),
        way("header", "a user whom a proxy would vouch for", "401 missing", System("missing"), |house| {
            let request = without(good(house), "Authorization").header("X-Forwarded-User", "owner").header("X-Forwarded-For", "127.0.0.1");
            house.send(&request.header("X-Real-IP", "127.0.0.1").header("Forwarded", "for=127.0.0.1;by=127.0.0.1")).into()
        }),
        way("header", "a tenant's name", "404 NOT_FOUND", In(INTRUDER), |house| {
            house.twice(|ids| {
                let request = house.twin(&house.intruder, &format!("bkend://orgs/{}", ids.get("orgId"))).header("X-Tenant", VICTIM);
                house.send(&request.header("X-Tenant-Id", &house.place.tenant_id(VICTIM)).header("Quad-Tenant", VICTIM))
            }).into()
        }),
        way("header", "another method than the body's", "400 HEADER_MISMATCH", In(INTRUDER), |house| {
            house.send(&without(good(house), "Mcp-Method").header("Mcp-Method", "resources/list")).into()
        }),
        way("header", "another name than the body's", "400 HEADER_MISMATCH", In(INTRUDER), |house| {
            house.send(&without(good(house), "Mcp-Name").header("Mcp-Name", "bkend://context")).into()
        }),
        way("header", "two names, one of them the body's", "400 HEADER_MISMATCH", In(INTRUDER), |house| {
            house.send(&good(house).header("Mcp-Name", "bkend://context")).into()
        }),
        way("header", "no name", "400 HEADER_MISMATCH", In(INTRUDER), |house| house.send(&without(good(house), "Mcp-Name")).into()),
        way("header", "another revision than the body's", "400 HEADER_MISMATCH", In(INTRUDER), |house| {
            house.send(&without(good(house), "MCP-Protocol-Version").header("MCP-Protocol-Version", "2025-11-25")).into()
        }),
        way("header", "a revision that there is not", "400 UNSUPPORTED_PROTOCOL_VERSION", In(INTRUDER), |house| {
            let request = house.legacy(&house.intruder, None, "resources/list", json!({}));
            house.send(&without(request, "MCP-Protocol-Version").header("MCP-Protocol-Version", "1900-01-01")).into()
        }),
        way("header", "a form, as a page can send it unasked", "415 UNSUPPORTED_MEDIA_TYPE", In(INTRUDER), |house| {
            house.send(&without(good(house), "Content-Type").header("Content-Type", "text/plain")).into()
        }),
        way("header", "another verb than the request's", "404 NOT_FOUND", In(INTRUDER), |house| {
            house.twice(|ids| {
                let request = house.twin(&house.intruder, &format!("bkend://orgs/{}", ids.get("orgId")));
                house.send(&request.header("X-HTTP-Method-Override", "DELETE").header("X-Original-URL", "/metrics"))
            }).into()
        }),
        way("header", "headers as large as a book", "431 HEADERS_TOO_LARGE", Nowhere, |house| house.send(&good(house).header("X-Padding", &"x".repeat(70_000))).into()),
        way("header", "more headers than anybody sends", "431 TOO_MANY_HEADERS", Nowhere, |house| {
            house.send(&(0..70).fold(good(house), |request, n| request.header(&format!("X-Header-{n}"), "x"))).into()
        }),
        way("header", "a body longer than it may be", "413 BODY_TOO_LARGE", In(INTRUDER), |house| {
            let request = Request { body: None, ..good(house) };
            house.send(&request.header("Content-Length", "5242880").header("Connection", "close")).into()
        }),
        way("header", "a second request inside the first", "1 reply 400", In(INTRUDER), try_::smuggled),

        // Bodies.
        way("body", "two methods in one message", "400 INVALID_REQUEST", In(INTRUDER), |house| {
            let body = r#"{"jsonrpc":"2.0","id":1,"method":"ping","method":"resources/list","params":{}}"#;
            house.send(&bearing(post(body), &house.intruder)).into()
        }),
        way("body", "two addresses in one message", "400 INVALID_META", In(INTRUDER), |house| {
            let body = String::from_utf8(good(house).body.unwrap()).unwrap();
            house.send(&good(house).body(body.replace(r#""uri":"#, r#""uri":"bkend://context","uri":"#))).into()
        }),
        way("body", "what is no message", "400 PARSE_ERROR", In(INTRUDER), |house| house.send(&bearing(post("{"), &house.intruder)).into()),
        way("body", "a method that there is not", "404 METHOD_NOT_FOUND", In(INTRUDER), |house| {
            house.send(&house.modern(&house.intruder, "tenants/switch", json!({"tenant": VICTIM}))).into()
        }),
        way("body", "foreign things in a batch", "200 NOT_FOUND+METHOD_NOT_FOUND", In(INTRUDER), |house| {
            let read = |id: u8, method: &str| json!({"jsonrpc": "2.0", "id": id, "method": method, "params": {"uri": "bkend://orgs/org_abc123"}});
            let batch = json!([read(1, "resources/read"), read(2, "tenants/switch")]);
            house.send(&bearing(post(batch), &house.intruder).header("MCP-Protocol-Version", "2025-03-26")).into()
        }),

        // Pages of others.
        way("origin", "a foreign page", "403 ORIGIN_NOT_ALLOWED", System("foreign_origin"), |house| house.send(&good(house).header("Origin", "https://evil.example")).into()),
        way("origin", "a page without an origin", "403 ORIGIN_NOT_ALLOWED", System("foreign_origin"), |house| house.send(&good(house).header("Origin", "null")).into()),
        way("origin", "a page whose name begins like ours", "403 ORIGIN_NOT_ALLOWED", System("foreign_origin"), |house| {
            house.send(&good(house).header("Origin", "http://localhost.evil.example")).into()
        }),
        way("origin", "a page whose name ends like ours", "403 ORIGIN_NOT_ALLOWED", System("foreign_origin"), |house| {
            house.send(&good(house).header("Origin", "http://evil-localhost")).into()
        }),
        way("origin", "a page with our name as its user", "403 ORIGIN_NOT_ALLOWED", System("foreign_origin"), |house| {
            house.send(&good(house).header("Origin", "http://localhost@evil.example")).into()
        }),
        way("origin", "a file", "403 ORIGIN_NOT_ALLOWED", System("foreign_origin"), |house| house.send(&good(house).header("Origin", "file://localhost")).into()),
        way("origin", "our page and a foreign one", "403 ORIGIN_NOT_ALLOWED", System("foreign_origin"), |house| {
            house.send(&good(house).header("Origin", "http://localhost").header("Origin", "http://evil.example")).into()
        }),
        way("origin", "a foreign page that asks first", "403 ORIGIN_NOT_ALLOWED", System("foreign_origin"), |house| {
            let asking = Request::new("OPTIONS", "/mcp").header("Origin", "https://evil.example");
            house.send(&asking.header("Access-Control-Request-Method", "POST")).into()
        }),

        // What others have read before.
        way("cache", "what the victim has just read", "404 NOT_FOUND", In(INTRUDER), |house| {
            try_::warmed(house, "bkend://orgs/org_abc123");
            house.twice(|ids| house.send(&house.twin(&house.intruder, &format!("bkend://orgs/{}", ids.get("orgId"))))).into()
        }),
        way("cache", "what the victim has just read, by its tag", "404 NOT_FOUND", In(INTRUDER), |house| {
            let tag = try_::warmed(house, "bkend://orgs/org_abc123");
            house.twice(|ids| {
                let request = house.twin(&house.intruder, &format!("bkend://orgs/{}", ids.get("orgId")));
                house.send(&request.header("If-None-Match", &tag))
            }).into()
        }),
        way("cache", "whatever the victim has just read, by any tag", "404 NOT_FOUND", In(INTRUDER), |house| {
            try_::warmed(house, "bkend://orgs/org_abc123");
            house.twice(|ids| {
                let request = house.twin(&house.intruder, &format!("bkend://orgs/{}", ids.get("orgId")));
                house.send(&request.header("If-None-Match", "*"))
            }).into()
        }),
        way("cache", "a part of what the victim has just read", "404 NOT_FOUND", In(INTRUDER), |house| {
            let tag = try_::warmed(house, "bkend://orgs/org_abc123");
            house.twice(|ids| {
                let request = house.twin(&house.intruder, &format!("bkend://orgs/{}", ids.get("orgId")));
                house.send(&request.header("Range", "bytes=0-0").header("If-Range", &tag))
            }).into()
        }),
        way("cache", "what a colleague with more scopes has just read", "403 SCOPE_INSUFFICIENT", In(VICTIM), |house| {
            try_::warmed(house, &house.rows());
            let template = "bkend://orgs/{orgId}/projects/{projectId}/environments/{envId}/tables/{tableId}/rows";
            house.twice(|ids| house.send(&house.twin(&house.visitor, &ids.expand(template)))).into()
        }),
        way("cache", "the same, by its tag", "403 SCOPE_INSUFFICIENT", In(VICTIM), |house| {
            let tag = try_::warmed(house, &house.rows());
            house.send(&house.twin(&house.visitor, &house.rows()).header("If-None-Match", &tag)).into()
        }),
        way("cache", "a wider view of the same address", "0 projects", AsAllowed, try_::narrow_view),

        // Pages of lists.
        way("cursor", "a cursor with another letter in it", "200 INVALID_CURSOR", In(INTRUDER), |house| {
            let mut cursor = try_::list_cursor(house, &house.intruder).into_bytes();
            cursor[4] = if cursor[4] == b'A' { b'B' } else { b'A' };
            try_::list_from(house, &String::from_utf8(cursor).unwrap()).into()
        }),
        way("cursor", "a cursor that lacks its end", "200 INVALID_CURSOR", In(INTRUDER), |house| {
            let cursor = try_::list_cursor(house, &house.intruder);
            try_::list_from(house, &cursor[..cursor.len() - 4]).into()
        }),
        way("cursor", "the victim's cursor", "200 INVALID_CURSOR", In(INTRUDER), |house| {
            try_::list_from(house, &try_::list_cursor(house, &house.owner)).into()
        }),
        way("cursor", "the victim's cursor of its trail", "400 INVALID_CURSOR", In(INTRUDER), |house| {
            try_::audit_from(house, "", &try_::audit_cursor(house, &house.owner)).into()
        }),
        way("cursor", "a cursor of the trail for another question", "400 INVALID_CURSOR", In(INTRUDER), |house| {
            let cursor = try_::audit_cursor(house, &house.intruder);
            try_::audit_from(house, "outcome=refused&", &cursor).into()
        }),
        way("cursor", "a cursor of the trail for the list", "200 INVALID_CURSOR", In(INTRUDER), |house| {
            try_::list_from(house, &try_::audit_cursor(house, &house.intruder)).into()
        }),
        way("cursor", "a cursor of the list for the trail", "400 INVALID_CURSOR", In(INTRUDER), |house| {
            try_::audit_from(house, "", &try_::list_cursor(house, &house.intruder)).into()
        }),
        way("cursor", "a cursor for a list that gives none", "200 INVALID_CURSOR", In(INTRUDER), |house| {
            let cursor = try_::list_cursor(house, &house.intruder);
            house.send(&house.modern(&house.intruder, "tools/list", json!({"cursor": cursor}))).into()
        }),

        // Watching.
        way("subscription", "to what the victim has, in a session", "200 NOT_FOUND", In(INTRUDER), |house| {
            let session = house.session(&house.intruder);
            house.twice(|ids| {
                let uri = format!("bkend://orgs/{}", ids.get("orgId"));
                house.send(&house.legacy(&house.intruder, Some(&session), "resources/subscribe", json!({"uri": uri})))
            }).into()
        }),
        way("subscription", "to what the victim has, by a stream", "0 of theirs", AsAllowed, |house| {
            let theirs = try_::listening_to(house, &house.rows());
            let nobodys = try_::listening_to(house, "bkend://tables/tbl_nobody");
            vec![theirs, nobodys].into()
        }),
        way("subscription", "without the scope", "403 SCOPE_INSUFFICIENT", In(VICTIM), |house| {
            let session = house.session(&house.visitor);
            let template = "bkend://orgs/{orgId}/projects/{projectId}/environments/{envId}/tables";
            house.twice(|ids| {
                let params = json!({"uri": ids.expand(template)});
                house.send(&house.legacy(&house.visitor, Some(&session), "resources/subscribe", params))
            }).into()
        }),
        way("subscription", "in somebody else's session", "404 SESSION_NOT_FOUND", In(INTRUDER), |house| {
            let session = house.session(&house.owner);
            house.send(&house.legacy(&house.intruder, Some(&session), "resources/subscribe", json!({"uri": "bkend://orgs"}))).into()
        }),
        way("subscription", "without a session", "400 SESSION_MISSING", In(INTRUDER), |house| {
            house.send(&house.legacy(&house.intruder, None, "resources/subscribe", json!({"uri": "bkend://orgs"}))).into()
        }),
        way("subscription", "a stream that goes on after its token was revoked", "0 notices, then the end", AsAllowed, |house| {
            let token = house.agent("revoked-listener", &[]);
            try_::listening_on(house, &token, || house.revoke("revoked-listener")).into()
        }),
        way("subscription", "a session's stream that goes on after its token was revoked", "0 notices, then the end", AsAllowed, |house| {
            let token = house.agent("revoked-session", &[]);
            try_::session_listening_on(house, &token, || house.revoke("revoked-session")).into()
        }),
        way("subscription", "a stream that goes on after its agent was narrowed", "0 notices, then the end", AsAllowed, |house| {
            let token = house.agent("narrowed-listener", &[]);
            let narrow = ["agent", "register", "narrowed-listener", "--scope", "organization:read", "--tenant", VICTIM];
            try_::listening_on(house, &token, || { house.place.run(&narrow); }).into()
        }),

        // Templates.
        way("template", "a template that is not filled in", "INVALID_URI", In(INTRUDER), |house| try_::address(house, "bkend://orgs/{orgId}")),
        way("template", "a quote in an id", "INVALID_URI", In(INTRUDER), |house| try_::address(house, "bkend://orgs/org_abc123'--")),
        way("template", "a statement in an id", "INVALID_URI", In(INTRUDER), |house| {
            try_::address(house, &format!("bkend://orgs/{}", escaped("x' OR tenant_id <> '")))
        }),
        way("template", "a pattern in an id", "INVALID_URI", In(INTRUDER), |house| try_::address(house, "bkend://orgs/org_%25")),
        way("template", "a star for every id", "INVALID_URI", In(INTRUDER), |house| try_::address(house, "bkend://orgs/*")),
        way("template", "an id longer than ids are", "INVALID_URI", In(INTRUDER), |house| try_::address(house, &format!("bkend://orgs/{}", "x".repeat(65)))),
        way("template", "a tenant as a query key", "INVALID_URI", In(INTRUDER), |house| try_::address(house, "bkend://orgs/org_abc123?tenant=victim")),
        way("template", "a query key twice", "INVALID_URI", In(INTRUDER), |house| try_::address(house, "bkend://tables?page=1&page=2")),
        way("template", "another letter for an endpoint's literal", "INVALID_URI", In(INTRUDER), |house| try_::address(house, "bkend://ORGS/org_abc123")),
        way("template", "an address with a fragment", "INVALID_URI", In(INTRUDER), |house| try_::address(house, "bkend://orgs#org_abc123")),
        way("template", "an address longer than addresses are", "INVALID_URI", In(INTRUDER), |house| try_::address(house, &format!("bkend://orgs/{}", "x/".repeat(5_000)))),
        way("template", "a completion of no template", "200 VALIDATION_ERROR", In(INTRUDER), |house| {
            try_::completion(house, "bkend://orgs/{orgId}/{+rest}", "rest", "", json!({})).into()
        }),
        way("template", "a completion of no variable", "200 VALIDATION_ERROR", In(INTRUDER), |house| {
            try_::completion(house, "bkend://orgs/{orgId}", "tenant", "", json!({})).into()
        }),

        // Doors without a lock.
        way("door", "--no-auth on every address", "exit 2 refused", Nowhere, |house| try_::open_to_the_world(house, &["--no-auth", "--listen", "0.0.0.0:0"], &[])),
        way("door", "--no-auth on every address of IPv6", "exit 2 refused", Nowhere, |house| try_::open_to_the_world(house, &["--no-auth", "--listen", "[::]:0"], &[])),
        way("door", "QUAD_NO_AUTH on every address", "exit 2 refused", Nowhere, |house| {
            try_::open_to_the_world(house, &["--listen", "0.0.0.0:0"], &[("QUAD_NO_AUTH", "true")])
        }),
        way("door", "--no-auth where only the settings name the address", "exit 2 refused", Nowhere, |house| {
            try_::open_to_the_world(house, &["--no-auth", "--allowed-hosts", "*"], &[("QUAD_LISTEN", "0.0.0.0:0")])
        }),
        way("door", "a foreign name for a server without tokens", "403 HOST_NOT_ALLOWED", Nowhere, |house| try_::open_to_a_page(house, "Host", "evil.example")),
        way("door", "a foreign page, to a server without tokens", "403 ORIGIN_NOT_ALLOWED", Nowhere, |house| {
            try_::open_to_a_page(house, "Origin", "http://evil.example")
        }),
    ]
}

#[test]
fn no_way_in_works() {
    std::thread::scope(|scope| {
        for place in Place::on_each_backend() {
            scope.spawn(|| try_all(place));
        }
    });
}

fn try_all(place: Place) {
    let backend = place.backend;
    let house = House::new(place);
    let mut ledger = Ledger::new(&house);
    let mut faults: Vec<String> = Vec::new();
    for way in ways() {
        let Tried(groups) = (way.tried)(&house);
        ledger.expect(way.audited, groups.iter().flatten().map(Answer::refusals).sum());
        let found = groups.iter().filter_map(|group| fault(&way, group)).chain(ledger.fault(&house));
        faults.extend(found.map(|fault| format!("{backend}, {}: {}: {fault}", way.of, way.name)));
    }
    assert!(faults.is_empty(), "{} faults\n\n{}", faults.len(), faults.join("\n\n"));
    nothing_was_changed(&house);
    ledger.close(house);
}

/// What is wrong with answers that must be equal and say what the table says.
fn fault(way: &Way, group: &[Answer]) -> Option<String> {
    for Answer { said, bytes } in group {
        if said != way.back {
            return Some(format!("{said:?} instead of {:?}\n{bytes}", way.back));
        }
        if let Some(secret) = SECRETS.iter().find(|secret| bytes.contains(**secret)) {
            return Some(format!("it tells {secret}\n{bytes}"));
        }
    }
    let differs = group.iter().find(|answer| answer.bytes != group[0].bytes)?;
    Some(format!("it tells existing from absent\n{}\n----\n{}", group[0].bytes, differs.bytes))
}

/// What must be in the chains by now.
struct Ledger {
    refused: BTreeMap<&'static str, u64>,
    unproven: BTreeMap<String, u64>,
}

impl Ledger {
    fn new(house: &House) -> Ledger {
        let refused =
            [VICTIM, INTRUDER].map(|tenant| (tenant, refusals(&house.place, tenant).iter().map(count).sum()));
        Ledger { refused: refused.into(), unproven: BTreeMap::new() }
    }

    fn expect(&mut self, audited: Audited, attempts: u64) {
        match audited {
            In(tenant) => *self.refused.get_mut(tenant).unwrap() += attempts,
            System(reason) => *self.unproven.entry(reason.to_owned()).or_default() += attempts,
            AsAllowed | Nowhere => {}
        }
    }

    /// What is wrong with the tenants' chains: each must have the refusals that it must have, and no other. Those of credentials
    /// may come a second late.
    fn fault(&mut self, house: &House) -> Option<String> {
        let mut fault = None;
        for (tenant, expected) in &mut self.refused {
            let deadline = std::time::Instant::now() + crate::http::IO_TIMEOUT;
            let counted = || refusals(&house.place, tenant).iter().map(count).sum::<u64>();
            let mut found = counted();
            while found < *expected && std::time::Instant::now() < deadline {
                std::thread::sleep(std::time::Duration::from_millis(20));
                found = counted();
            }
            if found != *expected {
                fault = Some(format!("the {tenant} has {found} refusals instead of {expected}"));
                *expected = found;
            }
        }
        fault
    }

    /// The same for the system's chain, once the server has written down everything; and nobody's name is in another's chain.
    fn close(self, house: House) {
        let House { place, server, .. } = house;
        server.stop();
        let mut unproven: BTreeMap<String, u64> = BTreeMap::new();
        for event in trail::events(&place, "system").iter().filter(|event| event["outcome"] == "refused") {
            assert_eq!(event["actor"], "anonymous", "{event:#}");
            *unproven.entry(event["inputs"]["reason"].as_str().unwrap().to_owned()).or_default() +=
                count(event);
        }
        assert_eq!(unproven, self.unproven, "{}", place.backend);
        let is_of = |event: &Value, name: &str| event["actor"] == name;
        assert!(!trail::verify(&place, VICTIM).iter().any(|event| is_of(event, "intruder")));
        assert!(
            !trail::verify(&place, INTRUDER)
                .iter()
                .any(|event| is_of(event, "owner") || is_of(event, "visitor"))
        );
    }
}

fn refusals(place: &Place, tenant: &str) -> Vec<Value> {
    let events = trail::events(place, &place.tenant_id(tenant));
    events.into_iter().filter(|event| event["outcome"] == "refused").collect()
}

/// How many attempts an event stands for: refused credentials are counted.
fn count(event: &Value) -> u64 {
    event["inputs"]["count"].as_u64().unwrap_or(1)
}

/// Whatever was tried, the victim's things are as they were.
fn nothing_was_changed(house: &House) {
    let table = house.contents(&house.owner, "bkend://tables/tbl_users");
    assert_eq!(table["fields"].as_array().map(Vec::len), Some(4), "{table:#}");
    let row = house.call(
        &house.owner,
        "backend_data_get",
        json!({"tableId": "tbl_users", "recordId": "rec_abc123"}),
    );
    assert_eq!((&row["name"], &row["email"]), (&json!("Ada"), &json!("ada@example.org")));
    let all = house.contents(&house.owner, &house.rows()).to_string();
    assert!(!all.to_lowercase().contains("mallory"), "{all}");
    let organization = house.contents(&house.owner, "bkend://orgs/org_abc123");
    assert_eq!(organization["name"], "My Organization");
}

#[test]
fn there_are_at_least_fifty_five() {
    let mut names: Vec<(&str, &str)> = ways().iter().map(|way| (way.of, way.name)).collect();
    let rows = names.len();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), rows, "two ways have one name");
    assert!(rows >= 55, "{rows}");
    let kinds = [
        "forged",
        "replayed",
        "cross-tenant",
        "path",
        "header",
        "origin",
        "cache",
        "cursor",
        "subscription",
        "template",
        "quarantined",
    ];
    for kind in kinds {
        assert!(names.iter().filter(|(of, _)| *of == kind).count() >= 4, "{kind}");
    }
}
