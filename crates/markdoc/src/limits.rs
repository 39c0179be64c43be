//! Every limit of this crate, each with its reason.
//!
//! Only [`SOURCE_BYTES_MAX`] refuses a document. The others bound what a hostile text can make of the parser: past
//! them the tree is cut or flattened at one place, and a [`Warning`](crate::Warning) says where.

/// Longest source, in bytes. Far above any page that a person writes. A source of nothing but line breaks takes about
/// 200 times its length in memory, so this is also what bounds the memory of one parse.
pub const SOURCE_BYTES_MAX: usize = 2 * 1024 * 1024;

/// Deepest nesting of blocks (quotes, lists, items, block tags), and of inline tags within one paragraph. The
/// original has the same number: what lies deeper in blocks is left out, what lies deeper in a paragraph stays plain
/// text.
pub const NESTING_MAX: i32 = 100;

/// Deepest tree. Tags that are never closed nest without nesting blocks, and emphasis nests without limit, so the
/// tree has a limit of its own: low enough to walk, print and drop it recursively on a small stack. Deeper nodes
/// become siblings.
pub const TREE_DEPTH_MAX: usize = 256;

/// Deepest nesting of arrays, hashes and function calls in one attribute value: the value parser is recursive.
pub const VALUE_DEPTH_MAX: usize = 64;

/// Most cells that one table may have beyond those that are written. Rows shorter than their header are filled up, so
/// a wide header over many empty rows would make a tree that grows with the square of the source.
pub const FILLED_CELLS_MAX: usize = 65_536;

/// Most nested parentheses in a link destination without `<>`, as in the original: it keeps the look-ahead short.
pub const DESTINATION_PARENTHESES_MAX: usize = 32;

/// Longest host name that link normalisation treats as one, as in the original (and in the domain name system).
pub const HOST_NAME_CHARS_MAX: usize = 255;

/// Most characters of a source that an error message repeats, so that a message stays one readable line.
pub const EXCERPT_CHARS_MAX: usize = 32;
