//! The three spellings of a name: `code-group`, `CodeGroup`, `codeGroup`.

/// `CodeGroup` and `codeGroup` → `code-group`.
pub fn kebab_case(name: &str) -> String {
    let mut kebab = String::with_capacity(name.len() + 4);
    let mut previous_is_lowercase = false;
    for ch in name.chars() {
        if ch.is_ascii_uppercase() {
            if previous_is_lowercase {
                kebab.push('-');
            }
            kebab.push(ch.to_ascii_lowercase());
            previous_is_lowercase = false;
        } else {
            kebab.push(ch);
            previous_is_lowercase = ch.is_ascii_lowercase() || ch.is_ascii_digit();
        }
    }
    kebab
}

/// `code-group` → `CodeGroup`.
pub fn pascal_case(name: &str) -> String {
    name.split('-')
        .flat_map(|word| {
            let mut chars = word.chars();
            chars.next().map(|first| first.to_ascii_uppercase()).into_iter().chain(chars)
        })
        .collect()
}

/// Whether a string is a valid tag name: words of lower-case letters and digits, joined by hyphens, starting with a
/// letter.
pub fn is_rune_name(name: &str) -> bool {
    name.starts_with(|first: char| first.is_ascii_lowercase())
        && !name.ends_with('-')
        && !name.contains("--")
        && name.chars().all(|ch| ch.is_ascii_lowercase() || ch.is_ascii_digit() || ch == '-')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kebab_and_pascal_case_are_inverse() {
        let check = |pascal: &str, kebab: &str| {
            assert_eq!(kebab_case(pascal), kebab);
            assert_eq!(pascal_case(kebab), pascal);
        };
        check("Hint", "hint");
        check("TableOfContents", "table-of-contents");
        check("HowTo", "how-to");
        assert_eq!(kebab_case("hintType"), "hint-type");
        assert_eq!(kebab_case("media-position"), "media-position");
        assert_eq!(kebab_case("apiKey"), "api-key");
        assert_eq!(kebab_case("showA11y"), "show-a11y");
    }

    #[test]
    fn rune_name_must_be_kebab_case() {
        for good in ["hint", "bento-cell", "h2"] {
            assert!(is_rune_name(good), "{good}");
        }
        for bad in ["", "-", "Hint", "2h", "a--b", "a-", "--list", "a b", "a/b", "..", "é"] {
            assert!(!is_rune_name(bad), "{bad}");
        }
    }
}
