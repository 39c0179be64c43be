//! `subscriptions/listen`: the notification stream of the modern era.

use std::sync::Arc;

use futures_util::stream;
use quad_core::limits::SUBSCRIPTION_URIS;
use quad_core::{Error, EventDraft, Kind, Result};
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use crate::dispatch::RequestContext;
use crate::response_writer::ResponseWriter;
use crate::server_state::ServerState;
use crate::stream_limit::StreamPermit;
use crate::subscription::{ChangeNotification, SubscriptionStream};
use crate::{MessageStream, Revision, RpcError};

const SUBSCRIPTION_ID: &str = "io.modelcontextprotocol/subscriptionId";

/// The notifications that a client asks for. The lists of tools and prompts never change while the server runs, so
/// their filters are not accepted.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Filter {
    #[serde(default)]
    resources_list_changed: bool,
    resource_subscriptions: Option<Vec<String>>,
}

/// Opens the stream: the acknowledgement, then notifications, at the end the result.
pub(crate) async fn open(context: &RequestContext<'_>) -> Result<MessageStream, RpcError> {
    match subscribe_all(context).await {
        Ok(stream) => Ok(stream),
        Err(error) => Err(context.rpc_error(error)),
    }
}

async fn subscribe_all(context: &RequestContext<'_>) -> Result<MessageStream> {
    let filter = parse_filter(context.params.notifications)?;
    let endpoint = context.endpoint;
    let permit = endpoint.server.streams.acquire(context.caller)?;
    let mut subscriptions = SubscriptionStream::open(endpoint, context.caller).await?;
    let mut accepted = Map::new();
    if filter.resources_list_changed {
        subscriptions.subscribe_list();
        accepted.insert("resourcesListChanged".into(), true.into());
    }
    let mut rejected = 0_usize;
    if let Some(requested_uris) = filter.resource_subscriptions {
        for uri in &requested_uris {
            match endpoint.resolver().read_set_of(context.caller, endpoint.view, uri).await {
                Ok(read_set) => subscriptions.subscribe(uri.clone(), read_set),
                Err(error) if error.may_pass() => return Err(error),
                // The acknowledgement omits the URIs that the caller cannot read now, for whatever reason.
                Err(_) => rejected += 1,
            }
        }
        let uris: Vec<Value> = subscriptions.uris().map(Value::from).collect();
        accepted.insert("resourceSubscriptions".into(), uris.into());
    }
    let event = EventDraft::call(context.caller, "subscriptions/listen")
        .input("uris", subscriptions.uris().count())
        .input("left_out", rejected);
    let receipt = endpoint.resolver().record_success(context.caller, event).await?;
    subscriptions.mark_verified_at(receipt.version);
    let listen_stream = ListenStream {
        server: endpoint.server.clone(),
        id: context.id.to_owned(),
        revision: context.revision,
        subscriptions,
        state: ListenState::Opening(accepted),
        _permit: permit,
    };
    Ok(Box::pin(stream::unfold(listen_stream, ListenStream::next)))
}

fn parse_filter(raw: Option<&RawValue>) -> Result<Filter> {
    let Some(raw) = raw else {
        return Err(Error::bad_input("params.notifications is missing").with_detail("field", "notifications"));
    };
    let filter: Filter = serde_json::from_str(raw.get()).map_err(|error| {
        Error::bad_input(format!("params.notifications: {error}")).with_detail("field", "notifications")
    })?;
    if filter.resource_subscriptions.as_ref().is_some_and(|uris| uris.len() > SUBSCRIPTION_URIS) {
        return Err(Error::new(Kind::Limit, "TOO_MANY_SUBSCRIPTIONS", "The filter names too many URIs")
            .hint("Split the URIs over several streams")
            .with_detail("limit", SUBSCRIPTION_URIS));
    }
    Ok(filter)
}

/// An open stream: the acknowledgement, notifications, the result.
struct ListenStream {
    server: Arc<ServerState>,
    id: Box<RawValue>,
    revision: Revision,
    subscriptions: SubscriptionStream,
    state: ListenState,
    _permit: StreamPermit,
}

enum ListenState {
    Opening(Map<String, Value>),
    Open,
    Closed,
}

impl ListenStream {
    async fn next(mut self) -> Option<(Vec<u8>, ListenStream)> {
        let message = match std::mem::replace(&mut self.state, ListenState::Open) {
            ListenState::Closed => return None,
            ListenState::Opening(accepted) => {
                let rest = format!(r#","notifications":{}"#, Value::Object(accepted));
                self.notification("subscriptions/acknowledged", &rest)
            }
            ListenState::Open => match self.subscriptions.next().await {
                Some(ChangeNotification::Updated(uri)) => {
                    self.notification("resources/updated", &format!(r#","uri":{}"#, Value::from(uri)))
                }
                Some(ChangeNotification::ListChanged) => self.notification("resources/list_changed", ""),
                None => {
                    self.state = ListenState::Closed;
                    let entries = [(SUBSCRIPTION_ID, self.id.get())];
                    ResponseWriter::new(&self.id, 0).finish_with_meta(
                        &self.server,
                        self.revision,
                        None,
                        &entries,
                    )
                }
            },
        };
        Some((message, self))
    }

    fn notification(&self, name: &str, rest: &str) -> Vec<u8> {
        let id = self.id.get();
        format!(
            r#"{{"jsonrpc":"2.0","method":"notifications/{name}","params":{{"_meta":{{"{SUBSCRIPTION_ID}":{id}}}{rest}}}}}"#
        )
        .into_bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn filter_is_required_typed_and_bounded() {
        let check = |json: Option<&str>, expect: Option<&str>| {
            let raw = json.map(|json| RawValue::from_string(json.to_owned()).unwrap());
            let result = parse_filter(raw.as_deref());
            assert_eq!(result.err().map(|error| error.code().to_owned()).as_deref(), expect, "{json:?}");
        };
        check(None, Some("VALIDATION_ERROR"));
        check(Some("[]"), Some("VALIDATION_ERROR"));
        check(Some("{}"), None);
        check(Some(r#"{"toolsListChanged":true,"resourcesListChanged":true}"#), None);
        check(Some(r#"{"resourceSubscriptions":[1]}"#), Some("VALIDATION_ERROR"));
        let many =
            format!(r#"{{"resourceSubscriptions":[{}"x://y"]}}"#, r#""x://y","#.repeat(SUBSCRIPTION_URIS));
        check(Some(&many), Some("TOO_MANY_SUBSCRIPTIONS"));
    }
}
