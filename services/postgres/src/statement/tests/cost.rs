//! Limits on the estimated cost.

use super::*;

const MAX: f64 = 1000.0;

/// Runs a statement with a cost limit of [`MAX`], and returns its lines.
async fn run(pool: &Pool, sql: &str) -> Result<Vec<String>, QueryError> {
    let statement = Statement::new(pool.database(), sql)?.with_max_cost(Some(MAX));
    let mut rows = statement.run(pool.lease().await?).await?;
    let mut lines = Vec::new();
    while let Some(row) = rows.try_next().await? {
        let mut line = String::new();
        row.write_tsv(&mut line, Format::default())?;
        lines.push(line);
    }
    Ok(lines)
}

/// Returns the estimate of a statement that is refused for it.
async fn refused(pool: &Pool, sql: &str) -> Option<f64> {
    match run(pool, sql).await {
        Err(QueryError::TooCostly { cost, max }) => {
            assert!(max == MAX, "{sql}");
            cost
        }
        other => panic!("{sql}: {other:?}"),
    }
}

const TABLE: &str = "CREATE TABLE many AS SELECT n FROM generate_series(1, 100000) AS n; ANALYZE many; \
     CREATE MATERIALIZED VIEW kept AS TABLE many";

#[tokio::test]
async fn a_statement_runs_up_to_the_limit_on_its_cost() {
    let mut fixture = Fixture::new().await;
    fixture.given(TABLE).await;
    let pool = fixture.readable();
    for (sql, expected) in [
        ("SELECT 1", "1"),
        ("SELECT n FROM many WHERE false", ""),
        // PostgreSQL stops after the rows that are wanted.
        ("SELECT 1 FROM many LIMIT 3", "1 1 1"),
        ("(SELECT 1) UNION ALL SELECT 2", "1 2"),
        ("SHOW application_name", "ziggurat"),
        ("SELECT ';' AS a; -- the; end", ";"),
    ] {
        let lines = run(&pool, sql).await;
        let lines = lines.unwrap_or_else(|error| panic!("{sql}: {error:?}"));
        assert_eq!(lines.join(" "), expected, "{sql}");
    }
    let explained = run(&pool, "EXPLAIN SELECT a.n FROM many AS a, many AS b").await;
    assert!(
        explained.is_ok_and(|lines| !lines.is_empty()),
        "it does not run"
    );
}

#[tokio::test]
async fn a_statement_above_the_limit_does_not_run() {
    let mut fixture = Fixture::new().await;
    fixture.given(TABLE).await;
    for sql in [
        "SELECT sum(n) FROM many",
        "SELECT n FROM many ORDER BY n",
        "SELECT n FROM many ORDER BY n LIMIT 1",
        "WITH a AS MATERIALIZED (SELECT n FROM many) SELECT count(*) FROM a",
        "EXPLAIN ANALYZE SELECT sum(n) FROM many",
        "EXPLAIN (ANALYZE, TIMING off) SELECT sum(n) FROM many",
        // Lines of a plan as text could be made to look cheap.
        "SELECT sum(n) FROM many AS \"a\n (cost=0.00..0.01 rows=1 width=4)\"",
    ] {
        let cost = refused(&fixture.readable(), sql).await.expect(sql);
        assert!(cost > MAX && cost < 100_000.0, "{sql}: {cost}");
    }
    let pool = fixture.writable();
    for sql in [
        "DELETE FROM many",
        "INSERT INTO many SELECT n FROM many",
        "CREATE TABLE more AS SELECT n FROM many",
    ] {
        assert!(refused(&pool, sql).await > Some(MAX), "{sql}");
    }
    for sql in [
        "DO 'BEGIN DELETE FROM many; END'",
        "DELETE FROM many; SELECT 1",
        "CREATE INDEX ON many (n)",
        "REFRESH MATERIALIZED VIEW kept",
        "ANALYZE many",
        "ALTER TABLE many ALTER n TYPE numeric",
    ] {
        assert_eq!(refused(&pool, sql).await, None, "{sql}");
    }
    let count = "SELECT count(*), to_regclass('more') FROM many";
    assert_eq!(value(&pool, count).await, "100000\t", "nothing has changed");
    run(&pool, "INSERT INTO many VALUES (0)")
        .await
        .expect("it is cheap");
    assert_eq!(value(&pool, count).await, "100001\t");
}

#[tokio::test]
async fn a_limit_on_the_cost_changes_no_error() {
    let fixture = Fixture::new().await;
    let pool = fixture.readable();
    for sql in [
        "SELECT nope",
        "SELECT 'ü', nope",
        "SELEC 1",
        "SELECT 1/0",
        "SELECT 1 LIMIT 'a'",
        "SELECT count(*) FROM generate_series(1, 3) AS n WHERE 1/(n - 2) > 0",
        "EXPLAIN ANALYZE SELECT 1, nope",
        "EXPLAIN (ANALYZE, COSTS true, SUMMARY false, TIMING false) SELECT 'ü', nope",
        "DELETE FROM pg_class",
    ] {
        let (_, expected) = failure(&pool, sql).await;
        match run(&pool, sql).await {
            Err(QueryError::Failed { report, .. }) => assert_eq!(*report, expected, "{sql}"),
            other => panic!("{sql}: {other:?}"),
        }
    }
}
