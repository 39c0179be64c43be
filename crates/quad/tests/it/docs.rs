//! The documentation: links resolve, console examples print what the pages show, the generated reference is current,
//! and nothing that a user can meet (an error code, a scope, a metric) is left undocumented.
//!
//! `QUAD_TEST_BLESS=1` writes the generated pages `docs/reference/cli.md`, `tools.md` and `limits.md`.

mod architecture;
mod console;
mod contributing;
mod links;
mod markdown;
mod pages;
mod readable;
mod reference;
mod source;
