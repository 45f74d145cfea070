//! Places that the values of a configuration come from.

use std::collections::BTreeMap;

/// Place that the value of a key comes from. A later one comes before an earlier one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Source {
    /// The program itself.
    #[default]
    Default,
    /// The file.
    File,
    /// An environment variable.
    Environment,
    /// The command line.
    Flag,
}

/// Places that the values come from, by key.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sources(BTreeMap<String, Source>);

// === impl Source ===

impl Source {
    /// Returns the word for it: `default`, `file`, `environment` or `flag`.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Default => "default",
            Self::File => "file",
            Self::Environment => "environment",
            Self::Flag => "flag",
        }
    }
}

// === impl Sources ===

impl Sources {
    /// Returns the place that the value of a key, such as `databases[0].host`, comes from.
    #[must_use]
    pub fn of(&self, key: &str) -> Source {
        self.0.get(key).copied().unwrap_or_default()
    }

    /// Records a place, unless one is known that comes before it.
    pub(super) fn add(&mut self, key: &str, source: Source) {
        if self.of(key) < source {
            self.0.insert(key.to_owned(), source);
        }
    }
}
