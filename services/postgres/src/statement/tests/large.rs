//! Tests of results that are larger than a call can ask for.

use super::*;
use crate::rows::{Extent, Rows, Summary};

/// Makes a pool with a row limit of `rows`, as an operator may set.
fn allowing(fixture: &Fixture, rows: u32) -> Pool {
    fixture.pool(|settings| settings.row_limit = rows)
}

async fn run(pool: &Pool, sql: &str) -> Result<Rows, QueryError> {
    let statement = Statement::new(pool.database(), sql).expect("a statement");
    assert_eq!(statement.route(), Route::Spool, "{sql}");
    statement.run(pool.lease().await.expect("a lease")).await
}

fn extent(rows: u32, has_more: bool) -> Extent {
    Extent { rows, has_more }
}

#[tokio::test]
async fn a_large_answer_reads_like_a_small_one() {
    let mut fixture = Fixture::new().await;
    fixture
        .given(
            "CREATE TYPE mood AS ENUM ('low', 'high');
             CREATE TABLE t (id int, moods mood[], at timestamptz, j jsonb);
             INSERT INTO t VALUES (2, '{low,high}', '2024-01-31 12:00Z', '{\"a\": 1}'), (1, NULL, NULL, NULL)",
        )
        .await;
    // One pool each, since a pool looks up types only once.
    let small = fixture.pools.pool("small", &fixture.describe(|_| {}));
    let large = fixture
        .pools
        .pool("large", &fixture.describe(|s| s.row_limit = 5000));
    for sql in [
        "SELECT * FROM t ORDER BY id",
        "SELECT id, id, id AS \"ID\", 1 FROM t ORDER BY id DESC -- the end",
        "WITH a AS (SELECT 1 AS x) TABLE a",
        "VALUES (1, 'a'), (2, NULL)",
        "TABLE t LIMIT 1",
        "SELECT i FROM generate_series(1, 9) i OFFSET 2 ROWS FETCH NEXT 3 ROWS ONLY",
        "(SELECT 1) UNION ALL SELECT 2",
        "SELECT ';' AS a, 'x' AS b, NULL AS c, ROW(1, 2), t FROM t ORDER BY id",
        "SELECT kept.x FROM (SELECT 1 AS x) kept",
        "SELECT count(*) FROM t WHERE false GROUP BY id",
        "SELECT",
        "SELECT FROM t",
        "SELECT WHERE false",
    ] {
        let (expected, said) = ask(&small, sql).await.expect(sql);
        let statement = Statement::new(large.database(), sql).expect(sql);
        assert_eq!(statement.route(), Route::Spool, "{sql}");
        let (found, summary) = ask(&large, sql).await.expect(sql);
        assert_eq!(found, expected, "{sql}");
        let said = Summary {
            processed: 0,
            ..said
        };
        assert_eq!(summary, said, "{sql}");
    }
}

#[tokio::test]
async fn a_large_result_is_counted_before_its_first_row() {
    let fixture = Fixture::new().await;
    let pool = allowing(&fixture, 1500);
    let cases = [
        ("SELECT generate_series(1, 0)", extent(0, false)),
        ("SELECT generate_series(1, 1499)", extent(1499, false)),
        ("SELECT generate_series(1, 1500)", extent(1500, false)),
        ("SELECT generate_series(1, 1501)", extent(1500, true)),
        ("SELECT generate_series(1, 3000) LIMIT 2", extent(2, false)),
        (
            "SELECT generate_series(1, 3000) LIMIT 1600",
            extent(1500, true),
        ),
    ];
    for (sql, expected) in cases {
        let mut rows = run(&pool, sql).await.expect(sql);
        assert_eq!(rows.extent(), Some(expected), "{sql}");
        let mut count = 0;
        while rows.try_next().await.expect("a row").is_some() {
            count += 1;
        }
        let summary = rows.summary().expect("the end");
        assert_eq!(extent(count, summary.has_more), expected, "{sql}");
        assert_eq!(summary.rows, count, "{sql}");
    }
}

#[tokio::test]
async fn an_offset_is_skipped() {
    let fixture = Fixture::new().await;
    let pool = allowing(&fixture, 1500);
    let sql = "SELECT generate_series(1, 5000)";
    let cases = [
        (3400, "3401", extent(1500, true)),
        (3500, "3501", extent(1500, false)),
        (4999, "5000", extent(1, false)),
        (u64::MAX, "", extent(0, false)),
    ];
    for (offset, first, expected) in cases {
        let window = Window { offset, rows: 1500 };
        let statement = Statement::new(pool.database(), sql).expect("a query");
        let lease = pool.lease().await.expect("a lease");
        let run = statement.with_window(window).run(lease).await;
        let mut rows = run.expect("rows");
        assert_eq!(rows.extent(), Some(expected), "{offset}");
        let mut line = String::new();
        if let Some(row) = rows.try_next().await.expect("a row") {
            row.write_tsv(&mut line, Format::default()).expect("text");
        }
        assert_eq!(line, first, "{offset}");
    }
}

#[tokio::test]
async fn the_counted_rows_of_a_random_query_are_the_rows_that_are_sent() {
    let mut fixture = Fixture::new().await;
    fixture
        .given("CREATE TABLE t AS SELECT generate_series(1, 20000) AS i; CREATE SEQUENCE s")
        .await;
    let pool = fixture.pool(|settings| {
        settings.row_limit = 100_000;
        settings.allow_writes = true;
    });
    let mut rows = run(&pool, "SELECT i FROM t WHERE random() < 0.5").await;
    let rows = rows.as_mut().expect("rows");
    let promised = rows.extent().expect("counted").rows;
    let mut found = 0;
    while rows.try_next().await.expect("a row").is_some() {
        found += 1;
    }
    assert_eq!(found, promised);

    let (answer, _) = ask(&pool, "SELECT nextval('s') FROM t")
        .await
        .expect("rows");
    assert_eq!(answer.lines().nth(1), Some("1"));
    assert_eq!(answer.lines().last(), Some("20000"));
    assert_eq!(fixture.count("SELECT last_value FROM s").await, 20_000);
}

#[tokio::test]
async fn a_large_result_that_fails_sends_no_rows() {
    let mut fixture = Fixture::new().await;
    fixture.given("CREATE TABLE t (id int)").await;
    let pool = allowing(&fixture, 200_000);
    let cases = [
        (
            "SELECT 1 / (150000 - i) FROM generate_series(1, 160000) i",
            Run,
            "ERROR: division by zero (SQLSTATE 22012)",
            None,
        ),
        (
            "SELECT é, nope FROM t",
            Parse,
            "ERROR: column \"é\" does not exist (SQLSTATE 42703)",
            Some(8),
        ),
        (
            "SELECT 1) AS a, (SELECT 2",
            Parse,
            "ERROR: syntax error at or near \")\" (SQLSTATE 42601)",
            Some(9),
        ),
        (
            "WITH gone AS (DELETE FROM t RETURNING id) SELECT * FROM gone",
            Run,
            "ERROR: cannot execute SELECT in a read-only transaction (SQLSTATE 25006)",
            None,
        ),
    ];
    for (sql, phase, text, position) in cases {
        let error = run(&pool, sql).await.expect_err(sql);
        let QueryError::Failed { phase: at, report } = error else {
            panic!("{sql}: {error:?}");
        };
        assert_eq!(report.to_string(), text, "{sql}");
        assert_eq!((at, report.position), (phase, position), "{sql}");
        // The connection stays usable.
        assert_eq!(value(&pool, "SELECT 1").await, "1", "{sql}");
    }
    assert_eq!(fixture.count(CONNECTED).await, 1);
}

#[tokio::test]
async fn a_large_result_dropped_before_its_end_is_cancelled() {
    let fixture = Fixture::new().await;
    let mut watch = fixture.connect().await;
    let pool = fixture.pool(|settings| {
        settings.row_limit = 200_000;
        settings.max_connections = 1;
    });
    let counting = "SELECT pg_sleep(600) FROM generate_series(1, 200000)";
    let counting = run(&pool, counting);
    tokio::select! {
        result = counting => panic!("{result:?}"),
        () = until(&mut watch, 1, SLEEPING) => {}
    }
    until(&mut watch, 0, CONNECTED).await;

    let sending = "SELECT repeat('x', 1000) FROM generate_series(1, 200000)";
    let mut rows = run(&pool, sending).await.expect("rows");
    assert!(rows.try_next().await.expect("a row").is_some());
    drop(rows);
    until(&mut watch, 0, CONNECTED).await;
    assert_eq!(value(&pool, "SELECT 1").await, "1");
}
