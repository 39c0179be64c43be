//! The fields that a protocol revision adds to messages: checked and removed here, so that the rest can be compared.

use serde_json::{Map, Value, json};

use crate::matrix::Revision;

const SERVER_INFO: &str = "io.modelcontextprotocol/serverInfo";
pub const RECEIPT: &str = "dev.quadrivium/receipt";

/// The methods whose results have a cache hint.
const CACHEABLE: [&str; 6] = [
    "server/discover",
    "resources/list",
    "resources/templates/list",
    "resources/read",
    "prompts/list",
    "tools/list",
];

/// How long a client may keep a result, and for whom.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CacheHint {
    pub ttl_ms: i64,
    pub scope: String,
}

/// The parameters of a request with the fields of its revision.
pub fn add_era_fields(revision: Revision, params: Option<Value>) -> Option<Value> {
    if !revision.is_modern() {
        return params;
    }
    let mut params = params.unwrap_or_else(|| json!({}));
    let mut meta = json!({
        "io.modelcontextprotocol/protocolVersion": revision.0,
        "io.modelcontextprotocol/clientCapabilities": {},
        "io.modelcontextprotocol/clientInfo": {"name": "transcripts", "version": "1"},
    });
    // Parameters that are not an object are sent unchanged, to test their refusal.
    if let Some(object) = params.as_object_mut() {
        if let Some(Value::Object(request_meta)) = object.remove("_meta") {
            meta.as_object_mut().into_iter().for_each(|meta| meta.extend(request_meta.clone()));
        }
        object.insert("_meta".to_owned(), meta);
    }
    Some(params)
}

/// Checks and removes the fields that the revision adds to a result. Receipts of a server with `--audit async` have no
/// sequence.
pub fn strip_era_fields(
    revision: Revision,
    method: &str,
    has_async_audit: bool,
    result: &mut Value,
) -> Result<Option<CacheHint>, String> {
    let object = result.as_object_mut().ok_or("the result is no object")?;
    let mut meta = match object.remove("_meta") {
        None => Map::new(),
        Some(Value::Object(meta)) => meta,
        Some(other) => return Err(format!("_meta is no object: {other}")),
    };
    let receipt = meta.remove(RECEIPT);
    if method == "resources/read" {
        check_receipt(receipt.as_ref(), has_async_audit)?;
    }
    let hint = if revision.is_modern() {
        strip_modern_fields(method, object, &mut meta)?
    } else {
        for name in ["resultType", "ttlMs", "cacheScope"] {
            if object.contains_key(name) {
                return Err(format!("a legacy result has {name}"));
            }
        }
        None
    };
    if !meta.is_empty() {
        object.insert("_meta".to_owned(), Value::Object(meta));
    }
    Ok(hint)
}

fn strip_modern_fields(
    method: &str,
    result: &mut Map<String, Value>,
    meta: &mut Map<String, Value>,
) -> Result<Option<CacheHint>, String> {
    if result.remove("resultType") != Some("complete".into()) {
        return Err("a modern result lacks resultType \"complete\"".to_owned());
    }
    let info = meta.remove(SERVER_INFO).ok_or("a modern result lacks serverInfo in _meta")?;
    if !(info["name"].is_string() && info["version"].is_string()) {
        return Err(format!("serverInfo has no name or version: {info}"));
    }
    let ttl_ms = result.remove("ttlMs").map(|ttl| ttl.as_i64().filter(|ttl| *ttl >= 0).ok_or(ttl));
    let scope = result.remove("cacheScope");
    match (CACHEABLE.contains(&method), ttl_ms, scope) {
        (false, None, None) => Ok(None),
        (false, ..) => Err(format!("a result of {method} says how long it keeps")),
        (true, Some(Ok(ttl_ms)), Some(Value::String(scope))) if scope == "public" || scope == "private" => {
            Ok(Some(CacheHint { ttl_ms, scope }))
        }
        (true, ttl_ms, scope) => {
            Err(format!("a result of {method} has ttlMs {ttl_ms:?}, cacheScope {scope:?}"))
        }
    }
}

fn check_receipt(receipt: Option<&Value>, has_async_audit: bool) -> Result<(), String> {
    let receipt = receipt.ok_or("a read has no receipt in _meta")?;
    let is_hash = receipt["contentHash"].as_str().is_some_and(|hash| hash.len() == 64);
    let has_valid_sequence =
        if has_async_audit { receipt.get("sequence").is_none() } else { receipt["sequence"].is_i64() };
    let is_complete = is_hash && has_valid_sequence && receipt["event"].is_string();
    if is_complete { Ok(()) } else { Err(format!("the receipt is not whole: {receipt}")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn modern_result() -> Value {
        json!({
            "tools": [],
            "resultType": "complete",
            "ttlMs": 0,
            "cacheScope": "private",
            "_meta": {SERVER_INFO: {"name": "quadrivium", "version": "1"}},
        })
    }

    #[test]
    fn modern_fields_are_required_and_stripped() {
        let mut result = modern_result();
        let hint = strip_era_fields(Revision::MODERN, "tools/list", false, &mut result).unwrap();
        assert_eq!(hint, Some(CacheHint { ttl_ms: 0, scope: "private".to_owned() }));
        assert_eq!(result, json!({"tools": []}));
        for name in ["resultType", "ttlMs", "cacheScope", "_meta"] {
            let mut result = modern_result();
            result.as_object_mut().unwrap().remove(name);
            assert!(strip_era_fields(Revision::MODERN, "tools/list", false, &mut result).is_err(), "{name}");
        }
        assert!(strip_era_fields(Revision::MODERN, "tools/call", false, &mut modern_result()).is_err());
    }

    #[test]
    fn legacy_result_rejects_modern_fields() {
        assert!(strip_era_fields(Revision::LEGACY, "tools/list", false, &mut modern_result()).is_err());
        assert_eq!(
            strip_era_fields(Revision::LEGACY, "tools/list", false, &mut json!({"tools": []})),
            Ok(None)
        );
        assert!(
            strip_era_fields(Revision::LEGACY, "resources/read", false, &mut json!({"contents": []}))
                .is_err()
        );
    }
}
