//! The same entry in another file is the same entry; another entry never is.

use std::collections::HashSet;

use proptest::prelude::*;
use quad_statements::{Document, Fingerprint, Options, parse};

use crate::{options, statements};

fn csv(text: &str) -> Document {
    parse(text.as_bytes(), &Options::default()).unwrap()
}

fn prints(document: &Document) -> Vec<Fingerprint> {
    document
        .statements
        .iter()
        .flat_map(|one| one.entries.iter().map(|entry| entry.fingerprint("giro")))
        .collect()
}

fn table(rows: &[&str]) -> String {
    format!("Date;Payee;Memo;Amount;Currency\n{}\n", rows.join("\n"))
}

#[test]
fn the_same_file_again_adds_nothing() {
    for (name, bytes) in statements() {
        let read = || parse(&bytes, &options(&name)).map(|document| prints(&document)).unwrap_or_default();
        assert_eq!(read(), read(), "{name}");
    }
}

#[test]
fn two_equal_coffees_are_two_and_stay_the_same_two() {
    let coffee = "2024-01-13;Bean There;flat white;-4.20;EUR";
    let january = table(&["2024-01-12;Landlord;rent;-700.00;EUR", coffee, coffee]);
    let next = table(&[coffee, coffee, "2024-01-14;Bean There;flat white;-4.20;EUR"]);
    let (january, next) = (prints(&csv(&january)), prints(&csv(&next)));
    let known: HashSet<_> = january.iter().collect();
    assert_eq!(known.len(), 3);
    assert_eq!(next.iter().filter(|print| !known.contains(print)).count(), 1);
}

#[test]
fn a_statement_of_half_a_day_is_part_of_that_of_the_whole_day() {
    let coffee = "2024-01-13;Bean There;flat white;-4.20;EUR";
    let noon = prints(&csv(&table(&[coffee])));
    let evening = prints(&csv(&table(&[coffee, coffee])));
    assert_eq!(noon.first(), evening.first());
    assert_ne!(evening.first(), evening.last());
}

#[test]
fn spelling_does_not_matter_but_everything_else_does() {
    let print = |row: &str| prints(&csv(&table(&[row])))[0];
    let first = print("2024-01-13;Bean There;flat white;-4.20;EUR");
    assert_eq!(first, print("2024-01-13;BEAN  THERE;Flat-White;-4.2;EUR"));
    for other in [
        "2024-01-14;Bean There;flat white;-4.20;EUR",
        "2024-01-13;Bean There;flat white;4.20;EUR",
        "2024-01-13;Bean There;flat white;-4.21;EUR",
        "2024-01-13;Bean There;flat white;-4.20;USD",
        "2024-01-13;Bean There;long black;-4.20;EUR",
    ] {
        assert_ne!(first, print(other), "{other}");
    }
    let document = csv(&table(&["2024-01-13;Bean There;flat white;-4.20;EUR"]));
    let entry = &document.statements[0].entries[0];
    assert_ne!(entry.fingerprint("giro"), entry.fingerprint("savings"));
}

#[test]
fn the_order_of_the_rows_does_not_matter() {
    let rows =
        ["2024-01-12;A;x;-1;EUR", "2024-01-13;B;y;-2;EUR", "2024-01-13;B;y;-2;EUR", "2024-01-14;C;z;-3;EUR"];
    let mut backwards = rows;
    backwards.reverse();
    let set = |rows: &[&str]| prints(&csv(&table(rows))).into_iter().collect::<HashSet<_>>();
    assert_eq!(set(&rows), set(&backwards));
}

#[test]
fn a_banks_id_outlives_a_changed_text_and_a_shared_one_tells_amounts_apart() {
    let with_ids = |rows: &[&str]| format!("Date;Transaction ID;Memo;Amount;Currency\n{}\n", rows.join("\n"));
    let print = |row: &str| prints(&csv(&with_ids(&[row])))[0];
    assert_eq!(
        print("2024-01-13;AB123456;pending text;-4.20;EUR"),
        print("2024-01-13;AB123456;final text;-4.20;EUR")
    );
    assert_ne!(print("2024-01-13;AB123456;x;-4.20;EUR"), print("2024-01-13;AB123456;x;-0.10;EUR"));
    // A bare counter starts again in the next file and says nothing.
    assert_ne!(print("2024-01-13;1;coffee;-4.20;EUR"), print("2024-01-13;1;tea;-4.20;EUR"));
}

proptest! {
    /// Any two windows of one history agree about what they share, as a set that was counted by hand says.
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
                .map(|(day, who, size)| format!("2024-01-0{day};Payee {who};memo;-{size}.00;EUR"))
                .collect();
            let texts: Vec<&str> = rows.iter().map(String::as_str).collect();
            (rows.len(), table(&texts))
        };
        let (a, b) = ((cut.0.min(cut.1), cut.0.max(cut.1)), (cut.2.min(cut.3), cut.2.max(cut.3)));
        let mut together = HashSet::new();
        for (from, to) in [a, b] {
            let (count, text) = window(from, to);
            if count > 0 {
                together.extend(prints(&csv(&text)));
            }
        }
        let inside = |day: usize| (a.0..=a.1).contains(&day) || (b.0..=b.1).contains(&day);
        prop_assert_eq!(together.len(), history.iter().filter(|(day, ..)| inside(usize::from(*day))).count());
    }
}
