mod reading;

use std::{fs, path::PathBuf};

use bytes::Bytes;
use http::Request;
use http_body_util::{BodyExt as _, Full};
use serde_json::{Value, json};
use tower::{Layer as _, ServiceExt as _};
use ziggurat_databases::Configured;
use ziggurat_layers::json_rpc::JsonRpcLayer;
use ziggurat_mcp::{Mcp, ReadResource, ServerInfo, SetupError, Tools, dialect};
use ziggurat_postgres::{database::Settings, fixture::Fixture, pool::Pools};

use super::*;
use crate::prompts;

fn no_databases() -> Databases {
    Databases::new(Pools::new().0, [])
}

/// Returns the answer of a server with these definitions.
async fn ask(yaml: &str, databases: &Databases, method: &str, params: Value) -> Value {
    let definitions = Definitions::read(yaml).expect(yaml);
    let resources = definitions.add_resources(Resources::new(), databases, ResultFormat::default());
    let tools = Tools::new().with(ReadResource::new(resources.clone()));
    let prompts = definitions.add_prompts(Prompts::new());
    let mcp = Mcp::new(&ServerInfo::new("test", "0"), tools, resources, prompts);
    let server = JsonRpcLayer::new()
        .with_dialect(dialect())
        .layer(mcp.expect("no duplicates"));
    let call = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
    let request = Request::post("/").body(Full::<Bytes>::from(call.to_string()));
    let response = server.oneshot(request.expect("constant parts")).await;
    let body = response.expect("infallible").into_body().collect().await;
    serde_json::from_slice(&body.expect("whole").to_bytes()).expect("JSON")
}

const PROMPT: &str = r#"
prompts:
  - name: analyze-table
    description: Analyses one table
    arguments:
      - name: table
        description: Table to look at
        required: true
      - {name: deep, type: boolean}
    messages:
      - role: system
        content: {type: text, text: "You know {{table}}, {{deep}}, {{ Jinja }} and {{table}}."}
      - role: assistant
        content: {type: image, data: aGk=, mimeType: image/png}
      - role: user
        content: {type: resource, uri: "custom://{{table}}", mimeType: text/plain, text: "{{deep}}"}
      - role: user
        content: {type: resource, uri: custom://limits}
"#;

#[tokio::test]
async fn a_prompt_is_listed_with_its_arguments() {
    let answer = ask(PROMPT, &no_databases(), "prompts/list", json!({})).await;
    assert_eq!(
        answer["result"]["prompts"],
        json!([{
            "name": "analyze-table",
            "description": "Analyses one table",
            "arguments": [
                {"name": "table", "description": "Table to look at", "required": true},
                {"name": "deep", "description": "", "type": "boolean"},
            ],
        }])
    );
}

#[tokio::test]
async fn arguments_replace_their_placeholders_and_are_not_expanded_again() {
    let arguments = json!({"table": "{{deep}}", "deep": ""});
    let params = json!({"name": "analyze-table", "arguments": arguments});
    let answer = ask(PROMPT, &no_databases(), "prompts/get", params).await;
    assert_eq!(
        answer["result"],
        json!({
            "description": "Analyses one table",
            "messages": [
                {"role": "system", "content": {
                    "type": "text",
                    "text": "You know {{deep}}, , {{ Jinja }} and {{deep}}.",
                }},
                {"role": "assistant", "content": {
                    "type": "image",
                    "data": "aGk=",
                    "mimeType": "image/png",
                }},
                {"role": "user", "content": {"type": "resource", "resource": {
                    "uri": "custom://{{deep}}",
                    "mimeType": "text/plain",
                    "text": "",
                }}},
                {"role": "user", "content": {"type": "resource", "resource": {
                    "uri": "custom://limits",
                    "text": "",
                }}},
            ],
        })
    );
}

#[tokio::test]
async fn a_missing_argument_leaves_its_placeholder() {
    let params = json!({"name": "analyze-table"});
    let answer = ask(PROMPT, &no_databases(), "prompts/get", params).await;
    let message = &answer["result"]["messages"][0];
    assert_eq!(
        message["content"]["text"],
        "You know {{table}}, {{deep}}, {{ Jinja }} and {{table}}."
    );
}

#[tokio::test]
async fn static_data_is_json_and_needs_no_database() {
    let cases = [
        (
            "{max: 100, min: -1}",
            "{\n  \"max\": 100,\n  \"min\": -1\n}",
        ),
        (
            "[[1, a], [2.5, true]]",
            "[\n  [\n    1,\n    \"a\"\n  ],\n  [\n    2.5,\n    true\n  ]\n]",
        ),
        ("[]", "[]"),
        ("plain", "\"plain\""),
        ("false", "false"),
        ("18446744073709551615", "18446744073709551615"),
        (
            "{1: [~], true: {a: b}}",
            "{\n  \"1\": [\n    null\n  ],\n  \"true\": {\n    \"a\": \"b\"\n  }\n}",
        ),
    ];
    for (data, json) in cases {
        let yaml = format!("resources: [{{uri: c://a, name: A, type: static, data: {data}}}]");
        let params = json!({"uri": "c://a"});
        let answer = ask(&yaml, &no_databases(), "resources/read", params).await;
        let expected = json!([{"uri": "c://a", "mimeType": "application/json", "text": json}]);
        assert_eq!(answer["result"]["contents"], expected, "{data}");
    }
}

/// A server with a database and one SQL resource.
struct TestServer {
    fixture: Fixture,
    settings: Settings,
}

impl TestServer {
    async fn with(sql: &str) -> Self {
        let mut fixture = Fixture::new().await;
        fixture.given(sql).await;
        let settings = fixture.settings.clone();
        Self { fixture, settings }
    }

    async fn ask(&self, sql: &str, method: &str, params: Value) -> Value {
        let settings = self.settings.clone();
        let database = self.fixture.describe(|described| *described = settings);
        let pools = self.fixture.pools.clone();
        let databases = Databases::new(pools, [Configured::new(database)]);
        let resource = json!({
            "uri": "c://rows", "name": "Rows", "description": "Some.", "type": "sql", "sql": sql,
            "mimeType": "application/json",
        });
        let yaml = json!({"resources": [resource]}).to_string();
        ask(&yaml, &databases, method, params).await
    }

    async fn read(&self, sql: &str) -> Value {
        let params = json!({"uri": "c://rows"});
        self.ask(sql, "resources/read", params).await
    }

    /// Returns the text of the resource.
    async fn text(&self, sql: &str) -> String {
        let answer = self.read(sql).await;
        let contents = &answer["result"]["contents"][0];
        assert_eq!(
            contents["mimeType"], "text/tab-separated-values",
            "{answer}"
        );
        contents["text"].as_str().expect("a text").to_owned()
    }
}

#[tokio::test]
async fn every_line_of_an_sql_resource_ends_with_a_newline() {
    let test_server = TestServer::with("CREATE TABLE t (id int, name text)").await;
    let listed = test_server
        .ask("SELECT 1", "resources/list", json!({}))
        .await;
    assert_eq!(
        listed["result"]["resources"],
        json!([{
            "uri": "c://rows", "name": "Rows", "description": "Some.",
            "mimeType": "text/tab-separated-values",
        }])
    );
    let cases = [
        ("SELECT * FROM t;", "id\tname\n"),
        (
            "SELECT 1 AS a, NULL AS b UNION ALL VALUES (2, E'x\\ty')",
            "a\tb\n1\t\n2\tx\\ty\n",
        ),
        ("SELECT", ""),
    ];
    for (sql, text) in cases {
        assert_eq!(test_server.text(sql).await, text, "{sql}");
    }
    // `read_resource` returns the same.
    let arguments = json!({"uri": "c://rows"});
    let params = json!({"name": "read_resource", "arguments": arguments});
    let answer = test_server.ask("SELECT 7 AS a", "tools/call", params).await;
    assert_eq!(answer["result"]["content"][0]["text"], "a\n7\n");
}

#[tokio::test]
async fn rows_are_limited_and_so_are_their_bytes() {
    let mut test_server = TestServer::with("SELECT").await;
    test_server.settings.row_limit = 3;
    let text = test_server.text("SELECT generate_series(1, 9) AS a").await;
    assert_eq!(text, "a\n1\n2\n3\n");
    test_server.settings.row_limit = 100;
    let text = test_server
        .text("SELECT repeat('x', 1000000) AS a FROM generate_series(1, 9)")
        .await;
    assert_eq!(text.lines().count(), 5);
    assert!(text.ends_with("x\n"));
}

#[tokio::test]
async fn a_resource_writes_nothing_even_if_writes_are_allowed() {
    let mut test_server = TestServer::with("CREATE TABLE t (a int)").await;
    test_server.settings.allow_writes = true;
    let answer = test_server
        .read("INSERT INTO t VALUES (1) RETURNING a")
        .await;
    assert_eq!(
        answer["error"],
        json!({
            "code": -32603,
            "message": "Resource read error",
            "data": "ERROR: cannot execute INSERT in a read-only transaction (SQLSTATE 25006)",
        })
    );
    assert_eq!(test_server.fixture.count("SELECT count(*) FROM t").await, 0);
    let answer = test_server.read("SELECT 1; SELECT 2").await;
    assert_eq!(
        answer["error"]["data"],
        "query rejected: only one statement is allowed at a time"
    );
}

#[tokio::test]
async fn a_resource_whose_database_is_unreachable_says_so() {
    let yaml = "resources: [{uri: c://a, name: A, type: sql, sql: SELECT 1}]";
    let mut test_server = TestServer::with("SELECT").await;
    test_server.settings.port = 1;
    test_server.settings.shows_causes = true;
    let answers = [
        ask(
            yaml,
            &no_databases(),
            "resources/read",
            json!({"uri": "c://a"}),
        )
        .await,
        test_server.read("SELECT 1").await,
    ];
    let texts = answers.map(|answer| {
        let contents = &answer["result"]["contents"][0];
        assert_eq!(contents["mimeType"], "application/json", "{answer}");
        let text = contents["text"].as_str().expect("a text");
        serde_json::from_str::<Value>(text).expect("JSON")
    });
    assert_eq!(
        texts,
        [
            json!({
                "error": true, "message": "no databases are configured",
                "code": "DATABASE_NOT_READY", "retryable": false,
            }),
            json!({
                "error": true,
                "message": "failed to connect to database 'main': connection refused",
                "code": "DATABASE_NOT_READY", "retryable": true,
            }),
        ]
    );
}

#[test]
fn a_name_that_exists_already_is_refused() {
    let setup = |yaml: &str| {
        let definitions = Definitions::read(yaml).expect(yaml);
        let resources =
            definitions.add_resources(Resources::new(), &no_databases(), ResultFormat::default());
        let resources =
            definitions.add_resources(resources, &no_databases(), ResultFormat::default());
        let prompts = definitions.add_prompts(prompts::built_in());
        Mcp::new(
            &ServerInfo::new("test", "0"),
            Tools::new(),
            resources,
            prompts,
        )
        .map(drop)
    };
    let message = "messages: [{role: user, content: {type: text, text: a}}]";
    let yaml = format!("prompts: [{{name: explore-database, {message}}}]");
    let taken = SetupError::DuplicatePrompt("explore-database".to_owned());
    assert_eq!(setup(&yaml), Err(taken));
    let yaml = "resources: [{uri: c://a, name: A, type: static, data: 1}]";
    let taken = SetupError::DuplicateResource("c://a".to_owned());
    assert_eq!(setup(yaml), Err(taken));
}
