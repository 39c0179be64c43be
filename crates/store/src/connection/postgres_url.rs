//! The parameters of a database URL that the driver does not know.
//!
//! Both forms of libpq are read: `postgres://user@host/db?name=value&…`, and `host=… user=… name=value …`.

/// The parameters that this crate reads itself.
const OWN: [&str; 4] = ["sslmode", "sslrootcert", "sslcert", "sslkey"];

/// A database URL in two parts.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct UrlParameters {
    /// The URL without the parameters of [`OWN`], for the driver.
    pub(crate) driver_url: String,
    own: Vec<(&'static str, String)>,
}

impl UrlParameters {
    /// Splits a URL.
    pub(crate) fn parse(url: &str) -> UrlParameters {
        let is_uri = url.starts_with("postgres://") || url.starts_with("postgresql://");
        if is_uri { UrlParameters::parse_uri(url) } else { UrlParameters::parse_words(url) }
    }

    /// The value of a parameter. The last one counts, as in libpq.
    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        self.own.iter().rev().find(|(own, _)| *own == name).map(|(_, value)| value.as_str())
    }

    fn parse_uri(url: &str) -> UrlParameters {
        let Some((base, query)) = url.split_once('?') else {
            return UrlParameters { driver_url: url.to_owned(), own: Vec::new() };
        };
        let mut own = Vec::new();
        let mut others = Vec::new();
        for pair in query.split('&') {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            match own_name(name) {
                Some(name) => own.push((name, decode_percent(value))),
                None => others.push(pair),
            }
        }
        let query = others.join("&");
        let driver_url = if query.is_empty() { base.to_owned() } else { format!("{base}?{query}") };
        UrlParameters { driver_url, own }
    }

    fn parse_words(url: &str) -> UrlParameters {
        let mut parameters = UrlParameters::default();
        let mut rest = url.trim_start();
        while !rest.is_empty() {
            let (name, value, length) = next_word(rest);
            match own_name(name) {
                Some(name) => parameters.own.push((name, value)),
                None => {
                    if !parameters.driver_url.is_empty() {
                        parameters.driver_url.push(' ');
                    }
                    parameters.driver_url.push_str(&rest[..length]);
                }
            }
            rest = rest[length..].trim_start();
        }
        parameters
    }
}

fn own_name(name: &str) -> Option<&'static str> {
    OWN.into_iter().find(|own| *own == name)
}

/// The name, the value and the length in bytes of the first `name = value` of a text. A value may stand between
/// apostrophes; a backslash takes the next character as it is.
fn next_word(text: &str) -> (&str, String, usize) {
    let name_end = text.find(|c: char| c == '=' || c.is_whitespace()).unwrap_or(text.len());
    let name = &text[..name_end];
    let after_name = text[name_end..].trim_start();
    let Some(after_equals) = after_name.strip_prefix('=') else {
        return (name, String::new(), name_end.max(1));
    };
    let value_text = after_equals.trim_start();
    let value_start = text.len() - value_text.len();
    let is_quoted = value_text.starts_with('\'');
    let mut value = String::new();
    let mut characters = value_text.char_indices().skip(usize::from(is_quoted));
    while let Some((at, character)) = characters.next() {
        match character {
            '\\' => value.extend(characters.next().map(|(_, escaped)| escaped)),
            '\'' if is_quoted => return (name, value, value_start + at + 1),
            _ if !is_quoted && character.is_whitespace() => return (name, value, value_start + at),
            _ => value.push(character),
        }
    }
    (name, value, text.len())
}

fn decode_percent(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, others @ ..] = rest {
        let digits = others.get(..2).and_then(|digits| std::str::from_utf8(digits).ok());
        match digits.and_then(|digits| u8::from_str_radix(digits, 16).ok()) {
            Some(byte) if *first == b'%' => {
                bytes.push(byte);
                rest = &others[2..];
            }
            _ => {
                bytes.push(*first);
                rest = others;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(url: &str, driver_url: &str, own: &[(&str, &str)]) {
        let parameters = UrlParameters::parse(url);
        assert_eq!(parameters.driver_url, driver_url, "{url}");
        for (name, value) in own {
            assert_eq!(parameters.get(name), Some(*value), "{url}");
        }
        assert_eq!(parameters.own.len(), own.len(), "{url}");
    }

    #[test]
    fn own_parameters_of_a_uri_are_taken_out() {
        check("postgres://a@b/c", "postgres://a@b/c", &[]);
        check("postgres://a@b/c?sslmode=require", "postgres://a@b/c", &[("sslmode", "require")]);
        check(
            "postgresql://a@b/c?connect_timeout=3&sslrootcert=%2Fetc%2Fa%20b.crt&sslmode=verify-full&options=-c",
            "postgresql://a@b/c?connect_timeout=3&options=-c",
            &[("sslmode", "verify-full"), ("sslrootcert", "/etc/a b.crt")],
        );
        check(
            "postgres://a@b/c?sslcert=100%&sslkey",
            "postgres://a@b/c",
            &[("sslcert", "100%"), ("sslkey", "")],
        );
    }

    #[test]
    fn own_parameters_of_words_are_taken_out() {
        check("host=a user=b", "host=a user=b", &[]);
        check(
            r"  host = '/a b' sslmode = verify-ca password='it\'s' sslrootcert='/c d.crt'",
            r"host = '/a b' password='it\'s'",
            &[("sslmode", "verify-ca"), ("sslrootcert", "/c d.crt")],
        );
        check(r"sslkey=/a\ b.key dbname=c", "dbname=c", &[("sslkey", "/a b.key")]);
    }

    #[test]
    fn last_value_counts_and_broken_text_ends() {
        assert_eq!(UrlParameters::parse("postgres://b/c?sslmode=a&sslmode=b").get("sslmode"), Some("b"));
        for broken in ["=", "= =", "host", "host='", "é=é é", "a='b\\", "%"] {
            UrlParameters::parse(broken);
        }
    }
}
