//! Tests of the audit trail.

use std::fs;

use rustix::process::Signal;
use serde_json::{Value, json};
use ziggurat_black_box::{Program, Ran, output, until};
use ziggurat_fake_providers::{Fake, Gate, Turn};

use crate::support::{Home, asking, library, nowhere, pipeline, question, server};

const FERNS: &str = "What do ferns like?";

/// Creates a folder with these pipelines and an audit trail with these further keys.
fn audited(list: &str, more: &str) -> Home {
    let section = server("");
    Home::with(&format!(
        "{section}audit: {{file: audit.jsonl{more}}}\npipelines:\n{list}"
    ))
}

fn lines(home: &Home) -> Vec<Value> {
    let text = fs::read_to_string(home.file("audit.jsonl")).expect("a trail");
    let lines = text.lines().map(serde_json::from_str);
    lines.collect::<Result<_, _>>().expect("lines of JSON")
}

/// Returns the records of questions, once the server has ended.
fn calls(home: &Home, mut program: Program) -> Vec<Value> {
    program.signal(Signal::TERM);
    assert!(program.ended().success(), "{}", program.log());
    let mut lines = lines(home);
    lines.retain(|line| line["kind"] == "call");
    lines
}

#[test]
fn each_question_has_one_record_with_its_verdict() {
    let postgres = library();
    let list = pipeline("docs", &postgres, "") + &nowhere("lost", "");
    let home = audited(&list, "");
    let (program, client) = home.serve();
    let streamed = json!({"query": FERNS, "stream": true}).to_string();
    let filter = json!({"conditions": [{"column": "secret", "operator": "=", "value": 1}]});
    let filtered = json!({"query": FERNS, "filter": filter}).to_string();
    let large = "x".repeat(1 << 21);
    for (name, body) in [
        ("docs", &*question(FERNS)),
        ("docs", &streamed),
        ("docs", "{}"),
        ("docs", &filtered),
        ("docs", &large),
        ("none", "{}"),
        ("lost", &question(FERNS)),
        ("lost", &streamed),
    ] {
        client.post(&format!("/v1/pipelines/{name}"), body);
    }
    client.get("/v1/pipelines");
    let calls = calls(&home, program);
    let told = calls.iter().map(|call| {
        let [pipeline, verdict, code] =
            ["pipeline", "verdict", "code"].map(|name| call[name].as_str());
        (pipeline, verdict, code)
    });
    assert_eq!(
        told.collect::<Vec<_>>(),
        [
            (Some("docs"), Some("ok"), None),
            (Some("docs"), Some("ok"), None),
            (Some("docs"), Some("refused"), Some("400")),
            (Some("docs"), Some("refused"), Some("400")),
            (Some("docs"), Some("refused"), Some("413")),
            (Some("none"), Some("unknown"), Some("404")),
            (Some("lost"), Some("error"), Some("500")),
            (Some("lost"), Some("error"), Some("500")),
        ]
    );
    let ends = lines(&home);
    let ends = [ends.first(), ends.last()].map(|line| line.expect("a line")["kind"].clone());
    assert_eq!(ends, ["start", "stop"]);
    let path = home.file("audit.jsonl").display().to_string();
    let ran = Ran::from(output(&mut home.bare(&["-verify-audit", &path])));
    let expected = format!("{path}: 10 records, 1 to 10, last ");
    assert!(ran.stdout.starts_with(&expected), "{}", ran.stdout);
    assert!(ran.stdout.ends_with(", good\n"), "{}", ran.stdout);
    assert_eq!((ran.code, &*ran.stderr), (Some(0), ""));
}

#[test]
fn a_changed_trail_is_found_and_a_key_is_needed_for_a_trail_with_one() {
    let home = audited(&nowhere("docs", ""), ", key_file: key");
    home.write("key", "a secret\n");
    let (program, client) = home.serve();
    client.post("/v1/pipelines/docs", "{}");
    assert_eq!(calls(&home, program).len(), 1);
    let [path, key, missing] = ["audit.jsonl", "key", "missing"].map(|name| home.file(name));
    let [path, key, missing] = [path, key, missing].map(|path| path.display().to_string());
    let verify = |words: &[&str]| {
        let words = [words, &["-verify-audit", &path]].concat();
        let ran = Ran::from(output(&mut home.bare(&words)));
        (ran.stdout + &ran.stderr, ran.code)
    };
    let with_key = ["-audit-key-file", &key];
    assert_eq!(verify(&with_key).1, Some(0));
    let broken = format!("{path}:1: the chain is broken\n");
    assert_eq!(verify(&[]), (broken.clone(), Some(1)));
    let (said, code) = verify(&["-audit-key-file", &missing]);
    let expected = "-audit-key-file: the key file cannot be read: ";
    assert!(said.starts_with(expected) && code == Some(1), "{said}");
    let (said, code) = verify(&["-audit-key-file", &key, "-expect-last", "c0ff"]);
    assert_eq!(
        (said, code),
        (format!("{path}:4: the end is missing\n"), Some(1))
    );

    let trail = fs::read_to_string(&path).expect("a trail");
    home.write("audit.jsonl", &trail.replace("\"v\":1", "\"v\":2"));
    assert_eq!(verify(&with_key), (broken, Some(1)));
}

#[test]
fn a_record_has_the_digest_of_the_question_and_not_the_question() {
    let postgres = library();
    let home = audited(&pipeline("docs", &postgres, ""), ", statement: text");
    let (program, client) = home.serve();
    let answer = client.post("/v1/pipelines/docs", &question(FERNS));
    let id = answer.header("x-request-id").expect("an id").to_owned();
    let calls = calls(&home, program);
    let [call] = &calls[..] else {
        panic!("{calls:?}");
    };
    let digest = call["statement"]["sha256"].as_str().expect("a digest");
    assert_eq!(digest.len(), 64);
    assert_eq!(call["statement"].get("text"), None, "{call}");
    assert_eq!(call.get("tool"), None, "{call}");
    assert_eq!(call["method"], "POST /v1/pipelines/{name}");
    assert_eq!(call["transport"], "http");
    assert_eq!(call["endpoint"], "/v1/pipelines");
    assert_eq!(call["request_id"], id);
    assert_eq!(call["caller"], json!({"kind": "local", "ip": "127.0.0.1"}));
    assert_eq!(call["rows"], 3, "{call}");
    assert_eq!(call["bytes"], answer.body.len(), "{call}");
    assert!(call["database"].is_string(), "{call}");
    let trail = fs::read_to_string(home.file("audit.jsonl")).expect("a trail");
    for secret in ["ferns", "Ferns", "wool"] {
        assert!(!trail.contains(secret), "{secret}: {trail}");
    }
}

#[test]
fn a_question_whose_client_leaves_in_the_middle_of_a_stream_is_cancelled() {
    let (postgres, fake) = (library(), Fake::start());
    let mut home = audited(&asking("docs", &postgres, &fake, ""), "");
    home.set("ANTHROPIC_API_KEY", "sk-ant-wq8JkLmN2pRs7TuV");
    let (program, client) = home.serve();
    let gate = Gate::new();
    fake.next(Turn::text("Shade and damp soil.").held_after(700, &gate));
    let body = json!({"query": FERNS, "stream": true}).to_string();
    let stream = client.open("/v1/pipelines/docs", "", &body, "Shade");
    drop(stream);
    let verdicts = || {
        let lines = lines(&home).into_iter();
        let mut calls = lines.filter(|line| line["kind"] == "call");
        calls.next().map(|call| call["verdict"].clone())
    };
    until("the record is written", || verdicts().is_some());
    assert_eq!(verdicts(), Some(json!("cancelled")));
    gate.open();
    assert_eq!(calls(&home, program).len(), 1);
}

#[test]
fn where_records_are_required_a_question_is_opened_before_it_runs() {
    let (postgres, fake) = (library(), Fake::start());
    let list = asking("docs", &postgres, &fake, "");
    let mut home = audited(&list, ", required: true");
    home.set("ANTHROPIC_API_KEY", "sk-ant-wq8JkLmN2pRs7TuV");
    let (program, client) = home.serve();
    let gate = Gate::new();
    fake.next(Turn::text("Shade.").held(&gate));
    let body = question(FERNS);
    let asked = std::thread::spawn(move || client.post("/v1/pipelines/docs", &body));
    fake.wait_for(1);
    let before = lines(&home);
    let [_, open] = &before[..] else {
        panic!("{before:?}");
    };
    assert_eq!(open["kind"], "open");
    assert_eq!(open["pipeline"], "docs");
    assert!(open["statement"]["sha256"].is_string(), "{open}");
    gate.open();
    assert_eq!(asked.join().expect("answered").status, 200);
    let calls = calls(&home, program);
    assert_eq!(calls[0]["open"], open["seq"], "{calls:?}");
}

#[test]
fn sighup_opens_a_renamed_trail_anew_and_records_the_reload() {
    let postgres = library();
    let home = audited(&pipeline("docs", &postgres, ""), "");
    let (program, client) = home.serve();
    program.wait_for("watching for configuration changes");
    fs::rename(home.file("audit.jsonl"), home.file("old.jsonl")).expect("renamed");
    program.until_it_says("configuration reloaded", || program.signal(Signal::HUP));
    client.post("/v1/pipelines/docs", &question(FERNS));
    assert_eq!(calls(&home, program).len(), 1);
    // The reload may be written before the file is opened anew.
    let kinds: Vec<_> = lines(&home)
        .iter()
        .map(|line| line["kind"].clone())
        .filter(|kind| kind != "reload")
        .collect();
    assert_eq!(kinds, ["start", "call", "stop"]);
    let trail = ["old.jsonl", "audit.jsonl"].map(|name| home.file(name));
    let trail = trail.map(|path| fs::read_to_string(path).expect("a trail"));
    assert_eq!(trail.concat().matches(r#""kind":"reload""#).count(), 1);
    let files = ["old.jsonl", "audit.jsonl"].map(|name| home.file(name));
    let report = ziggurat_audit::verify(&files, None, ziggurat_audit::Expected::default());
    assert!(report.is_good, "{report:?}");
}

#[test]
fn a_second_server_on_the_same_trail_does_not_start() {
    let list = nowhere("docs", "");
    let home = audited(&list, "");
    let (_program, _client) = home.serve();
    let ran = home.ran(&[]);
    assert_eq!(ran.code, Some(1));
    let path = home.file("audit.jsonl");
    let expected = format!("the audit file {} is in use", path.display());
    assert!(ran.stdout.contains(&expected), "{}", ran.stdout);
}
