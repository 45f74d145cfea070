//! Statements that remove what pgai has installed. They are printed, and never run.

use std::fmt::Write as _;

use crate::pgai::vectorizer::{Destination, Vectorizer};

/// Writes a name in quotes.
pub(super) fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

/// Returns the statements for a vectorizer that `ziggurat-rag sync` replaces.
pub(super) fn statements(vectorizer: &Vectorizer<'_>) -> Option<String> {
    if !matches!(vectorizer.destination, Destination::Column(_)) {
        return None;
    }
    let (schema, table) = &vectorizer.source;
    let table = format!("{}.{}", quoted(schema), quoted(table));
    let mut text = format!("-- When ziggurat-rag keeps {table} in step, pgai has to stop:\n");
    let queue_schema = vectorizer.column("queue_schema");
    let in_queue = |name: &str| {
        let schema = queue_schema.as_deref().unwrap_or("ai");
        format!("{}.{}", quoted(schema), quoted(name))
    };
    // Writing to a text cannot fail.
    if let Some(trigger) = vectorizer.column("trigger_name") {
        for name in [trigger.clone(), format!("{trigger}_truncate")] {
            let _ = writeln!(text, "DROP TRIGGER IF EXISTS {} ON {table};", quoted(&name));
        }
        let _ = writeln!(text, "DROP FUNCTION IF EXISTS {}();", in_queue(&trigger));
    }
    for key in ["queue_table", "queue_failed_table"] {
        if let Some(name) = vectorizer.column(key) {
            let _ = writeln!(text, "DROP TABLE IF EXISTS {};", in_queue(&name));
        }
    }
    let _ = writeln!(
        text,
        "DELETE FROM ai.vectorizer WHERE id = {};",
        vectorizer.id
    );
    Some(text)
}
