//! Tests of every command with every kind of response.

use std::net::TcpListener;

use crate::{
    server::{Reply, Server},
    support::{User, ends, fails, json, silence},
};

const ID: &str = "b0c1d2e3-f4a5-6789-bcde-890123456789";

/// Every command that sends one request, and its note about an empty response.
const COMMANDS: [(&[&str], &str); 14] = [
    (&["client", "list"], "No API clients found.\n"),
    (&["client", "get", ID], "No client data returned.\n"),
    (
        &["client", "update", ID, "--name", "n"],
        "No client data returned.\n",
    ),
    (&["client", "delete", ID, "--force"], ""),
    (
        &["client", "create", "--name", "n", "--description", "d"],
        "",
    ),
    (&["invite", "list"], "No invites found.\n"),
    (&["invite", "get", ID], "No invite data returned.\n"),
    (&["invite", "delete", ID, "--force"], ""),
    (&["membership", "list"], "No memberships found.\n"),
    (&["membership", "delete", ID, "--force"], ""),
    (&["tenant", "list"], "No tenants found.\n"),
    (&["tenant", "get", ID], "No tenant data returned.\n"),
    (
        &["tenant", "update", ID, "--name", "n"],
        "No tenant data returned.\n",
    ),
    (&["api", "POST", "/x"], ""),
];

/// A status with a body of JSON type: exit code, kind and message.
const STATUSES: &[(u16, &str, i32, &str, &str)] = &[
    (
        401,
        r#"{"code":401,"message":"no"}"#,
        5,
        "auth",
        "authentication error (401): no\n",
    ),
    (
        403,
        r#"{"code":403,"message":"no"}"#,
        5,
        "forbidden",
        "authentication error (403): no\n",
    ),
    (
        404,
        r#"{"code":404,"message":"none"}"#,
        4,
        "not_found",
        "resource not found (404): none\n",
    ),
    (
        404,
        r#"{"message":"Not Found"}"#,
        1,
        "general",
        "this server does not serve an endpoint this command needs:",
    ),
    (
        409,
        r#"{"code":409,"message":"twice"}"#,
        1,
        "conflict",
        "conflict (409): twice\n",
    ),
    (
        429,
        "",
        1,
        "rate_limited",
        "rate limited (429): retry after 0s\n",
    ),
    (
        500,
        "<html>oops</html>",
        1,
        "server",
        "API error (500): <html>oops</html>\n",
    ),
    (504, "", 3, "timeout", "request timed out (504):\n"),
    (
        400,
        r#"{"message":"plan does not allow creating x"}"#,
        5,
        "forbidden",
        "this tenant's plan does not allow this resource:",
    ),
];

fn answering(reply: Reply) -> (Server, User) {
    let server = Server::platform(move |_| reply.clone());
    let user = User::of(&server);
    (server, user)
}

#[test]
fn every_command_ends_as_the_status_says() {
    let labelled = |status, body: &str| {
        let kind = ("Content-Type", "application/json".to_owned());
        let soon = ("Retry-After", "0".to_owned());
        Reply::With(status, vec![kind, soon], body.to_owned())
    };
    for &(status, body, code, kind, message) in STATUSES {
        let (server, user) = answering(labelled(status, body));
        for (arguments, _) in COMMANDS {
            fails(&user.platform(arguments), code, message);
        }
        let ran = user.platform(&["tenant", "get", ID, "-o", "json"]);
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(code), ""), "{ran:?}");
        let error = &json(&ran.stderr)["error"];
        assert_eq!(
            (&error["code"], &error["status"]),
            (&kind.into(), &status.into())
        );
        assert_eq!(error["exit_code"], code);
        assert_eq!(error["request"]["method"], "GET");
        let url = format!("{}/account/v1/tenants/{ID}", server.url());
        assert_eq!(error["request"]["url"], url);
    }
}

#[test]
fn every_command_ends_quietly_on_an_empty_success() {
    for status in [200, 201, 204] {
        let (_, user) = answering(Reply::With(status, vec![], String::new()));
        for (arguments, note) in COMMANDS {
            if !note.is_empty() {
                ends(&user.platform(arguments), 0, "", note);
            }
        }
    }
}

#[test]
fn an_answer_that_is_not_what_it_should_be_names_the_action() {
    let (_, user) = answering(Reply::json(200, "<html>"));
    for (arguments, note) in COMMANDS {
        if !note.is_empty() {
            let action = match arguments[1] {
                "list" => format!("list {}s: ", arguments[0]),
                verb => format!("{verb} {}: ", arguments[0]),
            };
            fails(&user.platform(arguments), 1, &action);
        }
    }
}

#[test]
fn every_command_reports_an_unreachable_or_silent_server() {
    let port = {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        listener.local_addr().expect("an address").port()
    };
    let base = format!("http://127.0.0.1:{port}");
    let user = User::new().with_pair().with("ZIGGURAT_API_URL", &base);
    let (_, waiting) = silence();
    for (arguments, _) in COMMANDS {
        let ran = user.platform(arguments);
        fails(
            &ran,
            1,
            &format!("authentication failed: token request to {base}: connect to "),
        );
        let mut line = arguments.to_vec();
        line.extend(["--timeout", "150ms"]);
        let ran = waiting.platform(&line);
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(3), ""), "{ran:?}");
        assert!(
            ran.stderr.ends_with("\": no response within 150ms\n"),
            "{ran:?}"
        );
    }
}

#[test]
fn an_invalid_command_line_sends_nothing() {
    let server = Server::platform(|_| Reply::json(200, "{}"));
    let user = User::of(&server);
    let commands: [(&[&str], i32); 16] = [
        (&["tenant", "get", "nonsense"], 2),
        (&["invite", "delete", "nonsense", "--force"], 2),
        (
            &["client", "get", "b0c1d2e3-f4a5-6789-bcde-89012345678g"],
            2,
        ),
        (&["client", "get", ""], 2),
        (&["client", "update", ID], 2),
        (&["tenant", "update", ID], 2),
        (&["client", "delete", ID], 2),
        (&["client", "create", "--description", "d"], 2),
        (&["client", "create", "--name", "", "--description", "d"], 2),
        (&["tenant", "get", ID, "-o", "xml"], 2),
        (
            &["tenant", "update", ID, "--name", "x", "--dry-run=maybe"],
            2,
        ),
        (&["invite", "create"], 5),
        (&["invite", "accept", ID], 5),
        (&["tenant", "list", "--timeout", "30"], 2),
        (&["tenant", "list", "--api-url", ""], 2),
        (&["tenant", "list", "--api-url", "ftp://h"], 2),
    ];
    for (arguments, code) in commands {
        let ran = user.platform(arguments);
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(code), ""), "{ran:?}");
    }
    assert!(server.seen().is_empty());
}
