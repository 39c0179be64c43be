//! `initialize`: how a legacy connection begins.

use quad_core::Result;
use serde_json::json;

use crate::dispatch::Exchange;
use crate::envelope::text_of;
use crate::params::Params;
use crate::reply::Reply;
use crate::{Revision, discover};

/// The revision that the connection will speak: the proposed one if it is a legacy one of ours, else our newest.
pub(crate) fn negotiate(params: &Params<'_>) -> Revision {
    params
        .protocol_version
        .and_then(text_of)
        .and_then(|proposed| Revision::parse(&proposed))
        .filter(|revision| !revision.is_modern())
        .unwrap_or(Revision::NEWEST_LEGACY)
}

/// Answers `initialize`. `pushes` says whether this connection can carry notifications.
pub(crate) fn answer(exchange: &Exchange<'_>, pushes: bool) -> Result<Vec<u8>> {
    let hub = &exchange.endpoint.hub;
    let info = json!({"name": hub.name, "title": "Quadrivium", "version": hub.version});
    let reply = Reply::to(exchange.id, 1_024)
        .field("protocolVersion", &exchange.revision.as_str())?
        .field("capabilities", &discover::capabilities(pushes))?
        .field("serverInfo", &info)?
        .field("instructions", &discover::instructions(exchange.endpoint))?;
    Ok(reply.end(hub, exchange.revision, None))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn echoes_what_we_speak_and_offers_the_newest_legacy_otherwise() {
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
