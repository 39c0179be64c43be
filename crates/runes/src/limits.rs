//! Every limit of this crate, with its reason.

/// Largest catalogue file in bytes. The largest of our own is 60 kB; a project that needs sixteen times that has a mistake.
pub const CATALOGUE_FILE_BYTES_MAX: usize = 1 << 20;

/// Most runes in one package: four times the whole official catalogue.
pub const PACKAGE_RUNES_MAX: usize = 512;

/// Deepest nesting of content models (a model within a section within a zone…). The official runes need three.
pub const MODEL_DEPTH_MAX: usize = 8;
