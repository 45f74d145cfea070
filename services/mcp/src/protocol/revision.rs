//! The published revisions of the protocol.

use std::fmt;

/// A published revision of the protocol, ordered by age, oldest first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Revision {
    /// 2024-11-05.
    #[default]
    V2024_11_05,
    /// 2025-03-26: batches, annotations, audio, completions.
    V2025_03_26,
    /// 2025-06-18: titles, structured results, no more batches.
    V2025_06_18,
    /// 2025-11-25: icons and descriptions.
    V2025_11_25,
    /// 2026-07-28: stateless requests.
    V2026_07_28,
}

/// A set of revisions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Revisions([bool; Revision::ALL.len()]);

// === impl Revisions ===

impl Revisions {
    pub(crate) fn all() -> Self {
        Self([true; Revision::ALL.len()])
    }

    pub(crate) fn contains(self, revision: Revision) -> bool {
        self.0[revision as usize]
    }

    /// Returns the revisions of the set, newest first.
    pub(crate) fn newest_first(self) -> impl Iterator<Item = Revision> {
        let newest_first = Revision::ALL.into_iter().rev();
        newest_first.filter(move |revision| self.contains(*revision))
    }
}

impl FromIterator<Revision> for Revisions {
    fn from_iter<I: IntoIterator<Item = Revision>>(revisions: I) -> Self {
        let mut set = Self([false; Revision::ALL.len()]);
        for revision in revisions {
            set.0[revision as usize] = true;
        }
        set
    }
}

// === impl Revision ===

impl Revision {
    /// All revisions, oldest first.
    pub const ALL: [Self; 5] = [
        Self::V2024_11_05,
        Self::V2025_03_26,
        Self::V2025_06_18,
        Self::V2025_11_25,
        Self::V2026_07_28,
    ];

    /// The revision of a request without a header.
    pub(crate) const WITHOUT_HEADER: Self = Self::V2025_03_26;

    /// Returns the revision as the protocol writes it.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::V2024_11_05 => "2024-11-05",
            Self::V2025_03_26 => "2025-03-26",
            Self::V2025_06_18 => "2025-06-18",
            Self::V2025_11_25 => "2025-11-25",
            Self::V2026_07_28 => "2026-07-28",
        }
    }

    /// Returns whether every request carries the revision and the capabilities of its client.
    #[must_use]
    pub const fn is_modern(self) -> bool {
        matches!(self, Self::V2026_07_28)
    }

    /// Returns whether lists of tools have annotations.
    #[must_use]
    pub const fn has_annotations(self) -> bool {
        self as usize >= Self::V2025_03_26 as usize
    }

    /// Returns whether the result of a tool can have a structure.
    #[must_use]
    pub(crate) const fn has_structure(self) -> bool {
        self as usize >= Self::V2025_06_18 as usize
    }

    /// Parses a revision that starts with `initialize`.
    #[must_use]
    pub fn legacy(text: &[u8]) -> Option<Self> {
        let of = |revision: &Self| revision.as_str().as_bytes() == text;
        Self::ALL.into_iter().find(of).filter(|it| !it.is_modern())
    }
}

impl fmt::Display for Revision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_four_that_start_with_initialize_are_legacy() {
        for revision in Revision::ALL {
            let found = Revision::legacy(revision.as_str().as_bytes());
            let expected = (revision != Revision::V2026_07_28).then_some(revision);
            assert_eq!(found, expected, "{revision}");
        }
        for other in ["", "2025-11-26", " 2025-11-25", "DRAFT-2026-v1"] {
            assert_eq!(Revision::legacy(other.as_bytes()), None, "{other}");
        }
    }
}
