//! `prompts/get`.

use std::sync::Arc;

use serde_json::{Map, Value};

use super::audit::Computed;
use super::{MountedScheme, Resolver, View, require_scope};
use crate::audit_log::ReadSets;
use crate::event::truncate_for_audit;
use crate::prompt::{Message, Prompt};
use crate::scheme::RequestTarget;
use crate::{Error, EventDraft, Kind, Principal, Result, closest};

impl Resolver {
    /// The messages of a prompt.
    pub async fn get_prompt(
        &self,
        caller: &Principal,
        view: View,
        name: &str,
        arguments: &Map<String, Value>,
    ) -> Result<(&'static Prompt, Vec<Message>)> {
        let event = EventDraft::call(caller, "prompts/get").input("prompt", truncate_for_audit(name));
        let result = async {
            let (mounted, prompt) = self.find_prompt(view, name)?;
            require_scope(prompt.required_scope, caller)?;
            check_required_arguments(prompt, arguments)?;
            let compute = |_is_first: bool| async move {
                let (messages, read_set) = mounted.scheme.get_prompt(caller, prompt, arguments).await?;
                let read_sets = ReadSets::from_iter([Arc::new(read_set)]);
                Ok(Computed::read((prompt, messages), read_sets))
            };
            self.commit_read(caller, compute, |_| event.clone().succeeded()).await
        };
        match result.await {
            Ok((answer, _)) => Ok(answer),
            Err(error) => {
                Err(self.map_and_record(caller, view, RequestTarget::Prompt(name), event, error).await)
            }
        }
    }

    pub(super) fn find_prompt(&self, view: View, name: &str) -> Result<(&MountedScheme, &'static Prompt)> {
        let all = || {
            self.schemes_in_view(view)
                .iter()
                .flat_map(|mounted| mounted.scheme.prompts().iter().map(move |prompt| (mounted, prompt)))
        };
        all().find(|(_, prompt)| prompt.name == name).ok_or_else(|| {
            let unknown = Error::new(
                Kind::BadInput,
                "UNKNOWN_PROMPT",
                format!("Unknown prompt: {}", truncate_for_audit(name)),
            );
            match closest(name, all().map(|(_, prompt)| prompt.name)) {
                Some(suggestion) => unknown.hint(format!("Use {suggestion}, the nearest name")),
                None => unknown.hint("List the prompts with prompts/list"),
            }
        })
    }
}

fn check_required_arguments(prompt: &Prompt, arguments: &Map<String, Value>) -> Result<()> {
    for argument in prompt.arguments.iter().filter(|argument| argument.required) {
        if !arguments.get(argument.name).is_some_and(Value::is_string) {
            return Err(Error::bad_input(format!("The prompt needs the argument {}", argument.name))
                .hint(format!("Send {}: {}", argument.name, argument.description))
                .with_detail("missing", argument.name));
        }
    }
    Ok(())
}
