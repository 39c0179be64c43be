//! Fingerprints identify an entry in every statement that contains it, so that overlapping statements add nothing
//! twice.
//!
//! A trustworthy id of the bank decides, together with day and amount, because some banks give a purchase and its fee
//! the same id. Otherwise the fingerprint contains day, amount, currency, the normalized text and the number of equal
//! entries before it on that day: two equal purchases are two entries, and the same two in the next statement.

use std::collections::HashMap;
use std::fmt;

use jiff::civil::Date;
use ring::digest;

use crate::diagnostic::Diagnostics;
use crate::{Amount, Currency, Entry};

/// The fingerprint: 128 bits of a SHA-256.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Fingerprint(pub [u8; 16]);

impl fmt::Display for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// What an entry's fingerprint is computed from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct IdentitySource {
    /// The bank's own id, which no other entry has.
    pub by_bank_id: bool,
    /// The number of equal entries before it on its day.
    pub occurrence: u32,
}

impl Fingerprint {
    pub(crate) fn compute(entry: &Entry, account: &str) -> Fingerprint {
        let mut bytes = Vec::with_capacity(160);
        push_text(&mut bytes, account);
        push_fields(&mut bytes, entry);
        match &entry.references.bank_id {
            Some(id) if entry.identity.by_bank_id => {
                bytes.push(b'i');
                push_text(&mut bytes, id);
            }
            _ => {
                bytes.push(b't');
                push_normalized_texts(&mut bytes, entry);
                bytes.extend(entry.identity.occurrence.to_be_bytes());
            }
        }
        let digest = digest::digest(&digest::SHA256, &bytes);
        let mut prefix = [0; 16];
        for (target, byte) in prefix.iter_mut().zip(digest.as_ref()) {
            *target = *byte;
        }
        Fingerprint(prefix)
    }
}

/// Writes the length first, so that different lists of texts never give the same bytes.
fn push_text(bytes: &mut Vec<u8>, text: &str) {
    bytes.extend((text.len() as u64).to_be_bytes());
    bytes.extend(text.as_bytes());
}

fn push_fields(bytes: &mut Vec<u8>, entry: &Entry) {
    let Entry { booked, amount, currency, .. } = entry;
    bytes.extend(booked.year().to_be_bytes());
    bytes.extend([booked.month() as u8, booked.day() as u8]);
    bytes.extend(amount.units().to_be_bytes());
    bytes.extend(amount.nanos().to_be_bytes());
    push_text(bytes, currency.as_str());
}

/// The letters and digits of an entry's texts. Spaces, case and punctuation differ between exports and are left out.
fn push_normalized_texts(bytes: &mut Vec<u8>, entry: &Entry) {
    let references = &entry.references;
    let texts = [&entry.counterparty.name, &references.end_to_end, &references.check];
    for text in texts.into_iter().flatten().map(|text| &**text).chain([&*entry.description]) {
        push_normalized(bytes, text);
    }
}

fn push_normalized(bytes: &mut Vec<u8>, text: &str) {
    if text.is_ascii() {
        bytes.extend(text.bytes().filter(u8::is_ascii_alphanumeric).map(|byte| byte.to_ascii_lowercase()));
        return;
    }
    let mut buffer = [0; 4];
    for letter in text.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase) {
        bytes.extend(letter.encode_utf8(&mut buffer).as_bytes());
    }
}

/// Whether the bank's id can identify a single entry. Words for "none" and bare counters cannot: a counter starts again
/// in the next file and would identify another entry there.
pub(crate) fn is_meaningful_id(id: &str) -> bool {
    let mut normalized = Vec::with_capacity(id.len());
    push_normalized(&mut normalized, id);
    let placeholders = [
        &b"none"[..],
        b"nonref",
        b"notprovided",
        b"notavailable",
        b"unknown",
        b"na",
        b"null",
        b"nref",
        b"keine",
        b"-",
    ];
    let counter = normalized.len() < 6 && normalized.iter().all(u8::is_ascii_digit);
    let zeros = normalized.iter().all(|byte| *byte == b'0');
    !counter && !zeros && !placeholders.contains(&normalized.as_slice())
}

/// Decides for each entry of a statement how its fingerprint is computed. `ids_trusted`: whether the format guarantees
/// that a bank's id is unique within the account.
pub(crate) fn assign_occurrences(entries: &mut [Entry], ids_trusted: bool, diagnostics: &mut Diagnostics) {
    // Texts are compared by an unkeyed 128-bit hash, not kept, so that a million entries need little memory.
    let mut occurrences: HashMap<[u8; 16], u32> = HashMap::with_capacity(entries.len());
    let mut lines_by_id: HashMap<(Box<str>, Date, Amount, Currency), u32> = HashMap::new();
    let mut bytes = Vec::with_capacity(160);
    for entry in entries {
        if let Some(id) = entry.references.bank_id.as_ref().filter(|id| ids_trusted && is_meaningful_id(id)) {
            entry.identity = IdentitySource { by_bank_id: true, occurrence: 0 };
            let key = (id.clone(), entry.booked, entry.amount, entry.currency);
            if let Some(line) = lines_by_id.insert(key, entry.line) {
                let id = crate::diagnostic::quote(id);
                let message =
                    format!("the same id {id}, day and amount as on line {line}: treated as one entry");
                diagnostics.warning_at(entry.line, message);
            }
            continue;
        }
        bytes.clear();
        push_fields(&mut bytes, entry);
        push_normalized_texts(&mut bytes, entry);
        let mut key = [0; 16];
        for (target, byte) in key.iter_mut().zip(digest::digest(&digest::SHA256, &bytes).as_ref()) {
            *target = *byte;
        }
        let count = occurrences.entry(key).or_insert(0);
        entry.identity = IdentitySource { by_bank_id: false, occurrence: *count };
        *count += 1;
    }
}
