//! The tools `link` and `unlink`.
//!
//! Whoever can read both ends may link them. A link belongs to who made it: only its author, or a person of the tenant who sees it,
//! changes its note or removes it, for an agent that may only read should not take away what others have put down.

use quad_core::tool::{ToolCall, ToolResult, ToolEffect};
use quad_core::{ReadSet, Error, Kind, ScopeRequirement, Principal, PrincipalKind, Result, Tool, ToolOutput};
use quad_store::{Sql as _, Tx, WriteContext};
use serde_json::{Map, Value, json};

use super::link::{self, Direction, End, Link, LinkId};
use super::relation::{self, Relation};
use super::sight::Sight;
use super::{Links, gone, question, settled};
use crate::limits;

/// Both tools. They ask for no scope: what they reach is checked like a read.
pub(crate) fn all() -> Vec<Tool> {
    let known: Vec<String> =
        relation::KNOWN.iter().map(|(word, reads)| format!("{word} ({reads})")).collect();
    let relation = json!({
        "type": "string",
        "pattern": relation::PATTERN,
        "default": relation::DEFAULT,
        "description": format!("How from stands to to: {}, or a word of your own", known.join(", ")),
    });
    let address = |description: &str| json!({"type": "string", "description": description});
    let core = |tool: Tool| Tool { core: true, ..tool };
    vec![
        core(Tool::new(
            "link",
            "Link two addresses",
            "Links one address to another, across schemes: a memory to the table row that it rests on, a plan to a decision. You must be \
             able to read both. The same link again changes nothing, or its note.",
            json!({
                "type": "object",
                "properties": {
                    "from": address("The address that cites"),
                    "to": address("The address that is cited"),
                    "relation": relation.clone(),
                    "note": {"type": "string", "maxLength": limits::NOTE_CHARS, "description": "Why, in a sentence; empty takes it away"},
                },
                "required": ["from", "to"],
                "additionalProperties": false,
            }),
            ScopeRequirement::NONE,
            ToolEffect::Updates,
        )),
        core(Tool::new(
            "unlink",
            "Remove a link",
            "Removes a link that you made, by its id or by from, to and relation.",
            json!({
                "type": "object",
                "properties": {
                    "id": {"type": "string", "description": "The link's id"},
                    "from": address("Instead of the id: where it starts"),
                    "to": address("Instead of the id: where it ends"),
                    "relation": relation,
                },
                "oneOf": [{"required": ["id"]}, {"required": ["from", "to"]}],
                "additionalProperties": false,
            }),
            ScopeRequirement::NONE,
            ToolEffect::Deletes,
        )),
    ]
}

/// Calls one of them.
pub(crate) async fn call(links: &Links, call: ToolCall<'_>) -> Result<ToolResult> {
    match call.tool.name {
        "link" => add(links, call).await,
        "unlink" => remove(links, call).await,
        name => Err(Error::internal(format!("tool {name} is published but not implemented"))),
    }
}

/// What became of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Outcome {
    Created,
    Updated,
    Unchanged,
    Removed,
}

impl Outcome {
    fn as_str(self) -> &'static str {
        match self {
            Outcome::Created => "created",
            Outcome::Updated => "updated",
            Outcome::Unchanged => "unchanged",
            Outcome::Removed => "removed",
        }
    }
}

/// A link that is wanted.
#[derive(Clone, Debug)]
struct Wanted {
    from: End,
    to: End,
    relation: Relation,
    /// `None` leaves the note as it is; an empty one takes it away.
    note: Option<String>,
    by: String,
    is_person: bool,
}

impl Wanted {
    /// What would have to be done to a link that is there already.
    fn against(&self, link: &Link) -> Result<Outcome> {
        let note = self.note.as_deref();
        if note.is_none() || note.filter(|note| !note.is_empty()) == link.note.as_deref() {
            return Ok(Outcome::Unchanged);
        }
        if may_change(link, &self.by, self.is_person) { Ok(Outcome::Updated) } else { Err(not_yours(link)) }
    }
}

async fn add(links: &Links, call: ToolCall<'_>) -> Result<ToolResult> {
    let text = |name: &str| call.arguments.get(name).and_then(Value::as_str);
    let relation = Relation::parse(text("relation").unwrap_or(relation::DEFAULT))?;
    let note = text("note").map(checked_note).transpose()?;
    let from = end(links, call.caller, "from", text("from")).await?;
    let to = end(links, call.caller, "to", text("to")).await?;
    if from == to {
        return Err(Error::bad_input("An address cannot cite itself").with_uri(&from.uri));
    }
    let wanted = Wanted {
        from,
        to,
        relation,
        note,
        by: call.caller.subject.as_ref().to_owned(),
        is_person: call.caller.kind == PrincipalKind::User,
    };
    // What is there already needs no commit of its own: nothing changes and nobody is told.
    let looked = wanted.clone();
    let read = move |sql: &mut quad_store::Snapshot<'_>| {
        Ok((link::between(sql, &looked.from, &looked.to, &looked.relation)?, sql.version()))
    };
    if let (Some(found), version) = links.store.read(&call.caller.tenant, read).await?
        && wanted.against(&found)? == Outcome::Unchanged
    {
        let basis = ReadSet::at_version(version).with_tag(Direction::From.tag(&wanted.from));
        return Ok(ToolResult::read_only(output(&found, Outcome::Unchanged), basis));
    }
    // As they were sent: the trail keeps the spelling that the link itself does not.
    let mut event = call.event.succeeded();
    for name in ["from", "to"] {
        if let Some(uri) = text(name) {
            event = event.input(name, uri);
        }
    }
    let write = move |tx: &mut Tx<'_>| put(tx, &wanted);
    let ((link, outcome), receipt) = links.store.write(&WriteContext::from(call.caller), event, write).await?;
    Ok(ToolResult::committed(output(&link, outcome), receipt))
}

/// Stores a link, or changes the note of the one that is there.
fn put(tx: &mut Tx<'_>, wanted: &Wanted) -> Result<(Link, Outcome)> {
    tx.lock(&format!("link {}", wanted.from.key))?;
    if let Some(mut link) = link::between(tx, &wanted.from, &wanted.to, &wanted.relation)? {
        let outcome = wanted.against(&link)?;
        if outcome == Outcome::Updated {
            link.note = wanted.note.clone().filter(|note| !note.is_empty());
            link::set_note(tx, &link, link.note.as_deref())?;
        }
        tx.audit_output("link", link.id.as_str());
        return Ok((link, outcome));
    }
    if link::count_from(tx, &wanted.from)? >= limits::LINKS_FROM as i64 {
        return Err(Error::new(Kind::Limit, "TOO_MANY_LINKS", "No more links can start at this address")
            .hint("Remove some with unlink; those whose other end is gone count, too. Links that end at an address have no limit")
            .with_detail("limit", limits::LINKS_FROM)
            .with_uri(&wanted.from.uri));
    }
    let link = Link {
        id: LinkId::generate()?,
        from: wanted.from.uri.clone(),
        to: wanted.to.uri.clone(),
        relation: wanted.relation.clone(),
        note: wanted.note.clone().filter(|note| !note.is_empty()),
        created_by: wanted.by.clone(),
        created_at: tx.now(),
    };
    link::insert(tx, &link)?;
    tx.audit_output("link", link.id.as_str());
    Ok((link, Outcome::Created))
}

async fn remove(links: &Links, call: ToolCall<'_>) -> Result<ToolResult> {
    let found = find(links, &call).await?;
    let resolver = links.resolver()?;
    let mut sight = Sight::new(&resolver, call.caller);
    let is_author = *found.created_by == *call.caller.subject;
    // Its author has seen it, and may be rid of it whatever became of its ends.
    if !is_author && !sight.sees(&found).await? {
        return Err(missing());
    }
    if !may_change(&found, &call.caller.subject, call.caller.kind == PrincipalKind::User) {
        return Err(not_yours(&found));
    }
    let write = move |tx: &mut Tx<'_>| {
        if !link::delete(tx, &found)? {
            return Err(missing());
        }
        gone::note(tx, &found)?;
        tx.audit_output("link", found.id.as_str());
        Ok(found.clone())
    };
    let (link, receipt) =
        links.store.write(&WriteContext::from(call.caller), call.event.succeeded(), write).await?;
    Ok(ToolResult::committed(output(&link, Outcome::Removed), receipt))
}

/// The link that a call of `unlink` names, whether or not the caller sees it.
async fn find(links: &Links, call: &ToolCall<'_>) -> Result<Link> {
    let text = |name: &str| call.arguments.get(name).and_then(Value::as_str);
    let tenant = &call.caller.tenant;
    let found = match text("id") {
        Some(id) => {
            let id = LinkId::parse(id).ok_or_else(missing)?;
            links.store.read(tenant, move |sql| link::find(sql, &id)).await?
        }
        None => {
            let resolver = links.resolver()?;
            let relation = Relation::parse(text("relation").unwrap_or(relation::DEFAULT))?;
            let end = |name: &str| settled(&resolver, &resolver.parse_uri(text(name).unwrap_or_default())?);
            let (from, to) = (end("from")?, end("to")?);
            links.store.read(tenant, move |sql| link::between(sql, &from, &to, &relation)).await?
        }
    };
    found.ok_or_else(missing)
}

/// One end of a new link, if the caller can read it. If not, the refusal is that of reading it.
async fn end(links: &Links, caller: &Principal, name: &str, uri: Option<&str>) -> Result<End> {
    let uri = uri.unwrap_or_default();
    let resolver = links.resolver()?;
    let (address, _) = resolver.check_readable(caller, uri).await.map_err(|error| error.with_detail("argument", name))?;
    let end = settled(&resolver, &address)?;
    if end.uri.len() > limits::ADDRESS_BYTES {
        return Err(Error::new(Kind::Limit, "ADDRESS_TOO_LONG", "The address is too long for a link")
            .hint("Link a shorter address of it, without parameters that can be left out")
            .with_detail("argument", name)
            .with_detail("limit_bytes", limits::ADDRESS_BYTES)
            .with_uri(uri));
    }
    Ok(end)
}

/// A note that can be stored and shown anywhere. Its length has been checked against the schema.
fn checked_note(note: &str) -> Result<String> {
    if note.contains(|c: char| c.is_control() && c != '\n' && c != '\t') {
        return Err(Error::bad_input("note: has control characters").hint("A note is plain text"));
    }
    Ok(note.trim().to_owned())
}

fn may_change(link: &Link, subject: &str, is_person: bool) -> bool {
    is_person || link.created_by == subject
}

fn missing() -> Error {
    Error::new(Kind::NotFound, "NOT_FOUND", "Link not found")
        .hint("link://from and link://citing show the links of an address")
}

fn not_yours(link: &Link) -> Error {
    Error::new(Kind::Conflict, "LINK_NOT_YOURS", "Somebody else made this link")
        .hint("Only its author or a person of the tenant changes or removes it")
        .with_detail("created_by", link.created_by.as_str())
}

fn output(link: &Link, outcome: Outcome) -> ToolOutput {
    let mut shown: Map<String, Value> = link.show();
    shown.insert("result".into(), outcome.as_str().into());
    let (from, to) = (End::new(&link.from), End::new(&link.to));
    ToolOutput::structured(Value::Object(shown))
        .with_link(question(Direction::From, &from), format!("Links from {}", link.from))
        .with_link(question(Direction::To, &to), format!("What cites {}", link.to))
}
