//! The invalidation tags of this scheme.
//!
//! Processes that share a database may serve different folders, so every tag contains a hash of the folder's path.

use std::path::Path;

use quad_core::Tag;
use quad_core::canonical::sha256_hex;

use crate::plan::Entity;

/// Builds the tags of one project folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ProjectTags(String);

impl ProjectTags {
    pub(crate) fn from_path(path: &Path) -> ProjectTags {
        let mut hash = sha256_hex(path.as_os_str().as_encoded_bytes());
        hash.truncate(16);
        ProjectTags(hash)
    }

    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }

    /// The answer of `refrakt://detect`.
    pub(crate) fn detect(&self) -> Tag {
        Tag::new(format!("refrakt:detected:{}", self.0))
    }

    /// The sites and their runes.
    pub(crate) fn sites(&self) -> Tag {
        Tag::new(format!("refrakt:sites:{}", self.0))
    }

    /// Any file of the plan.
    pub(crate) fn plan(&self) -> Tag {
        Tag::new(format!("refrakt:plan:{}", self.0))
    }

    /// Any file of a content folder.
    pub(crate) fn pages(&self) -> Tag {
        Tag::new(format!("refrakt:pages:{}", self.0))
    }

    /// A change of more pages than one change lists.
    pub(crate) fn bulk_pages(&self) -> Tag {
        Tag::new(format!("refrakt:many-pages:{}", self.0))
    }

    /// The page at a normalized URL.
    pub(crate) fn page(&self, key: &str) -> Tag {
        Tag::new(format!("refrakt:page:{}:{key}", self.0))
    }

    /// A change of more entities than one change lists.
    pub(crate) fn bulk_entities(&self) -> Tag {
        Tag::new(format!("refrakt:many:{}", self.0))
    }

    /// One entity.
    pub(crate) fn entity(&self, entity: &Entity) -> Tag {
        Tag::new(format!("refrakt:entity:{}:{}/{}", self.0, entity.kind, entity.label()))
    }
}
