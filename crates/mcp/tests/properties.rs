//! Properties of the parser that hold for any bytes.
#![allow(missing_docs, clippy::unwrap_used, clippy::panic)]

use proptest::prelude::*;
use quad_mcp::envelope::{Incoming, Message, parse_incoming};
use serde_json::{Value, json};

/// Parts of messages, so that generated text is almost a message.
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
    fn any_bytes_parse_or_fail_with_known_code(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        if let Err(invalid) = parse_incoming(&bytes) {
            prop_assert!([-32700, -32600].contains(&invalid.rpc_error.code));
        }
    }

    #[test]
    fn near_messages_parse_or_fail_as_json(pieces in proptest::collection::vec(piece(), 0..12)) {
        let text = pieces.concat();
        match parse_incoming(text.as_bytes()) {
            Ok(_) => {
                prop_assert!(serde_json::from_str::<Value>(&text).is_ok(), "{text}");
            }
            Err(invalid) => {
                // The error response is always valid JSON.
                let reply: Value = serde_json::from_slice(&invalid.rpc_error.to_json(invalid.id.as_deref())).unwrap();
                prop_assert_eq!(&reply["jsonrpc"], "2.0");
            }
        }
    }

    #[test]
    fn id_and_method_round_trip(id in any::<i64>(), name in ".{0,40}", method in ".{0,40}") {
        for id in [json!(id), json!(name)] {
            let text = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": {"a": [1]}}).to_string();
            let Ok(Incoming::One(Message::Request { id: raw, method: parsed_method, params })) = parse_incoming(text.as_bytes()) else {
                panic!("not a request: {text}")
            };
            prop_assert_eq!(serde_json::from_str::<Value>(raw.get()).unwrap(), id);
            prop_assert_eq!(parsed_method.as_ref(), method.as_str());
            prop_assert_eq!(params.unwrap().get(), "{\"a\":[1]}");
        }
    }
}
