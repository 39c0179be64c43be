//! The limits of this crate.

/// Most allowed values that a hint names: more than any official attribute has. A model reads the whole hint.
pub const CHOICES_SHOWN_MAX: usize = 40;

/// Largest catalogue file in bytes: 16 times the largest built-in file (60 kB).
pub const CATALOGUE_FILE_BYTES_MAX: usize = 1 << 20;

/// Most runes in one package: four times the official catalogue.
pub const PACKAGE_RUNES_MAX: usize = 512;

/// Deepest nesting of content models (a model within a section within a zone…). The official runes need three.
pub const MODEL_DEPTH_MAX: usize = 8;

/// Most marks of one rating. More marks are a mistake: the number is not a rating.
pub const RATING_MARKS_MAX: u32 = 100;

/// Deepest nesting of a rendered document. The parser allows 256 levels; runes that wrap their content add some. All
/// stages are recursive, so this limits the stack.
pub const RENDER_DEPTH_MAX: usize = 400;

/// Most runes that enclose a rune, including those that headings and list items become. Pages rarely nest more than
/// ten. All stages are recursive, and a rune needs more stack than a paragraph: 2 MB must be enough.
pub const RUNE_DEPTH_MAX: usize = 40;

/// Most nodes of one document. A page of 500 lines has about 5,000. A rune that repeats its content (tabs and panels, a
/// preview and its source) multiplies the number at every level of nesting.
pub const RENDER_NODES_MAX: usize = 1_000_000;

/// Most cells of the table that compares two code blocks: two blocks of 4,000 lines, 64 MB during the comparison.
pub const DIFF_CELLS_MAX: usize = 16_000_000;

/// Most bytes of markup that the previews of one document show as text: 100 times the largest example. A preview within
/// a preview shows the inner markup again, escaped, so the text more than doubles with each level.
pub const PREVIEW_MARKUP_BYTES_MAX: usize = 512 * 1024;
