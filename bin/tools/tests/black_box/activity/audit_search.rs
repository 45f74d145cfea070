//! Tests of the search in the audit trail: `/api/admin/audit`.

use std::fs;

use serde_json::{Value, json};

use super::{Server, check};
use crate::support::{Client, until};

const PATH: &str = "/api/admin/audit";

fn search(ada: &Client, query: &str) -> Value {
    let answer = ada.get(&format!("{PATH}?{query}"));
    assert_eq!(answer.status, 200, "{answer:?}");
    assert_eq!(answer.header("cache-control"), Some("no-store"));
    answer.json()
}

fn records(found: &Value) -> Vec<Value> {
    found["records"].as_array().expect("a list").clone()
}

/// Waits until the writer has written this number of records of a search.
fn wait_for(ada: &Client, query: &str, count: usize) -> Vec<Value> {
    let mut found = Vec::new();
    until("the records are written", || {
        found = records(&search(ada, query));
        found.len() >= count
    });
    assert_eq!(found.len(), count, "{found:?}");
    found
}

#[test]
fn records_are_found_by_what_they_are_of_the_latest_first() {
    let server = Server::new("audit: {file: audit.jsonl}\n", &[]);
    let [ada, bob] = ["ada", "bob"].map(|name| server.user(name));
    for number in 0..5 {
        bob.query(&format!("SELECT {number} AS one"));
    }
    bob.tool("query_database", &json!({"query": "SELECT nothing"}));
    bob.tool("count_rows", &json!({"table": "t"}));
    bob.get("/api/user/info");
    let all = wait_for(&ada, "caller=user:bob&limit=500", 8);
    assert_eq!(all[1]["tool"], "count_rows");
    assert_eq!(all[2]["verdict"], "error");
    let seq = |record: &Value| record["seq"].as_u64().expect("a number");
    assert!(all.is_sorted_by(|one, other| seq(one) > seq(other)));
    for (query, count) in [
        ("caller=bob", 8),
        ("caller=bob&statements=true", 7),
        ("caller=bob&statements=false", 8),
        ("caller=bob&tool=query_database", 6),
        ("tool=query_database&verdict=error", 1),
        ("caller=bob&database=main", 7),
        ("caller=bob&database=other", 0),
        ("caller=bob&q=NOTHING%20select", 1),
        ("caller=bob&from=2100-01-01T00:00:00Z", 0),
        ("caller=bob&to=2020-01-01T00:00:00Z", 0),
        ("caller=token:bob", 0),
        ("caller=bob&limit=3", 3),
    ] {
        assert_eq!(records(&search(&ada, query)).len(), count, "{query}");
    }
    let first = search(&ada, "caller=bob&limit=4");
    assert_eq!(first["chain"], "intact");
    let next = first["next"].as_str().expect("there are more");
    let second = search(&ada, &format!("caller=bob&limit=500&before={next}"));
    assert_eq!(
        (&second["chain"], &second["next"]),
        (&json!("unchecked"), &Value::Null)
    );
    let pages = [records(&first), records(&second)].concat();
    assert_eq!(pages, all);

    let answer = ada.get(&format!("{PATH}?caller=bob&tool=count_rows&format=csv"));
    assert_eq!(
        answer.header("content-type"),
        Some("text/csv; charset=utf-8")
    );
    let lines: Vec<_> = answer.body.lines().collect();
    assert_eq!(lines.len(), 2, "{answer:?}");
    assert!(lines[0].starts_with("at,seq,kind,") && lines[1].contains("\"count_rows\""));
}

#[test]
fn a_changed_trail_is_broken_and_old_files_are_searched() {
    let server = Server::new("audit: {file: audit.jsonl, max_bytes: 4096}\n", &[]);
    let [ada, bob] = ["ada", "bob"].map(|name| server.user(name));
    for number in 0..80 {
        bob.query(&format!("SELECT {number} AS one"));
    }
    wait_for(&ada, "caller=bob&limit=500", 80);
    let files = fs::read_dir(server.home.path()).expect("a folder");
    let names = files.map(|file| file.expect("a file").file_name());
    let old = names
        .map(|name| name.to_string_lossy().into_owned())
        .filter(|name| name.starts_with("audit-"));
    let mut old: Vec<_> = old.collect();
    old.sort();
    assert!(old.len() > 2, "{old:?}");
    let mut query = "caller=bob&limit=7".to_owned();
    let mut found = Vec::new();
    loop {
        let page = search(&ada, &query);
        found.extend(records(&page));
        let Some(next) = page["next"].as_str() else {
            break;
        };
        query = format!("caller=bob&limit=7&before={next}");
    }
    assert_eq!(found.len(), 80);
    assert_eq!(search(&ada, "limit=1")["chain"], "intact");

    let path = server.home.file(&old[0]);
    let text = fs::read_to_string(&path).expect("an old file");
    fs::write(&path, text.replacen("bob", "eve", 1)).expect("written");
    assert_eq!(search(&ada, "limit=1")["chain"], "broken");
}

#[test]
fn a_wrong_search_is_refused_and_without_a_file_there_is_none() {
    let server = Server::new("audit: {file: audit.jsonl}\n", &[]);
    let ada = server.user("ada");
    for query in [
        "limit=0",
        "limit=501",
        "limit=x",
        "from=yesterday",
        "to=1",
        "before=x",
        "before=9-9",
        "format=xml",
    ] {
        let answer = ada.get(&format!("{PATH}?{query}"));
        check(&answer, 400, "bad_request");
    }
    for more in ["", "audit: {file: stderr}\n"] {
        let server = Server::new(more, &[]);
        let answer = server.user("ada").get(PATH);
        check(&answer, 404, "audit_off");
        check(&server.user("bob").get(PATH), 403, "not_admin");
    }
}
