//! Finds the position of a key in a JSON text. serde_json reports positions of syntax errors only, and an invalid value
//! needs one too.

use quad_runes::catalogue::line_and_column;

/// Line and column of the key at the end of a path, or of its deepest existing part. The text must be valid JSON.
pub(crate) fn key_position(text: &str, path: &[&str]) -> (usize, usize) {
    let mut scanner = Scanner { text, pos: 0 };
    let mut key_offset = 0;
    scanner.seek_key(path, &mut key_offset);
    line_and_column(text, key_offset)
}

struct Scanner<'a> {
    text: &'a str,
    pos: usize,
}

impl<'a> Scanner<'a> {
    /// Follows the path into the object at the cursor. Returns at the end of the path, or where the path does not
    /// exist.
    fn seek_key(&mut self, path: &[&str], key_offset: &mut usize) {
        let Some((expected_key, rest)) = path.split_first() else { return };
        self.skip_whitespace();
        if !self.consume(b'{') {
            return;
        }
        loop {
            self.skip_whitespace();
            let start = self.pos;
            let Some(key) = self.scan_string() else { return };
            self.skip_whitespace();
            self.consume(b':');
            if key == *expected_key {
                *key_offset = start;
                return self.seek_key(rest, key_offset);
            }
            self.skip_value();
            self.skip_whitespace();
            if !self.consume(b',') {
                return;
            }
        }
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.pos).copied()
    }

    fn consume(&mut self, byte: u8) -> bool {
        let matched = self.peek() == Some(byte);
        self.pos += usize::from(matched);
        matched
    }

    fn skip_whitespace(&mut self) {
        while self.peek().is_some_and(|byte| byte.is_ascii_whitespace()) {
            self.pos += 1;
        }
    }

    /// The string at the cursor as written, escapes included.
    fn scan_string(&mut self) -> Option<&'a str> {
        let start = self.pos + 1;
        if !self.consume(b'"') {
            return None;
        }
        while let Some(byte) = self.peek() {
            match byte {
                b'\\' => self.pos += 2,
                b'"' => {
                    self.pos += 1;
                    return self.text.get(start..self.pos - 1);
                }
                _ => self.pos += 1,
            }
        }
        None
    }

    /// Skips one value. Counts the nesting instead of recursing.
    fn skip_value(&mut self) {
        let mut depth = 0usize;
        loop {
            self.skip_whitespace();
            match self.peek() {
                Some(b'"') => drop(self.scan_string().is_some()),
                Some(b'{' | b'[') => {
                    depth += 1;
                    self.pos += 1;
                    continue;
                }
                Some(b'}' | b']') if depth > 0 => {
                    depth -= 1;
                    self.pos += 1;
                }
                Some(b',' | b':') if depth > 0 => {
                    self.pos += 1;
                    continue;
                }
                Some(b',' | b'}' | b']') | None => return,
                Some(_) => self.pos += 1,
            }
            if depth == 0 && matches!(self.peek(), Some(b',' | b'}' | b']') | None) {
                return;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn key_position_finds_nested_key() {
        let text = "{\n  \"a\": [1, {\"x\": \"}\"}],\n  \"site\": {\"b\\\"c\": null,\n    \"plugins\": 3}\n}";
        let assert_position = |path: &[&str], expected: (usize, usize)| {
            assert_eq!(key_position(text, path), expected, "{path:?}")
        };
        assert_position(&["a"], (2, 3));
        assert_position(&["site"], (3, 3));
        assert_position(&["site", "plugins"], (4, 5));
        assert_position(&["site", "nothing"], (3, 3));
        assert_position(&["nothing"], (1, 1));
        assert_position(&[], (1, 1));
    }

    #[test]
    fn key_position_terminates_on_invalid_json() {
        for text in
            ["", "{", "{\"a\"", "{\"a\":", "{\"a\":[", "[", "{\"a\":\"", "{\"a\" 1, }", "{\"é\": \"\\"]
        {
            key_position(text, &["z", "y"]);
            key_position(text, &["a", "y"]);
        }
    }
}
