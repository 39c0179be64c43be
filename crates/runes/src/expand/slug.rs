//! Slugs for ids and classes.

/// The id of a heading: lower case, white space as hyphens, without `?`, `{`, `}` and `%`, which break links.
pub fn heading_id(text: &str) -> String {
    hyphenate(text, &['?', '{', '}', '%'])
}

/// The id that a table of contents links to. Like [`heading_id`], but removes only `?`, as npm does.
pub fn toc_id(text: &str) -> String {
    hyphenate(text, &['?'])
}

fn hyphenate(text: &str, excluded: &[char]) -> String {
    let mut id = String::with_capacity(text.len());
    let mut in_space = false;
    for c in text.chars().filter(|c| !excluded.contains(c)) {
        if c.is_whitespace() || c == '\u{feff}' {
            if !in_space {
                id.push('-');
            }
            in_space = true;
        } else {
            in_space = false;
            id.extend(c.to_lowercase());
        }
    }
    id
}

/// The slug of a known section: lower case letters, digits and single hyphens.
pub fn section_slug(name: &str) -> String {
    let mut slug = String::with_capacity(name.len());
    for c in name.trim().chars().flat_map(char::to_lowercase) {
        let c = if c.is_whitespace() || c == '_' { '-' } else { c };
        if c == '-' && slug.ends_with('-') {
            continue;
        }
        if c.is_ascii_alphanumeric() || c == '-' {
            slug.push(c);
        }
    }
    let slug = slug.strip_prefix('-').unwrap_or(&slug);
    slug.strip_suffix('-').unwrap_or(slug).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heading_id_lowercases_and_hyphenates() {
        assert_eq!(heading_id("Two words?"), "two-words");
        assert_eq!(heading_id("Curly {braces} and 50%"), "curly-braces-and-50");
        assert_eq!(heading_id("Größe & Maß"), "größe-&-maß");
        assert_eq!(heading_id("Tail   spaces"), "tail-spaces");
        assert_eq!(toc_id("What is {x} at 50%?"), "what-is-{x}-at-50%");
    }

    #[test]
    fn section_slug_keeps_letters_digits_hyphens() {
        assert_eq!(section_slug("Acceptance Criteria"), "acceptance-criteria");
        assert_eq!(section_slug(" A__b & c!"), "a-b-c");
    }
}
