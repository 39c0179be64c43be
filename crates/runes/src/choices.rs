//! Hints that name the allowed values.

use quad_address::{closest, nearest_first};

use crate::limits::CHOICES_SHOWN_MAX;

/// A hint that names the allowed values, those that resemble the given one first.
pub fn choices_hint<'a>(given: &str, choices: impl IntoIterator<Item = &'a str>) -> String {
    let choices: Vec<&str> = choices.into_iter().collect();
    match closest(given, choices.iter().copied()) {
        Some(nearest) => {
            format!("did you mean {nearest}? Use one of {}", list(&nearest_first(given, choices)))
        }
        None => format!("use one of {}", list(&choices)),
    }
}

/// The first choices, and how many others there are.
pub fn list<S: AsRef<str>>(choices: &[S]) -> String {
    let shown: Vec<&str> = choices.iter().take(CHOICES_SHOWN_MAX).map(AsRef::as_ref).collect();
    match choices.len().saturating_sub(CHOICES_SHOWN_MAX) {
        0 => shown.join(", "),
        more => format!("{} and {more} more", shown.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nearest_choice_is_first() {
        let statuses = ["draft", "ready", "in-progress", "review"];
        assert_eq!(
            choices_hint("redy", statuses),
            "did you mean ready? Use one of ready, draft, review, in-progress"
        );
        assert_eq!(choices_hint("banana", statuses), "use one of draft, ready, in-progress, review");
    }

    #[test]
    fn long_lists_are_cut_and_counted() {
        let names: Vec<String> = (0..45).map(|number| format!("option{number}")).collect();
        let hint = choices_hint("option44", names.iter().map(String::as_str));
        assert!(hint.starts_with("did you mean option44? Use one of option44, "), "{hint}");
        assert!(hint.ends_with(" and 5 more"), "{hint}");
    }
}
