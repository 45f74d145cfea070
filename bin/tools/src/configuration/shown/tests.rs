//! Tests of what administrators see of a configuration.

use ziggurat_runtime::config::keys_of;

use super::*;
use crate::{
    arguments::Overrides,
    configuration::{fixture::Case, read},
};

/// Texts that must not be seen, each with the part that is secret.
const CORPUS: [(&str, &str); 9] = [
    ("postgres://app:swordfish-1@db.example/shop", "swordfish-1"),
    ("https://app:swordfish-2@models.example/v1", "swordfish-2"),
    (
        "https://models.example/v1?api_key=swordfish-3",
        "swordfish-3",
    ),
    (
        "sk-ant-api03-wq8JkLmN2pRs7TuVwXyZ0123456789abcdef",
        "wq8JkLmN2pRs7TuV",
    ),
    ("AIzaSyA-wq8JkLmN2pRs7TuVwXyZ0123456789", "wq8JkLmN2pRs7TuV"),
    (
        "ghp_wq8JkLmN2pRs7TuVwXyZ0123456789abcdef",
        "wq8JkLmN2pRs7TuV",
    ),
    ("Bearer wq8JkLmN2pRs7TuVwXyZ0123456789", "wq8JkLmN2pRs7TuV"),
    ("password=swordfish-4", "swordfish-4"),
    (
        "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJhbGljZSJ9.wq8JkLmN2pRs7TuVwXyZ0123456789ab",
        "wq8JkLmN2pRs7TuV",
    ),
];

fn json(case: &Case) -> Option<String> {
    let loaded = case.load().ok()?;
    let values = values(&loaded.value, &loaded.sources);
    Some(serde_json::to_string(&values).expect("JSON"))
}

/// Writes a file with a value at a key, and what the key needs to be read.
fn file(key: &str, value: &str) -> String {
    let mut text = value.to_owned();
    for part in key.rsplit('.') {
        text = match part.strip_suffix("[]") {
            Some("databases") => {
                format!("{{databases: [{{name: main, user: app, {}]}}", &text[1..])
            }
            Some(list) => format!("{{{list}: [{text}]}}"),
            None => format!("{{{part}: {text}}}"),
        };
    }
    text
}

#[test]
fn no_secret_is_seen_whatever_key_has_it() {
    let mut read_keys = 0;
    for key in keys() {
        if key == "databases[]" {
            continue;
        }
        for (text, secret) in CORPUS {
            for value in [format!("'{text}'"), format!("['{text}']")] {
                let text = file(&key, &value);
                let Some(json) = json(&Case::new().file(&text)) else {
                    continue;
                };
                read_keys += 1;
                assert!(!json.contains(secret), "{text}: {json}");
            }
        }
    }
    assert!(read_keys > 200, "{read_keys}");
}

fn keys() -> Vec<String> {
    keys_of(|file| read(file, &Overrides::default()))
}

#[test]
fn a_secret_is_not_seen_where_another_key_repeats_it() {
    let text = "{databases: [{name: main, user: app, password: hunter22-hunter, application_name: \
                'of hunter22-hunter'}], llm: {openai_api_key: nosewq8JkLmN, model: nosewq8JkLmN}}";
    let json = json(&Case::new().file(text)).expect("good");
    assert!(
        !json.contains("hunter22-hunter") && !json.contains("nosewq8JkLmN"),
        "{json}"
    );
    for secret in ["databases[0].password", "llm.openai_api_key"] {
        let expected = format!(r#"{{"key":"{secret}","is_set":true}}"#);
        assert!(json.contains(&expected), "{json}");
    }
    let expected = r#"{"key":"llm.gemini_api_key","is_set":false}"#;
    assert!(json.contains(expected), "{json}");
}

#[test]
fn every_key_of_the_lists_is_one_of_the_configuration() {
    let known = keys();
    let shown = SHOWN.iter().map(|(key, _)| *key);
    for key in shown.chain(SECRET.iter().map(|(key, _)| *key)) {
        assert!(known.iter().any(|known| known == key), "{key}");
    }
    let case = Case::new().file("{databases: [{name: main, user: app}]}");
    let entry = &case.configuration().databases[0];
    for (key, _) in of_database(entry) {
        let key = format!("databases[].{key}");
        assert!(known.contains(&key), "{key}");
    }
}

#[test]
fn a_value_comes_with_the_place_that_it_comes_from() {
    let case = Case::new()
        .file(
            "{http: {enabled: true, allowed_hosts: [tools.example]}, limits: {max_rows: 7, \
             body_timeout: 1m}, databases: [{name: main, user: app, row_limit: 5}]}",
        )
        .env(&[
            ("ZIGGURAT_LLM_MODEL", "small"),
            ("ZIGGURAT_DB_HOST", "db.example"),
        ])
        .words("-addr 127.0.0.1:1 -db-user root");
    let loaded = case.load().expect("good");
    let values = values(&loaded.value, &loaded.sources);
    for (key, value, source) in [
        ("http.address", json!("127.0.0.1:1"), "flag"),
        ("http.allowed_hosts", json!(["tools.example"]), "file"),
        ("http.console", json!(true), "default"),
        ("limits.max_rows", json!(7), "file"),
        ("limits.body_timeout", json!("60s"), "file"),
        ("limits.header_timeout", json!("10s"), "default"),
        ("llm.model", json!("small"), "environment"),
        ("llm.max_tokens", json!(null), "default"),
        ("toolsets", json!(null), "default"),
        ("databases[0].host", json!("db.example"), "environment"),
        ("databases[0].user", json!("root"), "flag"),
        ("databases[0].row_limit", json!(5), "file"),
        ("databases[0].port", json!(5432), "default"),
    ] {
        let expected = Setting::Shown {
            key: key.to_owned(),
            value,
            source,
        };
        assert!(values.contains(&expected), "{expected:?} in {values:?}");
    }
}
