//! `initialize`: the first request of a legacy connection.

use quad_core::Result;
use serde_json::json;

use crate::dispatch::RequestContext;
use crate::envelope::raw_str;
use crate::params::Params;
use crate::response_writer::ResponseWriter;
use crate::{Revision, discover};

/// The revision of the connection: the proposed one if it is a supported legacy one, else the newest legacy one.
pub(crate) fn negotiate(params: &Params<'_>) -> Revision {
    params
        .protocol_version
        .and_then(raw_str)
        .and_then(|proposed| Revision::parse(&proposed))
        .filter(|revision| !revision.is_modern())
        .unwrap_or(Revision::NEWEST_LEGACY)
}

/// Answers `initialize`. `has_notifications`: whether this connection can carry notifications.
pub(crate) fn handle(context: &RequestContext<'_>, has_notifications: bool) -> Result<Vec<u8>> {
    let server = &context.endpoint.server;
    let info = json!({"name": server.name, "title": "Quadrivium", "version": server.version});
    let reply = ResponseWriter::new(context.id, 1_024)
        .field("protocolVersion", &context.revision.as_str())?
        .field("capabilities", &discover::capabilities(has_notifications))?
        .field("serverInfo", &info)?
        .field("instructions", &discover::instructions(context.endpoint))?;
    Ok(reply.finish(server, context.revision, None))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn negotiate_falls_back_to_newest_legacy() {
        let check = |proposed: &str, expect: &str| {
            let raw =
                serde_json::value::RawValue::from_string(format!(r#"{{"protocolVersion":{proposed}}}"#))
                    .unwrap();
            let params = Params::read(Some(&raw)).unwrap();
            assert_eq!(negotiate(&params).as_str(), expect, "{proposed}");
        };
        check("\"2025-03-26\"", "2025-03-26");
        check("\"2024-11-05\"", "2024-11-05");
        check("\"2026-07-28\"", "2025-11-25");
        check("\"nonsense\"", "2025-11-25");
        check("5", "2025-11-25");
        assert_eq!(negotiate(&Params::default()), Revision::NEWEST_LEGACY);
    }
}
