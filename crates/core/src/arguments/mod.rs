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

/// The arguments as the handler receives them.
pub(crate) fn prepare(
    tool: &Tool,
    validator: &jsonschema::Validator,
    mut arguments: Map<String, Value>,
) -> Result<Map<String, Value>> {
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
