//! Hosts, origins and probes.

use serde_json::json;
use ziggurat_black_box::{Answer, Client, Postgres, until};

use crate::support::Home;

const KEYS: &str = "/.well-known/jwks.json";

/// Sends a request with this `Host` header.
fn called(client: &Client, host: &str, path: &str) -> Answer {
    let request = format!("GET {path} HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\n\r\n");
    client.exchange(request.as_bytes())
}

#[test]
fn requests_for_another_host_are_refused_but_for_probes() {
    let home = Home::new();
    home.configure(
        "server: {public_url: 'https://accounts.example', allowed_hosts: [inner.example]}\n",
    );
    let (_program, client) = home.serve();
    for host in [
        "localhost",
        "accounts.example",
        "accounts.example:443",
        "inner.example",
    ] {
        assert_eq!(called(&client, host, KEYS).status, 200, "{host}");
    }
    let refused = called(&client, "evil.example", KEYS);
    let words = json!({"code": 403, "message": "This server does not serve that host"});
    assert_eq!((refused.status, refused.json()), (403, words));
    // The server may not be ready yet.
    assert_ne!(called(&client, "10.0.0.7", "/ready").status, 403);
}

#[test]
fn an_invalid_host_is_named() {
    let home = Home::new();
    home.configure("server: {allowed_hosts: ['http://a']}\n");
    let ran = home.ran(&["-check-config"]);
    assert_eq!(ran.code, Some(1));
    assert!(
        ran.stderr.contains("server.allowed_hosts: "),
        "{}",
        ran.stderr
    );
}

#[test]
fn pages_of_other_origins_are_refused() {
    let (_program, client) = Home::new().serve();
    let own = format!("http://{}", client.address());
    for (origin, status) in [
        ("https://evil.example", 403),
        ("null", 403),
        ("http://localhost:3000", 200),
        (&own, 200),
    ] {
        let answer = client.send("GET", KEYS, &format!("origin: {origin}\r\n"), "");
        assert_eq!(answer.status, status, "{origin}");
        assert_eq!(answer.header("access-control-allow-origin"), None);
    }
}

#[test]
fn it_is_ready_while_the_store_can_be_reached() {
    let (_program, client) = Home::new().serve();
    let ready = json!({"status": "ready", "unavailable": 0});
    until("it is ready", || client.get("/ready").status == 200);
    assert_eq!(client.get("/ready").json(), ready);
    let postgres = Postgres::new();
    let url = postgres.url();
    let (_, place) = url.split_once('@').expect("a user");
    let authority = place.split('/').next().expect("a host");
    let mut home = Home::new();
    home.set(
        "ZIGGURAT_PLATFORM_STATE_URL",
        url.replace(authority, "127.0.0.1:1"),
    );
    let (program, client) = home.serve();
    until("the store is known to be away", || {
        client.get("/ready").json()["status"] == "state unreachable"
    });
    assert_eq!(client.get("/ready").status, 503);
    let line = program.wait_for("the state database is unreachable");
    assert!(line.contains("WARN"), "{line}");
}

#[test]
fn an_address_with_too_many_requests_gets_429_but_its_probes_do_not_count() {
    let home = Home::new();
    home.configure("server: {rate_limit: 2 per hour}\n");
    let (_program, client) = home.serve();
    until("it is ready", || client.get("/ready").status == 200);
    for _ in 0..2 {
        assert_eq!(client.get(KEYS).status, 200);
    }
    for host in ["localhost", "evil.example"] {
        let refused = called(&client, host, KEYS);
        let words = json!({"code": 429, "message": "Rate limit exceeded"});
        assert_eq!((refused.status, refused.json()), (429, words), "{host}");
        let seconds = refused
            .header("retry-after")
            .and_then(|text| text.parse().ok());
        assert!(
            seconds.is_some_and(|seconds: u32| (1..=1800).contains(&seconds)),
            "{refused:?}"
        );
    }
    assert_eq!(client.get("/ready").status, 200);
}

#[test]
fn an_invalid_limit_is_refused_with_words() {
    let home = Home::new();
    home.configure("server: {rate_limit: 600}\n");
    let ran = home.ran(&["-check-config"]);
    assert_eq!(ran.code, Some(1));
    let expected =
        "server.rate_limit: not a quota: expected words like `10 per 15 minutes` or `5/s`";
    assert!(ran.stderr.contains(expected), "{}", ran.stderr);
}
