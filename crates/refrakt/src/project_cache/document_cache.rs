//! Documents built from one generation of the project, so that other reads of it need not build them again.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use quad_core::lock::MutexExt as _;

/// Documents by name. Clones share them.
#[derive(Clone, Debug, Default)]
pub struct DocumentCache(Arc<Mutex<HashMap<String, Arc<str>>>>);

/// Names contain filters that callers choose, so the number of documents is limited.
const DOCUMENTS_MAX: usize = 64;

impl DocumentCache {
    /// The document with this name. Builds it if it is not cached.
    pub fn get_or_insert_with<E>(
        &self,
        name: &str,
        build: impl FnOnce() -> Result<String, E>,
    ) -> Result<Arc<str>, E> {
        if let Some(cached) = self.documents().get(name) {
            return Ok(cached.clone());
        }
        // Not under the lock, so that a long document does not block short ones.
        let document: Arc<str> = build()?.into();
        let mut documents = self.documents();
        if documents.len() < DOCUMENTS_MAX {
            documents.insert(name.to_owned(), document.clone());
        }
        Ok(document)
    }

    fn documents(&self) -> std::sync::MutexGuard<'_, HashMap<String, Arc<str>>> {
        self.0.lock_unpoisoned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn document_cache_builds_each_document_once() {
        let cache = DocumentCache::default();
        let get_or_insert =
            |text: &str| cache.get_or_insert_with("a", || Ok::<_, ()>(text.to_owned())).unwrap();
        assert_eq!((&*get_or_insert("one"), &*get_or_insert("two")), ("one", "one"));
        assert_eq!(cache.get_or_insert_with("b", || Err(5)), Err(5));
        assert_eq!(&*cache.get_or_insert_with("b", || Ok::<_, ()>("x".into())).unwrap(), "x");
    }
}
