//! Attacks with forged, replayed and withdrawn credentials.

use serde_json::json;

use super::ExpectedAudit::{AllowedEvent, NoEvent, SystemChain, TenantChain};
use super::fixture::{INTRUDER, VICTIM};
use super::normalized_response::{NormalizedResponse, Responses};
use super::{AttackCase, case, forged_tokens, multi_step, read_orgs_with};
use crate::authentication::kid_of;
use crate::helpers::with_token;
use crate::http::Request;
use crate::instance::TestInstance;

/// Tokens that the server did not issue.
#[rustfmt::skip]
pub fn forged() -> Vec<AttackCase> {
    vec![
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
        case("forged", "an unknown key id", "401 unknown_key", SystemChain("unknown_key"), |fixture| {
            read_orgs_with(fixture, &forged_tokens::edit_token(fixture, |parts| parts.header["kid"] = "0000000000000000".into()))
        }),
        case("forged", "a path as key id", "401 unknown_key", SystemChain("unknown_key"), |fixture| {
            read_orgs_with(fixture, &forged_tokens::edit_token(fixture, |parts| parts.header["kid"] = "../../../../dev/null".into()))
        }),
        case("forged", "no key id", "401 unknown_key", SystemChain("unknown_key"), |fixture| {
            read_orgs_with(fixture, &forged_tokens::edit_token(fixture, |parts| { parts.header.as_object_mut().unwrap().remove("kid"); }))
        }),
        case("forged", "a foreign key with the server's key id", "401 bad_signature", SystemChain("bad_signature"), |fixture| {
            read_orgs_with(fixture, &forged_tokens::with_victim_tenant(fixture).sign_with_foreign_key())
        }),
        case("forged", "a foreign key in the token's header", "401 bad_signature", SystemChain("bad_signature"), |fixture| {
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
        case("forged", "another agent's claims with the intruder's signature", "401 bad_signature", SystemChain("bad_signature"), |fixture| {
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
        case("forged", "a duplicate claim", "401 duplicate_claim", SystemChain("duplicate_claim"), |fixture| {
            let parts = forged_tokens::TokenParts::parse(&fixture.intruder_token);
            let claims = forged_tokens::with_duplicate_member(&parts.claims, &format!(r#""tenant_id":"{}""#, fixture.instance.tenant_id(VICTIM)));
            read_orgs_with(fixture, &forged_tokens::with_signature(&forged_tokens::signing_input(&parts.header.to_string(), &claims), &parts.signature))
        }),
        case("forged", "a duplicate algorithm", "401 duplicate_claim", SystemChain("duplicate_claim"), |fixture| {
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
        case("forged", "a token that is too long", "401 too_long", SystemChain("too_long"), |fixture| {
            read_orgs_with(fixture, &forged_tokens::edit_token(fixture, |parts| parts.claims["sub"] = "x".repeat(9_000).into()))
        }),
        case("forged", "a valid token in the query", "401 missing", SystemChain("missing"), |fixture| {
            fixture.send(&Request::new("GET", &format!("/v1/resources?uri=bkend://orgs&access_token={}", fixture.owner_token))).into()
        }),
        case("forged", "a valid token in a cookie", "401 missing", SystemChain("missing"), |fixture| {
            fixture.send(&Request::new("GET", "/v1/resources?uri=bkend://orgs").header("Cookie", &format!("token={}", fixture.owner_token))).into()
        }),
        case("forged", "a valid token as a password", "401 missing", SystemChain("missing"), |fixture| {
            fixture.send(&Request::new("GET", "/v1/resources?uri=bkend://orgs").header("Authorization", &format!("Basic {}", fixture.owner_token))).into()
        }),
        case("forged", "a session's id as a token", "401 malformed", SystemChain("malformed"), |fixture| {
            read_orgs_with(fixture, &fixture.open_session(&fixture.owner_token))
        }),
    ]
}

/// Tokens of the trusted issuer that must not be accepted.
#[rustfmt::skip]
pub fn issuer() -> Vec<AttackCase> {
    vec![
        case("forged", "an issuer's token for another server", "401 wrong_audience", SystemChain("wrong_audience"), |fixture| {
            read_orgs_with(fixture, &fixture.provider.issue_token(VICTIM, |_, claims| claims["aud"] = "https://other.example".into()))
        }),
        case("forged", "an issuer's token with the server's own issuer name", "401 wrong_issuer", SystemChain("wrong_issuer"), |fixture| {
            read_orgs_with(fixture, &fixture.provider.issue_token(VICTIM, |_, claims| claims["iss"] = "quad".into()))
        }),
        case("forged", "an issuer's token under our key's name", "401 bad_signature", SystemChain("bad_signature"), |fixture| {
            read_orgs_with(fixture, &fixture.provider.issue_token(VICTIM, |header, claims| {
                header["kid"] = kid_of(&fixture.owner_token).into();
                claims["iss"] = "quad".into();
            }))
        }),
        case("forged", "an expired token of the issuer", "401 expired", SystemChain("expired"), |fixture| {
            read_orgs_with(fixture, &fixture.provider.issue_token(VICTIM, |_, claims| claims["exp"] = (claims["iat"].as_i64().unwrap() - 60).into()))
        }),
        case("forged", "a token of the issuer that is not valid yet", "401 not_yet_valid", SystemChain("not_yet_valid"), |fixture| {
            read_orgs_with(fixture, &fixture.provider.issue_token(VICTIM, |_, claims| claims["nbf"] = (claims["iat"].as_i64().unwrap() + 600).into()))
        }),
        case("forged", "a token of the issuer with a too long lifetime", "401 lives_too_long", SystemChain("lives_too_long"), |fixture| {
            read_orgs_with(fixture, &fixture.provider.issue_token(VICTIM, |_, claims| claims["exp"] = (claims["iat"].as_i64().unwrap() + 86_400).into()))
        }),
        case("forged", "an issuer's token for a tenant that does not know its holder", "401 agent_unregistered", SystemChain("agent_unregistered"), |fixture| {
            // Whether there is such a tenant is not told.
            let token = |tenant: &str| fixture.send(&fixture.plain_read_request(&fixture.provider.issue_token(tenant, |_, _| {}), "bkend://orgs"));
            vec![token(VICTIM), token("nobody"), token("system")].into()
        }),
    ]
}

/// Credentials that were valid before.
#[rustfmt::skip]
pub fn replayed() -> Vec<AttackCase> {
    vec![
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
            fixture.instance.run(&["key", "drop", &kid_of(&fixture.old_key_token)]);
            let with_session = fixture.legacy_request(&fixture.old_key_token, Some(&session), "ping", json!({}));
            Responses(vec![vec![fixture.send(&fixture.plain_read_request(&fixture.old_key_token, "bkend://orgs"))], vec![fixture.send(&with_session)]])
        }),
    ]
}

/// Credentials of quarantined agents.
#[rustfmt::skip]
pub fn quarantined() -> Vec<AttackCase> {
    vec![
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
    ]
}
