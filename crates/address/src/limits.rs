//! Every limit of this crate, each with its reason.

/// Longest URI, both as sent and in canonical form.
///
/// HTTP servers and proxies commonly accept 8 KiB for a request line, so such an address also works
/// in `GET /v1/resources?uri=…`. It has space for a text of 4 KiB.
pub const URI_BYTES_MAX: usize = 8 * 1024;

/// Longest template. A longer one could only match URIs that are too long.
pub const TEMPLATE_BYTES_MAX: usize = URI_BYTES_MAX;

/// Longest id. Prefix and ULID take about 32 bytes; imported ids may be longer.
pub const ID_BYTES_MAX: usize = 64;

/// Longest name. File names, SQL identifiers and rune names are shorter.
pub const NAME_BYTES_MAX: usize = 128;

/// Longest free text, decoded: a search question or an attribute, not a document.
pub const TEXT_BYTES_MAX: usize = 4096;

/// Most query keys in one URI: more than any template declares or any rune has attributes, and few
/// enough for a linear search.
pub const QUERY_KEYS_MAX: usize = 64;

/// Longest word, in characters, that is compared with a vocabulary. Edit distance is quadratic, and
/// no vocabulary has words of this length.
pub const COMPARED_WORD_CHARS_MAX: usize = 64;

/// Most suggestions in one hint. More would be a list, and lists have their own address.
pub const SUGGESTIONS_MAX: usize = 3;

/// Most templates in the hint for an address that resembles none: enough to choose from, few enough to read.
pub const TEMPLATES_LISTED_MAX: usize = 8;

/// Most characters of the caller's input that an error repeats, so that a caller cannot make an error
/// long or put text of its own into it.
pub const ECHO_CHARS_MAX: usize = 64;

/// Most times that a canonical form is routed again. Each pass only drops a leading slash or folds
/// case, so the third pass changes nothing.
pub const CANONICAL_PASSES_MAX: usize = 4;
