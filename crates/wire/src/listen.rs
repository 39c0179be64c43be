//! `subscriptions/listen`: the modern stream of notifications.

use futures_util::stream;
use quad_core::limits::SUBSCRIPTION_URIS;
use quad_core::{Error, EventDraft, Kind, Result};
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use crate::dispatch::Exchange;
use crate::endpoint::Hub;
use crate::reply::Reply;
use crate::streams::Ticket;
use crate::watcher::{Notice, Watcher};
use crate::{Fault, MessageStream, Revision};

const SUBSCRIPTION_ID: &str = "io.modelcontextprotocol/subscriptionId";

/// What a client asks to hear of. Lists of tools and prompts never change here, so these wishes are not accepted.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Filter {
    #[serde(default)]
    resources_list_changed: bool,
    resource_subscriptions: Option<Vec<String>>,
}

/// Opens the stream: the acknowledgement, then notifications, at the end the result.
pub(crate) async fn open(exchange: &Exchange<'_>) -> Result<MessageStream, Fault> {
    match accept(exchange).await {
        Ok(stream) => Ok(stream),
        Err(error) => Err(exchange.fault(error)),
    }
}

async fn accept(exchange: &Exchange<'_>) -> Result<MessageStream> {
    let filter = read(exchange.params.notifications)?;
    let endpoint = exchange.endpoint;
    let ticket = endpoint.hub.streams.open(exchange.caller)?;
    let mut watcher = Watcher::open(endpoint, exchange.caller).await?;
    let mut accepted = Map::new();
    if filter.resources_list_changed {
        watcher.watch_list();
        accepted.insert("resourcesListChanged".into(), true.into());
    }
    let mut left_out = 0_usize;
    if let Some(wanted) = filter.resource_subscriptions {
        for uri in &wanted {
            match endpoint.resolver().basis_of(exchange.caller, endpoint.view, uri).await {
                Ok(basis) => watcher.watch(uri.clone(), basis),
                Err(error) if matches!(error.kind(), Kind::Internal | Kind::Credential) => return Err(error),
                // What the caller cannot read now is left out of the acknowledgement, whatever the reason.
                Err(_) => left_out += 1,
            }
        }
        let uris: Vec<Value> = watcher.addresses().map(Value::from).collect();
        accepted.insert("resourceSubscriptions".into(), uris.into());
    }
    let event = EventDraft::call(exchange.caller, "subscriptions/listen")
        .input("uris", watcher.addresses().count())
        .input("left_out", left_out);
    let receipt = endpoint.resolver().note(exchange.caller, event).await?;
    watcher.vouch(receipt.version);
    let listener = Listener {
        hub: endpoint.hub.clone(),
        id: exchange.id.to_owned(),
        revision: exchange.revision,
        watcher,
        stage: Stage::Opening(accepted),
        _ticket: ticket,
    };
    Ok(Box::pin(stream::unfold(listener, Listener::next)))
}

fn read(raw: Option<&RawValue>) -> Result<Filter> {
    let Some(raw) = raw else {
        return Err(Error::bad_input("params.notifications is missing").fact("field", "notifications"));
    };
    let filter: Filter = serde_json::from_str(raw.get()).map_err(|error| {
        Error::bad_input(format!("params.notifications: {error}")).fact("field", "notifications")
    })?;
    if filter.resource_subscriptions.as_ref().is_some_and(|uris| uris.len() > SUBSCRIPTION_URIS) {
        return Err(Error::new(Kind::Limit, "TOO_MANY_SUBSCRIPTIONS", "The filter names too many addresses")
            .hint("Split them over several subscriptions")
            .fact("limit", SUBSCRIPTION_URIS));
    }
    Ok(filter)
}

struct Listener {
    hub: std::sync::Arc<Hub>,
    id: Box<RawValue>,
    revision: Revision,
    watcher: Watcher,
    stage: Stage,
    _ticket: Ticket,
}

enum Stage {
    Opening(Map<String, Value>),
    Open,
    Closed,
}

impl Listener {
    async fn next(mut self) -> Option<(Vec<u8>, Listener)> {
        let message = match std::mem::replace(&mut self.stage, Stage::Open) {
            Stage::Closed => return None,
            Stage::Opening(accepted) => {
                let rest = format!(r#","notifications":{}"#, Value::Object(accepted));
                self.notification("subscriptions/acknowledged", &rest)
            }
            Stage::Open => match self.watcher.next().await {
                Some(Notice::Updated(uri)) => {
                    self.notification("resources/updated", &format!(r#","uri":{}"#, Value::from(uri)))
                }
                Some(Notice::ListChanged) => self.notification("resources/list_changed", ""),
                None => {
                    self.stage = Stage::Closed;
                    let entries = [(SUBSCRIPTION_ID, self.id.get())];
                    Reply::to(&self.id, 0).end_with(&self.hub, self.revision, None, &entries)
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
    fn a_filter_is_required_typed_and_bounded() {
        let check = |json: Option<&str>, expect: Option<&str>| {
            let raw = json.map(|json| RawValue::from_string(json.to_owned()).unwrap());
            let verdict = read(raw.as_deref());
            assert_eq!(verdict.err().map(|error| error.code().to_owned()).as_deref(), expect, "{json:?}");
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
