//! A file's address: its path without ending, index files for their folder, numbers that only sort left out; or the slug that
//! its front matter has.

/// The address of a file, by its path below the content folder.
pub fn url_of_file(path: &str) -> String {
    let path = path.strip_suffix(".md").unwrap_or(path);
    let mut parts: Vec<&str> = path.split('/').map(without_number).collect();
    if parts.last() == Some(&"index") {
        parts.pop();
    }
    format!("/{}", parts.join("/"))
}

/// The address that a slug stands for.
pub fn url_of_slug(slug: &str) -> String {
    if slug.starts_with('/') { slug.to_owned() } else { format!("/{slug}") }
}

/// The one form of an address by which pages are looked up: with a slash before it and none behind.
pub fn key(url: &str) -> String {
    format!("/{}", url.trim_matches('/'))
}

/// `01-intro` is `intro`. A name of which nothing would be left stays.
fn without_number(name: &str) -> &str {
    let rest = name.trim_start_matches(|sign: char| sign.is_ascii_digit());
    match rest.strip_prefix('-') {
        Some(bare) if rest.len() < name.len() && !bare.is_empty() => bare,
        _ => name,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_have_addresses() {
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
    fn a_slug_and_a_question_may_leave_slashes_out() {
        assert_eq!((url_of_slug("about").as_str(), url_of_slug("/a/b/").as_str()), ("/about", "/a/b/"));
        for (url, same) in [("", "/"), ("/", "/"), ("a/b", "/a/b"), ("/a/b/", "/a/b")] {
            assert_eq!(key(url), same, "{url}");
        }
    }
}
