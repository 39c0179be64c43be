//! A video, a post or another page in an iframe.
//!
//! Native: the iframe's URL is derived from the page's URL, by provider.

use crate::expand::render_context::Result;
use crate::expand::root_builder::{RootBuilder, named_element, rdfa_meta_element};
use crate::expand::{RenderContext, RuneUse};
use crate::js_value::{JsTrim, format_js_number, to_js_string};
use crate::render_tree::{Element, RenderNode};

/// Permissions of the iframe.
const IFRAME_ALLOW: &str =
    "accelerometer; autoplay; clipboard-write; encrypted-media; gyroscope; picture-in-picture";

pub(super) fn transform(mut rune_use: RuneUse<'_>, cx: &mut RenderContext<'_>) -> Result<RenderNode> {
    let arguments = &rune_use.arguments;
    let url = to_js_string(&arguments.non_null_or("url", ""));
    let (provider, frame) = provider_and_frame(&url);
    let root = RootBuilder::new("embed", "figure")
        .type_of("VideoObject")
        .value("provider", provider)
        .child_if(rdfa_meta_element("contentUrl", Some(&url.as_str().into())))
        .child_if(rdfa_meta_element("name", Some(&arguments.non_null_or("title", ""))))
        .child_if(rdfa_meta_element("embedUrl", Some(&frame.as_str().into())));
    let wrapper = (!frame.is_empty()).then(|| {
        let frame = Element::new("iframe")
            .with_attr("src", frame)
            .with_attr("title", arguments.text_or("title", "Embedded content"))
            .with_attr("frameborder", "0")
            .with_attr("allow", IFRAME_ALLOW)
            .with_attr("allowfullscreen", "")
            .with_attr("loading", "lazy");
        let height = height_percent(&to_js_string(&arguments.non_null_or("aspect", "16:9")));
        let style = format!("padding-bottom: {}%", format_js_number(height));
        Element::new("div")
            .with_attr("style", style)
            .with_attr("data-name", "wrapper")
            .with_children([frame.into()])
    });
    let fallback = named_element("div", "fallback", cx.render_nodes(rune_use.content.take("fallback"))?);
    Ok(root.child_if(wrapper).child(fallback).build())
}

/// Height of the iframe in percent of its width: `16:9` → 56.25, which is also the default for invalid ratios.
fn height_percent(aspect: &str) -> f64 {
    let mut parts = aspect.split(':').map(|part| part.js_trim().parse::<f64>().unwrap_or(f64::NAN));
    let (width, height) = (parts.next().unwrap_or(f64::NAN), parts.next().unwrap_or(f64::NAN));
    let is_nonzero = |number: f64| !number.is_nan() && number != 0.0;
    if is_nonzero(width) && is_nonzero(height) { height / width * 100.0 } else { 56.25 }
}

/// The provider of a page, and the URL for the iframe.
fn provider_and_frame(url: &str) -> (&'static str, String) {
    let unchanged = |provider| (provider, url.to_owned());
    let Some(embed_url) = EmbedUrl::parse(url) else { return unchanged("generic") };
    let first = embed_url.path.strip_prefix('/').unwrap_or(embed_url.path);
    match embed_url.host.replacen("www.", "", 1).as_str() {
        "youtu.be" if !first.is_empty() => {
            ("youtube", format!("https://www.youtube-nocookie.com/embed/{first}"))
        }
        "youtube.com" => match embed_url.query_value("v").filter(|id| !id.is_empty()) {
            Some(id) => ("youtube", format!("https://www.youtube-nocookie.com/embed/{id}")),
            None => unchanged("youtube"),
        },
        "youtu.be" => unchanged("youtube"),
        "vimeo.com" => ("vimeo", format!("https://player.vimeo.com/video/{first}")),
        "twitter.com" | "x.com" => unchanged("twitter"),
        "codepen.io" => ("codepen", url.replacen("/pen/", "/embed/", 1)),
        "open.spotify.com" => ("spotify", url.replacen("open.spotify.com/", "open.spotify.com/embed/", 1)),
        _ => unchanged("generic"),
    }
}

/// The parts of an absolute URL.
struct EmbedUrl<'u> {
    host: String,
    path: &'u str,
    query: &'u str,
}

impl<'u> EmbedUrl<'u> {
    fn parse(url: &'u str) -> Option<EmbedUrl<'u>> {
        let (scheme, rest) = url.js_trim().split_once("://")?;
        if !scheme.starts_with(|c: char| c.is_ascii_alphabetic()) {
            return None;
        }
        let rest = rest.split('#').next().unwrap_or(rest);
        let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
        let (authority, path) = match rest.find('/') {
            Some(index) => rest.split_at(index),
            None => (rest, "/"),
        };
        let host = authority.rsplit('@').next().unwrap_or(authority);
        let host = host.split(':').next().unwrap_or(host).to_ascii_lowercase();
        (!host.is_empty()).then_some(EmbedUrl { host, path, query })
    }

    /// The first value of a query parameter, decoded.
    fn query_value(&self, name: &str) -> Option<String> {
        let mut pairs = self.query.split('&').map(|pair| pair.split_once('=').unwrap_or((pair, "")));
        pairs.find(|(key, _)| percent_decode(key) == name).map(|(_, value)| percent_decode(value))
    }
}

/// Decodes `+` and `%20`.
fn percent_decode(text: &str) -> String {
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
            byte => bytes.push(byte),
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frame_url_depends_on_provider() {
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
