//! Attacks that aim at data of another tenant or of a caller with more scopes.

use serde_json::{Value, json};

use super::ExpectedAudit::{AllowedEvent, TenantChain};
use super::fixture::{INTRUDER, VICTIM};
use super::{AttackCase, case, multi_step, valid_request};
use crate::helpers::without_header;
use crate::http::Request;

/// Ids of another tenant.
#[rustfmt::skip]
pub fn cross_tenant() -> Vec<AttackCase> {
    vec![
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
    ]
}

/// Cached answers of other callers.
#[rustfmt::skip]
pub fn cache() -> Vec<AttackCase> {
    vec![
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
        case("cache", "what the victim has just read, by any tag", "404 NOT_FOUND", TenantChain(INTRUDER), |fixture| {
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
    ]
}

/// Cursors that are edited, foreign or of another list.
#[rustfmt::skip]
pub fn cursor() -> Vec<AttackCase> {
    vec![
        case("cursor", "a cursor with one changed letter", "200 INVALID_CURSOR", TenantChain(INTRUDER), |fixture| {
            let mut cursor = multi_step::list_cursor(fixture, &fixture.intruder_token).into_bytes();
            cursor[4] = if cursor[4] == b'A' { b'B' } else { b'A' };
            multi_step::list_at_cursor(fixture, &String::from_utf8(cursor).unwrap()).into()
        }),
        case("cursor", "a truncated cursor", "200 INVALID_CURSOR", TenantChain(INTRUDER), |fixture| {
            let cursor = multi_step::list_cursor(fixture, &fixture.intruder_token);
            multi_step::list_at_cursor(fixture, &cursor[..cursor.len() - 4]).into()
        }),
        case("cursor", "the victim's cursor", "200 INVALID_CURSOR", TenantChain(INTRUDER), |fixture| {
            multi_step::list_at_cursor(fixture, &multi_step::list_cursor(fixture, &fixture.owner_token)).into()
        }),
        case("cursor", "the victim's cursor of its trail", "400 INVALID_CURSOR", TenantChain(INTRUDER), |fixture| {
            multi_step::read_events_at_cursor(fixture, "", &multi_step::audit_cursor(fixture, &fixture.owner_token)).into()
        }),
        case("cursor", "a cursor of the audit trail with another filter", "400 INVALID_CURSOR", TenantChain(INTRUDER), |fixture| {
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
    ]
}

/// Subscriptions.
#[rustfmt::skip]
pub fn subscription() -> Vec<AttackCase> {
    vec![
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
        case("subscription", "in another caller's session", "404 SESSION_NOT_FOUND", TenantChain(INTRUDER), |fixture| {
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
    ]
}
