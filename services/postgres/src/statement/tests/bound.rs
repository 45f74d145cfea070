//! Statements with values, and texts that are proved.

use super::*;
use crate::single_round_trip;

/// Runs a statement with values, and returns its rows as lines.
async fn bound(statement: Statement, pool: &Pool) -> Result<Vec<String>, QueryError> {
    let mut rows = statement.run(pool.lease().await?).await?;
    let mut lines = Vec::new();
    while let Some(row) = rows.try_next().await? {
        let mut line = String::new();
        row.write_tsv(&mut line, Format::default())?;
        lines.push(line);
    }
    let more = rows.summary().is_some_and(|summary| summary.has_more);
    lines.extend(more.then(|| "more".to_owned()));
    Ok(lines)
}

#[tokio::test]
async fn values_are_bound_and_the_connection_stays_usable() {
    let mut fixture = Fixture::new().await;
    fixture
        .given("CREATE TABLE t AS SELECT n FROM generate_series(1, 9) n")
        .await;
    let pool = fixture.readable();
    let read = |text: &str, values: Vec<Value>| {
        let statement = Statement::read_only(pool.database(), text).expect(text);
        statement.with_row_limit(2).with_values(values)
    };
    let count = || vec![Value::from("3")];
    let limited = "SELECT n FROM t WHERE n >= $1::text::int ORDER BY n LIMIT 5 -- all";
    for text in [
        limited,
        "SELECT n FROM t WHERE n >= $1::text::int ORDER BY n -- no limit",
        "SELECT n FROM t WHERE n >= $1::text::int AND ';' = ';' ORDER BY n",
        "(SELECT n FROM t WHERE n >= $1::text::int) ORDER BY n",
        "SELECT n FROM t WHERE n >= $1::text::int ORDER BY n FETCH FIRST 5 ROWS ONLY",
    ] {
        let lines = bound(read(text, count()), &pool).await.expect(text);
        assert_eq!(lines, ["3", "4", "more"], "{text}");
    }
    let lines = bound(read("SHOW transaction_read_only", Vec::new()), &pool).await;
    assert_eq!(lines.expect("a setting"), ["on"]);
    for text in [
        "SELECT 1 / ($1::text::int - 3)",
        "SELECT $1::text::nope",
        "SELECT $1, $2",
    ] {
        for _ in 0..3 {
            let failed = bound(read(text, count()), &pool).await;
            assert!(matches!(failed, Err(QueryError::Failed { .. })), "{text}");
        }
    }
    // No more than two connections: none was lost by an error.
    let lines = bound(read("SELECT $1::text", count()), &pool).await;
    assert_eq!(lines.expect("a row"), ["3"]);
    let costly =
        "SELECT count($1::text) FROM t AS a, t AS b, t AS c, t AS d, t AS e, t AS f, t AS g";
    let statement = read(costly, count()).with_max_cost(Some(1000.0));
    let refused = bound(statement, &pool).await;
    assert!(matches!(
        refused,
        Err(QueryError::TooCostly { cost: Some(_), .. })
    ));
    let statement = read("SELECT $1::text", count()).with_max_cost(Some(1000.0));
    assert_eq!(bound(statement, &pool).await.expect("cheap"), ["3"]);
    let statement = read("SELECT pg_sleep($1::text::int)", vec![Value::from("60")]);
    let late = bound(
        statement.with_timeout(Some(Duration::from_millis(50))),
        &pool,
    )
    .await;
    assert!(matches!(late, Err(QueryError::Failed { report, .. }) if report.sqlstate == "57014"));
}

#[tokio::test]
async fn a_statement_that_writes_takes_values_too() {
    let mut fixture = Fixture::new().await;
    fixture.given("CREATE TABLE t (n int)").await;
    let pool = fixture.writable();
    let statement = |text: &str, value: &str| {
        let statement = Statement::new(pool.database(), text).expect(text);
        statement.with_values(vec![Value::from(value)])
    };
    let insert = "INSERT INTO t SELECT n FROM generate_series(1, $1::text::int) n";
    let mut rows = statement(insert, "3")
        .run(pool.lease().await.expect("free"))
        .await
        .expect("run");
    assert!(rows.try_next().await.expect("no rows").is_none());
    assert_eq!(rows.summary().map(|summary| summary.affected), Some(3));
    let update = "UPDATE t SET n = n + $1::text::int RETURNING n";
    let lines = bound(statement(update, "10").with_row_limit(2), &pool).await;
    assert_eq!(lines.expect("rows"), ["11", "12", "more"]);
    // It begins like a query, and leaves a table in its session.
    let made = bound(
        statement("SELECT $1::text AS word INTO TEMP kept", "x"),
        &pool,
    );
    made.await.expect("run");
    for _ in 0..3 {
        let left = bound(statement("SELECT $1 || word FROM kept", "x"), &pool).await;
        assert!(matches!(left, Err(QueryError::Failed { .. })), "{left:?}");
    }
    assert_eq!(fixture.count("SELECT sum(n) FROM t").await, 36);
}

#[tokio::test]
async fn a_text_is_proved_without_running_it() {
    let fixture = Fixture::new().await;
    let pool = fixture.readable();
    let prove =
        async |text: &str| single_round_trip::prove(pool.lease().await.expect("free"), text).await;
    for text in ["SELECT 1 / 0 + $1::text::int", "CREATE TABLE made (n int)"] {
        prove(text).await.expect(text);
    }
    for text in [
        "SELECT * FROM absent",
        "SELECT",
        "SELECT 1; SELECT 2",
        "SELECT $1::text::nope",
    ] {
        let proved = prove(text).await;
        assert_eq!(proved.is_err(), text != "SELECT", "{text}");
    }
    assert_eq!(
        value(&pool, "SELECT to_regclass('made') IS NULL").await,
        "true"
    );
}
