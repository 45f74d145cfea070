use bytes::Bytes;
use http::Request;
use http_body_util::{BodyExt as _, Full};
use serde_json::{Value, json};
use tower::{Layer as _, ServiceExt as _};
use ziggurat_layers::json_rpc::JsonRpcLayer;

use super::QueryDatabase;
use crate::{
    databases::{Configured, Databases},
    mcp::{Mcp, Prompts, Resources, ServerInfo, Tools, dialect},
    pg::fixture::Fixture,
};

/// A server with the one tool, in front of a database of its own.
struct Bench {
    fixture: Fixture,
    writable: bool,
    max_bytes: usize,
}

impl Bench {
    async fn with(sql: &str) -> Self {
        let mut fixture = Fixture::new().await;
        fixture.given(sql).await;
        Self {
            fixture,
            writable: false,
            max_bytes: 1 << 20,
        }
    }

    /// The text of the answer, and whether it is an error.
    async fn call(&self, arguments: Value) -> (String, bool) {
        let database = self
            .fixture
            .describe(|settings| settings.allow_writes = self.writable);
        let pools = self.fixture.pools.clone();
        let tool = QueryDatabase::new(Databases::new(pools, [Configured::new(database)]));
        let tools = Tools::new().with(tool.with_max_bytes(self.max_bytes));
        let about = ServerInfo::new("test", "0");
        let mcp = Mcp::new(&about, tools, Resources::new(), Prompts::new()).expect("one tool");
        let server = JsonRpcLayer::new().with_dialect(dialect()).layer(mcp);

        let params = json!({"name": "query_database", "arguments": arguments});
        let call = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params});
        let request = Request::post("/").body(Full::<Bytes>::from(call.to_string()));
        let response = server.oneshot(request.expect("constant parts")).await;
        let body = response.expect("infallible").into_body().collect().await;
        let answer = body.expect("whole").to_bytes();
        let answer: Value = serde_json::from_slice(&answer).expect("JSON");
        let result = &answer["result"];
        let text = result["content"][0]["text"].as_str();
        let text = text.unwrap_or_else(|| panic!("a text in {answer}"));
        (text.to_owned(), result["isError"] == true)
    }

    async fn query(&self, query: &str) -> (String, bool) {
        self.call(json!({"query": query})).await
    }
}

const PEOPLE: &str = "CREATE TABLE people (id int, name text);
    INSERT INTO people VALUES (1, 'Ada'), (2, NULL), (3, E'tab\\tline\\n')";

#[tokio::test]
async fn rows_stand_below_the_database_the_statement_and_their_number() {
    let bench = Bench::with(PEOPLE).await;
    let (text, failed) = bench
        .query(" SELECT id, name FROM people ORDER BY id ; ")
        .await;
    assert_eq!(
        text,
        "Database: main\n\nSQL Query:\nSELECT id, name FROM people ORDER BY id\n\n\
         Results (3 rows):\nid\tname\n1\tAda\n2\t\n3\ttab\\tline\\n"
    );
    assert!(!failed);
}

#[tokio::test]
async fn the_heading_says_which_rows_these_are_and_how_to_get_more() {
    let bench = Bench::with(PEOPLE).await;
    let cases = [
        (json!({}), "Results (3 rows):"),
        (
            json!({"limit": 2}),
            "Results (2 rows shown, more available - use offset=2 for next page or count_rows for total):",
        ),
        (json!({"offset": 1}), "Results (rows 2-3):"),
        (
            json!({"limit": 1, "offset": 1}),
            "Results (rows 2-2, more available - use offset=2 for next page):",
        ),
        // Out of range, or no number of rows at all: the default.
        (json!({"limit": 0}), "Results (3 rows):"),
        (json!({"limit": 1001}), "Results (3 rows):"),
        (json!({"limit": 1.5, "offset": -3}), "Results (3 rows):"),
        (json!({"limit": "2", "offset": null}), "Results (3 rows):"),
    ];
    for (mut arguments, heading) in cases {
        arguments["query"] = "SELECT id FROM people ORDER BY id".into();
        let (text, _) = bench.call(arguments.clone()).await;
        let found = text.lines().find(|line| line.starts_with("Results"));
        assert_eq!(found, Some(heading), "{arguments}");
    }
}

#[tokio::test]
async fn an_answer_holds_no_more_bytes_than_it_may_but_always_a_row() {
    let mut bench = Bench::with("SELECT").await;
    bench.max_bytes = 250;
    let query = "SELECT repeat('x', 100) FROM generate_series(1, 5)";
    let (text, _) = bench.query(query).await;
    assert!(
        text.contains("Results (2 rows shown, more available - use offset=2 "),
        "{text}"
    );
    let whole = "x".repeat(100);
    assert_eq!(text.matches(&whole).count(), 2, "{text}");

    bench.max_bytes = 10;
    let (text, _) = bench.query(query).await;
    assert!(
        text.contains("Results (1 rows shown, more available - use offset=1 "),
        "{text}"
    );
}

#[tokio::test]
async fn what_goes_wrong_is_told_in_words_a_model_can_act_upon() {
    let bench = Bench::with(PEOPLE).await;
    let cases = [
        (json!({}), "Missing or invalid 'query' parameter"),
        (json!({"query": 7}), "Missing or invalid 'query' parameter"),
        (json!({"query": " ; ;"}), "Query is empty"),
        (
            json!({"query": "SELECT nope"}),
            "SQL Query:\nSELECT nope\n\nError executing query: ERROR: column \"nope\" does not exist (SQLSTATE 42703)",
        ),
        (
            json!({"query": "DELETE FROM people"}),
            "Error iterating rows: ERROR: cannot execute DELETE in a read-only transaction (SQLSTATE 25006)",
        ),
        (
            json!({"query": "SELECT 1 / 0"}),
            "Error iterating rows: ERROR: division by zero (SQLSTATE 22012)",
        ),
        (
            json!({"query": "SELECT 1; SELECT 2"}),
            "query rejected: only one statement is allowed at a time",
        ),
    ];
    for (arguments, expected) in cases {
        let (text, failed) = bench.call(arguments.clone()).await;
        assert_eq!(text, expected, "{arguments}");
        assert!(failed, "{arguments}");
    }
}

#[tokio::test]
async fn a_command_is_reported_by_its_tag_where_writes_are_allowed() {
    let mut bench = Bench::with(PEOPLE).await;
    bench.writable = true;
    let cases = [
        (
            "DELETE FROM people WHERE id = 9",
            "Command: DELETE 0\nRows affected: 0",
        ),
        (
            "INSERT INTO people VALUES (4, 'Bo')",
            "Command: INSERT 0 1\nRows affected: 1",
        ),
        ("CREATE TABLE more ()", "Command: CREATE TABLE"),
    ];
    for (query, expected) in cases {
        let (text, failed) = bench.query(query).await;
        let said = text.split_once("\n\nStatement executed successfully.\n");
        assert_eq!(said.map(|(_, said)| said), Some(expected), "{text}");
        assert!(!failed, "{query}");
    }
    let (text, _) = bench
        .query("DELETE FROM people WHERE id = 4 RETURNING name")
        .await;
    assert!(text.ends_with("Results (1 rows):\nname\nBo"), "{text}");
}
