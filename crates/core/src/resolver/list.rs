//! `resources/list`: pages over the schemes of a view, one scheme after the other.

use std::sync::Arc;

use super::audit::Computed;
use super::{Resolver, View};
use crate::audit_log::ReadSets;
use crate::scheme::{RequestTarget, ResourceEntry};
use crate::{EventDraft, Principal, Result, cursor, limits};

/// A page of `resources/list`.
#[derive(Debug)]
pub struct ResourcePage {
    /// The entries.
    pub entries: Vec<ResourceEntry>,
    /// The cursor of the next page; `None` on the last.
    pub next_cursor: Option<String>,
}

/// Where a page starts.
struct ListStart {
    scheme: String,
    /// The scheme's own key; empty for its first entry.
    after: String,
}

impl ListStart {
    fn decode(caller: &Principal, cursor: &str) -> Result<ListStart> {
        let key = cursor::decode(&cursor_scope(caller), cursor)?;
        let (scheme, after) = key.split_once('\n').unwrap_or((&key, ""));
        Ok(ListStart { scheme: scheme.to_owned(), after: after.to_owned() })
    }

    fn encode(caller: &Principal, scheme: &str, after: &str) -> String {
        cursor::encode(&cursor_scope(caller), &format!("{scheme}\n{after}"))
    }
}

/// The list that a cursor belongs to: each tenant has its own.
fn cursor_scope(caller: &Principal) -> String {
    format!("resources of {}", caller.tenant)
}

impl Resolver {
    /// Lists what the caller can read.
    pub async fn list(&self, caller: &Principal, view: View, cursor: Option<&str>) -> Result<ResourcePage> {
        self.list_with_event(caller, view, cursor, EventDraft::call(caller, "resources/list")).await
    }

    pub(crate) async fn list_with_event(
        &self,
        caller: &Principal,
        view: View,
        cursor: Option<&str>,
        event: EventDraft,
    ) -> Result<ResourcePage> {
        let result = async {
            let start = cursor.map(|cursor| ListStart::decode(caller, cursor)).transpose()?;
            let start = start.as_ref();
            let compute = |_is_first: bool| async move {
                let (page, read_sets) = self.list_page(caller, view, start).await?;
                Ok(Computed::read(page, read_sets))
            };
            let make_event =
                |page: &ResourcePage| event.clone().succeeded().output("count", page.entries.len());
            self.commit_read(caller, compute, make_event).await
        };
        match result.await {
            Ok((page, _)) => Ok(page),
            Err(error) => Err(self.map_and_record(caller, view, RequestTarget::Other, event, error).await),
        }
    }

    /// One page over the schemes of a view, from `start` on.
    async fn list_page(
        &self,
        caller: &Principal,
        view: View,
        start: Option<&ListStart>,
    ) -> Result<(ResourcePage, ReadSets)> {
        let mut entries = Vec::new();
        let mut read_sets = ReadSets::new();
        let mut start_found = start.is_none();
        for mounted in self.schemes_in_view(view) {
            let name = mounted.scheme.name();
            let mut after = None;
            if let Some(start) = start
                && !start_found
            {
                if start.scheme != name {
                    continue;
                }
                start_found = true;
                after = (!start.after.is_empty()).then_some(start.after.as_str());
            }
            let limit = limits::LIST_PAGE_ENTRIES - entries.len();
            if limit == 0 {
                // The previous scheme filled the page with its last entry: the next page begins with this
                // scheme.
                let next_cursor = Some(ListStart::encode(caller, name, ""));
                return Ok((ResourcePage { entries, next_cursor }, read_sets));
            }
            let scheme_page = mounted.scheme.list(caller, after, limit).await?;
            entries.extend(scheme_page.entries);
            read_sets.push(Arc::new(scheme_page.read_set));
            if let Some(next) = scheme_page.next {
                let next_cursor = Some(ListStart::encode(caller, name, &next));
                return Ok((ResourcePage { entries, next_cursor }, read_sets));
            }
        }
        Ok((ResourcePage { entries, next_cursor: None }, read_sets))
    }
}
