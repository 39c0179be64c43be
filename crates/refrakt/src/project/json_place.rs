//! Where a key stands in a JSON text: serde_json tells only where the syntax breaks, people want to know where a wrong value is.

use quad_runes::catalogue::line_and_column;

/// Line and column of the key at the end of a path, or of the deepest part of it that is there. The text must be JSON.
pub(crate) fn place(text: &str, path: &[&str]) -> (usize, usize) {
    let mut scanner = Scanner { text, at: 0 };
    let mut found = 0;
    scanner.descend(path, &mut found);
    line_and_column(text, found)
}

struct Scanner<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Scanner<'a> {
    /// Walks into the object at the cursor along the path. Returns once the path is used up or leads nowhere.
    fn descend(&mut self, path: &[&str], found: &mut usize) {
        let Some((wanted, rest)) = path.split_first() else { return };
        self.blanks();
        if !self.eat(b'{') {
            return;
        }
        loop {
            self.blanks();
            let start = self.at;
            let Some(key) = self.string() else { return };
            self.blanks();
            self.eat(b':');
            if key == *wanted {
                *found = start;
                return self.descend(rest, found);
            }
            self.value();
            self.blanks();
            if !self.eat(b',') {
                return;
            }
        }
    }

    fn byte(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn eat(&mut self, byte: u8) -> bool {
        let is = self.byte() == Some(byte);
        self.at += usize::from(is);
        is
    }

    fn blanks(&mut self) {
        while self.byte().is_some_and(|byte| byte.is_ascii_whitespace()) {
            self.at += 1;
        }
    }

    /// The string at the cursor as it is written, escapes included.
    fn string(&mut self) -> Option<&'a str> {
        let start = self.at + 1;
        if !self.eat(b'"') {
            return None;
        }
        while let Some(byte) = self.byte() {
            match byte {
                b'\\' => self.at += 2,
                b'"' => {
                    self.at += 1;
                    return self.text.get(start..self.at - 1);
                }
                _ => self.at += 1,
            }
        }
        None
    }

    /// Passes over one value. Nesting is counted, not recursed into.
    fn value(&mut self) {
        let mut open = 0usize;
        loop {
            self.blanks();
            match self.byte() {
                Some(b'"') => drop(self.string().is_some()),
                Some(b'{' | b'[') => {
                    open += 1;
                    self.at += 1;
                    continue;
                }
                Some(b'}' | b']') if open > 0 => {
                    open -= 1;
                    self.at += 1;
                }
                Some(b',' | b':') if open > 0 => {
                    self.at += 1;
                    continue;
                }
                Some(b',' | b'}' | b']') | None => return,
                Some(_) => self.at += 1,
            }
            if open == 0 && matches!(self.byte(), Some(b',' | b'}' | b']') | None) {
                return;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_leads_to_its_key() {
        let text = "{\n  \"a\": [1, {\"x\": \"}\"}],\n  \"site\": {\"b\\\"c\": null,\n    \"plugins\": 3}\n}";
        let check = |path: &[&str], expect: (usize, usize)| assert_eq!(place(text, path), expect, "{path:?}");
        check(&["a"], (2, 3));
        check(&["site"], (3, 3));
        check(&["site", "plugins"], (4, 5));
        check(&["site", "nothing"], (3, 3));
        check(&["nothing"], (1, 1));
        check(&[], (1, 1));
    }

    #[test]
    fn what_is_no_json_does_not_hang() {
        for text in
            ["", "{", "{\"a\"", "{\"a\":", "{\"a\":[", "[", "{\"a\":\"", "{\"a\" 1, }", "{\"é\": \"\\"]
        {
            place(text, &["z", "y"]);
            place(text, &["a", "y"]);
        }
    }
}
