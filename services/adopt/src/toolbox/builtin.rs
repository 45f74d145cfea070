//! Tools of MCP Toolbox without a statement, and what does the same here.

/// A tool that exists here.
#[derive(Clone, Copy, Debug)]
pub(super) struct BuiltIn {
    /// Names of our tools.
    pub(super) ours: &'static [&'static str],
    /// True if they are in the administrator's pack.
    pub(super) is_dba: bool,
}

/// The endings of kinds, without the name of the product, and our tools.
const KINDS: [(&str, BuiltIn); 16] = [
    ("execute-sql", tools(&["query_database"])),
    ("list-tables", tools(&["get_schema_info", "search_schema"])),
    ("list-schemas", tools(&["get_schema_info", "search_schema"])),
    ("list-views", tools(&["get_schema_info", "search_schema"])),
    ("list-indexes", tools(&["get_schema_info"])),
    ("list-active-queries", dba(&["active_sessions"])),
    ("long-running-transactions", dba(&["active_sessions"])),
    ("list-locks", dba(&["lock_tree"])),
    ("list-query-stats", dba(&["top_queries"])),
    ("database-overview", dba(&["db_health"])),
    ("list-database-stats", dba(&["db_health"])),
    ("list-table-stats", dba(&["db_health"])),
    ("replication-stats", dba(&["db_health"])),
    ("list-sequences", dba(&["db_health"])),
    ("get-column-cardinality", tools(&["count_rows"])),
    ("search-catalog", tools(&["search_schema"])),
];

const fn tools(ours: &'static [&'static str]) -> BuiltIn {
    BuiltIn {
        ours,
        is_dba: false,
    }
}

const fn dba(ours: &'static [&'static str]) -> BuiltIn {
    BuiltIn { ours, is_dba: true }
}

/// Returns what does the same as a tool of a kind such as `postgres-list-tables`.
pub(super) fn find(kind: &str) -> Option<BuiltIn> {
    let products = ["postgres-", "cloud-sql-postgres-", "alloydb-postgres-"];
    let mut endings = products
        .iter()
        .filter_map(|product| kind.strip_prefix(product));
    endings.find_map(|ending| {
        let found = KINDS.iter().find(|(known, _)| *known == ending);
        found.map(|(_, built_in)| *built_in)
    })
}
