//! Detection of the format by content. File names are ignored: banks name everything `export.csv`.

use serde::Serialize;

use crate::{ParseError, csv, hledger, limits};

/// The format of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Format {
    /// A delimited table.
    Csv,
    /// Open Financial Exchange, 1.x as SGML or 2.x as XML; QFX is the same format.
    Ofx,
    /// ISO 20022: camt.053 statements, camt.052 reports, camt.054 notifications.
    Camt,
    /// A journal of plain text accounting.
    Hledger,
}

impl Format {
    /// The name.
    pub fn name(self) -> &'static str {
        match self {
            Format::Csv => "csv",
            Format::Ofx => "ofx",
            Format::Camt => "camt",
            Format::Hledger => "hledger",
        }
    }

    /// Parses a format's name.
    pub fn parse(name: &str) -> Option<Format> {
        [Format::Csv, Format::Ofx, Format::Camt, Format::Hledger]
            .into_iter()
            .find(|format| format.name() == name)
    }

    /// Detects the format of a text.
    pub fn detect(text: &str) -> Result<Format, ParseError> {
        let end = (0..=text.len().min(limits::DETECTION_BYTES)).rev().find(|end| text.is_char_boundary(*end));
        let start = text
            .get(..end.unwrap_or(0))
            .unwrap_or_default()
            .trim_start_matches(['\u{feff}', ' ', '\t', '\r', '\n']);
        if start.is_empty() {
            return Err(ParseError::Empty);
        }
        let contains = |needle: &str| memchr::memmem::find(start.as_bytes(), needle.as_bytes()).is_some();
        if start.starts_with("OFXHEADER") || contains("<?OFX") || contains("<OFX>") || contains("<ofx>") {
            return Ok(Format::Ofx);
        }
        if start.starts_with('<') {
            let camt = ["BkToCstmrStmt", "BkToCstmrAcctRpt", "BkToCstmrDbtCdtNtfctn"];
            if camt.iter().any(|name| contains(name)) {
                return Ok(Format::Camt);
            }
            return Err(unsupported_markup(start));
        }
        if let Some(error) = unsupported_text(start) {
            return Err(error);
        }
        if hledger::is_journal(start) {
            return Ok(Format::Hledger);
        }
        if csv::is_table(start) {
            return Ok(Format::Csv);
        }
        if hledger::has_directives(start) {
            return Ok(Format::Hledger);
        }
        Err(ParseError::Unrecognised)
    }
}

/// Binary formats that people take for statements, by their first bytes.
pub(crate) fn unsupported_binary(bytes: &[u8]) -> Option<ParseError> {
    let (description, hint) = if bytes.starts_with(b"%PDF") {
        ("a PDF document", "a PDF has no structured data: ask the bank's site for CSV, OFX or camt.053")
    } else if bytes.starts_with(b"PK\x03\x04") {
        ("an archive or an Excel workbook", "unpack it, or save the sheet as CSV")
    } else if bytes.starts_with(b"\xd0\xcf\x11\xe0") {
        ("an old Excel workbook", "save the sheet as CSV")
    } else if bytes.starts_with(b"\x1f\x8b") {
        ("compressed", "unpack it first")
    } else {
        return None;
    };
    Some(ParseError::Unsupported { description, hint })
}

fn unsupported_markup(start: &str) -> ParseError {
    let lowercase_start: String = start.chars().take(2_000).flat_map(char::to_lowercase).collect();
    if lowercase_start.contains("<html") || lowercase_start.contains("<!doctype html") {
        return ParseError::Unsupported {
            description: "a web page",
            hint: "the bank's site probably asked to log in again: download the statement again",
        };
    }
    if lowercase_start.contains("pain.00") {
        return ParseError::Unsupported {
            description: "a payment order (pain), not a statement",
            hint: "ask the bank for camt.053, which contains the booked entries",
        };
    }
    ParseError::Unsupported {
        description: "XML of another kind than OFX or camt",
        hint: "ask the bank for camt.053, OFX or CSV",
    }
}

fn unsupported_text(start: &str) -> Option<ParseError> {
    let line = start.lines().next().unwrap_or_default().trim_end();
    let (description, hint) = if line.starts_with("!Type:")
        || line.starts_with("!Account")
        || line.starts_with("!Option:")
    {
        (
            "a QIF file",
            "QIF has no ids and no currency: ask for OFX (sometimes called Money or QuickBooks), camt.053 or CSV",
        )
    } else if line.starts_with(":20:") || line.starts_with("{1:") {
        ("an MT940 message", "ask the bank for its successor camt.053, or for CSV")
    } else if start.starts_with(['{', '[']) {
        ("JSON", "export it as CSV, OFX or camt.053")
    } else {
        return None;
    };
    Some(ParseError::Unsupported { description, hint })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn detects_format_by_content() {
        for (text, format) in [
            ("OFXHEADER:100\nDATA:OFXSGML\n", Format::Ofx),
            ("<?xml version=\"1.0\"?>\n<?OFX OFXHEADER=\"200\"?><OFX></OFX>", Format::Ofx),
            ("<Document><BkToCstmrStmt/></Document>", Format::Camt),
            ("Date,Amount,Description\n2024-01-02,5.00,x\n", Format::Csv),
            ("2024-01-02 shop\n  expenses:food  5 EUR\n  assets:cash\n", Format::Hledger),
            ("; comment\naccount assets:cash\n\n2024/1/2 * shop\n\tx  5\n\ty\n", Format::Hledger),
            ("2024-01-02;shop;-5,00\n", Format::Csv),
        ] {
            assert_eq!(Format::detect(text), Ok(format), "{text}");
        }
    }

    #[test]
    fn names_unsupported_formats() {
        let error_text = |text: &str| Format::detect(text).unwrap_err().to_string();
        assert_eq!(error_text(""), "the file is empty");
        assert_eq!(error_text("!Type:Bank\nD1/2/2024\n"), "the file is a QIF file");
        assert_eq!(error_text(":20:STARTUMS\n"), "the file is an MT940 message");
        assert_eq!(error_text("<!DOCTYPE html><html>"), "the file is a web page");
        assert_eq!(error_text("{\"a\":1}"), "the file is JSON");
        assert_eq!(error_text("Dear customer, please find attached."), ParseError::Unrecognised.to_string());
        assert!(unsupported_binary(b"%PDF-1.7").is_some());
        assert!(unsupported_binary(b"Date,Amount").is_none());
    }
}
