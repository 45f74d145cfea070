//! Tests of requests that are run again.

use std::fs;

use serde_json::{Value, json};

use crate::support::Postgres;

use super::{Client, Receipted, ask, asking, body};

/// Returns a request of each kind together with its answer.
fn kept(server: &Receipted, sql: &str, receipt: &Value) -> [String; 2] {
    let (_program, client) = server.serve();
    kept_by(&client, sql, receipt)
}

/// Returns a request of each kind together with the answer to a client.
pub(super) fn kept_by(client: &Client, sql: &str, receipt: &Value) -> [String; 2] {
    let lines = client
        .post("/api/query", &body(sql, receipt.clone()).to_string())
        .body;
    [
        json!({"request": body(sql, receipt.clone()), "response": lines}).to_string(),
        called(client, &asking(sql, receipt.clone())),
    ]
}

/// Returns a call of a tool together with its answer.
pub(super) fn called(client: &Client, params: &Value) -> String {
    let answer = ask(client, "tools/call", params).json();
    let request = json!({"method": "tools/call", "params": params});
    json!({"request": request, "response": answer}).to_string()
}

/// Runs a request again, and returns the lines about it and the exit code.
pub(super) fn replayed(server: &Receipted, kept: &str) -> (Vec<String>, Option<i32>) {
    replayed_as(server, kept, &[])
}

/// Runs a request again on behalf of a caller.
pub(super) fn replayed_as(
    server: &Receipted,
    kept: &str,
    caller: &[&str],
) -> (Vec<String>, Option<i32>) {
    let (lines, code) = server.verify(kept, &[&["-replay"], caller].concat());
    (lines.lines().skip(1).map(str::to_owned).collect(), code)
}

#[test]
fn a_still_database_has_the_same_rows_and_a_changed_one_exactly_the_changed_ones() {
    let server = Receipted::alone();
    let sql = "SELECT * FROM book ORDER BY id";
    let each = kept(&server, sql, &json!("rows"));
    for kept in &each {
        let expected = vec!["the same rows; the database has not changed since".to_owned()];
        assert_eq!(replayed(&server, kept), (expected, Some(0)));
    }
    server.postgres.run("CREATE TABLE other ()");
    for kept in &each {
        let expected = vec!["the same rows".to_owned()];
        assert_eq!(replayed(&server, kept), (expected, Some(0)));
    }
    server.postgres.run(
        "DELETE FROM book WHERE id <= 20; INSERT INTO book VALUES (200, 'new'), (201, 'new');
         UPDATE book SET title = 'other' WHERE id > 72 AND id <= 100",
    );
    for kept in &each {
        let (lines, code) = replayed(&server, kept);
        assert_eq!(
            lines[0], "100 rows then, 82 now: 30 new, 48 gone",
            "{lines:?}"
        );
        assert_eq!((lines.len(), code), (21, Some(3)), "{lines:?}");
        assert_eq!(lines[1], r#"+ [73,"other"]"#, "{lines:?}");
    }
}

#[test]
fn rows_without_digests_are_counted_and_a_change_is_not_repeated() {
    let server = Receipted::new("", "");
    let [lines, tool] = kept(&server, "SELECT * FROM book", &json!(true));
    server.postgres.run("DELETE FROM book WHERE id = 1");
    for kept in [&lines, &tool] {
        let expected = vec!["100 rows then, 99 now".to_owned()];
        assert_eq!(replayed(&server, kept), (expected, Some(3)));
    }
    server.postgres.run("DROP TABLE book");
    let (lines, code) = replayed(&server, &tool);
    assert!(
        lines[0].starts_with("the request failed: ") && code == Some(1),
        "{lines:?}"
    );
}

#[test]
fn rows_of_an_answer_without_digests_of_all_its_rows_are_counted() {
    let server = Receipted::new("", "");
    let more = "INSERT INTO book SELECT n, '' FROM generate_series(101, 1100) n";
    server.postgres.run(more);
    let (_program, client) = server.serve();
    let mut body = body("SELECT id FROM book ORDER BY id", json!("rows"));
    body["max_rows"] = json!(2000);
    let lines = client.post("/api/query", &body.to_string()).body;
    let kept = json!({"request": body, "response": lines}).to_string();
    server.postgres.run("DELETE FROM book WHERE id = 1");
    // The digests of the first thousand rows would say that a row is new.
    let expected = vec!["1100 rows then, 1099 now".to_owned()];
    assert_eq!(replayed(&server, &kept), (expected, Some(3)));
}

#[test]
fn a_change_is_not_repeated() {
    let server = Receipted::new("", "");
    server.configure_with(
        "    allow_writes: true\n    preview: {mode: offer}\n",
        "receipts: {key_file: key.pem}\ncustom_definitions_path: own.yaml\n",
    );
    fs::write(
        server.home.file("own.yaml"),
        "tools: [{name: add, description: Add, database: main, write: true,
          statement: \"INSERT INTO book VALUES (301, 'new')\"}]\n",
    )
    .expect("written");
    server.postgres.run(
        "CREATE FUNCTION wipe() RETURNS bigint LANGUAGE sql
         AS 'WITH gone AS (DELETE FROM book WHERE id < 4 RETURNING 1) SELECT count(*) FROM gone'",
    );
    let (_program, client) = server.serve();
    let insert = asking("INSERT INTO book VALUES (300, 'new')", json!(true));
    let tool = json!({"name": "add", "arguments": {}, "_meta": {"ziggurat/receipt": true}});
    for params in [insert, tool] {
        let kept = called(&client, &params);
        let expected = vec!["a change is not repeated".to_owned()];
        assert_eq!(replayed(&server, &kept), (expected, Some(1)), "{kept}");
    }
    // A function that writes looks like a query.
    let kept = called(&client, &asking("SELECT wipe()", json!(true)));
    server.postgres.run("INSERT INTO book VALUES (1, 'again')");
    let (lines, code) = replayed(&server, &kept);
    assert!(lines[0].contains("read-only transaction"), "{lines:?}");
    assert_eq!(code, Some(1));
    let left = "SELECT count(*) FROM book WHERE id < 4 OR id >= 300";
    assert_eq!(server.postgres.count(left), 3);
    // What only reads is run again, beside tools that write.
    let [lines, tool] = kept_by(&client, "SELECT id FROM book ORDER BY id", &json!(true));
    for kept in [lines, tool] {
        let (lines, code) = replayed(&server, &kept);
        assert!(lines[0].starts_with("the same rows"), "{lines:?}");
        assert_eq!(code, Some(0));
    }
}

#[test]
fn a_request_runs_again_in_the_database_of_its_receipt() {
    let server = Receipted::new("", "");
    let other = Postgres::with("CREATE TABLE book (id int)");
    let entries = [other.entry("first"), server.postgres.entry("main")].concat();
    server.home.configure(&format!(
        "databases:\n{entries}receipts: {{key_file: key.pem}}\n"
    ));
    let (_program, client) = server.serve();
    let selected = client.post("/api/databases/select", r#"{"name": "main"}"#);
    assert_eq!(selected.status, 200, "{selected:?}");
    for kept in kept_by(&client, "SELECT id FROM book ORDER BY id", &json!(true)) {
        let (lines, code) = replayed(&server, &kept);
        assert!(lines[0].starts_with("the same rows"), "{lines:?}");
        assert_eq!(code, Some(0));
    }
}
