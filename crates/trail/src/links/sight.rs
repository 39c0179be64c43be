//! What a caller sees of the links: those whose both ends it could read now.
//!
//! A link to something that is missing, gone or another tenant's, and one to something that the caller has no scope for, are left
//! out alike: neither shown nor counted, for to say that a link is broken would tell the two apart. If its end comes back, so does
//! the link.

use std::collections::HashMap;
use std::sync::Arc;

use quad_core::{ReadSet, Kind, Principal, Resolver, Result};

use super::link::{Direction, Link, LinkId};

/// What one caller can reach, looked up once for each address of an answer.
pub(crate) struct Sight<'a> {
    resolver: &'a Resolver,
    caller: &'a Principal,
    known: HashMap<String, Option<Arc<ReadSet>>>,
}

/// Links that the caller can see, and what that rests on.
#[derive(Debug)]
pub(crate) struct Seen {
    pub(crate) links: Vec<Link>,
    /// The link after which to go on, if there is more to see or more to look at.
    pub(crate) next: Option<LinkId>,
    pub(crate) basis: ReadSet,
}

/// How far one look goes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reach {
    /// Links that it shows.
    pub(crate) shown: usize,
    /// Links that it looks at, whether they are shown or not.
    pub(crate) looked: usize,
}

impl<'a> Sight<'a> {
    pub(crate) fn new(resolver: &'a Resolver, caller: &'a Principal) -> Sight<'a> {
        Sight { resolver, caller, known: HashMap::new() }
    }

    /// What it rests on that the caller can read an address; `None` if it cannot.
    pub(crate) async fn reaches(&mut self, uri: &str) -> Result<Option<Arc<ReadSet>>> {
        if let Some(known) = self.known.get(uri) {
            return Ok(known.clone());
        }
        let found = match self.resolver.check_readable(self.caller, uri).await {
            Ok((_, basis)) => Some(Arc::new(basis)),
            // Our own failure must not look like an absence.
            Err(error) if matches!(error.kind(), Kind::Internal | Kind::Credential) => return Err(error),
            Err(_) => None,
        };
        self.known.insert(uri.to_owned(), found.clone());
        Ok(found)
    }

    /// Whether the caller can read both ends.
    pub(crate) async fn sees(&mut self, link: &Link) -> Result<bool> {
        Ok(self.reaches(&link.from).await?.is_some() && self.reaches(&link.to).await?.is_some())
    }

    /// Those of `links` whose other end the caller can read. `links` are all that there are, or one more than are looked at.
    ///
    /// There is a next page if another link can be seen, or if no more were looked at. So a list of which nothing more can be seen
    /// ends without a word about what else it holds, unless that is more than one look covers.
    pub(crate) async fn filter(
        &mut self,
        links: Vec<Link>,
        direction: Direction,
        reach: Reach,
        mut basis: ReadSet,
    ) -> Result<Seen> {
        let mut shown: Vec<Link> = Vec::new();
        let mut last_looked = None;
        for (index, link) in links.into_iter().enumerate() {
            if index == reach.looked {
                return Ok(Seen { links: shown, next: last_looked, basis });
            }
            last_looked = Some(link.id.clone());
            let Some(end) = self.reaches(direction.other(&link)).await? else { continue };
            basis = basis.merge_hidden(&end);
            if shown.len() == reach.shown {
                let next = shown.last().map(|last| last.id.clone());
                return Ok(Seen { links: shown, next, basis });
            }
            shown.push(link);
        }
        Ok(Seen { links: shown, next: None, basis })
    }
}
