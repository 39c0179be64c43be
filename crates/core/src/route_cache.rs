//! The cache of parsed and routed URIs.
//!
//! The templates are fixed when the resolver is created, so a URI has the same route for the life of the
//! process. Entries never become stale.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use crate::event::truncate_for_audit;
use crate::lock::MutexExt as _;
use crate::{Address, limits};

/// An address with its scheme and route.
#[derive(Debug)]
pub(crate) struct RoutedUri {
    /// The parsed address.
    pub(crate) address: Address,
    /// The index of the scheme.
    pub(crate) scheme_index: usize,
    /// The index of the route in its scheme.
    pub(crate) route_index: usize,
    /// The URI as sent, truncated for the audit event.
    pub(crate) audit_uri: Arc<str>,
}

impl RoutedUri {
    pub(crate) fn new(uri: &str, address: Address, scheme_index: usize, route_index: usize) -> RoutedUri {
        RoutedUri { address, scheme_index, route_index, audit_uri: truncate_for_audit(uri) }
    }
}

/// Routed URIs by their text as sent.
#[derive(Debug, Default)]
pub(crate) struct RouteCache(Mutex<HashMap<Box<str>, Arc<RoutedUri>>>);

impl RouteCache {
    /// The cached route of `uri`, or the result of `route`. Errors are not cached.
    pub(crate) fn get_or_try_insert<E>(
        &self,
        uri: &str,
        route: impl FnOnce() -> Result<RoutedUri, E>,
    ) -> Result<Arc<RoutedUri>, E> {
        if uri.len() > limits::CACHED_URI_BYTES_MAX {
            return route().map(Arc::new);
        }
        if let Some(cached) = self.0.lock_unpoisoned().get(uri) {
            return Ok(cached.clone());
        }
        let routed = Arc::new(route()?);
        let mut entries = self.0.lock_unpoisoned();
        if entries.len() >= limits::ROUTES_CACHED_MAX {
            entries.clear();
        }
        entries.insert(uri.into(), routed.clone());
        Ok(routed)
    }
}

#[cfg(test)]
mod tests {
    use quad_address::{RouteSpec, Router};

    use super::*;

    #[test]
    fn caches_each_uri_text_and_is_bounded() {
        let mut router = Router::new();
        router.add(RouteSpec::parse("x://{+name}").unwrap(), ()).unwrap();
        let cache = RouteCache::default();
        let mut parse_count = 0;
        let mut get = |uri: &str| {
            let routed = cache.get_or_try_insert(uri, || {
                parse_count += 1;
                router.route(uri).map(|(address, ())| RoutedUri::new(uri, address, 1, 2))
            });
            (routed.map(|routed| routed.address.canonical().to_owned()).ok(), parse_count)
        };
        assert_eq!(get("x://a%62"), (Some("x://ab".to_owned()), 1));
        assert_eq!(get("x://a%62"), (Some("x://ab".to_owned()), 1));
        assert_eq!(
            get("x://ab"),
            (Some("x://ab".to_owned()), 2),
            "another text of the same address is another entry"
        );
        assert_eq!((get("y://a"), get("y://a")), ((None, 3), (None, 4)), "an error is not cached");
        let long = format!("x://{}", "a".repeat(limits::CACHED_URI_BYTES_MAX));
        assert_eq!((get(&long).1, get(&long).1), (5, 6));
        for index in 0..limits::ROUTES_CACHED_MAX {
            get(&format!("x://{index}"));
        }
        assert!(cache.0.lock().unwrap().len() <= limits::ROUTES_CACHED_MAX);
        assert_eq!(get("x://ab").0.as_deref(), Some("x://ab"));
    }
}
