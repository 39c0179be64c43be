//! The revisions of the protocol and the features of each.

/// A revision that this server speaks, oldest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Revision {
    /// The first revision; only stdio clients use it.
    V2024_11_05,
    /// Streamable HTTP, batches, audio. The default when the version header is absent.
    V2025_03_26,
    /// Structured results, resource links, no batches.
    V2025_06_18,
    /// The newest revision with `initialize`.
    V2025_11_25,
    /// Stateless; the only modern revision.
    V2026_07_28,
}

/// The two forms of the protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Era {
    /// `initialize`, sessions, `resources/subscribe`.
    Legacy,
    /// Stateless: every request carries its revision.
    Modern,
}

impl Revision {
    /// Every revision, newest first, in the order of `supportedVersions`.
    pub const ALL: [Revision; 5] = [
        Revision::V2026_07_28,
        Revision::V2025_11_25,
        Revision::V2025_06_18,
        Revision::V2025_03_26,
        Revision::V2024_11_05,
    ];

    /// The newest legacy revision: offered to a client that proposes an unknown one.
    pub const NEWEST_LEGACY: Revision = Revision::V2025_11_25;

    /// The revision of a legacy request that names none.
    pub const DEFAULT_LEGACY: Revision = Revision::V2025_03_26;

    /// The name on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Revision::V2024_11_05 => "2024-11-05",
            Revision::V2025_03_26 => "2025-03-26",
            Revision::V2025_06_18 => "2025-06-18",
            Revision::V2025_11_25 => "2025-11-25",
            Revision::V2026_07_28 => "2026-07-28",
        }
    }

    /// Parses a supported revision.
    pub fn parse(text: &str) -> Option<Revision> {
        Revision::ALL.into_iter().find(|revision| revision.as_str() == text)
    }

    /// Parses a supported modern revision.
    pub(crate) fn parse_modern(text: &str) -> Option<Revision> {
        Revision::parse(text).filter(|revision| revision.is_modern())
    }

    /// The era of the revision.
    pub fn era(self) -> Era {
        if self >= Revision::V2026_07_28 { Era::Modern } else { Era::Legacy }
    }

    /// Whether the revision is modern.
    pub fn is_modern(self) -> bool {
        self.era() == Era::Modern
    }

    /// Whether several messages may be sent as one array.
    pub fn has_batches(self) -> bool {
        self <= Revision::V2025_03_26
    }

    /// Whether results may have `structuredContent` and `resource_link`.
    pub fn has_structured_results(self) -> bool {
        self >= Revision::V2025_06_18
    }

    /// Whether content may be audio.
    pub fn has_audio(self) -> bool {
        self >= Revision::V2025_03_26
    }
}

/// Whether a version is modern, supported or not: any date from the first modern revision on.
pub(crate) fn is_modern_version(version: &str) -> bool {
    let is_date = version.len() == 10
        && version.bytes().enumerate().all(|(index, byte)| match index {
            4 | 7 => byte == b'-',
            _ => byte.is_ascii_digit(),
        });
    is_date && version >= Revision::V2026_07_28.as_str()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_revision_round_trips() {
        for revision in Revision::ALL {
            assert_eq!(Revision::parse(revision.as_str()), Some(revision));
        }
        assert_eq!(Revision::parse("1900-01-01"), None);
    }

    #[test]
    fn version_is_modern_from_first_modern_date() {
        let check = |version: &str, expect: bool| assert_eq!(is_modern_version(version), expect, "{version}");
        check("2026-07-28", true);
        check("2031-01-01", true);
        check("2025-11-25", false);
        check("1900-01-01", false);
        check("nonsense!!", false);
        check("3", false);
    }

    #[test]
    fn features_depend_on_revision() {
        assert!(Revision::V2025_03_26.has_batches() && !Revision::V2025_06_18.has_batches());
        assert!(
            !Revision::V2025_03_26.has_structured_results() && Revision::V2025_06_18.has_structured_results()
        );
        assert!(!Revision::V2024_11_05.has_audio());
    }
}
