//! Entries by name, in order.

use std::fmt;

/// A list sorted by name, so that listing it always gives the same text.
#[derive(Clone)]
pub(super) struct SortedList<T> {
    entries: Vec<(Box<str>, T)>,
}

// === impl SortedList ===

impl<T> SortedList<T> {
    pub(super) fn insert(&mut self, name: impl Into<Box<str>>, entry: T) {
        let name = name.into();
        let at = self.entries.partition_point(|(other, _)| *other <= name);
        self.entries.insert(at, (name, entry));
    }

    pub(super) fn remove(&mut self, name: &str) {
        self.entries.retain(|(other, _)| **other != *name);
    }

    pub(super) fn find(&self, name: &str) -> Option<&T> {
        let at = self
            .entries
            .binary_search_by(|(other, _)| (**other).cmp(name));
        at.ok().map(|at| &self.entries[at].1)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &T> {
        self.entries.iter().map(|(_, entry)| entry)
    }

    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.entries.iter().map(|(name, _)| &**name)
    }

    /// Returns a name that more than one entry has.
    pub(super) fn duplicate(&self) -> Option<&str> {
        let mut pairs = self.entries.windows(2);
        let pair = pairs.find(|pair| pair[0].0 == pair[1].0)?;
        Some(&pair[0].0)
    }
}

impl<T> Default for SortedList<T> {
    fn default() -> Self {
        Self {
            entries: Vec::new(),
        }
    }
}

impl<T> fmt::Debug for SortedList<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.names()).finish()
    }
}
