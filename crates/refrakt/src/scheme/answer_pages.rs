//! Pages of a long answer about the plan: of its lists, each page holds the items that fit into
//! [`PLAN_PAGE_BYTES_MAX`], and all other fields.

use quad_core::{Result, cursor};
use serde_json::{Map, Value};

use crate::limits::PLAN_PAGE_BYTES_MAX;

/// One page of an answer. An answer that fits into one page is returned as it is, without `nextCursor`.
///
/// `list` is the name of the answer with all that it depends on, so that a cursor of another state of the plan is
/// refused.
pub(super) fn page_of(answer: Value, list: &str, after: Option<&str>) -> Result<Value> {
    page_within(answer, list, after, PLAN_PAGE_BYTES_MAX)
}

fn page_within(answer: Value, list: &str, after: Option<&str>, bytes_max: usize) -> Result<Value> {
    let start = match after {
        Some(after) => {
            let key = cursor::decode(list, after)?;
            key.parse::<usize>().unwrap_or(0)
        }
        None => 0,
    };
    let fields = match answer {
        Value::Object(fields) if start > 0 || json_len(&fields) > bytes_max => fields,
        answer => return Ok(answer),
    };
    let mut page = Map::new();
    let (mut position, mut bytes, mut is_full) = (0, 0, false);
    for (name, value) in fields {
        let Value::Array(items) = value else {
            bytes += json_len(&value);
            page.insert(name, value);
            continue;
        };
        let mut kept = Vec::new();
        for item in items {
            if position >= start && !is_full {
                let item_bytes = json_len(&item) + ",".len();
                // A page has at least one item, so that every item is on some page.
                is_full = bytes + item_bytes > bytes_max && position > start;
                if !is_full {
                    bytes += item_bytes;
                    kept.push(item);
                    position += 1;
                }
            } else if !is_full {
                position += 1;
            }
        }
        page.insert(name, Value::Array(kept));
    }
    if is_full {
        page.insert("nextCursor".into(), cursor::encode(list, &position.to_string()).into());
    }
    Ok(Value::Object(page))
}

/// The length of a value as JSON.
fn json_len(value: &impl serde::Serialize) -> usize {
    serde_json::to_string(value).map_or(0, |text| text.len())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn pages_hold_every_item_once_and_all_other_fields() {
        let answer = json!({"counts": {"errors": 3}, "a": ["one", "two", "three"], "b": ["four"], "c": []});
        assert_eq!(page_within(answer.clone(), "x", None, 1_000).unwrap(), answer);
        let (mut cursor, mut seen, mut pages) = (None::<String>, Vec::new(), 0);
        loop {
            let page = page_within(answer.clone(), "x", cursor.as_deref(), 30).unwrap();
            assert_eq!(page["counts"], answer["counts"]);
            for list in ["a", "b", "c"] {
                seen.extend(page[list].as_array().unwrap().iter().cloned());
            }
            pages += 1;
            match page["nextCursor"].as_str() {
                Some(next) => cursor = Some(next.to_owned()),
                None => break,
            }
        }
        assert_eq!(seen, ["one", "two", "three", "four"]);
        assert_eq!(pages, 2);
        let other = page_within(answer, "y", cursor.as_deref(), 30).unwrap_err();
        assert_eq!(other.code(), "INVALID_CURSOR", "the plan has changed");
    }
}
