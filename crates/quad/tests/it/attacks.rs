//! Ways in that must not work.
//!
//! One table, one row a way: what it is called, how it is tried, what must come back, and where it must be written down. Every
//! row is tried against a running `quad serve` with two tenants on it. What comes back about the victim's things must be, byte
//! for byte, what comes back about things that nobody has; the chains of both tenants must have exactly the refusals that the
//! table says, and the system's chain those of callers that had proven nothing.

mod fixture;
mod forged_tokens;
mod multi_step;
mod normalized_response;

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::audit_chain;
use crate::http::Request;
use crate::instance::TestInstance;
use fixture::{AttackFixture, INTRUDER, VICTIM, percent_encode, post_request, with_token, without_header};
use normalized_response::{NormalizedResponse, Responses};

/// What only the victim may ever see.
const VICTIM_SECRETS: [&str; 3] = ["ada@example.org", "my-app", "Noise"];

/// Where an attempt must be written down.
#[derive(Clone, Copy, Debug)]
enum ExpectedAudit {
    /// As a refusal in the chain of the tenant that the caller has proven.
    TenantChain(&'static str),
    /// In the system's chain, for this reason: no tenant is proven.
    SystemChain(&'static str),
    /// As a call that was allowed and showed nothing.
    AllowedEvent,
    /// Nowhere: it was not even a request, or not one to a server that keeps a chain.
    NoEvent,
}

use ExpectedAudit::{AllowedEvent, NoEvent, SystemChain, TenantChain};

/// One row.
struct AttackCase {
    category: &'static str,
    name: &'static str,
    expected_outcome: &'static str,
    expected_audit: ExpectedAudit,
    run: fn(&AttackFixture) -> Responses,
}

fn case(
    category: &'static str,
    name: &'static str,
    expected_outcome: &'static str,
    expected_audit: ExpectedAudit,
    run: fn(&AttackFixture) -> Responses,
) -> AttackCase {
    AttackCase { category, name, expected_outcome, expected_audit, run }
}

/// A read with a token, as whoever forged it would try it.
fn read_orgs_with(fixture: &AttackFixture, token: &str) -> Responses {
    fixture.send(&fixture.plain_read_request(token, "bkend://orgs")).into()
}

/// A good modern read by the intruder, to be spoilt.
fn valid_request(fixture: &AttackFixture) -> Request {
    fixture.modern_request(&fixture.intruder_token, "resources/read", json!({"uri": "bkend://orgs"}))
}

#[rustfmt::skip]
fn cases() -> Vec<AttackCase> {
    vec![
        // Tokens that nobody gave out.
        case("forged", "no signature at all, alg none", "401 algorithm", SystemChain("algorithm"), |fixture| {
            let token = forged_tokens::edit_token(fixture, |parts| { parts.header["alg"] = "none".into(); parts.signature.clear(); });
            read_orgs_with(fixture, &token)
        }),
        case("forged", "alg none in another spelling", "401 algorithm", SystemChain("algorithm"), |fixture| {
            let token = forged_tokens::edit_token(fixture, |parts| { parts.header["alg"] = "nOnE".into(); parts.signature.clear(); });
            read_orgs_with(fixture, &token)
        }),
        case("forged", "alg HS256 under the public key", "401 algorithm", SystemChain("algorithm"), |fixture| {
            let mut parts = forged_tokens::with_victim_tenant(fixture);
            parts.header["alg"] = "HS256".into();
            read_orgs_with(fixture, &parts.sign_with_hmac(&forged_tokens::server_public_key(fixture)))
        }),
        case("forged", "the MAC of the public key under alg EdDSA", "401 bad_signature", SystemChain("bad_signature"), |fixture| {
            read_orgs_with(fixture, &forged_tokens::with_victim_tenant(fixture).sign_with_hmac(&forged_tokens::server_public_key(fixture)))
        }),
        case("forged", "no algorithm", "401 algorithm", SystemChain("algorithm"), |fixture| {
            read_orgs_with(fixture, &forged_tokens::edit_token(fixture, |parts| { parts.header.as_object_mut().unwrap().remove("alg"); }))
        }),
        case("forged", "the name of a key that is none", "401 unknown_key", SystemChain("unknown_key"), |fixture| {
            read_orgs_with(fixture, &forged_tokens::edit_token(fixture, |parts| parts.header["kid"] = "0000000000000000".into()))
        }),
        case("forged", "a path as the name of a key", "401 unknown_key", SystemChain("unknown_key"), |fixture| {
            read_orgs_with(fixture, &forged_tokens::edit_token(fixture, |parts| parts.header["kid"] = "../../../../dev/null".into()))
        }),
        case("forged", "no name of a key", "401 unknown_key", SystemChain("unknown_key"), |fixture| {
            read_orgs_with(fixture, &forged_tokens::edit_token(fixture, |parts| { parts.header.as_object_mut().unwrap().remove("kid"); }))
        }),
        case("forged", "a foreign key under our key's name", "401 bad_signature", SystemChain("bad_signature"), |fixture| {
            read_orgs_with(fixture, &forged_tokens::with_victim_tenant(fixture).sign_with_foreign_key())
        }),
        case("forged", "a foreign key that the token brings along", "401 bad_signature", SystemChain("bad_signature"), |fixture| {
            let mut parts = forged_tokens::with_victim_tenant(fixture);
            parts.header["jwk"] = forged_tokens::foreign_public_jwk();
            parts.header["jku"] = "https://evil.example/jwks.json".into();
            read_orgs_with(fixture, &parts.sign_with_foreign_key())
        }),
        case("forged", "a signature that lacks its last byte", "401 bad_signature", SystemChain("bad_signature"), |fixture| {
            read_orgs_with(fixture, &forged_tokens::edit_signature(fixture, |signature| { signature.pop(); }))
        }),
        case("forged", "a signature with a byte too many", "401 bad_signature", SystemChain("bad_signature"), |fixture| {
            read_orgs_with(fixture, &forged_tokens::edit_signature(fixture, |signature| signature.push(0)))
        }),
        case("forged", "an empty signature", "401 bad_signature", SystemChain("bad_signature"), |fixture| {
            read_orgs_with(fixture, &forged_tokens::edit_signature(fixture, Vec::clear))
        }),
        case("forged", "a signature plus the order of its group", "401 bad_signature", SystemChain("bad_signature"), |fixture| {
            read_orgs_with(fixture, &forged_tokens::edit_signature(fixture, |signature| forged_tokens::malleate_signature(signature)))
        }),
        case("forged", "a signature in another spelling", "401 malformed", SystemChain("malformed"), |fixture| {
            // 64 bytes leave four bits unused in the last letter; a careless decoder does not look at them.
            let (rest, last) = fixture.intruder_token.split_at(fixture.intruder_token.len() - 1);
            let alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
            let index = alphabet.find(last).unwrap();
            read_orgs_with(fixture, &format!("{rest}{}", &alphabet[index + 1..index + 2]))
        }),
        case("forged", "a padded signature", "401 malformed", SystemChain("malformed"), |fixture| {
            read_orgs_with(fixture, &format!("{}==", fixture.intruder_token))
        }),
        case("forged", "somebody else's claims under our signature", "401 bad_signature", SystemChain("bad_signature"), |fixture| {
            let owner = forged_tokens::TokenParts::parse(&fixture.owner_token);
            read_orgs_with(fixture, &forged_tokens::edit_token(fixture, |parts| parts.claims = owner.claims))
        }),
        case("forged", "another tenant in our own claims", "401 bad_signature", SystemChain("bad_signature"), |fixture| {
            read_orgs_with(fixture, &forged_tokens::with_victim_tenant(fixture).to_token())
        }),
        case("forged", "one more scope in our own claims", "401 bad_signature", SystemChain("bad_signature"), |fixture| {
            let mut parts = forged_tokens::TokenParts::parse(&fixture.limited_token);
            parts.claims["scope"] = "*:*".into();
            read_orgs_with(fixture, &parts.to_token())
        }),
        case("forged", "the tenant of system", "401 bad_signature", SystemChain("bad_signature"), |fixture| {
            read_orgs_with(fixture, &forged_tokens::edit_token(fixture, |parts| parts.claims["tenant_id"] = "system".into()))
        }),
        case("forged", "a claim that stands twice", "401 duplicate_claim", SystemChain("duplicate_claim"), |fixture| {
            let parts = forged_tokens::TokenParts::parse(&fixture.intruder_token);
            let claims = forged_tokens::with_duplicate_member(&parts.claims, &format!(r#""tenant_id":"{}""#, fixture.instance.tenant_id(VICTIM)));
            read_orgs_with(fixture, &forged_tokens::with_signature(&forged_tokens::signing_input(&parts.header.to_string(), &claims), &parts.signature))
        }),
        case("forged", "an algorithm that stands twice", "401 duplicate_claim", SystemChain("duplicate_claim"), |fixture| {
            let parts = forged_tokens::TokenParts::parse(&fixture.intruder_token);
            let header = forged_tokens::with_duplicate_member(&parts.header, r#""alg":"none""#);
            read_orgs_with(fixture, &forged_tokens::with_signature(&forged_tokens::signing_input(&header, &parts.claims.to_string()), &parts.signature))
        }),
        case("forged", "a header that must be understood", "401 malformed", SystemChain("malformed"), |fixture| {
            read_orgs_with(fixture, &forged_tokens::edit_token(fixture, |parts| { parts.header["crit"] = json!(["b64"]); parts.header["b64"] = false.into(); }))
        }),
        case("forged", "a token of four parts", "401 malformed", SystemChain("malformed"), |fixture| {
            read_orgs_with(fixture, &format!("{}.{}", fixture.intruder_token, fixture.intruder_token.rsplit('.').next().unwrap()))
        }),
        case("forged", "two tokens in one header", "401 malformed", SystemChain("malformed"), |fixture| {
            read_orgs_with(fixture, &format!("{}, Bearer {}", fixture.intruder_token, fixture.owner_token))
        }),
        case("forged", "two headers with a token each", "400 INVALID_REQUEST", SystemChain("several_credentials"), |fixture| {
            let send_in_order = |first: &str, second: &str| fixture.send(&with_token(fixture.plain_read_request(first, "bkend://orgs"), second));
            vec![send_in_order(&fixture.intruder_token, &fixture.owner_token), send_in_order(&fixture.owner_token, &fixture.intruder_token)].into()
        }),
        case("forged", "a token of another server", "401 unknown_key", SystemChain("unknown_key"), |fixture| {
            let other_instance = TestInstance::on_sqlite();
            other_instance.add_tenant(VICTIM);
            read_orgs_with(fixture, &other_instance.mint_token(VICTIM, "owner", "*:*"))
        }),
        case("forged", "a token as long as a book", "401 too_long", SystemChain("too_long"), |fixture| {
            read_orgs_with(fixture, &forged_tokens::edit_token(fixture, |parts| parts.claims["sub"] = "x".repeat(9_000).into()))
        }),
        case("forged", "a good token in the query", "401 missing", SystemChain("missing"), |fixture| {
            fixture.send(&Request::new("GET", &format!("/v1/resources?uri=bkend://orgs&access_token={}", fixture.owner_token))).into()
        }),
        case("forged", "a good token in a cookie", "401 missing", SystemChain("missing"), |fixture| {
            fixture.send(&Request::new("GET", "/v1/resources?uri=bkend://orgs").header("Cookie", &format!("token={}", fixture.owner_token))).into()
        }),
        case("forged", "a good token as a password", "401 missing", SystemChain("missing"), |fixture| {
            fixture.send(&Request::new("GET", "/v1/resources?uri=bkend://orgs").header("Authorization", &format!("Basic {}", fixture.owner_token))).into()
        }),
        case("forged", "a session's id as a token", "401 malformed", SystemChain("malformed"), |fixture| {
            read_orgs_with(fixture, &fixture.open_session(&fixture.owner_token))
        }),
        // Tokens that the trusted issuer has signed, and that are still not good.
        case("forged", "an issuer's token for another server", "401 wrong_audience", SystemChain("wrong_audience"), |fixture| {
            read_orgs_with(fixture, &fixture.provider.issue_token(VICTIM, |_, claims| claims["aud"] = "https://other.example".into()))
        }),
        case("forged", "an issuer's token in our own name", "401 wrong_issuer", SystemChain("wrong_issuer"), |fixture| {
            read_orgs_with(fixture, &fixture.provider.issue_token(VICTIM, |_, claims| claims["iss"] = "quad".into()))
        }),
        case("forged", "an issuer's token under our key's name", "401 bad_signature", SystemChain("bad_signature"), |fixture| {
            read_orgs_with(fixture, &fixture.provider.issue_token(VICTIM, |header, claims| {
                header["kid"] = fixture::kid_of(&fixture.owner_token).into();
                claims["iss"] = "quad".into();
            }))
        }),
        case("forged", "an issuer's token that has ended", "401 expired", SystemChain("expired"), |fixture| {
            read_orgs_with(fixture, &fixture.provider.issue_token(VICTIM, |_, claims| claims["exp"] = (claims["iat"].as_i64().unwrap() - 60).into()))
        }),
        case("forged", "an issuer's token that has not begun", "401 not_yet_valid", SystemChain("not_yet_valid"), |fixture| {
            read_orgs_with(fixture, &fixture.provider.issue_token(VICTIM, |_, claims| claims["nbf"] = (claims["iat"].as_i64().unwrap() + 600).into()))
        }),
        case("forged", "an issuer's token that lives too long", "401 lives_too_long", SystemChain("lives_too_long"), |fixture| {
            read_orgs_with(fixture, &fixture.provider.issue_token(VICTIM, |_, claims| claims["exp"] = (claims["iat"].as_i64().unwrap() + 86_400).into()))
        }),
        case("forged", "an issuer's token for a tenant that does not know its holder", "401 agent_unregistered", SystemChain("agent_unregistered"), |fixture| {
            // Whether there is such a tenant is not told.
            let token = |tenant: &str| fixture.send(&fixture.plain_read_request(&fixture.provider.issue_token(tenant, |_, _| {}), "bkend://orgs"));
            vec![token(VICTIM), token("nobody"), token("system")].into()
        }),

        // What was good once.
        case("replayed", "a token that was revoked", "401 revoked", TenantChain(VICTIM), |fixture| {
            let token = fixture.add_agent("revoked-token", &[]);
            fixture.revoke_token("revoked-token");
            read_orgs_with(fixture, &token)
        }),
        case("replayed", "a token of an agent that was revoked", "401 agent_revoked", TenantChain(VICTIM), |fixture| {
            read_orgs_with(fixture, &fixture.add_agent("revoked", &["revoke"]))
        }),
        case("replayed", "a token of an agent that was narrowed", "401 scope_exceeded", TenantChain(VICTIM), |fixture| {
            read_orgs_with(fixture, &fixture.add_agent("narrowed", &["register", "--scope", "organization:read"]))
        }),
        case("replayed", "a tag of what a revoked token had read", "401 revoked", TenantChain(VICTIM), |fixture| {
            let token = fixture.add_agent("revoked-with-tag", &[]);
            let tag = multi_step::warm_cache(fixture, "bkend://orgs");
            fixture.revoke_token("revoked-with-tag");
            fixture.send(&fixture.plain_read_request(&token, "bkend://orgs").header("If-None-Match", &tag)).into()
        }),
        case("replayed", "a session of another agent of the tenant", "404 SESSION_NOT_FOUND", TenantChain(VICTIM), |fixture| {
            multi_step::use_foreign_session(fixture, &fixture.limited_token)
        }),
        case("replayed", "a session of another tenant", "404 SESSION_NOT_FOUND", TenantChain(INTRUDER), |fixture| {
            multi_step::use_foreign_session(fixture, &fixture.intruder_token)
        }),
        case("replayed", "a session that was ended", "404 SESSION_NOT_FOUND", TenantChain(INTRUDER), |fixture| {
            let session = fixture.open_session(&fixture.intruder_token);
            let end = with_token(Request::new("DELETE", "/mcp"), &fixture.intruder_token).header("Mcp-Session-Id", &session);
            assert_eq!(fixture.fetch(&end).status, 204);
            Responses(multi_step::use_session(fixture, &fixture.intruder_token, &session).into_iter().map(|answer| vec![answer]).collect())
        }),
        case("replayed", "a session with a longer life written into it", "404 SESSION_NOT_FOUND", TenantChain(INTRUDER), |fixture| {
            let session = fixture.open_session(&fixture.intruder_token);
            let parts: Vec<&str> = session.split('.').collect();
            let written = format!(r#"{{"t":"{}","s":"owner","r":"2025-11-25","x":9999999999999}}"#, fixture.instance.tenant_id(VICTIM));
            let forged = format!("{}.{}.{}", parts[0], forged_tokens::signing_input(&written, "").trim_end_matches('.'), parts[2]);
            Responses(multi_step::use_session(fixture, &fixture.intruder_token, &forged).into_iter().map(|answer| vec![answer]).collect())
        }),
        case("replayed", "two sessions at once", "400 HEADER_MISMATCH", TenantChain(INTRUDER), |fixture| {
            let session = fixture.open_session(&fixture.intruder_token);
            let request = fixture.legacy_request(&fixture.intruder_token, Some(&session), "ping", json!({}));
            fixture.send(&request.header("Mcp-Session-Id", &fixture.open_session(&fixture.owner_token))).into()
        }),
        case("replayed", "a session of a key that was dropped, and a token of it", "401 unknown_key", SystemChain("unknown_key"), |fixture| {
            let session = fixture.open_session(&fixture.old_key_token);
            fixture.instance.run(&["key", "drop", &fixture::kid_of(&fixture.old_key_token)]);
            let with_session = fixture.legacy_request(&fixture.old_key_token, Some(&session), "ping", json!({}));
            Responses(vec![vec![fixture.send(&fixture.plain_read_request(&fixture.old_key_token, "bkend://orgs"))], vec![fixture.send(&with_session)]])
        }),

        // Agents that are halted.
        case("quarantined", "a token of a quarantined agent", "401 agent_quarantined", TenantChain(VICTIM), |fixture| {
            read_orgs_with(fixture, &fixture.add_agent("halted", &["quarantine"]))
        }),
        case("quarantined", "a new token for a quarantined agent", "exit 5", NoEvent, |fixture| {
            fixture.add_agent("halted-twice", &["quarantine"]);
            let mint = ["token", "mint", "--tenant", VICTIM, "--subject", "halted-twice", "--kind", "agent", "--scope", "*:read"];
            let output = fixture.instance.quad_command(&mint).output().unwrap();
            NormalizedResponse::from_text(format!("exit {}", output.status.code().unwrap()), String::from_utf8(output.stdout).unwrap()).into()
        }),
        case("quarantined", "a session of a quarantined agent", "401 agent_quarantined", TenantChain(VICTIM), |fixture| {
            let token = fixture.add_agent("halted-in-session", &[]);
            let session = fixture.open_session(&token);
            fixture.instance.run(&["agent", "quarantine", "halted-in-session", "--tenant", VICTIM]);
            fixture.send(&fixture.legacy_request(&token, Some(&session), "resources/read", json!({"uri": "bkend://orgs"}))).into()
        }),
        case("quarantined", "an issuer's token of a quarantined agent", "401 agent_quarantined", TenantChain(VICTIM), |fixture| {
            fixture.instance.run(&["agent", "register", "crawler", "--scope", "organization:read", "--tenant", VICTIM]);
            let token = fixture.provider.issue_token(VICTIM, |_, _| {});
            assert_eq!(fixture.fetch(&fixture.plain_read_request(&token, "bkend://orgs")).status, 200);
            fixture.instance.run(&["agent", "quarantine", "crawler", "--tenant", VICTIM]);
            read_orgs_with(fixture, &token)
        }),
        case("quarantined", "a stream of an agent that is quarantined while it listens", "0 notices, then the end", AllowedEvent, |fixture| {
            let token = fixture.add_agent("halted-listener", &[]);
            let quarantine = || { fixture.instance.run(&["agent", "quarantine", "halted-listener", "--tenant", VICTIM]); };
            multi_step::listen_after_revocation(fixture, &token, quarantine).into()
        }),

        // Other tenants' ids.
        case("cross-tenant", "every template, by the protocol", "200 NOT_FOUND", TenantChain(INTRUDER), |fixture| {
            multi_step::read_every_template(fixture, |uri| fixture.send(&fixture.modern_request(&fixture.intruder_token, "resources/read", json!({"uri": uri}))))
        }),
        case("cross-tenant", "every template, in a legacy session", "200 NOT_FOUND", TenantChain(INTRUDER), |fixture| {
            let session = fixture.open_session(&fixture.intruder_token);
            multi_step::read_every_template(fixture, |uri| fixture.send(&fixture.legacy_request(&fixture.intruder_token, Some(&session), "resources/read", json!({"uri": uri}))))
        }),
        case("cross-tenant", "every template, by plain HTTP", "404 NOT_FOUND", TenantChain(INTRUDER), |fixture| {
            multi_step::read_every_template(fixture, |uri| fixture.send(&fixture.plain_read_request(&fixture.intruder_token, uri)))
        }),
        case("cross-tenant", "every template, by the tool that reads", "200 NOT_FOUND", TenantChain(INTRUDER), |fixture| {
            multi_step::read_every_template(fixture, |uri| fixture.send(&fixture.tool_request(&fixture.intruder_token, "resource_read", json!({"uri": uri}))))
        }),
        case("cross-tenant", "every template, over stdio", "stdio NOT_FOUND", TenantChain(INTRUDER), multi_step::read_every_template_over_stdio),
        case("cross-tenant", "every tool that takes an id", "200 NOT_FOUND", TenantChain(INTRUDER), multi_step::call_every_tool),
        case("cross-tenant", "every tool that looks for an id", "200 ok", AllowedEvent, multi_step::call_every_lookup_tool),
        case("cross-tenant", "their project below our organization", "200 NOT_FOUND", TenantChain(INTRUDER), |fixture| {
            fixture.for_existing_and_absent(|ids| {
                let uri = format!("bkend://orgs/org_other/projects/{}", ids.get("projectId"));
                fixture.send(&fixture.modern_request(&fixture.intruder_token, "resources/read", json!({"uri": uri})))
            }).into()
        }),
        case("cross-tenant", "our table below their environment", "200 NOT_FOUND", TenantChain(INTRUDER), |fixture| {
            fixture.for_existing_and_absent(|ids| {
                let arguments = json!({"environmentId": ids.get("envId"), "name": "planted", "fields": [{"name": "a", "type": "string"}]});
                fixture.send(&fixture.tool_request(&fixture.intruder_token, "backend_table_create", arguments))
            }).into()
        }),
        case("cross-tenant", "a prompt about their project", "200 NOT_FOUND", TenantChain(INTRUDER), |fixture| {
            fixture.for_existing_and_absent(|ids| {
                let arguments = json!({"projectId": ids.get("projectId")});
                fixture.send(&fixture.modern_request(&fixture.intruder_token, "prompts/get", json!({"name": "backend_overview", "arguments": arguments})))
            }).into()
        }),
        case("cross-tenant", "their ids, letter by letter", "0 values", AllowedEvent, |fixture| {
            let template = "bkend://orgs/{orgId}/projects";
            fixture.for_existing_and_absent(|ids| multi_step::complete(fixture, template, "orgId", ids.get("orgId"), json!({}))).into()
        }),
        case("cross-tenant", "what lies below their ids", "0 values", AllowedEvent, |fixture| {
            let template = "bkend://orgs/{orgId}/projects/{projectId}/environments";
            fixture.for_existing_and_absent(|ids| multi_step::complete(fixture, template, "projectId", "", json!({"orgId": ids.get("orgId")}))).into()
        }),
        case("cross-tenant", "the versions of their table", "0 values", AllowedEvent, |fixture| {
            let template = "bkend://orgs/{orgId}/projects/{projectId}/environments/{envId}/tables/{tableId}/schema/versions/{n}";
            fixture.for_existing_and_absent(|ids| multi_step::complete(fixture, template, "n", "", json!({"tableId": ids.get("tableId")}))).into()
        }),
        case("cross-tenant", "their agents' events in our trail", "0 events", AllowedEvent, |fixture| {
            // As long as each other, so that the answers are.
            vec![multi_step::read_events_of(fixture, "owner"), multi_step::read_events_of(fixture, "nobod")].into()
        }),
        case("cross-tenant", "a tenant as an argument", "200 VALIDATION_ERROR", TenantChain(INTRUDER), |fixture| {
            let arguments = |tenant: &str| json!({"organizationId": "org_abc123", "tenant_id": tenant});
            let send = |tenant: &str| fixture.send(&fixture.tool_request(&fixture.intruder_token, "backend_org_get", arguments(tenant)));
            vec![send(VICTIM), send("nobody")].into()
        }),
        case("cross-tenant", "a tenant in _meta", "200 NOT_FOUND", TenantChain(INTRUDER), |fixture| {
            fixture.for_existing_and_absent(|ids| {
                let mut body: Value = serde_json::from_slice(&valid_request(fixture).body.unwrap()).unwrap();
                let uri = format!("bkend://orgs/{}", ids.get("orgId"));
                body["params"]["uri"] = uri.as_str().into();
                body["params"]["_meta"]["tenant"] = fixture.instance.tenant_id(VICTIM).into();
                body["params"]["_meta"]["dev.quadrivium/tenant"] = VICTIM.into();
                fixture.send(&without_header(valid_request(fixture), "Mcp-Name").header("Mcp-Name", &uri).body(body.to_string()))
            }).into()
        }),
        case("cross-tenant", "another scheme's endpoint", "200 NOT_FOUND", TenantChain(INTRUDER), |fixture| {
            fixture.for_existing_and_absent(|ids| {
                let uri = format!("audit://events/{}", ids.get("id"));
                let request = fixture.modern_request(&fixture.intruder_token, "resources/read", json!({"uri": uri}));
                fixture.send(&Request { path: "/mcp/bkend".to_owned(), ..request })
            }).into()
        }),

        // Paths.
        case("path", "dots between endpoints", "404 NOT_FOUND", NoEvent, |fixture| multi_step::get_path(fixture, "/mcp/../v1/resources?uri=bkend://orgs")),
        case("path", "encoded dots between endpoints", "404 NOT_FOUND", NoEvent, |fixture| multi_step::get_path(fixture, "/mcp/%2e%2e/v1/resources?uri=bkend://orgs")),
        case("path", "an encoded slash in an endpoint", "404 NOT_FOUND", NoEvent, |fixture| multi_step::get_path(fixture, "/v1%2fresources?uri=bkend://orgs")),
        case("path", "a doubled slash before an endpoint", "404 NOT_FOUND", NoEvent, |fixture| multi_step::get_path(fixture, "//v1/resources?uri=bkend://orgs")),
        case("path", "an encoded NUL behind an endpoint", "404 NOT_FOUND", NoEvent, |fixture| multi_step::get_path(fixture, "/v1/resources%00?uri=bkend://orgs")),
        case("path", "overlong dots", "404 NOT_FOUND", NoEvent, |fixture| multi_step::get_path(fixture, "/%c0%ae%c0%ae/v1/resources?uri=bkend://orgs")),
        case("path", "a backslash", "404 NOT_FOUND", NoEvent, |fixture| multi_step::get_path(fixture, "/mcp/..%5cv1%5cresources?uri=bkend://orgs")),
        case("path", "an endpoint of a scheme that is a path", "404 NOT_FOUND", NoEvent, |fixture| {
            fixture.send(&Request { path: "/mcp/..%2f..%2fetc".to_owned(), ..valid_request(fixture) }).into()
        }),
        case("path", "dots in an address", "INVALID_URI", TenantChain(INTRUDER), |fixture| multi_step::read_malformed_uri(fixture, "bkend://orgs/org_other/../org_abc123")),
        case("path", "encoded dots in an address", "INVALID_URI", TenantChain(INTRUDER), |fixture| multi_step::read_malformed_uri(fixture, "bkend://orgs/%2e%2e/orgs/org_abc123")),
        case("path", "an encoded slash in an address", "INVALID_URI", TenantChain(INTRUDER), |fixture| multi_step::read_malformed_uri(fixture, "bkend://orgs/org_other%2Fprojects")),
        case("path", "a NUL in an address", "INVALID_URI", TenantChain(INTRUDER), |fixture| multi_step::read_malformed_uri(fixture, "bkend://orgs/org_abc123%00")),
        case("path", "overlong UTF-8 in an address", "INVALID_URI", TenantChain(INTRUDER), |fixture| multi_step::read_malformed_uri(fixture, "bkend://orgs/%c0%ae%c0%ae/org_abc123")),
        case("path", "a backslash in an address", "INVALID_URI", TenantChain(INTRUDER), |fixture| multi_step::read_malformed_uri(fixture, "bkend://orgs\\org_abc123")),
        case("path", "somebody's name in an address", "INVALID_URI", TenantChain(INTRUDER), |fixture| multi_step::read_malformed_uri(fixture, "bkend://owner@orgs/org_abc123")),
        case("path", "a file as an address", "INVALID_URI", TenantChain(INTRUDER), |fixture| multi_step::read_malformed_uri(fixture, "file:///etc/passwd")),
        case("path", "an address that is not UTF-8 once decoded", "400 VALIDATION_ERROR", TenantChain(INTRUDER), |fixture| {
            fixture.send(&with_token(Request::new("GET", "/v1/resources?uri=bkend://orgs/%c0%ae"), &fixture.intruder_token)).into()
        }),
        case("path", "two addresses in one query", "400 VALIDATION_ERROR", TenantChain(INTRUDER), |fixture| {
            fixture.send(&with_token(Request::new("GET", "/v1/resources?uri=bkend://orgs&uri=bkend://orgs/org_abc123"), &fixture.intruder_token)).into()
        }),

        // Headers.
        case("header", "a foreign host", "403 HOST_NOT_ALLOWED", SystemChain("foreign_host"), |fixture| fixture.send(&valid_request(fixture).header("Host", "evil.example")).into()),
        case("header", "a host that begins like ours", "403 HOST_NOT_ALLOWED", SystemChain("foreign_host"), |fixture| {
            fixture.send(&valid_request(fixture).header("Host", "localhost.evil.example")).into()
        }),
        case("header", "two hosts", "403 HOST_NOT_ALLOWED", SystemChain("foreign_host"), |fixture| {
            fixture.send(&valid_request(fixture).header("Host", "localhost").header("Host", "evil.example")).into()
        }),
        case("header", "a foreign host in the request line", "403 HOST_NOT_ALLOWED", SystemChain("foreign_host"), |fixture| {
            fixture.send(&Request { path: "http://evil.example/mcp".to_owned(), ..valid_request(fixture).header("Host", "localhost") }).into()
        }),
        case("header", "a foreign host, forwarded as ours", "403 HOST_NOT_ALLOWED", SystemChain("foreign_host"), |fixture| {
            fixture.send(&valid_request(fixture).header("Host", "evil.example").header("X-Forwarded-Host", "localhost").header("Forwarded", "host=localhost")).into()
        }),
        case("header", "a user whom a proxy would vouch for", "401 missing", SystemChain("missing"), |fixture| {
            let request = without_header(valid_request(fixture), "Authorization").header("X-Forwarded-User", "owner").header("X-Forwarded-For", "127.0.0.1");
            fixture.send(&request.header("X-Real-IP", "127.0.0.1").header("Forwarded", "for=127.0.0.1;by=127.0.0.1")).into()
        }),
        case("header", "a tenant's name", "404 NOT_FOUND", TenantChain(INTRUDER), |fixture| {
            fixture.for_existing_and_absent(|ids| {
                let request = fixture.plain_read_request(&fixture.intruder_token, &format!("bkend://orgs/{}", ids.get("orgId"))).header("X-Tenant", VICTIM);
                fixture.send(&request.header("X-Tenant-Id", &fixture.instance.tenant_id(VICTIM)).header("Quad-Tenant", VICTIM))
            }).into()
        }),
        case("header", "another method than the body's", "400 HEADER_MISMATCH", TenantChain(INTRUDER), |fixture| {
            fixture.send(&without_header(valid_request(fixture), "Mcp-Method").header("Mcp-Method", "resources/list")).into()
        }),
        case("header", "another name than the body's", "400 HEADER_MISMATCH", TenantChain(INTRUDER), |fixture| {
            fixture.send(&without_header(valid_request(fixture), "Mcp-Name").header("Mcp-Name", "bkend://context")).into()
        }),
        case("header", "two names, one of them the body's", "400 HEADER_MISMATCH", TenantChain(INTRUDER), |fixture| {
            fixture.send(&valid_request(fixture).header("Mcp-Name", "bkend://context")).into()
        }),
        case("header", "no name", "400 HEADER_MISMATCH", TenantChain(INTRUDER), |fixture| fixture.send(&without_header(valid_request(fixture), "Mcp-Name")).into()),
        case("header", "another revision than the body's", "400 HEADER_MISMATCH", TenantChain(INTRUDER), |fixture| {
            fixture.send(&without_header(valid_request(fixture), "MCP-Protocol-Version").header("MCP-Protocol-Version", "2025-11-25")).into()
        }),
        case("header", "a revision that there is not", "400 UNSUPPORTED_PROTOCOL_VERSION", TenantChain(INTRUDER), |fixture| {
            let request = fixture.legacy_request(&fixture.intruder_token, None, "resources/list", json!({}));
            fixture.send(&without_header(request, "MCP-Protocol-Version").header("MCP-Protocol-Version", "1900-01-01")).into()
        }),
        case("header", "a form, as a page can send it unasked", "415 UNSUPPORTED_MEDIA_TYPE", TenantChain(INTRUDER), |fixture| {
            fixture.send(&without_header(valid_request(fixture), "Content-Type").header("Content-Type", "text/plain")).into()
        }),
        case("header", "another verb than the request's", "404 NOT_FOUND", TenantChain(INTRUDER), |fixture| {
            fixture.for_existing_and_absent(|ids| {
                let request = fixture.plain_read_request(&fixture.intruder_token, &format!("bkend://orgs/{}", ids.get("orgId")));
                fixture.send(&request.header("X-HTTP-Method-Override", "DELETE").header("X-Original-URL", "/metrics"))
            }).into()
        }),
        case("header", "headers as large as a book", "431 HEADERS_TOO_LARGE", NoEvent, |fixture| fixture.send(&valid_request(fixture).header("X-Padding", &"x".repeat(70_000))).into()),
        case("header", "more headers than anybody sends", "431 TOO_MANY_HEADERS", NoEvent, |fixture| {
            fixture.send(&(0..70).fold(valid_request(fixture), |request, n| request.header(&format!("X-Header-{n}"), "x"))).into()
        }),
        case("header", "a body longer than it may be", "413 BODY_TOO_LARGE", TenantChain(INTRUDER), |fixture| {
            let request = Request { body: None, ..valid_request(fixture) };
            fixture.send(&request.header("Content-Length", "5242880").header("Connection", "close")).into()
        }),
        case("header", "a second request inside the first", "1 reply 400", TenantChain(INTRUDER), multi_step::smuggle_request),

        // Bodies.
        case("body", "two methods in one message", "400 INVALID_REQUEST", TenantChain(INTRUDER), |fixture| {
            let body = r#"{"jsonrpc":"2.0","id":1,"method":"ping","method":"resources/list","params":{}}"#;
            fixture.send(&with_token(post_request(body), &fixture.intruder_token)).into()
        }),
        case("body", "two addresses in one message", "400 INVALID_META", TenantChain(INTRUDER), |fixture| {
            let body = String::from_utf8(valid_request(fixture).body.unwrap()).unwrap();
            fixture.send(&valid_request(fixture).body(body.replace(r#""uri":"#, r#""uri":"bkend://context","uri":"#))).into()
        }),
        case("body", "what is no message", "400 PARSE_ERROR", TenantChain(INTRUDER), |fixture| fixture.send(&with_token(post_request("{"), &fixture.intruder_token)).into()),
        case("body", "a method that there is not", "404 METHOD_NOT_FOUND", TenantChain(INTRUDER), |fixture| {
            fixture.send(&fixture.modern_request(&fixture.intruder_token, "tenants/switch", json!({"tenant": VICTIM}))).into()
        }),
        case("body", "foreign things in a batch", "200 NOT_FOUND+METHOD_NOT_FOUND", TenantChain(INTRUDER), |fixture| {
            let message = |id: u8, method: &str| json!({"jsonrpc": "2.0", "id": id, "method": method, "params": {"uri": "bkend://orgs/org_abc123"}});
            let batch = json!([message(1, "resources/read"), message(2, "tenants/switch")]);
            fixture.send(&with_token(post_request(batch), &fixture.intruder_token).header("MCP-Protocol-Version", "2025-03-26")).into()
        }),

        // Pages of others.
        case("origin", "a foreign page", "403 ORIGIN_NOT_ALLOWED", SystemChain("foreign_origin"), |fixture| fixture.send(&valid_request(fixture).header("Origin", "https://evil.example")).into()),
        case("origin", "a page without an origin", "403 ORIGIN_NOT_ALLOWED", SystemChain("foreign_origin"), |fixture| fixture.send(&valid_request(fixture).header("Origin", "null")).into()),
        case("origin", "a page whose name begins like ours", "403 ORIGIN_NOT_ALLOWED", SystemChain("foreign_origin"), |fixture| {
            fixture.send(&valid_request(fixture).header("Origin", "http://localhost.evil.example")).into()
        }),
        case("origin", "a page whose name ends like ours", "403 ORIGIN_NOT_ALLOWED", SystemChain("foreign_origin"), |fixture| {
            fixture.send(&valid_request(fixture).header("Origin", "http://evil-localhost")).into()
        }),
        case("origin", "a page with our name as its user", "403 ORIGIN_NOT_ALLOWED", SystemChain("foreign_origin"), |fixture| {
            fixture.send(&valid_request(fixture).header("Origin", "http://localhost@evil.example")).into()
        }),
        case("origin", "a file", "403 ORIGIN_NOT_ALLOWED", SystemChain("foreign_origin"), |fixture| fixture.send(&valid_request(fixture).header("Origin", "file://localhost")).into()),
        case("origin", "our page and a foreign one", "403 ORIGIN_NOT_ALLOWED", SystemChain("foreign_origin"), |fixture| {
            fixture.send(&valid_request(fixture).header("Origin", "http://localhost").header("Origin", "http://evil.example")).into()
        }),
        case("origin", "a foreign page that asks first", "403 ORIGIN_NOT_ALLOWED", SystemChain("foreign_origin"), |fixture| {
            let preflight = Request::new("OPTIONS", "/mcp").header("Origin", "https://evil.example");
            fixture.send(&preflight.header("Access-Control-Request-Method", "POST")).into()
        }),

        // What others have read before.
        case("cache", "what the victim has just read", "404 NOT_FOUND", TenantChain(INTRUDER), |fixture| {
            multi_step::warm_cache(fixture, "bkend://orgs/org_abc123");
            fixture.for_existing_and_absent(|ids| fixture.send(&fixture.plain_read_request(&fixture.intruder_token, &format!("bkend://orgs/{}", ids.get("orgId"))))).into()
        }),
        case("cache", "what the victim has just read, by its tag", "404 NOT_FOUND", TenantChain(INTRUDER), |fixture| {
            let tag = multi_step::warm_cache(fixture, "bkend://orgs/org_abc123");
            fixture.for_existing_and_absent(|ids| {
                let request = fixture.plain_read_request(&fixture.intruder_token, &format!("bkend://orgs/{}", ids.get("orgId")));
                fixture.send(&request.header("If-None-Match", &tag))
            }).into()
        }),
        case("cache", "whatever the victim has just read, by any tag", "404 NOT_FOUND", TenantChain(INTRUDER), |fixture| {
            multi_step::warm_cache(fixture, "bkend://orgs/org_abc123");
            fixture.for_existing_and_absent(|ids| {
                let request = fixture.plain_read_request(&fixture.intruder_token, &format!("bkend://orgs/{}", ids.get("orgId")));
                fixture.send(&request.header("If-None-Match", "*"))
            }).into()
        }),
        case("cache", "a part of what the victim has just read", "404 NOT_FOUND", TenantChain(INTRUDER), |fixture| {
            let tag = multi_step::warm_cache(fixture, "bkend://orgs/org_abc123");
            fixture.for_existing_and_absent(|ids| {
                let request = fixture.plain_read_request(&fixture.intruder_token, &format!("bkend://orgs/{}", ids.get("orgId")));
                fixture.send(&request.header("Range", "bytes=0-0").header("If-Range", &tag))
            }).into()
        }),
        case("cache", "what a colleague with more scopes has just read", "403 SCOPE_INSUFFICIENT", TenantChain(VICTIM), |fixture| {
            multi_step::warm_cache(fixture, &fixture.victim_rows_uri());
            let template = "bkend://orgs/{orgId}/projects/{projectId}/environments/{envId}/tables/{tableId}/rows";
            fixture.for_existing_and_absent(|ids| fixture.send(&fixture.plain_read_request(&fixture.limited_token, &ids.expand(template)))).into()
        }),
        case("cache", "the same, by its tag", "403 SCOPE_INSUFFICIENT", TenantChain(VICTIM), |fixture| {
            let tag = multi_step::warm_cache(fixture, &fixture.victim_rows_uri());
            fixture.send(&fixture.plain_read_request(&fixture.limited_token, &fixture.victim_rows_uri()).header("If-None-Match", &tag)).into()
        }),
        case("cache", "a wider view of the same address", "0 projects", AllowedEvent, multi_step::read_narrow_view),

        // Pages of lists.
        case("cursor", "a cursor with another letter in it", "200 INVALID_CURSOR", TenantChain(INTRUDER), |fixture| {
            let mut cursor = multi_step::list_cursor(fixture, &fixture.intruder_token).into_bytes();
            cursor[4] = if cursor[4] == b'A' { b'B' } else { b'A' };
            multi_step::list_at_cursor(fixture, &String::from_utf8(cursor).unwrap()).into()
        }),
        case("cursor", "a cursor that lacks its end", "200 INVALID_CURSOR", TenantChain(INTRUDER), |fixture| {
            let cursor = multi_step::list_cursor(fixture, &fixture.intruder_token);
            multi_step::list_at_cursor(fixture, &cursor[..cursor.len() - 4]).into()
        }),
        case("cursor", "the victim's cursor", "200 INVALID_CURSOR", TenantChain(INTRUDER), |fixture| {
            multi_step::list_at_cursor(fixture, &multi_step::list_cursor(fixture, &fixture.owner_token)).into()
        }),
        case("cursor", "the victim's cursor of its trail", "400 INVALID_CURSOR", TenantChain(INTRUDER), |fixture| {
            multi_step::read_events_at_cursor(fixture, "", &multi_step::audit_cursor(fixture, &fixture.owner_token)).into()
        }),
        case("cursor", "a cursor of the trail for another question", "400 INVALID_CURSOR", TenantChain(INTRUDER), |fixture| {
            let cursor = multi_step::audit_cursor(fixture, &fixture.intruder_token);
            multi_step::read_events_at_cursor(fixture, "outcome=refused&", &cursor).into()
        }),
        case("cursor", "a cursor of the trail for the list", "200 INVALID_CURSOR", TenantChain(INTRUDER), |fixture| {
            multi_step::list_at_cursor(fixture, &multi_step::audit_cursor(fixture, &fixture.intruder_token)).into()
        }),
        case("cursor", "a cursor of the list for the trail", "400 INVALID_CURSOR", TenantChain(INTRUDER), |fixture| {
            multi_step::read_events_at_cursor(fixture, "", &multi_step::list_cursor(fixture, &fixture.intruder_token)).into()
        }),
        case("cursor", "a cursor for a list that gives none", "200 INVALID_CURSOR", TenantChain(INTRUDER), |fixture| {
            let cursor = multi_step::list_cursor(fixture, &fixture.intruder_token);
            fixture.send(&fixture.modern_request(&fixture.intruder_token, "tools/list", json!({"cursor": cursor}))).into()
        }),

        // Watching.
        case("subscription", "to what the victim has, in a session", "200 NOT_FOUND", TenantChain(INTRUDER), |fixture| {
            let session = fixture.open_session(&fixture.intruder_token);
            fixture.for_existing_and_absent(|ids| {
                let uri = format!("bkend://orgs/{}", ids.get("orgId"));
                fixture.send(&fixture.legacy_request(&fixture.intruder_token, Some(&session), "resources/subscribe", json!({"uri": uri})))
            }).into()
        }),
        case("subscription", "to what the victim has, by a stream", "0 of theirs", AllowedEvent, |fixture| {
            let foreign = multi_step::listen_to_foreign_uri(fixture, &fixture.victim_rows_uri());
            let absent = multi_step::listen_to_foreign_uri(fixture, "bkend://tables/tbl_nobody");
            vec![foreign, absent].into()
        }),
        case("subscription", "without the scope", "403 SCOPE_INSUFFICIENT", TenantChain(VICTIM), |fixture| {
            let session = fixture.open_session(&fixture.limited_token);
            let template = "bkend://orgs/{orgId}/projects/{projectId}/environments/{envId}/tables";
            fixture.for_existing_and_absent(|ids| {
                let params = json!({"uri": ids.expand(template)});
                fixture.send(&fixture.legacy_request(&fixture.limited_token, Some(&session), "resources/subscribe", params))
            }).into()
        }),
        case("subscription", "in somebody else's session", "404 SESSION_NOT_FOUND", TenantChain(INTRUDER), |fixture| {
            let session = fixture.open_session(&fixture.owner_token);
            fixture.send(&fixture.legacy_request(&fixture.intruder_token, Some(&session), "resources/subscribe", json!({"uri": "bkend://orgs"}))).into()
        }),
        case("subscription", "without a session", "400 SESSION_MISSING", TenantChain(INTRUDER), |fixture| {
            fixture.send(&fixture.legacy_request(&fixture.intruder_token, None, "resources/subscribe", json!({"uri": "bkend://orgs"}))).into()
        }),
        case("subscription", "a stream that goes on after its token was revoked", "0 notices, then the end", AllowedEvent, |fixture| {
            let token = fixture.add_agent("revoked-listener", &[]);
            multi_step::listen_after_revocation(fixture, &token, || fixture.revoke_token("revoked-listener")).into()
        }),
        case("subscription", "a session's stream that goes on after its token was revoked", "0 notices, then the end", AllowedEvent, |fixture| {
            let token = fixture.add_agent("revoked-session", &[]);
            multi_step::session_listen_after_revocation(fixture, &token, || fixture.revoke_token("revoked-session")).into()
        }),
        case("subscription", "a stream that goes on after its agent was narrowed", "0 notices, then the end", AllowedEvent, |fixture| {
            let token = fixture.add_agent("narrowed-listener", &[]);
            let narrow = ["agent", "register", "narrowed-listener", "--scope", "organization:read", "--tenant", VICTIM];
            multi_step::listen_after_revocation(fixture, &token, || { fixture.instance.run(&narrow); }).into()
        }),

        // Templates.
        case("template", "a template that is not filled in", "INVALID_URI", TenantChain(INTRUDER), |fixture| multi_step::read_malformed_uri(fixture, "bkend://orgs/{orgId}")),
        case("template", "a quote in an id", "INVALID_URI", TenantChain(INTRUDER), |fixture| multi_step::read_malformed_uri(fixture, "bkend://orgs/org_abc123'--")),
        case("template", "a statement in an id", "INVALID_URI", TenantChain(INTRUDER), |fixture| {
            multi_step::read_malformed_uri(fixture, &format!("bkend://orgs/{}", percent_encode("x' OR tenant_id <> '")))
        }),
        case("template", "a pattern in an id", "INVALID_URI", TenantChain(INTRUDER), |fixture| multi_step::read_malformed_uri(fixture, "bkend://orgs/org_%25")),
        case("template", "a star for every id", "INVALID_URI", TenantChain(INTRUDER), |fixture| multi_step::read_malformed_uri(fixture, "bkend://orgs/*")),
        case("template", "an id longer than ids are", "INVALID_URI", TenantChain(INTRUDER), |fixture| multi_step::read_malformed_uri(fixture, &format!("bkend://orgs/{}", "x".repeat(65)))),
        case("template", "a tenant as a query key", "INVALID_URI", TenantChain(INTRUDER), |fixture| multi_step::read_malformed_uri(fixture, "bkend://orgs/org_abc123?tenant=victim")),
        case("template", "a query key twice", "INVALID_URI", TenantChain(INTRUDER), |fixture| multi_step::read_malformed_uri(fixture, "bkend://tables?page=1&page=2")),
        case("template", "another letter for an endpoint's literal", "INVALID_URI", TenantChain(INTRUDER), |fixture| multi_step::read_malformed_uri(fixture, "bkend://ORGS/org_abc123")),
        case("template", "an address with a fragment", "INVALID_URI", TenantChain(INTRUDER), |fixture| multi_step::read_malformed_uri(fixture, "bkend://orgs#org_abc123")),
        case("template", "an address longer than addresses are", "INVALID_URI", TenantChain(INTRUDER), |fixture| multi_step::read_malformed_uri(fixture, &format!("bkend://orgs/{}", "x/".repeat(5_000)))),
        case("template", "a completion of no template", "200 VALIDATION_ERROR", TenantChain(INTRUDER), |fixture| {
            multi_step::complete(fixture, "bkend://orgs/{orgId}/{+rest}", "rest", "", json!({})).into()
        }),
        case("template", "a completion of no variable", "200 VALIDATION_ERROR", TenantChain(INTRUDER), |fixture| {
            multi_step::complete(fixture, "bkend://orgs/{orgId}", "tenant", "", json!({})).into()
        }),

        // Doors without a lock.
        case("door", "--no-auth on every address", "exit 2 refused", NoEvent, |fixture| multi_step::serve_publicly_without_auth(fixture, &["--no-auth", "--listen", "0.0.0.0:0"], &[])),
        case("door", "--no-auth on every address of IPv6", "exit 2 refused", NoEvent, |fixture| multi_step::serve_publicly_without_auth(fixture, &["--no-auth", "--listen", "[::]:0"], &[])),
        case("door", "QUAD_NO_AUTH on every address", "exit 2 refused", NoEvent, |fixture| {
            multi_step::serve_publicly_without_auth(fixture, &["--listen", "0.0.0.0:0"], &[("QUAD_NO_AUTH", "true")])
        }),
        case("door", "--no-auth where only the settings name the address", "exit 2 refused", NoEvent, |fixture| {
            multi_step::serve_publicly_without_auth(fixture, &["--no-auth", "--allowed-hosts", "*"], &[("QUAD_LISTEN", "0.0.0.0:0")])
        }),
        case("door", "a foreign name for a server without tokens", "403 HOST_NOT_ALLOWED", NoEvent, |fixture| multi_step::request_no_auth_server(fixture, "Host", "evil.example")),
        case("door", "a foreign page, to a server without tokens", "403 ORIGIN_NOT_ALLOWED", NoEvent, |fixture| {
            multi_step::request_no_auth_server(fixture, "Origin", "http://evil.example")
        }),
    ]
}

#[test]
fn every_attack_is_rejected_and_audited() {
    std::thread::scope(|scope| {
        for instance in TestInstance::on_each_backend() {
            scope.spawn(|| run_all_cases(instance));
        }
    });
}

fn run_all_cases(instance: TestInstance) {
    let backend = instance.backend;
    let fixture = AttackFixture::new(instance);
    let mut expectations = AuditExpectations::new(&fixture);
    let mut problems: Vec<String> = Vec::new();
    for attack_case in cases() {
        let Responses(groups) = (attack_case.run)(&fixture);
        expectations.add_expected(
            attack_case.expected_audit,
            groups.iter().flatten().map(NormalizedResponse::refusal_count).sum(),
        );
        let new_problems = groups
            .iter()
            .filter_map(|group| find_problem(&attack_case, group))
            .chain(expectations.check_tenant_chains(&fixture));
        problems.extend(
            new_problems.map(|problem| {
                format!("{backend}, {}: {}: {problem}", attack_case.category, attack_case.name)
            }),
        );
    }
    assert!(problems.is_empty(), "{} faults\n\n{}", problems.len(), problems.join("\n\n"));
    check_victim_data_unchanged(&fixture);
    expectations.check_system_chain(fixture);
}

/// What is wrong with answers that must be equal and say what the table says.
fn find_problem(attack_case: &AttackCase, group: &[NormalizedResponse]) -> Option<String> {
    for NormalizedResponse { outcome, text } in group {
        if outcome != attack_case.expected_outcome {
            return Some(format!("{outcome:?} instead of {:?}\n{text}", attack_case.expected_outcome));
        }
        if let Some(secret) = VICTIM_SECRETS.iter().find(|secret| text.contains(**secret)) {
            return Some(format!("it tells {secret}\n{text}"));
        }
    }
    let different = group.iter().find(|answer| answer.text != group[0].text)?;
    Some(format!("it tells existing from absent\n{}\n----\n{}", group[0].text, different.text))
}

/// What must be in the chains by now.
struct AuditExpectations {
    refused_by_tenant: BTreeMap<&'static str, u64>,
    refused_by_reason: BTreeMap<String, u64>,
}

impl AuditExpectations {
    fn new(fixture: &AttackFixture) -> AuditExpectations {
        let refused_by_tenant = [VICTIM, INTRUDER].map(|tenant| {
            (tenant, refused_events(&fixture.instance, tenant).iter().map(count_attempts).sum())
        });
        AuditExpectations { refused_by_tenant: refused_by_tenant.into(), refused_by_reason: BTreeMap::new() }
    }

    fn add_expected(&mut self, expected_audit: ExpectedAudit, attempts: u64) {
        match expected_audit {
            TenantChain(tenant) => *self.refused_by_tenant.get_mut(tenant).unwrap() += attempts,
            SystemChain(reason) => *self.refused_by_reason.entry(reason.to_owned()).or_default() += attempts,
            AllowedEvent | NoEvent => {}
        }
    }

    /// What is wrong with the tenants' chains: each must have the refusals that it must have, and no other. Those of credentials
    /// may come a second late.
    fn check_tenant_chains(&mut self, fixture: &AttackFixture) -> Option<String> {
        let mut problem = None;
        for (tenant, expected) in &mut self.refused_by_tenant {
            let deadline = std::time::Instant::now() + crate::http::IO_TIMEOUT;
            let count_refusals =
                || refused_events(&fixture.instance, tenant).iter().map(count_attempts).sum::<u64>();
            let mut actual = count_refusals();
            while actual < *expected && std::time::Instant::now() < deadline {
                std::thread::sleep(std::time::Duration::from_millis(20));
                actual = count_refusals();
            }
            if actual != *expected {
                problem = Some(format!("the {tenant} has {actual} refusals instead of {expected}"));
                *expected = actual;
            }
        }
        problem
    }

    /// The same for the system's chain, once the server has written down everything; and nobody's name is in another's chain.
    fn check_system_chain(self, fixture: AttackFixture) {
        let AttackFixture { instance, server, .. } = fixture;
        server.stop();
        let mut refused_by_reason: BTreeMap<String, u64> = BTreeMap::new();
        for event in
            audit_chain::load_events(&instance, "system").iter().filter(|event| event["outcome"] == "refused")
        {
            assert_eq!(event["actor"], "anonymous", "{event:#}");
            *refused_by_reason.entry(event["inputs"]["reason"].as_str().unwrap().to_owned()).or_default() +=
                count_attempts(event);
        }
        assert_eq!(refused_by_reason, self.refused_by_reason, "{}", instance.backend);
        let has_actor = |event: &Value, name: &str| event["actor"] == name;
        assert!(!audit_chain::verify(&instance, VICTIM).iter().any(|event| has_actor(event, "intruder")));
        assert!(
            !audit_chain::verify(&instance, INTRUDER)
                .iter()
                .any(|event| has_actor(event, "owner") || has_actor(event, "visitor"))
        );
    }
}

fn refused_events(instance: &TestInstance, tenant: &str) -> Vec<Value> {
    let events = audit_chain::load_events(instance, &instance.tenant_id(tenant));
    events.into_iter().filter(|event| event["outcome"] == "refused").collect()
}

/// How many attempts an event stands for: refused credentials are counted.
fn count_attempts(event: &Value) -> u64 {
    event["inputs"]["count"].as_u64().unwrap_or(1)
}

/// Whatever was tried, the victim's things are as they were.
fn check_victim_data_unchanged(fixture: &AttackFixture) {
    let table = fixture.read_contents(&fixture.owner_token, "bkend://tables/tbl_users");
    assert_eq!(table["fields"].as_array().map(Vec::len), Some(4), "{table:#}");
    let row = fixture.call_tool(
        &fixture.owner_token,
        "backend_data_get",
        json!({"tableId": "tbl_users", "recordId": "rec_abc123"}),
    );
    assert_eq!((&row["name"], &row["email"]), (&json!("Ada"), &json!("ada@example.org")));
    let rows = fixture.read_contents(&fixture.owner_token, &fixture.victim_rows_uri()).to_string();
    assert!(!rows.to_lowercase().contains("mallory"), "{rows}");
    let organization = fixture.read_contents(&fixture.owner_token, "bkend://orgs/org_abc123");
    assert_eq!(organization["name"], "My Organization");
}

#[test]
fn has_at_least_55_attacks_with_unique_names() {
    let mut names: Vec<(&str, &str)> =
        cases().iter().map(|attack_case| (attack_case.category, attack_case.name)).collect();
    let case_count = names.len();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), case_count, "two ways have one name");
    assert!(case_count >= 55, "{case_count}");
    let categories = [
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
    for category in categories {
        assert!(
            names.iter().filter(|(case_category, _)| *case_category == category).count() >= 4,
            "{category}"
        );
    }
}
