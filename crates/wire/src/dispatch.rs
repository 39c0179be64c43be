//! From a method to its answer, the same for every transport.

use quad_core::tool::{NoProgress, Progress};
use quad_core::{Error, Principal};
use serde_json::value::RawValue;

use crate::params::Params;
use crate::reply::Reply;
use crate::tools::ToolCall;
use crate::{Endpoint, Fault, Method, Revision, Transport, completion, discover, prompts, resources, tools};

/// One request, ready to be answered.
pub(crate) struct Exchange<'a> {
    pub(crate) endpoint: &'a Endpoint,
    pub(crate) caller: &'a Principal,
    pub(crate) revision: Revision,
    pub(crate) transport: Transport,
    pub(crate) id: &'a RawValue,
    pub(crate) params: &'a Params<'a>,
}

impl Exchange<'_> {
    /// Answers a request that needs nothing but an answer. What opens or alters a connection (`initialize`,
    /// subscriptions) is answered by the transport's own module.
    pub(crate) async fn answer(&self, method: Method) -> Result<Vec<u8>, Fault> {
        self.answer_with(method, &NoProgress).await
    }

    /// The same, telling `progress` how far it is.
    pub(crate) async fn answer_with(
        &self,
        method: Method,
        progress: &dyn Progress,
    ) -> Result<Vec<u8>, Fault> {
        // Reads are by far the most: what else there is lies in boxes, so that a read does not carry its size.
        let answered = match method {
            Method::Ping | Method::Initialized => Ok(self.nothing()),
            Method::Discover => discover::answer(self),
            Method::ResourcesList => Box::pin(resources::list(self)).await,
            Method::TemplatesList => Box::pin(resources::templates(self)).await,
            Method::ResourcesRead => resources::read(self).await,
            Method::PromptsList => Box::pin(prompts::list(self)).await,
            Method::PromptsGet => Box::pin(prompts::get(self)).await,
            Method::ToolsList => Box::pin(tools::list(self)).await,
            Method::ToolsCall => return Box::pin(ToolCall::read(self)?.run(progress)).await,
            Method::Complete => Box::pin(completion::answer(self)).await,
            Method::Initialize | Method::Subscribe | Method::Unsubscribe | Method::Listen => {
                Err(Error::internal(format!("{} is answered by the transport", method.as_str())))
            }
        };
        answered.map_err(|error| self.fault(error))
    }

    /// An empty result.
    pub(crate) fn nothing(&self) -> Vec<u8> {
        Reply::to(self.id, 0).end(&self.endpoint.hub, self.revision, None)
    }

    /// The era's form of an error.
    pub(crate) fn fault(&self, error: Error) -> Fault {
        Fault::of(error, self.revision.era())
    }
}
