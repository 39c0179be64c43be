//! Every limit of this crate, each with its reason.

/// Longest URI, both as sent and in canonical form.
///
/// 8 KiB is what HTTP servers and proxies commonly allow for a request line, so an address that
/// passes here also passes as `GET /v1/resources?uri=…`; it leaves room for a 4 KiB text.
pub const URI_BYTES_MAX: usize = 8 * 1024;

/// Longest template; one that is longer could match nothing shorter than itself.
pub const TEMPLATE_BYTES_MAX: usize = URI_BYTES_MAX;

/// Longest id. Prefix and ULID take about 32 bytes; imported ids may be twice that.
pub const ID_BYTES_MAX: usize = 64;

/// Longest name: what file systems, SQL identifiers and rune names stay well below.
pub const NAME_BYTES_MAX: usize = 128;

/// Longest free text, decoded: a search question or an attribute, not a document.
pub const TEXT_BYTES_MAX: usize = 4096;

/// Most query keys in one URI: far more than any template declares or rune has attributes, and few
/// enough to search them one by one.
pub const QUERY_KEYS_MAX: usize = 64;

/// Longest word, in characters, that is compared with a vocabulary. Edit distance is quadratic, and
/// nobody mistypes a word of this length into one of ours.
pub const COMPARED_WORD_CHARS_MAX: usize = 64;

/// Most suggestions in one hint: more would be a list, and lists have their own address.
pub const SUGGESTIONS_MAX: usize = 3;

/// Most characters of the caller's own input that an error repeats, so that an answer cannot be
/// made long, or made to say something, by the one who asks.
pub const ECHO_CHARS_MAX: usize = 64;

/// Most times that a canonical form is routed again. Each pass only drops a leading slash or folds
/// case, so a second pass changes little and a third nothing.
pub const CANONICAL_PASSES_MAX: usize = 4;
