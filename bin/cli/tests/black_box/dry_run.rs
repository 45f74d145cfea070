//! Tests of dry runs: no request that writes is sent.

use serde_json::json;

use crate::{
    server::{Reply, Server},
    support::{User, ends, fails, json},
};

const ID: &str = "b0c1d2e3-f4a5-6789-bcde-890123456789";

/// Every command that writes, with the request it would send.
const WRITES: [(&[&str], &str, &str, &str); 7] = [
    (
        &["client", "create", "--name", "ci", "--description", "d"],
        "POST",
        "/account/v1/clients",
        r#"{"description":"d","name":"ci"}"#,
    ),
    (
        &["client", "update", ID, "--name", "ci"],
        "PATCH",
        "/account/v1/clients/b0c1d2e3-f4a5-6789-bcde-890123456789",
        r#"{"name":"ci"}"#,
    ),
    (
        &["client", "delete", ID],
        "DELETE",
        "/account/v1/clients/b0c1d2e3-f4a5-6789-bcde-890123456789",
        "",
    ),
    (
        &["invite", "delete", ID],
        "DELETE",
        "/account/v1/invites/b0c1d2e3-f4a5-6789-bcde-890123456789",
        "",
    ),
    (
        &["membership", "delete", ID],
        "DELETE",
        "/account/v1/memberships/b0c1d2e3-f4a5-6789-bcde-890123456789",
        "",
    ),
    (
        &["tenant", "update", ID, "--name", "acme"],
        "PATCH",
        "/account/v1/tenants/b0c1d2e3-f4a5-6789-bcde-890123456789",
        r#"{"name":"acme"}"#,
    ),
    (
        &["api", "PUT", "/any?token=hush", "-d", r#"{"token":"hush"}"#],
        "PUT",
        "/any?token=████",
        r#"{"token":"████"}"#,
    ),
];

#[test]
fn every_command_that_writes_reports_what_it_would_send_and_sends_nothing() {
    let server = Server::platform(|_| Reply::json(200, "{}"));
    let base = format!("{}/base", server.url());
    let user = User::of(&server);
    for (arguments, method, path, body) in WRITES {
        for format in ["text", "json", "yaml"] {
            let mut line = arguments.to_vec();
            line.extend(["--dry-run", "--api-url", &base, "-o", format]);
            let ran = user.platform(&line);
            assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""), "{ran:?}");
            let url = format!("{base}{path}");
            match format {
                "text" => {
                    let request = format!("\nwould send:\n  {method} {url}\n");
                    assert!(ran.stdout.contains(&request), "{}", ran.stdout);
                    assert!(ran.stdout.ends_with(
                        "\nnothing was written; the server was not consulted and may still reject \
                         this request.\n"
                    ));
                }
                "json" => {
                    let report = json(&ran.stdout);
                    assert_eq!(report["request"]["method"], method);
                    assert_eq!(report["request"]["url"], url);
                    assert_eq!(report["request"].get("body").is_some(), !body.is_empty());
                    assert!(ran.stdout.contains(body), "{}", ran.stdout);
                    let is_delete = arguments[1] == "delete";
                    let checks = report["checks_passed"].as_array().expect("a list");
                    assert_eq!(checks.len(), usize::from(is_delete), "{arguments:?}");
                }
                _ => {
                    let report: serde_json::Value =
                        serde_yaml::from_str(&ran.stdout).expect("YAML");
                    assert_eq!(report["dry_run"], true);
                    assert_eq!(report["request"]["url"], url);
                }
            }
            assert!(!ran.stdout.contains("hush"), "{}", ran.stdout);
        }
    }
    assert!(server.calls().is_empty(), "{:?}", server.calls());
}

#[test]
fn the_report_of_a_delete_reads_as_specified() {
    let server = Server::platform(|_| Reply::json(200, "{}"));
    let user = User::of(&server);
    let url = format!("{}/account/v1/clients/{ID}", server.url());
    let ran = user.platform(&["client", "delete", ID, "--dry-run"]);
    let text = format!(
        "checks passed:\n  ✓ would require confirmation (--force bypasses)\nwould send:\n  DELETE \
         {url}\nnothing was written; the server was not consulted and may still reject this \
         request.\n"
    );
    ends(&ran, 0, &text, "");
    let record = format!(r#"[{{"id":"{ID}","name":"ci"}}]"#);
    let named = Server::platform(move |_| Reply::json(200, &record));
    let ran = User::of(&named).platform(&["client", "delete", "ci", "--dry-run"]);
    let end = "\nnothing was written; the server may still reject this request.\n";
    assert!(ran.stdout.ends_with(end), "the name was looked up: {ran:?}");
    assert!(
        ran.stdout.contains("✓ the name belongs to one record"),
        "{ran:?}"
    );
    let ran = user.platform(&["client", "delete", ID, "--dry-run", "--force"]);
    let first = "checks passed: none — this command has no client-side checks\nwould send:\n";
    assert!(ran.stdout.starts_with(first), "{ran:?}");
}

#[test]
fn headers_are_reported_on_request_and_masked() {
    let server = Server::platform(|_| Reply::json(200, "{}"));
    let user = User::of(&server);
    let arguments = [
        "api",
        "POST",
        "/x",
        "-d",
        "{\"a\":1}",
        "-H",
        "X-Api-Key: hush",
    ];
    let mut line = arguments.to_vec();
    line.extend(["--dry-run", "--debug"]);
    let text = user.platform(&line).stdout;
    assert!(
        text.contains(
            "\n  Accept: application/json\n  Authorization: ████\n  Content-Type: \
             application/json\n  User-Agent: ziggurat/"
        ),
        "{text}"
    );
    assert!(
        text.contains("\n  X-Api-Key: ████\n  {\n    \"a\": 1\n  }\nnothing"),
        "{text}"
    );
    line.extend(["-o", "json"]);
    let report = json(&user.platform(&line).stdout);
    assert_eq!(
        report["request"]["headers"]["Authorization"],
        json!(["████"])
    );
}

#[test]
fn a_read_is_sent_and_a_dry_run_needs_credentials() {
    let server = Server::platform(|_| Reply::json(200, "{}"));
    let user = User::of(&server);
    ends(
        &user.platform(&["api", "GET", "/x", "--dry-run"]),
        0,
        "{}\n",
        "",
    );
    assert_eq!(server.calls().len(), 1);
    let ran = User::new().platform(&["client", "delete", ID, "--dry-run"]);
    let head = "checks passed:\n  ✓ would require confirmation (--force bypasses)\n";
    assert!(
        ran.code == Some(5)
            && ran.stdout.is_empty()
            && ran
                .stderr
                .starts_with(&format!("{head}Error: no credentials found")),
        "{ran:?}"
    );
    for command in [["tenant", "list"], ["auth", "login"], ["auth", "logout"]] {
        let mut line = command.to_vec();
        line.push("--dry-run");
        fails(&user.platform(&line), 2, "unknown flag: --dry-run\n");
    }
}
