//! Tests of the facts that a receipt signs.

use ziggurat_receipts::{hex, sha256};

use super::*;

const TOOLS: &str = r"tools:
- {name: long, description: D, statement: 'SELECT repeat(''x'', 100) FROM generate_series(1, 50)'}
- name: find
  description: D
  statement: 'SELECT title FROM book WHERE id = :id AND :pin = ''1'''
  parameters: [{name: id, type: integer}, {name: pin, type: string, sensitive: true}]
";

/// Returns the digest of rows with one text each.
fn digest_of(rows: &[&str]) -> String {
    let digest = |row: &&str| {
        let length = u64::try_from(row.len()).expect("small").to_be_bytes();
        sha256(&[&[1], &length[..], row.as_bytes()].concat())
    };
    let digests: Vec<_> = rows.iter().map(digest).collect();
    hex(&sha256(digests.as_flattened()))
}

/// Returns the payload of the last line of a response.
fn of_lines(lines: &str) -> Value {
    let last = lines.lines().last().expect("a line");
    let last: Value = serde_json::from_str(last).expect("JSON");
    payload(&last["done"]["receipt"])
}

#[test]
fn the_statement_and_the_arguments_are_those_of_the_call() {
    let server = Receipted::new("", "");
    let (_program, client) = server.serve();
    let sql = "SELECT title FROM book WHERE id = 3 -- ä";
    let statement = json!({"sha256": hex(&sha256(sql.as_bytes()))});
    let mut params = asking(sql, json!(true));
    params["arguments"]["limit"] = json!(3);
    let of_tool = payload(receipt_of(&result(&client, "tools/call", &params)));
    let lines = client.post("/api/query", &body(sql, json!(true)).to_string());
    let of_query = of_lines(&lines.body);
    for (payload, arguments) in [
        (&of_tool, format!(r#"{{"limit":3,"query":"{sql}"}}"#)),
        (&of_query, format!(r#"{{"sql":"{sql}"}}"#)),
    ] {
        assert_eq!(payload["statement"], statement);
        assert_eq!(payload["parameters"], hex(&sha256(arguments.as_bytes())));
        assert_eq!(payload["rows"]["sha256"], digest_of(&["Book 3\tä\\"]));
    }
    assert_eq!(of_query["tool"], "POST /api/query");
}

#[test]
fn the_statement_and_the_secrets_of_an_own_tool_stay_hidden() {
    let server = Receipted::new(
        "",
        "custom_definitions_path: own.yaml\nsecret_file: secret\n",
    );
    fs::write(server.home.file("own.yaml"), TOOLS).expect("written");
    let call = |pin: &str| {
        json!({"name": "find", "arguments": {"id": 3, "pin": pin},
            "_meta": {"ziggurat/receipt": true}})
    };
    let marks = ["one", "one", "two"].map(|secret| {
        fs::write(server.home.file("secret"), format!("the secret {secret}")).expect("written");
        let (_program, client) = server.serve();
        let response = ask(&client, "tools/call", &call("1")).json();
        let payload = payload(receipt_of(&response["result"]));
        assert_eq!(payload["hidden"], json!(["pin"]));
        for (request, is_good) in [(call("1"), true), (call("2"), true), (json!({}), false)] {
            let kept = json!({"request": {"params": request}, "response": response});
            assert_eq!(server.is_good(&kept.to_string()), is_good, "{request}");
        }
        let mark = payload["statement"]["hmac"].as_str().map(str::to_owned);
        assert!(payload["statement"]["sha256"].is_null(), "{payload}");
        mark.expect("a mark")
    });
    assert!(marks[0] == marks[1] && marks[1] != marks[2], "{marks:?}");
}

#[test]
fn rows_for_which_an_answer_has_no_room_are_not_in_its_receipt() {
    let server = Receipted::new(
        "",
        "custom_definitions_path: own.yaml\nlimits: {max_result_bytes: 2000}\n\
         compat: {server_postgres: true}\nmcp: {structured_output: true}\n",
    );
    fs::write(server.home.file("own.yaml"), TOOLS).expect("written");
    let (_program, client) = server.serve();
    let sql = "SELECT repeat('x', 100) AS x FROM generate_series(1, 50)";
    for (tool, arguments) in [
        ("query_database", json!({"query": sql})),
        ("long", json!({})),
        ("query", json!({"sql": sql})),
    ] {
        let params = json!({"name": tool, "arguments": arguments,
            "_meta": {"ziggurat/receipt": true}});
        let answer = ask(&client, "tools/call", &params);
        let result = answer.json()["result"].clone();
        let facts = &payload(receipt_of(&result))["rows"];
        let shown = answer.body.matches(&"x".repeat(100)).count();
        let copies = if result["structuredContent"].is_null() {
            1
        } else {
            2
        };
        let count = shown / copies;
        assert!((1..50).contains(&count), "{tool}: {count}");
        assert_eq!(facts["count"], count, "{tool}");
        assert_eq!(facts["truncated"], true, "{tool}");
        let rows = vec!["x".repeat(100); count];
        let rows: Vec<_> = rows.iter().map(|row| &**row).collect();
        assert_eq!(facts["sha256"], digest_of(&rows), "{tool}");
        assert!(server.is_good(&answer.body), "{tool}");
    }
}

#[test]
fn an_answer_that_breaks_off_has_no_receipt_and_its_record_none_either() {
    let server = Receipted::new("", "audit: {file: audit.jsonl}\n");
    let (mut program, client) = server.serve();
    let sql = "SELECT repeat('x', 1000), 1 / (900 - n) FROM generate_series(1, 1000) n";
    let mut params = asking(sql, json!(true));
    params["arguments"]["limit"] = json!(1000);
    let answer = result(&client, "tools/call", &params);
    assert_eq!(answer["isError"], true);
    assert!(receipt_of(&answer).is_null());
    let lines = client.post("/api/query", &body(sql, json!(true)).to_string());
    assert!(lines.body.contains("division by zero"));
    assert!(!lines.body.contains("signature"));
    program.signal(Signal::TERM);
    assert!(program.ended().success());
    let trail = fs::read_to_string(server.home.file("audit.jsonl")).expect("a trail");
    assert!(!trail.contains("\"receipt\""), "{trail}");
}

#[test]
fn without_a_snapshot_the_statement_runs_as_it_would_without_a_receipt() {
    let sql = "SELECT current_setting('transaction_isolation')";
    for (section, level) in [
        ("", "repeatable read"),
        (", snapshot: false", "read committed"),
    ] {
        let server = Receipted::new(section, "");
        let (_program, client) = server.serve();
        let answer = result(&client, "tools/call", &asking(sql, json!(true)));
        let payload = payload(receipt_of(&answer));
        assert!(answer["content"].to_string().contains(level), "{answer}");
        let has_snapshot = section.is_empty();
        for member in ["snapshot", "lsn"] {
            assert_eq!(payload[member].is_string(), has_snapshot, "{payload}");
        }
    }
}
