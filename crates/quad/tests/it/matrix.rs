//! The combinations in which every transcript runs: backend, transport and protocol revision.

use std::fmt;

/// The database.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Backend {
    Sqlite,
    Postgres,
}

/// The transport.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transport {
    Stdio,
    Http,
}

/// A revision of the protocol, by its date.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Revision(pub &'static str);

impl Revision {
    pub const MODERN: Revision = Revision("2026-07-28");
    pub const LEGACY: Revision = Revision("2025-11-25");
    pub const OLDEST: Revision = Revision("2025-03-26");

    /// Whether requests are independent of sessions.
    pub fn is_modern(self) -> bool {
        self >= Revision::MODERN
    }

    /// Whether tool results have structured content and resource links.
    pub fn has_structured_content(self) -> bool {
        self >= Revision("2025-06-18")
    }
}

/// A combination.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Combination {
    pub backend: Backend,
    pub transport: Transport,
    pub revision: Revision,
}

impl Combination {
    /// Whether a transcript with this word in `@only` runs in this combination.
    pub fn matches_word(&self, word: &str) -> bool {
        match word {
            "sqlite" => self.backend == Backend::Sqlite,
            "postgres" => self.backend == Backend::Postgres,
            "stdio" => self.transport == Transport::Stdio,
            "http" => self.transport == Transport::Http,
            "modern" => self.revision.is_modern(),
            "legacy" => !self.revision.is_modern(),
            date => self.revision.0 == date,
        }
    }
}

impl fmt::Display for Backend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Backend::Sqlite => "sqlite",
            Backend::Postgres => "postgres",
        })
    }
}

impl fmt::Display for Transport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Transport::Stdio => "stdio",
            Transport::Http => "http",
        })
    }
}

impl fmt::Display for Combination {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, {}, {}", self.backend, self.transport, self.revision.0)
    }
}
