//! Content blocks of tool results and prompt messages, in the form of each revision.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use quad_core::Body;
use quad_core::tool::ContentBlock;
use serde_json::{Value, json};

use crate::Revision;

/// A block as JSON. A block type that the revision does not have becomes text: a client may reject the whole result
/// because of one unknown block.
pub(crate) fn block_json(block: &ContentBlock, revision: Revision) -> Value {
    match block {
        ContentBlock::Text(text) => json!({"type": "text", "text": text}),
        ContentBlock::Image { data, mime_type } => {
            json!({"type": "image", "data": data, "mimeType": mime_type})
        }
        ContentBlock::Audio { data, mime_type } if revision.has_audio() => {
            json!({"type": "audio", "data": data, "mimeType": mime_type})
        }
        ContentBlock::Audio { mime_type, .. } => {
            json!({"type": "text", "text": format!("(audio of type {mime_type}; this protocol revision has no audio)")})
        }
        ContentBlock::Link { uri, name, mime_type } if revision.has_structured_results() => {
            let mut link = json!({"type": "resource_link", "uri": uri, "name": name});
            if let (Some(mime_type), Some(link)) = (mime_type, link.as_object_mut()) {
                link.insert("mimeType".into(), mime_type.as_ref().into());
            }
            link
        }
        ContentBlock::Link { uri, name, .. } => json!({"type": "text", "text": format!("{name}: {uri}")}),
        ContentBlock::Embedded { uri, content } => {
            let mut resource = json!({"uri": uri, "mimeType": content.mime_type});
            if let Some(resource) = resource.as_object_mut() {
                match &content.body {
                    Body::Text(text) => resource.insert("text".into(), text.as_str().into()),
                    Body::Blob(bytes) => resource.insert("blob".into(), BASE64.encode(bytes).into()),
                };
            }
            json!({"type": "resource", "resource": resource})
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use quad_core::Content;

    #[test]
    fn blocks_serialize_per_revision() {
        let check = |content_block: ContentBlock, revision: Revision, expect: Value| {
            assert_eq!(block_json(&content_block, revision), expect)
        };
        let newest = Revision::V2026_07_28;
        let picture = ContentBlock::Image { data: "AA==".into(), mime_type: "image/png".into() };
        check(picture, newest, json!({"type": "image", "data": "AA==", "mimeType": "image/png"}));
        let sound = || ContentBlock::Audio { data: "AA==".into(), mime_type: "audio/wav".into() };
        check(sound(), newest, json!({"type": "audio", "data": "AA==", "mimeType": "audio/wav"}));
        assert_eq!(block_json(&sound(), Revision::V2024_11_05)["type"], "text");
        let link = || ContentBlock::Link { uri: "x://y".into(), name: "why".into(), mime_type: None };
        check(link(), newest, json!({"type": "resource_link", "uri": "x://y", "name": "why"}));
        check(link(), Revision::V2025_03_26, json!({"type": "text", "text": "why: x://y"}));
        let embedded =
            ContentBlock::Embedded { uri: "x://y".into(), content: Content::text("text/plain", "a") };
        let expect =
            json!({"type": "resource", "resource": {"uri": "x://y", "mimeType": "text/plain", "text": "a"}});
        check(embedded, newest, expect);
    }
}
