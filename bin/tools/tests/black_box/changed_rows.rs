//! Tests of the limit on rows that a statement may change.

use std::fs;

use rustix::process::Signal;
use serde_json::{Value, json};
use ziggurat_black_box::MetricsPage;

use crate::support::{Client, Home, Postgres, Transports, records};

const EXCEEDED: &str =
    "The statement was rolled back: it changed 1,001 rows, and at most 1,000 are allowed.";
const LOCKED: &str =
    "The statement was rolled back: it empties or alters public.t, whose rows cannot be counted.";

const TABLES: &str = "CREATE TABLE t (id int PRIMARY KEY, n int); \
    INSERT INTO t SELECT g, 0 FROM generate_series(1, 3000) g; \
    CREATE TABLE part (id int PRIMARY KEY, t int REFERENCES t ON DELETE CASCADE); \
    INSERT INTO part SELECT g, 3000 FROM generate_series(1, 1000) g; \
    CREATE TABLE noted (n int); \
    CREATE FUNCTION note() RETURNS trigger LANGUAGE plpgsql AS \
        'BEGIN UPDATE t SET n = n + 1 WHERE id <= 1000; RETURN new; END'; \
    CREATE TRIGGER note AFTER INSERT ON noted FOR EACH ROW EXECUTE FUNCTION note(); \
    CREATE FUNCTION wipe(most int) RETURNS int LANGUAGE plpgsql AS \
        'BEGIN UPDATE t SET n = n + 1 WHERE id <= most; RETURN most; END'; \
    CREATE PROCEDURE wipe_and_commit() LANGUAGE plpgsql AS \
        'BEGIN UPDATE t SET n = n + 1; COMMIT; END'";

/// Statements, and the end of each.
const CASES: [(&str, Option<&str>); 11] = [
    ("UPDATE t SET n = n + 1 WHERE id <= 999", None),
    ("UPDATE t SET n = n + 1 WHERE id <= 1000", None),
    ("UPDATE t SET n = n + 1 WHERE id <= 1001", Some(EXCEEDED)),
    (
        "UPDATE t SET n = n + 1 WHERE id <= 1001 RETURNING id, repeat('x', 999)",
        Some(EXCEEDED),
    ),
    ("DELETE FROM t WHERE id = 3000", Some(EXCEEDED)),
    ("INSERT INTO noted VALUES (1)", Some(EXCEEDED)),
    ("SELECT wipe(1000)", None),
    ("SELECT wipe(1001)", Some(EXCEEDED)),
    ("DO 'BEGIN PERFORM wipe(1001); END'", Some(EXCEEDED)),
    ("ALTER TABLE t ADD more int", Some(LOCKED)),
    (
        "UPDATE t SET n = n + 1; COMMIT",
        Some("query rejected: COMMIT is not allowed, the server handles transactions itself"),
    ),
];

/// Creates a server of a database with a limit, and more lines.
fn home(postgres: &Postgres, limit: &str, more: &str) -> Home {
    let home = Home::new();
    let entry = postgres.entry("main");
    home.configure(&format!(
        "databases:\n{entry}    allow_writes: true\n{limit}{more}"
    ));
    home
}

/// Returns a number that each change of a row changes.
fn state(postgres: &Postgres) -> i64 {
    postgres.count("SELECT (SELECT sum(n) + count(*) FROM t) + (SELECT count(*) FROM part)")
}

#[test]
fn a_statement_of_each_client_is_undone_above_the_limit() {
    let postgres = Postgres::with(TABLES);
    let limit = "    max_changed_rows: 1000\n";
    let mut transports = Transports::open(home(&postgres, limit, ""));
    for (sql, expected) in CASES {
        let before = state(&postgres);
        let arguments = json!({"query": sql, "limit": 1000});
        match expected {
            None => {
                transports.succeed("query_database", &arguments);
                assert!(state(&postgres) > before, "{sql}");
            }
            Some(expected) => {
                let text = transports.fail("query_database", &arguments);
                assert!(text.contains(expected), "{sql}: {text}");
                assert_eq!(state(&postgres), before, "{sql}");
            }
        }
    }
    let before = state(&postgres);
    let text = transports.fail(
        "query_database",
        &json!({"query": "CALL wipe_and_commit()"}),
    );
    assert!(text.contains("(SQLSTATE 2D000)"), "{text}");
    assert_eq!(state(&postgres), before);
}

#[test]
fn a_tool_of_the_operator_that_writes_is_undone_above_the_limit() {
    let postgres = Postgres::with(TABLES);
    let more = "custom_definitions_path: own.yaml\n";
    let home = home(&postgres, "    max_changed_rows: 1000\n", more);
    let tools = "tools:\n- {name: raise, description: D, database: main, write: true, statement: \
        UPDATE t SET n = n + 1 WHERE id <= :most, parameters: [{name: most, type: integer}]}\n\
        - {name: read, description: D, statement: SELECT count(*) FROM t}\n";
    fs::write(home.file("own.yaml"), tools).expect("written");
    let (_program, client) = home.serve(&["-no-auth"]);
    for (most, is_error) in [(1000, false), (1001, true)] {
        let (text, failed) = client.tool("raise", &json!({"most": most}));
        assert_eq!(
            (failed, text.contains(EXCEEDED)),
            (is_error, is_error),
            "{text}"
        );
    }
    assert_eq!(postgres.count("SELECT sum(n) FROM t"), 1000);
    assert!(!client.tool("read", &json!({})).1);
}

/// Sends a statement to `/api/query`, with a confirmation if one is wanted, and returns the last line.
fn last_line(client: &Client, sql: &str) -> Value {
    let send = |body: &Value| client.post("/api/query", &body.to_string());
    let mut answer = send(&json!({"sql": sql}));
    if answer.status == 409 {
        let confirm = answer.json()["confirm"].clone();
        answer = send(&json!({"sql": sql, "confirm": confirm}));
    }
    assert_eq!(answer.status, 200, "{answer:?}");
    let line = answer.body.lines().last().expect("a line");
    serde_json::from_str(line).expect("JSON")
}

#[test]
fn the_smaller_limit_holds_and_what_is_undone_is_recorded_and_counted() {
    let postgres = Postgres::with(TABLES);
    let more = "audit: {file: audit.jsonl}\ntelemetry: {metrics: {address: 127.0.0.1:0}}\n\
        limits:\n  callers:\n  - {for: {tokens: [token-1]}, max_changed_rows: 5}\n\
        \x20 - {for: {tokens: [token-2]}, max_changed_rows: 5000}\n";
    let home = home(&postgres, "    max_changed_rows: 1000\n", more);
    let tokens = [records::token(1, "one", &[]), records::token(2, "two", &[])];
    home.replace(&home.tokens(), &records::tokens(&tokens));
    home.replace(&home.users(), &records::users(&[]));
    let (mut program, stranger) = home.serve(&[]);
    let page = MetricsPage::of(&program);
    let [one, two] = ["one", "two"].map(|token| stranger.bearing(token));
    let update = |most: u32| format!("UPDATE t SET n = n + 1 WHERE id <= {most}");
    assert!(last_line(&one, &update(5))["done"].is_object());
    let error = &last_line(&one, &update(6))["error"];
    assert_eq!(error["code"], "too_many_rows", "{error}");
    assert_eq!(
        error["message"],
        "The statement was rolled back: it changed 6 rows, and at most 5 are allowed."
    );
    let error = &last_line(&one, "SELECT wipe(6)")["error"];
    assert_eq!(error["code"], "too_many_rows", "{error}");
    let error = &last_line(&two, &update(1001))["error"];
    assert_eq!(error["message"], EXCEEDED);
    let error = &last_line(&two, "DELETE FROM t; COMMIT")["error"];
    assert_eq!(error["code"], "refused", "{error}");
    assert_eq!(postgres.count("SELECT sum(n) FROM t"), 5);
    let text = page.text();
    let count = "ziggurat_limits_reached_total{limit=\"max_changed_rows\"} 3";
    assert!(text.contains(count), "{text}");
    program.signal(Signal::TERM);
    assert!(program.ended().success());
    let trail = fs::read_to_string(home.file("audit.jsonl")).expect("a trail");
    let lines = trail.lines().map(serde_json::from_str);
    let lines: Vec<Value> = lines.collect::<Result<_, _>>().expect("lines of JSON");
    let verdicts = lines.iter().map(|line| &line["verdict"]);
    let verdicts: Vec<_> = verdicts.filter_map(Value::as_str).collect();
    let verdicts: Vec<_> = verdicts.into_iter().filter(|it| *it != "asked").collect();
    assert_eq!(verdicts, ["ok", "limited", "limited", "limited", "refused"]);
}

#[test]
fn without_a_limit_a_statement_changes_any_number_of_rows() {
    let postgres = Postgres::with(TABLES);
    let home = home(&postgres, "    max_changed_rows: 0\n", "");
    let (_program, client) = home.serve(&["-no-auth"]);
    client.query("UPDATE t SET n = 1");
    client.query("UPDATE t SET n = 2 WHERE id < 11; COMMIT");
    assert_eq!(postgres.count("SELECT sum(n) FROM t"), 3010);
}
