//! What must hold for any bytes that a client may send.
#![allow(missing_docs, clippy::unwrap_used, clippy::panic)]

use proptest::prelude::*;
use quad_wire::envelope::{Incoming, Message, read};
use serde_json::{Value, json};

/// Pieces that messages are made of, so that generated text comes close to being one.
fn piece() -> impl Strategy<Value = String> {
    prop_oneof![
        Just("{".to_owned()),
        Just("}".to_owned()),
        Just("[".to_owned()),
        Just("]".to_owned()),
        Just(",".to_owned()),
        Just(":".to_owned()),
        Just("\"jsonrpc\":\"2.0\"".to_owned()),
        Just("\"id\":1".to_owned()),
        Just("\"id\":\"\\u00\"".to_owned()),
        Just("\"method\":\"ping\"".to_owned()),
        Just("\"params\":{}".to_owned()),
        Just("null".to_owned()),
        "[ -~]{0,4}",
    ]
}

proptest! {
    #[test]
    fn any_bytes_are_a_message_or_a_refusal(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        if let Err(unreadable) = read(&bytes) {
            prop_assert!([-32700, -32600].contains(&unreadable.fault.code));
        }
    }

    #[test]
    fn near_messages_are_a_message_or_a_refusal(pieces in proptest::collection::vec(piece(), 0..12)) {
        let text = pieces.concat();
        match read(text.as_bytes()) {
            Ok(_) => {
                prop_assert!(serde_json::from_str::<Value>(&text).is_ok(), "{text}");
            }
            Err(unreadable) => {
                // The refusal itself is always a document.
                let reply: Value = serde_json::from_slice(&unreadable.fault.message(unreadable.id.as_deref())).unwrap();
                prop_assert_eq!(&reply["jsonrpc"], "2.0");
            }
        }
    }

    #[test]
    fn any_id_and_method_come_out_as_they_went_in(id in any::<i64>(), name in ".{0,40}", method in ".{0,40}") {
        for id in [json!(id), json!(name)] {
            let text = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": {"a": [1]}}).to_string();
            let Ok(Incoming::One(Message::Request { id: raw, method: found, params })) = read(text.as_bytes()) else {
                panic!("not a request: {text}")
            };
            prop_assert_eq!(serde_json::from_str::<Value>(raw.get()).unwrap(), id);
            prop_assert_eq!(found.as_ref(), method.as_str());
            prop_assert_eq!(params.unwrap().get(), "{\"a\":[1]}");
        }
    }
}
