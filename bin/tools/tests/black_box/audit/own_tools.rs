//! Tests of the records of calls of the operator's own tools.

use std::fs;

use serde_json::{Value, json};

use super::{Audited, ask};
use crate::support::{Client, records};

const TOOLS: &str = r#"tools:
- name: titles
  description: D
  statement: >-
    SELECT title FROM book
    WHERE id < :below AND :tags::text <> 'x' AND :pin <> '' AND :who <> '' ORDER BY :"sort"
  parameters:
  - {name: below, type: number}
  - {name: tags, type: json, required: false}
  - {name: pin, type: string, sensitive: true, default: pin-4711}
  - {name: sort, type: identifier, allowed: [id, title], default: title}
  - {name: who, type: string, from: caller}
- {name: elsewhere, description: D, database: two, statement: "SELECT :database", parameters: [{name: database, type: string}]}
- {name: of_user, description: D, statement: "SELECT 7, :who", parameters: [{name: who, type: string, from: user}]}
"#;

/// The statement of the first tool, and its digest.
const STATEMENT: &str = "SELECT title FROM book WHERE id <  $1::text::numeric AND  \
    $2::text::jsonb::text <> 'x' AND  $3::text::text <> '' AND  $4::text::text <> '' ORDER BY  \
    \"title\"";

fn audited(settings: &str, more: &str) -> Audited {
    let more = format!("custom_definitions_path: own.yaml\n{more}");
    let audited = Audited::with(settings, &more);
    fs::write(audited.home.file("own.yaml"), TOOLS).expect("written");
    audited.home.replace(
        &audited.home.tokens(),
        &records::tokens(&[records::token(1, "one", &[])]),
    );
    audited
}

fn call(client: &Client, name: &str, arguments: &str) {
    let arguments: Value = serde_json::from_str(arguments).expect(arguments);
    let params = json!({"name": name, "arguments": arguments});
    ask(client, "tools/call", &params);
}

#[test]
fn a_record_has_the_statement_of_a_tool_in_the_form_of_the_settings() {
    let normalized = STATEMENT
        .replace("  ", " ")
        .replace("'x'", "?")
        .replace("''", "?");
    for (form, text) in [
        ("normalized", Some(&*normalized)),
        ("text", Some(STATEMENT)),
        ("digest", None),
        ("none", None),
    ] {
        let audited = audited(&format!(", statement: {form}"), "");
        let (program, client) = audited.home.serve(&[]);
        call(
            &client.bearing("one"),
            "titles",
            r#"{"below": 2, "pin": "0815"}"#,
        );
        let calls = audited.calls(program);
        let statement = &calls[0]["statement"];
        assert_eq!(statement["text"].as_str(), text, "{form}");
        assert_eq!(statement["sha256"].is_string(), form != "none", "{form}");
        assert_eq!(
            (&calls[0]["verdict"], calls[0].get("arguments")),
            (&json!("ok"), None)
        );
        assert_eq!(calls[0]["database"], "main");
    }
}

#[test]
fn the_text_for_advice_on_indexes_is_the_statement_of_its_record() {
    let audited = audited("", "dba: {enabled: true}\n");
    let (program, client) = audited.home.serve(&[]);
    let client = client.bearing("one");
    let query = r#"{"query": "SELECT id FROM book WHERE title = 'Emma'"}"#;
    call(&client, "index_advice", query);
    call(&client, "index_advice", r#"{"queryid": "7"}"#);
    let calls = audited.calls(program);
    let text = &calls[0]["statement"]["text"];
    assert_eq!(text, "SELECT id FROM book WHERE title = ?");
    assert_eq!(calls[1].get("statement"), None);
}

/// Arguments of calls, the verdicts, and the arguments in their records.
const RECORDED: [(&str, &str, &str); 5] = [
    (
        "{\"pin\": \"p-31415\", \"tags\": {\"b\":\n\t[1.50, \"a\\n\u{9b}\"]}, \"below\": 12e-1}",
        "ok",
        r#"{"below":12e-1,"tags":{"b":[1.50, "a\n\u009b"]},"pin":"***","sort":"title","who":"***"}"#,
    ),
    (
        r#"{"below": 2}"#,
        "ok",
        r#"{"below":2,"pin":"***","sort":"title","who":"***"}"#,
    ),
    (
        r#"{"below": "p-many", "sort": "id"}"#,
        "refused",
        r#"{"below":"p-many","pin":"***","sort":"id","who":"***"}"#,
    ),
    // A value below another name may be a secret.
    (
        r#"{"below": 3, "Pin": "p-27182"}"#,
        "refused",
        r#"{"below":3,"pin":"***","sort":"title","who":"***"}"#,
    ),
    ("[2]", "refused", ""),
];

/// Posts arguments as they are written.
fn post(client: &Client, arguments: &str) {
    let params = format!(r#"{{"name": "titles", "arguments": {arguments}}}"#);
    let call = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{params}}}"#);
    client.post("/mcp/v1", &call);
}

#[test]
fn arguments_are_recorded_in_the_order_of_the_file_and_secrets_as_asterisks() {
    let audited = audited(", arguments: true", "");
    let (program, client) = audited.home.serve(&[]);
    let client = client.bearing("one");
    for (arguments, _, _) in RECORDED {
        post(&client, arguments);
    }
    audited.calls(program);
    let trail = fs::read_to_string(audited.home.file("audit.jsonl")).expect("a trail");
    let calls = trail.lines().filter(|line| line.contains("tools/call"));
    for (line, (_, verdict, arguments)) in calls.zip(RECORDED) {
        assert!(
            line.contains(&format!("\"verdict\":\"{verdict}\"")),
            "{line}"
        );
        let member = format!(",\"arguments\":{arguments},");
        assert!(
            line.contains(&member) || arguments.is_empty() && !line.contains("\"arguments\""),
            "{line}"
        );
        if verdict == "ok" {
            let members = ["database", "statement", "arguments", "rows", "bytes"];
            let at = members.map(|name| line.find(&format!(",\"{name}\":")).expect(name));
            assert!(at.is_sorted(), "{line}");
        }
    }
    for secret in ["p-31415", "p-27182", "pin-4711", "token:token-1"] {
        assert!(!trail.contains(secret), "{secret}: {trail}");
    }
    assert_eq!(audited.verify("audit.jsonl").1, Some(0));
}

#[test]
fn long_arguments_are_a_text_that_is_cut() {
    let audited = audited(", arguments: true", "");
    let (program, client) = audited.home.serve(&[]);
    let tags = "é".repeat(9_000);
    post(
        &client.bearing("one"),
        &format!(r#"{{"below": 3, "tags": "{tags}"}}"#),
    );
    let calls = audited.calls(program);
    let cut = format!(r#"{{"below":3,"tags":"{}"#, "é".repeat(8_192 - 19));
    assert_eq!(
        (&calls[0]["verdict"], &calls[0]["arguments"]),
        (&json!("ok"), &json!(cut))
    );
}

#[test]
fn the_line_before_a_call_has_the_statement_and_the_database_of_its_tool() {
    let audited = audited(", required: true", "");
    let (program, client) = audited.home.serve(&["-no-auth"]);
    call(&client, "elsewhere", r#"{"database": "main"}"#);
    call(&client, "titles", r#"{"below": 2}"#);
    let calls = audited.calls(program);
    let lines = audited.lines("audit.jsonl");
    let opens: Vec<_> = lines.iter().filter(|line| line["kind"] == "open").collect();
    assert_eq!((opens.len(), calls.len()), (2, 2));
    for ((open, call), database) in opens.into_iter().zip(&calls).zip(["two", "main"]) {
        assert_eq!(open["statement"]["sha256"], call["statement"]["sha256"]);
        assert!(open["statement"]["sha256"].is_string(), "{open}");
        assert_eq!(
            (&open["database"], &call["database"]),
            (&json!(database), &json!(database))
        );
    }
}

#[test]
fn a_tool_that_is_not_for_its_caller_leaves_no_statement() {
    // The token may use the first database only.
    let toolsets =
        "toolsets: [{name: some, tools: [elsewhere, of_user], for: {tokens: [token-1]}}]\n";
    let audited = audited(", arguments: true", toolsets);
    let (program, client) = audited.home.serve(&[]);
    let client = client.bearing("one");
    call(&client, "titles", r#"{"below": 2}"#);
    call(&client, "of_user", "{}");
    call(&client, "elsewhere", r#"{"database": "main"}"#);
    let params = json!({"name": "elsewhere", "arguments": {"database": "x"}});
    ask(&client, "prompts/get", &params);
    let calls = audited.calls(program);
    for (call, is_hidden) in calls.iter().zip([true, true, true, false]) {
        let told = (
            &call["verdict"],
            call.get("statement"),
            call.get("arguments"),
        );
        assert_eq!(told, (&json!("unknown"), None, None), "{call}");
        assert_eq!(call["hidden"] == true, is_hidden, "{call}");
    }
    assert_eq!(calls.len(), 4);
}
