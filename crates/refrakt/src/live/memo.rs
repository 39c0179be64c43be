//! Documents that were worked out from one state of the project, so that the next reader of that state need not wait.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

/// Documents by name. Clones share them.
#[derive(Clone, Debug, Default)]
pub struct Memo(Arc<Mutex<HashMap<String, Arc<str>>>>);

/// Names are chosen by callers where a filter is part of them, so a state keeps only so many.
const DOCUMENTS_MAX: usize = 64;

impl Memo {
    /// The document of that name, made now if nobody has made it yet.
    pub fn get<E>(&self, name: &str, make: impl FnOnce() -> Result<String, E>) -> Result<Arc<str>, E> {
        if let Some(known) = self.documents().get(name) {
            return Ok(known.clone());
        }
        // Not under the lock: a long document must not keep the short ones waiting.
        let made: Arc<str> = make()?.into();
        let mut documents = self.documents();
        if documents.len() < DOCUMENTS_MAX {
            documents.insert(name.to_owned(), made.clone());
        }
        Ok(made)
    }

    fn documents(&self) -> std::sync::MutexGuard<'_, HashMap<String, Arc<str>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_document_is_made_once() {
        let memo = Memo::default();
        let made = |text: &str| memo.get("a", || Ok::<_, ()>(text.to_owned())).unwrap();
        assert_eq!((&*made("one"), &*made("two")), ("one", "one"));
        assert_eq!(memo.get("b", || Err(5)), Err(5));
        assert_eq!(&*memo.get("b", || Ok::<_, ()>("x".into())).unwrap(), "x");
    }
}
