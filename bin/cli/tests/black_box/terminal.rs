//! Tests on a terminal: questions without echo, the waiting notice, and escaped control characters.
//!
//! `script` creates the terminal. Without it these tests pass without a check.

use crate::{
    server::{Reply, Server},
    support::{ID, SECRET, User, silence},
};

const PROGRAM: &str = env!("CARGO_BIN_EXE_ziggurat");

/// Runs a shell line in a terminal and answers each question when it appears; returns the output.
fn in_a_terminal(user: &User, line: &str, answers: &[(&str, &[u8])]) -> Option<String> {
    let home = user.home().to_str().expect("text");
    let environment = [
        ("HOME", home),
        ("ZIGGURAT_NO_KEYCHAIN", "1"),
        ("NO_COLOR", "1"),
    ];
    ziggurat_black_box::in_a_terminal(line, environment, answers)
}

#[test]
fn an_interrupt_at_the_secret_prompt_gives_the_echo_back_and_exits_130() {
    let server = Server::platform(|_| Reply::json(200, "[]"));
    let user = User::new();
    let echo = "stty -a | tr ' ' '\\n' | grep -x -e echo -e -echo";
    let line = format!(
        "trap : INT; {echo}; {PROGRAM} platform auth login --api-url {}; echo \"exit $?\"; {echo}",
        server.url()
    );
    let answers = [
        ("Client ID: ", &b"some-id\n"[..]),
        ("Client Secret: ", &[3]),
    ];
    let Some(seen) = in_a_terminal(&user, &line, &answers) else {
        return;
    };
    let words: Vec<&str> = seen.split_whitespace().collect();
    assert!(seen.contains("exit 130"), "{seen}");
    assert_eq!(
        (words.first(), words.last()),
        (Some(&"echo"), Some(&"echo")),
        "{seen}"
    );
    assert!(server.seen().is_empty());
}

#[test]
fn a_secret_is_not_shown_while_it_is_typed() {
    let server = Server::platform(|_| Reply::json(200, "[]"));
    let user = User::new();
    let line = format!("{PROGRAM} platform auth login --api-url {}", server.url());
    let (id, secret) = (format!("{ID}\n"), format!("{SECRET}\n"));
    let answers = [
        ("Client ID: ", id.as_bytes()),
        ("Client Secret: ", secret.as_bytes()),
    ];
    let Some(seen) = in_a_terminal(&user, &line, &answers) else {
        return;
    };
    assert!(seen.contains(&format!("Client ID: {ID}\r\n")), "{seen}");
    assert!(
        seen.contains("Client Secret: \r\nAuthenticated. "),
        "{seen}"
    );
    assert!(!seen.contains(SECRET), "{seen}");
    assert!(server.exchanges()[0].body.contains(SECRET));
}

#[test]
fn text_pasted_before_the_secret_prompt_is_not_lost() {
    let server = Server::platform(|_| Reply::json(200, "[]"));
    let user = User::new();
    let line = format!("{PROGRAM} platform auth login --api-url {}", server.url());
    let both = format!("{ID}\n{SECRET}\n");
    let answers = [("Client ID: ", both.as_bytes())];
    let Some(seen) = in_a_terminal(&user, &line, &answers) else {
        return;
    };
    assert!(seen.contains("Authenticated. "), "{seen}");
    assert!(server.exchanges()[0].body.contains(SECRET));
}

#[test]
fn the_waiting_notice_names_the_host_and_is_erased() {
    let (server, user) = silence();
    let line = format!("{PROGRAM} platform tenant list --timeout 2s");
    let Some(seen) = in_a_terminal(&user, &line, &[]) else {
        return;
    };
    let waiting = format!("waiting for 127.0.0.1:{} …\r\u{1b}[KError: ", server.port());
    assert!(seen.contains(&waiting), "{seen:?}");
}

#[test]
fn a_server_cannot_control_the_terminal() {
    let server = Server::platform(|_| {
        let headers = vec![("X-Tricky", "a\u{9b}2Jb".to_owned())];
        Reply::With(
            400,
            headers,
            "{\"message\":\"a\\u001b[2Jb\\u202e\"}".to_owned(),
        )
    });
    let user = User::of(&server);
    for more in ["", "--debug", "-v"] {
        let line = format!("{PROGRAM} platform api GET /x -i {more}");
        let Some(seen) = in_a_terminal(&user, &line, &[]) else {
            return;
        };
        assert!(
            seen.contains("API error (400): a\\x1b[2Jb\\xe2\\x80\\xae"),
            "{seen:?}"
        );
        assert!(!seen.contains(['\u{1b}', '\u{202e}', '\u{9b}']), "{seen:?}");
    }
}

#[test]
fn no_format_lets_a_server_control_the_terminal_and_a_pipe_gets_raw_bytes() {
    let name = "a\u{1b}[2J\u{9b}2J\u{202e}\u{7f}z";
    let server = Server::platform(move |_| {
        let name = name.replace('\u{1b}', "\\u001b");
        Reply::json(200, &format!("[{{\"id\":\"{ID}\",\"name\":\"{name}\"}}]"))
    });
    let user = User::of(&server);
    for command in [
        "tenant list",
        "tenant list -o json",
        "tenant list -o yaml",
        "tenant list --jq .[0].name",
        "api GET /x",
        "api GET /x -o json",
        "api GET /x --fields name",
    ] {
        let line = format!("{PROGRAM} platform {command}");
        let Some(seen) = in_a_terminal(&user, &line, &[]) else {
            return;
        };
        assert!(seen.contains('z'), "{command}: {seen:?}");
        let tricks = ['\u{1b}', '\u{9b}', '\u{202e}', '\u{7f}'];
        assert!(!seen.contains(tricks), "{command}: {seen:?}");
    }
    let piped = user.platform(&["tenant", "list", "--jq", ".[0].name"]);
    assert_eq!(piped.stdout, format!("{name}\n"));
}
