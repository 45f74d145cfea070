//! The structured answer.

use ziggurat_mcp::protocol::Revision;

use ziggurat_answers::test_server;

use super::*;

impl TestServer {
    /// Returns the text and the structure of an answer.
    async fn both(&self, arguments: Value) -> (String, Value) {
        test_server::structured(self.tool(), arguments).await
    }

    async fn table(&self, query: &str) -> Value {
        self.both(json!({"query": query})).await.1
    }
}

#[tokio::test]
async fn the_structure_has_typed_values_and_the_text_is_still_sent() {
    let test_server = TestServer::with(PEOPLE).await;
    let query = "SELECT id, name, id > 1 AS id, id / 2.0 AS half FROM people ORDER BY 1";
    let arguments = json!({"query": query});
    let (text, table) = test_server.both(arguments.clone()).await;
    // Clients that do not negotiate get NULL as an empty field.
    let exact = text.replace("\\N", "");
    assert_eq!(test_server.call(arguments).await, (exact, false));
    assert_eq!(
        table,
        json!({
            "columns": ["id", "name", "id", "half"],
            "rows": [
                [1, "Ada", false, "0.50000000000000000000"],
                [2, null, true, "1.00000000000000000000"],
                [3, "tab\tline\n", true, "1.5000000000000000"],
            ],
            "row_count": 3,
            "truncated": false,
        })
    );
    let table = test_server.table("SELECT * FROM people WHERE false").await;
    let empty = json!({"columns": ["id", "name"], "rows": [], "row_count": 0, "truncated": false});
    assert_eq!(table, empty);
    let table = test_server.table("SELECT FROM people").await;
    assert_eq!(
        (&table["rows"], &table["row_count"]),
        (&json!([[], [], []]), &json!(3))
    );
    let table = test_server.table("EXPLAIN SELECT 1").await;
    assert_eq!(table["columns"], json!(["QUERY PLAN"]));
}

#[tokio::test]
async fn numbers_keep_all_digits_that_json_can_represent() {
    let test_server = TestServer::with("SELECT").await;
    let query = "SELECT 9007199254740991, 9007199254740992, 1e400, 'NaN'::float8, 0.1::float4";
    let arguments = json!({"query": query});
    let body = test_server::respond(test_server.tool(), Revision::V2025_06_18, arguments).await;
    let answer = body.collect().await.expect("whole").to_bytes();
    let answer = str::from_utf8(&answer).expect("text");
    let row = answer.split_once(r#""rows":[["#).expect("rows").1;
    let zeros = "0".repeat(400);
    let expected = format!(r#"9007199254740991,"9007199254740992","1{zeros}","NaN",0.1]]"#);
    assert!(row.starts_with(&expected), "{row}");
}

#[tokio::test]
async fn a_table_is_marked_as_truncated_if_rows_are_missing() {
    let mut test_server = TestServer::with("SELECT").await;
    let query = "SELECT repeat('x', 100) AS x FROM generate_series(1, 5)";
    let counted = |table: &Value| {
        let rows = table["rows"].as_array().expect("rows").len();
        assert_eq!(table["row_count"], rows);
        (rows, table["truncated"] == true)
    };
    for (limit, expected) in [(5, (5, false)), (4, (4, true))] {
        let (_, table) = test_server
            .both(json!({"query": query, "limit": limit}))
            .await;
        assert_eq!(counted(&table), expected, "{limit}");
    }
    let (_, table) = test_server.both(json!({"query": query, "offset": 3})).await;
    assert_eq!(counted(&table), (2, false));
    // The same byte limit as the text, and at least one row.
    for (max_bytes, rows) in [(250, 2), (10, 1)] {
        test_server.max_bytes = max_bytes;
        let (text, table) = test_server.both(json!({"query": query})).await;
        assert!(text.contains(&format!("({rows} rows shown")), "{text}");
        assert_eq!(counted(&table), (rows, true));
    }
    // JSON needs more space than the text.
    test_server.max_bytes = 100;
    let query = "SELECT '' AS a, '' AS b FROM generate_series(1, 30)";
    let (text, table) = test_server.both(json!({"query": query})).await;
    assert!(text.contains("Results (30 rows):"), "{text}");
    assert_eq!(counted(&table), (12, true));
}

#[tokio::test]
async fn the_table_of_a_large_answer_holds_the_rows_that_fit() {
    let mut test_server = TestServer::with("SELECT").await;
    test_server.describe(|settings| settings.row_limit = 150_000);
    test_server.max_bytes = 1000;
    let query = "SELECT i FROM generate_series(1, 150000) i";
    let (text, table) = test_server.both(json!({"query": query})).await;
    assert!(text.ends_with("\n149999\n150000"), "{}", text.len());
    let rows = table["rows"].as_array().expect("rows");
    assert_eq!((rows[0][0].as_u64(), rows.len()), (Some(1), 184));
    assert_eq!(
        (&table["row_count"], &table["truncated"]),
        (&json!(184), &json!(true))
    );

    test_server.max_bytes = 10_000_000;
    let (_, table) = test_server.both(json!({"query": query})).await;
    assert_eq!(
        (&table["row_count"], &table["truncated"]),
        (&json!(150_000), &json!(false))
    );
    let query = "SELECT i FROM generate_series(1, 150001) i";
    let (_, table) = test_server.both(json!({"query": query})).await;
    assert_eq!(
        (&table["row_count"], &table["truncated"]),
        (&json!(150_000), &json!(true))
    );
}

#[tokio::test]
async fn a_statement_without_rows_reports_the_number_of_changed_rows() {
    let test_server = TestServer::with(PEOPLE).await;
    test_server.describe(|settings| settings.allow_writes = true);
    for (query, changed) in [
        ("INSERT INTO people VALUES (4, 'Bo'), (5, 'Cy')", 2),
        ("DELETE FROM people WHERE id = 9", 0),
        ("CREATE TABLE more ()", 0),
    ] {
        let expected = json!({"columns": [], "rows": [], "row_count": changed, "truncated": false});
        assert_eq!(test_server.table(query).await, expected, "{query}");
    }
    let table = test_server
        .table("DELETE FROM people WHERE id > 3 RETURNING id")
        .await;
    assert_eq!(
        (&table["rows"], &table["row_count"]),
        (&json!([[4], [5]]), &json!(2))
    );
}

#[tokio::test]
async fn an_error_has_no_table_even_if_it_comes_late() {
    let test_server = TestServer::with("SELECT").await;
    test_server.describe(|settings| settings.row_limit = 200_000);
    let failing = async |query: &str, kill: Option<&str>| {
        let arguments = json!({"query": query});
        let mut body =
            test_server::respond(test_server.tool(), Revision::V2025_11_25, arguments).await;
        let mut whole = Vec::new();
        if let Some(kill) = kill {
            while whole.len() < 100_000 {
                let frame = body.frame().await.expect("a frame").expect("a piece");
                whole.extend_from_slice(&frame.into_data().expect("data"));
            }
            let mut outside = test_server.fixture.connect().await;
            let killed = sqlx::raw_sql(sqlx::AssertSqlSafe(kill));
            killed.execute(&mut outside).await.expect("killed");
        }
        let rest = body.collect().await.expect("an end").to_bytes();
        whole.extend_from_slice(&rest);
        let answer: Value = serde_json::from_slice(&whole).expect("JSON");
        assert_eq!(answer["result"]["isError"], true, "{query}");
        assert_eq!(answer["result"].get("structuredContent"), None, "{query}");
    };
    failing("SELECT nope", None).await;
    failing("SELECT 1 / (i - 9) FROM generate_series(1, 9) i", None).await;
    let kill = "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity
        WHERE datname = current_database() AND application_name = 'ziggurat'";
    let long = "SELECT repeat('x', 1000) FROM generate_series(1, 200000)";
    failing(long, Some(kill)).await;
}

#[tokio::test]
async fn only_revisions_that_support_structured_results_have_a_table() {
    let test_server = TestServer::with("SELECT").await;
    for revision in Revision::ALL.into_iter().filter(|it| !it.is_modern()) {
        for row_limit in [100, 2000] {
            test_server.describe(|settings| settings.row_limit = row_limit);
            let arguments = json!({"query": "SELECT 1"});
            let body = test_server::respond(test_server.tool(), revision, arguments).await;
            let answer = body.collect().await.expect("whole").to_bytes();
            let answer: Value = serde_json::from_slice(&answer).expect("JSON");
            let has_table = answer["result"].get("structuredContent").is_some();
            assert_eq!(has_table, revision >= Revision::V2025_06_18, "{revision}");
        }
    }
}
