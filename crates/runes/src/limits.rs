//! Every limit of this crate, with its reason.

/// Largest catalogue file in bytes. The largest of our own is 60 kB; a project that needs sixteen times that has a mistake.
pub const CATALOGUE_FILE_BYTES_MAX: usize = 1 << 20;

/// Most runes in one package: four times the whole official catalogue.
pub const PACKAGE_RUNES_MAX: usize = 512;

/// Deepest nesting of content models (a model within a section within a zone…). The official runes need three.
pub const MODEL_DEPTH_MAX: usize = 8;

/// Most marks of one rating. A page that wants more stars than this has mistaken a number for a rating.
pub const RATING_MARKS_MAX: u32 = 100;

/// Deepest nesting of a document that is rendered: of Markdown within runes within runes. A parsed document has its own limit
/// of 256 levels; runes that wrap what they hold add some. Every stage walks the tree recursively, so the stack depends on it.
pub const RENDER_DEPTH_MAX: usize = 400;

/// Most runes around a rune, those counted that headings and list items become. Ten are already a page that nobody can read. All
/// stages are recursive, and a rune takes more of the stack than a paragraph does: two megabytes must do.
pub const RUNE_DEPTH_MAX: usize = 40;

/// Most nodes that one document may become. A page of 500 lines has about 5,000; a rune that repeats its content (tabs and
/// their panels, a preview and its source) multiplies, and nested it multiplies again.
pub const RENDER_NODES_MAX: usize = 1_000_000;

/// Most cells of the table that compares two code blocks line by line: two blocks of 4,000 lines, 64 MB while it is compared.
pub const DIFF_CELLS_MAX: usize = 16_000_000;

/// Most bytes of markup that the previews of one document show as text: a hundred of the largest examples. A preview within a
/// preview shows the inner one's markup once more, escaped, so that the text more than doubles with each level.
pub const PREVIEW_MARKUP_BYTES_MAX: usize = 512 * 1024;
