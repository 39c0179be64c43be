//! Measures the rows that are parsed per second: `cargo bench -p quad-statements -- [ROWS]` (default 1,000,000).
//!
//! Runs on one core: parsing and fingerprints together, as an import needs them. Prints figures, asserts nothing.

// A failed expectation ends the measurement.
#![allow(clippy::unwrap_used)]

use std::fmt::Write;
use std::time::Instant;

use quad_statements::{Options, parse};

fn csv(rows: usize) -> String {
    let mut text =
        String::from("Buchungstag;Wertstellung;Buchungstext;Empfänger;Verwendungszweck;IBAN;Betrag (EUR)\n");
    for row in 0..rows {
        let (day, month) = (row / 12 % 28 + 1, row % 12 + 1);
        let (euros, cents) = (row * 7 % 5_000, row % 100);
        writeln!(
            text,
            "{day:02}.{month:02}.2024;{day:02}.{month:02}.2024;KARTENZAHLUNG;Laden Nummer {};Einkauf {row} vom {day}.{month}.;\
             DE72500999990123456789;-{euros},{cents:02}",
            row % 500
        )
        .unwrap();
    }
    text
}

fn ofx(rows: usize) -> String {
    let mut text = String::from(
        "OFXHEADER:100\n\n<OFX><STMTRS><CURDEF>USD<BANKACCTFROM><ACCTID>1</BANKACCTFROM><BANKTRANLIST>\n",
    );
    for row in 0..rows {
        writeln!(
            text,
            "<STMTTRN><TRNTYPE>POS<DTPOSTED>202401{:02}120000[-5:EST]<TRNAMT>-{}.{:02}<FITID>F{row:09}<NAME>Shop {}</STMTTRN>",
            row % 28 + 1,
            row % 900,
            row % 100,
            row % 500
        )
        .unwrap();
    }
    text + "</BANKTRANLIST></STMTRS></OFX>"
}

fn camt(rows: usize) -> String {
    let mut text = String::from(
        "<Document><BkToCstmrStmt><Stmt><Acct><Id><Othr><Id>1</Id></Othr></Id><Ccy>EUR</Ccy></Acct>\n",
    );
    for row in 0..rows {
        writeln!(
            text,
            "<Ntry><Amt Ccy=\"EUR\">{}.{:02}</Amt><CdtDbtInd>DBIT</CdtDbtInd><Sts>BOOK</Sts><BookgDt><Dt>2024-01-{:02}</Dt></BookgDt>\
             <AcctSvcrRef>R{row:09}</AcctSvcrRef><NtryDtls><TxDtls><RltdPties><Cdtr><Nm>Shop {}</Nm></Cdtr></RltdPties><RmtInf>\
             <Ustrd>Purchase {row}</Ustrd></RmtInf></TxDtls></NtryDtls></Ntry>",
            row % 900,
            row % 100,
            row % 28 + 1,
            row % 500
        )
        .unwrap();
    }
    text + "</Stmt></BkToCstmrStmt></Document>"
}

fn journal(rows: usize) -> String {
    let mut text = String::from("decimal-mark .\n");
    for row in 0..rows {
        writeln!(
            text,
            "2024-01-{:02} * Shop {} | purchase {row}\n    expenses:food  {}.{:02} EUR\n    assets:bank:giro",
            row % 28 + 1,
            row % 500,
            row % 900,
            row % 100
        )
        .unwrap();
    }
    text
}

/// Peak memory of the process in MiB, if the kernel reports it.
fn peak_mib() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM"))?;
    Some(line.split_whitespace().nth(1)?.parse::<u64>().ok()? / 1024)
}

fn main() {
    let rows = std::env::args().skip(1).find_map(|argument| argument.parse().ok()).unwrap_or(1_000_000);
    for (name, text) in
        [("csv", csv as fn(usize) -> String), ("ofx", ofx), ("camt", camt), ("hledger", journal)]
    {
        let text = text(rows);
        let start = Instant::now();
        let document = parse(text.as_bytes(), &Options::default()).unwrap();
        let parse_time = start.elapsed();
        let mut checksum = 0u64;
        for entry in document.statements.iter().flat_map(|statement| &statement.entries) {
            checksum ^= u64::from(entry.fingerprint("giro").0[0]);
        }
        let total = start.elapsed();
        let rate = rows as f64 / total.as_secs_f64();
        println!(
            "{name}: {rows} rows, {} MiB: read {:.2} s, with fingerprints {:.2} s, {rate:.0} rows/s; {} entries; peak {} MiB ({checksum})",
            text.len() >> 20,
            parse_time.as_secs_f64(),
            total.as_secs_f64(),
            document.entry_count(),
            peak_mib().unwrap_or_default(),
        );
    }
}
