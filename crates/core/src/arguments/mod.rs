//! The arguments of a tool call: normalised to the published schema, then checked against it.
//!
//! Models send arguments under other names, numbers as text and lists as JSON text. What has one meaning is accepted;
//! what has none or several is an error that says what to send. A handler receives arguments that match its schema.

mod earlier_forms;
mod names;
mod normalize;
mod violation;

use serde_json::{Map, Value};

use crate::{Error, Result, Tool};

/// The arguments of a call.
type Arguments = Map<String, Value>;

/// The arguments as the handler receives them.
pub(crate) fn prepare(
    tool: &Tool,
    validator: &jsonschema::Validator,
    mut arguments: Arguments,
) -> Result<Arguments> {
    earlier_forms::unwrap(tool, &mut arguments)?;
    let unpublished = earlier_forms::take_unpublished(tool, &mut arguments);
    normalize::normalize(tool, &mut arguments);
    let arguments = Value::Object(arguments);
    violation::check(tool, validator, &arguments)?;
    match arguments {
        Value::Object(mut arguments) => {
            arguments.extend(unpublished);
            Ok(arguments)
        }
        _ => Err(Error::internal("tool arguments are an object")),
    }
}

/// Returns a function that prepares one entry of a list whose entries take the same arguments as the tool. The schema of
/// such a tool describes the arguments once: a model reads it with every request.
pub fn entry_preparer(tool: &Tool) -> Result<impl Fn(Arguments) -> Result<Arguments>> {
    let validator =
        jsonschema::validator_for(&tool.input_schema).map_err(|error| Error::internal(error.to_string()))?;
    Ok(move |entry| prepare(tool, &validator, entry))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tool::ToolEffect;
    use crate::{ScopeRequirement, tool_schema};
    use serde_json::json;

    #[test]
    fn entries_are_prepared_like_the_arguments_of_the_tool() {
        let schema = tool_schema::object(
            &[("id", tool_schema::string("Id")), ("done", json!({"type": "boolean"}))],
            &[],
        );
        let tool = Tool::new("t", "T", "T.", schema, ScopeRequirement::NONE, ToolEffect::Updates)
            .aliases(&[("ref", "id")]);
        let prepare = entry_preparer(&tool).unwrap();
        let prepared = |entry: Value| prepare(entry.as_object().cloned().unwrap()).map(Value::Object);
        assert_eq!(prepared(json!({"ref": 7, "done": "true"})).unwrap(), json!({"id": "7", "done": true}));
        assert_eq!(prepared(json!({"dnoe": true})).unwrap_err().hint_text(), Some("Did you mean done?"));
    }
}
