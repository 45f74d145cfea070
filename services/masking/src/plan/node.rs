//! Nodes of plans and their members.

use serde_json::{Map, Value};

/// Members beside a plan that say nothing about it.
pub(super) const BESIDE_PLAN: [&str; 2] = ["Plan", "Query Identifier"];

/// Members of a node that hold names, and no expressions.
pub(super) const NAMES: [&str; 24] = [
    "Alias",
    "Async Capable",
    "CTE Name",
    "Cache Mode",
    "Command",
    "Disabled",
    "Index Name",
    "Inner Unique",
    "Join Type",
    "Node Type",
    "Parallel Aware",
    "Params Evaluated",
    "Parent Relationship",
    "Partial Mode",
    "Planned Partitions",
    "Relation Name",
    "Scan Direction",
    "Schema",
    "Single Copy",
    "Strategy",
    "Subplan Name",
    "Subplans Removed",
    "Workers Planned",
    "Sampling Method",
];

/// Kind of a node, by what it may do with a masked column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// Its list may hold masked columns.
    Passing,
    /// Its list is the list of the nodes below it.
    Appending,
    /// Its list may hold masked columns, but not from below.
    Subquery,
    /// Its list may hold none.
    Computing,
}

// === impl Kind ===

impl Kind {
    /// Returns the kind of a known node. Others do not show all that they evaluate.
    pub(super) fn of(name: &str) -> Option<Self> {
        Some(match name {
            "Seq Scan" | "Sample Scan" | "Index Scan" | "Index Only Scan" | "Bitmap Heap Scan"
            | "Bitmap Index Scan" | "Tid Scan" | "Tid Range Scan" | "CTE Scan"
            | "Function Scan" | "BitmapAnd" | "BitmapOr" | "Nested Loop" | "Hash Join"
            | "Merge Join" | "Hash" | "Sort" | "Incremental Sort" | "Materialize" | "Memoize"
            | "Limit" | "Result" | "Gather" | "Gather Merge" => Self::Passing,
            "Append" | "Merge Append" => Self::Appending,
            "Subquery Scan" => Self::Subquery,
            "Aggregate" | "Group" | "Unique" | "SetOp" | "WindowAgg" | "ProjectSet" => {
                Self::Computing
            }
            _ => return None,
        })
    }

    pub(super) fn passes_on(self) -> bool {
        self != Self::Computing
    }

    pub(super) fn appends(self) -> bool {
        self == Self::Appending
    }

    pub(super) fn is_subquery(self) -> bool {
        self == Self::Subquery
    }
}

fn relationship(node: &Map<String, Value>) -> Option<&str> {
    node.get("Parent Relationship").and_then(Value::as_str)
}

/// Returns whether a node gives rows to the one above it.
pub(super) fn is_member(node: &Map<String, Value>) -> bool {
    !is_part(node)
}

/// Returns whether a node is the topmost of a CTE, an `InitPlan` or a `SubPlan`.
pub(super) fn is_part(node: &Map<String, Value>) -> bool {
    matches!(relationship(node), Some("InitPlan" | "SubPlan"))
}
