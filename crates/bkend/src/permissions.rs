//! Permissions on the rows of a table: stored as given and shown, not enforced. The scopes of the token decide what a
//! caller may do.

use quad_core::Result;
use serde_json::{Map, Value};

use crate::errors::{self, invalid};

const GROUPS: [&str; 4] = ["admin", "user", "guest", "self"];
const OPERATIONS: [&str; 5] = ["create", "read", "update", "delete", "list"];

/// Checks permissions of the form `{group: {operation: bool}}`.
pub(crate) fn check(permissions: &Value) -> Result<&Map<String, Value>> {
    const HINT: &str = "Send an object such as {\"user\":{\"read\":true}}";
    let groups = permissions.as_object().ok_or_else(|| invalid("permissions", "is not an object", HINT))?;
    for (group, flags) in groups {
        if !GROUPS.contains(&group.as_str()) {
            return Err(errors::unknown("permission group named", group, GROUPS));
        }
        let path = format!("permissions.{group}");
        let flags = flags.as_object().ok_or_else(|| invalid(&path, "is not an object", HINT))?;
        for (operation, flag) in flags {
            if !OPERATIONS.contains(&operation.as_str()) {
                return Err(errors::unknown("permission named", operation, OPERATIONS));
            }
            if !flag.is_boolean() {
                let path = format!("{path}.{operation}");
                return Err(invalid(&path, "is neither true nor false", "Send true or false"));
            }
        }
    }
    Ok(groups)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn unknown_groups_and_operations_are_refused_with_the_known_ones() {
        assert!(check(&json!({"user": {"read": true}, "guest": {}})).is_ok());
        let hint = |permissions: Value| check(&permissions).unwrap_err().hint_text().unwrap().to_owned();
        assert!(hint(json!({"usr": {}})).starts_with("Use one of user, "));
        assert!(hint(json!({"user": {"raed": true}})).starts_with("Use one of read, "));
        assert_eq!(hint(json!({"user": {"read": 1}})), "Send true or false");
        assert_eq!(hint(json!([])), "Send an object such as {\"user\":{\"read\":true}}");
    }
}
