//! Records of the sign-in in the audit trail, in the log and in the metrics.

use serde_json::{Value, json};
use ziggurat_black_box::MetricsPage;

use super::{ALL, Office};
use crate::support::{Browser, Client, OAuthClient, granted, records::PASSWORD, until};

/// Signs in with a wrong password and a right one, refreshes, reuses and revokes.
fn walk(client: &Client) -> (OAuthClient, Vec<String>) {
    let registered = OAuthClient::register(client);
    Browser::new(client).sign_in(&registered.request("mcp"), "ann", "a wrong horse");
    let first = registered.tokens("ann", PASSWORD, ALL);
    let second = granted(&registered.refresh(&first.refresh));
    assert_eq!(registered.revoke(&second.access).status, 200);
    let secrets = [first.access, first.refresh, second.access, second.refresh];
    let mut secrets = Vec::from(secrets);
    secrets.extend([PASSWORD.to_owned(), "a wrong horse".to_owned()]);
    (registered, secrets)
}

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

#[test]
fn the_trail_has_each_event_and_no_secret() {
    let office = Office::new("audit: {file: trail.jsonl}\n");
    let trail = office.home.file("trail.jsonl");
    let (_program, client) = office.serve();
    let (registered, secrets) = walk(&client);
    let read = || std::fs::read_to_string(&trail).unwrap_or_default();
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
    assert_eq!(consent["client"], json!(registered.id));
    assert_eq!(consent["scope"], json!("mcp mcp:write"));
    assert_eq!(consent["caller"]["ip"], json!("127.0.0.1"));
    assert!(consent["request_id"].is_string() && consent["grant"].is_string());
    for secret in secrets {
        assert!(!lines.contains(&secret), "{secret}");
    }
    let verified = office
        .home
        .ran(&["-verify-audit", trail.to_str().expect("text")], "");
    assert_eq!(verified.code, Some(0), "{}", verified.stdout);
}

#[test]
fn without_a_trail_the_log_has_the_events_and_no_secret() {
    let office = Office::new("");
    let (program, client) = office.home.serve(&["-oauth", "-debug"]);
    let (_, secrets) = walk(&client);
    program.wait_for("event=grant.ended");
    let log = program.log();
    for event in EVENTS {
        assert!(log.contains(&format!("event={event}")), "{event}: {log}");
    }
    for secret in secrets {
        assert!(!log.contains(&secret), "{secret}");
    }
}

#[test]
fn metrics_count_sign_ins_and_tokens() {
    let office = Office::new("telemetry: {metrics: {address: '127.0.0.1:0'}}\n");
    let (program, client) = office.serve();
    walk(&client);
    let page = MetricsPage::of(&program);
    for (series, value) in [
        (
            r#"ziggurat_sign_ins_total{way="password",result="ok"}"#,
            1.0,
        ),
        (
            r#"ziggurat_sign_ins_total{way="password",result="failed"}"#,
            1.0,
        ),
        (
            r#"ziggurat_tokens_issued_total{grant_type="authorization_code",result="ok"}"#,
            1.0,
        ),
        (
            r#"ziggurat_tokens_issued_total{grant_type="refresh_token",result="ok"}"#,
            1.0,
        ),
    ] {
        assert_eq!(page.value(series), Some(value), "{series}");
    }
}
