//! Limits on results.

/// Limits on the results of statements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QueryLimits {
    /// Maximum number of rows of a result.
    pub max_rows: u32,
    /// Maximum number of rows of an export; 0 for no limit.
    pub max_export_rows: u32,
    /// Maximum number of bytes of the rows of a result.
    pub max_query_bytes: u64,
}

// === impl QueryLimits ===

impl QueryLimits {
    /// Returns the maximum number of rows of an export.
    pub(crate) fn export_rows(&self) -> u32 {
        match self.max_export_rows {
            0 => u32::MAX,
            rows => rows,
        }
    }
}

impl Default for QueryLimits {
    fn default() -> Self {
        Self {
            max_rows: 100_000,
            max_export_rows: 1_000_000,
            max_query_bytes: 64 << 20,
        }
    }
}
