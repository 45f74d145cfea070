//! Tests of requests that are run again.

use serde_json::{Value, json};

use super::{Receipted, ask, asking, body};

/// Returns a request of each kind together with its answer.
fn kept(server: &Receipted, sql: &str, receipt: &Value) -> [String; 2] {
    let (_program, client) = server.serve();
    let lines = client
        .post("/api/query", &body(sql, receipt.clone()).to_string())
        .body;
    let params = asking(sql, receipt.clone());
    let answer = ask(&client, "tools/call", &params).json();
    let request = json!({"method": "tools/call", "params": params});
    [
        json!({"request": body(sql, receipt.clone()), "response": lines}),
        json!({"request": request, "response": answer}),
    ]
    .map(|it| it.to_string())
}

fn replayed(server: &Receipted, kept: &str) -> (Vec<String>, Option<i32>) {
    let (lines, code) = server.verify(kept, &["-replay"]);
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
fn a_change_is_not_repeated() {
    let server = Receipted::new("", "");
    let entry = server.postgres.entry("main");
    server.home.configure(&format!(
        "databases:\n{entry}    allow_writes: true\nreceipts: {{key_file: key.pem}}\n"
    ));
    let sql = "INSERT INTO book VALUES (300, 'new')";
    let (_program, client) = server.serve();
    let params = asking(sql, json!(true));
    let answer = ask(&client, "tools/call", &params).json();
    let request = json!({"method": "tools/call", "params": params});
    let kept = json!({"request": request, "response": answer}).to_string();
    let expected = vec!["a change is not repeated".to_owned()];
    assert_eq!(replayed(&server, &kept), (expected, Some(1)));
    assert_eq!(
        server
            .postgres
            .count("SELECT count(*) FROM book WHERE id = 300"),
        1
    );
}
