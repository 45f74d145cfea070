//! The published revisions of the protocol.

use std::fmt;

/// A published revision of the protocol, older ones first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Revision {
    /// 2024-11-05.
    V2024_11_05,
    /// 2025-03-26: batches, annotations, audio, completions.
    V2025_03_26,
    /// 2025-06-18: titles, structured results, no more batches.
    V2025_06_18,
    /// 2025-11-25: icons and descriptions.
    V2025_11_25,
    /// 2026-07-28: every request stands for itself.
    V2026_07_28,
}

// === impl Revision ===

impl Revision {
    /// All of them, in order.
    pub const ALL: [Self; 5] = [
        Self::V2024_11_05,
        Self::V2025_03_26,
        Self::V2025_06_18,
        Self::V2025_11_25,
        Self::V2026_07_28,
    ];

    /// What an `initialize` for a revision nobody knows is answered with.
    pub const LATEST_LEGACY: Self = Self::V2025_11_25;

    /// What a client means that sends no header.
    pub const UNSAID: Self = Self::V2025_03_26;

    /// As the protocol writes it.
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

    /// Whether requests carry all there is to know about their client.
    #[must_use]
    pub const fn is_modern(self) -> bool {
        matches!(self, Self::V2026_07_28)
    }

    /// Whether the result of a tool has a structure beside its text.
    #[must_use]
    pub const fn has_structure(self) -> bool {
        self as usize >= Self::V2025_06_18 as usize
    }

    /// The revision written so, if it opens with `initialize`.
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
    fn only_the_four_that_open_with_initialize_are_legacy() {
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
