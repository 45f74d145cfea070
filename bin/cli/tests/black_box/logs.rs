//! Tests of the logged exchanges: no secret is shown.

use std::{fs, process::Command};

use ziggurat_black_box::output;

use crate::{
    server::{Reply, Server},
    support::{ID, SECRET, User, ends},
};

const RECORD: &str = "b0c1d2e3-f4a5-6789-bcde-890123456789";

/// The secret of a created client, the token of an invite, and the access token.
const CREATED: &str = "cr3ated-secret-of-a-new-client";
const INVITED: &str = "inv1te-token-of-somebody";

fn talkative() -> Server {
    Server::exchanging(Reply::token("acc3ss-token-of-this-session", 3600), |seen| {
        let cookie = ("Set-Cookie", "session=c00kie-of-the-session".to_owned());
        // It quotes the request wherever possible.
        let bearer = seen.header("authorization").unwrap_or_default().to_owned();
        let body = match (seen.method.as_str(), seen.target.as_str()) {
            ("POST", "/account/v1/clients") => format!(
                r#"{{"id":"{RECORD}","name":"n","auth0_id":"x","auth0_secret":"{CREATED}"}}"#
            ),
            (_, path) if path.contains("invites/") => {
                format!(
                    r#"{{"id":"{RECORD}","token":"{INVITED}","accept_url":"http://h/{INVITED}"}}"#
                )
            }
            ("GET", path) if path.ends_with('s') => "[]".to_owned(),
            ("DELETE", _) => format!("<p>you are {bearer}, {SECRET}</p>"),
            _ => format!(r#"{{"id":"{RECORD}","message":"you are {bearer}, {SECRET}"}}"#),
        };
        let status = if seen.method == "DELETE" { 500 } else { 200 };
        Reply::With(status, vec![cookie, ("X-Echo", bearer)], body)
    })
}

#[test]
fn verbose_is_three_lines_and_debug_is_everything_masked() {
    let server = Server::platform(|_| {
        let headers = vec![("Set-Cookie", "session=hush".to_owned())];
        Reply::With(200, headers, r#"{"token":"hush","a":1}"#.to_owned())
    });
    let user = User::of(&server);
    user.platform(&["tenant", "list"]);
    let ran = user.platform(&[
        "api",
        "PATCH",
        "/x?token=hush",
        "-d",
        "{\"password\":\"hush\"}",
        "-v",
    ]);
    let lines: Vec<&str> = ran.stderr.lines().collect();
    assert_eq!(lines[0], format!("> PATCH {}/x?token=████", server.url()));
    assert_eq!(lines[1], "> Authorization: ████");
    assert!(
        lines[2].starts_with("< 200 OK (") && lines[2].ends_with("ms)"),
        "{lines:?}"
    );
    assert_eq!(lines.len(), 3);
    let ran = user.platform(&[
        "api",
        "PATCH",
        "/x",
        "-d",
        "{\"password\":\"hush\"}",
        "--debug",
    ]);
    let lines: Vec<&str> = ran.stderr.lines().collect();
    let host = format!("> Host: 127.0.0.1:{}", server.port());
    assert_eq!(
        lines[1..6],
        [
            "> Accept: application/json",
            "> Authorization: ████",
            "> Content-Length: 19",
            "> Content-Type: application/json",
            &host,
        ]
    );
    assert!(lines[6].starts_with("> User-Agent: ziggurat/"), "{lines:?}");
    assert_eq!(lines[7], "> {\"password\":\"████\"}");
    assert_eq!(
        lines[9..],
        [
            "< Content-Length: 22",
            "< Set-Cookie: ████",
            "< {\"token\":\"████\",\"a\":1}"
        ]
    );
}

#[test]
fn an_exchange_is_shown_masked_and_only_if_it_is_json() {
    let server = Server::exchanging(Reply::token("hush-hush-hush", 3600), |_| {
        Reply::json(200, "[]")
    });
    let ran = User::of(&server).platform(&["tenant", "list", "--debug"]);
    let body = format!("> {{\"client_id\":\"{ID}\",\"client_secret\":\"████\"}}\n");
    assert!(ran.stderr.contains(&body), "{}", ran.stderr);
    assert!(
        ran.stderr
            .contains("< {\"access_token\":\"████\",\"expires_in\":3600,"),
        "{}",
        ran.stderr
    );
    let form = Reply::With(200, vec![], "access-token is hush-hush-hush".to_owned());
    let server = Server::exchanging(form, |_| Reply::json(200, "[]"));
    let ran = User::of(&server).platform(&["tenant", "list", "--debug"]);
    assert!(
        ran.stderr
            .contains("< <not shown: 30 bytes that are not JSON>\n"),
        "{}",
        ran.stderr
    );
}

#[test]
fn a_failure_is_one_line_of_the_log() {
    let server = Server::platform(|_| Reply::Close);
    let ran = User::of(&server).platform(&["tenant", "list", "-v", "--retries", "1"]);
    let troubles = ran
        .stderr
        .lines()
        .filter(|line| line.starts_with("< error: "));
    assert_eq!(troubles.count(), 2, "{}", ran.stderr);
}

#[test]
fn no_secret_is_on_standard_error_in_a_file_or_among_the_arguments() {
    let server = talkative();
    let user = User::of(&server);
    let url = server.url();
    let commands: [&[&str]; 21] = [
        &["auth", "status"],
        &["auth", "whoami"],
        &["doctor"],
        &["client", "list"],
        &["client", "get", RECORD],
        &["client", "create", "--name", "n", "--description", "d"],
        &["client", "update", RECORD, "--name", "n"],
        &["client", "delete", RECORD, "--force"],
        &["invite", "list"],
        &["invite", "get", RECORD],
        &["invite", "delete", RECORD, "--force"],
        &["invite", "create"],
        &["invite", "accept", RECORD],
        &["membership", "list"],
        &["membership", "delete", RECORD, "--force"],
        &["tenant", "list"],
        &["tenant", "get", RECORD],
        &["tenant", "update", RECORD, "--name", "n"],
        &["api", "DELETE", "/x", "-i"],
        &["api", "POST", "/x", "-d", "{}", "--dry-run"],
        &["auth", "logout"],
    ];
    let secrets = [
        SECRET,
        CREATED,
        INVITED,
        "acc3ss-token-of-this-session",
        "c00kie-of-the-session",
    ];
    for format in ["text", "json", "yaml"] {
        for arguments in commands {
            user.configure(&crate::support::profile("default", &url));
            let mut line = arguments.to_vec();
            line.extend(["--debug", "-o", format]);
            let ran = user.platform(&line);
            for secret in secrets {
                assert!(!ran.stderr.contains(secret), "{line:?}: {}", ran.stderr);
            }
        }
        let config = user.config_text();
        assert!(
            !config.contains(SECRET) && !config.contains(ID),
            "logged out: {config}"
        );
    }
    let left = fs::read_dir(user.home().join(".ziggurat")).expect("a folder");
    for entry in left.flatten() {
        let text = fs::read_to_string(entry.path()).unwrap_or_default();
        for secret in secrets {
            assert!(!text.contains(secret), "{}", entry.path().display());
        }
    }
}

#[test]
fn a_new_secret_is_captured_whole_and_alone() {
    let server = talkative();
    let user = User::of(&server);
    let line = format!(
        "secret=$({} platform client create --name n --description d 2>/dev/null); printf '[%s]' \
         \"$secret\"",
        env!("CARGO_BIN_EXE_ziggurat")
    );
    let mut shell = Command::new("sh");
    let shell = shell.args(["-c", &line]).env_clear();
    let shell = shell.env("HOME", user.home());
    let output = output(shell.env("ZIGGURAT_NO_KEYCHAIN", "1"));
    let captured = String::from_utf8(output.stdout).expect("text");
    assert_eq!(captured, format!("[{CREATED}]"));
}

#[test]
fn a_closed_pipe_ends_the_program_silently() {
    let body = format!("[{}0]", "0,".repeat(200_000));
    let server = Server::platform(move |_| Reply::json(200, &body));
    let user = User::of(&server);
    let line = format!(
        "{} platform api GET /x | head -c 1",
        env!("CARGO_BIN_EXE_ziggurat")
    );
    let mut shell = Command::new("sh");
    let shell = shell.args(["-c", &line]).env_clear();
    let shell = shell.env("HOME", user.home()).env("PATH", "/usr/bin:/bin");
    let output = output(shell.env("ZIGGURAT_NO_KEYCHAIN", "1"));
    assert_eq!(String::from_utf8_lossy(&output.stdout), "[");
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
}

#[test]
fn control_characters_of_a_server_stay_visible_in_a_pipe_only() {
    let server = Server::platform(|_| Reply::json(400, "{\"message\":\"a\\u001b[2Jb\"}"));
    let ran = User::of(&server).platform(&["tenant", "list"]);
    ends(&ran, 1, "", "Error: API error (400): a\u{1b}[2Jb\n");
}
