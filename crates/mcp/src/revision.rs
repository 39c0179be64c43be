//! The protocol's revisions, and what each of them can carry.

/// A revision that we serve, oldest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Revision {
    /// The first; known from stdio clients.
    V2024_11_05,
    /// Streamable HTTP, batches, audio. The meaning of an absent version header.
    V2025_03_26,
    /// Structured results, resource links, no batches.
    V2025_06_18,
    /// The newest with `initialize`.
    V2025_11_25,
    /// Stateless; the native one.
    V2026_07_28,
}

/// Which of the protocol's two forms.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Era {
    /// `initialize`, sessions, `resources/subscribe`.
    Legacy,
    /// Everything in each request.
    Modern,
}

impl Revision {
    /// Every revision, newest first, as `supportedVersions` names them.
    pub const ALL: [Revision; 5] = [
        Revision::V2026_07_28,
        Revision::V2025_11_25,
        Revision::V2025_06_18,
        Revision::V2025_03_26,
        Revision::V2024_11_05,
    ];

    /// The newest that begins with `initialize`: our answer to a client that proposes something else.
    pub const NEWEST_LEGACY: Revision = Revision::V2025_11_25;

    /// What a legacy request speaks that does not say.
    pub const DEFAULT_LEGACY: Revision = Revision::V2025_03_26;

    /// The spelling.
    pub fn as_str(self) -> &'static str {
        match self {
            Revision::V2024_11_05 => "2024-11-05",
            Revision::V2025_03_26 => "2025-03-26",
            Revision::V2025_06_18 => "2025-06-18",
            Revision::V2025_11_25 => "2025-11-25",
            Revision::V2026_07_28 => "2026-07-28",
        }
    }

    /// Reads a revision that we serve.
    pub fn parse(text: &str) -> Option<Revision> {
        Revision::ALL.into_iter().find(|revision| revision.as_str() == text)
    }

    /// Its form.
    pub fn era(self) -> Era {
        if self >= Revision::V2026_07_28 { Era::Modern } else { Era::Legacy }
    }

    /// Whether it is of the stateless form.
    pub fn is_modern(self) -> bool {
        self.era() == Era::Modern
    }

    /// Whether several messages may come as one array.
    pub fn has_batches(self) -> bool {
        self <= Revision::V2025_03_26
    }

    /// Whether results may hold `structuredContent` and `resource_link`.
    pub fn has_structured_results(self) -> bool {
        self >= Revision::V2025_06_18
    }

    /// Whether a block may be audio.
    pub fn has_audio(self) -> bool {
        self >= Revision::V2025_03_26
    }
}

/// Whether a version header names the modern form, served or not: any date from the first modern revision on.
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
