//! Records of the sign-in in the audit trail, in the log and in the metrics.

use std::fs;

use serde_json::{Value, json};
use ziggurat_black_box::{Browser, MetricsPage, OAuthClient, granted, until};

use super::{ALL, PASSWORD, SIGN_IN, add_person};
use crate::support::{Client, Home};

const EVENTS: [&str; 8] = [
    "client.registered",
    "login.failed",
    "login.ok",
    "consent.given",
    "code.issued",
    "token.issued",
    "token.refreshed",
    "grant.ended",
];

const WRONG: &str = "a wrong horse";

/// Makes a tenant. A trail begins with the server.
fn home(more: &str) -> (Home, Value) {
    let home = Home::new();
    home.configure(&[SIGN_IN, more].concat());
    let made = home.done(&["init"]);
    (home, made)
}

/// Signs in with a wrong password and a right one, refreshes and revokes. Returns the client, and the
/// secrets that were sent.
fn walk(home: &Home, client: &Client) -> (OAuthClient, Vec<String>) {
    add_person(home, client, "ann@shop.example");
    let app = OAuthClient::register(client);
    Browser::new(client).sign_in(&app.request("mcp"), "ann@shop.example", WRONG);
    let first = app.tokens("ann@shop.example", PASSWORD, &ALL);
    let second = granted(&app.refresh(&first.refresh));
    assert_eq!(app.revoke(&second.access).status, 200);
    let tokens = [first.access, first.refresh, second.access, second.refresh];
    let passwords = [PASSWORD, WRONG].map(str::to_owned);
    (app, tokens.into_iter().chain(passwords).collect())
}

fn assert_has_none(text: &str, secrets: &[String]) {
    for secret in secrets {
        assert!(!text.contains(secret), "{secret}");
    }
}

#[test]
fn the_trail_has_each_event_and_no_secret() {
    let (home, _) = home("audit: {file: trail.jsonl}\n");
    let trail = home.file("trail.jsonl");
    let (_program, client) = home.serve();
    let (app, secrets) = walk(&home, &client);
    let read = || fs::read_to_string(&trail).unwrap_or_default();
    until("the last event is written", || {
        read().contains("grant.ended")
    });
    let lines = read();
    let records = lines
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).expect("JSON"));
    let records: Vec<_> = records
        .filter(|record| record["kind"] == "sign_in")
        .collect();
    let events: Vec<_> = records
        .iter()
        .map(|it| it["event"].as_str().expect("a name"))
        .collect();
    assert_eq!(events, EVENTS);
    let consent = &records[3];
    assert_eq!(consent["client"], json!(app.id));
    assert_eq!(consent["scope"], "mcp mcp:write");
    assert_eq!(consent["resource"], "https://tools.example/mcp");
    assert_eq!(consent["caller"]["ip"], "127.0.0.1");
    assert!(consent["request_id"].is_string() && consent["grant"].is_string());
    assert_has_none(&lines, &secrets);
}

#[test]
fn without_a_trail_the_log_has_the_events_and_no_secret() {
    let (mut home, _) = home("");
    home.set("ZIGGURAT_LOG", "debug");
    let (program, client) = home.serve();
    let (_, secrets) = walk(&home, &client);
    program.wait_for("event=grant.ended");
    let log = program.log();
    for event in EVENTS {
        assert!(log.contains(&format!("event={event}")), "{event}: {log}");
    }
    assert_has_none(&log, &secrets);
}

#[test]
fn metrics_count_sign_ins_tokens_and_grants() {
    let (home, made) = home("telemetry: {metrics: {address: '127.0.0.1:0'}}\naudit: {file: a}\n");
    let app = {
        let (_program, client) = home.serve();
        walk(&home, &client);
        let app = OAuthClient::register(&client);
        app.tokens("ann@shop.example", PASSWORD, &ALL);
        app.id
    };
    // The next server counts the grants when it starts.
    let (program, client) = home.serve();
    let page = MetricsPage::of(&program);
    let grants = |kind: &str| page.value(&format!(r#"ziggurat_grants{{kind="{kind}"}}"#));
    until("the grants are counted", || grants("code") == Some(1.0));
    let app = OAuthClient::of(&client, &app);
    Browser::new(&client).sign_in(&app.request("mcp"), "ann@shop.example", WRONG);
    let tokens = app.tokens("ann@shop.example", PASSWORD, &ALL);
    app.refresh(&tokens.refresh);
    let kind = "content-type: application/x-www-form-urlencoded\r\n";
    let [id, secret] = ["client_id", "client_secret"].map(|name| made[name].as_str().expect(name));
    let form = format!("grant_type=client_credentials&client_id={id}&client_secret={secret}");
    assert_eq!(client.send("POST", "/oauth/token", kind, &form).status, 200);
    for series in [
        r#"sign_ins_total{way="password",result="ok"}"#,
        r#"sign_ins_total{way="password",result="failed"}"#,
        r#"tokens_issued_total{grant_type="authorization_code",result="ok"}"#,
        r#"tokens_issued_total{grant_type="refresh_token",result="ok"}"#,
        r#"tokens_issued_total{grant_type="client_credentials",result="ok"}"#,
    ] {
        let series = format!("ziggurat_{series}");
        assert_eq!(page.value(&series), Some(1.0), "{series}");
    }
    assert!(page.value("ziggurat_audit_records_total") > Some(0.0));
}

#[test]
fn each_command_is_recorded_in_a_file_of_its_own_or_not_run() {
    let (home, _) = home("audit: {file: trail.jsonl}\n");
    assert_eq!(home.ran(&["client", "delete", "x"]).code, Some(1));
    let lines = fs::read_to_string(home.file("trail-admin.jsonl")).expect("written");
    let calls = lines
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).expect("JSON"));
    let calls: Vec<_> = calls.filter(|line| line["kind"] == "call").collect();
    let told: Vec<_> = calls
        .iter()
        .map(|call| (&call["method"], &call["verdict"]))
        .collect();
    assert_eq!(
        told,
        [
            (&json!("init"), &json!("ok")),
            (&json!("client delete"), &json!("error"))
        ]
    );
    assert_eq!(calls[0]["caller"]["kind"], "admin");

    let required = "audit: {file: missing/trail.jsonl, required: true}\n";
    home.configure(&[SIGN_IN, required].concat());
    let ran = home.ran(&["tenant", "create", "-name", "B", "-email", "b@b.example"]);
    assert_eq!(ran.code, Some(1));
    assert!(ran.stderr.contains("cannot be recorded"), "{}", ran.stderr);
    home.configure(SIGN_IN);
    let tenants = home.done(&["tenant", "list"]);
    assert_eq!(tenants.as_array().map(Vec::len), Some(1));
}
