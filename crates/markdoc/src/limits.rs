//! The limits of this crate, each with its reason.
//!
//! Only [`SOURCE_BYTES_MAX`] rejects a document. The others bound the work and memory for hostile input: beyond them
//! the tree is cut or flattened, and a [`Warning`](crate::Warning) gives the position.

/// Longest source, in bytes, far above any real page. A source of line breaks only takes about 200 times its length in
/// memory, so this limit also bounds the memory of one parse.
pub const SOURCE_BYTES_MAX: usize = 2 * 1024 * 1024;

/// Deepest nesting of blocks (quotes, lists, items, block tags), and of inline tags in one paragraph. Same number as in
/// the npm package: deeper blocks are left out, deeper inline tags stay plain text.
pub const NESTING_MAX: i32 = 100;

/// Deepest tree. Unclosed tags and emphasis nest without nesting blocks, so the tree has its own limit. It is low
/// enough to traverse, print and drop the tree recursively on a small stack. Deeper nodes become siblings.
pub const TREE_DEPTH_MAX: usize = 256;

/// Deepest nesting of arrays, hashes and function calls in one attribute value: the value parser is recursive.
pub const VALUE_DEPTH_MAX: usize = 64;

/// Most cells that are added to one table. Rows shorter than their header are filled up, so a wide header over many
/// empty rows would make a tree that grows with the square of the source.
pub const FILLED_CELLS_MAX: usize = 65_536;

/// Most nested parentheses in a link destination without `<>`, as in the npm package. Bounds the look-ahead.
pub const DESTINATION_PARENTHESES_MAX: usize = 32;

/// Longest host name that link normalisation accepts, as in the npm package (and in DNS).
pub const HOST_NAME_CHARS_MAX: usize = 255;

/// Most characters of a source that an error message repeats, so that a message stays one line.
pub const EXCERPT_CHARS_MAX: usize = 32;
