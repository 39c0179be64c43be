//! Link destinations as markdown-it writes them: percent-encoded, with an ASCII host name, without script URLs. The
//! crate `url` follows WHATWG, whose stricter rules would change destinations that markdown-it accepts.

use crate::char_class;
use crate::limits::HOST_NAME_CHARS_MAX;
use crate::punycode;

/// A destination as an attribute value.
pub(crate) fn encode_href(url: &str) -> String {
    let mut url = Url::parse(url);
    if url.has_dns_host() {
        url.host = punycode::to_ascii(&url.host);
    }
    percent_encode(&url.to_text())
}

/// A destination as readable text, for autolinks.
pub(crate) fn display_href(url: &str) -> String {
    let mut url = Url::parse(url);
    if url.has_dns_host() {
        url.host = punycode::to_unicode(&url.host);
    }
    percent_decode(&url.to_text())
}

/// Whether a normalised destination may become a link.
pub(crate) fn is_allowed(url: &str) -> bool {
    let url = char_class::trim(url).to_lowercase();
    let is_dangerous =
        ["vbscript:", "javascript:", "file:", "data:"].iter().any(|scheme| url.starts_with(scheme));
    let is_image = ["gif", "png", "jpeg", "webp"].iter().any(|kind| {
        url.strip_prefix("data:image/")
            .and_then(|rest| rest.strip_prefix(kind))
            .is_some_and(|rest| rest.starts_with(';'))
    });
    !is_dangerous || is_image
}

/// A URL split as leniently as markdown-it does. Formatting it again gives nearly the same text.
#[derive(Debug, Default)]
struct Url<'u> {
    /// With its colon, as written.
    protocol: &'u str,
    slashes: bool,
    user: Option<&'u str>,
    host: String,
    port: Option<&'u str>,
    /// Path, query and fragment.
    rest: String,
}

impl<'u> Url<'u> {
    fn parse(url: &'u str) -> Url<'u> {
        let mut rest = char_class::trim(url);
        let mut parsed = Url::default();
        let scheme =
            rest.bytes().take_while(|b| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'+' | b'-')).count();
        if scheme > 0 && rest.as_bytes().get(scheme) == Some(&b':') {
            (parsed.protocol, rest) = rest.split_at(scheme + 1);
        }
        let hostless = parsed.protocol == "javascript:";
        let begins_with_slashes = rest.starts_with("//");
        if begins_with_slashes && !hostless {
            rest = &rest[2..];
            parsed.slashes = true;
        }
        let always_slashed = matches!(parsed.protocol, "http:" | "https:" | "ftp:" | "gopher:" | "file:");
        let has_host = begins_with_slashes || (!parsed.protocol.is_empty() && !always_slashed);
        if hostless || !has_host {
            parsed.rest = rest.to_owned();
            return parsed;
        }
        // An `@` counts only before the path.
        let user_end = match rest.find(['/', '?', '#']) {
            Some(end) => rest[..end].rfind('@'),
            None => rest.rfind('@'),
        };
        if let Some(at_sign) = user_end {
            parsed.user = Some(&rest[..at_sign]);
            rest = &rest[at_sign + 1..];
        }
        let mut host_end = rest.find(is_host_terminator).unwrap_or(rest.len());
        if rest[..host_end].ends_with(':') {
            host_end -= 1;
        }
        let (host, after) = rest.split_at(host_end);
        let (host, port) = split_port(host);
        parsed.port = port;
        let is_bracketed = host.starts_with('[') && host.ends_with(']');
        let (host, rejected) = if is_bracketed { (host, String::new()) } else { split_invalid_host(host) };
        parsed.rest = rejected + after;
        if host.encode_utf16().count() <= HOST_NAME_CHARS_MAX {
            parsed.host = host.to_owned();
        }
        if is_bracketed {
            parsed.host = parsed.host.get(1..parsed.host.len().saturating_sub(1)).unwrap_or("").to_owned();
        }
        parsed
    }

    /// Whether the host is a DNS name. Other schemes may use the host differently.
    fn has_dns_host(&self) -> bool {
        !self.host.is_empty() && matches!(self.protocol, "" | "http:" | "https:" | "mailto:")
    }

    fn to_text(&self) -> String {
        let mut text = String::from(self.protocol);
        if self.slashes {
            text.push_str("//");
        }
        if let Some(user) = self.user.filter(|user| !user.is_empty()) {
            text.push_str(user);
            text.push('@');
        }
        if self.host.contains(':') {
            text.push('[');
            text.push_str(&self.host);
            text.push(']');
        } else {
            text.push_str(&self.host);
        }
        if let Some(port) = self.port {
            text.push(':');
            text.push_str(port);
        }
        text.push_str(&self.rest);
        text
    }
}

fn is_host_terminator(c: char) -> bool {
    matches!(
        c,
        '%' | '/'
            | '?'
            | ';'
            | '#'
            | '\''
            | '{'
            | '}'
            | '|'
            | '\\'
            | '^'
            | '`'
            | '<'
            | '>'
            | '"'
            | ' '
            | '\r'
            | '\n'
            | '\t'
    )
}

/// The host, and the port after its last colon. An empty port is dropped.
fn split_port(host: &str) -> (&str, Option<&str>) {
    match host.rfind(':') {
        Some(colon) if host[colon + 1..].bytes().all(|byte| byte.is_ascii_digit()) => {
            (&host[..colon], Some(&host[colon + 1..]).filter(|port| !port.is_empty()))
        }
        _ => (host, None),
    }
}

/// The host up to its first invalid label, and the rest, which belongs to the path.
fn split_invalid_host(host: &str) -> (&str, String) {
    const LABEL_CHARS_MAX: usize = 63;
    let is_label_char = |c: char| c.is_ascii_alphanumeric() || matches!(c, '+' | '_' | '-');
    let mut start = 0;
    for label in host.split('.') {
        let length = label.encode_utf16().count();
        if length > LABEL_CHARS_MAX || !label.chars().all(|c| !c.is_ascii() || is_label_char(c)) {
            let valid_len: usize = label
                .chars()
                .take_while(|c| is_label_char(*c))
                .take(LABEL_CHARS_MAX)
                .map(char::len_utf8)
                .sum();
            let (host, rest) = host.split_at(start + valid_len);
            return (host, rest.to_owned());
        }
        start += label.len() + 1;
    }
    (host, String::new())
}

/// Escapes characters that a URL cannot contain. Existing escapes are kept.
fn percent_encode(url: &str) -> String {
    let bytes = url.as_bytes();
    let mut encoded = String::with_capacity(url.len());
    let is_hex = |pos: usize| bytes.get(pos).is_some_and(u8::is_ascii_hexdigit);
    for (pos, byte) in bytes.iter().enumerate() {
        let is_unescaped = byte.is_ascii_alphanumeric()
            || b";/?:@&=+$,-_.!~*'()#".contains(byte)
            || (*byte == b'%' && is_hex(pos + 1) && is_hex(pos + 2));
        if is_unescaped {
            encoded.push(char::from(*byte));
        } else {
            encoded.push('%');
            for nibble in [byte >> 4, byte & 15] {
                encoded
                    .extend(char::from_digit(u32::from(nibble), 16).map(|digit| digit.to_ascii_uppercase()));
            }
        }
    }
    encoded
}

/// Decodes escapes, except those of reserved characters.
fn percent_decode(url: &str) -> String {
    let mut decoded = String::with_capacity(url.len());
    let mut rest = url;
    while let Some(percent) = rest.find('%') {
        decoded.push_str(&rest[..percent]);
        rest = &rest[percent..];
        let mut bytes = Vec::new();
        let mut length = 0;
        while let Some(byte) = decode_escaped_byte(&rest.as_bytes()[length..]) {
            bytes.push(byte);
            length += 3;
        }
        if bytes.is_empty() {
            decoded.push('%');
            rest = &rest[1..];
            continue;
        }
        push_decoded(&mut decoded, &bytes);
        rest = &rest[length..];
    }
    decoded.push_str(rest);
    decoded
}

fn decode_escaped_byte(text: &[u8]) -> Option<u8> {
    let [b'%', high, low, ..] = text else { return None };
    let digit = |byte: u8| char::from(byte).to_digit(16);
    u8::try_from(digit(*high)? * 16 + digit(*low)?).ok()
}

fn push_decoded(decoded: &mut String, bytes: &[u8]) {
    let mut pos = 0;
    while pos < bytes.len() {
        let byte = bytes[pos];
        if byte < 0x80 {
            if b";/?:@&=+$,#%".contains(&byte) {
                decoded.push_str(&format!("%{byte:02X}"));
            } else {
                decoded.push(char::from(byte));
            }
            pos += 1;
            continue;
        }
        let length = match byte {
            0xC0..=0xDF => 2,
            0xE0..=0xEF => 3,
            0xF0..=0xF7 => 4,
            _ => 1,
        };
        let sequence = bytes
            .get(pos..pos + length)
            .filter(|sequence| length > 1 && sequence.iter().skip(1).all(|byte| (0x80..0xC0).contains(byte)));
        match sequence {
            Some(sequence) => {
                match std::str::from_utf8(sequence) {
                    Ok(text) => decoded.push_str(text),
                    // Well formed but not a character: one replacement character per byte.
                    Err(_) => decoded.extend(std::iter::repeat_n(char::REPLACEMENT_CHARACTER, length)),
                }
                pos += length;
            }
            None => {
                decoded.push(char::REPLACEMENT_CHARACTER);
                pos += 1;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn encode_href_does_not_encode_twice() {
        assert_eq!(encode_href("/ü?q=ä b"), "/%C3%BC?q=%C3%A4%20b");
        assert_eq!(encode_href("/a%20b%zz"), "/a%20b%25zz");
        assert_eq!(encode_href("http://ü.com/ä"), "http://xn--tda.com/%C3%A4");
        assert_eq!(encode_href("http://u:p@host:80/x?y#z"), "http://u:p@host:80/x?y#z");
        assert_eq!(encode_href("x:ü"), "x:%C3%BC");
    }

    #[test]
    fn display_href_decodes_punycode_and_escapes() {
        assert_eq!(display_href("http://xn--tda.com/%C3%A4%20%2F%25%FF"), "http://ü.com/ä %2F%25\u{FFFD}");
    }

    #[test]
    fn is_allowed_rejects_script_urls() {
        for url in ["javascript:x", " JavaScript:x", "data:text/html,x", "vbscript:", "file:///etc"] {
            assert!(!is_allowed(url), "{url}");
        }
        assert!(is_allowed("data:image/png;base64,x") && is_allowed("/x") && is_allowed("https://x"));
    }
}
