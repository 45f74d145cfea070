//! Tests of `count_rows`.

use serde_json::json;

use crate::support::{Home, Postgres, Transports};

const TABLES: &str = r#"CREATE TABLE t AS SELECT g AS n, 'x' || g AS name FROM generate_series(1, 20) g;
    CREATE SCHEMA "Odd"; CREATE TABLE "Odd"."a""b" (n int); INSERT INTO "Odd"."a""b" VALUES (1)"#;

#[test]
fn the_rows_that_match_the_condition_are_counted() {
    let postgres = Postgres::with(TABLES);
    let mut transports = Transports::open(Home::with(&postgres));
    let cases = [
        (
            json!({"table": "t"}),
            r#"SELECT COUNT(*) FROM "public"."t""#,
            20,
        ),
        (
            json!({"table": "t", "schema": "public", "where": ""}),
            r#"SELECT COUNT(*) FROM "public"."t""#,
            20,
        ),
        (
            json!({"table": "t", "where": "n <= 4"}),
            r#"SELECT COUNT(*) FROM "public"."t" WHERE n <= 4"#,
            4,
        ),
        (
            json!({"table": "t", "where": "n < 3 OR n > 18"}),
            r#"SELECT COUNT(*) FROM "public"."t" WHERE n < 3 OR n > 18"#,
            4,
        ),
        (
            json!({"table": "t", "where": "n IN (VALUES (1), (2))"}),
            r#"SELECT COUNT(*) FROM "public"."t" WHERE n IN (VALUES (1), (2))"#,
            2,
        ),
        (
            json!({"table": "t", "where": "name <> 'SELECT * FROM TABLE' -- SELECT"}),
            r#"SELECT COUNT(*) FROM "public"."t" WHERE name <> 'SELECT * FROM TABLE' -- SELECT"#,
            20,
        ),
        (
            json!({"table": "a\"b", "schema": "Odd"}),
            r#"SELECT COUNT(*) FROM "Odd"."a""b""#,
            1,
        ),
    ];
    for (arguments, sql, count) in cases {
        let text = transports.succeed("count_rows", &arguments);
        let expected = format!("Database: main\n\nSQL Query:\n{sql}\n\nCount: {count}");
        assert_eq!(text, expected, "{arguments}");
    }
}

#[test]
fn a_condition_cannot_contain_anything_else() {
    let postgres = Postgres::with(TABLES);
    let mut transports = Transports::open(Home::with(&postgres));
    for arguments in [
        json!({}),
        json!({"table": ""}),
        json!({"table": 7}),
        json!({"table": null, "where": "true"}),
    ] {
        let text = transports.fail("count_rows", &arguments);
        assert_eq!(text, "Missing or invalid 'table' parameter");
    }
    let subqueries = [
        "n IN (SELECT 1)",
        "n = (select 1)",
        "EXISTS (TABLE t)",
        "true UNION SELECT 1",
        "n > 0 AND (/**/SeLeCt/**/ 1) = 1",
    ];
    for condition in subqueries {
        let arguments = json!({"table": "t", "where": condition});
        let text = transports.fail("count_rows", &arguments);
        assert!(text.contains("subqueries are not permitted"), "{text}");
    }
    let refused = [
        "true; DROP TABLE t",
        "true) UNION ALL VALUES (1",
        "true) OR (true",
        "'open",
        "true /* open",
        "lo_export(1, '/tmp/x') = 1",
        "set_config('transaction_read_only', 'off', false) = 'off'",
    ];
    for condition in refused {
        let arguments = json!({"table": "t", "where": condition});
        let text = transports.fail("count_rows", &arguments);
        assert!(text.starts_with("query rejected: "), "{condition}: {text}");
    }
    let wrong = [
        (
            json!({"table": "nope"}),
            "SQL Query:\nSELECT COUNT(*) FROM \"public\".\"nope\"\n\nError: ERROR: relation \
             \"public.nope\" does not exist (SQLSTATE 42P01)",
        ),
        (
            json!({"table": "T"}),
            "SQL Query:\nSELECT COUNT(*) FROM \"public\".\"T\"\n\nError: ERROR: relation \
             \"public.T\" does not exist (SQLSTATE 42P01)",
        ),
        (
            json!({"table": "t", "where": "1 / (n - n) = 1"}),
            "SQL Query:\nSELECT COUNT(*) FROM \"public\".\"t\" WHERE 1 / (n - n) = 1\n\n\
             Error: ERROR: division by zero (SQLSTATE 22012)",
        ),
        (
            json!({"table": "t", "where": "wrong = 1"}),
            "SQL Query:\nSELECT COUNT(*) FROM \"public\".\"t\" WHERE wrong = 1\n\nError: ERROR: \
             column \"wrong\" does not exist (SQLSTATE 42703)",
        ),
    ];
    for (arguments, expected) in wrong {
        let text = transports.fail("count_rows", &arguments);
        assert!(text.starts_with(expected), "{arguments}: {text}");
    }
    assert_eq!(postgres.count("SELECT count(*) FROM t"), 20);
}
