//! Tests of `/health` and `/ready`, and of the access to them.

use std::{fs, net::TcpListener};

use serde_json::{Value, json};
use ziggurat_black_box::{Answer, Client};

use crate::support::{Home, Postgres, Program, TcpProxy, until};

/// Entry for a database that cannot be reached.
const NOWHERE: &str = "  - {name: secret_shop, host: 127.0.0.1, port: 1, user: reader}\n";

fn ready(client: &Client) -> (u16, Value) {
    let answer = client.get("/ready");
    (answer.status, answer.json())
}

fn report(status: &str, unavailable: u32) -> Value {
    json!({"status": status, "unavailable": unavailable})
}

/// Sends a request with this host name.
fn called(client: &Client, host: &str, path: &str) -> Answer {
    let request = format!("GET {path} HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\n\r\n");
    client.exchange(request.as_bytes())
}

/// Creates a proxy to PostgreSQL that can be cut, and the entry of a database behind it.
fn behind_proxy(postgres: &Postgres, name: &str) -> (TcpProxy, String) {
    let [
        (_, host),
        (_, port),
        (_, database),
        (_, user),
        (_, password),
    ] = postgres.environment();
    let proxy = TcpProxy::new([format!("{host}:{port}")]);
    let (host, port) = proxy.address().rsplit_once(':').expect("a port");
    let entry = format!(
        "  - {{name: {name}, host: {host}, port: {port}, database: {database}, user: {user}, \
         password: '{password}'}}\n"
    );
    (proxy, entry)
}

#[test]
fn a_server_is_not_ready_while_all_databases_are_unreachable() {
    let postgres = Postgres::new();
    let (proxy, entry) = behind_proxy(&postgres, "shop");
    proxy.disconnect();
    let home = Home::new();
    home.configure(&format!("databases:\n{entry}{NOWHERE}"));
    home.token("shop");
    let (program, client) = home.serve(&[]);
    until("all are known to be away", || {
        ready(&client) == (503, report("unavailable", 2))
    });
    let answer = client.get("/ready");
    assert!(!answer.body.contains("shop"), "{answer:?}");
    assert_eq!(answer.header("cache-control"), Some("no-store"));
    assert_eq!(client.get("/health").status, 200);
    let line = program.wait_for("a database is unavailable");
    assert!(line.contains("WARN"), "{line}");
    for name in ["shop", "secret_shop"] {
        program.wait_for(&format!("a database is unavailable name={name}"));
    }
    proxy.restore();
    let line = program.wait_for("a database is reachable again");
    assert!(line.contains("WARN") && line.contains("shop"), "{line}");
    assert_eq!(ready(&client), (200, report("ready", 1)));
}

#[test]
fn a_reloaded_list_of_databases_is_checked_at_once() {
    let postgres = Postgres::new();
    let home = Home::with(&postgres);
    let (program, client) = home.serve(&["-no-auth"]);
    until("it is ready", || {
        ready(&client) == (200, report("ready", 0))
    });
    home.configure(&format!("databases:\n{}{NOWHERE}", postgres.entry("main")));
    program.signal(rustix::process::Signal::HUP);
    until("the new one is counted", || {
        ready(&client) == (200, report("ready", 1))
    });
    assert!(!program.log().contains("available again"));
}

#[test]
fn the_readiness_shows_an_unreachable_state_database_until_it_is_back() {
    let postgres = Postgres::new();
    let (proxy, url) = {
        let url = postgres.url();
        let (_, place) = url.split_once('@').expect("a user");
        let authority = place.split('/').next().expect("a host").to_owned();
        let proxy = TcpProxy::new([authority.clone()]);
        let url = url.replace(&authority, proxy.address());
        (proxy, url)
    };
    proxy.disconnect();
    let mut home = Home::with(&postgres);
    home.set("ZIGGURAT_STATE_URL", &url);
    home.token("main");
    let (program, client) = home.serve(&[]);
    until("it is known to be away", || {
        let (status, report) = ready(&client);
        status == 503 && report["status"] == "state unreachable"
    });
    proxy.restore();
    until("it is back", || ready(&client).0 == 200);
    program.wait_for("the state database is reachable again");
}

#[test]
fn probes_need_neither_a_token_nor_a_known_host_name() {
    let postgres = Postgres::new();
    let home = Home::new();
    let entry = postgres.entry("main");
    home.configure(&format!(
        "http: {{allowed_hosts: [tools.example]}}\ndatabases:\n{entry}"
    ));
    home.token("main");
    let (program, client) = home.serve(&[]);
    until("it is ready", || ready(&client).0 == 200);
    for (path, inside) in [("/health", 200), ("/ready", 200), ("/api/databases", 401)] {
        assert_eq!(
            called(&client, "tools.example", path).status,
            inside,
            "{path}"
        );
        let outside = if inside == 200 { 200 } else { 403 };
        assert_eq!(
            called(&client, "10.0.0.7:8080", path).status,
            outside,
            "{path}"
        );
    }
    let line = program.wait_for("rejected a request for another host");
    assert!(line.contains("WARN") && line.contains("10.0.0.7"), "{line}");
    let head = client.send("HEAD", "/ready", "", "");
    assert_eq!((head.status, &*head.body), (200, ""));
    assert_eq!(client.send("POST", "/ready", "", "").status, 405);
}

#[test]
fn without_authentication_other_machines_reach_it_only_if_explicitly_allowed() {
    let home = Home::with(&Postgres::new());
    let ran = home.ran(&["-http", "-no-auth", "-addr", "0.0.0.0:0"], "");
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(ran.stderr.contains("-no-auth=public"), "{}", ran.stderr);
    assert!(ran.stderr.contains("http.allow_public"), "{}", ran.stderr);
    let mut command = home.command(&["-http", "-no-auth=public", "-addr", ":0"]);
    let program = Program::start(&mut command);
    program.wait_for("listening on http://");
}

#[test]
fn a_bare_port_without_authentication_is_served_on_both_loopback_addresses() {
    let home = Home::with(&Postgres::new());
    let mut command = home.command(&["-http", "-no-auth", "-addr", ":0"]);
    let (program, client) = Program::listening(&mut command);
    assert!(client.address().starts_with("127.0.0.1:"), "{client:?}");
    assert_eq!(client.get("/health").status, 200);
    let log = program.log();
    let told = log.lines().filter(|line| {
        line.contains("WARN") && line.contains("only this machine can reach it; -no-auth=public")
    });
    assert_eq!(told.count(), 1, "{log}");
    // A machine without IPv6 has only the first address.
    if TcpListener::bind("[::1]:0").is_ok() {
        let port = client.address().rsplit(':').next().unwrap_or_default();
        program.wait_for(&format!("listening on http://[::1]:{port}"));
        let client = Client::new(format!("[::1]:{port}"));
        assert_eq!(client.get("/health").status, 200);
    }
}

#[test]
fn an_address_with_too_many_requests_gets_429_but_its_probes_do_not_count() {
    let home = Home::new();
    home.configure("http: {rate_limit: 2 per hour}\n");
    fs::write(home.tokens(), "").expect("written");
    let (_program, client) = home.serve(&[]);
    for _ in 0..3 {
        assert_eq!(client.get("/health").status, 200);
    }
    // The limit comes before the token is checked and before the host is.
    assert_eq!(client.get("/api/user").status, 401);
    assert_eq!(called(&client, "evil.example", "/api/user").status, 403);
    for (path, host) in [("/api/user", "localhost"), ("/", "evil.example")] {
        let refused = called(&client, host, path);
        let error = json!({"error": "Rate limit exceeded"});
        assert_eq!((refused.status, refused.json()), (429, error), "{path}");
        let seconds = refused
            .header("retry-after")
            .and_then(|text| text.parse().ok());
        assert!(
            seconds.is_some_and(|seconds: u32| (1..=1800).contains(&seconds)),
            "{refused:?}"
        );
    }
    assert_eq!(client.get("/health").status, 200);
    assert_ne!(client.get("/ready").status, 429);
}
