//! `completion/complete`: values of a template's variable or a prompt's argument.

use std::sync::Arc;

use super::audit::Computed;
use super::{MountedScheme, Resolver, View, require_scope};
use crate::audit_log::ReadSets;
use crate::event::truncate_for_audit;
use crate::scheme::{Completion, CompletionQuery, CompletionTarget};
use crate::{Error, EventDraft, Principal, Result, limits};

/// The values that complete a variable.
#[derive(Debug)]
pub struct CompletionPage {
    /// At most [`limits::COMPLETION_VALUES`].
    pub values: Vec<String>,
    /// How many there are in all.
    pub total: usize,
}

impl Resolver {
    /// Completes a variable of a template or an argument of a prompt.
    pub async fn complete(
        &self,
        caller: &Principal,
        view: View,
        query: CompletionQuery<'_>,
    ) -> Result<CompletionPage> {
        let event = EventDraft::call(caller, "completion/complete")
            .input("argument", truncate_for_audit(query.variable));
        self.complete_with_event(caller, view, query, event).await
    }

    pub(crate) async fn complete_with_event(
        &self,
        caller: &Principal,
        view: View,
        query: CompletionQuery<'_>,
        event: EventDraft,
    ) -> Result<CompletionPage> {
        let result = async {
            let mounted = self.completion_scheme(caller, view, query)?;
            let compute = |_is_first: bool| async move {
                let Completion { values, total, read_set } = mounted.scheme.complete(caller, query).await?;
                let read_sets = ReadSets::from_iter([Arc::new(read_set)]);
                Ok(Computed::read(CompletionPage { total: total.max(values.len()), values }, read_sets))
            };
            let make_event =
                |page: &CompletionPage| event.clone().succeeded().output("count", page.values.len());
            self.commit_read(caller, compute, make_event).await
        };
        match result.await {
            Ok((mut page, _)) => {
                page.values.truncate(limits::COMPLETION_VALUES);
                Ok(page)
            }
            Err(error) => Err(self.record_refusal(caller, event, error).await),
        }
    }

    /// The scheme that answers a completion, after the checks that need no data.
    fn completion_scheme(
        &self,
        caller: &Principal,
        view: View,
        query: CompletionQuery<'_>,
    ) -> Result<&MountedScheme> {
        match query.target {
            CompletionTarget::Template(template) => {
                let (_, matched, route_ref) = self
                    .router
                    .find_template(template)
                    .filter(|(_, _, route_ref)| self.view_includes(view, route_ref.scheme_index))
                    .ok_or_else(|| {
                        Error::bad_input("Unknown template")
                            .hint("List the templates with resources/templates/list")
                    })?;
                let mounted = &self.schemes[route_ref.scheme_index];
                require_scope(mounted.routes[route_ref.route_index].required_scope, caller)?;
                if !matched.variables().any(|variable| variable == query.variable) {
                    let names = matched.variables().collect::<Vec<_>>().join(", ");
                    return Err(Error::bad_input("The template does not have this variable")
                        .hint(format!("Use one of its variables: {names}")));
                }
                Ok(mounted)
            }
            CompletionTarget::Prompt(name) => {
                let (mounted, prompt) = self.find_prompt(view, name)?;
                require_scope(prompt.required_scope, caller)?;
                if !prompt.arguments.iter().any(|argument| argument.name == query.variable) {
                    return Err(Error::bad_input("The prompt does not have this argument"));
                }
                Ok(mounted)
            }
        }
    }
}
