//! The URL of a file: its path without extension and without sort prefixes, an index file's folder, or the slug of its
//! front matter.

/// The URL of a file, from its path below the content folder.
pub fn url_of_file(path: &str) -> String {
    let path = path.strip_suffix(".md").unwrap_or(path);
    let mut parts: Vec<&str> = path.split('/').map(strip_sort_prefix).collect();
    if parts.last() == Some(&"index") {
        parts.pop();
    }
    format!("/{}", parts.join("/"))
}

/// The URL of a slug.
pub fn url_of_slug(slug: &str) -> String {
    if slug.starts_with('/') { slug.to_owned() } else { format!("/{slug}") }
}

/// The form in which URLs are compared: one leading slash, no trailing slash.
pub fn normalize_url(url: &str) -> String {
    format!("/{}", url.trim_matches('/'))
}

/// Removes a number that only sorts: `01-intro` is `intro`. A name that would become empty is kept.
fn strip_sort_prefix(name: &str) -> &str {
    let rest = name.trim_start_matches(|ch: char| ch.is_ascii_digit());
    match rest.strip_prefix('-') {
        Some(stripped) if rest.len() < name.len() && !stripped.is_empty() => stripped,
        _ => name,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn url_of_file_strips_extension_index_and_sort_prefix() {
        for (file, url) in [
            ("index.md", "/"),
            ("about.md", "/about"),
            ("docs/index.md", "/docs"),
            ("01-docs/02-first-steps.md", "/docs/first-steps"),
            ("01-docs/00-index.md", "/docs"),
            ("2024-05-01-news.md", "/05-01-news"),
            ("docs/reindex.md", "/docs/reindex"),
            ("404.md", "/404"),
            ("7-.md", "/7-"),
            ("-a.md", "/-a"),
        ] {
            assert_eq!(url_of_file(file), url, "{file}");
        }
    }

    #[test]
    fn slug_and_url_slashes_are_normalized() {
        assert_eq!((url_of_slug("about").as_str(), url_of_slug("/a/b/").as_str()), ("/about", "/a/b/"));
        for (url, normalized) in [("", "/"), ("/", "/"), ("a/b", "/a/b"), ("/a/b/", "/a/b")] {
            assert_eq!(normalize_url(url), normalized, "{url}");
        }
    }
}
