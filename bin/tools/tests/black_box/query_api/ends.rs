//! Tests of what may write: it is confirmed once, and its end tells what changed.

use serde_json::{Value, json};

use super::{ask, done, error, lines, refused, rows};
use crate::support::{Client, Home, Postgres, records, records::PASSWORD};

/// Creates a server that may write to this database, with the users alice and bob.
fn home(postgres: &Postgres) -> Home {
    let home = Home::new();
    let entries = ["main", "two"].map(|name| {
        let entry = postgres.entry(name);
        format!("{entry}    allow_writes: true\n")
    });
    home.configure(&format!("databases:\n{}", entries.concat()));
    let users = ["alice", "bob"].map(|name| records::user(name, &[]));
    home.replace(&home.users(), &records::users(&users));
    home.replace(&home.tokens(), &records::tokens(&[]));
    home
}

/// Returns the seal for a statement.
fn seal(client: &Client, sql: &str, more: &Value) -> Value {
    let answer = ask(client, sql, more);
    assert_eq!(answer.status, 409, "{answer:?}");
    assert_eq!(answer.header("cache-control"), Some("no-store"));
    let demand = answer.json();
    let database = more["database"].as_str().unwrap_or("main");
    assert_eq!(demand["code"], "confirm");
    assert_eq!(
        (&demand["statement"], &demand["database"]),
        (&json!(sql), &json!(database))
    );
    assert!(demand["error"].is_string(), "{demand}");
    demand["confirm"].clone()
}

#[test]
fn a_write_runs_once_for_each_confirmation_of_its_caller_statement_and_database() {
    let postgres = Postgres::with("CREATE TABLE t AS SELECT 1 AS n");
    let home = home(&postgres);
    let (_program, stranger) = home.serve(&[]);
    let [alice, bob] = ["alice", "bob"].map(|name| stranger.logged_in(name, PASSWORD));
    let sql = "INSERT INTO t VALUES (2)";
    let count = || postgres.count("SELECT count(*) FROM t");
    let confirm = seal(&alice, sql, &json!({}));
    for (client, sql, database) in [
        (&bob, sql, "main"),
        (&alice, "INSERT INTO t VALUES (3)", "main"),
        (&alice, sql, "two"),
    ] {
        let more = json!({"database": database, "confirm": confirm});
        assert_eq!(ask(client, sql, &more).status, 409, "{sql} in {database}");
    }
    assert_eq!(
        ask(&alice, sql, &json!({"confirm": "nonsense"})).status,
        409
    );
    assert_eq!(count(), 1);
    let found = lines(&ask(&alice, sql, &json!({"confirm": confirm})));
    assert_eq!(found[0]["started"]["read_only"], false);
    let end = done(&found);
    assert_eq!(
        (&end["command"], &end["affected"]),
        (&json!("INSERT 0 1"), &json!(1))
    );
    assert_eq!(
        (&found[1], &end["rows"]),
        (&json!({"columns": []}), &json!(0))
    );
    assert_eq!(count(), 2);
    assert_eq!(
        ask(&alice, sql, &json!({"confirm": confirm})).status,
        409,
        "it is used up"
    );
    assert_eq!(count(), 2);
    // What only reads needs none.
    assert_eq!(
        rows(&lines(&ask(&alice, "SELECT count(*) FROM t", &json!({})))),
        [json!([2])]
    );
}

#[test]
fn the_end_tells_what_changed() {
    let postgres = Postgres::with("CREATE TABLE t (n int)");
    let home = home(&postgres);
    let (_program, client) = home.serve(&["-no-auth"]);
    for (sql, expected_rows, command, affected) in [
        (
            "INSERT INTO t SELECT generate_series(1, 3)",
            0,
            "INSERT 0 3",
            json!(3),
        ),
        ("UPDATE t SET n = n + 1 RETURNING n", 3, "UPDATE", json!(3)),
        ("DELETE FROM t WHERE n = 100", 0, "DELETE 0", json!(0)),
        (
            "DELETE FROM t WHERE n = 100 RETURNING n",
            0,
            "DELETE",
            json!(0),
        ),
        ("CREATE TABLE u (m int)", 0, "CREATE TABLE", Value::Null),
    ] {
        let confirm = seal(&client, sql, &json!({}));
        let found = lines(&ask(&client, sql, &json!({"confirm": confirm})));
        let end = done(&found);
        assert_eq!(end["rows"], expected_rows, "{sql}");
        assert_eq!(
            (&end["command"], &end["affected"]),
            (&json!(command), &affected),
            "{sql}"
        );
    }
    let sql = "INSERT INTO t SELECT generate_series(1, 2000) RETURNING n";
    let confirm = seal(&client, sql, &json!({}));
    let found = lines(&ask(
        &client,
        sql,
        &json!({"confirm": confirm, "max_rows": 10}),
    ));
    let end = done(&found);
    assert_eq!(
        (&end["rows"], &end["truncated"]),
        (&json!(10), &json!("rows"))
    );
    assert_eq!(end["affected"], 2000);
    assert_eq!(postgres.count("SELECT count(*) FROM t"), 2003);
}

#[test]
fn a_write_that_returns_more_than_may_be_sent_is_kept() {
    let postgres = Postgres::with("CREATE TABLE t (n text)");
    let home = Home::new();
    home.configure(&format!(
        "databases:\n{}    allow_writes: true\nlimits: {{max_query_bytes: 4096}}\n",
        postgres.entry("main")
    ));
    let (_program, client) = home.serve(&["-no-auth"]);
    let sql = "INSERT INTO t SELECT repeat('x', 1000) FROM generate_series(1, 100) RETURNING n";
    let confirm = seal(&client, sql, &json!({}));
    let found = lines(&ask(&client, sql, &json!({"confirm": confirm})));
    assert_eq!(done(&found)["truncated"], "bytes");
    assert_eq!(rows(&found).len(), 4);
    assert_eq!(postgres.count("SELECT count(*) FROM t"), 100);
}

#[test]
fn a_failed_write_changes_nothing() {
    let postgres = Postgres::with("CREATE TABLE t (n int UNIQUE DEFERRABLE INITIALLY DEFERRED)");
    let home = home(&postgres);
    let (_program, client) = home.serve(&["-no-auth"]);
    let sql = "INSERT INTO t VALUES (1), (1) RETURNING n";
    let confirm = seal(&client, sql, &json!({}));
    let found = lines(&ask(&client, sql, &json!({"confirm": confirm})));
    assert_eq!(error(&found)["sqlstate"], "23505");
    assert_eq!(postgres.count("SELECT count(*) FROM t"), 0);
}

#[test]
fn a_request_that_names_no_statement_is_refused() {
    let postgres = Postgres::new();
    let home = home(&postgres);
    let (_program, client) = home.serve(&["-no-auth"]);
    for (body, status, code) in [
        ("", 400, "bad_request"),
        ("[]", 400, "bad_request"),
        (r#"{"sql": 1}"#, 400, "bad_request"),
        (r#"{"sql": "SELECT 1", "max_rows": -1}"#, 400, "bad_request"),
        ("{}", 400, "no_sql"),
        (r#"{"sql": " "}"#, 400, "no_sql"),
        (r#"{"sql": " ; "}"#, 400, "no_sql"),
        (
            r#"{"sql": "SELECT 1", "database": "three"}"#,
            404,
            "not_found",
        ),
    ] {
        let answer = client.post("/api/query", body);
        assert_eq!(refused(&answer), (status, code.to_owned()), "{body}");
    }
    let answer = client.get("/api/query");
    assert_eq!((answer.status, answer.header("allow")), (405, Some("POST")));
    assert_eq!(answer.json(), json!({"error": "Method not allowed"}));
}

#[test]
fn a_query_that_writes_by_a_function_is_undone_and_has_to_be_confirmed() {
    let postgres = Postgres::with(
        "CREATE TABLE t AS SELECT 1 AS n; CREATE SEQUENCE numbers;
         CREATE FUNCTION wipe() RETURNS int LANGUAGE sql AS 'DELETE FROM t; SELECT 1'",
    );
    let home = home(&postgres);
    let (_program, stranger) = home.serve(&[]);
    let alice = stranger.logged_in("alice", PASSWORD);
    let left = || postgres.count("SELECT count(*) FROM t");
    for sql in [
        "SELECT wipe()",
        "SELECT n FROM t WHERE wipe() = 1",
        "EXPLAIN ANALYZE SELECT wipe()",
        "SELECT setval('numbers', 7)",
        "SELECT nextval('numbers')",
        "SELECT lo_create(0)",
    ] {
        postgres.run("TRUNCATE t; INSERT INTO t VALUES (1)");
        let confirm = seal(&alice, sql, &json!({}));
        assert_eq!(left(), 1, "{sql}");
        let found = lines(&ask(&alice, sql, &json!({"confirm": confirm})));
        done(&found);
        assert_eq!(left() == 0, sql.contains("wipe"), "{sql}");
        // The seal is used up.
        postgres.run("INSERT INTO t VALUES (1)");
        let again = ask(&alice, sql, &json!({"confirm": confirm}));
        assert_eq!(again.status, 409, "{sql}");
    }
    // A write behind the first rows is undone with them.
    let late = "SELECT CASE WHEN n < 2000 THEN repeat('x', 100) ELSE wipe()::text END
        FROM generate_series(1, 2000) AS n";
    postgres.run("TRUNCATE t; INSERT INTO t VALUES (1)");
    let found = lines(&ask(&alice, late, &json!({"max_rows": 3000})));
    let demand = error(&found);
    assert_eq!(
        (&demand["code"], &demand["sqlstate"]),
        (&json!("confirm"), &json!("25006"))
    );
    assert_eq!(left(), 1);
    let confirmed = json!({"max_rows": 3000, "confirm": demand["confirm"]});
    let found = lines(&ask(&alice, late, &confirmed));
    assert_eq!(rows(&found).len(), 2000);
    assert_eq!(left(), 0);
    // What only reads is not asked about.
    let read = lines(&ask(&alice, "SELECT count(*) FROM t", &json!({})));
    assert_eq!(rows(&read), [json!([0])]);
}
