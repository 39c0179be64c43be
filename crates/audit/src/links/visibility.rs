//! Which links a caller sees: those whose ends it can read now.
//!
//! A link to an address that is missing, deleted or of another tenant is omitted in the same way as one that the
//! caller has no scope for: it is neither returned nor counted. To report a broken link would tell the two apart. If
//! the address comes back, so does the link.

use std::collections::HashMap;
use std::sync::Arc;

use quad_core::{Principal, ReadSet, Resolver, Result};

use super::link::{Direction, Link, LinkId};

/// The read access of one caller, checked once per address of an answer.
pub(crate) struct LinkVisibility<'a> {
    resolver: &'a Resolver,
    caller: &'a Principal,
    cached: HashMap<String, Option<Arc<ReadSet>>>,
}

/// The links that the caller can see, with their read set.
#[derive(Debug)]
pub(crate) struct VisiblePage {
    pub(crate) links: Vec<Link>,
    /// The link to continue after, if there is more to return or to scan.
    pub(crate) next: Option<LinkId>,
    pub(crate) read_set: ReadSet,
}

/// The limits of one page.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PageLimits {
    /// Maximum links that are returned.
    pub(crate) returned: usize,
    /// Maximum links that are scanned, visible or not.
    pub(crate) scanned: usize,
}

impl<'a> LinkVisibility<'a> {
    pub(crate) fn new(resolver: &'a Resolver, caller: &'a Principal) -> LinkVisibility<'a> {
        LinkVisibility { resolver, caller, cached: HashMap::new() }
    }

    /// The read set of the caller's access to an address; `None` if it cannot read it.
    pub(crate) async fn read_set_if_readable(&mut self, uri: &str) -> Result<Option<Arc<ReadSet>>> {
        if let Some(cached) = self.cached.get(uri) {
            return Ok(cached.clone());
        }
        let read_set = match self.resolver.check_readable(self.caller, uri).await {
            Ok((_, read_set)) => Some(Arc::new(read_set)),
            // A failure of the server must not look like a missing address.
            Err(error) if error.may_pass() => return Err(error),
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

    /// The links of `links` whose other end the caller can read. `links` has all links, or one more than are scanned.
    ///
    /// There is a next page if another visible link exists, or if the scan limit was reached. So a list without
    /// further visible links ends without revealing hidden ones, unless it has more than one page scans.
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
