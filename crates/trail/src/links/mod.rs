//! `link://`: what cites what, across all schemes.
//!
//! ```text
//! link://citing{?uri,cursor}    the links that end at an address: what cites it
//! link://from{?uri}             the links that start at it
//! ```
//!
//! There is no scope for links: whoever can read both ends can make one, and sees one. That is asked of the [`Resolver`], which
//! knows every scheme; this one knows none. Being one of the resolver's own schemes, it is handed the resolver after that is
//! made, and holds it weakly.
//!
//! Answers are not cached. What is missing rests on no tag, so an answer that leaves a link out cannot know when its end comes
//! back; and if only those answers were kept from which nothing was left out, being kept would tell.

mod gone;
mod link;
#[cfg(test)]
mod model;
mod relation;
mod sight;
#[cfg(test)]
mod tests;
mod tools;

use std::sync::{Arc, OnceLock, Weak};

use quad_core::citations::{LinkIndex, VisibleLinks};
use quad_core::scheme::{Completion, CompletionQuery, SchemePage, CompletionTarget};
use quad_core::tool::{ToolCall, ToolResult};
use quad_core::{
    Address, ReadSet, BoxFuture, Content, Error, Grammar, ScopeRequirement, Principal, ReadOutput, Resolver, Result, Route,
    Scheme, TenantId, Tool, canonical, cursor,
};
use quad_store::{Sql as _, Store};
use serde_json::{Map, Value};

pub use link::{COMPONENT, LinkId};

use crate::{limits, spec};
use link::{Direction, End};
use sight::{Reach, Seen, Sight};

const CITING: &str = "link://citing{?uri,cursor}";

const FROM: &str = "link://from{?uri}";

const INSTRUCTIONS: &str = "link:// says what cites what, across all addresses: tie one to another with the tool link (from, to, \
    relation, note); link://citing?uri=… shows what cites an address, link://from?uri=… what it cites.";

/// The provider of `link://`.
pub struct Links {
    store: Store,
    resolver: OnceLock<Weak<Resolver>>,
    /// How far a page of `link://citing` goes.
    page: Reach,
}

impl Links {
    /// The links in this store. They cannot be read before [`Links::attach`].
    pub fn new(store: Store) -> Links {
        let page = Reach { shown: limits::PAGE_LINKS, looked: limits::LINKS_LOOKED };
        Links { store, resolver: OnceLock::new(), page }
    }

    /// Says whom to ask what a caller can read: the resolver that this scheme is mounted in. Only the first counts.
    pub fn attach(&self, resolver: &Arc<Resolver>) {
        let _ = self.resolver.set(Arc::downgrade(resolver));
    }

    fn resolver(&self) -> Result<Arc<Resolver>> {
        let attached = self.resolver.get().and_then(Weak::upgrade);
        attached.ok_or_else(|| Error::internal("the links have no resolver to ask"))
    }

    /// The address that a question is about, if the caller can read it. If not, the refusal is that of reading it.
    async fn subject(&self, caller: &Principal, address: &Address) -> Result<(End, ReadSet)> {
        let Some(uri) = address.variable("uri").filter(|uri| !uri.is_empty()) else {
            return Err(Error::bad_input("The query must name an address")
                .hint("Send ?uri= with the address, percent-encoded")
                .with_uri(address.requested()));
        };
        let resolver = self.resolver()?;
        let (subject, basis) =
            resolver.check_readable(caller, uri).await.map_err(|error| error.with_uri(address.requested()))?;
        Ok((settled(&resolver, &subject)?, basis))
    }

    /// What a caller sees of an address's links in one direction. `basis` is what there is to rest on already.
    async fn look(
        &self,
        caller: &Principal,
        end: &End,
        direction: Direction,
        before: Option<LinkId>,
        basis: ReadSet,
    ) -> Result<Seen> {
        let reach = match direction {
            Direction::To => self.page,
            Direction::From => Reach { shown: limits::LINKS_FROM, looked: limits::LINKS_FROM },
        };
        let asked = end.clone();
        let read = move |sql: &mut quad_store::Snapshot<'_>| {
            let links = link::list(sql, &asked, direction, before.as_ref(), reach.looked + 1)?;
            Ok((links, gone::list(sql, &asked, direction)?, sql.version()))
        };
        let (links, removals, version) = self.store.read_inline(&caller.tenant, read).await?;
        let resolver = self.resolver()?;
        let mut sight = Sight::new(&resolver, caller);
        let basis =
            ReadSet::at_version(version).merge_hidden(&ReadSet::default().with_tag(direction.tag(end))).merge_hidden(&basis);
        let mut seen = sight.filter(links, direction, reach, basis).await?;
        let removed = gone::last_seen(&mut sight, &removals).await?;
        let shown: Vec<Value> = seen.links.iter().map(|link| Value::Object(link.show())).collect();
        let shown = serde_json::json!([removed, shown, seen.next.as_ref().map(LinkId::as_str)]);
        seen.basis.visible_hash = Some(canonical::sha256_hex_of(&shown).into());
        Ok(seen)
    }

    /// The links at which `template` is completed: addresses that were linked lately, as far as the caller sees the link.
    async fn completed(&self, caller: &Principal, query: CompletionQuery<'_>) -> Result<Completion> {
        let (CompletionTarget::Template(template), "uri") = (query.target, query.variable) else {
            return Ok(Completion::default());
        };
        let read = |sql: &mut quad_store::Snapshot<'_>| {
            Ok((link::newest(sql, limits::COMPLETION_LOOKED)?, sql.version()))
        };
        let (links, version) = self.store.read(&caller.tenant, read).await?;
        let resolver = self.resolver()?;
        let mut sight = Sight::new(&resolver, caller);
        let mut basis = ReadSet::at_version(version).with_tag(link::any());
        let mut values: Vec<String> = Vec::new();
        for link in links {
            let uri = if template == FROM { &link.from } else { &link.to };
            if !uri.starts_with(query.prefix) || values.contains(uri) || !sight.sees(&link).await? {
                continue;
            }
            for end in [&link.from, &link.to] {
                if let Some(end) = sight.reaches(end).await? {
                    basis = basis.merge(&end);
                }
            }
            values.push(uri.clone());
        }
        Ok(Completion { total: values.len(), values, read_set: basis })
    }
}

/// The canonical form of an address. In one of our own, the address that it asks about is spelt canonically, too.
fn settled(resolver: &Resolver, address: &Address) -> Result<End> {
    let Some(inner) = address.variable("uri").filter(|_| address.scheme() == "link") else {
        return Ok(End::new(address.canonical()));
    };
    let inner = settled(resolver, &resolver.parse_uri(inner)?)?;
    let path = address.canonical().split_once('?').map_or(address.canonical(), |(path, _)| path);
    let mut uri = format!("{path}?uri={}", encoded(&inner.uri));
    if let Some(cursor) = address.variable("cursor") {
        uri.push_str(&format!("&cursor={}", encoded(cursor)));
    }
    Ok(End::new(resolver.parse_uri(&uri)?.canonical()))
}

/// Percent-encoded, as the value of a query key.
fn encoded(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            out.push(char::from(byte));
        } else {
            out.push_str(&format!("%{byte:02X}"));
        }
    }
    out
}

/// The address under which the links of another are found.
fn question(direction: Direction, end: &End) -> String {
    match direction {
        Direction::From => format!("link://from?uri={}", encoded(&end.uri)),
        Direction::To => format!("link://citing?uri={}", encoded(&end.uri)),
    }
}

/// The name under which the cursors of a list are sealed: one tenant's, about one address.
fn list_name(tenant: &TenantId, end: &End) -> String {
    format!("link citing {tenant} {}", end.key)
}

impl Scheme for Links {
    fn name(&self) -> &'static str {
        "link"
    }

    fn instructions(&self) -> &'static str {
        INSTRUCTIONS
    }

    /// None: see the top of this file.
    fn scopes(&self) -> &'static [&'static str] {
        &[]
    }

    fn is_global(&self) -> bool {
        true
    }

    fn routes(&self) -> Vec<Route> {
        let route = |spec, name, title, description| Route {
            spec,
            name,
            title,
            description,
            mime_type: Some("application/json"),
            required_scope: ScopeRequirement::NONE,
            advertised: true,
        };
        let citing = spec(CITING).map(|spec| {
            let spec = spec.with_grammar("uri", Grammar::Text).with_grammar("cursor", Grammar::Text);
            route(
                spec,
                "Citing links",
                "What cites an address",
                "The links that end at an address, newest first, as far as you can read where they start; a page may be empty and still name the next.",
            )
        });
        let from = spec(FROM).map(|spec| {
            let spec = spec.with_grammar("uri", Grammar::Text);
            route(
                spec,
                "Links from an address",
                "What an address cites",
                "The links that start at an address, newest first, as far as you can read where they end.",
            )
        });
        citing.into_iter().chain(from).collect()
    }

    fn read<'a>(
        &'a self,
        caller: &'a Principal,
        route: usize,
        address: &'a Address,
    ) -> BoxFuture<'a, Result<ReadOutput>> {
        Box::pin(async move {
            let (end, basis) = self.subject(caller, address).await?;
            let direction = if route == 0 { Direction::To } else { Direction::From };
            let list = list_name(&caller.tenant, &end);
            let before = match address.variable("cursor") {
                None => None,
                Some(cursor) => Some(LinkId::from_db(cursor::decode(&list, cursor)?)),
            };
            let seen = self.look(caller, &end, direction, before, basis).await?;
            let mut document = Map::new();
            document.insert("uri".into(), end.uri.as_str().into());
            document
                .insert("links".into(), seen.links.iter().map(|link| Value::Object(link.show())).collect());
            if let (Direction::To, Some(next)) = (direction, &seen.next) {
                document.insert("nextCursor".into(), cursor::encode(&list, next.as_str()).into());
            }
            let content = Content::json(&Value::Object(document))?;
            Ok(ReadOutput { cacheable: false, ..ReadOutput::new(content, seen.basis) })
        })
    }

    /// Such an address can be read by whoever can read the one that it is about. Its links are not looked at: they may lead back
    /// here.
    fn check_readable<'a>(
        &'a self,
        caller: &'a Principal,
        _: usize,
        address: &'a Address,
    ) -> BoxFuture<'a, Result<ReadSet>> {
        Box::pin(async move { Ok(self.subject(caller, address).await?.1) })
    }

    /// Nothing: links are found by what they are about.
    fn list<'a>(&'a self, _: &'a Principal, _: Option<&'a str>, _: usize) -> BoxFuture<'a, Result<SchemePage>> {
        Box::pin(async { Ok(SchemePage { entries: Vec::new(), next: None, read_set: ReadSet::default() }) })
    }

    fn complete<'a>(
        &'a self,
        caller: &'a Principal,
        query: CompletionQuery<'a>,
    ) -> BoxFuture<'a, Result<Completion>> {
        Box::pin(self.completed(caller, query))
    }

    fn tools(&self) -> Vec<Tool> {
        tools::all()
    }

    fn call_tool<'a>(&'a self, call: ToolCall<'a>) -> BoxFuture<'a, Result<ToolResult>> {
        Box::pin(tools::call(self, call))
    }
}

impl LinkIndex for Links {
    fn links_of<'a>(&'a self, caller: &'a Principal, uri: &'a str) -> BoxFuture<'a, Result<VisibleLinks>> {
        Box::pin(async move {
            let end = End::new(uri);
            let from = self.look(caller, &end, Direction::From, None, ReadSet::default()).await?;
            let to = self.look(caller, &end, Direction::To, None, ReadSet::default()).await?;
            let links = from.links.iter().chain(&to.links);
            let both = serde_json::json!([&from.basis.visible_hash.as_deref(), &to.basis.visible_hash.as_deref()]);
            let mut basis = from.basis.merge(&to.basis);
            basis.visible_hash = Some(canonical::sha256_hex_of(&both).into());
            let links = links.map(|link| Value::Object(link.show())).collect();
            Ok(VisibleLinks { links, is_truncated: to.next.is_some(), read_set: basis })
        })
    }
}
