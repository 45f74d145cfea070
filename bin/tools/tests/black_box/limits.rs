//! Tests of the limits of callers.

use std::fs;

use rustix::process::Signal;
use serde_json::{Value, json};
use ziggurat_black_box::{MetricsPage, within_a_day};

use crate::{
    revisions::ask,
    support::{Answer, Client, Home, Postgres, Program, records, until},
};

const ROWS: &str = "The allowance of rows for today is used up. It starts anew at 00:00 UTC.";
const BYTES: &str = "The allowance of bytes for today is used up. It starts anew at 00:00 UTC.";

/// A server with two API tokens and a user, and limits for its callers.
struct Limited {
    postgres: Postgres,
    home: Home,
    program: Program,
    stranger: Client,
}

impl Limited {
    /// Starts a server with these entries of `limits.callers`.
    fn new(callers: &str) -> Self {
        let postgres = Postgres::with(
            "CREATE TABLE many AS SELECT n FROM generate_series(1, 50000) AS n; ANALYZE many",
        );
        let home = Home::new();
        let tokens = [records::token(1, "one", &[]), records::token(2, "two", &[])];
        home.replace(&home.tokens(), &records::tokens(&tokens));
        let users = [records::user("alice", &[])];
        home.replace(&home.users(), &records::users(&users));
        home.configure(&configuration(&postgres, callers));
        let (program, stranger) = home.serve(&[]);
        Self {
            postgres,
            home,
            program,
            stranger,
        }
    }

    fn one(&self) -> Client {
        self.stranger.bearing("one")
    }

    fn two(&self) -> Client {
        self.stranger.bearing("two")
    }

    /// Ends the server, and returns the verdicts of its calls.
    fn verdicts(mut self) -> Vec<String> {
        self.program.signal(Signal::TERM);
        assert!(self.program.ended().success());
        let trail = fs::read_to_string(self.home.file("audit.jsonl")).expect("a trail");
        let lines = trail.lines().map(serde_json::from_str);
        let lines: Vec<Value> = lines.collect::<Result<_, _>>().expect("lines of JSON");
        let calls = lines.into_iter().filter(|line| line["kind"] == "call");
        calls
            .map(|call| call["verdict"].as_str().unwrap_or_default().to_owned())
            .collect()
    }
}

fn configuration(postgres: &Postgres, callers: &str) -> String {
    let entry = postgres.entry("main");
    format!(
        "databases:\n{entry}    lease_timeout: 300ms\n    pool_max_conns: 8\n\
         audit: {{file: audit.jsonl}}\ntelemetry: {{metrics: {{address: 127.0.0.1:0}}}}\n\
         limits:\n  callers:\n{callers}"
    )
}

/// Runs a statement, and returns the answer and its text.
fn query(client: &Client, sql: &str) -> (Answer, String) {
    let params = json!({"name": "query_database", "arguments": {"query": sql, "limit": 1000}});
    let answer = ask(client, "tools/call", &params);
    let text = answer.json()["result"]["content"][0]["text"].clone();
    (answer, text.as_str().unwrap_or_default().to_owned())
}

fn text(client: &Client, sql: &str) -> String {
    query(client, sql).1
}

#[test]
fn calls_above_the_limit_are_told_when_to_come_back_and_others_are_not_affected() {
    let limited = Limited::new("  - {for: {tokens: [token-1]}, calls: 4 per hour}\n");
    let (one, two) = (limited.one(), limited.two());
    let page = MetricsPage::of(&limited.program);
    let (answer, _) = query(&one, "SELECT 1");
    assert_eq!(
        answer.header("ratelimit-policy"),
        Some(r#""calls";q=4;w=3600"#)
    );
    assert_eq!(answer.header("ratelimit"), Some(r#""calls";r=3;t=900"#));
    // An unknown tool, a list and a resource: lists are no calls.
    ask(&one, "tools/call", &json!({"name": "no_tool"}));
    ask(&one, "tools/list", &json!({}));
    ask(&one, "resources/read", &json!({"uri": "pg://system_info"}));
    query(&one, "SELECT nothing");

    let (answer, text) = query(&one, "SELECT 1");
    assert_eq!(answer.status, 200, "{answer:?}");
    assert!(
        text.starts_with("Too many calls: 4 per hour. Try again in "),
        "{text}"
    );
    assert!(text.ends_with(" s."), "{text}");
    assert_eq!(answer.json()["result"]["isError"], true);
    assert!(
        answer
            .header("ratelimit")
            .is_some_and(|it| it.starts_with(r#""calls";r=0"#))
    );
    // A hidden name and a known one count alike, and get the same answer.
    let unknown = ask(&one, "tools/call", &json!({"name": "no_tool"}));
    assert_eq!(unknown.json()["result"]["isError"], true, "{unknown:?}");
    for (method, params) in [
        ("resources/read", json!({"uri": "pg://system_info"})),
        ("prompts/get", json!({"name": "none"})),
    ] {
        let answer = ask(&one, method, &params).json();
        assert_eq!(answer["error"]["code"], -32603, "{answer}");
        let data = answer["error"]["data"].as_str().unwrap_or_default();
        assert!(data.starts_with("Too many calls: 4 per hour."), "{answer}");
    }
    let (answer, text) = query(&two, "SELECT 1");
    assert!(text.contains("(1 rows)"), "{text}");
    assert_eq!(answer.header("ratelimit"), None, "it has no limits");
    let reached = page.value(r#"ziggurat_limits_reached_total{limit="calls"}"#);
    assert_eq!(reached, Some(4.0));
    let verdicts = limited.verdicts();
    let limited = verdicts.iter().filter(|verdict| *verdict == "limited");
    assert_eq!((verdicts.len(), limited.count()), (9, 4), "{verdicts:?}");
}

#[test]
fn a_caller_that_goes_on_is_refused_before_its_request_is_read() {
    let limited = Limited::new("  - {for: {everyone: true}, calls: 2 per hour}\n");
    let one = limited.one();
    for _ in 0..4 {
        assert_eq!(query(&one, "SELECT 1").0.status, 200);
    }
    let answer = one.post("/mcp", "this is no message");
    assert_eq!(answer.status, 429, "{answer:?}");
    assert_eq!(answer.body, r#"{"error":"Too many requests"}"#);
    assert!(answer.header("retry-after").is_some(), "{answer:?}");
    assert!(answer.header("ratelimit").is_some(), "{answer:?}");
    assert_eq!(one.get("/api/databases").status, 429);
    assert_eq!(limited.two().get("/api/databases").status, 200);
}

#[test]
fn a_flood_without_a_token_changes_no_answer_of_probes_pages_sign_ins_and_other_callers() {
    let limited = Limited::new("  - {for: {everyone: true}, calls: 20 per hour}\n");
    let paths = ["/api/console/session", "/mcp/v1", "/api/user/info", "/docs"];
    std::thread::scope(|scope| {
        for path in paths {
            let stranger = &limited.stranger;
            scope.spawn(move || {
                for _ in 0..50 {
                    let status = stranger.get(path).status;
                    assert!([200, 401].contains(&status), "{path}: {status}");
                    let login = stranger.login("unknown", "wrong");
                    assert_ne!(login.body, r#"{"error":"Too many requests"}"#);
                }
            });
        }
    });
    for path in ["/health", "/ready", "/console/", "/docs", "/openapi.json"] {
        let answer = limited.stranger.get(path);
        assert_eq!(answer.status, 200, "{path}: {answer:?}");
        assert_eq!(answer.header("ratelimit"), None, "{path}");
    }
    let unknown = limited
        .stranger
        .get("/.well-known/oauth-protected-resource");
    assert_eq!(unknown.status, 404);
    assert_eq!(limited.one().get("/api/databases").status, 200);
    assert!(text(&limited.two(), "SELECT 1").contains("(1 rows)"));
    let other_address = limited.stranger.calling_from([127, 0, 0, 9].into());
    let alice = other_address.logged_in("alice", records::PASSWORD);
    assert_eq!(alice.get("/api/user/info").status, 200);
}

#[test]
fn without_authentication_probes_and_pages_work_while_the_local_caller_is_at_its_limit() {
    let postgres = Postgres::new();
    let home = Home::new();
    let limits = "  - {for: {everyone: true}, calls: 2 per hour}\n";
    home.configure(&configuration(&postgres, limits));
    let (mut program, client) = home.serve(&["-no-auth"]);
    until("it is ready", || client.get("/ready").status == 200);
    for _ in 0..8 {
        client.get("/api/user/info");
    }
    assert_eq!(client.post("/mcp", "{}").status, 429);
    for path in ["/health", "/ready", "/console/", "/api/console/session"] {
        assert_eq!(client.get(path).status, 200, "{path}");
    }
    program.signal(Signal::TERM);
    assert!(program.ended().success());
    let trail = fs::read_to_string(home.file("audit.jsonl")).expect("a trail");
    assert!(trail.contains(r#""kind":"local""#), "{trail}");
    assert!(!trail.contains("anonymous"), "{trail}");
}

#[test]
fn requests_to_the_api_count_as_calls() {
    let limited = Limited::new("  - {for: {users: [alice]}, calls: 2 per hour}\n");
    // Logins are limited by their failures only.
    let alice = limited.stranger.logged_in("alice", records::PASSWORD);
    let again = limited.stranger.logged_in("alice", records::PASSWORD);
    assert_eq!(alice.get("/api/databases").status, 200);
    assert_eq!(again.get("/api/user/info").status, 200);
    let refused = alice.get("/api/databases");
    assert_eq!(refused.status, 429, "{refused:?}");
    assert_eq!(refused.body, r#"{"error":"Too many requests"}"#);
    assert!(refused.header("retry-after").is_some(), "{refused:?}");
    let third = limited.stranger.logged_in("alice", records::PASSWORD);
    assert!(text(&third, "SELECT 1").starts_with("Too many calls: 2 per hour."));
    assert_eq!(again.get("/api/nothing").status, 429, "it goes on");
    assert_eq!(limited.one().get("/api/user/info").status, 200);
}

#[test]
fn statements_at_once_wait_for_their_turn_and_then_give_up() {
    let limited = Limited::new("  - {for: {tokens: [token-1]}, concurrent: 1}\n");
    let (one, two) = (limited.one(), limited.two());
    let held = limited.postgres.holding("BEGIN; LOCK TABLE many");
    std::thread::scope(|scope| {
        let first = scope.spawn(|| text(&one, "SELECT count(*) FROM many"));
        limited.postgres.wait_for_running("count(*) FROM many", 1);
        for (name, argument) in [
            ("query_database", "query"),
            ("count_rows", "table"),
            ("execute_explain", "query"),
        ] {
            let arguments = json!({argument: "SELECT 1"});
            let answer = ask(
                &one,
                "tools/call",
                &json!({"name": name, "arguments": arguments}),
            );
            let text = answer.json()["result"]["content"][0]["text"].clone();
            assert_eq!(text, "Too many statements at once: 1.", "{name}");
        }
        assert!(text(&two, "SELECT 1").contains("(1 rows)"));
        drop(held);
        let first = first.join().expect("answered");
        assert!(first.contains("50000"), "{first}");
    });
    assert!(
        text(&one, "SELECT 1").contains("(1 rows)"),
        "its turn has come"
    );
}

#[test]
fn rows_and_bytes_of_a_day_end_an_answer_and_refuse_the_next() {
    within_a_day(|| {
        let limited = Limited::new(
            "  - {for: {tokens: [token-1]}, rows_per_day: 1200}\n  \
         - {for: {tokens: [token-2]}, bytes_per_day: 3000}\n",
        );
        let (one, two) = (limited.one(), limited.two());
        let (answer, _) = query(&one, "SELECT n FROM many");
        let fields = answer.header("ratelimit").unwrap_or_default().to_owned();
        assert!(fields.starts_with(r#""rows_per_day";r=200;t="#), "{fields}");
        let (answer, text_of) = query(&one, "SELECT n FROM many ORDER BY n");
        let fields = answer.header("ratelimit").unwrap_or_default().to_owned();
        assert!(fields.starts_with(r#""rows_per_day";r=0;t="#), "{fields}");
        assert!(
            text_of.contains(&format!("Note: the rows end here. {ROWS}")),
            "{text_of}"
        );
        assert!(
            text_of.contains("200 rows shown, more available"),
            "{text_of}"
        );
        assert!(text_of.ends_with("\n200"), "{text_of}");
        for sql in ["SELECT 1", "SELECT 1 WHERE false"] {
            assert_eq!(text(&one, sql), ROWS, "{sql}");
        }
        // A tool that runs no statement still works.
        let listed = ask(&one, "tools/call", &json!({"name": "list_databases"}));
        assert_eq!(
            listed.json()["result"]["isError"],
            Value::Null,
            "{listed:?}"
        );

        let cut = text(&two, "SELECT repeat('x', 99) FROM generate_series(1, 100)");
        assert!(
            cut.contains(&format!("Note: the rows end here. {BYTES}")),
            "{cut}"
        );
        assert!((2000..3500).contains(&cut.len()), "{}", cut.len());
        assert_eq!(text(&two, "SELECT 1"), BYTES);
    });
}

#[test]
fn a_statement_that_costs_too_much_does_not_run() {
    let limited = Limited::new("  - {for: {tokens: [token-1]}, max_cost: 500}\n");
    let (one, two) = (limited.one(), limited.two());
    let costly = "SELECT sum(n) FROM many";
    let refused = text(&one, costly);
    let sentence = "The statement was not run: its estimated cost ";
    assert!(
        refused.starts_with(sentence) && refused.ends_with(" is above 500."),
        "{refused}"
    );
    assert!(text(&one, "SELECT n FROM many").contains("1000 rows shown"));
    assert!(text(&two, costly).contains("1250025000"));
    for (tool, arguments, is_refused) in [
        ("count_rows", json!({"table": "many"}), true),
        ("execute_explain", json!({"query": costly}), true),
        (
            "execute_explain",
            json!({"query": costly, "analyze": false}),
            false,
        ),
    ] {
        let (text, is_error) = one.tool(tool, &arguments);
        assert_eq!(text.starts_with(sentence), is_refused, "{tool}: {text}");
        assert_eq!(is_error, is_refused, "{tool}: {text}");
    }
    let verdicts = limited.verdicts();
    assert_eq!(
        verdicts,
        ["limited", "ok", "ok", "limited", "limited", "ok"]
    );
}

#[test]
fn limits_follow_a_reload_and_keep_their_counts() {
    let limited = Limited::new("  - {for: {everyone: true}, calls: 100 per hour}\n");
    let one = limited.one();
    assert_eq!(text(&one, "SELECT 1").lines().last(), Some("1"));
    let reload = |callers: &str| {
        limited
            .program
            .until_it_says("configuration reloaded from", || {
                limited
                    .home
                    .configure(&configuration(&limited.postgres, callers));
                limited.program.signal(Signal::HUP);
            });
    };
    reload("  - {for: {everyone: true}, calls: 1 per hour}\n");
    assert!(text(&one, "SELECT 1").starts_with("Too many calls: 1 per hour."));
    reload("    []\n");
    let (answer, text) = query(&one, "SELECT 1");
    assert_eq!(text.lines().last(), Some("1"));
    assert_eq!(answer.header("ratelimit-policy"), None);
}

#[test]
fn standard_input_has_the_limits_of_the_local_caller() {
    let postgres = Postgres::new();
    let home = Home::new();
    let entry = postgres.entry("main");
    home.configure(&format!(
        "databases:\n{entry}limits: {{callers: [{{for: {{local: true}}, calls: 2 per hour}}]}}\n"
    ));
    let (_program, mut stdio) = home.stdio(&[]);
    for _ in 0..2 {
        let (text, is_error) = stdio.tool("query_database", &json!({"query": "SELECT 1"}));
        assert!(!is_error, "{text}");
    }
    let (text, is_error) = stdio.tool("query_database", &json!({"query": "SELECT 1"}));
    assert!(
        is_error && text.starts_with("Too many calls: 2 per hour."),
        "{text}"
    );
}

/// Starts a server with these limits for all callers, and the state in a database. Returns a client with
/// a token that all such servers know.
fn replica(postgres: &Postgres, limits: &str) -> (Home, Program, Client) {
    let mut home = Home::new();
    home.replace(
        &home.tokens(),
        &records::tokens(&[records::token(1, "one", &[])]),
    );
    let entry = postgres.entry("main");
    home.configure(&format!(
        "databases:\n{entry}limits: {{callers: [{{for: {{everyone: true}}, {limits}}}]}}\n"
    ));
    home.set("ZIGGURAT_STATE_URL", postgres.url());
    let (program, stranger) = home.serve(&[]);
    (home, program, stranger.bearing("one"))
}

#[test]
fn replicas_add_up_the_rows_of_a_day() {
    within_a_day(|| {
        let postgres = Postgres::new();
        let (_first_home, _first, one) = replica(&postgres, "rows_per_day: 90");
        let (_second_home, _second, two) = replica(&postgres, "rows_per_day: 90");
        assert!(text(&one, "SELECT generate_series(1, 50)").contains("(50 rows)"));
        let left = |client: &Client| {
            let answer = ask(client, "tools/list", &json!({}));
            answer.header("ratelimit").unwrap_or_default().to_owned()
        };
        until("the other replica knows", || {
            left(&two).starts_with(r#""rows_per_day";r=40;"#)
        });
        assert!(text(&two, "SELECT generate_series(1, 50)").contains(ROWS));
        until("the first replica knows", || {
            left(&one).starts_with(r#""rows_per_day";r=0;"#)
        });
        assert_eq!(text(&one, "SELECT 1"), ROWS);
    });
}

#[test]
fn replicas_keep_the_limit_on_calls_together() {
    let postgres = Postgres::new();
    let replicas = [1, 2].map(|_| replica(&postgres, "calls: 40 per day"));
    let count =
        |client: &Client| u32::from(!text(client, "SELECT 1").starts_with("Too many calls"));
    let mut admitted = 0;
    // Refused calls ask for a lease, too, and the window is used up in the end.
    until("both are refused", || {
        let [one, two] = replicas.each_ref().map(|(_, _, client)| count(client));
        admitted += one + two;
        admitted >= 40 && one + two == 0
    });
    // Each replica alone would admit 40.
    assert!((40..=60).contains(&admitted), "{admitted}");
}
