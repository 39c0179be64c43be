//! Arguments that a tool accepts and does not publish: the forms that existing clients send.

use serde_json::{Map, Value};

use crate::{Error, Result, Tool};

/// Moves the members of the wrapper argument beside the others: `{"body": {"name": "x"}}` becomes `{"name": "x"}`.
pub(super) fn unwrap(tool: &Tool, arguments: &mut Map<String, Value>) -> Result<()> {
    let Some(wrapper) = tool.wrapper_argument else { return Ok(()) };
    let Some(wrapped) = arguments.get(wrapper).and_then(as_members) else { return Ok(()) };
    arguments.remove(wrapper);
    for (name, value) in wrapped {
        match arguments.get(&name) {
            Some(beside) if *beside != value => {
                return Err(Error::bad_input(format!(
                    "{name} has two values, one in {wrapper} and one beside it"
                ))
                .hint(format!("Send {name} once, without {wrapper}")));
            }
            _ => {
                arguments.insert(name, value);
            }
        }
    }
    Ok(())
}

/// The members of an object, of an object as JSON text, or of null, which has none.
fn as_members(value: &Value) -> Option<Map<String, Value>> {
    match value {
        Value::Object(members) => Some(members.clone()),
        Value::String(text) => serde_json::from_str(text).ok(),
        Value::Null => Some(Map::new()),
        _ => None,
    }
}

/// Takes the unpublished arguments out, so that the published schema is not applied to them.
pub(super) fn take_unpublished(tool: &Tool, arguments: &mut Map<String, Value>) -> Map<String, Value> {
    tool.unpublished_arguments.iter().filter_map(|name| arguments.remove_entry(*name)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tool::ToolEffect;
    use crate::{ScopeRequirement, tool_schema};
    use serde_json::json;

    fn prepared(arguments: Value) -> std::result::Result<Value, String> {
        let schema = tool_schema::object(
            &[("id", tool_schema::string("Id")), ("name", tool_schema::string("Name"))],
            &["name"],
        );
        let tool = Tool::new("t", "T", "T.", schema, ScopeRequirement::NONE, ToolEffect::Creates)
            .aliases(&[("label", "name")])
            .wrapper("body")
            .unpublished(&["region"]);
        let validator = jsonschema::validator_for(&tool.input_schema).unwrap();
        let Value::Object(arguments) = arguments else { panic!("{arguments}") };
        let prepared = super::super::prepare(&tool, &validator, arguments);
        prepared.map(Value::Object).map_err(|error| error.message().to_owned())
    }

    #[test]
    fn members_of_the_wrapper_are_arguments() {
        let expect = Ok(json!({"id": "1", "name": "n"}));
        assert_eq!(prepared(json!({"id": "1", "body": {"label": "n"}})), expect);
        assert_eq!(prepared(json!({"id": "1", "body": "{\"name\": \"n\"}"})), expect);
        assert_eq!(prepared(json!({"id": "1", "name": "n", "body": {"id": "1"}})), expect);
        assert_eq!(prepared(json!({"id": "1", "name": "n", "body": null})), expect);
        assert!(prepared(json!({"id": "1", "body": {}})).unwrap_err().contains("name"));
        assert!(prepared(json!({"name": "n", "body": {"nmae": "m"}})).unwrap_err().contains("nmae"));
        assert!(
            prepared(json!({"id": "1", "body": {"id": "2", "name": "n"}}))
                .unwrap_err()
                .contains("two values")
        );
    }

    #[test]
    fn unpublished_argument_is_passed_on_as_it_is() {
        assert_eq!(prepared(json!({"name": "n", "region": 5})), Ok(json!({"name": "n", "region": 5})));
        assert_eq!(
            prepared(json!({"body": {"name": "n", "region": [5]}})),
            Ok(json!({"name": "n", "region": [5]}))
        );
    }
}
