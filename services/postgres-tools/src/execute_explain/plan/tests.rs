use proptest::prelude::*;

use super::*;

fn nodes(text: &str) -> Vec<Node<'_>> {
    Plan::read(text).nodes
}

/// A parallel plan of PostgreSQL 15.
const PARALLEL: &str = "\
Gather Merge  (cost=16157.41..18103.21 rows=166666 width=37) (actual time=112.634..178.487 rows=200000 loops=1)
  Workers Planned: 2
  Workers Launched: 2
  Buffers: shared hit=1766, temp read=3460 written=3847
  ->  Sort  (cost=16157.39..16365.72 rows=83333 width=37) (actual time=95.894..104.901 rows=66667 loops=3)
        Sort Key: s
        Sort Method: quicksort  Memory: 3896kB
        Buffers: shared hit=1766 read=8, temp read=3460 written=3847
        Worker 0:  Sort Method: external merge  Disk: 2800kB
        Worker 1:  Sort Method: quicksort  Memory: 2632kB
        ->  Parallel Seq Scan on big a  (cost=0.00..2500.33 rows=83333 width=37) (actual time=0.009..13.094 rows=66667 loops=3)
              Filter: (s <> 'Sort Method: external  Batches: 9  Disk: 3'::text)
              Rows Removed by Filter: 2
Planning Time: 0.054 ms
Execution Time: 185.032 ms";

/// A plan with init plans of PostgreSQL 18.
const INIT_PLANS: &str = "\
Result  (cost=386.40..386.42 rows=1 width=12) (actual time=26.153..26.771 rows=1.00 loops=1)
  One-Time Filter: ((InitPlan 3).col1 > 1)
  Buffers: shared hit=178
  CTE x
    ->  Result  (cost=0.00..0.01 rows=1 width=4) (actual time=13.894..13.895 rows=1.00 loops=1)
  InitPlan 2
    ->  Finalize Aggregate  (cost=193.18..193.19 rows=1 width=8) (actual time=6.246..6.813 rows=1.00 loops=1)
          Buffers: shared hit=89
          ->  Seq Scan on tt tt_1  (cost=193.17..193.18 rows=2 width=8) (actual time=1.854..2.5 rows=3.00 loops=4)
                Buffers: shared hit=89
  ->  CTE Scan on x  (cost=0.00..0.02 rows=1 width=4) (actual time=13.902..13.903 rows=1.00 loops=1)
        Storage: Memory  Maximum Storage: 17kB
Planning:
  Buffers: shared hit=7 read=4
Planning Time: 0.174 ms
Execution Time: 26.809 ms";

#[test]
fn parallel_processes_take_the_time_of_one() {
    let nodes = nodes(PARALLEL);
    let times: Vec<f64> = nodes.iter().map(|node| node.milliseconds).collect();
    assert_eq!(times, [178.487, 104.901, 13.094]);
    let parents: Vec<_> = nodes.iter().map(|node| node.parent).collect();
    assert_eq!(parents, [None, Some(0), Some(1)]);
}

#[test]
fn a_sort_of_a_worker_counts_and_the_text_of_a_filter_is_ignored() {
    let nodes = nodes(PARALLEL);
    let on_disk: Vec<bool> = nodes.iter().map(|node| node.sorted_on_disk).collect();
    assert_eq!(on_disk, [false, true, false]);
    assert_eq!(nodes[2].batches, 0);
    assert_eq!(nodes[1].blocks, Blocks { hit: 1766, read: 8 });
    assert_eq!(nodes[0].blocks, Blocks { hit: 1766, read: 0 });
}

#[test]
fn branches_end_where_the_next_begins_and_the_plan_where_planning_does() {
    let nodes = nodes(INIT_PLANS);
    let found: Vec<_> = nodes.iter().map(|node| (node.label, node.parent)).collect();
    assert_eq!(
        found,
        [
            ("Result", None),
            ("Result", Some(0)),
            ("Finalize Aggregate", Some(0)),
            ("Seq Scan on tt tt_1", Some(2)),
            ("CTE Scan on x", Some(0)),
        ]
    );
    // In sequence, without workers.
    assert!((nodes[3].milliseconds - 10.0).abs() < 1e-9);
    assert!(nodes.iter().all(|node| node.blocks.read == 0));
}

#[test]
fn lines_of_every_version_are_understood() {
    // A line about a node, its batches, whether it sorted on disk.
    let cases = [
        ("Buckets: 1024  Batches: 1  Memory Usage: 9kB", 1, false),
        (
            "Buckets: 4096  Batches: 128  Memory Usage: 89kB",
            128,
            false,
        ),
        (
            "Buckets: 65536 (originally 1024)  Batches: 32 (originally 1)  Memory Usage: 3073kB",
            32,
            false,
        ),
        (
            "Planned Partitions: 4  Batches: 5  Memory Usage: 8241kB  Disk Usage: 10000kB",
            5,
            false,
        ),
        (
            "Batches: 5  Memory Usage: 8241kB  Disk Usage: 9kB",
            5,
            false,
        ),
        ("Worker 0:  Batches: 7  Memory Usage: 9kB", 7, false),
        ("Sort Method: quicksort  Memory: 25kB", 0, false),
        ("Sort Method: top-N heapsort  Memory: 25kB", 0, false),
        ("Sort Method: external merge  Disk: 9264kB", 0, true),
        ("Sort Method: external sort  Disk: 9264kB", 0, true),
        ("Worker 1:  Sort Method: external merge  Disk: 9kB", 0, true),
        (
            "Full-sort Groups: 2  Sort Method: quicksort  Average Memory: 26kB  Peak Memory: 26kB",
            0,
            false,
        ),
        (
            "Pre-sorted Groups: 2  Sort Methods: quicksort, external merge  \
             Average Memory: 26kB  Peak Memory: 26kB  Average Disk: 9kB  Peak Disk: 9kB",
            0,
            true,
        ),
        ("Storage: Disk  Maximum Storage: 17kB", 0, false),
        ("Index Searches: 1", 0, false),
        ("Heap Blocks: exact=3 lossy=5", 0, false),
    ];
    for (line, batches, on_disk) in cases {
        let text = format!("Sort  (cost=1..2 rows=1 width=1)\n  {line}");
        let [node] = &nodes(&text)[..] else {
            panic!("one node: {line}");
        };
        assert_eq!(
            (node.batches, node.sorted_on_disk),
            (batches, on_disk),
            "{line}"
        );
    }
}

#[test]
fn a_table_is_named_without_its_alias() {
    let cases = [
        ("big", "big"),
        ("big b", "big"),
        ("public.big b", "public.big"),
        ("\"a b\".\"c \"\" d\" e", "\"a b\".\"c \"\" d\""),
        ("\"never ends", "\"never ends"),
        ("", ""),
    ];
    for (text, table) in cases {
        assert_eq!(name(text), table);
    }
}

proptest! {
    #[test]
    fn any_text_is_parsed_without_a_panic(text in "( {0,9}(->  )?[a-z\"é(=.0-9 ]{0,9}(  \\(cost=|\\(actual time=|loops=|Batches: |Buffers: shared )?[0-9.]{0,4}\n){0,9}") {
        let plan = Plan::read(&text);
        prop_assert!(plan.scanned().count() <= plan.nodes.len());
        prop_assert!(plan.nodes.iter().all(|node| node.milliseconds.is_finite()));
    }
}
