//! Reading an address: route → scope → cache → scheme → audit.

use std::sync::Arc;

use super::audit::{Computed, ReadAttempt};
use super::{Resolver, View, require_scope};
use crate::audit_log::ReadSets;
use crate::cache::CacheKeyRef;
use crate::event::truncate_for_audit;
use crate::route_cache::RoutedUri;
use crate::scheme::RequestTarget;
use crate::{
    Address, Error, EventDraft, Kind, Principal, ReadSet, Receipt, Result, SerializedRead, Timestamp,
};

/// The answer to a read.
#[derive(Debug)]
pub struct ReadAnswer {
    /// The contents.
    pub read: Arc<SerializedRead>,
    /// The proof that the read's audit event was written.
    pub receipt: Receipt,
}

impl Resolver {
    /// Reads an address.
    pub async fn read(&self, caller: &Principal, view: View, uri: &str) -> Result<ReadAnswer> {
        let make_event = |audit_uri| EventDraft::call(caller, "resources/read").input("uri", audit_uri);
        self.read_with_event(caller, view, uri, make_event).await
    }

    /// Reads an address for `resources/read` or for a tool that does the same. The event is made when it is
    /// appended: nearly every read is computed and appended once.
    pub(crate) async fn read_with_event(
        &self,
        caller: &Principal,
        view: View,
        uri: &str,
        make_event: impl Fn(Arc<str>) -> EventDraft + Sync,
    ) -> Result<ReadAnswer> {
        let result = async {
            let routed = self.route_and_check_scope(caller, view, uri)?;
            let scheme = &self.schemes[routed.scheme_index].scheme;
            let caller_part = scheme.cache_key_part(caller, &routed.address);
            let key = CacheKeyRef {
                tenant: &caller.tenant,
                canonical: routed.address.canonical(),
                caller_part: &caller_part,
            };
            let routed = &routed;
            let compute = |is_first: bool| async move {
                let cached = if is_first { self.cache.get(key, Timestamp::now()) } else { None };
                let read = match cached {
                    Some(read) => read,
                    None => self.read_from_scheme(caller, routed, key).await?,
                };
                Ok(Computed::Read(ReadAttempt {
                    read_sets: ReadSets::from_iter([read.read_set.clone()]),
                    side_effect: read.side_effect.clone(),
                    cache_key: Some(key),
                    answer: read,
                }))
            };
            let make_event = |read: &Arc<SerializedRead>| {
                let mut event = make_event(routed.audit_uri.clone())
                    .succeeded()
                    .output("content_hash", read.content_hash.clone());
                if let Some(version) = read.read_set.version {
                    event = event.output("version", version.0);
                }
                event
            };
            self.commit_read(caller, compute, make_event).await
        };
        match result.await {
            Ok((read, receipt)) => Ok(ReadAnswer { read, receipt }),
            Err(error) => {
                let error = with_uri_if_missing(error, uri);
                let event = make_event(truncate_for_audit(uri));
                // Boxed, so that the future of a read that succeeds stays small.
                Err(Box::pin(self.map_and_record(caller, view, RequestTarget::Address(uri), event, error))
                    .await)
            }
        }
    }

    /// Has the scheme read an address, and caches the result.
    async fn read_from_scheme(
        &self,
        caller: &Principal,
        routed: &RoutedUri,
        key: CacheKeyRef<'_>,
    ) -> Result<Arc<SerializedRead>> {
        let scheme = &self.schemes[routed.scheme_index].scheme;
        let read = scheme.read(caller, routed.route_index, &routed.address).await?.serialize()?;
        self.cache.put(key.to_key(), &read, Timestamp::now());
        Ok(read)
    }

    /// The current read set of an address, for a subscription. It discloses no contents, so it leaves no
    /// audit event.
    pub async fn read_set_of(&self, caller: &Principal, view: View, uri: &str) -> Result<Arc<ReadSet>> {
        let routed = self.route_and_check_scope(caller, view, uri)?;
        let scheme = &self.schemes[routed.scheme_index].scheme;
        let output = scheme.read(caller, routed.route_index, &routed.address).await?;
        Ok(Arc::new(output.read_set))
    }

    /// Parses a URI. Checks neither scopes nor whether the resource exists.
    pub fn parse_uri(&self, uri: &str) -> Result<Address> {
        let (address, _) = self.router.route(uri).map_err(|error| Error::from(error).with_uri(uri))?;
        Ok(address)
    }

    /// Checks that the caller could read an address of any scheme now, and returns the read set of that
    /// answer. Makes the checks of a read in the same order, with the same errors. For schemes that show
    /// other schemes' addresses. It leaves no event of its own: the call that needs the answer leaves one.
    pub async fn check_readable(&self, caller: &Principal, uri: &str) -> Result<(Address, ReadSet)> {
        let routed = self.route_and_check_scope(caller, View::All, uri)?;
        let scheme = &self.schemes[routed.scheme_index].scheme;
        let result = scheme.check_readable(caller, routed.route_index, &routed.address).await;
        Ok((routed.address.clone(), result.map_err(|error| with_uri_if_missing(error, uri))?))
    }

    /// Finds the route of a URI and checks the scope that the route needs. Does no I/O.
    fn route_and_check_scope(&self, caller: &Principal, view: View, uri: &str) -> Result<Arc<RoutedUri>> {
        let route = || {
            let result = self.router.route(uri);
            result.map(|(address, route_ref)| {
                RoutedUri::new(uri, address, route_ref.scheme_index, route_ref.route_index)
            })
        };
        let routed = self
            .route_cache
            .get_or_try_insert(uri, route)
            .map_err(|error| Error::from(error).with_uri(uri))?;
        if !self.view_includes(view, routed.scheme_index) {
            return Err(Error::new(
                Kind::BadInput,
                "INVALID_URI",
                "This endpoint does not serve that scheme",
            )
            .hint("Use the endpoint of all schemes, /mcp")
            .with_uri(uri));
        }
        let requirement = self.schemes[routed.scheme_index].routes[routed.route_index].required_scope;
        require_scope(requirement, caller).map_err(|error| error.with_uri(uri))?;
        Ok(routed)
    }
}

fn with_uri_if_missing(error: Error, uri: &str) -> Error {
    if error.uri().is_some() { error } else { error.with_uri(uri) }
}
