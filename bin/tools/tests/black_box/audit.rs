//! Tests of the audit trail.

mod failures;
mod own_tools;

use std::{fs, thread};

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::{
    revisions::{ask, result},
    support::{Client, Home, Postgres, Program},
};

/// A server with an audit trail, and its trail.
struct Audited {
    postgres: Postgres,
    home: Home,
}

impl Audited {
    fn new(settings: &str) -> Self {
        Self::with(settings, "")
    }

    /// A server with more lines in its configuration.
    fn with(settings: &str, more: &str) -> Self {
        let postgres = Postgres::with("CREATE TABLE book AS SELECT 1 AS id, 'Emma' AS title");
        let home = Home::new();
        let entries = ["main", "two"].map(|name| postgres.entry(name)).concat();
        home.configure(&format!(
            "databases:\n{entries}audit: {{file: audit.jsonl{settings}}}\n{more}"
        ));
        Self { postgres, home }
    }

    fn lines(&self, file: &str) -> Vec<Value> {
        let text = fs::read_to_string(self.home.file(file)).expect("a trail");
        let lines = text.lines().map(serde_json::from_str);
        lines.collect::<Result<_, _>>().expect("lines of JSON")
    }

    /// Returns the records of calls, once the server has ended.
    fn calls(&self, mut program: Program) -> Vec<Value> {
        program.signal(Signal::TERM);
        assert!(program.ended().success());
        let mut lines = self.lines("audit.jsonl");
        lines.retain(|line| line["kind"] == "call");
        lines
    }

    fn verify(&self, file: &str) -> (String, Option<i32>) {
        let path = self.home.file(file);
        let ran = self
            .home
            .ran_before(&["-verify-audit", path.to_str().expect("text")]);
        (ran.stdout, ran.code)
    }
}

fn query(client: &Client, sql: &str) {
    let params = json!({"name": "query_database", "arguments": {"query": sql}});
    result(client, "tools/call", &params);
}

#[test]
fn a_statement_that_the_shutdown_cuts_off_is_recorded_as_cancelled() {
    let audited = Audited::with("", "limits: {shutdown_grace: 100ms}\n");
    let (program, client) = audited.home.serve(&["-no-auth"]);
    let sql = "SELECT 'endless', pg_sleep(300)";
    let params = json!({"name": "query_database", "arguments": {"query": sql}});
    let mcp = {
        let client = client.clone();
        thread::spawn(move || client.call("tools/call", &params))
    };
    let rest = thread::spawn(move || client.post("/api/query", &json!({"sql": sql}).to_string()));
    audited.postgres.wait_for_running("endless", 2);
    let calls = audited.calls(program);
    let answer = mcp.join().expect("answered");
    assert_eq!(answer["error"]["data"], "the server is shutting down");
    let answer = rest.join().expect("answered");
    assert!(
        answer.body.contains("the server is shutting down"),
        "{answer:?}"
    );
    assert_eq!(calls.len(), 2, "{calls:?}");
    for call in calls {
        assert_eq!(call["verdict"], "cancelled", "{call}");
    }
}

#[test]
fn each_call_over_http_has_one_record_with_its_verdict() {
    let audited = Audited::new("");
    let token = audited.home.token("main");
    let (program, stranger) = audited.home.serve(&[]);
    let client = stranger.bearing(&token);
    for (sql, database) in [
        ("SELECT title FROM book", None),
        ("SELECT * FROM nothing", None),
        ("DELETE FROM book", None),
        ("SELECT 1", Some("other")),
    ] {
        let arguments = json!({"query": sql, "database": database});
        let params = json!({"name": "query_database", "arguments": arguments});
        ask(&client, "tools/call", &params);
    }
    let params = json!({"name": "query_database", "arguments": {"qery": "SELECT 1"}});
    ask(&client, "tools/call", &params);
    ask(&client, "tools/call", &json!({"name": "no_tool"}));
    result(&client, "tools/list", &json!({}));
    // Pages repeat these for their frame.
    client.get("/api/databases");
    client.get("/api/console/session");
    client.get("/api/user/info");
    let calls = audited.calls(program);
    let told = calls.iter().map(|call| {
        let [method, tool, verdict, code] =
            ["method", "tool", "verdict", "code"].map(|name| call[name].as_str());
        (method, tool, verdict, code)
    });
    let tool = |verdict, code| {
        (
            Some("tools/call"),
            Some("query_database"),
            Some(verdict),
            code,
        )
    };
    assert_eq!(
        told.collect::<Vec<_>>(),
        [
            tool("ok", None),
            tool("error", Some("42P01")),
            tool("refused", Some("25006")),
            tool("denied", None),
            tool("refused", None),
            (
                Some("tools/call"),
                Some("no_tool"),
                Some("unknown"),
                Some("-32602")
            ),
            (Some("GET /api/user/info"), None, Some("ok"), None),
        ]
    );
    assert_eq!(audited.verify("audit.jsonl").1, Some(0));
}

#[test]
fn a_trail_has_its_start_its_end_and_refused_tokens() {
    let audited = Audited::new("");
    audited.home.token("main");
    let (program, stranger) = audited.home.serve(&[]);
    stranger.get("/api/databases");
    let calls = audited.calls(program);
    assert!(calls.is_empty(), "{calls:?}");
    let lines = audited.lines("audit.jsonl");
    let kinds: Vec<_> = lines
        .iter()
        .filter_map(|line| line["kind"].as_str())
        .collect();
    assert_eq!(kinds, ["start", "denied", "stop"]);
    let (text, code) = audited.verify("audit.jsonl");
    assert!(text.contains(": 3 records, 1 to 3, last "), "{text}");
    assert!(text.ends_with(", good\n"), "{text}");
    assert_eq!(code, Some(0));
}

#[test]
fn a_record_says_who_ran_which_statement_and_keeps_values_and_tokens_out() {
    let audited = Audited::new("");
    let token = audited.home.token("main");
    let (program, stranger) = audited.home.serve(&[]);
    let client = stranger.bearing(&token);
    query(
        &client,
        "SELECT title FROM book WHERE title = 'Emma' OR id = 71828182 -- secret",
    );
    let calls = audited.calls(program);
    let [call] = &calls[..] else {
        panic!("{calls:?}");
    };
    let text = "SELECT title FROM book WHERE title = ? OR id = ?";
    assert_eq!(call["statement"]["text"], text);
    assert_eq!(
        (&call["rows"], &call["database"]),
        (&json!(1), &json!("main"))
    );
    assert_eq!(call["caller"]["kind"], "token");
    assert_eq!(call["caller"]["ip"], "127.0.0.1");
    assert_eq!(
        (&call["transport"], &call["endpoint"]),
        (&json!("http"), &json!("/mcp"))
    );
    assert_eq!(call["revision"], "2026-07-28");
    assert!(call["bytes"].as_u64() > Some(50), "{call}");
    let trail = fs::read_to_string(audited.home.file("audit.jsonl")).expect("a trail");
    for secret in [&*token, "secret", "Emma", "71828182"] {
        assert!(!trail.contains(secret), "{secret}: {trail}");
    }
}

#[test]
fn the_log_has_the_caller_of_a_call_and_the_id_of_its_record() {
    let mut audited = Audited::new("");
    let token = audited.home.token("main");
    audited.home.set("ZIGGURAT_MCP_LOG_LEVEL", "info");
    let (program, stranger) = audited.home.serve(&[]);
    query(&stranger.bearing(&token), "SELECT 1");
    let line = program.wait_for("tool call");
    let line: Value = serde_json::from_str(&line).expect("JSON");
    let calls = audited.calls(program);
    assert_eq!(line["fields"]["request_id"], calls[0]["request_id"]);
    let name = calls[0]["caller"]["name"].as_str().expect("a name");
    assert_eq!(line["fields"]["caller"], format!("token:{name}"));
}

#[test]
fn the_local_caller_has_its_name_in_records_comments_and_logs_and_a_login_has_none() {
    let more = "identity: {local: {name: laptop}}\ntelemetry: {sql_comment: call}\n";
    let mut audited = Audited::with("", more);
    audited.home.set("ZIGGURAT_MCP_LOG_LEVEL", "info");
    let (program, mut piped) = audited.home.stdio(&[]);
    let own = "SELECT query FROM pg_stat_activity WHERE pid = pg_backend_pid()";
    let (text, _) = piped.tool("query_database", &json!({"query": own}));
    assert!(text.contains("caller='local%3Alaptop'"), "{text}");
    let line = program.wait_for("tool call");
    let line: Value = serde_json::from_str(&line).expect("JSON");
    assert_eq!(line["fields"]["caller"], "local:laptop");
    audited.calls(program);

    let (program, client) = audited.home.serve(&["-no-auth"]);
    query(&client, "SELECT 1");
    client.get("/api/user/info");
    let calls = audited.calls(program);
    let names: Vec<_> = calls.iter().map(|call| &call["caller"]["name"]).collect();
    assert_eq!(names, ["laptop"; 3]);

    audited.home.user("ada", "the password of ada");
    audited.home.token("main");
    let (program, stranger) = audited.home.serve(&[]);
    let arguments = json!({"username": "ada", "password": "the password of ada"});
    let params = json!({"name": "authenticate_user", "arguments": arguments});
    let call = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params});
    stranger.post("/mcp/v1", &call.to_string());
    let calls = audited.calls(program);
    assert_eq!(calls[3]["verdict"], "ok");
    assert_eq!(calls[3]["caller"]["name"], Value::Null);
}

#[test]
fn a_reload_applies_all_but_the_file_and_the_key_also_to_comments() {
    let audited = Audited::new("");
    let (program, client) = audited.home.serve(&["-no-auth"]);
    let own = "SELECT query FROM pg_stat_activity WHERE pid = pg_backend_pid() AND 7 <> 8";
    assert!(!client.query(own).contains("caller="));
    let log = program.until_it_says("configuration reloaded", || {
        let path = audited.home.file("ziggurat-tools.yaml");
        let before = fs::read_to_string(&path).expect("a file");
        let entries = before.split("audit:").next().expect("databases");
        audited.home.configure(&format!(
            "{entries}audit: {{file: other.jsonl, statement: text, methods: all, key_file: key}}\n\
             telemetry: {{sql_comment: call, propagate_to_providers: true}}\n"
        ));
        program.signal(Signal::HUP);
    });
    let log = format!("{}{log}", program.log());
    let need: Vec<_> = log
        .lines()
        .filter_map(|line| {
            line.split_once(" has changed; restart the server")?
                .0
                .rsplit(' ')
                .next()
        })
        .collect();
    assert_eq!(need, ["audit.file", "audit.key_file"], "{log}");
    let text = client.query(own);
    let answer = client.call("tools/list", &json!({}));
    assert!(answer["result"]["tools"].is_array());
    let calls = audited.calls(program);
    let [before, after, list] = &calls[..] else {
        panic!("{calls:?}");
    };
    assert!(
        before["statement"]["text"]
            .as_str()
            .expect("one")
            .ends_with("? <> ?")
    );
    assert_eq!(after["statement"]["text"], own);
    assert_eq!(list["method"], "tools/list");
    let id = after["request_id"].as_str().expect("an id");
    let comment = format!("/*caller='local',request='{id}',tool='query_database'*/");
    assert!(text.contains(&comment), "{text}");
    let (verified, code) = audited.verify("audit.jsonl");
    assert_eq!(code, Some(0), "{verified}");
}

#[test]
fn a_login_with_a_wrong_password_is_denied_and_one_too_many_is_limited() {
    let audited = Audited::new("");
    audited.home.token("main");
    audited.home.user("ada", "the password of ada");
    let (program, client) = audited.home.serve(&[]);
    let login = |password: &str| {
        let arguments = json!({"username": "ada", "password": password});
        let params = json!({"name": "authenticate_user", "arguments": arguments});
        let call = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params});
        client.post("/mcp/v1", &call.to_string());
    };
    login("the password of ada");
    (0..12).for_each(|_| login("another"));
    let calls = audited.calls(program);
    let verdicts: Vec<_> = calls
        .iter()
        .filter_map(|call| call["verdict"].as_str())
        .collect();
    assert_eq!(verdicts[..2], ["ok", "denied"]);
    assert_eq!(verdicts.last(), Some(&"limited"), "{verdicts:?}");
    assert_eq!(verdicts.len(), 13);
    let trail = fs::read_to_string(audited.home.file("audit.jsonl")).expect("a trail");
    assert!(
        !trail.contains("another") && !trail.contains("the password"),
        "{trail}"
    );
}

#[test]
fn a_changed_record_is_found() {
    let audited = Audited::new("");
    let (program, client) = audited.home.serve(&["-no-auth"]);
    query(&client, "SELECT 1");
    query(&client, "SELECT 2");
    audited.calls(program);
    let path = audited.home.file("audit.jsonl");
    let trail = fs::read_to_string(&path).expect("a trail");
    fs::write(&path, trail.replacen("\"rows\":1", "\"rows\":2", 1)).expect("written");
    let (text, code) = audited.verify("audit.jsonl");
    assert!(text.ends_with(":2: the chain is broken\n"), "{text}");
    assert_eq!(code, Some(1));
}

#[test]
fn calls_over_standard_input_and_commands_are_recorded() {
    let audited = Audited::new(", required: true");
    audited.home.user("ada", "a password of ada");
    let (program, mut client) = audited.home.stdio(&[]);
    let params = json!({"name": "query_database", "arguments": {"query": "SELECT 1"}});
    client.call(&json!(1), "tools/call", &params);
    let calls = audited.calls(program);
    assert_eq!(calls.len(), 1, "{calls:?}");
    assert_eq!(calls[0]["transport"], "stdio");
    assert_eq!(calls[0]["caller"]["kind"], "local");
    let lines = audited.lines("audit.jsonl");
    let open = lines.iter().find(|line| line["kind"] == "open");
    let open = open.expect("an open line");
    assert_eq!(open["seq"], calls[0]["open"], "{open}");
    assert_eq!(open["database"], "main", "{open}");
    assert!(open["statement"]["sha256"].is_string(), "{open}");
    let admin = audited.lines("audit-admin.jsonl");
    let admin: Vec<_> = admin
        .iter()
        .map(|line| (&line["kind"], &line["method"]))
        .collect();
    assert!(
        admin.contains(&(&json!("call"), &json!("-add-user"))),
        "{admin:?}"
    );
    let text = fs::read_to_string(audited.home.file("audit-admin.jsonl")).expect("a trail");
    assert!(!text.contains("a password"), "{text}");
}

#[test]
fn a_second_server_on_the_same_trail_does_not_start() {
    let audited = Audited::new("");
    let (_program, _client) = audited.home.serve(&["-no-auth"]);
    let ran = audited
        .home
        .ran(&["-http", "-addr", "127.0.0.1:0", "-no-auth"], "");
    let path = audited.home.file("audit.jsonl");
    let expected = format!("ERROR: the audit file {} is in use", path.display());
    assert!(ran.stderr.contains(&expected), "{}", ran.stderr);
}
