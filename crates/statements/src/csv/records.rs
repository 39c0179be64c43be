//! Records of a delimited file, one after the other, without copying what needs no copy.
//!
//! Written here rather than taken from a crate for one reason: a quotation mark that nobody closes must cost its own
//! line and nothing behind it. Every general reader swallows the file from there on.

use crate::limits;

/// Where one field of a record lies.
#[derive(Clone, Copy, Debug)]
struct Field {
    start: usize,
    end: usize,
    /// In the scratch text, since quotes had to be taken out, rather than in the file.
    copied: bool,
}

/// One record. Reused from one to the next, so that reading a file allocates nothing per record.
#[derive(Debug, Default)]
pub(crate) struct Record<'a> {
    text: &'a str,
    scratch: String,
    fields: Vec<Field>,
    /// The line it begins on, from one.
    pub line: u32,
}

impl Record<'_> {
    pub fn len(&self) -> usize {
        self.fields.len()
    }

    /// A field without surrounding white space and without what Excel wraps around numbers that are texts; empty if
    /// the record is too short.
    pub fn get(&self, place: usize) -> &str {
        let Some(field) = self.fields.get(place) else { return "" };
        let source = if field.copied { &self.scratch } else { self.text };
        let cell = source.get(field.start..field.end).unwrap_or_default().trim();
        cell.strip_prefix("=\"").and_then(|rest| rest.strip_suffix('"')).unwrap_or(cell)
    }

    /// The first of several fields that is not empty, and its place; the first one if all are.
    pub fn first(&self, places: &[usize]) -> (&str, usize) {
        let filled = places.iter().find(|place| !self.get(**place).is_empty()).or(places.first());
        filled.map_or(("", usize::MAX), |place| (self.get(*place), *place))
    }

    pub fn iter(&self) -> impl Iterator<Item = &str> {
        (0..self.fields.len()).map(|place| self.get(place))
    }

    pub fn is_blank(&self) -> bool {
        self.iter().all(str::is_empty)
    }
}

/// What came next in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Next {
    /// A record.
    Record,
    /// A line that is no record, and why; the next record begins behind it.
    Malformed(&'static str),
    /// Nothing.
    End,
}

/// Reads records.
#[derive(Clone, Debug)]
pub(crate) struct Records<'a> {
    text: &'a str,
    at: usize,
    line: u32,
    delimiter: u8,
    newline: u8,
    /// How many fields a record should have, if that is known: one that runs over several lines and has another
    /// number is a stray quotation mark.
    width: Option<usize>,
}

impl<'a> Records<'a> {
    pub fn new(text: &'a str, delimiter: u8) -> Records<'a> {
        // Old exports end lines with a carriage return alone.
        let newline = if memchr::memchr(b'\n', text.as_bytes()).is_some() { b'\n' } else { b'\r' };
        Records { text, at: 0, line: 1, delimiter, newline, width: None }
    }

    /// The records behind this place, each with the width of the header.
    pub fn with_width(mut self, width: usize) -> Records<'a> {
        self.width = Some(width);
        self
    }

    /// Reads the next record, past blank lines.
    pub fn next(&mut self, record: &mut Record<'a>) -> Next {
        let bytes = self.text.as_bytes();
        loop {
            let rest = bytes.get(self.at..).unwrap_or_default();
            if rest.is_empty() {
                return Next::End;
            }
            let length = memchr::memchr(self.newline, rest).unwrap_or(rest.len());
            let line = rest.get(..length).unwrap_or_default();
            if !line.iter().all(|byte| matches!(byte, b'\r' | b' ')) {
                return self.read(length, record);
            }
            self.skip_line(length);
        }
    }

    fn skip_line(&mut self, length: usize) {
        self.at = (self.at + length + 1).min(self.text.len());
        self.line += 1;
    }

    /// Reads the record that begins here, on a line of so many bytes.
    fn read(&mut self, length: usize, record: &mut Record<'a>) -> Next {
        record.text = self.text;
        record.fields.clear();
        record.scratch.clear();
        record.line = self.line;
        let bytes = self.text.as_bytes();
        let line = bytes.get(self.at..self.at + length).unwrap_or_default();
        if memchr::memchr(b'"', line).is_none() {
            if length > limits::RECORD_BYTES {
                self.skip_line(length);
                return Next::Malformed("the line is too long for a record");
            }
            let end = self.at + line.strip_suffix(b"\r").unwrap_or(line).len();
            let mut start = self.at;
            for found in memchr::memchr_iter(self.delimiter, line) {
                if record.fields.len() + 1 >= limits::COLUMNS {
                    break;
                }
                record.fields.push(Field { start, end: self.at + found, copied: false });
                start = self.at + found + 1;
            }
            record.fields.push(Field { start: start.min(end), end, copied: false });
            self.skip_line(length);
            return Next::Record;
        }
        match self.read_quoted(record) {
            Some((end, newlines)) if newlines == 0 || self.width.is_none_or(|width| fits(record, width)) => {
                self.at = end;
                self.line += newlines + 1;
                Next::Record
            }
            _ => {
                self.skip_line(length);
                Next::Malformed("a quotation mark is not closed")
            }
        }
    }

    /// Reads a record with quotes in it: where the next one begins and over how many line ends this one runs. `None`
    /// if a quotation mark is not closed within the limits.
    fn read_quoted(&self, record: &mut Record<'a>) -> Option<(usize, u32)> {
        let bytes = self.text.as_bytes();
        let mut at = self.at;
        let mut newlines = 0;
        loop {
            // Spaces before a quotation mark do not belong to the field.
            let mut start = at;
            while bytes.get(start) == Some(&b' ') {
                start += 1;
            }
            let mut field = Field { start: at, end: at, copied: false };
            if bytes.get(start) == Some(&b'"') {
                let from = record.scratch.len();
                at = start + 1;
                loop {
                    let length = memchr::memchr2(b'"', self.newline, bytes.get(at..)?)?;
                    record.scratch.push_str(self.text.get(at..at + length)?);
                    let newline = bytes.get(at + length) == Some(&self.newline);
                    at += length + 1;
                    if newline {
                        record.scratch.push('\n');
                        newlines += 1;
                        if newlines as usize > limits::RECORD_LINES {
                            return None;
                        }
                    } else if bytes.get(at) == Some(&b'"') {
                        record.scratch.push('"');
                        at += 1;
                    } else {
                        break;
                    }
                }
                if at - self.at > limits::RECORD_BYTES {
                    return None;
                }
                // Whatever follows the closing mark belongs to the field, as written.
                let rest = self.field_end(at);
                let behind = self.text.get(at..rest)?.trim_end_matches('\r');
                // If the mark that closed it stands lines below and within a field, it opened that one.
                if newlines > 0 && !behind.trim().is_empty() {
                    return None;
                }
                record.scratch.push_str(behind);
                at = rest;
                field = Field { start: from, end: record.scratch.len(), copied: true };
            } else {
                at = self.field_end(at);
                field.end = at;
                if bytes.get(at) != Some(&self.delimiter) && self.text.get(field.start..at)?.ends_with('\r') {
                    field.end = at - 1;
                }
            }
            if record.fields.len() < limits::COLUMNS {
                record.fields.push(field);
            }
            match bytes.get(at) {
                Some(byte) if *byte == self.delimiter => at += 1,
                Some(_) => return Some((at + 1, newlines)),
                None => return Some((at, newlines)),
            }
        }
    }

    /// Where a field that begins or goes on here without quotes ends: at a delimiter, a line's end or the file's end.
    fn field_end(&self, at: usize) -> usize {
        let rest = self.text.as_bytes().get(at..).unwrap_or_default();
        at + memchr::memchr2(self.delimiter, self.newline, rest).unwrap_or(rest.len())
    }
}

/// Whether a record has as many fields as the header, give or take a trailing delimiter.
fn fits(record: &Record<'_>, width: usize) -> bool {
    record.len() == width || record.len() == width + 1 || record.len() + 1 == width
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn read(text: &str, width: Option<usize>) -> Vec<String> {
        let mut records = Records::new(text, b';');
        records.width = width;
        let mut record = Record::default();
        let mut shown = Vec::new();
        loop {
            match records.next(&mut record) {
                Next::End => return shown,
                Next::Malformed(why) => shown.push(format!("{}! {why}", record.line)),
                Next::Record => {
                    shown.push(format!("{}: {}", record.line, record.iter().collect::<Vec<_>>().join("|")));
                }
            }
        }
    }

    #[test]
    fn plain_and_quoted_fields() {
        assert_eq!(read("a; b ;c\r\n\r\n;;\r\n", None), ["1: a|b|c", "3: ||"]);
        assert_eq!(read("\"a;b\";\"say \"\"hi\"\"\";c\nd", None), ["1: a;b|say \"hi\"|c", "2: d"]);
        assert_eq!(read("\"two\r\nlines\";x\r\ny;z", None), ["1: two\r\nlines|x", "3: y|z"]);
        assert_eq!(read("  \"a\"  ;\"b\"\r\n", None), ["1: a|b"]);
        assert_eq!(read("x;=\"0012\"", None), ["1: x|0012"]);
        assert_eq!(read("5\" pipe;1", None), ["1: 5\" pipe|1"]);
        assert_eq!(read("a;b\rc;d", None), ["1: a|b", "2: c|d"]);
    }

    #[test]
    fn an_unclosed_quote_costs_its_line_only() {
        let text = "a;b\n\"broken;1\nc;2\nd;3\n";
        assert_eq!(read(text, Some(2)), ["1: a|b", "2! a quotation mark is not closed", "3: c|2", "4: d|3"]);
        // Closed by the next line's opening mark: the number of fields gives it away.
        let text = "a;b;c\n\"broken;1;2\n\"fine\";3;4\n";
        assert_eq!(read(text, Some(3)), ["1: a|b|c", "2! a quotation mark is not closed", "3: fine|3|4"]);
    }

    /// The reference: character by character, for files without unclosed quotes.
    fn quoted(fields: &[Vec<String>]) -> String {
        let line = |row: &Vec<String>| {
            row.iter()
                .map(|field| format!("\"{}\"", field.replace('"', "\"\"")))
                .collect::<Vec<_>>()
                .join(";")
        };
        fields.iter().map(line).collect::<Vec<_>>().join("\r\n")
    }

    proptest! {
        #[test]
        fn what_is_quoted_reads_back(rows in prop::collection::vec(prop::collection::vec("[a-z\";\n ]{0,6}x", 1..4), 1..6)) {
            let text = quoted(&rows);
            let mut records = Records::new(&text, b';');
            let mut record = Record::default();
            // A file of one line has no line end to tell that a line feed within quotes is not the file's own.
            for row in &rows {
                prop_assert_eq!(records.next(&mut record), Next::Record);
                let read: Vec<&str> = record.iter().collect();
                let expected: Vec<&str> = row.iter().map(|field| field.trim()).collect();
                prop_assert_eq!(read, expected);
            }
            prop_assert_eq!(records.next(&mut record), Next::End);
        }

        #[test]
        fn always_ends_and_counts_lines(text in "[a\";\r\né]{0,60}", width in prop::option::of(1..4usize)) {
            let mut records = Records::new(&text, b';');
            records.width = width;
            let mut record = Record::default();
            let mut last = 0;
            let mut steps = 0;
            while records.next(&mut record) != Next::End {
                prop_assert!(record.line > last);
                last = record.line;
                let _ = record.iter().count();
                steps += 1;
                prop_assert!(steps <= text.len() + 1);
            }
        }
    }
}
