use serde_json::{Value, json};
use ziggurat_answers::test_server::{self, TestServer};
use ziggurat_mcp::{ToolHandler as _, Visibility};

use super::CountRows;

const SHOP: &str = r#"CREATE TABLE item (id int, name text, price numeric);
    INSERT INTO item VALUES (1, 'nut', 1), (2, 'bolt', 2), (3, '(', 3), (4, NULL, 4);
    CREATE SCHEMA "odd ""one"; CREATE TABLE "odd ""one"."a table" (); CREATE VIEW few AS
    SELECT * FROM item WHERE price < 3; CREATE TABLE secret (a int)"#;

async fn count(test_server: &TestServer, arguments: Value) -> (String, bool) {
    test_server.call(CountRows::new, arguments).await
}

#[tokio::test]
async fn the_count_follows_its_statement() {
    let test_server = TestServer::with(SHOP).await;
    let cases = [
        (json!({"table": "item"}), r#"FROM "public"."item""#, 4),
        (json!({"table": "few"}), r#"FROM "public"."few""#, 2),
        (
            json!({"table": "item", "where": "  price > 2 ; "}),
            r#"FROM "public"."item" WHERE price > 2"#,
            2,
        ),
        (
            json!({"schema": "odd \"one", "table": "a table"}),
            r#"FROM "odd ""one"."a table""#,
            0,
        ),
        (
            json!({"table": "item", "where": 7, "schema": null}),
            r#"FROM "public"."item""#,
            4,
        ),
        (
            json!({"table": "item", "where": "id IN (VALUES (1), (2)) -- (of a few"}),
            r#"FROM "public"."item" WHERE id IN (VALUES (1), (2)) -- (of a few"#,
            2,
        ),
        (
            json!({"table": "item", "where": "name = '(' OR name = 'SELECT; TABLE)'"}),
            r#"FROM "public"."item" WHERE name = '(' OR name = 'SELECT; TABLE)'"#,
            1,
        ),
    ];
    for (arguments, from, rows) in cases {
        let (text, failed) = count(&test_server, arguments).await;
        assert_eq!(
            text,
            format!("Database: main\n\nSQL Query:\nSELECT COUNT(*) {from}\n\nCount: {rows}")
        );
        assert!(!failed, "{from}");
    }
}

#[tokio::test]
async fn an_error_follows_its_statement() {
    let test_server = TestServer::with(SHOP).await;
    let cases = [
        (json!({}), "Missing or invalid 'table' parameter"),
        (json!({"table": ""}), "Missing or invalid 'table' parameter"),
        (
            json!({"table": ["item"]}),
            "Missing or invalid 'table' parameter",
        ),
        (
            json!({"table": "nope"}),
            "SQL Query:\nSELECT COUNT(*) FROM \"public\".\"nope\"\n\nError: \
             ERROR: relation \"public.nope\" does not exist (SQLSTATE 42P01)",
        ),
        (
            json!({"table": "item", "where": "id = 'x'"}),
            "SQL Query:\nSELECT COUNT(*) FROM \"public\".\"item\" WHERE id = 'x'\n\nError: \
             ERROR: invalid input syntax for type integer: \"x\" (SQLSTATE 22P02)",
        ),
        (
            json!({"table": "item", "where": "1 / (id - 1) > 0"}),
            "SQL Query:\nSELECT COUNT(*) FROM \"public\".\"item\" WHERE 1 / (id - 1) > 0\n\n\
             Error: ERROR: division by zero (SQLSTATE 22012)",
        ),
        (
            json!({"table": "item", "where": "nam = 'nut'"}),
            "SQL Query:\nSELECT COUNT(*) FROM \"public\".\"item\" WHERE nam = 'nut'\n\nError: \
             ERROR: column \"nam\" does not exist (SQLSTATE 42703)\n\
             HINT: Perhaps you meant to reference the column \"item.name\".",
        ),
    ];
    for (arguments, expected) in cases {
        let (text, failed) = count(&test_server, arguments.clone()).await;
        assert_eq!(text, expected, "{arguments}");
        assert!(failed, "{arguments}");
    }
}

#[tokio::test]
async fn text_that_is_more_than_a_condition_is_refused() {
    let mut test_server = TestServer::with(SHOP).await;
    // Also if statements of the caller may write.
    test_server.settings.allow_writes = true;
    let cases = [
        (
            "id IN (SELECT a FROM secret)",
            "subqueries are not permitted",
        ),
        ("EXISTS (sElEcT/**/1)", "subqueries are not permitted"),
        ("EXISTS (TABLE secret)", "subqueries are not permitted"),
        ("true); DELETE FROM item; --", "do not balance"),
        ("true) OR (true", "do not balance"),
        ("(true", "do not balance"),
        ("true; DELETE FROM item", "only one statement"),
        ("true /*", "has no end"),
        ("name = 'nut", "has no end"),
        ("name = $a$nut", "has no end"),
        ("true GROUP BY id", "syntax error"),
        ("true UNION ALL VALUES (7)", "syntax error"),
        ("true LIMIT 0", "syntax error"),
        ("true\0", "NUL"),
        (
            "set_config('a.b', 'c', false) = 'c'",
            "set_config is not allowed",
        ),
        ("nextval('counter') > 0", "in a read-only transaction"),
    ];
    test_server.fixture.given("CREATE SEQUENCE counter").await;
    for (condition, expected) in cases {
        let arguments = json!({"table": "item", "where": condition});
        let (text, failed) = count(&test_server, arguments).await;
        assert!(text.contains(expected), "{condition}: {text}");
        assert!(failed, "{condition}");
    }
    let rows = test_server.fixture.count("SELECT count(*) FROM item").await;
    assert_eq!(rows, 4);
}

#[tokio::test]
async fn a_column_may_have_the_name_of_a_transaction_command() {
    let test_server =
        TestServer::with("CREATE TABLE span (start int); INSERT INTO span VALUES (5)").await;
    let (text, _) = count(&test_server, json!({"table": "span", "where": "start = 5"})).await;
    assert!(text.ends_with("\n\nCount: 1"), "{text}");
}

#[tokio::test]
async fn a_user_defined_count_function_is_detected() {
    let test_server = TestServer::with(
        "CREATE SCHEMA own; CREATE TABLE item ();
        CREATE FUNCTION own.step(text) RETURNS text IMMUTABLE LANGUAGE sql AS $$SELECT 'many'$$;
        CREATE AGGREGATE own.count(*) (sfunc = own.step, stype = text, initcond = 'none');
        DO $$ BEGIN EXECUTE format(
            'ALTER DATABASE %I SET search_path = own, pg_catalog', current_database()
        ); END $$",
    )
    .await;
    let (text, failed) = count(&test_server, json!({"table": "item"})).await;
    assert!(
        text.contains("a count function that is not PostgreSQL's"),
        "{text}"
    );
    assert!(failed);
}

#[tokio::test]
async fn only_clients_that_negotiate_are_told_about_the_tool() {
    let test_server = TestServer::with("SELECT").await;
    let databases = ziggurat_databases::Databases::new(test_server.fixture.pools.clone(), []);
    assert!(CountRows::new(databases).describe().visibility() == Visibility::Negotiated);
}

#[tokio::test]
async fn the_structure_has_the_condition_and_the_count() {
    let test_server = TestServer::with(SHOP).await;
    for (arguments, expected) in [
        (
            json!({"table": "item"}),
            json!({"database": "main", "schema": "public", "table": "item", "count": 4}),
        ),
        (
            json!({"table": "item", "where": " price > 2;", "schema": ""}),
            json!({
                "database": "main", "schema": "public", "table": "item", "where": "price > 2",
                "count": 2,
            }),
        ),
    ] {
        let tool = CountRows::new(test_server.databases());
        let (text, counted) = test_server::structured(tool, arguments).await;
        assert_eq!(counted, expected, "{text}");
        assert!(
            text.ends_with(&format!("\n\nCount: {}", expected["count"])),
            "{text}"
        );
    }
}

/// CVE-2026-130008: of the class of conditions that widen a scope.
#[tokio::test]
async fn no_condition_reaches_a_row_that_the_view_leaves_out() {
    let test_server = TestServer::with(
        "CREATE TABLE note (id int, owner text);
         INSERT INTO note VALUES (1, 'ali'), (2, 'kim'), (3, 'kim');
         CREATE VIEW mine WITH (security_barrier) AS SELECT * FROM note WHERE owner = 'ali';",
    )
    .await;
    for condition in [
        "true",
        "owner = 'kim' OR true",
        "NOT false",
        "id > 0 OR owner <> 'ali' -- AND",
        "true) OR (true",
        "1 = 1) OR EXISTS (SELECT FROM note",
        "id IN (SELECT id FROM note)",
        "true UNION ALL SELECT id, owner FROM note",
        "true; SELECT 3",
    ] {
        let arguments = json!({"table": "mine", "where": condition});
        let (text, failed) = count(&test_server, arguments).await;
        assert!(failed || text.contains("Count: 1"), "{condition}: {text}");
    }
}
