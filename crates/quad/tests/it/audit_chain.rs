//! Verifies a tenant's audit chain and versions with nothing but SHA-256.

use serde_json::Value;

use crate::instance::TestInstance;
use crate::matrix::Backend;

/// Checks that a tenant's chain is complete up to its head and its versions have no gap. Returns the events.
pub fn verify(instance: &TestInstance, tenant: &str) -> Vec<Value> {
    let id = instance.tenant_id(tenant);
    let head = instance.query(&format!("SELECT version, sequence, hash FROM head WHERE tenant_id = '{id}'"));
    let [head] = head.as_slice() else { panic!("{tenant} has {} heads", head.len()) };
    let parse_number =
        |text: &Option<String>| text.as_deref().and_then(|text| text.parse::<usize>().ok()).unwrap();
    let mut events = Vec::new();
    let mut previous_hash = Value::Null;
    for block in load_blocks(instance, &id) {
        assert_eq!(block.first_sequence, events.len() + 1, "{tenant}: a block begins at the wrong place");
        let lines: Vec<&str> = block.text.lines().collect();
        assert_eq!(block.event_count, lines.len(), "{tenant}: a block has not the events that it counts");
        for line in lines {
            let event: Value = serde_json::from_str(line).unwrap();
            assert_eq!(
                event["prev_event_hash"],
                previous_hash,
                "{tenant}: event {} breaks the chain",
                events.len() + 1
            );
            assert_eq!(event["tenant_id"], id.as_str(), "{tenant}: an event of another tenant");
            previous_hash = sha256(line).into();
            events.push(event);
        }
    }
    assert_eq!(parse_number(&head[1]), events.len(), "{tenant}: the head and the chain differ in length");
    assert_eq!(
        head[2].clone().map_or(Value::Null, Value::from),
        previous_hash,
        "{tenant}: the head is not the last event"
    );
    let changes =
        instance.query(&format!("SELECT version FROM change WHERE tenant_id = '{id}' ORDER BY version"));
    let versions: Vec<usize> = changes.iter().map(|row| parse_number(&row[0])).collect();
    // Old changes are deleted. The others have no gap and end at the head's version.
    let oldest = (parse_number(&head[0]) + 1).saturating_sub(versions.len());
    let expected: Vec<usize> = (oldest..=parse_number(&head[0])).collect();
    assert_eq!(versions, expected, "{tenant}: the versions have gaps");
    events
}

/// The stored events of the chain with this id, unverified.
pub fn load_events(instance: &TestInstance, id: &str) -> Vec<Value> {
    let blocks = load_blocks(instance, id);
    let lines = blocks.iter().flat_map(|block| block.text.lines());
    lines.map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// The hash of the last stored event of a chain.
pub fn hash_of_last_event(instance: &TestInstance, id: &str) -> String {
    let blocks = load_blocks(instance, id);
    sha256(blocks.last().and_then(|block| block.text.lines().last()).unwrap())
}

/// The events of one commit, a block.
struct Block {
    first_sequence: usize,
    event_count: usize,
    text: String,
}

/// The blocks of a chain in order, unpacked.
fn load_blocks(instance: &TestInstance, id: &str) -> Vec<Block> {
    let packed = match instance.backend {
        Backend::Sqlite => "hex(packed)",
        Backend::Postgres => "encode(packed, 'hex')",
    };
    let select = format!(
        "SELECT first_sequence, events, body, {packed} FROM audit_block WHERE tenant_id = '{id}' ORDER BY first_sequence"
    );
    let block = |row: &Vec<Option<String>>| {
        let cell = |index: usize| row[index].as_deref().unwrap_or_default();
        let text = match cell(3) {
            "" => cell(2).to_owned(),
            digits => {
                let byte_at = |at| u8::from_str_radix(&digits[at..at + 2], 16).unwrap();
                let packed: Vec<u8> = (0..digits.len()).step_by(2).map(byte_at).collect();
                String::from_utf8(lz4_flex::decompress_size_prepended(&packed).unwrap()).unwrap()
            }
        };
        Block { first_sequence: cell(0).parse().unwrap(), event_count: cell(1).parse().unwrap(), text }
    };
    instance.query(&select).iter().map(block).collect()
}

fn sha256(text: &str) -> String {
    let digest = ring::digest::digest(&ring::digest::SHA256, text.as_bytes());
    digest.as_ref().iter().map(|byte| format!("{byte:02x}")).collect()
}
