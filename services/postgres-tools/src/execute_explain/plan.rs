//! Reads the text of a plan, as PostgreSQL 14 to 18 write it with ANALYZE.
//!
//! A plan is a line for each node and lines about it below. A node begins with an arrow, except
//! the first, and its depth is where the arrow stands. What is not understood is passed over.

#[cfg(test)]
mod tests;

/// The nodes of a plan, in the order of their lines.
#[derive(Debug, Default)]
pub(super) struct Plan<'a> {
    pub(super) nodes: Vec<Node<'a>>,
}

/// One step of a plan, and what was measured while it ran.
#[derive(Debug, Default)]
pub(super) struct Node<'a> {
    /// What it is, as PostgreSQL calls it: `Seq Scan on big b`.
    pub(super) label: &'a str,
    /// How long it ran, with all below it.
    pub(super) milliseconds: f64,
    pub(super) was_executed: bool,
    /// Into how many pieces a hash was cut; none if it is no hash.
    pub(super) batches: u64,
    pub(super) sorted_on_disk: bool,
    /// Blocks that were found in PostgreSQL's cache, and blocks that were not.
    pub(super) blocks: Blocks,
    pub(super) parent: Option<usize>,
    indent: usize,
    /// How many processes ran it at the same time.
    processes: f64,
    /// How many processes run what is below it at the same time.
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
    /// How long one took, on average.
    milliseconds: f64,
    count: f64,
}

// === impl Plan ===

impl<'a> Plan<'a> {
    /// Reads all of a plan.
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

    /// The tables that were read from end to end.
    pub(super) fn scanned(&self) -> impl Iterator<Item = &'a str> {
        let nodes = self.nodes.iter().filter(|node| node.was_executed);
        nodes.filter_map(|node| {
            let (_, table) = node.label.split_once("Seq Scan on ")?;
            Some(name(table))
        })
    }

    fn enter(&mut self, indent: usize, line: &'a str) {
        // What is not deeper is another branch, so the parent is the last that is less deep.
        let parent = self.nodes.iter().rposition(|node| node.indent < indent);
        let processes = parent.map_or(1.0, |parent| {
            let parent = &self.nodes[parent];
            parent.processes.max(parent.gathers)
        });
        let (label, measured) = line.rsplit_once("  (cost=").unwrap_or((line, ""));
        let runs = Runs::read(measured);
        self.nodes.push(Node {
            label,
            milliseconds: runs.milliseconds * runs.count / processes.min(runs.count.max(1.0)),
            was_executed: !measured.ends_with("(never executed)"),
            parent,
            indent,
            processes,
            gathers: 1.0,
            ..Node::default()
        });
    }

    /// Takes a line about the last node.
    fn note(&mut self, line: &str) {
        let Some(node) = self.nodes.last_mut() else {
            return;
        };
        if let Some(workers) = line.strip_prefix("Workers Launched: ") {
            // The process that gathers works too.
            node.gathers = number(workers).map_or(1.0, |workers: f64| workers + 1.0);
        } else if let Some(blocks) = line.strip_prefix("Buffers: ") {
            // Worker lines repeat a part of it; the first is all.
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

/// How the lines begin that may say how a hash or a sort went.
const MEASURES: &[&str] = &[
    "Batches: ",
    "Buckets: ",
    "Full-sort Groups: ",
    "Planned Partitions: ",
    "Pre-sorted Groups: ",
    "Sort Method: ",
    "Worker ",
];

/// Whether it is the first line behind the nodes.
fn is_end(line: &str) -> bool {
    ["Planning", "Execution Time", "JIT:", "Settings:"]
        .iter()
        .any(|word| line.starts_with(word))
}

// === impl Blocks ===

impl Blocks {
    /// Reads `shared hit=3 read=5 dirtied=1, temp read=1`. Only what is shared can be cached.
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
    /// Reads `(actual time=0.007..2.583 rows=10000 loops=1)`, of which `time` may be missing.
    fn read(text: &str) -> Self {
        let read = || {
            let (_, times) = text.rsplit_once("(actual time=")?;
            let (_, last) = times.split_once("..")?;
            Some(Self {
                milliseconds: number(last)?,
                count: number(behind(last, "loops=")?)?,
            })
        };
        read().unwrap_or_default()
    }
}

/// The table in `"a b".c d`, without its alias.
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

/// The number a text begins with.
fn number<N: std::str::FromStr>(text: &str) -> Option<N> {
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.');
    text[..end.unwrap_or(text.len())].parse().ok()
}
