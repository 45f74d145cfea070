//! Parses the text of a plan, as PostgreSQL 14 to 18 write it with ANALYZE.
//!
//! A plan has a line for each node and lines about the node below it. A node begins with an arrow,
//! except the first, and the position of the arrow is its depth. Unknown lines are skipped.

#[cfg(test)]
mod tests;

/// The nodes of a plan, in the order of their lines.
#[derive(Debug, Default)]
pub(super) struct Plan<'a> {
    pub(super) nodes: Vec<Node<'a>>,
}

/// One step of a plan, with its measurements.
#[derive(Debug, Default)]
pub(super) struct Node<'a> {
    /// The label of PostgreSQL, such as `Seq Scan on big b`.
    pub(super) label: &'a str,
    /// Time of the step and all steps below it.
    pub(super) milliseconds: f64,
    pub(super) was_executed: bool,
    /// Number of batches of a hash; 0 for other nodes.
    pub(super) batches: u64,
    pub(super) sorted_on_disk: bool,
    /// Blocks found in the cache of PostgreSQL, and blocks read from disk.
    pub(super) blocks: Blocks,
    pub(super) parent: Option<usize>,
    /// Estimated number of rows of one run.
    pub(super) rows_planned: Option<f64>,
    /// Average number of rows of one run; `None` if it was not executed.
    pub(super) rows: Option<f64>,
    /// Number of runs; `None` if nothing was measured.
    pub(super) runs: Option<f64>,
    indent: usize,
    /// Number of processes that ran the step in parallel.
    processes: f64,
    /// Number of processes that run the steps below it in parallel.
    gathers: f64,
}

/// Blocks of tables and indexes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Blocks {
    pub(super) hit: u64,
    pub(super) read: u64,
}

#[derive(Clone, Copy, Debug, Default)]
struct Runs {
    /// Average time of one run.
    milliseconds: f64,
    count: f64,
    rows: Option<f64>,
}

// === impl Plan ===

impl<'a> Plan<'a> {
    /// Parses a plan.
    pub(super) fn read(text: &'a str) -> Self {
        let mut plan = Self::default();
        for line in text.lines() {
            let about = line.trim_start();
            let indent = line.len() - about.len();
            match about.strip_prefix("->  ") {
                Some(node) => plan.enter(indent, node),
                None if plan.nodes.is_empty() => plan.enter(0, about),
                None if indent == 0 && is_end(line) => break,
                None => plan.note(about),
            }
        }
        plan
    }

    /// Returns the tables that were read by a sequential scan, each with the position of its node.
    pub(super) fn scanned(&self) -> impl Iterator<Item = (usize, &'a str)> {
        let nodes = self.nodes.iter().enumerate();
        let nodes = nodes.filter(|(_, node)| node.was_executed);
        nodes.filter_map(|(at, node)| {
            let (_, table) = node.label.split_once("Seq Scan on ")?;
            Some((at, name(table)))
        })
    }

    /// Returns the positions of the nodes that meet a condition.
    pub(super) fn positions(&self, condition: impl Fn(&Node<'a>) -> bool) -> Vec<usize> {
        let nodes = self.nodes.iter().enumerate();
        let nodes = nodes.filter(|(_, node)| condition(node));
        nodes.map(|(at, _)| at).collect()
    }

    fn enter(&mut self, indent: usize, line: &'a str) {
        // A node that is not deeper starts another branch, so the parent is the last node that is
        // less deep.
        let parent = self.nodes.iter().rposition(|node| node.indent < indent);
        let processes = parent.map_or(1.0, |parent| {
            let parent = &self.nodes[parent];
            parent.processes.max(parent.gathers)
        });
        let (label, measured) = line.rsplit_once("  (cost=").unwrap_or((line, ""));
        let runs = Runs::read(measured);
        let was_executed = !measured.ends_with("(never executed)");
        let is_measured = !was_executed || measured.contains("(actual ");
        self.nodes.push(Node {
            rows_planned: behind(measured, " rows=").and_then(number),
            rows: runs.rows,
            runs: is_measured.then_some(runs.count),
            label,
            milliseconds: runs.milliseconds * runs.count / processes.min(runs.count.max(1.0)),
            was_executed,
            parent,
            indent,
            processes,
            gathers: 1.0,
            ..Node::default()
        });
    }

    /// Parses a line about the last node.
    fn note(&mut self, line: &str) {
        let Some(node) = self.nodes.last_mut() else {
            return;
        };
        if let Some(workers) = line.strip_prefix("Workers Launched: ") {
            // The process that gathers counts too.
            node.gathers = number(workers).map_or(1.0, |workers: f64| workers + 1.0);
        } else if let Some(blocks) = line.strip_prefix("Buffers: ") {
            // Worker lines repeat a part of it; the first line has the total.
            if node.blocks == Blocks::default() {
                node.blocks = Blocks::read(blocks);
            }
        } else if MEASURES.iter().any(|measure| line.starts_with(measure)) {
            if let Some(batches) = behind(line, "Batches: ").and_then(number) {
                node.batches = node.batches.max(batches);
            }
            let is_sort = behind(line, "Sort Method").is_some();
            let on_disk = line.contains("external") || line.contains("Disk: ");
            node.sorted_on_disk |= is_sort && on_disk;
        }
    }
}

/// Prefixes of lines with measurements of a hash or a sort.
const MEASURES: &[&str] = &[
    "Batches: ",
    "Buckets: ",
    "Full-sort Groups: ",
    "Planned Partitions: ",
    "Pre-sorted Groups: ",
    "Sort Method: ",
    "Worker ",
];

/// Returns whether it is the first line after the nodes.
fn is_end(line: &str) -> bool {
    ["Planning", "Execution Time", "JIT:", "Settings:"]
        .iter()
        .any(|word| line.starts_with(word))
}

// === impl Blocks ===

impl Blocks {
    /// Parses `shared hit=3 read=5 dirtied=1, temp read=1`. Only shared blocks can be cached.
    fn read(text: &str) -> Self {
        let shared = text
            .split(", ")
            .find_map(|part| part.strip_prefix("shared "));
        let of = |kind| shared.and_then(|shared| number(behind(shared, kind)?));
        Self {
            hit: of("hit=").unwrap_or_default(),
            read: of("read=").unwrap_or_default(),
        }
    }
}

// === impl Runs ===

impl Runs {
    /// Parses `(actual time=0.007..2.583 rows=10000 loops=1)`, in which `time` may be missing.
    fn read(text: &str) -> Self {
        let read = || {
            let (_, times) = text.rsplit_once("(actual time=")?;
            let (_, last) = times.split_once("..")?;
            Some(Self {
                milliseconds: number(last)?,
                count: number(behind(last, "loops=")?)?,
                rows: behind(last, "rows=").and_then(number),
            })
        };
        read().unwrap_or_default()
    }
}

/// Returns the table in `"a b".c d`, without its alias.
fn name(text: &str) -> &str {
    let mut is_quoted = false;
    let end = text.find(|c: char| {
        is_quoted ^= c == '"';
        c == ' ' && !is_quoted
    });
    &text[..end.unwrap_or(text.len())]
}

fn behind<'t>(text: &'t str, label: &str) -> Option<&'t str> {
    text.split_once(label).map(|(_, behind)| behind)
}

/// Parses the number at the start of a text.
fn number<N: std::str::FromStr>(text: &str) -> Option<N> {
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.');
    text[..end.unwrap_or(text.len())].parse().ok()
}
