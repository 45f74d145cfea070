//! Values of claims are in no answer, log, metric, span and record.

use std::fs;

use rustix::process::Signal;
use serde_json::json;
use ziggurat_black_box::{Collector, MetricsPage};

use super::NOTES;
use crate::{
    revisions::result,
    support::{Client, Home, Postgres, records, records::PASSWORD},
    toolsets::{WAYS, send},
};

const TOOLS: &str = r"tools:
- name: count_own
  description: D
  statement: SELECT count(*) FROM notes WHERE tenant = :tenant AND note = ANY (:roles)
  parameters:
  - {name: tenant, type: string, from: {claim: tenant}}
  - {name: roles, type: array, items: {type: string}, from: {claim: roles}}
- name: fail_own
  description: D
  statement: SELECT :tenant::uuid
  parameters: [{name: tenant, type: string, from: {claim: tenant}}]
- name: fail_rewritten
  description: D
  statement: SELECT lower(:tenant)::uuid, :roles::text[]::int[]
  parameters:
  - {name: tenant, type: string, from: {claim: tenant}}
  - {name: roles, type: array, items: {type: string}, from: {claim: roles}}
- name: fail_key
  description: D
  database: main
  write: true
  statement: INSERT INTO keys VALUES (:tenant), (:tenant)
  parameters: [{name: tenant, type: string, from: {claim: tenant}}]
- name: fail_sensitive
  description: D
  statement: SELECT :pin::uuid
  parameters: [{name: pin, type: string, sensitive: true}]
";

/// Values that may stand nowhere.
const SECRETS: [&str; 3] = ["swordfish", "marlin", "barracuda"];

fn calls(client: &Client) -> String {
    let mut answers = String::new();
    for way in WAYS {
        for name in [
            "count_own",
            "fail_own",
            "fail_rewritten",
            "fail_key",
            "fail_sensitive",
            "invented",
        ] {
            let arguments = match name {
                "fail_sensitive" => json!({"pin": "0000"}),
                "count_own" => json!({"tenant": "other"}),
                _ => json!({}),
            };
            let params = json!({"name": name, "arguments": arguments});
            answers += &send(client, way, "tools/call", &params).body;
        }
        answers += &send(client, way, "tools/list", &json!({})).body;
    }
    answers
}

#[test]
fn values_of_claims_are_shown_nowhere() {
    let postgres = Postgres::with(&format!(
        "{NOTES} CREATE TABLE keys (key text PRIMARY KEY);"
    ));
    let collector = Collector::start();
    let mut home = Home::new();
    home.set("RUST_LOG", "trace");
    fs::write(home.file("own.yaml"), TOOLS).expect("written");
    home.configure(&format!(
        "databases:\n{}    allow_writes: true\ncustom_definitions_path: own.yaml\n\
         audit: {{file: audit.jsonl, arguments: true}}\n\
         telemetry: {{metrics: {{address: 127.0.0.1:0}}, sql_comment: trace, \
         otlp: {{url: {}, ratio: 1}}}}\n",
        postgres.entry("main"),
        collector.url,
    ));
    let token = records::token(1, "one", &["claims: {tenant: SwordFish, roles: [marlin]}"]);
    home.replace(&home.tokens(), &records::tokens(&[token]));
    let alice = records::user("alice", &["claims: {tenant: barracuda, roles: [marlin]}"]);
    home.replace(&home.users(), &records::users(&[alice]));
    let (mut program, stranger) = home.serve(&["-debug"]);
    let page = MetricsPage::of(&program);
    let one = stranger.bearing("one");
    let alice = stranger.logged_in("alice", PASSWORD);
    let mut answers = calls(&one) + &calls(&alice);
    for (name, arguments, sqlstate) in [
        ("fail_own", json!({}), "22P02"),
        ("fail_rewritten", json!({}), "22P02"),
        ("fail_key", json!({}), "23505"),
        ("fail_sensitive", json!({"pin": "0000"}), "22P02"),
    ] {
        let call = json!({"name": name, "arguments": arguments});
        let found = result(&one, "tools/call", &call);
        let expected = format!(
            "Error: PostgreSQL refused the call (SQLSTATE {sqlstate}). Its message may repeat \
             values that are not shown, so it is left out."
        );
        assert_eq!(found["content"][0]["text"], expected, "{name}");
    }
    answers += &page.text();
    program.signal(Signal::TERM);
    assert!(program.ended().success());
    answers += &fs::read_to_string(home.file("audit.jsonl")).expect("a trail");
    let spans = json!(collector.exports()).to_string();
    let log = program.whole_log();
    for secret in SECRETS {
        assert!(!answers.contains(secret), "{secret} in {answers}");
        assert!(!spans.contains(secret), "{secret} in {spans}");
        let line = log.lines().find(|line| line.contains(secret));
        assert_eq!(line, None, "{secret}");
    }
}
