//! Changed rows as the record of a call has them.

use std::collections::BTreeMap;

use serde_json::json;

use crate::{change::Seen, shown::by_kind};

// === impl Seen ===

impl Seen {
    /// Returns the step of a checked write as JSON, with the mark of the changes and the id of the
    /// transaction. It has no values.
    #[must_use]
    pub fn recorded(&self, step: &str, diff: &str, transaction: Option<u64>) -> String {
        let changed = self.tables.iter();
        let changed = changed.map(|it| (&*it.table.name, by_kind(&it.changes)));
        let uncompared = self.unread.iter().map(|it| (&*it.table, it.rows));
        let changed: BTreeMap<_, _> = changed.collect();
        let uncompared: BTreeMap<_, _> = uncompared.collect();
        let mut recorded = json!({"step": step, "diff": diff, "changed": changed});
        if !uncompared.is_empty() {
            recorded["uncompared"] = json!(uncompared);
        }
        if let Some(transaction) = transaction {
            recorded["xid"] = json!(transaction);
        }
        recorded.to_string()
    }
}
