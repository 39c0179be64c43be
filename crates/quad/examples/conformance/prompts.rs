//! The prompts: without arguments, with arguments, with an embedded resource, with an image.

use quad_core::prompt::{Message, Prompt, PromptArgument, Role};
use quad_core::tool::ContentBlock;
use quad_core::{Content, Error, Result, ScopeRequirement};
use serde_json::{Map, Value};

use crate::media;

/// Completions of an argument; the suite asks with the prefix `test`.
pub const COMPLETION_VALUES: [&str; 2] = ["testValue1", "testValue2"];

/// The published prompts.
pub const PROMPTS: &[Prompt] = &[
    prompt("test_simple_prompt", "A prompt that is always the same.", &[]),
    prompt(
        "test_prompt_with_arguments",
        "A prompt that repeats its arguments.",
        &[required("arg1", "The first value to repeat"), required("arg2", "The second value to repeat")],
    ),
    prompt(
        "test_prompt_with_embedded_resource",
        "A prompt with an embedded resource.",
        &[required("resourceUri", "The address of the embedded resource")],
    ),
    prompt("test_prompt_with_image", "A prompt with an image.", &[]),
];

const fn prompt(
    name: &'static str,
    description: &'static str,
    arguments: &'static [PromptArgument],
) -> Prompt {
    Prompt { name, title: name, description, arguments, required_scope: ScopeRequirement::NONE }
}

const fn required(name: &'static str, description: &'static str) -> PromptArgument {
    PromptArgument { name, description, required: true }
}

/// The messages of a prompt.
pub fn prompt_messages(name: &str, arguments: &Map<String, Value>) -> Result<Vec<Message>> {
    let argument = |name: &str| arguments.get(name).and_then(Value::as_str).unwrap_or_default();
    let blocks = match name {
        "test_simple_prompt" => vec![text("This is a simple prompt for testing.")],
        "test_prompt_with_arguments" => {
            let (first, second) = (argument("arg1"), argument("arg2"));
            vec![text(format!("Prompt with arguments: arg1='{first}', arg2='{second}'"))]
        }
        "test_prompt_with_embedded_resource" => {
            let content = Content::text("text/plain", "Embedded resource content for testing.");
            let embedded = ContentBlock::Embedded { uri: argument("resourceUri").to_owned(), content };
            vec![embedded, text("Please process the embedded resource above.")]
        }
        "test_prompt_with_image" => vec![media::image_block(), text("Please analyze the image above.")],
        other => return Err(Error::internal(format!("{other} is not a fixture"))),
    };
    Ok(blocks.into_iter().map(|block| Message { role: Role::User, block }).collect())
}

fn text(text: impl Into<String>) -> ContentBlock {
    ContentBlock::Text(text.into())
}
