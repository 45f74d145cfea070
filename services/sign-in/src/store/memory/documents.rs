//! Documents of clients in memory.

use std::collections::HashMap;

use crate::store::{KeptDocument, Seconds};

/// Number of documents.
const MAX: usize = 1000;

/// Time after which a document is forgotten that was not asked for.
const KEPT: Seconds = 2 * 86_400;

/// Documents by their address.
#[derive(Debug, Default)]
pub(super) struct Documents(HashMap<String, KeptDocument>);

// === impl Documents ===

impl Documents {
    pub(super) fn get(&self, url: &str) -> Option<KeptDocument> {
        self.0.get(url).cloned()
    }

    /// Returns the row of a document. A new row takes the place of the oldest if there are too many,
    /// one without a copy first.
    pub(super) fn row(&mut self, url: &str) -> &mut KeptDocument {
        if self.0.len() >= MAX && !self.0.contains_key(url) {
            let rows = self.0.iter();
            let oldest = rows.min_by_key(|(_, row)| (row.text.is_some(), changed_at(row)));
            let oldest = oldest.map(|(url, _)| url.clone());
            oldest.and_then(|url| self.0.remove(&url));
        }
        self.0.entry(url.to_owned()).or_default()
    }

    /// Removes documents that were not asked for.
    pub(super) fn sweep(&mut self, now: Seconds) {
        self.0.retain(|_, row| changed_at(row) + KEPT > now);
    }
}

/// Returns the moment at which a document was fetched last, or could not be.
fn changed_at(row: &KeptDocument) -> Seconds {
    row.fetched_at.max(row.failed_at.unwrap_or_default())
}
