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
    /// Kind of the scan and its table, as plans write them: `Seq Scan on orders o`.
    pub(super) label: String,
    pub(super) cost: f64,
    /// Number of rows that it is estimated to return.
    pub(super) rows: f64,
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

/// Returns the schema and name of each table that a plan scans, once.
pub(super) fn scanned_tables(plan: &Value) -> Vec<(String, String)> {
    let mut tables: Vec<(String, String)> = scans(plan)
        .into_iter()
        .map(|scan| (scan.schema, scan.table))
        .collect();
    tables.sort();
    tables.dedup();
    tables
}

/// Returns the cost of a statement. A rule of a table makes several plans of one.
pub(super) fn total_cost(plans: &Value) -> f64 {
    let plans = plans.as_array().map(Vec::as_slice).unwrap_or_default();
    let costs = plans.iter().map(|it| it["Plan"]["Total Cost"].as_f64());
    costs.flatten().sum()
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
    /// Returns whether it has conditions of its own, without those of joins.
    pub(super) fn is_filtered(&self) -> bool {
        !self.equal.is_empty() || !self.ranges.is_empty()
    }

    fn of(node: &Value) -> Option<Self> {
        let text = |key: &str| Some(node.get(key)?.as_str()?.to_owned());
        // A bitmap index scan has no alias: the heap scan above it has all that it reads.
        let (table, alias) = (text("Relation Name")?, text("Alias")?);
        let mut label = format!("{} on {table}", text("Node Type")?);
        if alias != table {
            label.push(' ');
            label.push_str(&alias);
        }
        Some(Self {
            schema: text("Schema")?,
            table,
            alias,
            label,
            cost: node.get("Total Cost")?.as_f64()?,
            rows: node.get("Plan Rows").and_then(Value::as_f64).unwrap_or(0.0),
            equal: Vec::new(),
            joined: Vec::new(),
            ranges: Vec::new(),
            sorted: Vec::new(),
        })
    }
}
