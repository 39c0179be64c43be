//! The three spellings of a name: `code-group`, `CodeGroup`, `codeGroup`.

/// `CodeGroup` and `codeGroup` → `code-group`.
pub fn kebab_case(name: &str) -> String {
    let mut kebab = String::with_capacity(name.len() + 4);
    let mut before_is_small = false;
    for letter in name.chars() {
        if letter.is_ascii_uppercase() {
            if before_is_small {
                kebab.push('-');
            }
            kebab.push(letter.to_ascii_lowercase());
            before_is_small = false;
        } else {
            kebab.push(letter);
            before_is_small = letter.is_ascii_lowercase() || letter.is_ascii_digit();
        }
    }
    kebab
}

/// `code-group` → `CodeGroup`.
pub fn pascal_case(name: &str) -> String {
    name.split('-')
        .flat_map(|word| {
            let mut letters = word.chars();
            letters.next().map(|first| first.to_ascii_uppercase()).into_iter().chain(letters)
        })
        .collect()
}

/// Whether a tag may be called so: small letters and digits in words parted by hyphens, a letter first.
pub fn is_rune_name(name: &str) -> bool {
    name.starts_with(|first: char| first.is_ascii_lowercase())
        && !name.ends_with('-')
        && !name.contains("--")
        && name.chars().all(|sign| sign.is_ascii_lowercase() || sign.is_ascii_digit() || sign == '-')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spellings_agree() {
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
    fn a_rune_name_is_a_tag_name() {
        for good in ["hint", "bento-cell", "h2"] {
            assert!(is_rune_name(good), "{good}");
        }
        for bad in ["", "-", "Hint", "2h", "a--b", "a-", "--list", "a b", "a/b", "..", "é"] {
            assert!(!is_rune_name(bad), "{bad}");
        }
    }
}
