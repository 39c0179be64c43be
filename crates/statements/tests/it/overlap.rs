//! The same entry has the same fingerprint in every file; different entries have different ones.

use std::collections::HashSet;

use proptest::prelude::*;
use quad_statements::{Document, Fingerprint, Options, parse};

use crate::{options, statements};

fn csv(text: &str) -> Document {
    parse(text.as_bytes(), &Options::default()).unwrap()
}

fn fingerprints(document: &Document) -> Vec<Fingerprint> {
    document
        .statements
        .iter()
        .flat_map(|statement| statement.entries.iter().map(|entry| entry.fingerprint("giro")))
        .collect()
}

fn table(rows: &[&str]) -> String {
    format!("Date;Payee;Memo;Amount;Currency\n{}\n", rows.join("\n"))
}

#[test]
fn parsing_twice_gives_same_fingerprints() {
    for (name, bytes) in statements() {
        let read =
            || parse(&bytes, &options(&name)).map(|document| fingerprints(&document)).unwrap_or_default();
        assert_eq!(read(), read(), "{name}");
    }
}

#[test]
fn identical_entries_have_stable_fingerprints() {
    let coffee = "2024-01-13;Bean There;flat white;-4.20;EUR";
    let january = table(&["2024-01-12;Landlord;rent;-700.00;EUR", coffee, coffee]);
    let next = table(&[coffee, coffee, "2024-01-14;Bean There;flat white;-4.20;EUR"]);
    let (january, next) = (fingerprints(&csv(&january)), fingerprints(&csv(&next)));
    let january_set: HashSet<_> = january.iter().collect();
    assert_eq!(january_set.len(), 3);
    assert_eq!(next.iter().filter(|fingerprint| !january_set.contains(fingerprint)).count(), 1);
}

#[test]
fn partial_day_fingerprints_match_full_day() {
    let coffee = "2024-01-13;Bean There;flat white;-4.20;EUR";
    let noon = fingerprints(&csv(&table(&[coffee])));
    let evening = fingerprints(&csv(&table(&[coffee, coffee])));
    assert_eq!(noon.first(), evening.first());
    assert_ne!(evening.first(), evening.last());
}

#[test]
fn fingerprint_ignores_only_case_and_punctuation() {
    let fingerprint = |row: &str| fingerprints(&csv(&table(&[row])))[0];
    let first = fingerprint("2024-01-13;Bean There;flat white;-4.20;EUR");
    assert_eq!(first, fingerprint("2024-01-13;BEAN  THERE;Flat-White;-4.2;EUR"));
    for other in [
        "2024-01-14;Bean There;flat white;-4.20;EUR",
        "2024-01-13;Bean There;flat white;4.20;EUR",
        "2024-01-13;Bean There;flat white;-4.21;EUR",
        "2024-01-13;Bean There;flat white;-4.20;USD",
        "2024-01-13;Bean There;long black;-4.20;EUR",
    ] {
        assert_ne!(first, fingerprint(other), "{other}");
    }
    let document = csv(&table(&["2024-01-13;Bean There;flat white;-4.20;EUR"]));
    let entry = &document.statements[0].entries[0];
    assert_ne!(entry.fingerprint("giro"), entry.fingerprint("savings"));
}

#[test]
fn row_order_does_not_change_fingerprints() {
    let rows =
        ["2024-01-12;A;x;-1;EUR", "2024-01-13;B;y;-2;EUR", "2024-01-13;B;y;-2;EUR", "2024-01-14;C;z;-3;EUR"];
    let mut backwards = rows;
    backwards.reverse();
    let set = |rows: &[&str]| fingerprints(&csv(&table(rows))).into_iter().collect::<HashSet<_>>();
    assert_eq!(set(&rows), set(&backwards));
}

#[test]
fn bank_id_identifies_entry_when_text_changes() {
    let with_ids = |rows: &[&str]| format!("Date;Transaction ID;Memo;Amount;Currency\n{}\n", rows.join("\n"));
    let fingerprint = |row: &str| fingerprints(&csv(&with_ids(&[row])))[0];
    assert_eq!(
        fingerprint("2024-01-13;AB123456;pending text;-4.20;EUR"),
        fingerprint("2024-01-13;AB123456;final text;-4.20;EUR")
    );
    assert_ne!(
        fingerprint("2024-01-13;AB123456;x;-4.20;EUR"),
        fingerprint("2024-01-13;AB123456;x;-0.10;EUR")
    );
    // A bare counter starts again in the next file, so it identifies nothing.
    assert_ne!(fingerprint("2024-01-13;1;coffee;-4.20;EUR"), fingerprint("2024-01-13;1;tea;-4.20;EUR"));
}

proptest! {
    /// Any two windows of one history agree on the entries that they share, compared with a set that was counted
    /// directly.
    #[test]
    fn overlapping_windows_add_each_entry_once(
        history in prop::collection::vec((1u8..=9, 0u8..3, 1u8..4), 1..40),
        cut in (0usize..9, 0usize..9, 0usize..9, 0usize..9),
    ) {
        let mut history = history;
        history.sort_by_key(|(day, ..)| *day);
        let window = |from: usize, to: usize| {
            let rows: Vec<String> = history
                .iter()
                .filter(|(day, ..)| (from..=to).contains(&usize::from(*day)))
                .map(|(day, payee, size)| format!("2024-01-0{day};Payee {payee};memo;-{size}.00;EUR"))
                .collect();
            let texts: Vec<&str> = rows.iter().map(String::as_str).collect();
            (rows.len(), table(&texts))
        };
        let (a, b) = ((cut.0.min(cut.1), cut.0.max(cut.1)), (cut.2.min(cut.3), cut.2.max(cut.3)));
        let mut fingerprint_set = HashSet::new();
        for (from, to) in [a, b] {
            let (count, text) = window(from, to);
            if count > 0 {
                fingerprint_set.extend(fingerprints(&csv(&text)));
            }
        }
        let inside = |day: usize| (a.0..=a.1).contains(&day) || (b.0..=b.1).contains(&day);
        prop_assert_eq!(fingerprint_set.len(), history.iter().filter(|(day, ..)| inside(usize::from(*day))).count());
    }
}
