//! Records of a delimited file. Fields without quotes are not copied.
//!
//! This is not a crate for one reason: an unclosed quotation mark must only affect its own line. General CSV readers
//! include the rest of the file in the field.

use crate::limits;

/// The position of one field of a record.
#[derive(Clone, Copy, Debug)]
struct Field {
    start: usize,
    end: usize,
    /// Whether the field is in the scratch text (because quotes were removed) or in the file.
    in_scratch: bool,
}

/// One record. The value is reused, so parsing allocates nothing per record.
#[derive(Debug, Default)]
pub(crate) struct Record<'a> {
    text: &'a str,
    scratch: String,
    fields: Vec<Field>,
    /// The line on which it starts, from one.
    pub line: u32,
}

impl Record<'_> {
    pub fn len(&self) -> usize {
        self.fields.len()
    }

    /// A field without surrounding white space and without the `="…"` that Excel writes around numbers as text; empty
    /// if the record is too short, or if there is no such column.
    pub fn get(&self, index: impl Into<Option<usize>>) -> &str {
        let Some(field) = index.into().and_then(|index| self.fields.get(index)) else { return "" };
        let source = if field.in_scratch { &self.scratch } else { self.text };
        let cell = source.get(field.start..field.end).unwrap_or_default().trim();
        cell.strip_prefix("=\"").and_then(|rest| rest.strip_suffix('"')).unwrap_or(cell)
    }

    /// The first non-empty field of several, and its index; the first one if all are empty.
    pub fn first_filled(&self, indexes: &[usize]) -> (&str, Option<usize>) {
        let filled = indexes.iter().find(|index| !self.get(**index).is_empty()).or(indexes.first());
        filled.map_or(("", None), |index| (self.get(*index), Some(*index)))
    }

    pub fn iter(&self) -> impl Iterator<Item = &str> {
        (0..self.fields.len()).map(|index| self.get(index))
    }

    pub fn is_blank(&self) -> bool {
        self.iter().all(str::is_empty)
    }
}

/// The next item of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RecordEvent {
    /// A record.
    Record,
    /// An invalid line, and why; the next record starts after it.
    Malformed(&'static str),
    /// The end of the file.
    End,
}

/// An iterator over records.
#[derive(Clone, Debug)]
pub(crate) struct Records<'a> {
    text: &'a str,
    position: usize,
    line: u32,
    delimiter: u8,
    newline: u8,
    /// The expected number of fields, if known. A record over several lines with another number of fields has a stray
    /// quotation mark.
    width: Option<usize>,
}

impl<'a> Records<'a> {
    pub fn new(text: &'a str, delimiter: u8) -> Records<'a> {
        // Old exports end lines with only a carriage return.
        let newline = if memchr::memchr(b'\n', text.as_bytes()).is_some() { b'\n' } else { b'\r' };
        Records { text, position: 0, line: 1, delimiter, newline, width: None }
    }

    /// The records from this position on, each with the width of the header.
    pub fn with_width(mut self, width: usize) -> Records<'a> {
        self.width = Some(width);
        self
    }

    /// Parses the next record, skipping blank lines.
    pub fn next(&mut self, record: &mut Record<'a>) -> RecordEvent {
        let bytes = self.text.as_bytes();
        loop {
            let rest = bytes.get(self.position..).unwrap_or_default();
            if rest.is_empty() {
                return RecordEvent::End;
            }
            let length = memchr::memchr(self.newline, rest).unwrap_or(rest.len());
            let line = rest.get(..length).unwrap_or_default();
            if !line.iter().all(|byte| matches!(byte, b'\r' | b' ')) {
                return self.read_record(length, record);
            }
            self.skip_line(length);
        }
    }

    fn skip_line(&mut self, length: usize) {
        self.position = (self.position + length + 1).min(self.text.len());
        self.line += 1;
    }

    /// Parses the record that starts here, on a line of this many bytes.
    fn read_record(&mut self, line_length: usize, record: &mut Record<'a>) -> RecordEvent {
        record.text = self.text;
        record.fields.clear();
        record.scratch.clear();
        record.line = self.line;
        let bytes = self.text.as_bytes();
        let line = bytes.get(self.position..self.position + line_length).unwrap_or_default();
        if memchr::memchr(b'"', line).is_none() {
            if line_length > limits::RECORD_BYTES {
                self.skip_line(line_length);
                return RecordEvent::Malformed("the line is too long for a record");
            }
            let end = self.position + line.strip_suffix(b"\r").unwrap_or(line).len();
            let mut start = self.position;
            for offset in memchr::memchr_iter(self.delimiter, line) {
                if record.fields.len() + 1 >= limits::COLUMNS {
                    break;
                }
                record.fields.push(Field { start, end: self.position + offset, in_scratch: false });
                start = self.position + offset + 1;
            }
            record.fields.push(Field { start: start.min(end), end, in_scratch: false });
            self.skip_line(line_length);
            return RecordEvent::Record;
        }
        match self.read_quoted(record) {
            Some((end, newlines))
                if newlines == 0 || self.width.is_none_or(|width| has_width(record, width)) =>
            {
                self.position = end;
                self.line += newlines + 1;
                RecordEvent::Record
            }
            _ => {
                self.skip_line(line_length);
                RecordEvent::Malformed("a quotation mark is not closed")
            }
        }
    }

    /// Parses a record with quotes. Returns where the next record starts and how many line ends this one contains.
    /// `None` if a quotation mark is not closed within the limits.
    fn read_quoted(&self, record: &mut Record<'a>) -> Option<(usize, u32)> {
        let bytes = self.text.as_bytes();
        let mut position = self.position;
        let mut newlines = 0;
        loop {
            // Spaces before an opening quotation mark are not part of the field.
            let mut start = position;
            while bytes.get(start) == Some(&b' ') {
                start += 1;
            }
            let mut field = Field { start: position, end: position, in_scratch: false };
            if bytes.get(start) == Some(&b'"') {
                let from = record.scratch.len();
                position = start + 1;
                loop {
                    let length = memchr::memchr2(b'"', self.newline, bytes.get(position..)?)?;
                    record.scratch.push_str(self.text.get(position..position + length)?);
                    let newline = bytes.get(position + length) == Some(&self.newline);
                    position += length + 1;
                    if newline {
                        record.scratch.push('\n');
                        newlines += 1;
                        if newlines as usize > limits::RECORD_LINES {
                            return None;
                        }
                    } else if bytes.get(position) == Some(&b'"') {
                        record.scratch.push('"');
                        position += 1;
                    } else {
                        break;
                    }
                }
                if position - self.position > limits::RECORD_BYTES {
                    return None;
                }
                // Text after the closing mark is part of the field, as written.
                let rest = self.field_end(position);
                let trailing = self.text.get(position..rest)?.trim_end_matches('\r');
                // If the closing mark is on a later line and inside a field, it was the opening mark of that field.
                if newlines > 0 && !trailing.trim().is_empty() {
                    return None;
                }
                record.scratch.push_str(trailing);
                position = rest;
                field = Field { start: from, end: record.scratch.len(), in_scratch: true };
            } else {
                position = self.field_end(position);
                field.end = position;
                if bytes.get(position) != Some(&self.delimiter)
                    && self.text.get(field.start..position)?.ends_with('\r')
                {
                    field.end = position - 1;
                }
            }
            if record.fields.len() < limits::COLUMNS {
                record.fields.push(field);
            }
            match bytes.get(position) {
                Some(byte) if *byte == self.delimiter => position += 1,
                Some(_) => return Some((position + 1, newlines)),
                None => return Some((position, newlines)),
            }
        }
    }

    /// The end of an unquoted field, or of its rest: a delimiter, the end of the line or of the file.
    fn field_end(&self, position: usize) -> usize {
        let rest = self.text.as_bytes().get(position..).unwrap_or_default();
        position + memchr::memchr2(self.delimiter, self.newline, rest).unwrap_or(rest.len())
    }
}

/// Whether a record has as many fields as the header, ignoring a trailing delimiter.
fn has_width(record: &Record<'_>, width: usize) -> bool {
    record.len() == width || record.len() == width + 1 || record.len() + 1 == width
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn read_all(text: &str, width: Option<usize>) -> Vec<String> {
        let mut records = Records::new(text, b';');
        records.width = width;
        let mut record = Record::default();
        let mut output = Vec::new();
        loop {
            match records.next(&mut record) {
                RecordEvent::End => return output,
                RecordEvent::Malformed(reason) => output.push(format!("{}! {reason}", record.line)),
                RecordEvent::Record => {
                    output.push(format!("{}: {}", record.line, record.iter().collect::<Vec<_>>().join("|")));
                }
            }
        }
    }

    #[test]
    fn parses_plain_and_quoted_fields() {
        assert_eq!(read_all("a; b ;c\r\n\r\n;;\r\n", None), ["1: a|b|c", "3: ||"]);
        assert_eq!(read_all("\"a;b\";\"say \"\"hi\"\"\";c\nd", None), ["1: a;b|say \"hi\"|c", "2: d"]);
        assert_eq!(read_all("\"two\r\nlines\";x\r\ny;z", None), ["1: two\r\nlines|x", "3: y|z"]);
        assert_eq!(read_all("  \"a\"  ;\"b\"\r\n", None), ["1: a|b"]);
        assert_eq!(read_all("x;=\"0012\"", None), ["1: x|0012"]);
        assert_eq!(read_all("5\" pipe;1", None), ["1: 5\" pipe|1"]);
        assert_eq!(read_all("a;b\rc;d", None), ["1: a|b", "2: c|d"]);
    }

    #[test]
    fn unclosed_quote_affects_only_its_line() {
        let text = "a;b\n\"broken;1\nc;2\nd;3\n";
        assert_eq!(
            read_all(text, Some(2)),
            ["1: a|b", "2! a quotation mark is not closed", "3: c|2", "4: d|3"]
        );
        // Closed by the opening mark of the next line: the number of fields shows that.
        let text = "a;b;c\n\"broken;1;2\n\"fine\";3;4\n";
        assert_eq!(read_all(text, Some(3)), ["1: a|b|c", "2! a quotation mark is not closed", "3: fine|3|4"]);
    }

    /// The model: character by character, for files without unclosed quotes.
    fn quote_all(fields: &[Vec<String>]) -> String {
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
        fn quoted_fields_round_trip(rows in prop::collection::vec(prop::collection::vec("[a-z\";\n ]{0,6}x", 1..4), 1..6)) {
            let text = quote_all(&rows);
            let mut records = Records::new(&text, b';');
            let mut record = Record::default();
            // A file of one line has no line end that shows whether a line feed in quotes is the file's own.
            for row in &rows {
                prop_assert_eq!(records.next(&mut record), RecordEvent::Record);
                let read: Vec<&str> = record.iter().collect();
                let expected: Vec<&str> = row.iter().map(|field| field.trim()).collect();
                prop_assert_eq!(read, expected);
            }
            prop_assert_eq!(records.next(&mut record), RecordEvent::End);
        }

        #[test]
        fn reader_terminates_with_increasing_lines(text in "[a\";\r\né]{0,60}", width in prop::option::of(1..4usize)) {
            let mut records = Records::new(&text, b';');
            records.width = width;
            let mut record = Record::default();
            let mut last = 0;
            let mut steps = 0;
            while records.next(&mut record) != RecordEvent::End {
                prop_assert!(record.line > last);
                last = record.line;
                let _ = record.iter().count();
                steps += 1;
                prop_assert!(steps <= text.len() + 1);
            }
        }
    }
}
