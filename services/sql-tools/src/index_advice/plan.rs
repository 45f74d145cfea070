//! Finds scans in a plan, and what the plan does with their columns.

use serde_json::Value;

use super::{
    Order,
    condition::{self, ColumnName, Kind},
};

/// A scan of a table in a plan.
#[derive(Clone, Debug)]
pub(super) struct Scan {
    pub(super) schema: String,
    pub(super) table: String,
    alias: String,
    pub(super) cost: f64,
    /// Columns compared for equality with values.
    pub(super) equal: Vec<ColumnName>,
    /// Columns compared for equality with columns of other tables.
    pub(super) joined: Vec<ColumnName>,
    /// Columns compared for a range.
    pub(super) ranges: Vec<ColumnName>,
    /// Leading sort keys, as far as they are columns of this scan.
    pub(super) sorted: Vec<(ColumnName, Order)>,
}

/// Depth of plans beyond which nothing is read.
const MAX_DEPTH: usize = 500;

/// Members of a node that hold a condition.
const CONDITIONS: &[&str] = &[
    "Filter",
    "Index Cond",
    "Recheck Cond",
    "Hash Cond",
    "Merge Cond",
    "Join Filter",
];

/// Returns the schema and name of each table that the plans scan, once.
pub(crate) fn scanned_tables(plans: &[Value]) -> Vec<(String, String)> {
    let mut tables: Vec<(String, String)> = plans
        .iter()
        .flat_map(scans)
        .map(|scan| (scan.schema, scan.table))
        .collect();
    tables.sort();
    tables.dedup();
    tables
}

/// Returns the scans of a plan as `EXPLAIN (VERBOSE, FORMAT JSON)` writes it.
pub(super) fn scans(plan: &Value) -> Vec<Scan> {
    let mut nodes = Vec::new();
    collect_nodes(plan, 0, &mut nodes);
    let mut scans: Vec<Scan> = nodes.iter().filter_map(|node| Scan::of(node)).collect();
    for node in nodes {
        for text in CONDITIONS.iter().filter_map(|key| node.get(key)?.as_str()) {
            for found in condition::comparisons(text) {
                if let Some(scan) = scan_of(&mut scans, &found.column) {
                    let list = match (found.kind, found.joins) {
                        (Kind::Equality, false) => &mut scan.equal,
                        (Kind::Equality, true) => &mut scan.joined,
                        (Kind::Range, _) => &mut scan.ranges,
                    };
                    push_once(list, found.column);
                }
            }
        }
        read_sort(node, &mut scans);
    }
    scans
}

/// Collects the nodes of a plan, those above first.
fn collect_nodes<'a>(value: &'a Value, depth: usize, nodes: &mut Vec<&'a Value>) {
    if depth > MAX_DEPTH {
        return;
    }
    match value {
        Value::Array(values) => {
            for value in values {
                collect_nodes(value, depth + 1, nodes);
            }
        }
        Value::Object(_) => {
            if let Some(plan) = value.get("Plan") {
                collect_nodes(plan, depth + 1, nodes);
            }
            if value.get("Node Type").is_some() {
                nodes.push(value);
                if let Some(plans) = value.get("Plans") {
                    collect_nodes(plans, depth + 1, nodes);
                }
            }
        }
        _ => {}
    }
}

fn scan_of<'a>(scans: &'a mut [Scan], column: &ColumnName) -> Option<&'a mut Scan> {
    scans.iter_mut().find(|scan| scan.alias == column.alias)
}

fn push_once(list: &mut Vec<ColumnName>, column: ColumnName) {
    if !list.contains(&column) {
        list.push(column);
    }
}

/// Reads the keys of a sort node. An index helps only if it gives the first of them.
fn read_sort(node: &Value, scans: &mut [Scan]) {
    let Some(keys) = node.get("Sort Key").and_then(Value::as_array) else {
        return;
    };
    let keys: Vec<(ColumnName, Order)> = keys
        .iter()
        .map_while(|key| condition::sort_key(key.as_str()?))
        .collect();
    let Some((first, _)) = keys.first() else {
        return;
    };
    let alias = first.alias.clone();
    if let Some(scan) = scan_of(scans, first)
        && scan.sorted.is_empty()
    {
        scan.sorted = keys
            .into_iter()
            .take_while(|(column, _)| column.alias == alias)
            .collect();
    }
}

// === impl Scan ===

impl Scan {
    fn of(node: &Value) -> Option<Self> {
        let text = |key: &str| Some(node.get(key)?.as_str()?.to_owned());
        // A bitmap index scan has no alias: the heap scan above it has all that it reads.
        Some(Self {
            schema: text("Schema")?,
            table: text("Relation Name")?,
            alias: text("Alias")?,
            cost: node.get("Total Cost")?.as_f64()?,
            equal: Vec::new(),
            joined: Vec::new(),
            ranges: Vec::new(),
            sorted: Vec::new(),
        })
    }
}
