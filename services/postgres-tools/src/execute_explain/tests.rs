use std::time::Duration;

use serde_json::{Value, json};
use ziggurat_answers::test_server::{self, TestServer};

use super::{ExecuteExplain, NOT_A_SELECT, RULE};

const ITEMS: &str = "CREATE TABLE item (id int, name text);
    INSERT INTO item SELECT i, 'item ' || i FROM generate_series(1, 100) i; ANALYZE item";

async fn explain(test_server: &TestServer, arguments: Value) -> (String, bool) {
    test_server.call(ExecuteExplain::new, arguments).await
}

/// Returns the plan between the two rules.
fn plan(text: &str) -> &str {
    let rule = format!("{RULE}\n");
    let (_, plan) = text.split_once(&rule).expect("a rule");
    plan.split_once(RULE).expect("another rule").0
}

#[tokio::test]
async fn a_plan_stands_between_two_rules_and_its_analysis_below() {
    let test_server = TestServer::with(ITEMS).await;
    let query = " SELECT * FROM item WHERE id = 7 ; ";
    let (text, failed) = explain(&test_server, json!({"query": query})).await;
    assert!(!failed, "{text}");
    let head = format!(
        "Database: main\n\nQuery:\nSELECT * FROM item WHERE id = 7\n\nExecution Plan:\n{RULE}\n\
         Seq Scan on item  (cost="
    );
    assert!(text.starts_with(&head), "{text}");
    assert!(plan(&text).contains("actual time="), "{text}");
    assert!(plan(&text).contains("Buffers: shared hit="), "{text}");
    let (_, analysis) = text
        .split_once(&format!("{RULE}\n\nAnalysis:\n<issues>\n"))
        .expect("an analysis");
    assert!(analysis.starts_with("- Sequential scan"), "{analysis}");
    assert!(analysis.contains(": item\n"), "{analysis}");
    assert!(
        analysis.contains("</issues>\n\n<recommendations>\n1. "),
        "{analysis}"
    );
    assert!(analysis.ends_with("\n</recommendations>"), "{analysis}");
}

#[tokio::test]
async fn only_the_requested_options_are_used() {
    let test_server = TestServer::with(ITEMS).await;
    let ask = async |mut options: Value| {
        options["query"] = "SELECT * FROM item".into();
        let (text, failed) = explain(&test_server, options).await;
        assert!(!failed, "{text}");
        (plan(&text).to_owned(), text.contains("Analysis:"))
    };

    let (plan, analysed) = ask(json!({"analyze": false, "buffers": false})).await;
    assert!(!plan.contains("actual"), "{plan}");
    assert!(!analysed);

    let (plan, _) = ask(json!({"buffers": false})).await;
    assert!(
        plan.contains("actual") && !plan.contains("Buffers"),
        "{plan}"
    );

    let (plan, analysed) = ask(json!({"format": "json"})).await;
    let document: Value = serde_json::from_str(&plan).expect("a document");
    assert_eq!(document[0]["Plan"]["Node Type"], "Seq Scan");
    assert!(document[0]["Plan"]["Shared Hit Blocks"].is_number());
    assert!(!analysed);

    // Invalid options count as missing.
    let (plan, analysed) = ask(json!({"analyze": "yes", "format": "xml"})).await;
    assert!(
        plan.starts_with("Seq Scan") && plan.contains("actual"),
        "{plan}"
    );
    assert!(analysed);
}

#[tokio::test]
async fn errors_have_messages_a_model_can_act_upon() {
    let test_server = TestServer::with(ITEMS).await;
    let missing = "Parameter 'query' is required and must be a non-empty string";
    let cases = [
        (json!({}), missing),
        (json!({"query": 7}), missing),
        (json!({"query": " \n"}), missing),
        (json!({"query": "DELETE FROM item"}), NOT_A_SELECT),
        (json!({"query": ";"}), NOT_A_SELECT),
        (
            json!({"query": "SELECT 1 FROM nope"}),
            "Error executing EXPLAIN: ERROR: relation \"nope\" does not exist (SQLSTATE 42P01)\n\n\
             Query: EXPLAIN (ANALYZE TRUE, BUFFERS TRUE) SELECT 1 FROM nope",
        ),
        (
            json!({"query": "SELECT (", "analyze": false, "buffers": false}),
            "Error executing EXPLAIN: ERROR: syntax error at end of input (SQLSTATE 42601)\n\n\
             Query: EXPLAIN SELECT (",
        ),
        (
            json!({"query": "SELECT 1 / (id - 1) FROM item"}),
            "Error iterating EXPLAIN output: ERROR: division by zero (SQLSTATE 22012)",
        ),
        (
            json!({"query": "SELECT 1; DELETE FROM item"}),
            "query rejected: only one statement is allowed at a time",
        ),
    ];
    for (arguments, expected) in cases {
        let (text, failed) = explain(&test_server, arguments.clone()).await;
        assert_eq!(text, expected, "{arguments}");
        assert!(failed, "{arguments}");
    }
}

#[tokio::test]
async fn nothing_is_written_even_if_writes_are_allowed() {
    let mut test_server = TestServer::with(ITEMS).await;
    test_server.settings.allow_writes = true;
    test_server
        .fixture
        .given(
            "CREATE FUNCTION add() RETURNS void LANGUAGE sql AS 'INSERT INTO item VALUES (0)';
             CREATE SEQUENCE counter",
        )
        .await;
    let cases = [
        ("SELECT add()", "in a read-only transaction"),
        ("SELECT nextval('counter')", "in a read-only transaction"),
        (
            "SELECT * FROM item FOR UPDATE",
            "in a read-only transaction",
        ),
        ("SELECT 1 INTO hole", NOT_A_SELECT),
        (
            "WITH a AS (DELETE FROM item RETURNING id) SELECT * FROM a",
            NOT_A_SELECT,
        ),
        (
            "SELECT set_config('a.b', 'c', false)",
            "query rejected: set_config",
        ),
    ];
    for (query, expected) in cases {
        let (text, failed) = explain(&test_server, json!({"query": query})).await;
        assert!(text.contains(expected), "{query}: {text}");
        assert!(failed, "{query}");
    }
    let rows = test_server.fixture.count("SELECT count(*) FROM item").await;
    assert_eq!(rows, 100);
}

#[tokio::test]
async fn comments_parentheses_and_with_are_accepted() {
    let test_server = TestServer::with(ITEMS).await;
    let queries = [
        "-- how\n/* many */ SELECT count(*) FROM item -- ?",
        "((SELECT id FROM item) UNION (SELECT 2));",
        "WITH a AS (SELECT id FROM item) SELECT * FROM a",
    ];
    for query in queries {
        for analyze in [true, false] {
            let arguments = json!({"query": query, "analyze": analyze, "buffers": analyze});
            let (text, failed) = explain(&test_server, arguments).await;
            assert!(!failed, "{query}: {text}");
            assert!(plan(&text).contains("Seq Scan on item"), "{text}");
        }
    }
    // PostgreSQL shows the plan, but would not take the lock.
    let arguments = json!({"query": "SELECT * FROM item FOR UPDATE", "analyze": false});
    let (text, _) = explain(&test_server, arguments).await;
    assert!(plan(&text).starts_with("LockRows"), "{text}");
}

#[tokio::test]
async fn an_explained_query_obeys_the_statement_timeout() {
    let mut test_server = TestServer::with("SELECT").await;
    test_server.settings.query_timeout = Duration::from_millis(50);
    let (text, failed) = explain(&test_server, json!({"query": "SELECT pg_sleep(60)"})).await;
    assert_eq!(
        text,
        "Error iterating EXPLAIN output: \
         ERROR: canceling statement due to statement timeout (SQLSTATE 57014)"
    );
    assert!(failed);
}

#[tokio::test]
async fn a_plan_that_is_too_long_is_cut() {
    let mut test_server = TestServer::with(ITEMS).await;
    test_server.settings.max_statement_bytes = 4 << 20;
    let query = format!(
        "SELECT '{}' || id FROM item ORDER BY 1",
        "é".repeat(500_000)
    );
    let arguments = json!({"query": query, "format": "json", "analyze": false});
    let (text, failed) = explain(&test_server, arguments).await;
    assert!(!failed);
    assert!(plan(&text).len() <= super::MAX_BYTES + 100);
}

#[tokio::test]
async fn the_structure_has_the_plan_and_the_findings() {
    let test_server = TestServer::with(ITEMS).await;
    let query = "SELECT * FROM item WHERE id = 7";
    for (arguments, issues) in [
        (json!({"query": query}), 1),
        (json!({"query": query, "analyze": false}), 0),
        (json!({"query": query, "format": "json"}), 0),
    ] {
        let tool = ExecuteExplain::new(test_server.databases());
        let (text, explained) = test_server::structured(tool, arguments).await;
        assert_eq!(explained["database"], "main");
        assert_eq!(explained["query"], query);
        assert_eq!(explained["plan"], plan(&text));
        for member in ["issues", "recommendations"] {
            let said = explained[member].as_array().expect("a list");
            assert_eq!(said.len(), issues, "{explained}");
            for line in said {
                assert!(text.contains(line.as_str().expect("a text")), "{text}");
            }
        }
    }
}
