//! Finds scans in a plan, and what the plan does with their columns.

use serde_json::Value;

use crate::index_advice::{
    Order,
    condition::{self, ColumnName, ComparisonKind},
};

/// A scan of a table in a plan.
#[derive(Clone, Debug)]
pub(super) struct Scan {
    pub(super) schema: String,
    pub(super) table: String,
    alias: String,
    /// Kind of the scan, such as `Seq Scan`.
    node: String,
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
                for scan in scans_of(&mut scans, &found.column) {
                    let list = match (found.kind, found.joins) {
                        (ComparisonKind::Equality, false) => &mut scan.equal,
                        (ComparisonKind::Equality, true) => &mut scan.joined,
                        (ComparisonKind::Range, _) => &mut scan.ranges,
                    };
                    push_once(list, found.column.clone());
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

/// Returns the scan of a column. Above an Append a column of a partitioned table has the alias of
/// the table. Its scans are then the scans of all partitions.
fn scans_of<'a>(scans: &'a mut [Scan], column: &ColumnName) -> impl Iterator<Item = &'a mut Scan> {
    let alias = column.alias.clone();
    let is_one = scans.iter().any(|scan| scan.alias == alias);
    let found = scans.iter_mut().filter(move |scan| {
        let of = if is_one {
            &scan.alias
        } else {
            whole_alias(&scan.alias)
        };
        of == alias
    });
    found.take(if is_one { 1 } else { usize::MAX })
}

/// Returns the alias of a table for one of its partitions, which has a number behind it.
fn whole_alias(alias: &str) -> &str {
    match alias.rsplit_once('_') {
        Some((whole, number)) if number.bytes().all(|byte| byte.is_ascii_digit()) => whole,
        _ => alias,
    }
}

fn label(node: &str, table: &str, alias: &str, is_partitioned: bool) -> String {
    let of = if is_partitioned { "partitions of " } else { "" };
    let alias = Some(alias).filter(|alias| *alias != table);
    let space = alias.map_or("", |_| " ");
    format!("{node} on {of}{table}{space}{}", alias.unwrap_or_default())
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
    let own = keys
        .iter()
        .take_while(|(column, _)| column.alias == first.alias);
    let own: Vec<_> = own.cloned().collect();
    for scan in scans_of(scans, first).filter(|scan| scan.sorted.is_empty()) {
        scan.sorted.clone_from(&own);
    }
}

// === impl Scan ===

impl Scan {
    /// Returns whether it has conditions other than the conditions of joins.
    pub(super) fn is_filtered(&self) -> bool {
        !self.equal.is_empty() || !self.ranges.is_empty()
    }

    /// Names a partitioned table in place of its partition.
    pub(super) fn take_for(&mut self, schema: &str, table: &str) {
        self.alias = whole_alias(&self.alias).to_owned();
        self.label = label(&self.node, table, &self.alias, true);
        (self.schema, self.table) = (schema.to_owned(), table.to_owned());
    }

    /// Returns whether another scan reads the same table under the same alias.
    pub(super) fn is_of_one_table(&self, other: &Self) -> bool {
        self.schema == other.schema && self.table == other.table && self.alias == other.alias
    }

    /// Adds the scan of another partition.
    pub(super) fn merge(&mut self, other: Self) {
        self.cost += other.cost;
        self.rows += other.rows;
        self.equal.extend(other.equal);
        self.joined.extend(other.joined);
        self.ranges.extend(other.ranges);
        if self.sorted.is_empty() {
            self.sorted = other.sorted;
        }
    }

    fn of(node: &Value) -> Option<Self> {
        let text = |key: &str| Some(node.get(key)?.as_str()?.to_owned());
        // A bitmap index scan has no alias: the heap scan above it has all that it reads.
        let (table, alias) = (text("Relation Name")?, text("Alias")?);
        let node_type = text("Node Type")?;
        Some(Self {
            schema: text("Schema")?,
            label: label(&node_type, &table, &alias, false),
            node: node_type,
            table,
            alias,
            cost: node.get("Total Cost")?.as_f64()?,
            rows: node.get("Plan Rows").and_then(Value::as_f64).unwrap_or(0.0),
            equal: Vec::new(),
            joined: Vec::new(),
            ranges: Vec::new(),
            sorted: Vec::new(),
        })
    }
}
