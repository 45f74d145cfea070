//! The part of a text that PostgreSQL plans.

use crate::Planned;

/// Returns the planned part of a text.
fn planned(text: &str) -> Option<&str> {
    match Planned::of(text) {
        Planned::From(start) => Some(&text[start..]),
        Planned::Nothing => None,
        Planned::Unknown => Some("unknown"),
    }
}

#[test]
fn statements_that_postgresql_plans_are_whole() {
    for text in [
        "SELECT 1",
        "(SELECT 1) LIMIT 1",
        "/* first */ select 1",
        "WITH a AS (SELECT 1) TABLE a",
        "VALUES (1)",
        "INSERT INTO a VALUES (1)",
        "merge into a using b on true when matched then delete",
        "EXECUTE a(1)",
        "DECLARE a CURSOR FOR SELECT 1",
        "CREATE TABLE a AS SELECT 1",
        "CREATE TEMP TABLE IF NOT EXISTS a (b, c) WITH (fillfactor = 10) AS TABLE d",
        "CREATE MATERIALIZED VIEW a AS SELECT 1",
    ] {
        assert_eq!(planned(text), Some(text), "{text}");
    }
}

#[test]
fn an_explain_that_runs_its_statement_is_planned_as_that() {
    for (options, statement) in [
        ("EXPLAIN ANALYZE ", "SELECT 1"),
        ("explain analyse verbose ", "DELETE FROM a"),
        ("EXPLAIN (ANALYZE) ", "SELECT 1"),
        ("EXPLAIN (costs off, analyze true)", "SELECT 1"),
        (
            "-- über\nEXPLAIN/**/(BUFFERS, ANALYZE)\n/**/ ",
            "SELECT 'ü'",
        ),
        ("EXPLAIN ANALYZE ", "(SELECT 1) LIMIT 1"),
        ("EXPLAIN (ANALYZE) ", "(SELECT 1) LIMIT 1"),
        ("EXPLAIN ANALYZE ", "CREATE TABLE a AS SELECT 1"),
    ] {
        let text = format!("{options}{statement}");
        let found = planned(&text).expect(&text);
        assert!(found.ends_with(statement), "{text}: {found}");
        let before = found.strip_suffix(statement).unwrap_or_default();
        assert!(
            before.trim().is_empty() || before.starts_with("/*"),
            "{text}"
        );
    }
}

#[test]
fn what_takes_little_has_no_plan() {
    for text in [
        "",
        "-- nothing",
        "EXPLAIN SELECT 1",
        "EXPLAIN (FORMAT JSON) SELECT 1",
        "EXPLAIN VERBOSE SELECT 1",
        "EXPLAIN",
        "EXPLAIN ANALYZE",
        "EXPLAIN (SELECT 1)",
        "SHOW all",
        "SET a.b = 'AS'",
        "CREATE TABLE a (b int GENERATED ALWAYS AS IDENTITY)",
        "CREATE VIEW a AS SELECT 1",
        "CREATE FUNCTION a() RETURNS TABLE (b int) AS 'SELECT 1' LANGUAGE sql",
        "CREATE OR REPLACE TEMP VIEW a AS SELECT 1",
        "CREATE UNLOGGED TABLE a (b int)",
        "CREATE SCHEMA a",
        "DROP TABLE a",
        "GRANT SELECT ON a TO b",
    ] {
        assert_eq!(planned(text), None, "{text}");
    }
}

#[test]
fn commands_that_read_whole_tables_have_no_estimate() {
    for text in [
        "REFRESH MATERIALIZED VIEW a",
        "CREATE INDEX ON a (b)",
        "create unique index concurrently c on a (b)",
        "CREATE EXTENSION a",
        "CREATE DATABASE a",
        "ANALYZE",
        "VACUUM",
        "REINDEX TABLE a",
        "CLUSTER a",
        "ALTER TABLE a ALTER b TYPE text",
        "IMPORT FOREIGN SCHEMA a FROM SERVER b INTO c",
        "EXPLAIN ANALYZE REFRESH MATERIALIZED VIEW a",
    ] {
        assert_eq!(planned(text), Some("unknown"), "{text}");
    }
}

#[test]
fn commands_that_run_other_statements_have_no_estimate() {
    for text in [
        "DO 'BEGIN PERFORM 1; END'",
        "call a()",
        "COPY (SELECT 1) TO PROGRAM 'cat'",
        "EXPLAIN ANALYZE CALL a()",
    ] {
        assert_eq!(planned(text), Some("unknown"), "{text}");
    }
}
