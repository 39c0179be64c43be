//! From a method to its reply, the same for every transport.

use quad_core::{Error, Principal};
use serde_json::value::RawValue;

use crate::http_post::{Failure, StreamFailure};
use crate::params::Params;
use crate::response_writer::ResponseWriter;
use crate::{
    Endpoint, MessageStream, Method, Revision, RpcError, Transport, completion, discover, listen, prompts,
    resources, tool_call, tools,
};

/// One checked request, with everything that its method needs.
pub(crate) struct RequestContext<'a> {
    pub(crate) endpoint: &'a Endpoint,
    pub(crate) caller: &'a Principal,
    pub(crate) revision: Revision,
    pub(crate) transport: Transport,
    pub(crate) id: &'a RawValue,
    pub(crate) params: &'a Params<'a>,
}

/// The reply to a request.
pub(crate) enum Reply {
    /// One response.
    Message(Vec<u8>),
    /// The response of a tool call that failed.
    FailedCall(Vec<u8>, Failure),
    /// Notifications, then the response. When it has ended, the cell holds how it failed, if it did.
    Stream(MessageStream, StreamFailure),
}

impl RequestContext<'_> {
    /// Answers a request. The methods that change the state of a connection (`initialize`, legacy subscriptions) are
    /// answered by the transport's own module and never get here.
    pub(crate) async fn dispatch(&self, method: Method) -> Result<Reply, RpcError> {
        // Nearly all requests are reads. The futures of the other methods are boxed, so that the future of a read does
        // not have their size.
        let result = match method {
            Method::ResourcesRead => resources::read(self).await,
            Method::ToolsCall => return Box::pin(tool_call::handle(self)).await,
            Method::Listen => {
                let messages = Box::pin(listen::open(self)).await?;
                return Ok(Reply::Stream(messages, StreamFailure::default()));
            }
            Method::Ping | Method::Initialized => Ok(self.empty_result()),
            Method::Discover => discover::handle(self),
            Method::ResourcesList => Box::pin(resources::list(self)).await,
            Method::TemplatesList => Box::pin(resources::templates(self)).await,
            Method::PromptsList => Box::pin(prompts::list(self)).await,
            Method::PromptsGet => Box::pin(prompts::get(self)).await,
            Method::ToolsList => Box::pin(tools::list(self)).await,
            Method::Complete => Box::pin(completion::handle(self)).await,
            Method::Initialize | Method::Subscribe | Method::Unsubscribe => {
                Err(Error::internal(format!("{} must be answered by the transport", method.as_str())))
            }
        };
        result.map(Reply::Message).map_err(|error| self.rpc_error(error))
    }

    /// A response with an empty result.
    pub(crate) fn empty_result(&self) -> Vec<u8> {
        ResponseWriter::new(self.id, 0).finish(&self.endpoint.server, self.revision, None)
    }

    /// The RPC error with the number that the request's era has for it.
    pub(crate) fn rpc_error(&self, error: Error) -> RpcError {
        let error = self.endpoint.tool_names.rewrite_error(self.endpoint.resolver(), error);
        RpcError::from_error(error, self.revision.era())
    }
}
