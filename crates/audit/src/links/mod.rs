//! `link://`: links between the addresses of all schemes.
//!
//! ```text
//! link://citing{?uri,cursor}    the links that end at an address: what cites it
//! link://from{?uri}             the links that start at it
//! ```
//!
//! There is no scope for links: a caller that can read both ends can create a link and sees it. The [`Resolver`],
//! which knows every scheme, checks that; this scheme knows no other scheme. The resolver owns this scheme, so it is
//! set after construction and held weakly.
//!
//! Answers are not cached. A missing address has no tag, so an answer that omits a link cannot be invalidated when
//! the address comes back. If only complete answers were cached, the caching itself would reveal which answers are
//! incomplete.

mod link;
#[cfg(test)]
mod model;
mod relation;
mod removals;
#[cfg(test)]
mod tests;
mod tools;
mod visibility;

use std::sync::{Arc, OnceLock, Weak};

use quad_core::link_index::{LinkIndex, VisibleLinks};
use quad_core::scheme::{Completion, CompletionQuery, CompletionTarget, SchemePage};
use quad_core::tool::{ToolCall, ToolResult};
use quad_core::{
    Address, Content, Error, Grammar, Principal, ReadOutput, ReadSet, Resolver, Result, Route, RouteDef,
    RouteTable, Scheme, ScopeRequirement, TenantId, Tool, canonical, cursor,
};
use quad_store::{Sql as _, Store};
use serde_json::{Map, Value};

pub use link::{COMPONENT, LinkId};

use crate::limits;
use link::{Direction, LinkEnd};
use visibility::{LinkVisibility, PageLimits, VisiblePage};

const CITING_TEMPLATE: &str = "link://citing{?uri,cursor}";

const FROM_TEMPLATE: &str = "link://from{?uri}";

/// The routes. A route names the direction in which the links of an address are listed.
const ROUTES: RouteTable<Direction> = RouteTable {
    rows: &[
        RouteDef::json(
            Direction::To,
            CITING_TEMPLATE,
            "Citing links",
            "The links that end at an address, newest first, as far as you can read where they start. A page may be \
             empty and still name the next.",
            ScopeRequirement::NONE,
        )
        .title("What cites an address"),
        RouteDef::json(
            Direction::From,
            FROM_TEMPLATE,
            "Links from an address",
            "The links that start at an address, newest first, as far as you can read where they end.",
            ScopeRequirement::NONE,
        )
        .title("What an address cites"),
    ],
    grammars: &[("uri", Grammar::Text), ("cursor", Grammar::Text)],
};

const INSTRUCTIONS: &str = "link:// stores links between addresses of all schemes: create one with the tool link \
    (from, to, relation, note); link://citing?uri=… shows what cites an address, link://from?uri=… what it cites.";

/// The provider of `link://`.
pub struct Links {
    store: Store,
    resolver: OnceLock<Weak<Resolver>>,
    /// The limits of a page of `link://citing`.
    page_limits: PageLimits,
}

impl Links {
    /// Serves the links in this store. They cannot be read before [`Links::set_resolver`].
    pub fn new(store: Store) -> Links {
        let page_limits =
            PageLimits { returned: limits::LINKS_RETURNED_MAX, scanned: limits::LINKS_SCANNED_MAX };
        Links { store, resolver: OnceLock::new(), page_limits }
    }

    /// Sets the resolver that this scheme is mounted in. Only the first call has an effect.
    pub fn set_resolver(&self, resolver: &Arc<Resolver>) {
        let _ = self.resolver.set(Arc::downgrade(resolver));
    }

    fn resolver(&self) -> Result<Arc<Resolver>> {
        let resolver = self.resolver.get().and_then(Weak::upgrade);
        resolver.ok_or_else(|| Error::internal("the link scheme has no resolver"))
    }

    /// The address in the query, if the caller can read it. Otherwise the error of reading it.
    async fn requested_end(&self, caller: &Principal, address: &Address) -> Result<(LinkEnd, ReadSet)> {
        let Some(uri) = address.variable("uri").filter(|uri| !uri.is_empty()) else {
            return Err(Error::bad_input("The query must name an address")
                .hint("Send ?uri= with the address, percent-encoded")
                .with_uri(address.requested()));
        };
        let resolver = self.resolver()?;
        let (target, read_set) = resolver
            .check_readable(caller, uri)
            .await
            .map_err(|error| error.with_uri(address.requested()))?;
        Ok((canonical_end(&resolver, &target)?, read_set))
    }

    /// The links of an address in one direction that the caller can see. `read_set` has the dependencies so far.
    async fn list_visible(
        &self,
        caller: &Principal,
        end: &LinkEnd,
        direction: Direction,
        before: Option<LinkId>,
        read_set: ReadSet,
    ) -> Result<VisiblePage> {
        let page_limits = match direction {
            Direction::To => self.page_limits,
            Direction::From => {
                PageLimits { returned: limits::LINKS_FROM_MAX, scanned: limits::LINKS_FROM_MAX }
            }
        };
        let query_end = end.clone();
        let read = move |sql: &mut quad_store::Snapshot<'_>| {
            let links = link::list(sql, &query_end, direction, before.as_ref(), page_limits.scanned + 1)?;
            Ok((links, removals::list(sql, &query_end, direction)?, sql.version()))
        };
        let (links, removals, version) = self.store.read_inline(&caller.tenant, read).await?;
        let resolver = self.resolver()?;
        let mut visibility = LinkVisibility::new(&resolver, caller);
        let read_set = ReadSet::at_version(version)
            .merge_hidden(&ReadSet::default().with_tag(direction.tag(end)))
            .merge_hidden(&read_set);
        let mut page = visibility.filter(links, direction, page_limits, read_set).await?;
        let latest_removal = removals::latest_visible(&mut visibility, &removals).await?;
        let links_json: Vec<Value> = page.links.iter().map(|link| Value::Object(link.to_json())).collect();
        let visible_part =
            serde_json::json!([latest_removal, links_json, page.next.as_ref().map(LinkId::as_str)]);
        page.read_set.visible_hash = Some(canonical::sha256_hex_of(&visible_part).into());
        Ok(page)
    }

    /// Completes addresses of the newest links that the caller can see.
    async fn complete_uri(&self, caller: &Principal, query: CompletionQuery<'_>) -> Result<Completion> {
        let (CompletionTarget::Template(template), "uri") = (query.target, query.variable) else {
            return Ok(Completion::default());
        };
        let read = |sql: &mut quad_store::Snapshot<'_>| {
            Ok((link::list_newest(sql, limits::COMPLETION_SCANNED_MAX)?, sql.version()))
        };
        let (links, version) = self.store.read(&caller.tenant, read).await?;
        let resolver = self.resolver()?;
        let mut visibility = LinkVisibility::new(&resolver, caller);
        let mut read_set = ReadSet::at_version(version).with_tag(link::any_link_tag());
        let mut values: Vec<String> = Vec::new();
        for link in links {
            let uri = if template == FROM_TEMPLATE { &link.from } else { &link.to };
            if !uri.starts_with(query.prefix) || values.contains(uri) || !visibility.is_visible(&link).await?
            {
                continue;
            }
            for end in [&link.from, &link.to] {
                if let Some(end) = visibility.read_set_if_readable(end).await? {
                    read_set = read_set.merge(&end);
                }
            }
            values.push(uri.clone());
        }
        Ok(Completion { total: values.len(), values, read_set })
    }
}

/// The canonical form of an address. In a `link://` address the address in the query is canonical, too.
fn canonical_end(resolver: &Resolver, address: &Address) -> Result<LinkEnd> {
    let Some(inner) = address.variable("uri").filter(|_| address.scheme() == "link") else {
        return Ok(LinkEnd::new(address.canonical()));
    };
    let inner_end = canonical_end(resolver, &resolver.parse_uri(inner)?)?;
    let path = address.canonical().split_once('?').map_or(address.canonical(), |(path, _)| path);
    let mut uri = format!("{path}?uri={}", percent_encode(&inner_end.uri));
    if let Some(cursor) = address.variable("cursor") {
        uri.push_str(&format!("&cursor={}", percent_encode(cursor)));
    }
    Ok(LinkEnd::new(resolver.parse_uri(&uri)?.canonical()))
}

/// Percent-encodes the value of a query key.
fn percent_encode(text: &str) -> String {
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

/// The `link://` address of another address.
fn links_uri(direction: Direction, end: &LinkEnd) -> String {
    match direction {
        Direction::From => format!("link://from?uri={}", percent_encode(&end.uri)),
        Direction::To => format!("link://citing?uri={}", percent_encode(&end.uri)),
    }
}

/// The scope of the cursors of a list: one tenant and one address.
fn cursor_scope(tenant: &TenantId, end: &LinkEnd) -> String {
    format!("link citing {tenant} {}", end.key)
}

#[async_trait::async_trait]
impl Scheme for Links {
    fn name(&self) -> &'static str {
        "link"
    }

    fn instructions(&self) -> &'static str {
        INSTRUCTIONS
    }

    /// None: see the module docs.
    fn scopes(&self) -> &'static [&'static str] {
        &[]
    }

    fn is_global(&self) -> bool {
        true
    }

    fn routes(&self) -> Result<Vec<Route>> {
        ROUTES.routes()
    }

    async fn read(&self, caller: &Principal, route: usize, address: &Address) -> Result<ReadOutput> {
        let direction = ROUTES.resource(route)?;
        let (end, read_set) = self.requested_end(caller, address).await?;
        let cursor_scope = cursor_scope(&caller.tenant, &end);
        let before = match address.variable("cursor") {
            None => None,
            Some(cursor) => Some(LinkId::from_db(cursor::decode(&cursor_scope, cursor)?)),
        };
        let page = self.list_visible(caller, &end, direction, before, read_set).await?;
        let mut document = Map::new();
        document.insert("uri".into(), end.uri.as_str().into());
        document
            .insert("links".into(), page.links.iter().map(|link| Value::Object(link.to_json())).collect());
        if let (Direction::To, Some(next)) = (direction, &page.next) {
            document.insert("nextCursor".into(), cursor::encode(&cursor_scope, next.as_str()).into());
        }
        let content = Content::json(&Value::Object(document))?;
        Ok(ReadOutput { cacheable: false, ..ReadOutput::new(content, page.read_set) })
    }

    /// A `link://` address is readable if the address in its query is. The links are not read: they may lead back to
    /// this address.
    async fn check_readable(&self, caller: &Principal, _: usize, address: &Address) -> Result<ReadSet> {
        Ok(self.requested_end(caller, address).await?.1)
    }

    /// Empty: links are found by their ends.
    async fn list(&self, _: &Principal, _: Option<&str>, _: usize) -> Result<SchemePage> {
        Ok(SchemePage { entries: Vec::new(), next: None, read_set: ReadSet::default() })
    }

    async fn complete(&self, caller: &Principal, query: CompletionQuery<'_>) -> Result<Completion> {
        self.complete_uri(caller, query).await
    }

    fn tools(&self) -> Vec<std::sync::Arc<Tool>> {
        tools::all().into_iter().map(std::sync::Arc::new).collect()
    }

    async fn call_tool(&self, call: ToolCall<'_>) -> Result<ToolResult> {
        tools::call(self, call).await
    }
}

#[async_trait::async_trait]
impl LinkIndex for Links {
    async fn links_of(&self, caller: &Principal, uri: &str) -> Result<VisibleLinks> {
        let end = LinkEnd::new(uri);
        let from = self.list_visible(caller, &end, Direction::From, None, ReadSet::default()).await?;
        let to = self.list_visible(caller, &end, Direction::To, None, ReadSet::default()).await?;
        let links = from.links.iter().chain(&to.links);
        let visible_hashes =
            serde_json::json!([&from.read_set.visible_hash.as_deref(), &to.read_set.visible_hash.as_deref()]);
        let mut read_set = from.read_set.merge(&to.read_set);
        read_set.visible_hash = Some(canonical::sha256_hex_of(&visible_hashes).into());
        let links = links.map(|link| Value::Object(link.to_json())).collect();
        Ok(VisibleLinks { links, is_truncated: to.next.is_some(), read_set })
    }
}
