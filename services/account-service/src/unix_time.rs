//! A point in time, as the API writes it.

use jiff::Timestamp;
use serde::{Serialize, Serializer};

/// A time in whole seconds, written in UTC as in RFC 3339, with a `Z`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct UnixTime(i64);

// === impl UnixTime ===

impl UnixTime {
    /// Creates a time from the seconds since 1970.
    #[must_use]
    pub fn from_seconds(seconds: i64) -> Self {
        Self(seconds)
    }

    pub(super) fn seconds(self) -> i64 {
        self.0
    }

    /// Adds a number of seconds.
    pub(super) fn plus(self, seconds: i64) -> Self {
        Self(self.0.saturating_add(seconds))
    }
}

impl From<Timestamp> for UnixTime {
    fn from(at: Timestamp) -> Self {
        Self(at.as_second())
    }
}

impl std::fmt::Display for UnixTime {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // Only a damaged record can be outside of the calendar.
        let at = Timestamp::from_second(self.0).unwrap_or(Timestamp::MAX);
        f.pad(&at.to_string())
    }
}

impl Serialize for UnixTime {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fractions_of_a_second_are_not_written() {
        let at: Timestamp = "2026-01-02T03:04:05.678Z".parse().expect("a date");
        assert_eq!(UnixTime::from(at).to_string(), "2026-01-02T03:04:05Z");
    }
}
