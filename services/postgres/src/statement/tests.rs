mod bound;
mod changes;
mod cost;
mod large;

use std::time::Instant;

use futures_util::TryStreamExt as _;
use sqlx::{AssertSqlSafe, Executor as _, PgConnection, SqlSafeStr as _};
use tokio::task;
use ziggurat_sql::StatementShape;

use super::*;
use crate::{
    error::{
        Phase::{self, Parse, Run},
        Report,
    },
    fixture::{Fixture, ask, ask_for},
    pool::Pool,
    tsv::Format,
};

/// Returns the phase and the report of a statement that fails.
async fn failure(pool: &Pool, sql: &str) -> (Phase, Report) {
    match ask(pool, sql).await {
        Err(QueryError::Failed { phase, report }) => (phase, *report),
        other => panic!("{sql}: {other:?}"),
    }
}

/// Returns the first row of an answer.
async fn value(pool: &Pool, sql: &str) -> String {
    let (answer, _) = ask(pool, sql)
        .await
        .unwrap_or_else(|error| panic!("{sql}: {error:?}"));
    answer.lines().nth(1).unwrap_or_default().to_owned()
}

/// Returns the shape of a text under the policy that refuses least.
fn shape(text: &str) -> StatementShape<'_> {
    let open = Policy::writable().with_dangerous_functions(true);
    open.check(text).expect(text)
}

/// Returns a statement that was not checked before it is sent.
fn unguarded(database: &Database, text: &str, route: Route) -> Statement {
    Statement {
        text: text.into(),
        route,
        ..Statement::new(database, "SELECT 1").expect("harmless")
    }
}

#[tokio::test]
async fn a_statement_that_removes_the_timeout_of_postgresql_ends_at_the_deadline() {
    let mut fixture = Fixture::new().await;
    let pool = fixture.pool(|settings| {
        settings.allow_writes = true;
        settings.query_timeout = Duration::from_millis(500);
        settings.max_connections = 1;
    });
    // Row by row for minutes: PostgreSQL sends what fills its buffer of 8 KiB.
    let sql = "SET statement_timeout = 0; \
               SELECT repeat('x', 9000), pg_sleep(0.2) FROM generate_series(1, 1000) AS slow";
    let ended = tokio::time::timeout(Duration::from_secs(30), ask(&pool, sql)).await;
    let ended = ended.expect("in time");
    assert!(matches!(ended, Err(QueryError::Silent)), "{ended:?}");
    // The only connection is free again when the statement was cancelled.
    assert_eq!(value(&pool, "SHOW statement_timeout").await, "500ms");
    let running = "SELECT count(*) FROM pg_stat_activity
        WHERE datname = current_database() AND query LIKE '%AS slow'";
    assert_eq!(fixture.count(running).await, 0);
}

#[tokio::test]
async fn a_query_has_a_header_and_rows() {
    let fixture = Fixture::new().await;
    let pool = fixture.readable();
    let cases = [
        ("SELECT 1 AS a, NULL AS b, 'x' AS c", "a\tb\tc\n1\t\tx"),
        ("VALUES (1), (2);", "column1\n1\n2"),
        ("WITH a AS (SELECT 1 AS x) TABLE a ; ;", "x\n1"),
        ("(SELECT 1) UNION ALL SELECT 2", "?column?\n1\n2"),
        ("SELECT ';' AS \";\"", ";\n;"),
        ("SELECT 1 AS a -- the end", "a\n1"),
        ("SELECT 1 AS a; -- the; end", "a\n1"),
        ("SELECT 1 AS a /* ; */", "a\n1"),
        ("SELECT 1 AS a WHERE false", "a"),
        ("SELECT ';' AS a WHERE false", "a"),
        ("SELECT", "\n"),
        ("SELECT WHERE false", ""),
        ("SHOW transaction_read_only", "transaction_read_only\non"),
        ("SHOW application_name", "application_name\nziggurat"),
        ("EXPLAIN (COSTS false) SELECT 1", "QUERY PLAN\nResult"),
    ];
    for (sql, expected) in cases {
        let (answer, summary) = ask(&pool, sql)
            .await
            .unwrap_or_else(|error| panic!("{sql}: {error:?}"));
        assert_eq!(answer, expected, "{sql}");
        assert!(!summary.has_more, "{sql}");
        assert_eq!(summary.command, "", "{sql}");
    }
}

#[tokio::test]
async fn a_window_applies_where_the_text_sets_no_limit() {
    let fixture = Fixture::new().await;
    let pool = fixture.readable();
    for &(sql, offset, rows, expected, has_more) in WINDOWS {
        let window = Window { offset, rows };
        let (answer, summary) = ask_for(&pool, sql, window)
            .await
            .unwrap_or_else(|error| panic!("{sql}: {error:?}"));
        let values: Vec<&str> = answer.lines().skip(1).collect();
        assert_eq!(values.join(" "), expected, "{sql} {window:?}");
        assert_eq!(summary.has_more, has_more, "{sql} {window:?}");
        assert_eq!(summary.rows as usize, values.len(), "{sql} {window:?}");
    }
}

const WINDOWS: &[(&str, u64, u32, &str, bool)] = &[
    // text, offset, rows, expected, has more
    ("SELECT generate_series(1, 9)", 0, 3, "1 2 3", true),
    (
        "SELECT generate_series(1, 9)",
        0,
        9,
        "1 2 3 4 5 6 7 8 9",
        false,
    ),
    ("SELECT generate_series(1, 9)", 7, 3, "8 9", false),
    ("SELECT generate_series(1, 9)", 6, 2, "7 8", true),
    ("SELECT generate_series(1, 9)", 10, 2, "", false),
    ("SELECT generate_series(1, 9)", u64::MAX, 2, "", false),
    ("SELECT generate_series(1, 9) -- ;", 1, 1, "2", true),
    (
        "SELECT generate_series(1, 9) LIMIT 4",
        2,
        1,
        "1 2 3 4",
        false,
    ),
    ("SELECT generate_series(1, 9) OFFSET 6", 2, 2, "7 8", true),
    (
        "SELECT * FROM (SELECT generate_series(1, 9) LIMIT 4) t",
        2,
        1,
        "3",
        true,
    ),
    (
        "EXPLAIN (FORMAT text, COSTS off) SELECT 1 WHERE random() > 0",
        0,
        1,
        "Result",
        true,
    ),
    ("SELECT generate_series(1, 9)", 0, 0, "1", true),
    (
        "SELECT generate_series(1, 9) ORDER BY 1 DESC",
        2,
        3,
        "7 6 5",
        true,
    ),
    ("(SELECT generate_series(1, 9) LIMIT 4)", 1, 2, "2 3", true),
    (
        "SELECT 0 UNION ALL (SELECT generate_series(1, 9) LIMIT 3)",
        1,
        3,
        "1 2 3",
        false,
    ),
];

#[tokio::test]
async fn no_caller_gets_more_than_a_thousand_rows() {
    let fixture = Fixture::new().await;
    let pool = fixture.readable();
    for sql in [
        "SELECT generate_series(1, 5000)",
        "SELECT generate_series(1, 5000) LIMIT 2000",
    ] {
        let window = Window {
            offset: 0,
            rows: 4000,
        };
        let (_, summary) = ask_for(&pool, sql, window).await.expect(sql);
        assert_eq!((summary.rows, summary.has_more), (1000, true), "{sql}");
    }
    let (_, summary) = ask(&pool, "SELECT generate_series(1, 5000)")
        .await
        .expect("rows");
    assert_eq!((summary.rows, summary.has_more), (100, true));
}

#[tokio::test]
async fn an_error_names_the_phase_of_the_statement() {
    let mut fixture = Fixture::new().await;
    fixture
        .given(
            "CREATE TABLE t (a int); CREATE SCHEMA closed; CREATE TABLE closed.t (a int);
             CREATE FUNCTION fail() RETURNS int LANGUAGE plpgsql AS
                 $$BEGIN PERFORM 1 / 0; RETURN 1; END$$;",
        )
        .await;
    let pool = fixture.readable();
    for &(sql, phase, text, position) in FAILURES {
        let (found, report) = failure(&pool, sql).await;
        assert_eq!(report.to_string(), text, "{sql}");
        assert_eq!(found, phase, "{sql}");
        assert_eq!(report.position, position, "{sql}");
        // All statements use one connection: it stays usable after every error.
        assert_eq!(value(&pool, "SELECT 1").await, "1", "{sql}");
    }
    let connections = "SELECT count(*) FROM pg_stat_activity
        WHERE datname = current_database() AND application_name = 'ziggurat'";
    assert_eq!(fixture.count(connections).await, 1);
}

const FAILURES: &[(&str, Phase, &str, Option<usize>)] = &[
    (
        "SELECT * FROM nope",
        Parse,
        "ERROR: relation \"nope\" does not exist (SQLSTATE 42P01)",
        Some(15),
    ),
    (
        "SELECT é, nope FROM t",
        Parse,
        "ERROR: column \"é\" does not exist (SQLSTATE 42703)",
        Some(8),
    ),
    (
        "SELECT 1) UNION (SELECT 2",
        Parse,
        "ERROR: syntax error at or near \")\" (SQLSTATE 42601)",
        Some(9),
    ),
    (
        "SELEC 1",
        Parse,
        "ERROR: syntax error at or near \"SELEC\" (SQLSTATE 42601)",
        Some(1),
    ),
    (
        "SELECT 1 +",
        Parse,
        "ERROR: syntax error at end of input (SQLSTATE 42601)",
        Some(11),
    ),
    (
        "SELECT 'a",
        Parse,
        "ERROR: unterminated quoted string at or near \"'a\" (SQLSTATE 42601)",
        Some(8),
    ),
    (
        "SELECT \"a",
        Parse,
        "ERROR: unterminated quoted identifier at or near \"\"a\" (SQLSTATE 42601)",
        Some(8),
    ),
    (
        "SELECT $$a",
        Parse,
        "ERROR: unterminated dollar-quoted string at or near \"$$a\" (SQLSTATE 42601)",
        Some(8),
    ),
    (
        "SELECT 1 /* a",
        Parse,
        "ERROR: unterminated /* comment at or near \"/* a\" (SQLSTATE 42601)",
        Some(10),
    ),
    (
        "SELECT 1 FROM t WHERE",
        Parse,
        "ERROR: syntax error at end of input (SQLSTATE 42601)",
        Some(22),
    ),
    (
        "SELECT ';' FROM nope",
        Parse,
        "ERROR: relation \"nope\" does not exist (SQLSTATE 42P01)",
        Some(17),
    ),
    (
        "SELECT $1",
        Run,
        "ERROR: there is no parameter $1 (SQLSTATE 42P02)",
        Some(8),
    ),
    (
        "SELECT 1 / 0",
        Run,
        "ERROR: division by zero (SQLSTATE 22012)",
        None,
    ),
    (
        "SELECT 1 / (g - 3) FROM generate_series(1, 5) g",
        Run,
        "ERROR: division by zero (SQLSTATE 22012)",
        None,
    ),
    (
        "SELECT fail()",
        Run,
        "ERROR: division by zero (SQLSTATE 22012)",
        None,
    ),
    (
        "INSERT INTO t VALUES (1)",
        Run,
        "ERROR: cannot execute INSERT in a read-only transaction (SQLSTATE 25006)",
        None,
    ),
    (
        "WITH a AS (INSERT INTO t VALUES (1) RETURNING a) SELECT * FROM a",
        Run,
        "ERROR: cannot execute SELECT in a read-only transaction (SQLSTATE 25006)",
        None,
    ),
    (
        "SELECT 1 AS x INTO u",
        Run,
        "ERROR: cannot execute SELECT INTO in a read-only transaction (SQLSTATE 25006)",
        None,
    ),
    (
        "CREATE TABLE u (a int)",
        Run,
        "ERROR: cannot execute CREATE TABLE in a read-only transaction (SQLSTATE 25006)",
        None,
    ),
];

#[tokio::test]
async fn text_around_the_callers_does_not_move_its_positions() {
    let fixture = Fixture::new().await;
    let pool = fixture.readable();
    let cases = [
        ("EXPLAIN ", "SELECT 'é', nope", "", 13),
        ("SELECT 'é' WHERE (", "'é' = nope", "\n)", 7),
        ("SELECT 'é' WHERE (", "';é' = nope", "\n)", 8),
    ];
    for (before, text, after, position) in cases {
        let statement = Statement::wrapped(pool.database(), before, text, after);
        let lease = pool.lease().await.expect("a lease");
        let error = statement.expect(text).run(lease).await.expect_err(text);
        let QueryError::Failed { report, .. } = error else {
            panic!("{error:?}");
        };
        assert_eq!(report.position, Some(position), "{text}: {report}");
    }
}

#[tokio::test]
async fn a_role_without_rights_fails_while_running() {
    let mut fixture = Fixture::new().await;
    let role = format!("r_{}", fixture.settings.database);
    fixture
        .given(&format!(
            "CREATE TABLE t (a int); CREATE ROLE {role} LOGIN PASSWORD 'p'"
        ))
        .await;
    let pool = fixture.pool(|settings| {
        settings.user.clone_from(&role);
        settings.password = "p".to_owned().into();
    });
    let (phase, report) = failure(&pool, "SELECT * FROM t").await;
    assert_eq!(
        report.to_string(),
        "ERROR: permission denied for table t (SQLSTATE 42501)"
    );
    assert_eq!(phase, Run);
    fixture.given(&format!("DROP ROLE {role}")).await;
}

#[tokio::test]
async fn an_error_after_rows_comes_after_them() {
    let mut fixture = Fixture::new().await;
    fixture
        .given("CREATE TABLE t AS SELECT generate_series(1, 5) AS a")
        .await;
    let pool = fixture.writable();
    for sql in [
        "SELECT 1 / (a - 3) FROM t",
        "SELECT 1 / (a - 3) FROM t FOR UPDATE",
    ] {
        let statement = Statement::new(pool.database(), sql).expect("a query");
        let mut rows = statement
            .run(pool.lease().await.expect("a lease"))
            .await
            .expect("rows");
        assert!(rows.try_next().await.expect("a row").is_some());
        assert!(rows.try_next().await.expect("a row").is_some());
        assert!(rows.try_next().await.is_err());
        assert!(rows.try_next().await.expect("the end").is_none());
        assert!(rows.summary().is_none());
    }
}

#[tokio::test]
async fn what_failed_while_it_ran_does_not_run_again() {
    let mut fixture = Fixture::new().await;
    fixture.given("CREATE SEQUENCE runs").await;
    let pool = fixture.writable();
    let sql = "SELECT 1 / (nextval('runs') - 1)";
    let (phase, report) = failure(&pool, sql).await;
    assert_eq!(report.sqlstate, "22012");
    assert_eq!(phase, Run);
    assert_eq!(fixture.count("SELECT last_value FROM runs").await, 1);
}

#[tokio::test]
async fn hints_and_details_are_kept() {
    let fixture = Fixture::new().await;
    let (_, report) = failure(&fixture.readable(), "SELECT to_jsonb(1) + 'a'::text").await;
    assert!(report.hint.is_some_and(|hint| hint.contains("operator")));
    let (_, report) = failure(&fixture.readable(), "SELECT '{a'::json").await;
    assert!(
        report
            .detail
            .is_some_and(|detail| detail.contains("invalid"))
    );
}

#[tokio::test]
async fn postgresql_refuses_statements_that_would_pass_a_fooled_policy() {
    let mut fixture = Fixture::new().await;
    fixture
        .given("CREATE TABLE t (a int); INSERT INTO t VALUES (1)")
        .await;
    let pool = fixture.readable();
    let in_flight = |other: Route| {
        let flights = UNGUARDED
            .iter()
            .filter(|(route, _)| *route == Route::CursorAtOnce);
        flights.map(move |&(_, sql)| (other, sql))
    };
    let limited = in_flight(Route::Limited).chain(in_flight(Route::Nested));
    for (route, sql) in UNGUARDED.iter().copied().chain(limited) {
        let statement = unguarded(pool.database(), sql, route);
        let lease = pool.lease().await.expect("a lease");
        let result = async { statement.run(lease).await?.try_collect::<Vec<_>>().await };
        let error = result.await.expect_err(sql);
        assert!(
            matches!(error, QueryError::Failed { .. }),
            "{sql}: {error:?}"
        );
        assert_eq!(fixture.count("SELECT count(*) FROM t").await, 1, "{sql}");
        assert_eq!(
            value(&pool, "SHOW transaction_read_only").await,
            "on",
            "{sql}"
        );
    }
}

const UNGUARDED: &[(Route, &str)] = &[
    // At once: no text without a `;` can leave the cursor, or turn a LIMIT of the server into its
    // own.
    (Route::CursorAtOnce, "DROP TABLE t"),
    (Route::CursorAtOnce, "SELECT 1 /*"),
    (Route::CursorAtOnce, "SELECT 'a"),
    (Route::CursorAtOnce, "SELECT E'\\"),
    (Route::CursorAtOnce, "SELECT \"a"),
    (Route::CursorAtOnce, "SELECT $a$"),
    (Route::CursorAtOnce, "SELECT U&'a"),
    (Route::CursorAtOnce, "DELETE FROM t RETURNING a"),
    (
        Route::CursorAtOnce,
        "WITH x AS (DELETE FROM t RETURNING a) SELECT * FROM x",
    ),
    (Route::CursorAtOnce, "SELECT a INTO u FROM t"),
    (
        Route::CursorAtOnce,
        "SELECT set_config('transaction_read_only', 'off', true)",
    ),
    (Route::CursorAtOnce, "SELECT nextval('pg_catalog.nope')"),
    (Route::CursorAtOnce, "SELECT 1) LIMIT 1 --"),
    (
        Route::CursorAtOnce,
        "SELECT 1) UNION (DELETE FROM t RETURNING a",
    ),
    // In steps: the check for one statement and the read-only transaction hold.
    (Route::Plain, "SELECT 1; DROP TABLE t"),
    (Route::Plain, "SELECT 1; COMMIT; DROP TABLE t"),
    (Route::Plain, "COMMIT; DROP TABLE t"),
    (Route::Plain, "DELETE FROM t"),
    (
        Route::Plain,
        "SET transaction_read_only = off; DROP TABLE t",
    ),
    (Route::Cursor, "SELECT 1; COMMIT; DROP TABLE t"),
    (
        Route::Cursor,
        "SELECT 1; FETCH 1 FROM ziggurat_cursor; COMMIT; DELETE FROM t; COMMIT; --",
    ),
    (Route::Plain, "DO $$ BEGIN DELETE FROM t; END $$"),
];

/// PostgreSQL lets `EXPLAIN ANALYZE` create a table in a read-only transaction.
#[tokio::test]
async fn what_an_explain_has_created_is_gone_when_it_ends() {
    let mut fixture = Fixture::new().await;
    let pool = fixture.readable();
    let texts = [
        "EXPLAIN ANALYZE CREATE TABLE hole AS SELECT 1",
        "EXPLAIN ANALYZE SELECT 1 AS a INTO hole",
        "EXPLAIN (ANALYZE) CREATE MATERIALIZED VIEW hole AS SELECT 1",
    ];
    for sql in texts {
        let route = Route::of(sql, &shape(sql), Access::ReadOnly);
        let statement = unguarded(pool.database(), sql, route);
        let lease = pool.lease().await.expect("a lease");
        let result = async { statement.run(lease).await?.try_collect::<Vec<_>>().await };
        result.await.expect(sql);
        let holes = "SELECT count(*) FROM pg_class WHERE relname = 'hole'";
        assert_eq!(fixture.count(holes).await, 0, "{sql}");
    }
    assert_eq!(value(&pool, "SHOW transaction_read_only").await, "on");
}

#[tokio::test]
async fn a_statement_that_ends_the_transaction_cannot_write_afterwards() {
    let mut fixture = Fixture::new().await;
    fixture.given("CREATE TABLE t (a int)").await;
    let pool = fixture.readable();
    for sql in ["COMMIT", "ROLLBACK", "COMMIT AND CHAIN", "END"] {
        let statement = unguarded(pool.database(), sql, Route::CursorAtOnce);
        let rows = statement.run(pool.lease().await.expect("a lease")).await;
        assert!(rows.expect(sql).is_command(), "{sql}");
        let (_, report) = failure(&pool, "INSERT INTO t VALUES (1)").await;
        assert_eq!(report.sqlstate, "25006", "{sql}");
    }
}

#[tokio::test]
async fn session_settings_do_not_allow_a_write() {
    let mut fixture = Fixture::new().await;
    fixture
        .given("CREATE TABLE t (a int); INSERT INTO t VALUES (1)")
        .await;
    let pool = fixture.readable();
    // Each of these is one statement, and changes the session.
    let settings = [
        "SET default_transaction_read_only = off",
        "SET statement_timeout = 0",
    ];
    for sql in settings {
        let statement = unguarded(pool.database(), sql, Route::Plain);
        let rows = statement.run(pool.lease().await.expect("a lease")).await;
        rows.expect(sql).try_collect::<Vec<_>>().await.expect(sql);
    }
    assert_eq!(
        value(&pool, "SHOW default_transaction_read_only").await,
        "off"
    );
    // The policy reads one string in quotes, the session below two more statements.
    let ambiguous = r"SELECT '\'' ; COMMIT; DELETE FROM t; COMMIT; --'";
    assert_eq!(
        value(&pool, ambiguous).await,
        r"\' ; COMMIT; DELETE FROM t; COMMIT; --"
    );
    let sql = "SELECT set_config('standard_conforming_strings', 'off', false)";
    let statement = unguarded(pool.database(), sql, Route::CursorAtOnce);
    let rows = statement.run(pool.lease().await.expect("a lease")).await;
    rows.expect(sql).try_collect::<Vec<_>>().await.expect(sql);
    for sql in [ambiguous, "DELETE FROM t"] {
        failure(&pool, sql).await;
        assert_eq!(fixture.count("SELECT count(*) FROM t").await, 1, "{sql}");
    }
    assert_eq!(value(&pool, "SHOW statement_timeout").await, "20s");
}

#[tokio::test]
async fn a_text_is_refused_before_it_is_sent() {
    let fixture = Fixture::new().await;
    let (readable, writable) = (
        fixture.describe(|_| {}),
        fixture.describe(|s| s.allow_writes = true),
    );
    for sql in ["", " ;; \n", "\t"] {
        let error = Statement::new(&readable, sql).expect_err(sql);
        assert!(matches!(error, QueryError::Empty), "{sql}");
    }
    for sql in ["SELECT 'a\0b'", "COPY t TO STDOUT", "COPY t FROM STDIN"] {
        for database in [&readable, &writable] {
            let error = Statement::new(database, sql).expect_err(sql);
            assert!(matches!(error, QueryError::Refused(_)), "{sql}");
        }
    }
    for sql in ["COMMIT", "SELECT 1; SELECT 2"] {
        assert!(Statement::new(&readable, sql).is_err(), "{sql}");
        assert!(Statement::new(&writable, sql).is_ok(), "{sql}");
        assert!(Statement::read_only(&writable, sql).is_err(), "{sql}");
    }
}

#[tokio::test]
async fn a_writable_database_takes_writes() {
    let mut fixture = Fixture::new().await;
    fixture
        .given("CREATE TABLE t (a int UNIQUE DEFERRABLE INITIALLY DEFERRED)")
        .await;
    let pool = fixture.writable();
    for &(sql, expected, command, affected) in WRITES {
        let (answer, summary) = ask(&pool, sql)
            .await
            .unwrap_or_else(|error| panic!("{sql}: {error:?}"));
        assert_eq!(answer, expected, "{sql}");
        assert_eq!(summary.command, command, "{sql}");
        assert_eq!(summary.affected, affected, "{sql}");
    }
    let (phase, report) = failure(&pool, "INSERT INTO t VALUES (12)").await;
    assert_eq!((phase, report.sqlstate.as_str()), (Phase::Commit, "23505"));
    let (_, report) = failure(&pool, "INSERT INTO t VALUES (99); SELECT 1 / 0").await;
    assert_eq!(report.sqlstate, "22012");
    assert_eq!(fixture.count("SELECT count(*) FROM t").await, 2);
}

const WRITES: &[(&str, &str, &str, u64)] = &[
    ("INSERT INTO t VALUES (1), (2)", "", "INSERT 0 2", 2),
    ("INSERT INTO t VALUES (3) RETURNING a", "a\n3", "", 0),
    ("INSERT INTO t SELECT 4 WHERE false RETURNING a", "a", "", 0),
    ("UPDATE t SET a = a + 10", "", "UPDATE 3", 3),
    (
        "WITH x AS (DELETE FROM t WHERE a = 11 RETURNING a) SELECT * FROM x",
        "a\n11",
        "",
        0,
    ),
    ("SELECT count(*) FROM t", "count\n2", "", 0),
    ("SELECT a FROM t WHERE a = 12 FOR UPDATE", "a\n12", "", 0),
    ("CREATE TABLE u (b text)", "", "CREATE TABLE", 0),
    (
        "INSERT INTO u VALUES ('a;b'); INSERT INTO u VALUES ('c'), ('d')",
        "",
        "INSERT 0 3",
        3,
    ),
    (
        "SELECT count(*) FROM u; SELECT 7 AS x; DELETE FROM u",
        "count\n3",
        "",
        0,
    ),
    ("SELECT count(*) FROM u", "count\n0", "", 0),
];

#[tokio::test]
async fn a_read_only_statement_cannot_write_to_a_writable_database() {
    let mut fixture = Fixture::new().await;
    fixture.given("CREATE TABLE t (a int)").await;
    let pool = fixture.writable();
    let statement = Statement::read_only(pool.database(), "INSERT INTO t VALUES (1)");
    let lease = pool.lease().await.expect("a lease");
    let error = statement
        .expect("passes the guard")
        .run(lease)
        .await
        .expect_err("a write");
    let QueryError::Failed { report, .. } = error else {
        panic!("{error:?}");
    };
    assert_eq!(report.sqlstate, "25006");
}

#[tokio::test]
async fn a_statement_runs_no_longer_than_it_may() {
    let fixture = Fixture::new().await;
    let pool = fixture.pool(|settings| settings.query_timeout = Duration::from_millis(50));
    for sql in [
        "SELECT pg_sleep(60)",
        "SELECT ';', pg_sleep(60)",
        "EXPLAIN ANALYZE SELECT pg_sleep(60)",
    ] {
        let (phase, report) = failure(&pool, sql).await;
        assert_eq!(
            report.to_string(),
            "ERROR: canceling statement due to statement timeout (SQLSTATE 57014)"
        );
        assert_eq!(phase, Run, "{sql}");
    }
    assert_eq!(value(&pool, "SELECT 1").await, "1");
}

/// Waits until a query returns `count`, by polling.
async fn until(connection: &mut PgConnection, count: i64, sql: &'static str) {
    let deadline = Instant::now() + Duration::from_secs(10);
    loop {
        let found: i64 = sqlx::query_scalar(sql)
            .fetch_one(&mut *connection)
            .await
            .expect(sql);
        if found == count {
            return;
        }
        assert!(
            Instant::now() < deadline,
            "{found} instead of {count}: {sql}"
        );
        task::yield_now().await;
    }
}

const ALL: Window = Window {
    offset: 0,
    rows: MAX_ROWS,
};

const SLEEPING: &str = "SELECT count(*) FROM pg_stat_activity
    WHERE datname = current_database() AND state = 'active' AND query LIKE '%pg_sleep(6' || '00)%'";

const CONNECTED: &str = "SELECT count(*) FROM pg_stat_activity
    WHERE datname = current_database() AND application_name = 'ziggurat'";

#[tokio::test]
async fn a_dropped_statement_is_cancelled() {
    let fixture = Fixture::new().await;
    let mut watch = fixture.connect().await;
    let pool = fixture.pool(|settings| {
        settings.max_connections = 1;
        settings.query_timeout = Duration::ZERO;
    });
    for sql in [
        "SELECT pg_sleep(600)",
        "SELECT ';', pg_sleep(600)",
        "EXPLAIN ANALYZE SELECT pg_sleep(600)",
    ] {
        let statement = Statement::new(pool.database(), sql).expect("a query");
        let lease = pool.lease().await.expect("room again");
        let run = statement.run(lease);
        tokio::select! {
            result = run => panic!("{sql}: {result:?}"),
            () = until(&mut watch, 1, SLEEPING) => {}
        }
        until(&mut watch, 0, SLEEPING).await;
        until(&mut watch, 0, CONNECTED).await;
    }
}

#[tokio::test]
async fn a_result_dropped_before_its_end_is_cancelled() {
    let fixture = Fixture::new().await;
    let mut watch = fixture.connect().await;
    let pool = fixture.pool(|settings| settings.max_connections = 1);
    let sql = "SELECT repeat('x', 1000000) FROM generate_series(1, 200)";
    let statement = Statement::new(pool.database(), sql).expect("a query");
    let lease = pool.lease().await.expect("a lease");
    let mut rows = statement.with_window(ALL).run(lease).await.expect("rows");
    assert!(rows.try_next().await.expect("a row").is_some());
    drop(rows);
    until(&mut watch, 0, CONNECTED).await;
    assert_eq!(value(&pool, "SELECT 1").await, "1");
}

#[tokio::test]
async fn a_result_is_not_held_in_memory() {
    let fixture = Fixture::new().await;
    let pool = fixture.readable();
    // 200 MB in all; PostgreSQL waits while the result is not read.
    let sql = "SELECT repeat('x', 1000000) FROM generate_series(1, 200)";
    let statement = Statement::new(pool.database(), sql).expect("a query");
    let lease = pool.lease().await.expect("a lease");
    let mut rows = statement.with_window(ALL).run(lease).await.expect("rows");
    let mut watch = fixture.connect().await;
    let waiting = "SELECT count(*) FROM pg_stat_activity
        WHERE datname = current_database() AND application_name = 'ziggurat'
          AND wait_event = 'ClientWrite'";
    until(&mut watch, 1, waiting).await;
    let mut line = String::new();
    let mut total = 0;
    while let Some(row) = rows.try_next().await.expect("a row") {
        line.clear();
        row.write_tsv(&mut line, Format::default()).expect("text");
        total += line.len();
    }
    assert_eq!(total, 200_000_000);
}

#[tokio::test]
async fn the_lexer_and_the_server_count_the_same_statements() {
    let mut fixture = Fixture::new().await;
    let texts = [
        ("SELECT 'a;b'", false),
        ("SELECT 'it''s;'", false),
        (r"SELECT E'a\';b'", false),
        (r"SELECT 'a\'; SELECT 'b'", true),
        ("SELECT E'a'\n '\\';'", false),
        ("SELECT E'a' -- ;\n '\\';'", false),
        ("SELECT E'a'\n--;\n--;\n '\\';'", false),
        ("SELECT 1 AS a$$; SELECT 2 AS b$$", true),
        ("SELECT $$a;b$$", false),
        ("SELECT $é$a;$$;b$é$", false),
        ("SELECT 1 /* a /* ; */ ; */", false),
        ("SELECT 1 /* a /* ; */ */; SELECT 2", true),
        ("SELECT 1 -- a\r; SELECT 2", true),
        ("SELECT 1 -- a; SELECT 2", false),
        ("SELECT U&'\\0041;'", false),
        ("SELECT 1 AS U&\"a;b\"", false),
        ("SELECT 1 AS \"a\"\";b\"", false),
        ("SELECT X'1f', B'01'; SELECT N'a'", true),
        ("SELECT 1+--;\n1", false),
        ("SELECT 1 ;;; -- ;", false),
        ("SELECT 1; SELECT 2", true),
    ];
    for (text, expected) in texts {
        let proof = fixture
            .outside
            .prepare(AssertSqlSafe(text).into_sql_str())
            .await;
        assert_eq!(proof.is_err(), expected, "{text}: {proof:?}");
        assert_eq!(shape(text).is_several(), expected, "{text}");
    }
}

#[tokio::test]
async fn the_operator_decides_about_effects_beyond_the_transaction() {
    let fixture = Fixture::new().await;
    let text = "SELECT pg_read_file('PG_VERSION') <> '' AS read";
    let error = ask(&fixture.readable(), text).await.expect_err("refused");
    assert!(matches!(error, QueryError::Refused(_)), "{error}");

    let pool = fixture.pool(|settings| settings.allow_dangerous_functions = true);
    let (rows, _) = ask(&pool, text).await.expect("allowed");
    assert_eq!(rows, "read\ntrue");
}
