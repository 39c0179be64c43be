//! The schemas of the results: one function for each shape.

use quad_core::tool_schema::result;
use serde_json::{Map, Value, json};

fn text() -> Value {
    json!({"type": "string"})
}

fn optional_text() -> Value {
    json!({"type": ["string", "null"]})
}

fn number() -> Value {
    json!({"type": "integer"})
}

fn flag() -> Value {
    json!({"type": "boolean"})
}

/// An object whose keys are not known beforehand.
fn map() -> Value {
    json!({"type": "object"})
}

/// What is always `null`: it exists for clients of the hosted service.
fn always_null() -> Value {
    json!({"type": "null"})
}

fn list(items: Value) -> Value {
    json!({"type": "array", "items": items})
}

type Property = (&'static str, Value);

/// An object with these properties. All are always there.
fn record(properties: &[Property]) -> Value {
    let names: Vec<&str> = properties.iter().map(|(name, _)| *name).collect();
    let properties: Map<String, Value> =
        properties.iter().map(|(name, schema)| ((*name).to_owned(), schema.clone())).collect();
    json!({"type": "object", "properties": properties, "required": names})
}

/// A result that always has these properties.
fn complete(properties: &[Property]) -> Value {
    let names: Vec<&str> = properties.iter().map(|(name, _)| *name).collect();
    result(properties, &names)
}

/// A page of a list.
fn page(items: Value) -> Value {
    let pagination = record(&[
        ("total", number()),
        ("page", number()),
        ("limit", number()),
        ("totalPages", number()),
        ("hasNext", flag()),
        ("hasPrev", flag()),
    ]);
    complete(&[("items", list(items)), ("pagination", pagination)])
}

/// What a deletion returns.
pub(super) fn deleted() -> Value {
    complete(&[("success", flag()), ("id", text())])
}

pub(super) fn context() -> Value {
    let organization = [("id", text()), ("name", text())];
    let environment = record(&[("id", text()), ("name", text()), ("status", text()), ("tablesUri", text())]);
    let project = record(&[
        ("id", text()),
        ("name", text()),
        ("organizationId", text()),
        ("environments", list(environment)),
    ]);
    let mut first = record(&organization);
    first["type"] = json!(["object", "null"]);
    complete(&[
        ("organization", first),
        ("organizations", list(record(&organization))),
        ("projects", list(project)),
        ("apiEndpoint", always_null()),
        ("warnings", list(text())),
    ])
}

pub(super) fn documentation() -> Value {
    let found = record(&[
        ("id", text()),
        ("title", text()),
        ("content", text()),
        ("relevance", json!({"type": "number"})),
    ]);
    complete(&[("results", list(found))])
}

pub(super) fn operation_schema() -> Value {
    result(
        &[("operation", text()), ("description", text()), ("input", map()), ("output", map())],
        &["operation", "description"],
    )
}

pub(super) fn organizations() -> Value {
    let organization = record(&[("id", text()), ("name", text()), ("slug", text()), ("plan", text())]);
    complete(&[("organizations", list(organization))])
}

pub(super) fn organization() -> Value {
    complete(&[
        ("id", text()),
        ("name", text()),
        ("slug", text()),
        ("displayName", optional_text()),
        ("description", optional_text()),
        ("plan", text()),
        ("status", text()),
        ("createdAt", text()),
        ("updatedAt", text()),
        ("uri", text()),
        ("projectsUri", text()),
    ])
}

fn project_properties() -> [Property; 14] {
    [
        ("id", text()),
        ("organizationId", text()),
        ("name", text()),
        ("slug", text()),
        ("description", optional_text()),
        ("primaryCloud", text()),
        ("primaryRegion", text()),
        ("status", text()),
        ("settings", map()),
        ("environmentCount", number()),
        ("createdAt", text()),
        ("updatedAt", text()),
        ("uri", text()),
        ("environmentsUri", text()),
    ]
}

pub(super) fn project() -> Value {
    complete(&project_properties())
}

pub(super) fn projects() -> Value {
    page(record(&project_properties()))
}

fn environment_properties() -> [Property; 13] {
    [
        ("id", text()),
        ("organizationId", text()),
        ("projectId", text()),
        ("name", text()),
        ("type", text()),
        ("status", text()),
        ("cloud", text()),
        ("region", text()),
        ("tableCount", number()),
        ("createdAt", text()),
        ("updatedAt", text()),
        ("uri", text()),
        ("tablesUri", text()),
    ]
}

pub(super) fn environment() -> Value {
    complete(&environment_properties())
}

pub(super) fn environments() -> Value {
    page(record(&environment_properties()))
}

/// The complete schema of a table, in the notation of the hosted service.
fn table_schema() -> Value {
    record(&[("bsonType", text()), ("required", list(text())), ("properties", map())])
}

fn indexes() -> Value {
    list(record(&[("name", text()), ("fields", map()), ("unique", flag()), ("sparse", flag())]))
}

fn permissions() -> Value {
    json!({"type": ["object", "null"], "description": "Stored and shown; not enforced"})
}

/// What a table and its entry in a list have in common.
fn table_properties() -> Vec<Property> {
    vec![
        ("id", text()),
        ("projectId", text()),
        ("environmentId", text()),
        ("environment", text()),
        ("name", text()),
        ("tableName", text()),
        ("displayName", optional_text()),
        ("description", optional_text()),
        ("schema", table_schema()),
        ("fields", list(map())),
        ("indexes", indexes()),
        ("permissions", permissions()),
        ("schemaVersion", number()),
        ("indexVersion", number()),
        ("updatedAt", text()),
        ("uri", text()),
    ]
}

pub(super) fn tables() -> Value {
    let more = [("status", text()), ("rowCount", number())];
    page(record(&[&table_properties()[..], &more].concat()))
}

pub(super) fn table() -> Value {
    complete(&all_table_properties())
}

/// A changed table, with warnings if something that was set before is gone.
pub(super) fn changed_table() -> Value {
    let properties = all_table_properties();
    let names: Vec<&str> = properties.iter().map(|(name, _)| *name).collect();
    result(&[&properties[..], &[("warnings", list(text()))]].concat(), &names)
}

fn all_table_properties() -> Vec<Property> {
    let more = [
        ("organizationId", text()),
        ("expressionPermissions", always_null()),
        ("columnPermissions", always_null()),
        ("rowFilters", always_null()),
        ("deployment", record(&[("status", text())])),
        ("stats", record(&[("rowCount", number())])),
        ("documentCount", number()),
        ("createdBy", text()),
        ("createdAt", text()),
        ("rowsUri", text()),
    ];
    [&table_properties()[..], &more].concat()
}

fn applied() -> Value {
    record(&[("added", list(text())), ("updated", list(text())), ("removed", list(text()))])
}

/// What a change of fields and a change of indexes have in common.
fn change_properties() -> [Property; 7] {
    [
        ("id", text()),
        ("projectId", text()),
        ("environmentId", text()),
        ("environment", text()),
        ("tableName", text()),
        ("indexVersion", number()),
        ("updatedAt", text()),
    ]
}

pub(super) fn field_changes() -> Value {
    let more = [
        ("schemaVersion", number()),
        ("previousVersion", number()),
        ("schema", table_schema()),
        ("appliedFields", applied()),
        ("appliedRequired", record(&[("added", list(text())), ("removed", list(text()))])),
        (
            "rowsMissing",
            json!({"type": "integer", "description": "Rows without a field that is now required"}),
        ),
    ];
    complete(&[&change_properties()[..], &more].concat())
}

pub(super) fn index_changes() -> Value {
    let more = [("previousIndexVersion", number()), ("indexes", indexes()), ("appliedIndexes", applied())];
    complete(&[&change_properties()[..], &more].concat())
}

fn version_properties(body: Property) -> [Property; 6] {
    [
        ("id", text()),
        ("version", number()),
        ("isActive", flag()),
        ("createdBy", text()),
        ("createdAt", text()),
        body,
    ]
}

pub(super) fn schema_version() -> Value {
    complete(&version_properties(("schema", table_schema())))
}

pub(super) fn schema_versions() -> Value {
    page(record(&version_properties(("schema", table_schema()))))
}

pub(super) fn index_version() -> Value {
    complete(&version_properties(("indexes", indexes())))
}

pub(super) fn index_versions() -> Value {
    page(record(&version_properties(("indexes", indexes()))))
}

/// The system fields of a row. The table's own fields are beside them.
fn row_properties() -> [Property; 4] {
    [("id", text()), ("createdBy", text()), ("createdAt", text()), ("updatedAt", text())]
}

fn with_fields_of_table(mut schema: Value) -> Value {
    schema["additionalProperties"] = true.into();
    schema
}

/// A row. A field of the table may be named `error`, so that a value of any type is admitted there.
pub(super) fn row() -> Value {
    let mut schema = with_fields_of_table(complete(&row_properties()));
    schema["properties"]["error"] = json!({"description": "If there is no id, why the call failed"});
    schema
}

pub(super) fn rows() -> Value {
    page(with_fields_of_table(record(&row_properties())))
}

fn token_properties() -> [Property; 10] {
    [
        ("id", text()),
        ("name", text()),
        ("type", text()),
        ("maskedKey", text()),
        ("scopes", list(text())),
        ("projectIds", always_null()),
        ("environment", always_null()),
        ("createdAt", text()),
        ("expiresAt", optional_text()),
        ("status", text()),
    ]
}

pub(super) fn token() -> Value {
    complete(&token_properties())
}

pub(super) fn tokens() -> Value {
    page(record(&token_properties()))
}
