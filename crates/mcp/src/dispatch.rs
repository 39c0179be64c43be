//! From a method to its answer, the same for every transport.

use quad_core::tool::{NoProgress, Progress};
use quad_core::{Error, Principal};
use serde_json::value::RawValue;

use crate::params::Params;
use crate::response_writer::ResponseWriter;
use crate::tools::OwnedToolCall;
use crate::{
    Endpoint, Method, Revision, RpcError, Transport, completion, discover, prompts, resources, tools,
};

/// One request, ready to be answered.
pub(crate) struct RequestContext<'a> {
    pub(crate) endpoint: &'a Endpoint,
    pub(crate) caller: &'a Principal,
    pub(crate) revision: Revision,
    pub(crate) transport: Transport,
    pub(crate) id: &'a RawValue,
    pub(crate) params: &'a Params<'a>,
}

impl RequestContext<'_> {
    /// Answers a request that needs nothing but an answer. What opens or alters a connection (`initialize`,
    /// subscriptions) is answered by the transport's own module.
    pub(crate) async fn dispatch(&self, method: Method) -> Result<Vec<u8>, RpcError> {
        self.dispatch_with_progress(method, &NoProgress).await
    }

    /// The same, telling `progress` how far it is.
    pub(crate) async fn dispatch_with_progress(
        &self,
        method: Method,
        progress: &dyn Progress,
    ) -> Result<Vec<u8>, RpcError> {
        // Reads are by far the most: what else there is lies in boxes, so that a read does not carry its size.
        let result = match method {
            Method::Ping | Method::Initialized => Ok(self.empty_result()),
            Method::Discover => discover::handle(self),
            Method::ResourcesList => Box::pin(resources::list(self)).await,
            Method::TemplatesList => Box::pin(resources::templates(self)).await,
            Method::ResourcesRead => resources::read(self).await,
            Method::PromptsList => Box::pin(prompts::list(self)).await,
            Method::PromptsGet => Box::pin(prompts::get(self)).await,
            Method::ToolsList => Box::pin(tools::list(self)).await,
            Method::ToolsCall => return Box::pin(OwnedToolCall::from_request(self)?.run(progress)).await,
            Method::Complete => Box::pin(completion::handle(self)).await,
            Method::Initialize | Method::Subscribe | Method::Unsubscribe | Method::Listen => {
                Err(Error::internal(format!("{} is answered by the transport", method.as_str())))
            }
        };
        result.map_err(|error| self.rpc_error(error))
    }

    /// An empty result.
    pub(crate) fn empty_result(&self) -> Vec<u8> {
        ResponseWriter::new(self.id, 0).finish(&self.endpoint.server, self.revision, None)
    }

    /// The era's form of an error.
    pub(crate) fn rpc_error(&self, error: Error) -> RpcError {
        RpcError::from_error(error, self.revision.era())
    }
}
