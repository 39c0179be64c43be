//! Names and slugs of organizations and projects.

use quad_core::{Error, Result};

use crate::errors::invalid;
use crate::limits;

/// Checks a name: it must fit on one line.
pub(crate) fn check_name(parameter: &str, name: &str) -> Result<String> {
    let name = name.trim();
    if name.is_empty() {
        return Err(invalid(parameter, "is empty", format!("Send {parameter} as text of one line")));
    }
    if name.chars().count() > limits::NAME_CHARS || name.contains(char::is_control) {
        return Err(invalid(
            parameter,
            format!("has more than {} characters or a line break", limits::NAME_CHARS),
            format!("Send one line of at most {} characters", limits::NAME_CHARS),
        ));
    }
    Ok(name.to_owned())
}

/// Checks a description.
pub(crate) fn check_description(text: &str) -> Result<String> {
    if text.chars().count() > limits::DESCRIPTION_CHARS || text.contains('\0') {
        return Err(invalid(
            "description",
            format!("has more than {} characters or a NUL character", limits::DESCRIPTION_CHARS),
            format!("Shorten it to {} characters without NUL", limits::DESCRIPTION_CHARS),
        ));
    }
    Ok(text.to_owned())
}

/// Checks a slug that a caller chose.
pub(crate) fn check(slug: &str) -> Result<String> {
    let fits = (limits::SLUG_BYTES_MIN..=limits::SLUG_BYTES_MAX).contains(&slug.len());
    if !fits || !slug.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-') {
        let rule = format!(
            "Use {} to {} characters of a-z, 0-9 and -, or leave slug out",
            limits::SLUG_BYTES_MIN,
            limits::SLUG_BYTES_MAX
        );
        let problem = format!("cannot be {}", crate::errors::truncate_for_message(slug));
        return Err(invalid("slug", problem, rule));
    }
    Ok(slug.to_owned())
}

/// A name with the characters of a slug. It may be too short for one.
pub(crate) fn from_name(name: &str) -> String {
    let mut slug = String::new();
    for c in name.chars() {
        match c.to_ascii_lowercase() {
            c if c.is_ascii_alphanumeric() => slug.push(c),
            _ if slug.is_empty() || slug.ends_with('-') => {}
            _ => slug.push('-'),
        }
    }
    slug.truncate(limits::SLUG_BYTES_MAX - 6);
    slug.truncate(slug.trim_end_matches('-').len());
    slug
}

/// Derives a slug from a name. If `is_taken` reports it as taken, `-2`, `-3`, … is appended.
pub(crate) fn derive(
    name: &str,
    fallback: &str,
    mut is_taken: impl FnMut(&str) -> Result<bool, Error>,
) -> Result<String> {
    let base = from_name(name);
    let base = base.as_str();
    let base = match base.len() {
        0 => fallback.to_owned(),
        length if length < limits::SLUG_BYTES_MIN => format!("{base}-{fallback}"),
        _ => base.to_owned(),
    };
    if !is_taken(&base)? {
        return Ok(base);
    }
    for number in 2..MAX_SUFFIX {
        let slug = format!("{base}-{number}");
        if !is_taken(&slug)? {
            return Ok(slug);
        }
    }
    Err(invalid(
        "slug",
        "is missing, and every slug derived from the name is taken",
        "Choose a slug yourself",
    ))
}

/// Suffixes to try. With more equal names, the caller must choose a slug.
const MAX_SUFFIX: usize = 1_000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn derives_slug_from_name() {
        let check = |name: &str, taken: &[&str], expect: &str| {
            assert_eq!(derive(name, "project", |slug| Ok(taken.contains(&slug))).unwrap(), expect);
        };
        check("My Organization", &[], "my-organization");
        check("  Café -- Zürich! ", &[], "caf-z-rich");
        check("日本", &[], "project");
        check("A", &[], "a-project");
        check("Shop", &["shop", "shop-2"], "shop-3");
        check(&"x".repeat(100), &[], &"x".repeat(44));
    }
}
