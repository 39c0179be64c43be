//! Conversation turns. A turn is stored as `agentic-memory` stores it, a prefix and then JSON, and found by its texts.

use serde_json::{Map, Value};

/// The prefix of the content of a conversation turn.
const PREFIX: &str = "[conversation_meta] ";

/// The searchable fields, in reading order.
const SEARCHABLE_FIELDS: [&str; 3] = ["topic", "user_message", "agent_response"];

/// The content of a node for this turn.
pub(crate) fn encode_turn(user: Option<&str>, agent: Option<&str>, topic: Option<&str>) -> String {
    let mut meta = Map::new();
    let mut put = |name: &str, value: Option<&str>| {
        if let Some(value) = value {
            meta.insert(name.to_owned(), value.into());
        }
    };
    put("agent_response", agent);
    put("channel", Some("conversation"));
    put("topic", topic);
    put("user_message", user);
    meta.insert("version".into(), 1.into());
    format!("{PREFIX}{}", Value::Object(meta))
}

/// The text to index and to read: the content, or the texts of a conversation turn. Indexing the JSON would join words
/// across escaped line breaks, and field names would match every turn.
pub fn searchable_text(content: &str) -> String {
    let Some(turn) = decode_turn(content) else { return content.to_owned() };
    let parts: Vec<&str> = SEARCHABLE_FIELDS.iter().filter_map(|name| turn.get(*name)?.as_str()).collect();
    parts.join("\n")
}

/// The same text, with the topic as a heading of the rest: what was said is about it.
pub(crate) fn text_below_topic(content: &str) -> String {
    match decode_turn(content).as_ref().and_then(|turn| turn.get("topic")?.as_str()) {
        Some(topic) => searchable_text(content).replacen(topic, &format!("{topic}:"), 1),
        None => searchable_text(content),
    }
}

fn decode_turn(content: &str) -> Option<Map<String, Value>> {
    content.strip_prefix(PREFIX).and_then(|meta| serde_json::from_str(meta).ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conversation_turn_is_searchable_by_its_text() {
        let turn = encode_turn(Some("first\nsecond \"quoted\""), None, Some("Topic"));
        assert!(turn.starts_with("[conversation_meta] {\"channel\":\"conversation\",\"topic\":\"Topic\","));
        assert_eq!(searchable_text(&turn), "Topic\nfirst\nsecond \"quoted\"");
    }

    #[test]
    fn other_content_is_searchable_as_is() {
        for text in [
            "",
            "plain",
            "[conversation_meta] not json",
            "[conversation_meta] []",
            "x [conversation_meta] {}",
        ] {
            assert_eq!(searchable_text(text), text);
        }
    }
}
