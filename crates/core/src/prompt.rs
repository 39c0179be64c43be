//! Prompts: prepared questions that a person picks.

use serde_json::{Value, json};

use crate::ScopeRequirement;
use crate::tool::ContentBlock;

/// A prompt as published.
#[derive(Debug)]
pub struct Prompt {
    /// The name.
    pub name: &'static str,
    /// A short title for people.
    pub title: &'static str,
    /// What it is for.
    pub description: &'static str,
    /// The arguments.
    pub arguments: &'static [PromptArgument],
    /// The scope that a caller needs.
    pub required_scope: ScopeRequirement,
}

/// An argument of a prompt.
#[derive(Clone, Copy, Debug)]
pub struct PromptArgument {
    /// The name.
    pub name: &'static str,
    /// What it means.
    pub description: &'static str,
    /// Whether it is required.
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

/// The role that a message is attributed to.
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
    /// The role.
    pub role: Role,
    /// The content.
    pub block: ContentBlock,
}
