//! Changed, truncated and forged exports, and what the verifier reports.

use proptest::prelude::*;

use super::chain::RecordHeader;
use super::*;
use crate::testing::{TestExport, TestKey};

fn verify(bytes: &[u8], trusted: Option<TrustedCheckpoints>) -> Result<Report> {
    let mut verifier = Verifier::new(trusted);
    verifier.verify_file(bytes, |_| {})?;
    verifier.finish()
}

fn broken_event(bytes: &[u8]) -> Option<u64> {
    let error = verify(bytes, None).unwrap_err();
    assert_eq!(error.code(), chain_error::AUDIT_BROKEN, "{error}");
    error.detail("sequence").and_then(serde_json::Value::as_u64)
}

fn trusted_from(export: &TestExport) -> TrustedCheckpoints {
    let lines: String = export.checkpoints.iter().map(|checkpoint| checkpoint.to_line() + "\n").collect();
    TrustedCheckpoints::read(lines.as_bytes()).unwrap()
}

/// The event of a line, in a file with header, events and checkpoints, and last line.
fn event_sequence(line: &str) -> Option<u64> {
    export_format::parse_event(line).map(|entry| entry.sequence)
}

#[test]
fn valid_export_verifies() {
    let export = TestExport::new(23, 5, &TestKey::new(1));
    let report = verify(export.text().as_bytes(), None).unwrap();
    assert_eq!((report.first_sequence, report.last_sequence), (1, 23));
    assert_eq!((report.checkpoints, report.covered_to, report.keys.len()), (5, 23, 1));
    let report = verify(export.text().as_bytes(), Some(trusted_from(&export))).unwrap();
    assert_eq!((report.trusted_matched, report.trusted_before_start), (5, 0));
    assert_eq!(
        verify(TestExport::new(0, 5, &TestKey::new(1)).text().as_bytes(), None).unwrap().last_sequence,
        0
    );
}

#[test]
fn every_changed_byte_is_detected_in_its_event() {
    let text = TestExport::new(4, 2, &TestKey::new(1)).text();
    let mut offset = 0;
    for line in text.split_inclusive('\n') {
        let expected = event_sequence(line.trim_end());
        for at in offset..offset + line.len() {
            for other in [b'0', b'7', b'f', b'"', b' ', b'\n', b'}', 0xff] {
                let mut changed = text.clone().into_bytes();
                if changed[at] == other {
                    continue;
                }
                changed[at] = other;
                let found = broken_event(&changed);
                if let Some(expected) = expected {
                    assert_eq!(found, Some(expected), "byte {at} to {other} in {line}");
                }
            }
        }
        offset += line.len();
    }
}

#[test]
fn detects_dropped_checkpoint_and_changed_file_kind() {
    let text = TestExport::new(9, 4, &TestKey::new(1)).text();
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let checkpoints: Vec<usize> =
        (0..lines.len()).filter(|place| lines[*place].starts_with("{\"checkpoint\"")).collect();
    assert_eq!(checkpoints.len(), 3);
    for place in checkpoints {
        let dropped = [&lines[..place], &lines[place + 1..]].concat().concat();
        assert!(verify(dropped.as_bytes(), None).is_err(), "without line {}", place + 1);
    }
    let other = text.replacen("\"export\"", "\"archive\"", 1);
    assert!(verify(other.as_bytes(), None).unwrap_err().message().contains("another hash"));
}

#[test]
fn file_truncated_at_any_byte_is_rejected() {
    let text = TestExport::new(6, 4, &TestKey::new(1)).text();
    for end in 0..text.len() {
        assert!(verify(&text.as_bytes()[..end], None).is_err(), "cut after {end}");
    }
    assert!(verify(format!("{text}\n").as_bytes(), None).is_err());
    assert!(verify(format!("{text}{text}").as_bytes(), None).is_err());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn dropped_repeated_or_swapped_event_is_detected(
        events in 2usize..40,
        every in 1usize..9,
        first in any::<prop::sample::Index>(),
        second in any::<prop::sample::Index>(),
    ) {
        let text = TestExport::new(events, every, &TestKey::new(1)).text();
        let lines: Vec<&str> = text.split_inclusive('\n').collect();
        let event_lines: Vec<usize> =
            (0..lines.len()).filter(|index| event_sequence(lines[*index].trim_end()).is_some()).collect();
        let (first, second) = (first.index(events), second.index(events));
        let sequence = |index: usize| Some(index as u64 + 1);

        let mut dropped = lines.clone();
        dropped.remove(event_lines[first]);
        prop_assert_eq!(broken_event(dropped.concat().as_bytes()), sequence(first));

        let mut repeated = lines.clone();
        repeated.insert(event_lines[first], lines[event_lines[first]]);
        prop_assert_eq!(broken_event(repeated.concat().as_bytes()), sequence(first + 1));

        if first != second {
            let mut swapped = lines.clone();
            swapped.swap(event_lines[first], event_lines[second]);
            prop_assert_eq!(broken_event(swapped.concat().as_bytes()), sequence(first.min(second)));
        }
    }

    #[test]
    fn any_changed_byte_is_detected(
        events in 1usize..20,
        at in any::<prop::sample::Index>(),
        byte in any::<u8>(),
    ) {
        let text = TestExport::new(events, 6, &TestKey::new(1)).text();
        let mut changed = text.clone().into_bytes();
        let at = at.index(changed.len());
        prop_assume!(changed[at] != byte);
        // Searched as bytes: the position may be within a multi-byte character.
        let line = changed[..at].iter().filter(|byte| **byte == b'\n').count();
        let line = text.split('\n').nth(line).unwrap_or_default();
        changed[at] = byte;
        let found = broken_event(&changed);
        if let Some(expected) = event_sequence(line) {
            prop_assert_eq!(found, Some(expected));
        }
    }
}

#[test]
fn names_the_changed_event_when_its_claimed_hash_is_forged() {
    let mut export = TestExport::new(9, 3, &TestKey::new(1));
    // As after a change in the database: event 5 claims the hash of event 4, and event 5 was changed.
    let forged = Hash::compute(b"forged");
    let record = &export.entries[4].record;
    export.entries[4].record =
        record.replace(&export.entries[3].claimed_hash.to_string(), &forged.to_string());
    export.entries[3].claimed_hash = forged;
    export.sign_trailer(&TestKey::new(1));
    assert_eq!(broken_event(export.text().as_bytes()), Some(5));
}

#[test]
fn trusted_checkpoints_detect_resigned_chain() {
    let (original, resigned) =
        (TestExport::new(12, 4, &TestKey::new(1)), TestExport::new(12, 4, &TestKey::new(2)));
    let text = resigned.text();
    assert!(verify(text.as_bytes(), None).is_ok(), "nothing in the file itself is wrong");
    let error = verify(text.as_bytes(), Some(trusted_from(&original))).unwrap_err();
    assert!(error.message().contains("key that no trusted checkpoint has"), "{error}");
    assert!(error.hint_text().is_some());
    // With our key but another history: only trusted checkpoints detect it.
    let mut rewritten = TestExport::with_changed_event(12, 4, &TestKey::new(1), 6);
    rewritten.sign_trailer(&TestKey::new(1));
    assert!(verify(rewritten.text().as_bytes(), None).is_ok());
    let error = verify(rewritten.text().as_bytes(), Some(trusted_from(&original))).unwrap_err();
    assert_eq!(error.detail("sequence"), Some(&8.into()), "{error}");
    assert!(error.message().contains("rewritten"), "{error}");
}

#[test]
fn trusted_checkpoints_detect_removed_tail() {
    let key = TestKey::new(1);
    let (whole, shorter) = (TestExport::new(12, 4, &key), TestExport::new(9, 4, &key));
    assert!(verify(shorter.text().as_bytes(), None).is_ok());
    let error = verify(shorter.text().as_bytes(), Some(trusted_from(&whole))).unwrap_err();
    assert_eq!(error.detail("sequence"), Some(&10.into()));
}

#[test]
fn rejects_wrong_unlinked_or_unsigned_checkpoints() {
    let key = TestKey::new(1);
    let check = |change: &dyn Fn(&mut Vec<Checkpoint>), expect: &str| {
        let mut export = TestExport::new(12, 4, &key);
        change(&mut export.checkpoints);
        export.sign_trailer(&key);
        let error = verify(export.text().as_bytes(), None).unwrap_err();
        assert!(error.message().contains(expect), "{error}");
    };
    let resign = |checkpoint: &mut Checkpoint| *checkpoint = checkpoint.statement.clone().sign(&key);
    check(&|all| all[1].statement.time = quad_core::Timestamp(5), "bad signature");
    check(
        &|all| {
            all[1].statement.root = Hash::compute(b"other");
            resign(&mut all[1]);
        },
        "does not agree",
    );
    check(
        &|all| {
            all[1].statement.previous = None;
            resign(&mut all[1]);
        },
        "does not follow",
    );
    check(
        &|all| {
            all[1].statement.tenant = "tnt_other".to_owned();
            resign(&mut all[1]);
        },
        "another tenant",
    );
}

#[test]
fn export_verifies_alone_and_after_its_archive() {
    let key = TestKey::new(1);
    let whole = TestExport::new(20, 4, &key);
    let (archive, remainder) = whole.split_at(10, &key);
    let report = verify(remainder.text().as_bytes(), None).unwrap();
    assert_eq!((report.first_sequence, report.last_sequence), (11, 20));
    let report = verify(remainder.text().as_bytes(), Some(trusted_from(&whole))).unwrap();
    assert_eq!((report.trusted_matched, report.trusted_before_start), (3, 2));

    let verify_both = |first: &str, second: &str| {
        let third = (3, whole.entries[2].record.clone());
        let id = serde_json::from_str::<RecordHeader<'_>>(&third.1).unwrap().id.into_owned();
        for selector in [EventSelector::Sequence(3), EventSelector::Id(id)] {
            let mut verifier = Verifier::new(Some(trusted_from(&whole))).select(selector);
            verifier.verify_file(first.as_bytes(), |_| {})?;
            verifier.verify_file(second.as_bytes(), |_| {})?;
            assert_eq!(verifier.take_selected(), Some(third.clone()));
        }
        let mut verifier = Verifier::new(Some(trusted_from(&whole)));
        verifier.verify_file(first.as_bytes(), |_| {})?;
        verifier.verify_file(second.as_bytes(), |_| {})?;
        verifier.finish()
    };
    let report = verify_both(&archive.text(), &remainder.text()).unwrap();
    assert_eq!((report.first_sequence, report.last_sequence, report.trusted_matched), (1, 20, 5));
    assert!(verify_both(&remainder.text(), &archive.text()).is_err(), "the wrong way round");
    assert!(
        verify_both(&archive.text(), &whole.text()).is_err(),
        "the second does not begin where the first ends"
    );
    let (_, later) = whole.split_at(12, &key);
    assert!(verify_both(&archive.text(), &later.text()).is_err(), "a gap between the two");
    // An anchor of a tree that never existed.
    let mut forged_export = remainder;
    let anchor = forged_export.anchor.as_mut().unwrap();
    anchor.frontier = Frontier::from_hashes(10, vec![Hash::compute(b"a"), Hash::compute(b"b")]).unwrap();
    forged_export.sign_trailer(&key);
    assert!(verify(forged_export.text().as_bytes(), None).is_err());
}
