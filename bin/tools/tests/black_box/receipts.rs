//! Tests of receipts.

mod chapter;
mod facts;
mod keys;
mod replay;
mod rights;

use std::{fs, path::Path, thread};

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::{
    revisions::{ask, result},
    support::{Client, Home, Postgres, Program},
};

/// Table with the rows of the tests.
const BOOKS: &str = "CREATE TABLE book (id int PRIMARY KEY, title text);
    INSERT INTO book SELECT n, 'Book ' || n || E'\\tä\\\\' FROM generate_series(1, 100) n";

/// A server with a key for receipts.
struct Receipted {
    postgres: Postgres,
    home: Home,
}

impl Receipted {
    /// A server with more members in its section, and more lines in its configuration.
    fn new(section: &str, more: &str) -> Self {
        let receipted = Self::on(Postgres::with(BOOKS), Home::new());
        receipted.configure(section, more);
        receipted
    }

    /// A server on a PostgreSQL of its own, where nothing else happens.
    fn alone() -> Self {
        let home = Home::new();
        let postgres = Postgres::logging(home.path());
        postgres.run("ALTER SYSTEM SET autovacuum = off");
        postgres.run("SELECT pg_reload_conf()");
        postgres.run(BOOKS);
        let receipted = Self::on(postgres, home);
        receipted.configure("", "");
        receipted
    }

    fn on(postgres: Postgres, home: Home) -> Self {
        let made = home.ran_before(&["-make-receipt-key", text(&home.file("key.pem"))]);
        assert_eq!(made.code, Some(0), "{}", made.stderr);
        Self { postgres, home }
    }

    fn configure(&self, section: &str, more: &str) {
        self.configure_with(
            "",
            &format!("receipts: {{key_file: key.pem{section}}}\n{more}"),
        );
    }

    /// Writes a configuration with more lines in the entry of the database, and behind it.
    fn configure_with(&self, of_database: &str, more: &str) {
        let entry = self.postgres.entry("main");
        self.home
            .configure(&format!("databases:\n{entry}{of_database}{more}"));
    }

    fn serve(&self) -> (Program, Client) {
        self.home.serve(&["-no-auth"])
    }

    /// Verifies a text with the keys of the configuration, and returns the line and the exit code.
    fn verify(&self, answer: &str, more: &[&str]) -> (String, Option<i32>) {
        let path = self.home.file("answer.json");
        fs::write(&path, answer).expect("written");
        let words = [&["-verify-receipt", text(&path)], more].concat();
        let ran = self.home.ran_before(&words);
        let line = ran.stdout.replace(&format!("{}: ", text(&path)), "");
        (line + &ran.stderr, ran.code)
    }

    fn is_good(&self, answer: &str) -> bool {
        let (line, code) = self.verify(answer, &[]);
        line.ends_with("good\n") && code == Some(0)
    }
}

fn text(path: &Path) -> &str {
    path.to_str().expect("text")
}

/// Returns the params of a call that asks for a receipt.
fn asking(sql: &str, receipt: impl Into<Value>) -> Value {
    let (arguments, receipt) = (json!({"query": sql}), receipt.into());
    json!({"name": "query_database", "arguments": arguments, "_meta": {"ziggurat/receipt": receipt}})
}

/// Returns the body of a request for a statement that asks for a receipt.
fn body(sql: &str, receipt: impl Into<Value>) -> Value {
    json!({"sql": sql, "receipt": receipt.into()})
}

fn receipt_of(result: &Value) -> &Value {
    &result["_meta"]["ziggurat/receipt"]
}

#[test]
fn answers_of_all_entrances_verify_and_changed_ones_do_not() {
    let server = Receipted::new(
        "",
        "mcp: {structured_output: true, stdio_negotiate: true}\n",
    );
    let (_program, client) = server.serve();
    let (_stdio, mut pipe) = server.home.stdio(&[]);
    let sql = "SELECT * FROM book ORDER BY id";
    let modern = ask(&client, "tools/call", &asking(sql, json!(true)));
    let params = crate::revisions::modern_params(&asking(sql, json!("rows")));
    let piped = pipe.call(&json!(1), "tools/call", &params);
    let lines = client.post("/api/query", &body(sql, json!(true)).to_string());
    for (answer, changed) in [
        (modern.body.clone(), modern.body.replace("Book 7", "Book 8")),
        (
            piped.to_string(),
            piped.to_string().replace("Book 7", "Book 8"),
        ),
        (lines.body.clone(), lines.body.replace("Book 7", "Book 8")),
        (
            lines.body.clone(),
            lines
                .body
                .replace("\"truncated\":null", "\"truncated\":\"rows\""),
        ),
    ] {
        let (line, code) = server.verify(&answer, &[]);
        assert!(
            line.starts_with("receipt ") && line.ends_with(", 100 rows, good\n"),
            "{line}"
        );
        assert_eq!(code, Some(0));
        let (line, code) = server.verify(&changed, &[]);
        assert!(
            line.ends_with(" of the receipt\n") && code == Some(1),
            "{line}"
        );
    }
    let kept = json!({"request": body(sql, json!(true)), "response": lines.body});
    assert!(server.is_good(&kept.to_string()));
    let other = json!({"request": body("SELECT 1", json!(true)), "response": lines.body});
    let expected = "the statement is not that of the receipt\n";
    assert_eq!(
        server.verify(&other.to_string(), &[]),
        (expected.to_owned(), Some(1))
    );
}

#[test]
fn a_streamed_answer_has_its_receipt_behind_the_rows() {
    let server = Receipted::new("", "mcp: {structured_output: true}\n");
    let (_program, client) = server.serve();
    let sql = "SELECT n, repeat('x\t', 500) FROM generate_series(1, 1000) n";
    let mut params = asking(sql, json!(true));
    params["arguments"]["limit"] = json!(1000);
    for structured in [true, false] {
        params["_meta"]["ziggurat/structured"] = json!(structured);
        let answer = ask(&client, "tools/call", &params);
        assert!(answer.body.len() > 500_000);
        assert!(server.is_good(&answer.body));
    }
}

#[test]
fn a_payload_has_all_its_members() {
    let server = Receipted::new("", "audit: {file: audit.jsonl, required: true}\n");
    let (_program, client) = server.serve();
    let sql = "SELECT * FROM book";
    let mut params = asking(sql, json!("rows"));
    params["arguments"]["limit"] = json!(3);
    params["arguments"]["offset"] = json!(2);
    let answer = result(&client, "tools/call", &params);
    let payload = payload(receipt_of(&answer));
    assert_eq!(payload["tool"], "query_database");
    assert_eq!(payload["database"], "main");
    assert_eq!(payload["caller"], json!({"kind": "local", "name": ""}));
    assert_eq!(
        [&payload["limit"], &payload["offset"]],
        [&json!(3), &json!(2)]
    );
    assert_eq!(payload["rows"]["count"], 3);
    assert_eq!(payload["rows"]["truncated"], true);
    assert_eq!(payload["rows"]["each"].as_str().map(str::len), Some(32));
    assert_eq!(payload["masked"], false);
    for member in ["id", "at", "server", "snapshot", "lsn", "parameters"] {
        assert!(payload[member].is_string(), "{member}: {payload}");
    }
    assert!(payload["version"]["postgresql"].is_string(), "{payload}");
    let trail = fs::read_to_string(server.home.file("audit.jsonl")).expect("a trail");
    let open = trail.lines().find(|line| line.contains("\"open\""));
    let open: Value = serde_json::from_str(open.expect("a line")).expect("JSON");
    assert_eq!(
        payload["audit"],
        json!({"seq": open["seq"], "chain": open["chain"]})
    );
}

/// Returns the payload of a receipt.
fn payload(receipt: &Value) -> Value {
    use base64::{Engine as _, prelude::BASE64_URL_SAFE_NO_PAD};

    let payload = receipt["payload"].as_str().expect("a payload");
    let bytes = BASE64_URL_SAFE_NO_PAD.decode(payload).expect("base64url");
    serde_json::from_slice(&bytes).expect("JSON")
}

#[test]
fn only_calls_that_ask_get_a_receipt_unless_all_do() {
    let server = Receipted::new("", "");
    let sql = "SELECT 1";
    let has_receipt = |client: &Client, asked: Value| {
        let answer = result(client, "tools/call", &asking(sql, asked));
        receipt_of(&answer).is_object()
    };
    let of_v1 = |client: &Client| client.call("tools/call", &asking(sql, json!(true)));
    {
        let (_program, client) = server.serve();
        assert!(has_receipt(&client, json!(true)));
        assert!(!has_receipt(&client, json!(false)));
        assert!(receipt_of(&of_v1(&client)["result"]).is_null());
        let failed = asking("SELECT nothing", json!(true));
        assert!(receipt_of(&result(&client, "tools/call", &failed)).is_null());
        let listed = json!({"name": "list_databases", "arguments": {},
            "_meta": {"ziggurat/receipt": true}});
        assert!(receipt_of(&result(&client, "tools/call", &listed)).is_null());
    }
    server.configure(", mode: all, v1: true, snapshot: false", "");
    let (_program, client) = server.serve();
    let answer = result(&client, "tools/call", &asking(sql, json!(false)));
    assert!(payload(receipt_of(&answer))["snapshot"].is_null());
    assert!(receipt_of(&of_v1(&client)["result"]).is_object());
    let quiet = client.call(
        "tools/call",
        &json!({"name": "query_database",
        "arguments": {"query": sql}}),
    );
    assert!(quiet["result"]["_meta"].is_null(), "{quiet}");
    let lines = client.post("/api/query", &json!({"sql": sql}).to_string());
    assert!(!lines.body.contains("receipt"), "{lines:?}");
}

#[test]
fn without_a_key_a_request_for_a_receipt_changes_no_byte() {
    let server = Receipted::new("", "");
    server
        .home
        .configure(&format!("databases:\n{}", server.postgres.entry("main")));
    let (_program, client) = server.serve();
    let sql = "SELECT * FROM book ORDER BY id";
    let answers = [json!(true), json!("rows"), Value::Null].map(|asked| {
        let mut params = asking(sql, asked.clone());
        if asked.is_null() {
            params["_meta"] = json!({});
        }
        let v1 = client.call("tools/call", &params).to_string();
        let modern = ask(&client, "tools/call", &params).body;
        let lines = client
            .post("/api/query", &body(sql, asked).to_string())
            .body;
        // The first line has an id, the last the time.
        let lines: Vec<_> = lines.lines().map(str::to_owned).collect();
        let members = lines.last().and_then(|last| last.split("\"ms\"").next());
        (
            v1,
            modern,
            lines[1..lines.len() - 1].to_vec(),
            members.map(str::to_owned),
        )
    });
    assert_eq!(answers[0], answers[2]);
    assert_eq!(answers[1], answers[2]);
    assert_eq!(client.get("/.well-known/ziggurat-receipts").status, 404);
}

#[test]
fn receipts_of_many_callers_share_signatures_and_verify() {
    let server = Receipted::new("", "");
    let (_program, client) = server.serve();
    let callers = (0..16).map(|caller| {
        let client = client.clone();
        thread::spawn(move || {
            let ids = (0..25).map(|call| caller * 1000 + call);
            let answers = ids.map(|id| {
                let sql = format!("SELECT {id}");
                ask(&client, "tools/call", &asking(&sql, json!(true))).body
            });
            answers.collect::<Vec<_>>()
        })
    });
    let callers: Vec<_> = callers.collect();
    let answers = callers
        .into_iter()
        .flat_map(|it| it.join().expect("answers"));
    let answers: Vec<_> = answers.collect();
    let size = |answer: &String| {
        let answer: Value = serde_json::from_str(answer).expect("JSON");
        receipt_of(&answer["result"])["size"]
            .as_u64()
            .expect("a size")
    };
    let largest = answers.iter().max_by_key(|answer| size(answer));
    for answer in answers.iter().step_by(80).chain(largest) {
        assert!(server.is_good(answer), "{answer}");
    }
}
