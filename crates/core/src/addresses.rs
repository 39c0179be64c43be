//! Addresses that were asked for lately, read once.
//!
//! The templates are fixed when the resolver is made, so a spelling means the same for as long as the process runs: nothing
//! here can become wrong.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use crate::event::shorten;
use crate::{Address, limits};

/// An address, and which scheme and route answer for it.
#[derive(Debug)]
pub(crate) struct Located {
    /// The address.
    pub(crate) address: Address,
    /// The scheme, by its place.
    pub(crate) scheme: usize,
    /// The route, by its place in the scheme.
    pub(crate) route: usize,
    /// As it was asked for, for the audit.
    pub(crate) asked: Arc<str>,
}

impl Located {
    pub(crate) fn new(uri: &str, address: Address, scheme: usize, route: usize) -> Located {
        Located { address, scheme, route, asked: shorten(uri) }
    }
}

/// What has been located, by its spelling.
#[derive(Debug, Default)]
pub(crate) struct Addresses(Mutex<HashMap<Box<str>, Arc<Located>>>);

impl Addresses {
    /// What `uri` names: as it is remembered, or as `locate` finds it.
    pub(crate) fn get_or<E>(
        &self,
        uri: &str,
        locate: impl FnOnce() -> Result<Located, E>,
    ) -> Result<Arc<Located>, E> {
        if uri.len() > limits::ADDRESS_REMEMBERED_BYTES {
            return locate().map(Arc::new);
        }
        // No panic can leave the map half changed.
        let lock = || self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = lock().get(uri) {
            return Ok(known.clone());
        }
        let located = Arc::new(locate()?);
        let mut known = lock();
        if known.len() >= limits::ADDRESSES_REMEMBERED {
            known.clear();
        }
        known.insert(uri.into(), located.clone());
        Ok(located)
    }
}

#[cfg(test)]
mod tests {
    use quad_address::{RouteSpec, Router};

    use super::*;

    #[test]
    fn each_spelling_is_read_once_and_never_more_than_so_many_are_kept() {
        let mut router = Router::new();
        router.add(RouteSpec::parse("x://{+name}").unwrap(), ()).unwrap();
        let addresses = Addresses::default();
        let mut read = 0;
        let mut get = |uri: &str| {
            let located = addresses.get_or(uri, || {
                read += 1;
                router.route(uri).map(|(address, ())| Located::new(uri, address, 1, 2))
            });
            (located.map(|located| located.address.canonical().to_owned()).ok(), read)
        };
        assert_eq!(get("x://a%62"), (Some("x://ab".to_owned()), 1));
        assert_eq!(get("x://a%62"), (Some("x://ab".to_owned()), 1));
        assert_eq!(get("x://ab"), (Some("x://ab".to_owned()), 2), "another spelling");
        assert_eq!(
            (get("y://a"), get("y://a")),
            ((None, 3), (None, 4)),
            "nothing is kept of what is no address"
        );
        let long = format!("x://{}", "a".repeat(limits::ADDRESS_REMEMBERED_BYTES));
        assert_eq!((get(&long).1, get(&long).1), (5, 6));
        for number in 0..limits::ADDRESSES_REMEMBERED {
            get(&format!("x://{number}"));
        }
        assert!(addresses.0.lock().unwrap().len() <= limits::ADDRESSES_REMEMBERED);
        assert_eq!(get("x://ab").0.as_deref(), Some("x://ab"));
    }
}
