//! Prompts: ready-made questions that a person picks.

use serde_json::{Value, json};

use crate::ScopeRequirement;
use crate::tool::ContentBlock;

/// A prompt as published.
#[derive(Debug)]
pub struct Prompt {
    /// Its name.
    pub name: &'static str,
    /// A short name for people.
    pub title: &'static str,
    /// What it is for.
    pub description: &'static str,
    /// What it can be told.
    pub arguments: &'static [PromptArgument],
    /// What the caller must hold.
    pub required_scope: ScopeRequirement,
}

/// One thing that a prompt can be told.
#[derive(Clone, Copy, Debug)]
pub struct PromptArgument {
    /// Its name.
    pub name: &'static str,
    /// What it is.
    pub description: &'static str,
    /// Whether the prompt is nothing without it.
    pub required: bool,
}

impl Prompt {
    /// The entry in `prompts/list`.
    pub fn to_json(&self) -> Value {
        let arguments: Vec<Value> = self
            .arguments
            .iter()
            .map(|argument| {
                json!({"name": argument.name, "description": argument.description, "required": argument.required})
            })
            .collect();
        json!({"name": self.name, "title": self.title, "description": self.description, "arguments": arguments})
    }
}

/// Who says a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// The person.
    User,
    /// The model.
    Assistant,
}

/// One message of a prompt.
#[derive(Clone, Debug)]
pub struct Message {
    /// Who says it.
    pub role: Role,
    /// What is said.
    pub block: ContentBlock,
}
