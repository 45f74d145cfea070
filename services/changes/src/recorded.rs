//! Changed rows as the record of a call has them.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::{change::Seen, shown::by_kind};

/// Step of a checked write.
#[derive(Serialize)]
struct Recorded<'a> {
    step: &'a str,
    diff: &'a str,
    /// Added, changed and removed rows.
    changed: BTreeMap<&'a str, [usize; 3]>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    uncompared: BTreeMap<&'a str, [u64; 3]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    xid: Option<u64>,
}

// === impl Seen ===

impl Seen {
    /// Returns the step of a checked write as JSON, with the mark of the changes and the id of the
    /// transaction. It has no values.
    #[must_use]
    pub fn recorded(&self, step: &str, diff: &str, transaction: Option<u64>) -> String {
        let changed = self.tables.iter();
        let changed = changed.map(|it| (&*it.table.name, by_kind(&it.changes)));
        let uncompared = self.unread.iter().map(|it| (&*it.table, it.rows));
        let recorded = Recorded {
            step,
            diff,
            changed: changed.collect(),
            uncompared: uncompared.collect(),
            xid: transaction,
        };
        serde_json::to_string(&recorded).expect("texts and numbers only")
    }
}
