//! Which names this server answers to, and which pages may call it.
//!
//! A page in a browser can point its own name at a loopback address and reach a local server that trusts its machine.
//! It cannot choose the `Host` and `Origin` that the browser sends, so these are checked before anything else.

use std::net::SocketAddr;

use http::HeaderMap;
use http::header::{HOST, ORIGIN};

/// The names that are allowed.
#[derive(Clone, Debug)]
pub(crate) struct Guard {
    /// The bound address as most requests spell it.
    bound: String,
    allowed: Vec<(String, Option<u16>)>,
    anything: bool,
}

/// A host name, with the port where that matters.
#[derive(Clone, Copy, Debug)]
struct Name<'a> {
    host: &'a str,
    port: Option<u16>,
}

/// Why a request was turned away.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stranger {
    /// The request is for another server.
    Host,
    /// The request comes from a page of somebody else.
    Origin,
}

impl Guard {
    /// Allows the loopback names, the bound address, and what is configured: `name`, `name:port`, or `*` for all.
    pub(crate) fn new(bound: SocketAddr, configured: &[String]) -> Guard {
        let mut allowed: Vec<(String, Option<u16>)> =
            ["localhost", "127.0.0.1", "::1"].iter().map(|host| ((*host).to_owned(), None)).collect();
        if !bound.ip().is_unspecified() {
            allowed.push((bound.ip().to_string(), None));
        }
        // An origin may be configured with its scheme; only its host matters.
        let names =
            configured.iter().map(|name| name.split_once("://").map_or(name.as_str(), |(_, rest)| rest));
        allowed.extend(names.filter_map(Name::parse).map(|name| (name.host.to_owned(), name.port)));
        Guard { bound: bound.to_string(), allowed, anything: configured.iter().any(|name| name == "*") }
    }

    /// Checks the name that the request is for. `authority` is the one in the request line, if there is one.
    pub(crate) fn check_host(&self, headers: &HeaderMap, authority: Option<&str>) -> Result<(), Stranger> {
        let mut hosts = headers.get_all(HOST).iter();
        let host = hosts.next().and_then(|host| host.to_str().ok());
        let doubled = hosts.next().is_some();
        let named = authority.or(host);
        let is_ours =
            |name: &str| name == self.bound || Name::parse(name).is_some_and(|name| self.allows(name));
        if !doubled && named.is_some_and(is_ours) && host.is_none_or(is_ours) {
            Ok(())
        } else {
            Err(Stranger::Host)
        }
    }

    /// Checks the page that the request comes from. Programs that are no browsers name none.
    pub(crate) fn check_origin(&self, headers: &HeaderMap) -> Result<(), Stranger> {
        let is_ours = |origin: &http::HeaderValue| {
            let origin = origin.to_str().ok()?;
            let (scheme, rest) = origin.split_once("://")?;
            let name = Name::parse(rest)?;
            Some(matches!(scheme, "http" | "https") && self.allows(name))
        };
        let ours = headers.get_all(ORIGIN).iter().all(|origin| is_ours(origin) == Some(true));
        if ours { Ok(()) } else { Err(Stranger::Origin) }
    }

    fn allows(&self, name: Name<'_>) -> bool {
        let is_ours = |(host, port): &(String, Option<u16>)| {
            host.eq_ignore_ascii_case(name.host) && (port.is_none() || *port == name.port)
        };
        self.anything || self.allowed.iter().any(is_ours)
    }
}

impl Name<'_> {
    /// Reads `host`, `host:port`, `[v6]` or `[v6]:port`.
    fn parse(text: &str) -> Option<Name<'_>> {
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
        valid.then_some(Name { host, port })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::HeaderValue;

    fn guard(configured: &[&str]) -> Guard {
        let configured: Vec<String> = configured.iter().map(|name| (*name).to_owned()).collect();
        Guard::new("127.0.0.1:4000".parse().unwrap(), &configured)
    }

    fn headers(name: http::HeaderName, value: &str) -> HeaderMap {
        HeaderMap::from_iter([(name, HeaderValue::from_str(value).unwrap())])
    }

    #[test]
    fn a_host_must_be_ours() {
        let check = |configured: &[&str], host: &str, ours: bool| {
            assert_eq!(
                guard(configured).check_host(&headers(HOST, host), None).is_ok(),
                ours,
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
        assert!(guard(&[]).check_host(&HeaderMap::new(), None).is_err());
        assert!(guard(&[]).check_host(&headers(HOST, "localhost"), Some("evil.example")).is_err());
        assert!(guard(&[]).check_host(&headers(HOST, "evil.example"), Some("localhost")).is_err());
    }

    #[test]
    fn a_page_must_be_ours_and_a_program_names_none() {
        let check = |origin: &str, ours: bool| {
            let guard = guard(&["https://app.example.com"]);
            assert_eq!(guard.check_origin(&headers(ORIGIN, origin)).is_ok(), ours, "{origin}");
        };
        check("http://localhost:3000", true);
        check("https://app.example.com", true);
        check("https://evil.example", false);
        check("null", false);
        check("file://localhost", false);
        check("http://localhost@evil.example", false);
        assert!(guard(&[]).check_origin(&HeaderMap::new()).is_ok());
    }
}
