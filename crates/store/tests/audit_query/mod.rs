//! Audit queries with filters, by time and by id, with bounded work, on every available database.

use quad_core::{TenantId, Timestamp};
use quad_store::audit::{Filter, block, lookup, query, time_search};
use quad_store::testing::{TestStore, stores};
use quad_store::{Sql, Store, Tx, WriteContext, limits, params};

const EVENTS: i64 = 20_000;
const START: i64 = 1_770_000_000_000;

/// An event of the test chain. Times are out of order by up to two seconds, as between nodes.
#[derive(Clone)]
struct ExpectedEvent {
    id: String,
    actor: String,
    time: Timestamp,
}

fn expected_event(sequence: i64) -> ExpectedEvent {
    let noise = sequence * 7_919 % 4_001 - 2_000;
    let time = Timestamp(START + sequence * 100 + noise);
    let actor = if sequence % 5_000 == 17 { "rare" } else { "common" };
    ExpectedEvent { id: format!("evt_{}", ulid(time, sequence)), actor: actor.to_owned(), time }
}

fn ulid(time: Timestamp, random: i64) -> String {
    let bits = (time.0 as u128) << 80 | random as u128;
    let digit =
        |position: u32| b"0123456789ABCDEFGHJKMNPQRSTVWXYZ"[(bits >> (5 * position) & 31) as usize] as char;
    (0..26).rev().map(digit).collect()
}

fn record(sequence: i64) -> String {
    let ExpectedEvent { id, actor, time } = expected_event(sequence);
    format!(
        r#"{{"action":"a","actor":"{actor}","created_at":"{time}","id":"{id}","inputs":{{"uri":"x://{sequence}"}},"outcome":"ok"}}"#
    )
}

/// Writes the chain directly, in blocks of 1 to 200 events.
async fn fill_chain(store: &Store, tenant: &TenantId) {
    let insert_blocks = |tx: &mut Tx<'_>| {
        let tenant = tx.tenant().as_str().to_owned();
        tx.execute("DELETE FROM audit_block WHERE tenant_id = $1", params![tenant.as_str()])?;
        let mut last_sequence = 0;
        while last_sequence < EVENTS {
            let count = (last_sequence % 200 + 1).min(EVENTS - last_sequence);
            let body: Vec<String> = (last_sequence + 1..=last_sequence + count).map(record).collect();
            tx.execute(
                "INSERT INTO audit_block (tenant_id, first_sequence, events, hash_schema_version, created_at, body) \
                 VALUES ($1, $2, $3, 4, $4, $5)",
                params![tenant.as_str(), last_sequence + 1, count, expected_event(last_sequence + 1).time, body.join("\n")],
            )?;
            last_sequence += count;
        }
        tx.execute("UPDATE head SET sequence = $2 WHERE tenant_id = $1", params![tenant, EVENTS])?;
        Ok(())
    };
    store.write_unaudited(tenant, insert_blocks).await.unwrap();
}

/// The sequences of all matching events, and the number of pages.
async fn all_pages(store: &Store, tenant: &TenantId, filter: Filter, limit: usize) -> (Vec<i64>, usize) {
    let (mut sequences, mut pages, mut before) = (Vec::new(), 0, None);
    loop {
        let filter = filter.clone();
        let page = store.read(tenant, move |sql| query::page(sql, &filter, before, limit)).await.unwrap();
        assert!(page.events.len() <= limit);
        sequences.extend(page.events.iter().map(|event| event.sequence));
        pages += 1;
        match page.next {
            Some(next) => {
                // With `until`, the first page starts at that time and does not scan newer events.
                let scanned = before.map_or(0, |before| before - next);
                assert!(scanned <= limits::AUDIT_EVENTS_SCANNED_MAX, "a page scanned {scanned} events");
                before = Some(next);
            }
            None => return (sequences, pages),
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn rare_filter_scans_in_bounded_pages() {
    for TestStore { store, tenant, .. } in &stores(&[]).await.unwrap() {
        fill_chain(store, tenant).await;
        let (all, _) = all_pages(store, tenant, Filter::default(), 700).await;
        assert!(all.iter().copied().eq((1..=EVENTS).rev()));
        let rare = Filter { actor: Some("rare".to_owned()), ..Filter::default() };
        let (found, pages) = all_pages(store, tenant, rare, 50).await;
        assert_eq!(found, [15_017, 10_017, 5_017, 17]);
        assert_eq!(pages as i64, EVENTS / limits::AUDIT_EVENTS_SCANNED_MAX + 1);
        let by_uri = Filter { uri: Some("x://777".to_owned()), ..Filter::default() };
        assert_eq!(all_pages(store, tenant, by_uri, 50).await.0, [777]);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn time_filter_tolerates_out_of_order_timestamps() {
    for TestStore { store, tenant, .. } in &stores(&[]).await.unwrap() {
        fill_chain(store, tenant).await;
        for (since, until) in
            [(0, EVENTS), (9_000, 9_050), (1, 2), (EVENTS - 30, EVENTS + 500), (5_000, 4_000)]
        {
            let (since, until) = (Timestamp(START + since * 100), Timestamp(START + until * 100));
            let filter = Filter { since: Some(since), until: Some(until), ..Filter::default() };
            let (found, pages) = all_pages(store, tenant, filter, 10_000).await;
            let inside = |sequence: &i64| (since..until).contains(&expected_event(*sequence).time);
            let expect: Vec<i64> = (1..=EVENTS).rev().filter(inside).collect();
            assert_eq!(found, expect);
            // Five minutes on either side are 3,000 events here. No others are scanned.
            let bound = (until.0 - since.0).max(0) / 100 + 2 * 3_000 + 1_000;
            assert!(pages as i64 <= bound / limits::AUDIT_EVENTS_SCANNED_MAX + 1, "{pages} pages");
        }
        for sequence in [1, 500, 12_345, EVENTS] {
            let time = expected_event(sequence).time;
            let found_sequence =
                store.read(tenant, move |sql| time_search::last_sequence_before(sql, time)).await.unwrap();
            assert!(
                (found_sequence - sequence).abs() <= 300,
                "{found_sequence} for {sequence}: further away than the clock noise and one block"
            );
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn event_is_found_by_id_at_any_position() {
    for TestStore { store, tenant, .. } in &stores(&[]).await.unwrap() {
        fill_chain(store, tenant).await;
        for sequence in [1, 2, 199, 200, 201, 6_000, 13_579, EVENTS - 1, EVENTS] {
            let id = expected_event(sequence).id;
            let found = store.read(tenant, move |sql| lookup::event_by_id(sql, &id)).await.unwrap().unwrap();
            assert_eq!((found.sequence, found.record), (sequence, record(sequence)));
        }
        for id in [format!("evt_{}", ulid(Timestamp(START + 500_000), 1)), "evt_x".to_owned(), String::new()]
        {
            assert_eq!(store.read(tenant, move |sql| lookup::event_by_id(sql, &id)).await.unwrap(), None);
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn record_is_found_in_a_block_longer_than_a_batch() {
    const EVENTS_IN_BLOCK: i64 = 2 * limits::BATCH_JOBS_MAX as i64;
    for TestStore { store, tenant, .. } in &stores(&[]).await.unwrap() {
        let emit_events = |tx: &mut Tx<'_>| {
            (0..EVENTS_IN_BLOCK).for_each(|_| tx.emit_event(crate::event("step")));
            Ok(())
        };
        store.write_with_events(&WriteContext::from(tenant), emit_events).await.unwrap();
        store
            .read(tenant, |sql| {
                let last = block::chain_end(sql)?.sequence;
                assert!(last > EVENTS_IN_BLOCK);
                for sequence in [1, 2, 3, last - EVENTS_IN_BLOCK, last - 1, last] {
                    assert!(block::record_at(sql, sequence)?.is_some(), "record {sequence} of {last}");
                }
                let range: Vec<i64> = block::records_between(sql, last - 2, last)?
                    .iter()
                    .map(|(sequence, _)| *sequence)
                    .collect();
                assert_eq!(range, [last - 2, last - 1, last]);
                assert_eq!(block::record_at(sql, last + 1)?, None);
                Ok(())
            })
            .await
            .unwrap();
    }
}
