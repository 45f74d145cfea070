//! Rights of callers.

/// Rights of a caller. The program adds them to the extensions of a request; without, the caller
/// has all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QueryRights {
    /// True if `query_database` is available to the caller.
    pub has_query: bool,
    /// True if the tables may be shown.
    pub has_schema: bool,
    /// True if the caller may have as many rows as the limits allow, and exports; others get 1,000
    /// rows and no exports.
    pub is_unlimited: bool,
}

// === impl QueryRights ===

impl Default for QueryRights {
    fn default() -> Self {
        Self {
            has_query: true,
            has_schema: true,
            is_unlimited: true,
        }
    }
}
