//! Findings in a plan that show how to make the query faster.

use std::fmt::{self, Write as _};

use serde::Serialize;

use crate::execute_explain::plan::{Blocks, Plan};

/// Time from which on a step is slow.
const SLOW_MILLISECONDS: f64 = 1000.0;

/// Limit on the names in a finding.
const MAX_NAMES: usize = 10;

/// The issues, and a recommendation for each.
#[derive(Debug, Default, Serialize)]
pub(super) struct Findings {
    issues: Vec<String>,
    recommendations: Vec<&'static str>,
    /// Positions of the nodes that each issue is about.
    #[serde(skip)]
    nodes: Vec<Vec<usize>>,
}

// === impl Findings ===

impl Findings {
    /// Analyses the text of a plan that was executed.
    pub(super) fn of(plan: &str) -> Self {
        let plan = Plan::read(plan);
        let mut findings = Self::default();
        findings.look_at_scans(&plan);
        findings.look_at_time(&plan);
        findings.look_at_hashes(&plan);
        findings.look_at_sorts(&plan);
        findings.look_at_blocks(&plan);
        findings
    }

    /// Returns the positions of the issues that are about a node.
    pub(super) fn of_node(&self, node: usize) -> Vec<usize> {
        let issues = self.nodes.iter().enumerate();
        let issues = issues.filter(|(_, nodes)| nodes.contains(&node));
        issues.map(|(issue, _)| issue).collect()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.issues.is_empty()
    }

    fn add(&mut self, nodes: Vec<usize>, issue: String, recommendation: &'static str) {
        self.issues.push(issue);
        self.recommendations.push(recommendation);
        self.nodes.push(nodes);
    }

    fn look_at_scans(&mut self, plan: &Plan<'_>) {
        let (nodes, tables): (Vec<_>, Vec<_>) = plan.scanned().unzip();
        let tables = distinct(tables.into_iter());
        if !tables.is_empty() {
            let issue = format!("Sequential scan, every row is read: {}", listed(&tables));
            self.add(
                nodes,
                issue,
                "If the query wants few of the rows, consider an index on the columns it filters, \
                 joins or orders by. For a small table, or for most of a large one, reading all \
                 of it is right.",
            );
        }
    }

    /// Reports steps that are slow without the slow steps below them, because the time of a step
    /// includes those.
    fn look_at_time(&mut self, plan: &Plan<'_>) {
        let mut own: Vec<f64> = plan.nodes.iter().map(|node| node.milliseconds).collect();
        for node in &plan.nodes {
            if let Some(parent) = node.parent
                && node.milliseconds >= SLOW_MILLISECONDS
            {
                own[parent] -= node.milliseconds;
            }
        }
        let slow = plan.nodes.iter().zip(own).enumerate();
        let slow = slow.filter(|(_, (_, own))| *own >= SLOW_MILLISECONDS);
        let (nodes, slow): (Vec<_>, Vec<_>) = slow
            .map(|(at, (node, _))| {
                let text = format!("{} ({:.1} s)", node.label, node.milliseconds / 1000.0);
                (at, text)
            })
            .unzip();
        if !slow.is_empty() {
            self.add(
                nodes,
                format!("Slow, a second or more: {}", listed(&slow)),
                "Start with the slow steps: compare the rows each expected (cost) with those it \
                 had (actual). If they are far apart, run ANALYZE on the table.",
            );
        }
    }

    fn look_at_hashes(&mut self, plan: &Plan<'_>) {
        let batches = plan.nodes.iter().map(|node| node.batches).max();
        if let Some(batches @ 2..) = batches {
            self.add(
                plan.positions(|node| node.batches > 1),
                format!("A hash did not fit into memory: {batches} batches"),
                "Raise work_mem for this query until the hash needs one batch, or hash fewer rows \
                 and columns.",
            );
        }
    }

    fn look_at_sorts(&mut self, plan: &Plan<'_>) {
        let sorts = plan.positions(|node| node.sorted_on_disk);
        if !sorts.is_empty() {
            self.add(
                sorts,
                "A sort did not fit into memory and went to disk".to_owned(),
                "Raise work_mem for this query, or add an index that gives the rows in that \
                 order.",
            );
        }
    }

    /// The first node has the blocks of all nodes, unless workers counted separately.
    fn look_at_blocks(&mut self, plan: &Plan<'_>) {
        let all = plan.nodes.iter().map(|node| node.blocks);
        if let Some(Blocks { hit, read }) = all.max_by_key(|blocks| blocks.read)
            && read > 0
        {
            // Of the steps that read, those that do so themselves.
            let is_leaf = |at: &usize| plan.nodes.iter().all(|node| node.parent != Some(*at));
            let mut readers = plan.positions(|node| node.blocks.read > 0);
            readers.retain(is_leaf);
            self.add(
                readers,
                format!("Read from disk: {read} blocks, next to {hit} found in the cache"),
                "Run it again to see what a warm cache makes of it. If the blocks are read again, \
                 touch fewer of them, or give PostgreSQL more shared_buffers.",
            );
        }
    }
}

impl fmt::Display for Findings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("<issues>\n")?;
        for issue in &self.issues {
            writeln!(f, "- {issue}")?;
        }
        f.write_str("</issues>\n\n<recommendations>\n")?;
        for (number, recommendation) in (1..).zip(&self.recommendations) {
            writeln!(f, "{number}. {recommendation}")?;
        }
        f.write_str("</recommendations>")
    }
}

fn distinct<'a>(names: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let mut distinct = Vec::new();
    for name in names {
        if !distinct.contains(&name) {
            distinct.push(name);
        }
    }
    distinct
}

fn listed(names: &[impl AsRef<str>]) -> String {
    let shown: Vec<&str> = names.iter().take(MAX_NAMES).map(AsRef::as_ref).collect();
    let mut list = shown.join(", ");
    if names.len() > MAX_NAMES {
        let more = names.len() - MAX_NAMES;
        write!(list, " and {more} more").expect("a string takes all that is written");
    }
    list
}

#[cfg(test)]
mod tests {
    use super::*;

    fn issues(plan: &str) -> Vec<String> {
        Findings::of(plan).issues
    }

    #[test]
    fn a_plan_without_issues_gives_no_findings() {
        let plan = "\
Index Scan using tt_pkey on tt  (cost=0.29..8.30 rows=1 width=8) (actual time=0.006..999.9 rows=1 loops=1)
  Index Cond: (id = 7)
  Buffers: shared hit=3
Planning:
  Buffers: shared hit=22 read=99
Planning Time: 0.157 ms
Execution Time: 1000.0 ms";
        assert!(Findings::of(plan).is_empty());
        assert!(Findings::of("").is_empty());
    }

    #[test]
    fn each_table_is_named_once_and_only_if_it_was_read() {
        let plan = "\
Append  (cost=0.00..9.00 rows=9 width=4) (actual time=0.0..0.1 rows=9 loops=1)
  ->  Seq Scan on big a  (cost=0.00..9.00 rows=9 width=4) (actual time=0.0..0.1 rows=9 loops=1)
  ->  Parallel Seq Scan on big b  (cost=0.00..9.00 rows=9 width=4) (actual time=0.0..0.1 rows=9 loops=1)
  ->  Seq Scan on \"odd  (Name)\" x  (cost=0.00..9.00 rows=9 width=4) (actual time=0.0..0.1 rows=9.00 loops=1)
  ->  Seq Scan on unread  (cost=0.00..9.00 rows=9 width=4) (never executed)";
        let expected = r#"Sequential scan, every row is read: big, "odd  (Name)""#;
        assert_eq!(issues(plan), [expected]);
    }

    #[test]
    fn the_step_that_is_slow_is_named_and_not_all_above_it() {
        let plan = "\
Sort  (cost=1..2 rows=9 width=4) (actual time=3500.0..3600.0 rows=9 loops=1)
  ->  Nested Loop  (cost=1..2 rows=9 width=4) (actual time=0.1..3100.0 rows=9 loops=1)
        ->  Index Scan using a on t  (cost=1..2 rows=9 width=4) (actual time=0.1..600.0 rows=9 loops=1)
        ->  Index Scan using b on u  (cost=1..2 rows=9 width=4) (actual time=0.1..0.25 rows=1 loops=10000)";
        assert_eq!(
            issues(plan),
            ["Slow, a second or more: Index Scan using b on u (2.5 s)"]
        );
        // Many steps that are not slow make a slow one.
        let plan = "\
Append  (cost=1..2 rows=9 width=4) (actual time=0.1..1800.0 rows=9 loops=1)
  ->  Result  (cost=1..2 rows=9 width=4) (actual time=0.1..900.0 rows=9 loops=1)
  ->  Result  (cost=1..2 rows=9 width=4) (actual time=0.1..900.0 rows=9 loops=1)";
        assert_eq!(issues(plan), ["Slow, a second or more: Append (1.8 s)"]);
    }

    #[test]
    fn spills_to_disk_and_cache_misses_are_reported() {
        let plan = "\
Hash Join  (cost=6949.00..15712.00 rows=200000 width=0) (actual time=42.958..120.204 rows=200000 loops=1)
  Hash Cond: (a.id = b.id)
  Buffers: shared hit=3334 read=7 dirtied=1, temp read=1270 written=1270
  ->  Sort  (cost=3667.00..3667.00 rows=200000 width=4) (actual time=41.009..41.010 rows=200000 loops=1)
        Sort Method: external merge  Disk: 9264kB
        Buffers: shared hit=1 read=5
  ->  Hash  (cost=3667.00..3667.00 rows=200000 width=4) (actual time=41.009..41.010 rows=200000 loops=1)
        Buckets: 65536 (originally 1024)  Batches: 32 (originally 1)  Memory Usage: 3073kB";
        assert_eq!(
            issues(plan),
            [
                "A hash did not fit into memory: 32 batches",
                "A sort did not fit into memory and went to disk",
                "Read from disk: 7 blocks, next to 3334 found in the cache",
            ]
        );
        let text = Findings::of(plan).to_string();
        for number in ["\n1. ", "\n2. ", "\n3. "] {
            assert!(text.contains(number), "{text}");
        }
    }

    #[test]
    fn a_long_list_is_cut() {
        let names: Vec<String> = (1..=12).map(|number| format!("t{number}")).collect();
        assert!(listed(&names).ends_with("t9, t10 and 2 more"));
    }
}
