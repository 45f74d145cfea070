//! Tests of traces and of comments in statements.

mod providers;
mod statements;

use rustix::process::Signal;
use serde_json::{Value, json};
use ziggurat_black_box::{Collector, spans_of};

use crate::{
    revisions::{ask, result},
    support::{Client, Home, Postgres, Program},
};

const TRACE: &str = "4bf92f3577b34da6a3ce929d0e0e4736";
const PARENT: &str = "00f067aa0ba902b7";

/// Shows the message that PostgreSQL runs.
const OWN_MESSAGE: &str =
    "SELECT query FROM pg_stat_activity WHERE pid = pg_backend_pid() AND 'value 7' <> ''";

fn home(postgres: &Postgres, telemetry: &str) -> Home {
    let home = Home::new();
    let entry = postgres.entry("main");
    home.configure(&format!("databases:\n{entry}telemetry: {telemetry}\n"));
    home
}

fn params(sql: &str) -> Value {
    json!({"name": "query_database", "arguments": {"query": sql}})
}

/// Returns the value of an attribute of a span.
fn attribute<'a>(span: &'a Value, key: &str) -> &'a Value {
    let attributes = span["attributes"].as_array().expect("attributes");
    let found = attributes.iter().find(|it| it["key"] == key);
    found.map_or(&Value::Null, |it| &it["value"])
}

/// Returns the value of a text attribute of a span.
fn word<'a>(span: &'a Value, key: &str) -> Option<&'a str> {
    attribute(span, key)["stringValue"].as_str()
}

/// Makes params part of the trace.
fn traced(mut params: Value) -> Value {
    params["_meta"] =
        json!({"traceparent": format!("00-{TRACE}-{PARENT}-01"), "tracestate": "a=1"});
    params
}

/// Stops a server, and returns the spans that it has exported.
fn spans_at_the_end(mut program: Program, collector: &Collector) -> Vec<Value> {
    program.signal(Signal::TERM);
    assert!(program.ended().success());
    spans_of(&collector.exports())
}

/// Returns the spans below another one.
fn below<'a>(spans: &'a [Value], parent: &Value) -> Vec<&'a Value> {
    let is_below = |span: &&Value| span["parentSpanId"] == parent["spanId"];
    spans.iter().filter(is_below).collect()
}

/// Returns the only span with a name.
fn only<'a>(spans: &'a [Value], name: &str) -> &'a Value {
    let mut named = spans.iter().filter(|span| span["name"] == name);
    let only = named.next().unwrap_or_else(|| panic!("{name}: {spans:?}"));
    assert_eq!(named.next(), None, "{name}");
    only
}

fn text(client: &Client, sql: &str) -> String {
    let result = result(client, "tools/call", &params(sql));
    result["content"][0]["text"]
        .as_str()
        .expect("a text")
        .to_owned()
}

#[test]
fn a_trace_of_a_client_ends_in_the_comment_of_the_statement() {
    let postgres = Postgres::new();
    let collector = Collector::start();
    let url = &collector.url;
    let telemetry = format!("{{otlp: {{url: {url}, ratio: 0}}, sql_comment: trace}}");
    let home = home(&postgres, &telemetry);
    let token = home.token("main");
    let (mut program, client) = home.serve(&[]);
    let client = client.bearing(&token);
    let mut params = params(OWN_MESSAGE);
    params["_meta"] = json!({"traceparent": format!("00-{TRACE}-{PARENT}-01")});
    let answer = result(&client, "tools/call", &params).to_string();
    ask(&client, "tools/call", &self::params("SELECT nothing"));
    program.signal(Signal::TERM);
    assert!(program.ended().success());
    let spans = spans_of(&collector.exports());
    let [statement, call] = &spans[..] else {
        panic!("{spans:?}");
    };
    assert_eq!(call["name"], "tools/call query_database");
    assert_eq!(
        (&call["traceId"], &call["parentSpanId"]),
        (&json!(TRACE), &json!(PARENT))
    );
    assert_eq!(attribute(call, "ziggurat.verdict")["stringValue"], "ok");
    assert_eq!(attribute(call, "ziggurat.rows")["intValue"], "1");
    assert_eq!(statement["name"], "main");
    assert_eq!(statement["parentSpanId"], call["spanId"]);
    assert_eq!(
        attribute(statement, "db.query.summary")["stringValue"],
        "SELECT"
    );
    let own = statement["spanId"].as_str().expect("an id");
    assert!(
        answer.contains(&format!("traceparent='00-{TRACE}-{own}-01'")),
        "{answer}"
    );
    let exported = json!(spans).to_string();
    assert!(
        !exported.contains("value 7") && !exported.contains(&token),
        "{exported}"
    );
}

#[test]
fn a_comment_names_the_caller_and_leaves_positions_as_they_are() {
    let postgres = Postgres::with("CREATE TABLE book AS SELECT 1 AS id");
    let texts = ["off", "call"].map(|kind| {
        let home = home(&postgres, &format!("{{sql_comment: {kind}}}"));
        let (_program, client) = home.serve(&["-no-auth"]);
        let mut errors = Vec::new();
        for sql in [
            "SELECT nothing FROM book",
            "SELECT nothing FROM book LIMIT 3",
            "EXPLAIN SELECT nothing FROM book",
            "WITH a AS (SELECT nothing FROM book) TABLE a",
        ] {
            errors.push(text(&client, sql));
        }
        (text(&client, OWN_MESSAGE), errors)
    });
    let [(plain, errors), (commented, others)] = &texts;
    assert!(!plain.contains("caller="), "{plain}");
    let comment = commented.split("/*").nth(1).expect("a comment");
    assert!(
        comment.starts_with("caller='local',request='"),
        "{commented}"
    );
    assert!(comment.contains("',tool='query_database'*/"), "{commented}");
    assert!(
        errors[0].contains("LINE 1: SELECT nothing FROM book\n               ^"),
        "{errors:?}"
    );
    assert_eq!(errors, others);
}

#[test]
fn a_wrong_setting_of_traces_names_its_key() {
    let postgres = Postgres::new();
    for (telemetry, expected) in [
        ("{otlp: {url: nowhere}}", "telemetry.otlp.url"),
        (
            "{otlp: {url: 'http://127.0.0.1:1/v1/traces', ratio: 2}}",
            "telemetry.otlp.ratio",
        ),
        (
            "{sql_comment: all}",
            "telemetry.sql_comment: must be off, call or trace",
        ),
        (
            "{otlp: {url: 'http://127.0.0.1:1/', headers_file: none}}",
            "telemetry.otlp.headers_file",
        ),
    ] {
        let home = home(&postgres, telemetry);
        let ran = home.ran(&["-http", "-addr", "127.0.0.1:0", "-no-auth"], "");
        assert!(ran.stderr.contains(expected), "{telemetry}: {}", ran.stderr);
        assert_eq!(ran.code, Some(1));
    }
}
