//! The two worlds.

/// A set of rows. Both worlds have the same rows of A, and other rows of B in another number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum World {
    /// The first one, from which the calls are made up.
    First,
    /// The other one.
    Second,
}

// === impl World ===

impl World {
    /// Both, in their order.
    pub const BOTH: [Self; 2] = [Self::First, Self::Second];

    /// Returns its place in lists.
    pub(crate) fn index(self) -> usize {
        match self {
            Self::First => 0,
            Self::Second => 1,
        }
    }

    /// Returns how many rows of B each table gets.
    pub(crate) fn rows_of_b(self) -> usize {
        match self {
            Self::First => 6,
            Self::Second => 4,
        }
    }
}
