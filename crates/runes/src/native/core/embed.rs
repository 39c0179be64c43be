//! A video, a post or another page in a frame.
//!
//! Native because the address of the frame follows from the address of the page, by provider.

use crate::schema::component::{Component, part, structured};
use crate::schema::context::Result;
use crate::schema::{Call, Context};
use crate::tree::{Node, Tag};
use crate::value::{number_text, to_text};

/// What a frame may do.
const ALLOWED: &str =
    "accelerometer; autoplay; clipboard-write; encrypted-media; gyroscope; picture-in-picture";

pub(super) fn transform(mut call: Call<'_>, out: &mut Context<'_>) -> Result<Node> {
    let arguments = &call.arguments;
    let url = to_text(&arguments.value_or("url", ""));
    let (provider, frame) = provider_and_frame(&url);
    let root = Component::new("embed", "figure")
        .type_of("VideoObject")
        .value("provider", provider)
        .child_if(structured("contentUrl", Some(&url.as_str().into())))
        .child_if(structured("name", Some(&arguments.value_or("title", ""))))
        .child_if(structured("embedUrl", Some(&frame.as_str().into())));
    let wrapper = (!frame.is_empty()).then(|| {
        let frame = Tag::new("iframe")
            .with("src", frame)
            .with("title", arguments.text_or("title", "Embedded content"))
            .with("frameborder", "0")
            .with("allow", ALLOWED)
            .with("allowfullscreen", "")
            .with("loading", "lazy");
        let height = height_percent(&to_text(&arguments.value_or("aspect", "16:9")));
        let style = format!("padding-bottom: {}%", number_text(height));
        Tag::new("div").with("style", style).with("data-name", "wrapper").holding([frame.into()])
    });
    let fallback = part("div", "fallback", out.nodes(call.content.take("fallback"))?);
    Ok(root.child_if(wrapper).child(fallback).build())
}

/// The height of a frame in percent of its width: `16:9` → 56.25, which is also what is taken for anything unreadable.
fn height_percent(aspect: &str) -> f64 {
    let mut parts = aspect.split(':').map(|part| part.trim().parse::<f64>().unwrap_or(f64::NAN));
    let (width, height) = (parts.next().unwrap_or(f64::NAN), parts.next().unwrap_or(f64::NAN));
    let usable = |number: f64| !number.is_nan() && number != 0.0;
    if usable(width) && usable(height) { height / width * 100.0 } else { 56.25 }
}

/// Who shows the page, and the address that can stand in a frame.
fn provider_and_frame(url: &str) -> (&'static str, String) {
    let own = |provider| (provider, url.to_owned());
    let Some(address) = Address::read(url) else { return own("generic") };
    let first = address.path.strip_prefix('/').unwrap_or(address.path);
    match address.host.replacen("www.", "", 1).as_str() {
        "youtu.be" if !first.is_empty() => {
            ("youtube", format!("https://www.youtube-nocookie.com/embed/{first}"))
        }
        "youtube.com" => match address.query_value("v").filter(|id| !id.is_empty()) {
            Some(id) => ("youtube", format!("https://www.youtube-nocookie.com/embed/{id}")),
            None => own("youtube"),
        },
        "youtu.be" => own("youtube"),
        "vimeo.com" => ("vimeo", format!("https://player.vimeo.com/video/{first}")),
        "twitter.com" | "x.com" => own("twitter"),
        "codepen.io" => ("codepen", url.replacen("/pen/", "/embed/", 1)),
        "open.spotify.com" => ("spotify", url.replacen("open.spotify.com/", "open.spotify.com/embed/", 1)),
        _ => own("generic"),
    }
}

/// The parts of an absolute address.
struct Address<'u> {
    host: String,
    path: &'u str,
    query: &'u str,
}

impl<'u> Address<'u> {
    fn read(url: &'u str) -> Option<Address<'u>> {
        let (scheme, rest) = url.trim().split_once("://")?;
        if !scheme.starts_with(|c: char| c.is_ascii_alphabetic()) {
            return None;
        }
        let rest = rest.split('#').next().unwrap_or(rest);
        let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
        let (authority, path) = match rest.find('/') {
            Some(at) => rest.split_at(at),
            None => (rest, "/"),
        };
        let host = authority.rsplit('@').next().unwrap_or(authority);
        let host = host.split(':').next().unwrap_or(host).to_ascii_lowercase();
        (!host.is_empty()).then_some(Address { host, path, query })
    }

    /// The first value of a name in the query, decoded.
    fn query_value(&self, name: &str) -> Option<String> {
        let mut pairs = self.query.split('&').map(|pair| pair.split_once('=').unwrap_or((pair, "")));
        pairs.find(|(key, _)| decoded(key) == name).map(|(_, value)| decoded(value))
    }
}

/// `+` and `%20` as they are meant.
fn decoded(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        match byte {
            b'+' => bytes.push(b' '),
            b'%' => {
                let mut ahead = rest.clone();
                let digits =
                    [ahead.next(), ahead.next()].map(|digit| digit.and_then(|d| (d as char).to_digit(16)));
                match digits {
                    [Some(high), Some(low)] => {
                        bytes.push(u8::try_from(high * 16 + low).unwrap_or(b'%'));
                        rest = ahead;
                    }
                    _ => bytes.push(b'%'),
                }
            }
            other => bytes.push(other),
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_by_provider() {
        let check = |url: &str, provider: &str, frame: &str| {
            assert_eq!(provider_and_frame(url), (provider, frame.to_owned()), "{url}");
        };
        check("https://youtu.be/abc", "youtube", "https://www.youtube-nocookie.com/embed/abc");
        check(
            "https://www.youtube.com/watch?t=1&v=a%20b",
            "youtube",
            "https://www.youtube-nocookie.com/embed/a b",
        );
        check("https://vimeo.com/12", "vimeo", "https://player.vimeo.com/video/12");
        check("not a url", "generic", "not a url");
        check("", "generic", "");
    }
}
