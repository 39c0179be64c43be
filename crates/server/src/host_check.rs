//! The allowed values of `Host` and `Origin`: protection against DNS rebinding and foreign pages.
//!
//! A web page can point its own domain name at a loopback address and so reach a local server that trusts its machine.
//! It cannot choose the `Host` and `Origin` that the browser sends, so these are checked before anything else. A browser
//! sends no `Origin` with a plain GET, but it sends `Sec-Fetch-Site`, which a server without tokens checks as well.

use std::net::SocketAddr;

use http::header::{HOST, ORIGIN};
use http::{HeaderMap, HeaderName};

/// Where the page that sent a request comes from, relative to this server. Only browsers send it, and a page cannot set it.
const SEC_FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");

/// The allowed host names.
#[derive(Clone, Debug)]
pub(crate) struct HostPolicy {
    /// The bound address as most requests spell it: compared first.
    bound: String,
    allowed: Vec<(String, Option<u16>)>,
    allow_any: bool,
}

/// A host name, and a port if there is one.
#[derive(Clone, Copy, Debug)]
struct HostPort<'a> {
    host: &'a str,
    port: Option<u16>,
}

/// Why a request was rejected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum HostRejection {
    /// The request is for another host.
    Host,
    /// The request comes from a page of a foreign origin.
    Origin,
    /// The request comes from a web page of another origin, and the server asks for no token.
    OtherPage,
}

/// Checks that no web page of another origin sent the request. For a server without tokens: such a page, also one of
/// another port of this machine, would act as the local agent. Clients other than browsers send no such header.
pub(crate) fn check_fetch_site(headers: &HeaderMap) -> Result<(), HostRejection> {
    let is_own = |site: &http::HeaderValue| {
        // `none`: the user typed the address or opened a bookmark.
        let site = site.as_bytes();
        site.eq_ignore_ascii_case(b"same-origin") || site.eq_ignore_ascii_case(b"none")
    };
    if headers.get_all(SEC_FETCH_SITE).iter().all(is_own) { Ok(()) } else { Err(HostRejection::OtherPage) }
}

impl HostPolicy {
    /// Allows the loopback names, the bound address and the configured names: `name`, `name:port`, or `*` for all.
    pub(crate) fn new(bound: SocketAddr, configured: &[String]) -> HostPolicy {
        let mut allowed: Vec<(String, Option<u16>)> =
            ["localhost", "127.0.0.1", "::1"].iter().map(|host| ((*host).to_owned(), None)).collect();
        if !bound.ip().is_unspecified() {
            allowed.push((bound.ip().to_string(), None));
        }
        // A configured name may be an origin with its URL scheme. Only its host counts.
        let names =
            configured.iter().map(|name| name.split_once("://").map_or(name.as_str(), |(_, rest)| rest));
        allowed.extend(names.filter_map(HostPort::parse).map(|name| (name.host.to_owned(), name.port)));
        HostPolicy { bound: bound.to_string(), allowed, allow_any: configured.iter().any(|name| name == "*") }
    }

    /// Checks the host that the request is for. `authority` is that of the request line, if it has one.
    pub(crate) fn check_host(
        &self,
        headers: &HeaderMap,
        authority: Option<&str>,
    ) -> Result<(), HostRejection> {
        let mut hosts = headers.get_all(HOST).iter();
        let host = hosts.next().and_then(|host| host.to_str().ok());
        let is_repeated = hosts.next().is_some();
        let requested = authority.or(host);
        let is_allowed =
            |name: &str| name == self.bound || HostPort::parse(name).is_some_and(|name| self.allows(name));
        if !is_repeated && requested.is_some_and(is_allowed) && host.is_none_or(is_allowed) {
            Ok(())
        } else {
            Err(HostRejection::Host)
        }
    }

    /// Checks the origin of the page that sent the request. Clients other than browsers send none.
    pub(crate) fn check_origin(&self, headers: &HeaderMap) -> Result<(), HostRejection> {
        let is_allowed = |origin: &http::HeaderValue| {
            let origin = origin.to_str().ok()?;
            let (scheme, rest) = origin.split_once("://")?;
            let name = HostPort::parse(rest)?;
            Some(matches!(scheme, "http" | "https") && self.allows(name))
        };
        let all_allowed = headers.get_all(ORIGIN).iter().all(|origin| is_allowed(origin) == Some(true));
        if all_allowed { Ok(()) } else { Err(HostRejection::Origin) }
    }

    fn allows(&self, name: HostPort<'_>) -> bool {
        let is_allowed = |(host, port): &(String, Option<u16>)| {
            host.eq_ignore_ascii_case(name.host) && (port.is_none() || *port == name.port)
        };
        self.allow_any || self.allowed.iter().any(is_allowed)
    }
}

impl HostPort<'_> {
    /// Parses `host`, `host:port`, `[v6]` or `[v6]:port`.
    fn parse(text: &str) -> Option<HostPort<'_>> {
        let text = text.strip_suffix('/').unwrap_or(text);
        let (host, port) = match text.strip_prefix('[') {
            Some(rest) => {
                let (host, after) = rest.split_once(']')?;
                (host, after.strip_prefix(':').or(if after.is_empty() { None } else { Some("-") }))
            }
            None if text.matches(':').count() > 1 => (text, None),
            None => match text.split_once(':') {
                Some((host, port)) => (host, Some(port)),
                None => (text, None),
            },
        };
        let port = match port {
            Some(port) => Some(port.parse().ok()?),
            None => None,
        };
        let valid =
            !host.is_empty() && host.bytes().all(|b| b.is_ascii_alphanumeric() || b".-_:".contains(&b));
        valid.then_some(HostPort { host, port })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::HeaderValue;

    fn host_policy(configured: &[&str]) -> HostPolicy {
        let configured: Vec<String> = configured.iter().map(|name| (*name).to_owned()).collect();
        HostPolicy::new("127.0.0.1:4000".parse().unwrap(), &configured)
    }

    fn headers(name: http::HeaderName, value: &str) -> HeaderMap {
        HeaderMap::from_iter([(name, HeaderValue::from_str(value).unwrap())])
    }

    #[test]
    fn host_is_checked_against_allow_list() {
        let check = |configured: &[&str], host: &str, expected: bool| {
            assert_eq!(
                host_policy(configured).check_host(&headers(HOST, host), None).is_ok(),
                expected,
                "{configured:?} {host}"
            );
        };
        check(&[], "localhost", true);
        check(&[], "LOCALHOST:4000", true);
        check(&[], "127.0.0.1:9", true);
        check(&[], "[::1]:4000", true);
        check(&[], "evil.example", false);
        check(&[], "localhost.evil.example", false);
        check(&[], "localhost:x", false);
        check(&[], "", false);
        check(&["mcp.example.com"], "mcp.example.com:443", true);
        check(&["mcp.example.com:8443"], "mcp.example.com", false);
        check(&["mcp.example.com:8443"], "mcp.example.com:8443", true);
        check(&["*"], "anything.example", true);
        assert!(host_policy(&[]).check_host(&HeaderMap::new(), None).is_err());
        assert!(host_policy(&[]).check_host(&headers(HOST, "localhost"), Some("evil.example")).is_err());
        assert!(host_policy(&[]).check_host(&headers(HOST, "evil.example"), Some("localhost")).is_err());
    }

    #[test]
    fn fetch_site_must_be_own_origin_or_absent() {
        let check = |site: &str, expected: bool| {
            let headers = headers(SEC_FETCH_SITE, site);
            assert_eq!(check_fetch_site(&headers).is_ok(), expected, "{site}");
        };
        check("same-origin", true);
        check("none", true);
        check("Same-Origin", true);
        check("cross-site", false);
        check("same-site", false);
        check("something new", false);
        assert!(check_fetch_site(&HeaderMap::new()).is_ok());
        let mut repeated = headers(SEC_FETCH_SITE, "none");
        repeated.append(SEC_FETCH_SITE, HeaderValue::from_static("cross-site"));
        assert!(check_fetch_site(&repeated).is_err());
    }

    #[test]
    fn origin_is_checked_and_may_be_absent() {
        let check = |origin: &str, expected: bool| {
            let policy = host_policy(&["https://app.example.com"]);
            assert_eq!(policy.check_origin(&headers(ORIGIN, origin)).is_ok(), expected, "{origin}");
        };
        check("http://localhost:3000", true);
        check("https://app.example.com", true);
        check("https://evil.example", false);
        check("null", false);
        check("file://localhost", false);
        check("http://localhost@evil.example", false);
        assert!(host_policy(&[]).check_origin(&HeaderMap::new()).is_ok());
    }
}
