//! Limits on changed rows.

use super::*;
use crate::{
    driver::Value,
    error::ChangeLimit::{self, CountsOff, Dropped, Ended, Exceeded, Locked, Uncounted},
};

const MAX: u64 = 10;

/// Makes a database with tables, and a pool that may change ten rows of it at once.
async fn capped() -> (Fixture, Pool) {
    let mut fixture = Fixture::new().await;
    fixture.given(include_str!("changes.sql")).await;
    let pool = fixture.pool(|settings| {
        settings.allow_writes = true;
        settings.max_changed_rows = MAX;
    });
    (fixture, pool)
}

/// Returns the numbers of rows of all tables.
async fn counts(fixture: &mut Fixture) -> i64 {
    let sql = "SELECT (SELECT sum(n) FROM t) * 1000000 + (SELECT count(*) FROM child) * 1000 \
               + (SELECT count(*) FROM log) + (SELECT count(*) FROM parts) * 100000000 \
               + (SELECT count(*) FROM pg_largeobject_metadata)";
    fixture.count(sql).await
}

/// Runs a statement that is not committed, and returns the reason.
async fn limit(pool: &Pool, sql: &str) -> ChangeLimit {
    match ask(pool, sql).await {
        Err(QueryError::Changes(limit)) => limit,
        other => panic!("{sql}: {other:?}"),
    }
}

const fn exceeded(rows: u64) -> ChangeLimit {
    Exceeded { rows, max: MAX }
}

#[tokio::test]
async fn as_many_rows_as_the_limit_may_change_and_no_more() {
    let (mut fixture, pool) = capped().await;
    for (sql, rows) in [
        ("UPDATE t SET n = n WHERE id <= 9", 9),
        ("UPDATE t SET n = n WHERE id <= 10", 10),
        ("UPDATE t SET n = n WHERE id <= 11", 11),
        ("DELETE FROM t WHERE id <= 11", 11),
        (
            "INSERT INTO t SELECT g, g FROM generate_series(501, 511) g",
            11,
        ),
        (
            "INSERT INTO t SELECT g, g FROM generate_series(1, 11) g ON CONFLICT (id) DO UPDATE SET n = 9",
            11,
        ),
        // A row that changes twice counts twice.
        (
            "UPDATE t SET n = n WHERE id < 6; UPDATE t SET n = n WHERE id < 7",
            11,
        ),
        (
            "WITH d AS (DELETE FROM t WHERE id < 6 RETURNING id) INSERT INTO t SELECT id + 900, id FROM d; SELECT 1",
            10,
        ),
        (
            "WITH d AS (DELETE FROM t WHERE id BETWEEN 100 AND 104 RETURNING id) INSERT INTO t SELECT id + 900, id FROM d UNION SELECT 800, 1",
            11,
        ),
        // By cascades, triggers, functions, rules, procedures, views and moves between partitions.
        ("DELETE FROM parent WHERE id = 1", 11),
        ("INSERT INTO logged VALUES (1)", 13),
        ("SELECT wipe(11)", 11),
        ("SELECT * FROM (SELECT wipe(11)) AS w", 11),
        ("SELECT wipe(11) LIMIT 1", 11),
        ("VALUES (wipe(11))", 11),
        ("SELECT 1; SELECT wipe(11)", 11),
        ("CALL clear(11)", 11),
        ("DO 'BEGIN PERFORM wipe(11); END'", 11),
        ("EXPLAIN ANALYZE SELECT wipe(11)", 11),
        (
            "INSERT INTO view_of_t VALUES (600), (601), (602), (603), (604), (605)",
            12,
        ),
        ("UPDATE parts SET half = 1 - half WHERE id <= 6", 12),
        ("SELECT count(lo_create(0)) FROM generate_series(1, 11)", 11),
        // What a subtransaction has undone counts too.
        (
            "DO 'BEGIN BEGIN PERFORM wipe(11); RAISE division_by_zero; EXCEPTION WHEN division_by_zero THEN END; END'",
            11,
        ),
    ] {
        let before = counts(&mut fixture).await;
        let done = ask(&pool, sql).await;
        match done {
            Ok(_) => assert!(rows <= MAX, "{sql}"),
            Err(QueryError::Changes(limit)) => {
                assert_eq!(limit, exceeded(rows), "{sql}");
                assert_eq!(counts(&mut fixture).await, before, "{sql}");
            }
            Err(error) => panic!("{sql}: {error:?}"),
        }
    }
}

#[tokio::test]
async fn what_would_run_only_at_the_end_of_the_transaction_counts() {
    let (mut fixture, pool) = capped().await;
    let before = counts(&mut fixture).await;
    for sql in [
        "INSERT INTO late VALUES (1)",
        "SET CONSTRAINTS ALL DEFERRED; INSERT INTO late VALUES (1)",
        // Each trigger defers the next.
        "INSERT INTO later VALUES (1)",
    ] {
        assert!(
            matches!(limit(&pool, sql).await, Exceeded { rows: 13.., .. }),
            "{sql}"
        );
    }
    assert_eq!(
        limit(&pool, "INSERT INTO endless VALUES (1)").await,
        ChangeLimit::Triggers
    );
    // The cursor is closed before it runs.
    for sql in [
        "DECLARE c CURSOR WITH HOLD FOR SELECT wipe(11)",
        "SELECT 1; DO $$ BEGIN EXECUTE 'DECLARE c CURSOR WITH HOLD FOR SELECT wipe(11)'; END $$",
    ] {
        ask(&pool, sql).await.expect(sql);
    }
    assert_eq!(counts(&mut fixture).await, before);
}

#[tokio::test]
async fn changes_that_cannot_be_counted_are_undone() {
    let (mut fixture, pool) = capped().await;
    let before = counts(&mut fixture).await;
    let locked = |table: &str| Locked(table.to_owned());
    for (sql, expected) in [
        ("TRUNCATE t, log", locked("public.log")),
        ("LOCK TABLE t", locked("public.t")),
        ("ALTER TABLE t ADD more int", locked("public.t")),
        ("SELECT empty()", locked("public.t")),
        ("DELETE FROM t; TRUNCATE t", locked("public.t")),
        ("DROP INDEX by_n", locked("public.t")),
        ("REFRESH MATERIALIZED VIEW kept", locked("public.kept")),
        ("CREATE TABLE more AS SELECT 1 AS n", locked("public.more")),
        ("DROP TABLE log", Dropped),
        ("DROP SCHEMA public CASCADE", Dropped),
        ("DROP VIEW view_of_t", Dropped),
        ("SET track_counts = off; DELETE FROM t", CountsOff),
        // Tables of the caller with the names of the catalogue.
        (
            "CREATE TEMP VIEW pg_locks AS SELECT 0 AS pid WHERE false; \
          CREATE TEMP TABLE pg_class AS SELECT 0 AS oid WHERE false; DELETE FROM t WHERE id < 12",
            exceeded(11),
        ),
        (
            "CREATE SCHEMA own; CREATE FUNCTION own.pg_stat_get_xact_tuples_deleted(oid) RETURNS bigint \
          AS 'SELECT 0::bigint' LANGUAGE sql; SET search_path = own, public, pg_catalog; \
          DELETE FROM t WHERE id < 12",
            exceeded(11),
        ),
    ] {
        assert_eq!(limit(&pool, sql).await, expected, "{sql}");
    }
    assert_eq!(counts(&mut fixture).await, before);
    let far = "CREATE FOREIGN DATA WRAPPER w; CREATE SERVER s FOREIGN DATA WRAPPER w; \
               CREATE FOREIGN TABLE far (n int) SERVER s";
    fixture.given(far).await;
    let far = Uncounted("public.far".to_owned());
    assert_eq!(
        limit(&pool, "COMMENT ON FOREIGN TABLE far IS ''").await,
        far
    );
}

#[tokio::test]
async fn a_text_that_ends_its_transaction_is_refused() {
    let (mut fixture, pool) = capped().await;
    let before = counts(&mut fixture).await;
    for (sql, command) in [
        ("DELETE FROM t; COMMIT", "COMMIT"),
        ("commit", "COMMIT"),
        ("DELETE FROM t WHERE id = 1; end; begin; SELECT 1", "END"),
        ("SAVEPOINT a; DELETE FROM t; RELEASE a", "SAVEPOINT"),
        (
            "DELETE FROM t; PREPARE TRANSACTION 'x'",
            "PREPARE TRANSACTION",
        ),
    ] {
        let error = ask(&pool, sql).await.expect_err(sql);
        let expected = Refusal::Transaction(command);
        assert!(
            matches!(&error, QueryError::Refused(it) if *it == expected),
            "{sql}: {error:?}"
        );
    }
    for sql in [
        "CALL clear_and_commit()",
        "DO 'BEGIN DELETE FROM child; COMMIT; END'",
    ] {
        let error = ask(&pool, sql).await.expect_err(sql);
        let QueryError::Failed { report, .. } = &error else {
            panic!("{sql}: {error:?}");
        };
        assert_eq!(report.sqlstate, "2D000", "{sql}");
    }
    assert_eq!(counts(&mut fixture).await, before);
    assert_ne!(Ended.to_string(), "");
}

#[tokio::test]
async fn counters_of_earlier_calls_and_rows_of_temporary_tables_do_not_count() {
    let (mut fixture, pool) = capped().await;
    for _ in 0..5 {
        ask(&pool, "UPDATE t SET n = n WHERE id <= 10")
            .await
            .expect("ten rows");
        limit(&pool, "UPDATE t SET n = n").await;
    }
    let many = "CREATE TEMP TABLE many AS SELECT generate_series(1, 1000) AS n; DELETE FROM many; \
                UPDATE t SET n = 7 WHERE id = 1";
    ask(&pool, many).await.expect("a temporary table");
    assert_eq!(
        fixture.count("SELECT n::bigint FROM t WHERE id = 1").await,
        7
    );
    ask(&pool, "SELECT * FROM t; SET LOCAL work_mem = '1MB'")
        .await
        .expect("no change");
    let (_, summary) = ask(&pool, "SELECT pg_advisory_lock(1)")
        .await
        .expect("a lock");
    assert_eq!(summary.rows, 1);
    limit(&pool, "SELECT pg_advisory_lock(2); DELETE FROM t").await;
    ask(&pool, "SELECT pg_advisory_lock(3); SELECT 1/0")
        .await
        .expect_err("a division");
    let locks = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory'";
    assert_eq!(fixture.count(locks).await, 0, "the session is reset");
}

#[tokio::test]
async fn the_smaller_limit_holds_and_texts_with_values_have_it_too() {
    let (mut fixture, pool) = capped().await;
    let update = |sql: &str, most| {
        let statement = Statement::new(pool.database(), sql).expect(sql);
        statement.with_max_changed_rows(most)
    };
    let run = async |statement: Statement| {
        let lease = pool.lease().await.expect("a connection");
        statement.run(lease).await?.try_collect::<Vec<_>>().await
    };
    let sql = "UPDATE t SET n = n WHERE id <= 5";
    for (most, is_done) in [
        (None, true),
        (Some(5), true),
        (Some(4), false),
        (Some(99), true),
    ] {
        assert_eq!(run(update(sql, most)).await.is_ok(), is_done, "{most:?}");
    }
    assert!(run(update("UPDATE t SET n = n", Some(99))).await.is_err());
    let sql = "UPDATE t SET n = n WHERE id <= $1 RETURNING id";
    for (most, is_done) in [(10_i64, true), (11, false)] {
        let statement = update(sql, None).with_values(vec![Value::from(most)]);
        assert_eq!(run(statement).await.is_ok(), is_done, "{most}");
    }
    let before = counts(&mut fixture).await;
    let statement = update("SELECT wipe(11)", None).with_row_limit(1000);
    assert!(run(statement).await.is_err());
    assert!(
        run(update("SELECT wipe(5)", None).unconfirmed())
            .await
            .is_err_and(|it| it.is_about_a_write())
    );
    assert_eq!(counts(&mut fixture).await, before);
}

#[test]
fn the_reasons_are_sentences() {
    for (limit, text) in [
        (
            Exceeded {
                rows: 1204,
                max: 1000,
            },
            "The statement was rolled back: it changed 1,204 rows, and at most 1,000 are allowed.",
        ),
        (
            Exceeded {
                rows: 1_234_567,
                max: 1,
            },
            "The statement was rolled back: it changed 1,234,567 rows, and at most 1 is allowed.",
        ),
        (
            Locked("public.t".to_owned()),
            "The statement was rolled back: it empties or alters public.t, whose rows cannot be counted.",
        ),
    ] {
        assert_eq!(limit.to_string(), text);
    }
}
