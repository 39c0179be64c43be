//! Helpers for text that goes into messages.

/// The first `max_chars` characters, with an ellipsis if there are more.
pub fn truncate(text: &str, max_chars: usize) -> String {
    match text.char_indices().nth(max_chars) {
        None => text.to_owned(),
        Some((end, _)) => format!("{}…", &text[..end]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn truncate_counts_characters_and_marks_the_cut() {
        assert_eq!(truncate("日本語", 3), "日本語");
        assert_eq!(truncate("日本語", 2), "日本…");
        assert_eq!(truncate("", 0), "");
    }
}
