//! Tests of who may run statements, and of their traces in limits and records.

use std::fs;

use rustix::process::Signal;
use serde_json::{Value, json};

use super::{QUERY, ask, done, error, lines, refused, rows};
use crate::support::{Home, Postgres, records, records::PASSWORD};

/// Creates a server with two databases, a token for each, and the users alice and bob.
fn home(postgres: &Postgres, more: &str) -> Home {
    let home = Home::new();
    let entries = ["main", "two"].map(|name| postgres.entry(name)).concat();
    home.configure(&format!(
        "databases:\n{entries}    available_to_users: [bob]\n{more}"
    ));
    let tokens = [
        records::token(1, "one", &["database: main"]),
        records::token(2, "two", &["database: two"]),
    ];
    home.replace(&home.tokens(), &records::tokens(&tokens));
    let users = ["alice", "bob"].map(|name| records::user(name, &[]));
    home.replace(&home.users(), &records::users(&users));
    home
}

#[test]
fn a_caller_runs_statements_in_its_own_databases() {
    let postgres = Postgres::new();
    let home = home(&postgres, "");
    let (_program, stranger) = home.serve(&[]);
    let answer = ask(&stranger, "SELECT 1", &json!({}));
    assert_eq!(answer.status, 401);
    assert_eq!(
        answer.json(),
        json!({"error": "Missing Authorization header"})
    );
    let [alice, bob] = ["alice", "bob"].map(|name| stranger.logged_in(name, PASSWORD));
    let [one, two] = ["one", "two"].map(|token| stranger.bearing(token));
    let main = json!({"database": "main"});
    let other = json!({"database": "two"});
    for (client, more, expected) in [
        (&alice, json!({}), "main"),
        (&bob, other.clone(), "two"),
        (&one, json!({}), "main"),
        (&two, json!({}), "two"),
        (&two, other.clone(), "two"),
    ] {
        let found = lines(&ask(client, "SELECT 1", &more));
        assert_eq!(found[0]["started"]["database"], expected);
    }
    // Databases of others and databases that do not exist look the same.
    let unknown = json!({"database": "three"});
    let bodies = [
        (&alice, &other),
        (&alice, &unknown),
        (&one, &other),
        (&one, &unknown),
        (&two, &main),
    ]
    .map(|(client, more)| {
        let answer = ask(client, "SELECT 1", more);
        assert_eq!(refused(&answer), (404, "not_found".to_owned()));
        answer.body
    });
    assert!(bodies.iter().all(|body| *body == bodies[0]), "{bodies:?}");
    // The selection of the session is used, and not changed by a named database.
    bob.post("/api/databases/select", r#"{"name": "two"}"#);
    let database =
        |more: &Value| lines(&ask(&bob, "SELECT 1", more))[0]["started"]["database"].clone();
    assert_eq!(database(&json!({})), "two");
    assert_eq!(database(&main), "main");
    assert_eq!(database(&json!({})), "two");
}

#[test]
fn a_program_has_1000_rows_unless_a_toolset_names_the_area() {
    let postgres = Postgres::new();
    let sql = "SELECT 1 FROM generate_series(1, 2000)";
    let most = json!({"max_rows": 5000});
    let plain = home(&postgres, "");
    let (_program, stranger) = plain.serve(&[]);
    let found = lines(&ask(&stranger.bearing("one"), sql, &most));
    assert_eq!(
        (rows(&found).len(), &done(&found)["truncated"]),
        (1000, &json!("rows"))
    );
    let alice = stranger.logged_in("alice", PASSWORD);
    assert_eq!(rows(&lines(&ask(&alice, sql, &most))).len(), 2000);

    let sets = "toolsets:\n\
        - {name: a, tools: [query_database], rest: [query], for: {tokens: [token-1]}}\n\
        - {name: b, tools: [count_rows], rest: [query], for: {users: [alice]}}\n\
        - {name: c, tools: [query_database], rest: [llm], for: {tokens: [token-2], users: [bob]}}\n";
    let limited = home(&postgres, sets);
    let (_program, stranger) = limited.serve(&[]);
    let found = lines(&ask(&stranger.bearing("one"), sql, &most));
    assert_eq!(rows(&found).len(), 2000);
    let alice = stranger.logged_in("alice", PASSWORD);
    let answer = ask(&alice, sql, &json!({}));
    assert_eq!(refused(&answer), (403, "not_available".to_owned()));
    for hidden in [stranger.bearing("two"), stranger.logged_in("bob", PASSWORD)] {
        let answer = ask(&hidden, sql, &json!({}));
        assert_eq!(
            (answer.status, answer.json()),
            (404, json!({"error": "Not found"}))
        );
    }
}

#[test]
fn without_the_tool_no_statement_runs() {
    let postgres = Postgres::new();
    let home = home(&postgres, "builtins: {tools: {query_database: false}}\n");
    let (_program, client) = home.serve(&["-no-auth"]);
    let answer = ask(&client, "SELECT 1", &json!({}));
    assert_eq!(refused(&answer), (403, "not_available".to_owned()));
}

#[test]
fn an_unreachable_database_is_told_before_the_first_line() {
    let home = Home::new();
    home.configure("databases:\n- {name: one, host: 127.0.0.1, port: 1, user: nobody}\n");
    let (_program, client) = home.serve(&["-no-auth"]);
    let answer = ask(&client, "SELECT 1", &json!({}));
    assert_eq!(refused(&answer), (503, "unreachable".to_owned()));
}

#[test]
fn the_limits_of_a_caller_apply() {
    let postgres = Postgres::new();
    let limits = "limits: {callers: [{for: {users: [alice]}, rows_per_day: 30},
        {for: {users: [bob]}, max_cost: 1000, calls: 3 per minute}]}\n";
    let home = home(&postgres, limits);
    let (_program, stranger) = home.serve(&[]);
    let alice = stranger.logged_in("alice", PASSWORD);
    let sql = "SELECT 1 FROM generate_series(1, 20)";
    assert_eq!(rows(&lines(&ask(&alice, sql, &json!({})))).len(), 20);
    let found = lines(&ask(&alice, sql, &json!({})));
    assert_eq!(
        (rows(&found).len(), &done(&found)["truncated"]),
        (10, &json!("rows"))
    );
    let notice = done(&found)["notices"][0]["message"]
        .as_str()
        .expect("a notice");
    assert!(
        notice.contains("The allowance of rows for today is used up"),
        "{notice}"
    );
    let answer = ask(&alice, sql, &json!({}));
    assert_eq!(refused_status(&answer), 429);

    let bob = stranger.logged_in("bob", PASSWORD);
    let costly = "SELECT count(*) FROM generate_series(1, 1000000000000) a";
    let found = lines(&ask(&bob, costly, &json!({})));
    assert_eq!(error(&found)["code"], "too_costly");
    for _ in 0..2 {
        lines(&ask(&bob, "SELECT 1", &json!({})));
    }
    let answer = ask(&bob, "SELECT 1", &json!({}));
    assert_eq!(answer.status, 429);
    assert!(answer.header("retry-after").is_some());
}

fn refused_status(answer: &crate::support::Answer) -> u16 {
    let (status, code) = refused(answer);
    assert_eq!(code, "too_many_requests");
    assert!(answer.header("retry-after").is_some(), "{answer:?}");
    status
}

#[test]
fn each_statement_is_recorded_with_its_end() {
    let postgres = Postgres::with("CREATE TABLE t AS SELECT 1 AS n");
    let home = Home::new();
    home.configure(&format!(
        "databases:\n{}    allow_writes: true\n\
         audit: {{file: audit.jsonl, required: true, statement: text}}\n",
        postgres.entry("main")
    ));
    let (mut program, client) = home.serve(&["-no-auth"]);
    lines(&ask(&client, "SELECT n FROM t", &json!({})));
    lines(&ask(&client, "SELECT nope", &json!({})));
    ask(&client, "DELETE FROM t", &json!({}));
    ask(&client, "", &json!({}));
    let body = json!({"sql": "SELECT pg_sleep(3600)"}).to_string();
    drop(client.open(QUERY, "", &body, "started"));
    postgres.wait_for_running("pg_sleep", 0);
    program.signal(Signal::TERM);
    assert!(program.ended().success());
    let trail = fs::read_to_string(home.file("audit.jsonl")).expect("a trail");
    let lines = trail.lines().map(serde_json::from_str);
    let mut lines: Vec<Value> = lines.collect::<Result<_, _>>().expect("lines of JSON");
    lines.retain(|line| line["kind"] == "call");
    let found: Vec<_> = lines
        .iter()
        .map(|line| {
            assert_eq!(line["method"], "POST /api/query", "{line}");
            let text = line["statement"]["text"].as_str().unwrap_or_default();
            (
                text,
                line["verdict"].as_str().expect("a verdict"),
                line["rows"].as_u64(),
            )
        })
        .collect();
    assert_eq!(
        found,
        [
            ("SELECT n FROM t", "ok", Some(1)),
            ("SELECT nope", "error", None),
            ("DELETE FROM t", "asked", None),
            ("", "refused", None),
            ("SELECT pg_sleep(3600)", "cancelled", None),
        ]
    );
    assert_eq!(lines[0]["database"], "main");
    assert_eq!(lines[1]["code"], "42703");
    assert!(lines[0]["bytes"].as_u64() > Some(50), "{}", lines[0]);
}
