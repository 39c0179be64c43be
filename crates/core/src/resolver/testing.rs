//! Used by tests of this and other crates; no other code calls these.

use super::Resolver;
use crate::Result;
use crate::cache::Cache;

impl Resolver {
    /// Compiles every tool's input schema. In production each schema is compiled when its tool is first
    /// called.
    #[doc(hidden)]
    pub fn check_schemas(&self) -> Result<()> {
        let mut all = self.schemes.iter().flat_map(|mounted| &mounted.tools).chain(&self.builtin_tools);
        all.try_for_each(|entry| entry.validator().map(|_| ()))
    }

    /// Replaces the cache by one of another size.
    #[doc(hidden)]
    pub fn with_cache_bytes(mut self, bytes_max: usize) -> Resolver {
        self.cache = Cache::new(bytes_max);
        self
    }
}
