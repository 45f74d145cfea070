//! Tests of the pages of the console.

use std::net::SocketAddr;

use crate::support::{Answer, Client, Home, Program};

const NO_PATH: &str = r#"{"error":"Not found"}"#;
const NO_TOKEN: &str = r#"{"error":"Missing Authorization header"}"#;
const NO_PAGE: &str = r#"{"error":"Requests from this origin are not allowed"}"#;

/// Header lines of a browser that opens an address.
const OPENS: &str = "sec-fetch-mode: navigate\r\nsec-fetch-dest: document\r\n";

/// A running server with an API token, and a client without it.
struct Server {
    _home: Home,
    _program: Program,
    client: Client,
    token: String,
}

/// Makes a folder with a configuration of a database that is never used.
fn home(more: &str) -> Home {
    let home = Home::new();
    home.configure(&format!(
        "databases: [{{name: main, host: 127.0.0.1, port: 1, user: nobody}}]\n{more}"
    ));
    home
}

fn serve(more: &str, arguments: &[&str]) -> Server {
    let home = home(more);
    let token = home.token("main");
    let (program, client) = home.serve(arguments);
    Server {
        _home: home,
        _program: program,
        client,
        token,
    }
}

fn port(client: &Client) -> u16 {
    let address: SocketAddr = client.address().parse().expect("an address");
    address.port()
}

fn check(answer: &Answer, status: u16, body: &str) {
    assert_eq!((answer.status, &*answer.body), (status, body), "{answer:?}");
}

#[test]
fn pages_need_no_token_and_have_their_policy() {
    let server = serve("", &[]);
    let client = &server.client;
    let first = client.get("/console/");
    assert_eq!(first.status, 200, "{first:?}");
    assert!(first.body.starts_with("<!doctype html>"), "{first:?}");
    for path in [
        "/console/sign-in",
        "/console/sql",
        "/console/schema",
        "/console/tools",
    ] {
        let page = client.get(path);
        assert_eq!(page.body, first.body, "{path}");
        for (name, value) in [
            ("content-type", "text/html; charset=utf-8"),
            ("cache-control", "no-cache"),
            ("vary", "Accept-Encoding"),
            ("x-content-type-options", "nosniff"),
            ("referrer-policy", "no-referrer"),
            ("cross-origin-opener-policy", "same-origin"),
            ("cross-origin-resource-policy", "same-origin"),
        ] {
            assert_eq!(page.header(name), Some(value), "{path}");
        }
        let policy = page.header("content-security-policy").expect("a policy");
        assert!(policy.starts_with("default-src 'none'; script-src 'self'; "));
        assert!(policy.ends_with("require-trusted-types-for 'script'; trusted-types 'none'"));
        let policy = page.header("permissions-policy").expect("a policy");
        assert!(policy.contains("camera=()"), "{policy}");
        let known = format!("if-none-match: {}\r\n", page.header("etag").expect("a tag"));
        check(&client.send("GET", path, &known, ""), 304, "");
        let head = client.send("HEAD", path, "", "");
        check(&head, 200, "");
        assert_eq!(head.header("etag"), page.header("etag"));
        assert_eq!(head.header("content-length"), page.header("content-length"));
        let refused = client.post(path, "");
        assert_eq!(
            (refused.status, refused.header("allow")),
            (405, Some("GET, HEAD"))
        );
    }
}

#[test]
fn nothing_else_below_the_console_is_there() {
    let server = serve("", &[]);
    let client = &server.client;
    let moved = client.get("/console");
    assert_eq!(
        (moved.status, moved.header("location")),
        (308, Some("/console/"))
    );
    for path in [
        "/console/nothing",
        "/console/sql/",
        "/console/index.html",
        "/console/assets/",
        "/console/assets/nothing.js",
        "/console/manifest.json",
    ] {
        for method in ["GET", "POST", "DELETE"] {
            check(&client.send(method, path, "", ""), 404, NO_PATH);
        }
    }
    // A path that a router could take for another path is not a path of the console.
    check(&client.get("/console/../api/user/info"), 401, NO_TOKEN);
    check(&client.get("/consoles"), 401, NO_TOKEN);
}

#[test]
fn a_browser_that_opens_the_address_gets_to_the_console() {
    let server = serve("", &[]);
    let client = &server.client;
    let answer = client.send("GET", "/", OPENS, "");
    check(&answer, 303, "");
    assert_eq!(answer.header("location"), Some("/console/"));
    assert_eq!(answer.header("cache-control"), Some("no-store"));
    let vary = "vary: Sec-Fetch-Mode, Sec-Fetch-Dest";
    assert!(
        answer
            .head
            .to_ascii_lowercase()
            .contains(&vary.to_ascii_lowercase()),
        "{answer:?}"
    );
    for (method, path, headers) in [
        ("GET", "/", ""),
        (
            "GET",
            "/",
            "sec-fetch-mode: cors\r\nsec-fetch-dest: empty\r\n",
        ),
        (
            "GET",
            "/",
            "sec-fetch-mode: navigate\r\nsec-fetch-dest: iframe\r\n",
        ),
        ("POST", "/", OPENS),
        ("GET", "/nothing", OPENS),
    ] {
        let answer = client.send(method, path, headers, "");
        check(&answer, 401, NO_TOKEN);
        assert_eq!(answer.header("vary"), Some("Origin"), "{answer:?}");
    }
}

#[test]
fn without_the_console_its_paths_are_unknown() {
    let server = serve("http: {console: false}\n", &[]);
    let (client, token) = (&server.client, &server.token);
    for path in ["/console", "/console/", "/console/sql", "/"] {
        check(&client.send("GET", path, OPENS, ""), 401, NO_TOKEN);
        check(
            &client.bearing(token).send("GET", path, OPENS, ""),
            404,
            NO_PATH,
        );
    }
    assert_eq!(client.get("/docs").status, 200);
}

#[test]
fn a_variable_switches_the_console_off() {
    let home = home("");
    let mut command = home.command(&["-http", "-addr", "127.0.0.1:0", "-no-auth"]);
    command.env("ZIGGURAT_HTTP_CONSOLE", "false");
    let (_program, client) = Program::listening(&mut command);
    check(&client.get("/console/"), 404, NO_PATH);
}

#[test]
fn without_authentication_only_this_machine_gets_the_console() {
    let server = serve("", &["-no-auth"]);
    let client = &server.client;
    assert_eq!(client.get("/console/").status, 200);
    let home = home("");
    let mut command = home.command(&["-http", "-addr", "0.0.0.0:0", "-no-auth=public"]);
    let (_public, client) = Program::listening(&mut command);
    check(&client.get("/console/"), 404, NO_PATH);
}

#[test]
fn the_pages_of_the_server_may_call_it() {
    let more = "http: {allowed_origins: ['https://app.example'], \
                public_url: 'https://tools.example'}\n";
    let server = serve(more, &[]);
    let (client, token) = (&server.client, &server.token);
    let port = port(client);
    let client = client.bearing(token);
    let own = [
        format!("http://localhost:{port}"),
        format!("http://127.0.0.1:{port}"),
    ];
    let own = own.iter().map(String::as_str);
    for origin in own.chain(["https://app.example", "https://tools.example"]) {
        let answer = client.send(
            "GET",
            "/api/user/info",
            &format!("origin: {origin}\r\n"),
            "",
        );
        assert_eq!(answer.status, 200, "{origin}");
    }
    for origin in [
        "http://localhost:1",
        "http://tools.example",
        "https://localhost",
    ] {
        let answer = client.send(
            "GET",
            "/api/user/info",
            &format!("origin: {origin}\r\n"),
            "",
        );
        check(&answer, 403, NO_PAGE);
    }
    // Its name is one of the hosts.
    let request = "GET /health HTTP/1.1\r\nhost: tools.example\r\nconnection: close\r\n\r\n";
    assert_eq!(client.exchange(request.as_bytes()).status, 200);
}
