//! Damaged files never make the parser panic or hang, and entries before and after the damage are kept.

use std::collections::HashSet;

use proptest::prelude::*;
use quad_statements::{Document, Format, Options, Severity, Status, parse};

use crate::{options, statements};

/// A small random generator with a fixed seed, so that every run has the same damage. (SplitMix64.)
struct TestRng(u64);

impl TestRng {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, end: usize) -> usize {
        (self.next() % end.max(1) as u64) as usize
    }
}

/// Text that has a meaning in one of the formats.
const FRAGMENTS: [&[u8]; 24] = [
    b"\"",
    b"\"\"",
    b";",
    b",",
    b"\t",
    b"\n",
    b"\r\n",
    b"\r",
    b"<",
    b">",
    b"</",
    b"<![CDATA[",
    b"&",
    b"&#x110000;",
    b"<STMTTRN>",
    b"</Stmt>",
    b"\0",
    b"\xff\xfe",
    b"\xef\xbb\xbf",
    b"999999999999999999999999",
    b"= ",
    b"  @ ",
    b"-",
    b"\n\n2024-01-01 x\n  a  1\n",
];

fn mutate(bytes: &mut Vec<u8>, rng: &mut TestRng) {
    let at = rng.below(bytes.len());
    match rng.below(6) {
        0 => bytes[at] = rng.next() as u8,
        1 => drop(bytes.remove(at)),
        2 => bytes.truncate(at.max(1)),
        3 => {
            let fragment = FRAGMENTS[rng.below(FRAGMENTS.len())];
            bytes.splice(at..at, fragment.iter().copied());
        }
        4 => {
            let end = (at + rng.below(200)).min(bytes.len());
            let copy = bytes[at..end].to_vec();
            let to = rng.below(bytes.len());
            bytes.splice(to..to, copy);
        }
        _ => {
            let end = (at + rng.below(100)).min(bytes.len());
            bytes.drain(at..end);
        }
    }
    if bytes.is_empty() {
        bytes.push(b'x');
    }
}

/// Properties of every document.
fn check_invariants(document: &Document) {
    for statement in &document.statements {
        for entry in &statement.entries {
            assert!(entry.line > 0);
            assert_eq!(entry.currency, statement.currency);
            assert!((1900..=2199).contains(&entry.booked.year()));
            assert!(entry.description.len() <= quad_statements::limits::TEXT_BYTES);
            assert!(!entry.description.contains(['\n', '\r']));
        }
        let account = statement.account.key();
        let by_text: Vec<_> = statement.entries.iter().filter(|entry| !entry.has_trusted_bank_id()).collect();
        let fingerprints: HashSet<_> = by_text.iter().map(|entry| entry.fingerprint(&account)).collect();
        assert_eq!(fingerprints.len(), by_text.len(), "entries without ids are all different");
    }
    assert!(document.findings.len() <= quad_statements::limits::DIAGNOSTICS + 1);
    serde_json::to_string(document).unwrap();
}

#[test]
fn mutated_files_never_panic() {
    // More rounds by hand: QUAD_MUTATIONS=5000.
    let rounds = std::env::var("QUAD_MUTATIONS").ok().and_then(|text| text.parse().ok()).unwrap_or(60);
    for (name, bytes) in statements() {
        let options = options(&name);
        let mut rng = TestRng(name.bytes().map(u64::from).sum());
        for _ in 0..rounds {
            let mut copy = bytes.clone();
            for _ in 0..=rng.below(4) {
                mutate(&mut copy, &mut rng);
            }
            for format in
                [None, Some(Format::Csv), Some(Format::Ofx), Some(Format::Camt), Some(Format::Hledger)]
            {
                let options = Options { format, ..options.clone() };
                if let Ok(document) = parse(&copy, &options) {
                    check_invariants(&document);
                }
            }
        }
    }
}

#[test]
fn bad_row_does_not_affect_others() {
    let row = |day: usize| format!("2024-01-{day:02};Payee {day};memo;-{day}.00;EUR");
    let mutations: [fn(&str) -> String; 5] = [
        |row| row.replace("2024-", "20x4-"),
        |row| row.replace(".00", ".0.0"),
        |row| row.replacen(';', ";\"", 1),
        |row| row.split(';').next().unwrap_or_default().to_owned(),
        |row| row.replace("EUR", "a barrel of fish"),
    ];
    for mutate_row in mutations {
        for broken in 1..=20 {
            let rows: Vec<String> =
                (1..=20).map(|day| if day == broken { mutate_row(&row(day)) } else { row(day) }).collect();
            let text = format!("Date;Payee;Memo;Amount;Currency\n{}\n", rows.join("\n"));
            let document = parse(text.as_bytes(), &Options::default()).unwrap();
            let amounts: Vec<String> =
                document.statements[0].entries.iter().map(|entry| entry.amount.to_string()).collect();
            let expected: Vec<String> =
                (1..=20).filter(|day| *day != broken).map(|day| format!("-{day}")).collect();
            assert_eq!(amounts, expected, "{}", rows[broken - 1]);
            let errors: Vec<Option<u32>> = document
                .findings
                .iter()
                .filter(|diagnostic| diagnostic.severity == Severity::Error)
                .map(|diagnostic| diagnostic.line)
                .collect();
            assert_eq!(errors, [Some(broken as u32 + 1)], "{}", rows[broken - 1]);
        }
    }
}

#[test]
fn missing_entry_is_reported_by_balance_check() {
    let complete = "<Document><BkToCstmrStmt><Stmt><Acct><Id><Othr><Id>1</Id></Othr></Id><Ccy>EUR</Ccy></Acct>\
        <Bal><Tp><CdOrPrtry><Cd>OPBD</Cd></CdOrPrtry></Tp><Amt Ccy=\"EUR\">10</Amt><CdtDbtInd>CRDT</CdtDbtInd></Bal>\
        <Bal><Tp><CdOrPrtry><Cd>CLBD</Cd></CdOrPrtry></Tp><Amt Ccy=\"EUR\">7</Amt><CdtDbtInd>CRDT</CdtDbtInd></Bal>\
        <Ntry><Amt Ccy=\"EUR\">1</Amt><CdtDbtInd>DBIT</CdtDbtInd><BookgDt><Dt>2024-01-01</Dt></BookgDt></Ntry>\
        <Ntry><Amt Ccy=\"EUR\">2</Amt><CdtDbtInd>DBIT</CdtDbtInd><BookgDt><Dt>2024-01-02</Dt></BookgDt></Ntry>\
        </Stmt></BkToCstmrStmt></Document>";
    let read = |text: &str| parse(text.as_bytes(), &Options::default()).unwrap();
    assert_eq!(read(complete).findings, []);
    let without_first_entry = complete.replacen("<Ntry>", "<Nope>", 1).replacen("</Ntry>", "</Nope>", 1);
    let document = read(&without_first_entry);
    assert_eq!(
        document.findings[0].to_string(),
        "warning: the statement of 1 does not add up: 10.00 and its entries make 8.00 EUR, but it closes with 7.00, a \
         difference of -1.00"
    );
    // Pending entries are not part of the booked balance.
    let pending = complete.replacen("</Stmt>", "<Ntry><Amt Ccy=\"EUR\">5</Amt><CdtDbtInd>DBIT</CdtDbtInd><Sts>PDNG</Sts><BookgDt><Dt>2024-01-03</Dt></BookgDt></Ntry></Stmt>", 1);
    let document = read(&pending);
    assert_eq!(document.findings, []);
    assert_eq!(document.statements[0].entries[2].status, Status::Pending);
}

#[test]
fn entity_bomb_is_rejected() {
    let bomb = "<?xml version=\"1.0\"?><!DOCTYPE d [<!ENTITY a \"aaaaaaaaaa\"><!ENTITY b \"&a;&a;&a;&a;\">]>\
        <Document><BkToCstmrStmt><Stmt><Id>&b;</Id></Stmt></BkToCstmrStmt></Document>";
    let error = parse(bomb.as_bytes(), &Options::default()).unwrap_err();
    assert_eq!(error.to_string(), "the file is XML with a document type of its own");
}

proptest! {
    #[test]
    fn arbitrary_text_never_panics(text in "[0-9a-zA-Z;,.\"<>/&=@: \n\t€-]{0,300}") {
        for format in [None, Some(Format::Csv), Some(Format::Ofx), Some(Format::Camt), Some(Format::Hledger)] {
            let options = Options { format, ..Options::default() };
            if let Ok(document) = parse(text.as_bytes(), &options) {
                check_invariants(&document);
            }
        }
    }

    #[test]
    fn arbitrary_bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        if let Ok(document) = parse(&bytes, &Options::default()) {
            check_invariants(&document);
        }
    }
}
