//! Tests of the configuration that administrators see and reload.

use serde_json::{Value, json};

use super::{INFO, Server, TOKEN, check, serve};
use crate::support::{Client, records::PASSWORD};

const PATH: &str = "/api/admin/configuration";
const RELOAD: &str = "/api/admin/reload";

const DATABASES: &str = "databases: [{name: main, user: reader, password: swordfish}]\n";

fn shown(client: &Client) -> Value {
    let answer = client.get(PATH);
    assert_eq!(answer.status, 200, "{answer:?}");
    assert!(!answer.body.contains("swordfish"), "{answer:?}");
    answer.json()
}

fn value(shown: &Value, key: &str) -> Value {
    let mut values = shown["values"].as_array().expect("a list").iter();
    let found = values.find(|value| value["key"] == key);
    found.cloned().unwrap_or_default()
}

fn reload(client: &Client, body: &str) -> Value {
    let answer = client.post(RELOAD, body);
    assert_eq!(answer.status, 200, "{answer:?}");
    answer.json()
}

#[test]
fn the_configuration_is_shown_without_secrets() {
    let server = serve("limits: {max_rows: 7}\n", &[]);
    let ada = server.client.logged_in("ada", PASSWORD);
    let shown = shown(&ada);
    let path = server
        .home
        .file("ziggurat-tools.yaml")
        .display()
        .to_string();
    assert_eq!(shown["path"], path);
    assert_eq!(shown["needs_restart"], json!([]));
    let of_server = &shown["server"];
    assert_eq!(of_server["version"], env!("CARGO_PKG_VERSION"));
    assert!(
        of_server["replica"]
            .as_str()
            .is_some_and(|it| it.ends_with(&format!(":{}", server.program.id())))
    );
    assert!(
        of_server["memory_bytes"]
            .as_u64()
            .is_some_and(|it| it > 1_000_000)
    );
    for time in [&of_server["started_at"], &shown["loaded_at"]] {
        let time: Result<jiff::Timestamp, _> = time.as_str().expect("a time").parse();
        time.expect("a time");
    }
    for expected in [
        json!({"key": "limits.max_rows", "value": 7, "source": "file"}),
        json!({"key": "http.address", "value": "127.0.0.1:0", "source": "flag"}),
        json!({"key": "http.console", "value": true, "source": "default"}),
        json!({"key": "databases[0].password", "is_set": false}),
        json!({"key": "llm.openai_api_key", "is_set": false}),
    ] {
        let key = expected["key"].as_str().expect("a key");
        assert_eq!(value(&shown, key), expected);
    }
}

#[test]
fn a_reload_applies_what_needs_no_restart_and_names_the_rest() {
    let Server {
        home,
        mut program,
        client,
    } = serve("audit: {file: audit.jsonl}\n", &[]);
    let ada = client.logged_in("ada", PASSWORD);
    let audit = "audit: {file: audit.jsonl}\n";
    home.configure(&format!(
        "{DATABASES}{audit}limits: {{max_rows: 7}}\ntoolsets: [{{name: none, for: {{users: [bob]}}}}]\n"
    ));
    let expected = json!({"changed": ["databases", "toolsets"], "needs_restart": ["limits"]});
    assert_eq!(reload(&ada, r#"{"dry_run": true}"#), expected);
    assert_eq!(
        value(&shown(&ada), "toolsets")["value"],
        json!(null),
        "nothing is applied"
    );
    assert_eq!(reload(&ada, ""), expected);
    let shown = shown(&ada);
    assert_eq!(shown["needs_restart"], json!(["limits"]));
    assert_eq!(value(&shown, "toolsets")["value"], json!(["none"]));
    let is_set = json!({"key": "databases[0].password", "is_set": true});
    assert_eq!(value(&shown, "databases[0].password"), is_set);
    let in_use = value(&shown, "limits.max_rows");
    assert_eq!(in_use["value"], 100_000, "the value in use");
    let none = json!({"changed": [], "needs_restart": ["limits"]});
    assert_eq!(reload(&ada, "{}"), none, "nothing has changed since");

    program.signal(rustix::process::Signal::TERM);
    assert!(program.ended().success());
    let trail = std::fs::read_to_string(home.file("audit.jsonl")).expect("a trail");
    assert!(trail.contains("POST /api/admin/reload"), "{trail}");
}

#[test]
fn a_configuration_that_cannot_start_is_refused_with_its_message() {
    let server = serve("", &[]);
    let ada = server.client.logged_in("ada", PASSWORD);
    for (configuration, message) in [
        (
            "databases: [{name: main, user: reader}]\nlimits: {max_rows: 0}\n",
            "limits.max_rows: must be",
        ),
        ("databases: [", "failed to load config file"),
        ("colour: red\n", "unknown key 'colour'"),
        (
            "custom_definitions_path: missing.yaml\n",
            "Failed to load custom definitions",
        ),
    ] {
        server.home.configure(configuration);
        for body in ["", r#"{"dry_run": true}"#] {
            let answer = ada.post(RELOAD, body);
            check(&answer, 422, "invalid_configuration");
            let error = answer.json()["error"].take();
            assert!(
                error.as_str().is_some_and(|it| it.contains(message)),
                "{error}"
            );
        }
    }
    check(&ada.post(RELOAD, "[]"), 400, "bad_request");
    check(&ada.post(RELOAD, r#"{"dry_run": 1}"#), 400, "bad_request");
    assert_eq!(ada.get(INFO).status, 200);
}

#[test]
fn other_callers_see_no_configuration() {
    let server = serve("", &[]);
    let bob = server.client.logged_in("bob", PASSWORD);
    for client in [&bob, &server.client.bearing(TOKEN)] {
        check(&client.get(PATH), 403, "not_admin");
        check(&client.post(RELOAD, ""), 403, "not_admin");
    }
    let open = serve("", &["-no-auth"]);
    assert_eq!(open.client.get(PATH).status, 404);
    assert_eq!(open.client.post(RELOAD, "").status, 404);
}
