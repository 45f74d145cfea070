//! Attacks of published advisories about other servers, by their numbers.

use crate::{
    CLEAN,
    server::{Outcome, Route, TestServer},
    snapshot::differences,
};

/// CVE-2026-85620, Postgres MCP Pro: functions in FROM were not checked.
///
/// A function stands in FROM in many forms, and each of them runs it.
#[tokio::test]
async fn a_function_in_from_is_refused_like_one_in_select() {
    let server = TestServer::start().await;
    let database = server.describe(&server.superuser());
    for text in [
        "SELECT * FROM pg_read_file('/etc/passwd')",
        "SELECT * FROM pg_catalog.pg_read_file('/etc/passwd') AS f (line)",
        "SELECT * FROM \"pg_read_file\"('/etc/passwd')",
        "SELECT * FROM account, pg_read_file('/etc/passwd')",
        "SELECT * FROM account JOIN pg_ls_dir('/') d ON true",
        "SELECT * FROM ROWS FROM (pg_read_file('/etc/passwd'))",
        "SELECT * FROM ROWS FROM (generate_series(1, 2), pg_ls_dir('.')) WITH ORDINALITY",
        "SELECT * FROM account a, LATERAL pg_read_file(a.owner)",
        "SELECT * FROM account a CROSS JOIN LATERAL (SELECT * FROM pg_ls_dir(a.owner)) d",
        "SELECT * FROM account a LEFT JOIN LATERAL ROWS FROM (pg_read_file(a.owner)) f ON true",
        "SELECT * FROM XMLTABLE('/a' PASSING query_to_xml('TABLE account', true, true, '') \
         COLUMNS a text)",
        "SELECT * FROM XMLTABLE('/a' PASSING (pg_read_file('/etc/passwd')::xml) COLUMNS a text)",
        "SELECT * FROM (TABLE account) a WHERE EXISTS (SELECT FROM pg_read_file('/etc/passwd'))",
        "WITH f AS (SELECT * FROM pg_read_file('/etc/passwd')) TABLE f",
    ] {
        for route in [Route::Statement, Route::Tool] {
            let outcome = server.send(&database, route, text).await;
            let is_refused = matches!(outcome, Outcome::Rejected(_));
            assert!(is_refused, "{route:?} {text}: {outcome:?}");
        }
    }
    for text in [
        "SELECT * FROM ROWS FROM (generate_series(1, 2), generate_series(1, 3)) AS s (a, b)",
        "SELECT * FROM account a, LATERAL generate_series(1, a.id) LIMIT 5",
    ] {
        let outcome = server.send(&database, Route::Tool, text).await;
        assert_eq!(outcome, Outcome::Answered, "{text}");
    }
}

/// CVE-2026-63129, mssql-mcp-core: of the class of texts that begin like a read and write.
#[tokio::test]
async fn a_text_that_begins_like_a_read_writes_nothing() {
    let mut server = TestServer::start().await;
    let database = server.describe(&server.superuser());
    // The first statements fill caches, also files.
    for route in [Route::Statement, Route::Tool] {
        let outcome = server.send(&database, route, CLEAN).await;
        assert_eq!(outcome, Outcome::Answered, "{route:?}");
    }
    let before = server.victim.snapshot().await;
    for text in [
        "SELECT * INTO loot FROM account",
        "select/**/*/**/into/**/loot from account",
        "-- SELECT\nDELETE FROM account",
        "/* SELECT */ UPDATE account SET balance = 0",
        "(WITH x AS (DELETE FROM account RETURNING *) SELECT * FROM x)",
        "WITH read AS (SELECT 1) INSERT INTO account VALUES (0)",
        "TABLE account; DELETE FROM account",
        "VALUES (1); DROP TABLE account",
        "SHOW all; DELETE FROM account",
        "EXPLAIN (ANALYZE) DELETE FROM account",
        "SELECT 1 FROM account FOR UPDATE",
    ] {
        for route in [Route::Statement, Route::Tool] {
            let outcome = server.send(&database, route, text).await;
            assert_ne!(outcome, Outcome::Answered, "{route:?} {text}");
        }
    }
    let after = server.victim.snapshot().await;
    assert_eq!(differences(&before, &after), [""; 0]);
}
