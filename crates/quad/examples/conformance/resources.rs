//! The resources: three fixed addresses and one template.

use quad_core::scheme::{ResourceEntry, SchemePage};
use quad_core::{
    Address, Body, Content, Error, ReadOutput, ReadSet, Result, Route, RouteSpec, ScopeRequirement,
};
use serde_json::json;

use crate::media;

/// A resource with a fixed address.
struct FixedResource {
    uri: &'static str,
    name: &'static str,
    description: &'static str,
    mime_type: &'static str,
    bytes: &'static [u8],
}

/// The resources in the order of the list. The suite reads the first to check its cache hints.
const FIXED: [FixedResource; 3] = [
    FixedResource {
        uri: "test://static-text",
        name: "static-text",
        description: "A text that never changes.",
        mime_type: "text/plain",
        bytes: b"This is the content of the static text resource.",
    },
    FixedResource {
        uri: "test://static-binary",
        name: "static-binary",
        description: "An image that never changes.",
        mime_type: "image/png",
        bytes: media::PIXEL,
    },
    FixedResource {
        uri: "test://watched-resource",
        name: "watched-resource",
        description: "A text to subscribe to.",
        mime_type: "text/plain",
        bytes: b"This is the content of the watched resource.",
    },
];

/// The template. Its route comes after the fixed resources.
pub const TEMPLATE: &str = "test://template/{id}/data";

/// All patterns, parsed at start, so that a malformed one is an error at start.
pub fn patterns() -> Result<Vec<RouteSpec>> {
    let sources = FIXED.iter().map(|fixed| fixed.uri).chain([TEMPLATE]);
    sources.map(|source| RouteSpec::parse(source).map_err(Error::internal)).collect()
}

/// The routes of these patterns.
pub fn routes(patterns: &[RouteSpec]) -> Vec<Route> {
    let indexed = patterns.iter().enumerate();
    indexed.map(|(index, pattern)| to_route(pattern.clone(), FIXED.get(index))).collect()
}

fn to_route(spec: RouteSpec, fixed: Option<&FixedResource>) -> Route {
    let (name, description, mime_type) = match fixed {
        Some(fixed) => (fixed.name, fixed.description, fixed.mime_type),
        None => ("template-data", "Generated data for an id.", "application/json"),
    };
    Route {
        spec,
        name,
        title: name,
        description,
        mime_type: Some(mime_type),
        required_scope: ScopeRequirement::NONE,
        advertised: true,
    }
}

/// Reads an address by the index of its route. Nothing changes, so the read sets are empty.
pub fn read(route: usize, address: &Address) -> Result<ReadOutput> {
    let content = match FIXED.get(route) {
        Some(fixed) => Content { mime_type: fixed.mime_type.into(), body: to_body(fixed.bytes) },
        None => {
            let id = address.variables().get("id").unwrap_or_default();
            Content::json(&json!({"id": id, "templateTest": true, "data": format!("Data for ID: {id}")}))?
        }
    };
    Ok(ReadOutput::new(content, ReadSet::default()))
}

fn to_body(bytes: &'static [u8]) -> Body {
    match std::str::from_utf8(bytes) {
        Ok(text) => Body::Text(text.to_owned()),
        Err(_) => Body::Blob(bytes.into()),
    }
}

/// All fixed resources, on one page.
pub fn list_page() -> SchemePage {
    let entries = FIXED.iter().map(|fixed| ResourceEntry {
        uri: fixed.uri.to_owned(),
        name: fixed.name.into(),
        title: None,
        description: Some(fixed.description.to_owned()),
        mime_type: fixed.mime_type.into(),
        priority: None,
    });
    SchemePage { entries: entries.collect(), next: None, read_set: ReadSet::default() }
}
