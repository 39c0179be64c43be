//! The tools `link` and `unlink`.
//!
//! A caller that can read both ends can link them. A link belongs to its author: only the author, or a person of the
//! tenant who can see the link, can change its note or remove it. An agent with read access must not be able to
//! remove the links of others.

use quad_core::tool::{ToolCall, ToolEffect, ToolResult};
use quad_core::{
    Error, Kind, Principal, PrincipalKind, ReadSet, Result, ScopeRequirement, Tool, ToolOutput, tool_schema,
};
use quad_store::{Sql as _, Tx, WriteContext};
use serde_json::{Map, Value, json};

use super::link::{self, Direction, Link, LinkEnd, LinkId};
use super::relation::{self, Relation};
use super::visibility::LinkVisibility;
use super::{Links, canonical_end, links_uri, removals};
use crate::limits;

/// Both tools. They need no scope of their own: access to the ends is checked like a read.
pub(crate) fn all() -> Vec<Tool> {
    let known_relations: Vec<String> =
        relation::KNOWN.iter().map(|(word, reads)| format!("{word} ({reads})")).collect();
    let relation = json!({
        "type": "string",
        "pattern": relation::PATTERN,
        "default": relation::DEFAULT,
        "description": format!("The relation of from to to: {}, or a name of your own", known_relations.join(", ")),
    });
    let note = json!({
        "type": "string",
        "maxLength": limits::NOTE_CHARS_MAX,
        "description": "The reason, in one sentence; an empty text removes it",
    });
    let link = Tool::new(
        "link",
        "Link two addresses",
        "Links one address to another, across schemes: a memory to the table row that supports it, a plan to a \
         decision. You must be able to read both. Repeating a link changes at most its note.",
        tool_schema::object(
            &[
                ("from", tool_schema::string("The address that cites")),
                ("to", tool_schema::string("The address that is cited")),
                ("relation", relation.clone()),
                ("note", note),
            ],
            &["from", "to"],
        ),
        ScopeRequirement::NONE,
        ToolEffect::Updates,
    )
    .output(result_schema())
    .example(json!({
        "from": "amem://node/0",
        "to": "bkend://orgs/org_abc123",
        "relation": "supports",
    }));
    let unlink = Tool::new(
        "unlink",
        "Remove a link",
        "Removes a link that you made, by its id or by from, to and relation.",
        tool_schema::object(
            &[
                ("id", tool_schema::string("The link's id")),
                ("from", tool_schema::string("Instead of id: the source address")),
                ("to", tool_schema::string("Instead of id: the target address")),
                ("relation", relation),
            ],
            &[],
        ),
        ScopeRequirement::NONE,
        ToolEffect::Deletes,
    )
    .output(result_schema())
    .example(unlink_example())
    .aliases(&[("link_id", "id")]);
    vec![Tool { core: true, ..link }, unlink]
}

/// The arguments of a call that removes a link by its ends.
fn unlink_example() -> Value {
    json!({"from": "amem://node/0", "to": "bkend://orgs/org_abc123", "relation": "supports"})
}

/// The schema of both results: the link and what happened to it.
fn result_schema() -> Value {
    let outcomes: Vec<&str> = Outcome::ALL.iter().map(|outcome| outcome.as_str()).collect();
    tool_schema::result(
        &[
            ("id", tool_schema::string("The link's id")),
            ("from", tool_schema::string("The address that cites")),
            ("to", tool_schema::string("The address that is cited")),
            ("relation", tool_schema::string("The relation of from to to")),
            ("note", tool_schema::string("The reason")),
            ("created_by", tool_schema::string("The author")),
            ("created_at", tool_schema::string("The time of creation")),
            ("result", tool_schema::string_enum(&outcomes, "What happened")),
        ],
        &["id", "from", "to", "relation", "result"],
    )
}

/// Calls one of the tools.
pub(crate) async fn call(links: &Links, call: ToolCall<'_>) -> Result<ToolResult> {
    match call.tool.name {
        "link" => add(links, call).await,
        "unlink" => remove(links, call).await,
        name => Err(Error::internal(format!("tool {name} is published but not implemented"))),
    }
}

/// The outcome of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Outcome {
    Created,
    Updated,
    Unchanged,
    Removed,
}

impl Outcome {
    const ALL: [Outcome; 4] = [Outcome::Created, Outcome::Updated, Outcome::Unchanged, Outcome::Removed];

    fn as_str(self) -> &'static str {
        match self {
            Outcome::Created => "created",
            Outcome::Updated => "updated",
            Outcome::Unchanged => "unchanged",
            Outcome::Removed => "removed",
        }
    }
}

/// The link to create.
#[derive(Clone, Debug)]
struct LinkRequest {
    from: LinkEnd,
    to: LinkEnd,
    relation: Relation,
    /// `None` keeps the existing note; an empty one removes it.
    note: Option<String>,
    subject: String,
    is_person: bool,
}

impl LinkRequest {
    /// The change that an existing link needs.
    fn compare_with(&self, link: &Link) -> Result<Outcome> {
        let note = self.note.as_deref();
        if note.is_none() || note.filter(|note| !note.is_empty()) == link.note.as_deref() {
            return Ok(Outcome::Unchanged);
        }
        if can_modify(link, &self.subject, self.is_person) {
            Ok(Outcome::Updated)
        } else {
            Err(not_author(link))
        }
    }
}

async fn add(links: &Links, call: ToolCall<'_>) -> Result<ToolResult> {
    let text = |name: &str| call.arguments.get(name).and_then(Value::as_str);
    let relation = Relation::parse(text("relation").unwrap_or(relation::DEFAULT))?;
    let note = text("note").map(validate_note).transpose()?;
    let from = resolve_end(links, call.caller, "from", text("from")).await?;
    let to = resolve_end(links, call.caller, "to", text("to")).await?;
    if from == to {
        return Err(Error::bad_input("An address cannot cite itself")
            .hint("Send another address in from or in to")
            .with_uri(&from.uri));
    }
    let request = LinkRequest {
        from,
        to,
        relation,
        note,
        subject: call.caller.subject.as_ref().to_owned(),
        is_person: call.caller.kind == PrincipalKind::User,
    };
    // An existing link needs no commit: nothing changes, and no subscriber is notified.
    let lookup = request.clone();
    let read = move |sql: &mut quad_store::Snapshot<'_>| {
        Ok((link::find_between(sql, &lookup.from, &lookup.to, &lookup.relation)?, sql.version()))
    };
    if let (Some(existing), version) = links.store.read(&call.caller.tenant, read).await?
        && request.compare_with(&existing)? == Outcome::Unchanged
    {
        let read_set = ReadSet::at_version(version).with_tag(Direction::From.tag(&request.from));
        return Ok(ToolResult::read_only(output(&existing, Outcome::Unchanged), read_set));
    }
    // The addresses as they were sent: the audit log keeps the original spelling, the link the canonical one.
    let mut event = call.event.succeeded();
    for name in ["from", "to"] {
        if let Some(uri) = text(name) {
            event = event.input(name, uri);
        }
    }
    let write = move |tx: &mut Tx<'_>| upsert(tx, &request);
    let ((link, outcome), receipt) =
        links.store.write(&WriteContext::from(call.caller), event, write).await?;
    Ok(ToolResult::committed(output(&link, outcome), receipt))
}

/// Stores a link, or changes the note of the existing one.
fn upsert(tx: &mut Tx<'_>, request: &LinkRequest) -> Result<(Link, Outcome)> {
    tx.lock(&format!("link {}", request.from.key))?;
    if let Some(mut link) = link::find_between(tx, &request.from, &request.to, &request.relation)? {
        let outcome = request.compare_with(&link)?;
        if outcome == Outcome::Updated {
            link.note = request.note.clone().filter(|note| !note.is_empty());
            link::set_note(tx, &link, link.note.as_deref())?;
        }
        tx.audit_output("link", link.id.as_str());
        return Ok((link, outcome));
    }
    if link::count_from(tx, &request.from)? >= limits::LINKS_FROM_MAX as i64 {
        return Err(Error::new(
            Kind::Limit,
            "TOO_MANY_LINKS",
            "The address has the maximum number of outgoing links",
        )
        .hint("Remove some of its links. Links to deleted addresses count, too; incoming links have no limit")
        .with_detail("limit", limits::LINKS_FROM_MAX)
        .with_uri(&request.from.uri));
    }
    let link = Link {
        id: LinkId::generate()?,
        from: request.from.uri.clone(),
        to: request.to.uri.clone(),
        relation: request.relation.clone(),
        note: request.note.clone().filter(|note| !note.is_empty()),
        created_by: request.subject.clone(),
        created_at: tx.now(),
    };
    link::insert(tx, &link)?;
    tx.audit_output("link", link.id.as_str());
    Ok((link, Outcome::Created))
}

async fn remove(links: &Links, call: ToolCall<'_>) -> Result<ToolResult> {
    let existing = find(links, &call).await?;
    let resolver = links.resolver()?;
    let mut visibility = LinkVisibility::new(&resolver, call.caller);
    let is_author = *existing.created_by == *call.caller.subject;
    // The author has seen the link and can remove it whatever happened to its ends.
    if !is_author && !visibility.is_visible(&existing).await? {
        return Err(link_not_found());
    }
    if !can_modify(&existing, &call.caller.subject, call.caller.kind == PrincipalKind::User) {
        return Err(not_author(&existing));
    }
    let write = move |tx: &mut Tx<'_>| {
        if !link::delete(tx, &existing)? {
            return Err(link_not_found());
        }
        removals::record(tx, &existing)?;
        tx.audit_output("link", existing.id.as_str());
        Ok(existing.clone())
    };
    let (link, receipt) =
        links.store.write(&WriteContext::from(call.caller), call.event.succeeded(), write).await?;
    Ok(ToolResult::committed(output(&link, Outcome::Removed), receipt))
}

/// The link that a call of `unlink` names, visible or not.
async fn find(links: &Links, call: &ToolCall<'_>) -> Result<Link> {
    let text = |name: &str| call.arguments.get(name).and_then(Value::as_str);
    let tenant = &call.caller.tenant;
    let link = match text("id") {
        Some(_) if text("from").is_some() || text("to").is_some() => {
            return Err(Error::bad_input("A link is named by its id or by its ends, not by both")
                .hint("Leave out id, or from and to"));
        }
        Some(id) => {
            let id = LinkId::parse(id).ok_or_else(link_not_found)?;
            links.store.read(tenant, move |sql| link::find(sql, &id)).await?
        }
        None => {
            let resolver = links.resolver()?;
            let relation = Relation::parse(text("relation").unwrap_or(relation::DEFAULT))?;
            let end = |name: &str| {
                let uri = text(name).ok_or_else(|| missing_end(name))?;
                canonical_end(&resolver, &resolver.parse_uri(uri)?)
            };
            let (from, to) = (end("from")?, end("to")?);
            links.store.read(tenant, move |sql| link::find_between(sql, &from, &to, &relation)).await?
        }
    };
    link.ok_or_else(link_not_found)
}

/// The error of a call of `unlink` that names no link.
fn missing_end(name: &str) -> Error {
    Error::bad_input(format!("The arguments id and {name} are both missing"))
        .hint(format!("Send the link's id, or its ends: {}", unlink_example()))
        .with_detail("argument", name)
}

/// One end of a new link, if the caller can read it. Otherwise the error of reading it.
async fn resolve_end(links: &Links, caller: &Principal, name: &str, uri: Option<&str>) -> Result<LinkEnd> {
    let uri = uri.unwrap_or_default();
    let resolver = links.resolver()?;
    let (address, _) =
        resolver.check_readable(caller, uri).await.map_err(|error| error.with_detail("argument", name))?;
    let end = canonical_end(&resolver, &address)?;
    if end.uri.len() > limits::ADDRESS_BYTES_MAX {
        return Err(Error::new(Kind::Limit, "ADDRESS_TOO_LONG", "The address is too long for a link")
            .hint("Use a shorter address of it, without optional parameters")
            .with_detail("argument", name)
            .with_detail("limit_bytes", limits::ADDRESS_BYTES_MAX)
            .with_uri(uri));
    }
    Ok(end)
}

/// Checks that a note is plain text. Its length has been checked against the schema.
fn validate_note(note: &str) -> Result<String> {
    if note.contains(|c: char| c.is_control() && c != '\n' && c != '\t') {
        return Err(Error::bad_input("note: has control characters").hint("Send plain text"));
    }
    Ok(note.trim().to_owned())
}

fn can_modify(link: &Link, subject: &str, is_person: bool) -> bool {
    is_person || link.created_by == subject
}

fn link_not_found() -> Error {
    Error::new(Kind::NotFound, "NOT_FOUND", "Link not found")
        .hint("Read link://from or link://citing to find the links of an address")
}

fn not_author(link: &Link) -> Error {
    Error::new(Kind::Conflict, "LINK_NOT_YOURS", "The link belongs to another author")
        .hint("Ask its author or a person of the tenant to change or remove it")
        .with_detail("created_by", link.created_by.as_str())
}

fn output(link: &Link, outcome: Outcome) -> ToolOutput {
    let mut json: Map<String, Value> = link.to_json();
    json.insert("result".into(), outcome.as_str().into());
    let (from, to) = (LinkEnd::new(&link.from), LinkEnd::new(&link.to));
    ToolOutput::structured(Value::Object(json))
        .with_link(links_uri(Direction::From, &from), format!("Links from {}", link.from))
        .with_link(links_uri(Direction::To, &to), format!("What cites {}", link.to))
}
