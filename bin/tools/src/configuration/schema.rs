//! Settings of answers about the schema.

use ziggurat_runtime::config::Section;

/// Settings of answers about the schema.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SchemaAnswers {
    /// Maximum number of tokens of an answer.
    pub(crate) max_tokens: usize,
    /// Maximum number of distinct values for which a column's values are shown; 0 to show no
    /// values.
    pub(crate) values_max: u32,
}

// === impl SchemaAnswers ===

impl SchemaAnswers {
    pub(super) fn read(file: &Section<'_>) -> Self {
        let has_values = file.key("values").boolean().unwrap_or(true);
        let values_max = file.key("values_max").whole(0..=100).unwrap_or(20);
        Self {
            max_tokens: file.key("max_tokens").whole(200..=20_000).unwrap_or(4000),
            values_max: if has_values { values_max } else { 0 },
        }
    }
}
