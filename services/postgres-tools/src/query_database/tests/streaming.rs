//! Answers that are too large to hold in memory.

use std::time::Duration;

use sqlx::PgConnection;
use tokio::{task, time};

use super::*;

const TWO_HUNDRED_THOUSAND: &str = "SELECT i AS id, 'a \"name\"' AS name
    FROM generate_series(1, 200000) i";

#[tokio::test]
async fn a_large_answer_is_sent_in_pieces_and_reads_like_any_other() {
    let mut test_server = TestServer::with("SELECT").await;
    test_server.describe(|settings| settings.row_limit = 150_000);
    test_server.max_bytes = 1000;
    let arguments = json!({"query": TWO_HUNDRED_THOUSAND});
    let mut body = test_server
        .body(arguments)
        .await
        .into_body()
        .expect("a request");
    let mut whole = Vec::new();
    let mut largest = 0;
    while let Some(frame) = body.frame().await {
        let piece = frame.expect("a piece").into_data().expect("data");
        largest = largest.max(piece.len());
        whole.extend_from_slice(&piece);
    }
    assert!(largest < 64 << 10, "{largest}");
    let answer: Value = serde_json::from_slice(&whole).expect("JSON");
    let text = answer["result"]["content"][0]["text"].as_str();
    let text = text.expect("text");
    assert_eq!(answer["result"].get("isError"), None);

    let opening = format!(
        "Database: main\n\nSQL Query:\n{TWO_HUNDRED_THOUSAND}\n\n\
         Results (150000 rows shown, more available - use offset=150000 for next page or \
         count_rows for total):\nid\tname\n1\ta \"name\"\n2\t"
    );
    assert!(text.starts_with(&opening), "{}", &text[..400]);
    assert!(text.ends_with("\n150000\ta \"name\""));
    let rows = text.lines().filter(|line| line.ends_with("\ta \"name\""));
    assert_eq!(rows.count(), 150_000);

    let page = json!({"query": TWO_HUNDRED_THOUSAND, "offset": 150_000});
    let (text, failed) = test_server.call(page).await;
    assert!(
        text.contains("\n\nResults (rows 150001-200000):\nid\tname\n150001\t"),
        "{}",
        &text[..400]
    );
    assert!(text.ends_with("\n200000\ta \"name\""));
    assert!(!failed);
}

#[tokio::test]
async fn an_error_before_the_first_row_is_reported_as_usual() {
    let test_server = TestServer::with("SELECT").await;
    test_server.describe(|settings| settings.row_limit = 150_000);
    let cases = [
        (
            "SELECT nope",
            "SQL Query:\nSELECT nope\n\nError executing query: ERROR: column \"nope\" does not exist (SQLSTATE 42703)",
        ),
        (
            "SELECT 1 / (i - 100000) FROM generate_series(1, 150000) i",
            "Error iterating rows: ERROR: division by zero (SQLSTATE 22012)",
        ),
    ];
    for (query, expected) in cases {
        let (text, failed) = test_server.query(query).await;
        assert_eq!(text, expected, "{query}");
        assert!(failed, "{query}");
    }
}

#[tokio::test]
async fn a_connection_that_breaks_half_way_ends_the_answer_with_an_error() {
    let mut test_server = TestServer::with("SELECT").await;
    test_server.describe(|settings| settings.row_limit = 200_000);
    let query = "SELECT repeat('x', 1000) FROM generate_series(1, 200000)";
    let arguments = json!({"query": query});
    let mut body = test_server
        .body(arguments)
        .await
        .into_body()
        .expect("a request");
    let mut whole = Vec::new();
    while whole.len() < 100_000 {
        let frame = body.frame().await.expect("a frame").expect("a piece");
        whole.extend_from_slice(&frame.into_data().expect("data"));
    }
    let kill = "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity
        WHERE datname = current_database() AND application_name = 'ziggurat'";
    assert_eq!(test_server.fixture.count(kill).await, 1);
    let rest = body.collect().await.expect("an end").to_bytes();
    whole.extend_from_slice(&rest);
    let answer: Value = serde_json::from_slice(&whole).expect("JSON all the same");
    assert_eq!(answer["result"]["isError"], true);
    let text = answer["result"]["content"][0]["text"].as_str();
    let last = text.expect("text").rsplit("\n\n").next();
    let last = last.expect("a paragraph");
    assert!(last.starts_with("Error iterating rows: "), "{last}");
}

/// Waits until the number of rows that the query counts is `count`.
async fn until(watch: &mut PgConnection, count: i64, sql: &'static str) {
    let see = async {
        loop {
            let found: i64 = sqlx::query_scalar(sql)
                .fetch_one(&mut *watch)
                .await
                .expect(sql);
            if found == count {
                break;
            }
            task::yield_now().await;
        }
    };
    time::timeout(Duration::from_secs(10), see)
        .await
        .expect("it comes to that in time");
}

#[tokio::test]
async fn the_statement_of_a_client_that_disconnects_is_cancelled() {
    let test_server = TestServer::with("SELECT").await;
    test_server.describe(|settings| settings.row_limit = 200_000);
    let query = "SELECT repeat('x', 1000) FROM generate_series(1, 200000)";
    let arguments = json!({"query": query});
    let mut watch = test_server.fixture.connect().await;
    let mut body = test_server
        .body(arguments)
        .await
        .into_body()
        .expect("a request");
    for _ in 0..3 {
        body.frame().await.expect("a frame").expect("a piece");
    }
    let ours = "SELECT count(*) FROM pg_stat_activity
        WHERE datname = current_database() AND application_name = 'ziggurat'";
    until(&mut watch, 1, ours).await;
    drop(body);
    until(&mut watch, 0, ours).await;
    let (text, failed) = test_server.query("SELECT 1").await;
    assert!(text.ends_with("\n1") && !failed, "{text}");
}

#[tokio::test]
async fn an_answer_is_sent_while_its_query_runs_with_or_without_a_limit() {
    const WAITING: Duration = Duration::from_secs(30);

    let test_server = TestServer::with("SELECT").await;
    // The rows after the twentieth never arrive.
    let endless = "SELECT n, repeat('x', 20000), CASE WHEN n > 20 THEN pg_sleep(3600) END
        FROM generate_series(1, 100) n";
    for query in [endless.to_owned(), format!("{endless} LIMIT 100")] {
        let body = test_server.body(json!({"query": query}));
        let answer = time::timeout(WAITING, body).await.expect("an answer");
        let mut body = answer.into_body().expect("a request");
        let mut bytes = 0;
        while bytes < 64 << 10 {
            let frame = time::timeout(WAITING, body.frame()).await;
            let frame = frame.expect("in time").expect("a frame");
            bytes += frame.expect("a piece").into_data().expect("data").len();
        }
    }
}

#[tokio::test]
async fn large_rows_wait_until_earlier_ones_are_sent() {
    let mut test_server = TestServer::with("SELECT").await;
    test_server.max_bytes = 1 << 20;
    let tool = test_server.tool();
    let large = json!({"query": "SELECT repeat('x', 1000000) AS a"});
    // One large row takes most of the memory for large rows.
    let first = test_server.body_of(&tool, large.clone()).await;
    let mut second = Box::pin(async {
        let body = test_server.body_of(&tool, large).await;
        body.collect().await.expect("whole").to_bytes().len()
    });
    let early = time::timeout(Duration::from_millis(300), &mut second).await;
    early.expect_err("it waits");
    drop(first);
    let late = time::timeout(Duration::from_secs(30), second).await;
    assert!(late.expect("in time") > 1_000_000);
}
