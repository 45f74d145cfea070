//! Tests of signing in to the console, and of its defence against other pages.

use std::fs;

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::support::{Answer, Client, Home, Postgres, Program, records, records::PASSWORD, until};

const PATH: &str = "/api/console/session";
const INFO: &str = "/api/user/info";

/// The header with which a page signs in.
const PAGE: &str = "ziggurat-console:\r\n";

const TOKEN: &str = "an-API-token-of-a-test";

/// A server with the administrator ada, the user bob and an API token.
struct Server {
    home: Home,
    program: Program,
    client: Client,
}

/// A browser that is signed in.
struct Browser<'a> {
    server: &'a Server,
    cookie: String,
    key: String,
    state: Value,
}

impl Server {
    fn new(more: &str, arguments: &[&str]) -> Self {
        Self::configured(
            &format!("databases: [{{name: main, user: reader}}]\n{more}"),
            arguments,
        )
    }

    fn configured(configuration: &str, arguments: &[&str]) -> Self {
        let home = Home::new();
        home.configure(configuration);
        let token = records::token(1, TOKEN, &["database: main"]);
        home.replace(&home.tokens(), &records::tokens(&[token]));
        let ada = records::user("ada", &["admin: true"]);
        let bob = records::user("bob", &[]);
        home.replace(&home.users(), &records::users(&[ada, bob]));
        let (program, client) = home.serve(arguments);
        Self {
            home,
            program,
            client,
        }
    }

    fn port(&self) -> &str {
        let (_, port) = self.client.address().rsplit_once(':').expect("a port");
        port
    }

    fn post(&self, headers: &str, body: &Value) -> Answer {
        let headers = format!("{headers}content-type: application/json\r\n");
        self.client.send("POST", PATH, &headers, &body.to_string())
    }

    fn signed_in(&self, credentials: &Value) -> Browser<'_> {
        let answer = self.post(PAGE, credentials);
        assert_eq!(answer.status, 200, "{answer:?}");
        let state = answer.json();
        let cookie = answer.header("set-cookie").expect("a cookie");
        let (cookie, _) = cookie.split_once(';').expect("attributes");
        Browser {
            server: self,
            cookie: cookie.to_owned(),
            key: state["key"].as_str().expect("a key").to_owned(),
            state,
        }
    }

    fn ada(&self) -> Browser<'_> {
        self.signed_in(&json!({"username": "ada", "password": PASSWORD}))
    }
}

impl Browser<'_> {
    /// Returns the header lines of both halves.
    fn halves(&self) -> String {
        format!(
            "cookie: {}\r\nziggurat-console: {}\r\n",
            self.cookie, self.key
        )
    }

    fn send(&self, method: &str, path: &str, more: &str) -> Answer {
        let headers = format!("{}{more}", self.halves());
        self.server.client.send(method, path, &headers, "")
    }

    fn status(&self) -> u16 {
        self.send("GET", INFO, "").status
    }
}

fn check(answer: &Answer, status: u16, code: &str) {
    assert_eq!(answer.status, status, "{answer:?}");
    let body = answer.json();
    assert_eq!(body["code"], code, "{answer:?}");
    assert!(body["error"].is_string(), "{answer:?}");
    assert_eq!(answer.header("set-cookie"), None, "{answer:?}");
    assert_eq!(answer.header("cache-control"), Some("no-store"));
}

#[test]
fn a_user_signs_in_and_out() {
    let server = Server::new("", &[]);
    let state = server.client.get(PATH);
    assert_eq!(state.status, 200);
    assert_eq!(
        state.json(),
        json!({"signed_in": false, "auth": true, "server": {"name": "ziggurat-tools"},
               "problem": null})
    );
    let before = jiff::Timestamp::now();
    let ada = server.ada();
    let limits = json!({"row_limit": 100, "max_rows": 100_000, "max_export_rows": 1_000_000});
    for (name, value) in [
        ("signed_in", json!(true)),
        ("auth", json!(true)),
        ("kind", json!("user")),
        ("user", json!("ada")),
        ("admin", json!(true)),
        (
            "server",
            json!({"name": "ziggurat-tools", "version": env!("CARGO_PKG_VERSION")}),
        ),
        ("limits", limits),
    ] {
        assert_eq!(ada.state[name], value, "{name}");
    }
    let time = |name: &str| ada.state[name].as_str().and_then(|text| text.parse().ok());
    let (began, ends): (Option<jiff::Timestamp>, Option<jiff::Timestamp>) =
        (time("signed_in_at"), time("expires_at"));
    let (began, ends) = (began.expect("a time"), ends.expect("a time"));
    assert_eq!(ends.duration_since(began).as_hours(), 24);
    assert!(began.duration_since(before).abs().as_secs() < 60, "{began}");

    let name = format!("ziggurat-{}-console=", server.port());
    let value = ada
        .cookie
        .strip_prefix(&name)
        .expect("the name of the port");
    assert_eq!((value.len(), ada.key.len()), (22, 22));
    assert_ne!(value, ada.key);
    let answer = ada.send("GET", INFO, "");
    assert_eq!(answer.json(), json!({"username": "ada"}));
    // Asked again it is the same, but for the key.
    let mut expected = ada.state.clone();
    expected.as_object_mut().expect("a map").remove("key");
    assert_eq!(ada.send("GET", PATH, "").json(), expected);

    let answer = ada.send("DELETE", PATH, "");
    assert_eq!((answer.status, &*answer.body), (204, ""));
    let cookie = answer.header("set-cookie").expect("a cookie");
    assert!(
        cookie.starts_with(&name) && cookie.ends_with("; Max-Age=0"),
        "{cookie}"
    );
    assert_eq!(ada.status(), 401);
    assert_eq!(ada.send("GET", PATH, "").json()["signed_in"], false);
    assert_eq!(
        ada.send("DELETE", PATH, "").status,
        204,
        "also without a session"
    );
}

#[test]
fn the_cookie_cannot_be_read_by_scripts_nor_sent_by_other_sites() {
    let server = Server::new("http: {public_url: 'https://tools.example'}\n", &[]);
    let port = server.port();
    let credentials = json!({"username": "bob", "password": PASSWORD});
    for (headers, name, secure) in [
        (PAGE.to_owned(), format!("ziggurat-{port}-console="), ""),
        (
            format!("{PAGE}origin: http://127.0.0.1:{port}\r\nsec-fetch-site: same-origin\r\n"),
            format!("ziggurat-{port}-console="),
            "",
        ),
        (
            format!("{PAGE}origin: https://tools.example\r\n"),
            "__Host-ziggurat-console=".to_owned(),
            " Secure;",
        ),
    ] {
        let answer = server.post(&headers, &credentials);
        let cookie = answer.header("set-cookie").expect("a cookie");
        assert!(cookie.starts_with(&name), "{cookie}");
        let (_, attributes) = cookie.split_once(';').expect("attributes");
        let expected = format!("{secure} HttpOnly; SameSite=Strict; Path=/");
        assert_eq!(attributes, expected);
        assert_eq!(answer.header("access-control-allow-credentials"), None);
    }
}

#[test]
fn an_api_token_becomes_a_session_that_ends_with_it() {
    let postgres = Postgres::new();
    let server = Server::configured(&format!("databases:\n{}", postgres.entry("main")), &[]);
    let browser = server.signed_in(&json!({"token": TOKEN}));
    let limits = json!({"row_limit": 100, "max_rows": 1000, "max_export_rows": 0});
    for (name, value) in [
        ("kind", json!("token")),
        ("user", json!(null)),
        ("admin", json!(false)),
        ("limits", limits),
    ] {
        assert_eq!(browser.state[name], value, "{name}");
    }
    assert!(browser.state["signed_in_at"].is_string());
    assert!(browser.state["expires_at"].is_string());
    assert_eq!(browser.state["features"]["conversations"], false);
    let listed = browser.send("GET", "/api/databases", "").json();
    assert_eq!(listed["databases"][0]["name"], "main", "{listed}");
    // The token itself is not what the browser has.
    let token = records::token(2, "another", &[]);
    server
        .home
        .replace(&server.home.tokens(), &records::tokens(&[token]));
    until("the end of the session", || browser.status() == 401);
    assert_eq!(server.client.bearing(TOKEN).get(INFO).status, 401);
}

#[test]
fn signing_in_fails_with_the_reason() {
    let auth = "http: {auth: {rate_limit_max_attempts: 3}}\n";
    let server = Server::new(auth, &[]);
    let user = |name: &str, password: &str| json!({"username": name, "password": password});
    for body in [
        json!({}),
        json!([]),
        json!({"username": "ada"}),
        json!({"username": "ada", "password": ""}),
        json!({"username": "", "password": PASSWORD}),
        json!({"username": "ada", "password": 1}),
        json!({"username": "ada", "password": PASSWORD, "token": TOKEN}),
    ] {
        check(&server.post(PAGE, &body), 400, "bad_request");
    }
    let answer = server.post(PAGE, &json!({"token": "unknown"}));
    check(&answer, 401, "bad_credentials");
    assert_eq!(answer.json()["error"], "Invalid or unknown token");
    let answer = server.post(PAGE, &user("ada", "wrong"));
    check(&answer, 401, "bad_credentials");
    let invalid = "authentication failed: invalid username or password";
    assert_eq!(answer.json()["error"], invalid);
    let disabled = records::user("eve", &["enabled: false"]);
    server
        .home
        .replace(&server.home.users(), &records::users(&[disabled]));
    server.program.wait_for("Reloaded");
    let answer = server.post(PAGE, &user("eve", PASSWORD));
    check(&answer, 401, "account_disabled");
    // The third failure of this address, also by way of the tool.
    server.client.login("eve", PASSWORD);
    let answer = server.post(PAGE, &user("eve", PASSWORD));
    check(&answer, 429, "too_many_attempts");
    let wait = answer
        .header("retry-after")
        .and_then(|text| text.parse().ok());
    assert!(
        wait.is_some_and(|wait: u64| (1..=900).contains(&wait)),
        "{answer:?}"
    );
    // An API token cannot be guessed, and is not counted.
    assert_eq!(server.post(PAGE, &json!({"token": TOKEN})).status, 200);
}

#[test]
fn pages_of_other_origins_have_no_effect() {
    let more = "http: {public_url: 'https://tools.example', allowed_origins: \
                ['https://app.example']}\n";
    let server = Server::new(more, &[]);
    let credentials = json!({"username": "ada", "password": PASSWORD});
    let port = server.port();
    let (own, neighbour) = (
        format!("http://127.0.0.1:{port}"),
        format!("http://localhost:{port}"),
    );
    let ada = server.ada();
    assert_eq!(
        ada.send("GET", INFO, &format!("origin: {own}\r\n")).status,
        200
    );
    // Allowed to call with a token of its own, and no page of the console.
    for headers in [
        "origin: https://app.example\r\n".to_owned(),
        format!("origin: {neighbour}\r\n"),
        "sec-fetch-site: same-site\r\n".to_owned(),
        "sec-fetch-site: cross-site\r\n".to_owned(),
        "sec-fetch-site: none\r\n".to_owned(),
        format!("origin: {own}\r\nsec-fetch-site: cross-site\r\n"),
    ] {
        for (method, path) in [("GET", INFO), ("POST", "/mcp"), ("DELETE", INFO)] {
            let answer = ada.send(method, path, &headers);
            assert_eq!(answer.status, 401, "{headers}: {answer:?}");
            assert!(!answer.body.contains("ada"), "{answer:?}");
        }
        let answer = server.post(&format!("{PAGE}{headers}"), &credentials);
        check(&answer, 403, "foreign_origin");
        let answer = ada.send("DELETE", PATH, &headers);
        assert_eq!((answer.status, answer.header("set-cookie")), (204, None));
        assert_eq!(ada.send("GET", PATH, &headers).json()["signed_in"], false);
    }
    for origin in [
        "null",
        "https://evil.example",
        "http://localhost:1",
        "https://a.tools.example",
    ] {
        let headers = format!("{PAGE}origin: {origin}\r\n");
        let answer = server.post(&headers, &credentials);
        assert_eq!(
            (answer.status, answer.header("set-cookie")),
            (403, None),
            "{origin}"
        );
        let answer = ada.send("GET", INFO, &format!("origin: {origin}\r\n"));
        assert_eq!(answer.status, 403, "{origin}");
    }
    assert_eq!(ada.status(), 200, "nothing happened to the session");
}

#[test]
fn a_form_has_no_header_of_the_console_and_a_preflight_allows_none() {
    let server = Server::new("http: {allowed_origins: ['https://app.example']}\n", &[]);
    let credentials = json!({"username": "ada", "password": PASSWORD});
    check(&server.post("", &credentials), 403, "foreign_origin");
    let preflight = "origin: https://app.example\r\naccess-control-request-method: POST\r\n\
                     access-control-request-headers: ziggurat-console\r\n";
    let answer = server.client.send("OPTIONS", PATH, preflight, "");
    let allowed = answer
        .header("access-control-allow-headers")
        .unwrap_or_default();
    assert!(
        !allowed.to_ascii_lowercase().contains("ziggurat"),
        "{answer:?}"
    );
    assert_eq!(answer.header("access-control-allow-credentials"), None);
}

#[test]
fn either_half_alone_opens_nothing() {
    let server = Server::new("", &[]);
    let (ada, other) = (server.ada(), server.ada());
    let value = ada.cookie.split_once('=').expect("a value").1;
    let port = server.port();
    for headers in [
        format!("cookie: {}\r\n", ada.cookie),
        format!("ziggurat-console: {}\r\n", ada.key),
        format!(
            "cookie: {}\r\nziggurat-console: {}\r\n",
            ada.cookie, other.key
        ),
        format!("cookie: {}\r\nziggurat-console: {value}\r\n", ada.cookie),
        format!("cookie: {}\r\nziggurat-console: \r\n", ada.cookie),
        format!(
            "cookie: ziggurat-1-console={value}\r\nziggurat-console: {}\r\n",
            ada.key
        ),
        format!("authorization: Bearer {value}\r\n"),
        format!("authorization: Bearer {}\r\n", ada.key),
        format!(
            "cookie: ziggurat-{port}-console={}\r\nziggurat-console: {value}\r\n",
            ada.key
        ),
    ] {
        assert_eq!(
            server.client.send("GET", INFO, &headers, "").status,
            401,
            "{headers}"
        );
    }
    // A token of its own goes first.
    let own = "authorization: Bearer wrong\r\n";
    assert_eq!(ada.send("GET", INFO, own).status, 401);
    let own = format!("authorization: Bearer {TOKEN}\r\n");
    assert_eq!(ada.send("GET", INFO, &own).json()["username"], "");
}

#[test]
fn sessions_end_and_administrators_change_with_the_user_file() {
    let server = Server::new("", &[]);
    let ada = server.ada();
    let bob = server.signed_in(&json!({"username": "bob", "password": PASSWORD}));
    assert_eq!(bob.state["admin"], false);
    let ran = server
        .home
        .ran(&["-update-user", "-username", "bob", "-user-admin"], "");
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let is_admin = |browser: &Browser<'_>| browser.send("GET", PATH, "").json()["admin"] == true;
    until("the new administrator", || is_admin(&bob));
    server.home.ran(
        &["-update-user", "-username", "ada", "-user-admin=false"],
        "",
    );
    until("the end of the rights", || !is_admin(&ada));
    let text = fs::read_to_string(server.home.users()).expect("a file");
    assert_eq!(text.matches("admin: true").count(), 1, "{text}");
    assert_eq!(text.matches("admin:").count(), 1, "{text}");
    server.home.ran(&["-disable-user", "-username", "ada"], "");
    until("the end of the session", || ada.status() == 401);
    assert_eq!(bob.status(), 200);
}

#[test]
fn a_browser_cannot_sign_in_where_the_cookie_would_be_unencrypted() {
    let home = Home::new();
    home.configure("databases: [{name: main, user: reader}]\n");
    home.replace(&home.tokens(), &records::tokens(&[]));
    for (public_url, problem, status, code) in [
        ("", "https_required", 403, "https_required"),
        (
            "http://tools.example",
            "https_required",
            403,
            "https_required",
        ),
        ("https://tools.example", "", 401, "bad_credentials"),
        ("http://localhost:8080", "", 401, "bad_credentials"),
    ] {
        let url = if public_url.is_empty() {
            String::new()
        } else {
            format!("http: {{public_url: '{public_url}'}}\n")
        };
        home.configure(&format!("databases: [{{name: main, user: reader}}]\n{url}"));
        let mut command = home.command(&["-http", "-addr", "0.0.0.0:0"]);
        let (program, client) = Program::listening(&mut command);
        let state = client.get(PATH).json();
        let expected = Some(problem).filter(|problem| !problem.is_empty());
        assert_eq!(state["problem"].as_str(), expected, "{public_url}: {state}");
        let answer = client.send("POST", PATH, PAGE, r#"{"token": "unknown"}"#);
        check(&answer, status, code);
        let warns = program.log().contains("http.public_url is not set");
        assert_eq!(warns, public_url.is_empty(), "{public_url}");
    }
}

#[test]
fn without_authentication_the_console_is_open() {
    let server = Server::new("", &["-no-auth"]);
    let state = server.client.get(PATH).json();
    for (name, value) in [
        ("signed_in", json!(true)),
        ("auth", json!(false)),
        ("kind", json!("open")),
        ("user", json!(null)),
        ("admin", json!(false)),
        ("signed_in_at", json!(null)),
    ] {
        assert_eq!(state[name], value, "{state}");
    }
    let answer = server.post(PAGE, &json!({"token": TOKEN}));
    check(&answer, 404, "not_found");
    assert_eq!(server.client.send("DELETE", PATH, "", "").status, 204);
}

#[test]
fn without_the_console_its_session_is_unknown() {
    let server = Server::new("http: {console: false}\n", &[]);
    for method in ["GET", "POST", "DELETE"] {
        let answer = server.client.send(method, PATH, PAGE, "");
        assert_eq!(answer.status, 401, "{answer:?}");
        let answer = server.client.bearing(TOKEN).send(method, PATH, PAGE, "");
        assert_eq!(&*answer.body, r#"{"error":"Not found"}"#);
    }
}

#[test]
fn a_session_is_known_to_all_methods_and_to_none_after_its_user_is_deleted() {
    let server = Server::new("", &[]);
    let ada = server.ada();
    // The login tool starts the same kind of session, but its token has no halves.
    let tool = server.client.logged_in("ada", PASSWORD);
    let state = tool.get(PATH).json();
    assert_eq!(
        (&state["kind"], &state["admin"]),
        (&json!("user"), &json!(true))
    );
    assert_eq!(tool.send("DELETE", PATH, "", "").status, 204);
    assert_eq!(tool.get(INFO).status, 401);
    assert_eq!(ada.status(), 200);
    let token = server.client.bearing(TOKEN);
    assert_eq!(token.get(PATH).json()["kind"], "token");
    assert_eq!(token.send("DELETE", PATH, "", "").status, 204);
    assert_eq!(token.get(INFO).status, 200, "an API token is no session");
}

#[test]
fn a_wrong_token_is_denied_and_recorded_as_that_at_each_method_of_the_session() {
    let server = Server::new("audit: {file: audit.jsonl}\n", &[]);
    let wrong = server.client.bearing("unknown");
    for method in ["GET", "DELETE"] {
        check(&wrong.send(method, PATH, "", ""), 401, "denied");
    }
    // A page asks with the cookie of its last session whether it is still signed in.
    let ada = server.ada();
    assert_eq!(ada.send("DELETE", PATH, "").status, 204);
    assert_eq!(ada.send("GET", PATH, "").json()["signed_in"], false);
    assert_eq!(server.client.get(PATH).json()["signed_in"], false);
    let Server {
        home, mut program, ..
    } = server;
    program.signal(Signal::TERM);
    assert!(program.ended().success());
    let trail = fs::read_to_string(home.file("audit.jsonl")).expect("a trail");
    let records = trail.lines().map(serde_json::from_str);
    let records: Vec<Value> = records.collect::<Result<_, _>>().expect("JSON");
    let denied = records.iter().filter(|it| it["kind"] == "denied");
    assert_eq!(denied.count(), 2, "{trail}");
    let kinds: Vec<_> = records.iter().map(|it| &it["caller"]["kind"]).collect();
    assert!(kinds.contains(&&json!("anonymous")), "{trail}");
    assert!(!kinds.contains(&&json!("local")), "{trail}");
}

#[test]
fn no_half_of_a_session_is_in_logs_and_records() {
    let server = Server::new("audit: {file: audit.jsonl}\n", &["-debug"]);
    let ada = server.ada();
    server.post(
        PAGE,
        &json!({"username": "ada", "password": "a wrong password"}),
    );
    assert_eq!(ada.status(), 200);
    assert_eq!(ada.send("DELETE", PATH, "").status, 204);
    let value = ada.cookie.split_once('=').expect("a value").1.to_owned();
    let key = ada.key.clone();
    let Server {
        home, mut program, ..
    } = server;
    program.signal(Signal::TERM);
    assert!(program.ended().success());
    let log = program.log();
    assert!(log.contains(PATH), "{log}");
    let trail = fs::read_to_string(home.file("audit.jsonl")).expect("a trail");
    for secret in [&*value, &key, PASSWORD, "a wrong password"] {
        assert!(!log.contains(secret), "{log}");
        assert!(!trail.contains(secret), "{trail}");
    }
    let records: Vec<Value> = trail
        .lines()
        .map(|line| serde_json::from_str(line).expect("JSON"))
        .collect();
    let of = |method: &str| -> Vec<_> {
        let found = records.iter().filter(|record| record["method"] == method);
        found.map(|record| record["verdict"].clone()).collect()
    };
    assert_eq!(of("POST /api/console/session"), ["ok", "denied"], "{trail}");
    assert_eq!(of("DELETE /api/console/session"), ["ok"], "{trail}");
}

/// Creates an export in a browser, and returns its path.
fn export(browser: &Browser<'_>) -> String {
    let body = json!({"sql": "SELECT 1 AS one", "format": "csv"}).to_string();
    let headers = format!("{}content-type: application/json\r\n", browser.halves());
    let client = &browser.server.client;
    let answer = client.send("POST", "/api/exports", &headers, &body);
    assert_eq!(answer.status, 201, "{answer:?}");
    answer.json()["href"].as_str().expect("a path").to_owned()
}

/// Stops the server, and returns its record of the first download.
fn first_download(server: Server) -> Value {
    server.program.signal(Signal::TERM);
    let Server {
        home, mut program, ..
    } = server;
    assert!(program.ended().success());
    let trail = fs::read_to_string(home.file("audit.jsonl")).expect("a trail");
    let mut lines = trail
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).expect("JSON"));
    let download = lines.find(|line| {
        let method = line["method"].as_str().unwrap_or_default();
        method.starts_with("GET /api/exports/") && line["verdict"] == "ok"
    });
    download.expect("a record")
}

#[test]
fn a_download_has_the_cookie_alone_and_belongs_to_it() {
    let postgres = Postgres::new();
    let entry = postgres.entry("main");
    let sets =
        "toolsets:\n- {name: a, tools: [query_database], rest: [query], for: {users: [ada]}}\n";
    let server = Server::configured(
        &format!(
            "databases:\n{entry}{sets}limits: {{callers: [{{for: {{users: [ada]}}, \
             rows_per_day: 2}}]}}\naudit: {{file: audit.jsonl}}\n"
        ),
        &[],
    );
    let (ada, other) = (server.ada(), server.ada());
    let path = export(&ada);
    let get = |headers: &str| server.client.send("GET", &path, headers, "");
    let missing = get("");
    assert_eq!(missing.status, 401);
    assert_eq!(
        missing.json(),
        json!({"error": "Missing Authorization header"})
    );
    assert_eq!(
        missing.header("www-authenticate"),
        server.client.get(INFO).header("www-authenticate")
    );
    let cookie = |browser: &Browser<'_>| format!("cookie: {}\r\n", browser.cookie);
    let elsewhere = format!("{}sec-fetch-site: cross-site\r\n", cookie(&ada));
    assert_eq!(get(&elsewhere).status, 401);
    check(&get(&cookie(&other)), 404, "gone");
    check(&get(&other.halves()), 404, "gone");
    assert_eq!(
        server.client.send("HEAD", &path, &cookie(&ada), "").status,
        405
    );
    let file = get(&cookie(&ada));
    assert_eq!(
        (file.status, &*file.body),
        (200, "one\r\n1\r\n"),
        "{file:?}"
    );
    check(&get(&cookie(&ada)), 404, "gone");

    // The limits of the user apply, and the session must not have ended.
    let [second, third] = [export(&ada), export(&ada)];
    assert_eq!(
        server.client.send("GET", &second, &cookie(&ada), "").status,
        200
    );
    check(
        &server.client.send("GET", &third, &cookie(&ada), ""),
        429,
        "too_many_requests",
    );
    assert_eq!(ada.send("DELETE", PATH, "").status, 204);
    let ended = server.client.send("GET", &third, &cookie(&ada), "");
    check(&ended, 404, "gone");

    let line = first_download(server);
    assert_eq!(
        (&line["caller"]["name"], &line["rows"]),
        (&json!("ada"), &json!(1)),
        "{line}"
    );
}
