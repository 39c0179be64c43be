//! Attacks by the form of a request: path, headers, body, origin, address.

use serde_json::json;

use super::ExpectedAudit::{NoEvent, SystemChain, TenantChain};
use super::fixture::{INTRUDER, VICTIM, percent_encode};
use super::{AttackCase, case, multi_step, valid_request};
use crate::helpers::{post_request, with_token, without_header};
use crate::http::Request;

/// Request paths and addresses.
#[rustfmt::skip]
pub fn path() -> Vec<AttackCase> {
    vec![
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
        case("path", "user information in an address", "INVALID_URI", TenantChain(INTRUDER), |fixture| multi_step::read_malformed_uri(fixture, "bkend://owner@orgs/org_abc123")),
        case("path", "a file as an address", "INVALID_URI", TenantChain(INTRUDER), |fixture| multi_step::read_malformed_uri(fixture, "file:///etc/passwd")),
        case("path", "an address that is not UTF-8 once decoded", "400 VALIDATION_ERROR", TenantChain(INTRUDER), |fixture| {
            fixture.send(&with_token(Request::new("GET", "/v1/resources?uri=bkend://orgs/%c0%ae"), &fixture.intruder_token)).into()
        }),
        case("path", "two addresses in one query", "400 VALIDATION_ERROR", TenantChain(INTRUDER), |fixture| {
            fixture.send(&with_token(Request::new("GET", "/v1/resources?uri=bkend://orgs&uri=bkend://orgs/org_abc123"), &fixture.intruder_token)).into()
        }),
    ]
}

/// HTTP headers.
#[rustfmt::skip]
pub fn header() -> Vec<AttackCase> {
    vec![
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
        case("header", "a user in a header of a proxy", "401 missing", SystemChain("missing"), |fixture| {
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
        case("header", "an unknown revision", "400 UNSUPPORTED_PROTOCOL_VERSION", TenantChain(INTRUDER), |fixture| {
            let request = fixture.legacy_request(&fixture.intruder_token, None, "resources/list", json!({}));
            fixture.send(&without_header(request, "MCP-Protocol-Version").header("MCP-Protocol-Version", "1900-01-01")).into()
        }),
        case("header", "the media type of an HTML form", "415 UNSUPPORTED_MEDIA_TYPE", TenantChain(INTRUDER), |fixture| {
            fixture.send(&without_header(valid_request(fixture), "Content-Type").header("Content-Type", "text/plain")).into()
        }),
        case("header", "another verb than the request's", "404 NOT_FOUND", TenantChain(INTRUDER), |fixture| {
            fixture.for_existing_and_absent(|ids| {
                let request = fixture.plain_read_request(&fixture.intruder_token, &format!("bkend://orgs/{}", ids.get("orgId")));
                fixture.send(&request.header("X-HTTP-Method-Override", "DELETE").header("X-Original-URL", "/metrics"))
            }).into()
        }),
        case("header", "headers that are too large", "431 HEADERS_TOO_LARGE", NoEvent, |fixture| fixture.send(&valid_request(fixture).header("X-Padding", &"x".repeat(70_000))).into()),
        case("header", "too many headers", "431 TOO_MANY_HEADERS", NoEvent, |fixture| {
            fixture.send(&(0..70).fold(valid_request(fixture), |request, n| request.header(&format!("X-Header-{n}"), "x"))).into()
        }),
        case("header", "a body longer than it may be", "413 BODY_TOO_LARGE", TenantChain(INTRUDER), |fixture| {
            let request = Request { body: None, ..valid_request(fixture) };
            fixture.send(&request.header("Content-Length", "5242880").header("Connection", "close")).into()
        }),
        case("header", "a second request inside the first", "1 reply 400", TenantChain(INTRUDER), multi_step::smuggle_request),
    ]
}

/// Request bodies.
#[rustfmt::skip]
pub fn body() -> Vec<AttackCase> {
    vec![
        case("body", "two methods in one message", "400 INVALID_REQUEST", TenantChain(INTRUDER), |fixture| {
            let body = r#"{"jsonrpc":"2.0","id":1,"method":"ping","method":"resources/list","params":{}}"#;
            fixture.send(&with_token(post_request(body), &fixture.intruder_token)).into()
        }),
        case("body", "two addresses in one message", "400 INVALID_META", TenantChain(INTRUDER), |fixture| {
            let body = String::from_utf8(valid_request(fixture).body.unwrap()).unwrap();
            fixture.send(&valid_request(fixture).body(body.replace(r#""uri":"#, r#""uri":"bkend://context","uri":"#))).into()
        }),
        case("body", "a body that is not a message", "400 PARSE_ERROR", TenantChain(INTRUDER), |fixture| fixture.send(&with_token(post_request("{"), &fixture.intruder_token)).into()),
        case("body", "an unknown method", "404 METHOD_NOT_FOUND", TenantChain(INTRUDER), |fixture| {
            fixture.send(&fixture.modern_request(&fixture.intruder_token, "tenants/switch", json!({"tenant": VICTIM}))).into()
        }),
        case("body", "foreign things in a batch", "200 NOT_FOUND+METHOD_NOT_FOUND", TenantChain(INTRUDER), |fixture| {
            let message = |id: u8, method: &str| json!({"jsonrpc": "2.0", "id": id, "method": method, "params": {"uri": "bkend://orgs/org_abc123"}});
            let batch = json!([message(1, "resources/read"), message(2, "tenants/switch")]);
            fixture.send(&with_token(post_request(batch), &fixture.intruder_token).header("MCP-Protocol-Version", "2025-03-26")).into()
        }),
    ]
}

/// Requests of foreign web pages.
#[rustfmt::skip]
pub fn origin() -> Vec<AttackCase> {
    vec![
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
    ]
}

/// Addresses that no template matches.
#[rustfmt::skip]
pub fn template() -> Vec<AttackCase> {
    vec![
        case("template", "an unexpanded template", "INVALID_URI", TenantChain(INTRUDER), |fixture| multi_step::read_malformed_uri(fixture, "bkend://orgs/{orgId}")),
        case("template", "a quote in an id", "INVALID_URI", TenantChain(INTRUDER), |fixture| multi_step::read_malformed_uri(fixture, "bkend://orgs/org_abc123'--")),
        case("template", "an SQL statement in an id", "INVALID_URI", TenantChain(INTRUDER), |fixture| {
            multi_step::read_malformed_uri(fixture, &format!("bkend://orgs/{}", percent_encode("x' OR tenant_id <> '")))
        }),
        case("template", "a LIKE pattern in an id", "INVALID_URI", TenantChain(INTRUDER), |fixture| multi_step::read_malformed_uri(fixture, "bkend://orgs/org_%25")),
        case("template", "a star for every id", "INVALID_URI", TenantChain(INTRUDER), |fixture| multi_step::read_malformed_uri(fixture, "bkend://orgs/*")),
        case("template", "an id that is too long", "INVALID_URI", TenantChain(INTRUDER), |fixture| multi_step::read_malformed_uri(fixture, &format!("bkend://orgs/{}", "x".repeat(65)))),
        case("template", "a tenant as a query key", "INVALID_URI", TenantChain(INTRUDER), |fixture| multi_step::read_malformed_uri(fixture, "bkend://orgs/org_abc123?tenant=victim")),
        case("template", "a query key twice", "INVALID_URI", TenantChain(INTRUDER), |fixture| multi_step::read_malformed_uri(fixture, "bkend://tables?page=1&page=2")),
        case("template", "upper case in a literal", "INVALID_URI", TenantChain(INTRUDER), |fixture| multi_step::read_malformed_uri(fixture, "bkend://ORGS/org_abc123")),
        case("template", "an address with a fragment", "INVALID_URI", TenantChain(INTRUDER), |fixture| multi_step::read_malformed_uri(fixture, "bkend://orgs#org_abc123")),
        case("template", "an address that is too long", "INVALID_URI", TenantChain(INTRUDER), |fixture| multi_step::read_malformed_uri(fixture, &format!("bkend://orgs/{}", "x/".repeat(5_000)))),
        case("template", "a completion of no template", "200 VALIDATION_ERROR", TenantChain(INTRUDER), |fixture| {
            multi_step::complete(fixture, "bkend://orgs/{orgId}/{+rest}", "rest", "", json!({})).into()
        }),
        case("template", "a completion of no variable", "200 VALIDATION_ERROR", TenantChain(INTRUDER), |fixture| {
            multi_step::complete(fixture, "bkend://orgs/{orgId}", "tenant", "", json!({})).into()
        }),
    ]
}

/// Servers without authentication.
#[rustfmt::skip]
pub fn no_auth() -> Vec<AttackCase> {
    vec![
        case("no-auth", "--no-auth on every address", "exit 2 refused", NoEvent, |fixture| multi_step::serve_publicly_without_auth(fixture, &["--no-auth", "--listen", "0.0.0.0:0"], &[])),
        case("no-auth", "--no-auth on every address of IPv6", "exit 2 refused", NoEvent, |fixture| multi_step::serve_publicly_without_auth(fixture, &["--no-auth", "--listen", "[::]:0"], &[])),
        case("no-auth", "QUAD_NO_AUTH on every address", "exit 2 refused", NoEvent, |fixture| {
            multi_step::serve_publicly_without_auth(fixture, &["--listen", "0.0.0.0:0"], &[("QUAD_NO_AUTH", "true")])
        }),
        case("no-auth", "--no-auth where only the settings name the address", "exit 2 refused", NoEvent, |fixture| {
            multi_step::serve_publicly_without_auth(fixture, &["--no-auth", "--allowed-hosts", "*"], &[("QUAD_LISTEN", "0.0.0.0:0")])
        }),
        case("no-auth", "a foreign name for a server without tokens", "403 HOST_NOT_ALLOWED", SystemChain("foreign_host"), |fixture| multi_step::request_no_auth_server(fixture, "Host", "evil.example")),
        case("no-auth", "a foreign page, to a server without tokens", "403 ORIGIN_NOT_ALLOWED", SystemChain("foreign_origin"), |fixture| {
            multi_step::request_no_auth_server(fixture, "Origin", "http://evil.example")
        }),
        case("no-auth", "a foreign page that sends no origin, to a server without tokens", "403 CROSS_SITE_NOT_ALLOWED", SystemChain("cross_site"), |fixture| {
            multi_step::request_no_auth_server(fixture, "Sec-Fetch-Site", "cross-site")
        }),
        case("no-auth", "a page of another port, to a server without tokens", "403 CROSS_SITE_NOT_ALLOWED", SystemChain("cross_site"), |fixture| {
            multi_step::request_no_auth_server(fixture, "Sec-Fetch-Site", "same-site")
        }),
    ]
}
