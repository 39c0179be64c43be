//! What a caller sees of the links: those whose both ends it could read now.
//!
//! A link to something that is missing, gone or another tenant's, and one to something that the caller has no scope for, are left
//! out alike: neither shown nor counted, for to say that a link is broken would tell the two apart. If its end comes back, so does
//! the link.

use std::collections::HashMap;
use std::sync::Arc;

use quad_core::{Kind, Principal, ReadSet, Resolver, Result};

use super::link::{Direction, Link, LinkId};

/// What one caller can reach, looked up once for each address of an answer.
pub(crate) struct LinkVisibility<'a> {
    resolver: &'a Resolver,
    caller: &'a Principal,
    cached: HashMap<String, Option<Arc<ReadSet>>>,
}

/// Links that the caller can see, and what that rests on.
#[derive(Debug)]
pub(crate) struct VisiblePage {
    pub(crate) links: Vec<Link>,
    /// The link after which to go on, if there is more to see or more to look at.
    pub(crate) next: Option<LinkId>,
    pub(crate) read_set: ReadSet,
}

/// How far one look goes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PageLimits {
    /// Links that it shows.
    pub(crate) returned: usize,
    /// Links that it looks at, whether they are shown or not.
    pub(crate) scanned: usize,
}

impl<'a> LinkVisibility<'a> {
    pub(crate) fn new(resolver: &'a Resolver, caller: &'a Principal) -> LinkVisibility<'a> {
        LinkVisibility { resolver, caller, cached: HashMap::new() }
    }

    /// What it rests on that the caller can read an address; `None` if it cannot.
    pub(crate) async fn read_set_if_readable(&mut self, uri: &str) -> Result<Option<Arc<ReadSet>>> {
        if let Some(cached) = self.cached.get(uri) {
            return Ok(cached.clone());
        }
        let read_set = match self.resolver.check_readable(self.caller, uri).await {
            Ok((_, read_set)) => Some(Arc::new(read_set)),
            // Our own failure must not look like an absence.
            Err(error) if matches!(error.kind(), Kind::Internal | Kind::Credential) => return Err(error),
            Err(_) => None,
        };
        self.cached.insert(uri.to_owned(), read_set.clone());
        Ok(read_set)
    }

    /// Whether the caller can read both ends.
    pub(crate) async fn is_visible(&mut self, link: &Link) -> Result<bool> {
        Ok(self.read_set_if_readable(&link.from).await?.is_some()
            && self.read_set_if_readable(&link.to).await?.is_some())
    }

    /// Those of `links` whose other end the caller can read. `links` are all that there are, or one more than are looked at.
    ///
    /// There is a next page if another link can be seen, or if no more were looked at. So a list of which nothing more can be seen
    /// ends without a word about what else it holds, unless that is more than one look covers.
    pub(crate) async fn filter(
        &mut self,
        links: Vec<Link>,
        direction: Direction,
        limits: PageLimits,
        mut read_set: ReadSet,
    ) -> Result<VisiblePage> {
        let mut visible: Vec<Link> = Vec::new();
        let mut last_scanned = None;
        for (index, link) in links.into_iter().enumerate() {
            if index == limits.scanned {
                return Ok(VisiblePage { links: visible, next: last_scanned, read_set });
            }
            last_scanned = Some(link.id.clone());
            let Some(end_read_set) = self.read_set_if_readable(direction.other_end(&link)).await? else {
                continue;
            };
            read_set = read_set.merge_hidden(&end_read_set);
            if visible.len() == limits.returned {
                let next = visible.last().map(|last| last.id.clone());
                return Ok(VisiblePage { links: visible, next, read_set });
            }
            visible.push(link);
        }
        Ok(VisiblePage { links: visible, next: None, read_set })
    }
}
