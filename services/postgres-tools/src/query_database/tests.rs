mod connecting;
mod streaming;
mod structured;

use bytes::Bytes;
use http::Request;
use http_body_util::BodyExt as _;
use serde_json::{Value, json};
use ziggurat_accounts::PasswordAttempts;
use ziggurat_databases::{Configured, Databases};
use ziggurat_layers::{
    client_ip::ClientIp,
    json_rpc::{Answer, RpcBody},
};
use ziggurat_mcp::{
    Annotations, Mcp, Prompts, Resources, ResultBody, ServerInfo, ToolHandler as _, Tools, dialect,
};
use ziggurat_postgres::{database::Settings, fixture::Fixture};
use ziggurat_tokens::Identity;

use super::{ConnectionUrls, QueryDatabase};

/// A server with this tool and a database for tests.
struct TestServer {
    fixture: Fixture,
    /// Kept between calls, with the selections of their sessions.
    databases: Databases,
    max_bytes: usize,
    connection_urls: ConnectionUrls,
    is_local: bool,
    attempts: PasswordAttempts,
    identity: Option<Identity>,
    client: Option<ClientIp>,
}

impl TestServer {
    async fn with(sql: &str) -> Self {
        let mut fixture = Fixture::new().await;
        fixture.given(sql).await;
        let databases = Databases::new(fixture.pools.clone(), []);
        let test_server = Self {
            fixture,
            databases,
            max_bytes: 1 << 20,
            connection_urls: ConnectionUrls::Any,
            is_local: true,
            attempts: PasswordAttempts::default(),
            identity: None,
            client: None,
        };
        test_server.describe(|_| {});
        test_server
    }

    /// Replaces the description of the database.
    fn describe(&self, change: impl FnOnce(&mut Settings)) {
        let database = self.fixture.describe(change);
        self.databases.replace([Configured::new(database)]);
    }

    fn tool(&self) -> QueryDatabase {
        QueryDatabase::new(self.databases.clone())
            .with_max_bytes(self.max_bytes)
            .with_connection_urls(self.connection_urls.clone())
            .with_local_callers(self.is_local)
            .with_password_attempts(self.attempts.clone())
    }

    /// Returns the body of an answer.
    async fn body(&self, arguments: Value) -> Answer<ResultBody> {
        self.answer_of(&self.tool(), arguments).await
    }

    /// Returns the body of an answer of a tool that is used several times.
    async fn body_of(&self, tool: &QueryDatabase, arguments: Value) -> RpcBody<ResultBody> {
        let answer = self.answer_of(tool, arguments).await;
        answer.into_body().expect("a request")
    }

    async fn answer_of(&self, tool: &QueryDatabase, arguments: Value) -> Answer<ResultBody> {
        let about = ServerInfo::new("test", "0");
        let tools = Tools::new().with(tool.clone());
        let mcp = Mcp::new(&about, tools, Resources::new(), Prompts::new()).expect("one tool");
        let params = json!({"name": "query_database", "arguments": arguments});
        let call = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params});
        let mut request = Request::new(Bytes::from(call.to_string()));
        if let Some(identity) = self.identity.clone() {
            request.extensions_mut().insert(identity);
        }
        if let Some(client) = self.client {
            request.extensions_mut().insert(client);
        }
        let Ok(answer) = dialect().read(request).answer(mcp).await;
        answer
    }

    /// Returns the text of the answer, and whether it is an error.
    async fn call(&self, arguments: Value) -> (String, bool) {
        let body = self.body(arguments).await.into_body().expect("a request");
        let answer = body.collect().await.expect("whole").to_bytes();
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
    let test_server = TestServer::with(PEOPLE).await;
    let (text, failed) = test_server
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
    let test_server = TestServer::with(PEOPLE).await;
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
        // Out of range or not an integer: the default.
        (json!({"limit": 0}), "Results (3 rows):"),
        (json!({"limit": 1001}), "Results (3 rows):"),
        (json!({"limit": 1.5, "offset": -3}), "Results (3 rows):"),
        (json!({"limit": "2", "offset": null}), "Results (3 rows):"),
    ];
    for (mut arguments, heading) in cases {
        arguments["query"] = "SELECT id FROM people ORDER BY id".into();
        let (text, _) = test_server.call(arguments.clone()).await;
        let found = text.lines().find(|line| line.starts_with("Results"));
        assert_eq!(found, Some(heading), "{arguments}");
    }
}

#[tokio::test]
async fn an_answer_holds_no_more_bytes_than_it_may_but_always_a_row() {
    let mut test_server = TestServer::with("SELECT").await;
    test_server.max_bytes = 250;
    let query = "SELECT repeat('x', 100) FROM generate_series(1, 5)";
    let (text, _) = test_server.query(query).await;
    assert!(
        text.contains("\n\nNote: the rows were cut at 250 bytes. "),
        "{text}"
    );
    assert!(
        text.contains("\n\nResults (2 rows shown, more available - use offset=2 "),
        "{text}"
    );
    let whole = "x".repeat(100);
    assert_eq!(text.matches(&whole).count(), 2, "{text}");

    test_server.max_bytes = 10;
    let (text, _) = test_server.query(query).await;
    assert!(
        text.contains("Results (1 rows shown, more available - use offset=1 "),
        "{text}"
    );
}

#[tokio::test]
async fn errors_have_messages_a_model_can_act_upon() {
    let test_server = TestServer::with(PEOPLE).await;
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
            "Error iterating rows: ERROR: cannot execute DELETE in a read-only transaction (SQLSTATE 25006)\nHINT: To change data, the operator has to set allow_writes: true for this database.",
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
        let (text, failed) = test_server.call(arguments.clone()).await;
        assert_eq!(text, expected, "{arguments}");
        assert!(failed, "{arguments}");
    }
}

#[tokio::test]
async fn a_command_is_reported_by_its_tag_if_writes_are_allowed() {
    let test_server = TestServer::with(PEOPLE).await;
    test_server.describe(|settings| settings.allow_writes = true);
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
        let (text, failed) = test_server.query(query).await;
        let said = text.split_once("\n\nStatement executed successfully.\n");
        assert_eq!(said.map(|(_, said)| said), Some(expected), "{text}");
        assert!(!failed, "{query}");
    }
    let (text, _) = test_server
        .query("DELETE FROM people WHERE id = 4 RETURNING name")
        .await;
    assert!(text.ends_with("Results (1 rows):\nname\nBo"), "{text}");
}

#[tokio::test]
async fn a_setting_is_told_what_to_write_instead_in_one_statement() {
    let test_server = TestServer::with("SELECT").await;
    let (text, failed) = test_server.query("SET search_path = pg_catalog").await;
    assert!(
        text.contains("Note: a setting ends with its call"),
        "{text}"
    );
    // Two statements in one call are refused, so no advice may need them.
    assert!(!text.contains("SET LOCAL") && !failed, "{text}");
}

#[tokio::test]
async fn a_statement_with_its_own_limit_or_offset_gets_a_note() {
    let test_server = TestServer::with("SELECT").await;
    let series = "SELECT i FROM generate_series(1, 2000) i";
    for (rest, is_told) in [(" LIMIT 1500", true), (" OFFSET 10", true), ("", false)] {
        let (text, _) = test_server.query(&format!("{series}{rest}")).await;
        assert_eq!(
            text.contains("\n\nNote: the statement has"),
            is_told,
            "{text}"
        );
        assert!(text.contains("rows shown, more available"), "{text}");
    }
    let (text, _) = test_server.query("SELECT 1 LIMIT 1").await;
    assert!(!text.contains("Note"), "{text}");

    // A statement with its own LIMIT gets up to the limit of the operator.
    let rows = |text: &str| {
        text.lines()
            .filter(|line| line.parse::<u32>().is_ok())
            .count()
    };
    let (text, _) = test_server.query(&format!("{series} LIMIT 1500")).await;
    assert_eq!(rows(&text), 1000);
    test_server.describe(|settings| settings.row_limit = 1400);
    let (text, _) = test_server.query(&format!("{series} LIMIT 1500")).await;
    assert_eq!(rows(&text), 1400);
}

#[tokio::test]
async fn several_statements_run_if_writes_are_allowed() {
    let test_server = TestServer::with(PEOPLE).await;
    test_server.describe(|settings| settings.allow_writes = true);
    let several = "DELETE FROM people; INSERT INTO people VALUES (7, 'Cy'); SELECT * FROM people;";
    let (text, failed) = test_server.query(several).await;
    assert!(
        text.ends_with("Results (1 rows):\nid\tname\n7\tCy"),
        "{text}"
    );
    assert!(!failed);

    let failing = "DELETE FROM people; SELECT 1 / 0";
    let (text, failed) = test_server.query(failing).await;
    assert_eq!(
        text,
        "Error iterating rows: ERROR: division by zero (SQLSTATE 22012)"
    );
    assert!(failed);
    let (text, _) = test_server.query("SELECT count(*) FROM people").await;
    assert!(text.ends_with("\n1"), "rolled back: {text}");
}

#[tokio::test]
async fn a_new_table_is_in_the_metadata_of_the_next_call() {
    let test_server = TestServer::with(PEOPLE).await;
    test_server.describe(|settings| settings.allow_writes = true);
    let current = test_server.databases.current(None).expect("one");
    let tables = async || current.metadata().await.expect("tables").tables().count();
    assert_eq!(tables().await, 1);
    let (_, failed) = test_server.query("CREATE TABLE more ()").await;
    assert!(!failed);
    assert_eq!(tables().await, 2);
}

#[tokio::test]
async fn the_annotations_depend_on_write_access() {
    let test_server = TestServer::with("SELECT").await;
    let annotations = |test_server: &TestServer| test_server.tool().describe().annotations();
    assert_eq!(annotations(&test_server), Annotations::reading());
    test_server.describe(|settings| settings.allow_writes = true);
    assert_eq!(annotations(&test_server), Annotations::writing());
}
