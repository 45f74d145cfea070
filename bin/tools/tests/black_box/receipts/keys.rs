//! Tests of the keys of receipts, and of their records.

use std::{fs, os::unix::fs::PermissionsExt as _};

use serde_json::{Value, json};

use super::{Receipted, Signal, ask, asking, text};

#[test]
fn a_former_key_verifies_after_a_rotation_without_a_restart() {
    let server = Receipted::new("", "");
    let (program, client) = server.serve();
    let sql = "SELECT 1";
    let published = || client.get("/.well-known/ziggurat-receipts").json();
    let before = ask(&client, "tools/call", &asking(sql, json!(true))).body;
    let old = published();
    assert_eq!(old["keys"].as_array().map(Vec::len), Some(1));
    let new = server.home.file("new.pem");
    let made = server.home.ran_before(&["-make-receipt-key", text(&new)]);
    assert_eq!(made.code, Some(0), "{}", made.stderr);
    fs::rename(&new, server.home.file("key.pem")).expect("renamed");
    server.configure(", public_keys: [key.pem.pub]", "");
    program.until_it_says("configuration reloaded", || program.signal(Signal::HUP));
    let after = ask(&client, "tools/call", &asking(sql, json!(true))).body;
    let both = published();
    assert_eq!(both["keys"].as_array().map(Vec::len), Some(2));
    assert_eq!(both["keys"][1], old["keys"][0]);
    assert!(server.is_good(&before) && server.is_good(&after));
    let set = server.home.file("keys.json");
    for (keys, is_known) in [(&old, false), (&both, true)] {
        fs::write(&set, keys.to_string()).expect("written");
        let (line, code) = server.verify(&after, &["-receipt-keys", text(&set)]);
        assert_eq!(code, Some(i32::from(!is_known)), "{line}");
        let kid = both["keys"][0]["kid"].as_str().expect("an id");
        let unknown = format!("signed by an unknown key: {kid}\n");
        assert_eq!(line == unknown, !is_known, "{line}");
    }
}

#[test]
fn a_record_names_the_receipt_of_its_call() {
    let server = Receipted::new("", "audit: {file: audit.jsonl}\n");
    let (mut program, client) = server.serve();
    let tool = ask(&client, "tools/call", &asking("SELECT 1", json!(true))).body;
    let lines = client.post(
        "/api/query",
        &super::body("SELECT 2", json!(true)).to_string(),
    );
    ask(&client, "tools/call", &asking("SELECT 3", json!(false)));
    program.signal(Signal::TERM);
    assert!(program.ended().success());
    let trail = server.home.file("audit.jsonl");
    let records = fs::read_to_string(&trail).expect("a trail");
    let calls = records.lines().map(serde_json::from_str::<Value>);
    let named = calls.filter(|line| line.as_ref().is_ok_and(|line| line["receipt"].is_object()));
    assert_eq!(named.count(), 2, "{records}");
    for answer in [&tool, &lines.body] {
        let (line, code) = server.verify(answer, &["-audit", text(&trail)]);
        assert!(line.ends_with("good\n") && code == Some(0), "{line}");
    }
    fs::write(&trail, records.replace("\"sha256\":\"", "\"sha256\":\"0")).expect("written");
    let (line, code) = server.verify(&tool, &["-audit", text(&trail)]);
    assert_eq!((&*line, code), ("no record has this receipt\n", Some(1)));
    let missing = server.verify(&tool, &["-audit", "missing.jsonl"]);
    assert!(
        missing.0.contains("-audit missing.jsonl: No such file"),
        "{missing:?}"
    );
}

#[test]
fn a_key_that_cannot_be_used_is_a_problem_of_the_configuration() {
    let server = Receipted::new("", "");
    let key = server.home.file("key.pem");
    let is_refused = |reason: &str| {
        let ran = server.home.ran(&["-check-config"], "");
        let problem = format!("receipts.key_file: {}: {reason}\n", text(&key));
        assert_eq!((&*ran.stdout, ran.code), (&*problem, Some(1)));
    };
    for mode in [0o640, 0o604] {
        fs::set_permissions(&key, fs::Permissions::from_mode(mode)).expect("set");
        is_refused("must be readable by its owner only");
    }
    fs::set_permissions(&key, fs::Permissions::from_mode(0o600)).expect("set");
    fs::write(&key, "hunter2").expect("written");
    is_refused("is not a private key of Ed25519 (PKCS#8 in PEM)");
    let again = server.home.ran_before(&["-make-receipt-key", text(&key)]);
    assert!(
        again.stderr.contains("exists: nothing was written"),
        "{again:?}"
    );
    let nothing = server.verify("{}", &["-receipt-keys", text(&key)]);
    assert_eq!(nothing.1, Some(1), "{nothing:?}");
}
