//! Requests of web pages and of rebound names: refused and allowed ones.

use ziggurat_black_box::{Answer, Program};

use crate::support::{Client, Home, library, nowhere, pipeline, question, server};

const PIPELINES: &str = "/v1/pipelines";
const DOCS: &str = "/v1/pipelines/docs";
const JSON: &str = "content-type: application/json\r\n";

fn serve(more: &str) -> (Home, Program, Client) {
    let list = nowhere("docs", "");
    let home = Home::with(&format!("{}pipelines:\n{list}", server(more)));
    let (program, client) = home.serve();
    (home, program, client)
}

/// Sends a request that names this host.
fn called(client: &Client, host: &str, path: &str) -> Answer {
    let request = format!("GET {path} HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\n\r\n");
    client.exchange(request.as_bytes())
}

fn code(answer: &Answer) -> (u16, String) {
    let code = answer.json()["error"]["code"].as_str().map(str::to_owned);
    (answer.status, code.unwrap_or_default())
}

#[test]
fn requests_for_another_host_are_refused_but_for_probes() {
    let (_home, program, client) = serve("  allowed_hosts: [rag.example]\n");
    for host in ["localhost", "127.0.0.1:1", "[::1]", "rag.example:443"] {
        assert_eq!(called(&client, host, PIPELINES).status, 200, "{host}");
    }
    for host in ["evil.example", "localhost.evil.example", "10.0.0.1"] {
        for path in [PIPELINES, "/v1/health", "/", "/nothing"] {
            let answer = called(&client, host, path);
            let refused = (403, "HOST_NOT_ALLOWED".to_owned());
            assert_eq!(code(&answer), refused, "{host} {path}");
        }
        assert_eq!(called(&client, host, "/v1/live").status, 200, "{host}");
    }
    let line = program.wait_for("rejected a request for another host");
    assert!(line.contains("level=WARN"), "{line}");
    assert!(line.contains("evil.example"), "{line}");
}

#[test]
fn pages_of_other_origins_are_refused() {
    let (_home, _program, client) = serve("");
    for origin in [
        "https://evil.example",
        "null",
        "http://localhost.evil.example",
    ] {
        for (method, path) in [("GET", PIPELINES), ("POST", DOCS), ("OPTIONS", DOCS)] {
            let headers = format!("origin: {origin}\r\n{JSON}");
            let answer = client.send(method, path, &headers, "{}");
            let refused = (403, "ORIGIN_NOT_ALLOWED".to_owned());
            assert_eq!(code(&answer), refused, "{origin} {method} {path}");
        }
    }
    let own = format!("http://{}", client.address());
    for origin in ["http://localhost:3000", &own] {
        let headers = format!("origin: {origin}\r\n");
        let answer = client.send("GET", PIPELINES, &headers, "");
        assert_eq!(answer.status, 200, "{origin}");
        // Accepting the request does not let other pages read the response.
        assert_eq!(answer.header("access-control-allow-origin"), None);
    }
}

#[test]
fn a_list_of_origins_replaces_those_of_this_machine_and_a_star_allows_all() {
    let (_home, _program, client) =
        serve("  cors: {enabled: true, allowed_origins: ['https://app.example']}\n");
    let own = format!("http://{}", client.address());
    for (origin, status) in [
        ("https://app.example", 200),
        (&*own, 200),
        ("http://localhost:3000", 403),
        ("https://evil.example", 403),
    ] {
        let headers = format!("origin: {origin}\r\n");
        let answer = client.send("GET", PIPELINES, &headers, "");
        assert_eq!(answer.status, status, "{origin}");
    }
    let (_home, _program, client) = serve("  cors: {enabled: true, allowed_origins: ['*']}\n");
    let answer = client.send("GET", PIPELINES, "origin: https://any.example\r\n", "");
    assert_eq!(answer.status, 200);
}

#[test]
fn a_page_must_declare_json_and_curl_need_not() {
    let postgres = library();
    let list = pipeline("docs", &postgres, "");
    let home = Home::with(&format!("{}pipelines:\n{list}", server("")));
    let (_program, client) = home.serve();
    let question = question("Where do ferns grow?");
    let ask = |headers: &str| client.send("POST", DOCS, headers, &question);
    for origin in ["origin: http://localhost\r\n", "sec-fetch-site: none\r\n"] {
        for content in ["", "content-type: text/plain\r\n"] {
            let answer = ask(&format!("{origin}{content}"));
            let refused = (415, "UNSUPPORTED_MEDIA_TYPE".to_owned());
            assert_eq!(code(&answer), refused, "{origin}{content}");
            assert!(answer.body.contains("Content-Type: application/json"));
        }
        assert_eq!(ask(&format!("{origin}{JSON}")).status, 200, "{origin}");
    }
    let form = "content-type: application/x-www-form-urlencoded\r\n";
    for content in ["", form] {
        assert_eq!(ask(content).status, 200, "{content}");
    }
}

#[test]
fn an_address_that_other_machines_reach_must_be_allowed() {
    let public = server("").replace("127.0.0.1", "0.0.0.0");
    let list = nowhere("docs", "");
    let home = Home::with(&format!("{public}pipelines:\n{list}"));
    for arguments in [&["-check-config"][..], &[]] {
        let ran = home.ran(arguments);
        assert_eq!(ran.code, Some(1));
        let output = format!("{}{}", ran.stdout, ran.stderr);
        assert!(output.contains("server.listen_address: "), "{output}");
        assert!(output.contains("server.allow_public: true"), "{output}");
    }
    home.configure(&format!("{public}  allow_public: true\npipelines:\n{list}"));
    let program = Program::start_on_stdout(&mut home.command(&[]));
    program.wait_for("msg=\"starting server\"");
}

#[test]
fn a_public_server_accepts_its_own_pages_by_ip_address_only() {
    let public = server("  allow_public: true\n").replace("127.0.0.1", "0.0.0.0");
    let list = nowhere("docs", "");
    let home = Home::with(&format!("{public}pipelines:\n{list}"));
    let program = Program::start_on_stdout(&mut home.command(&[]));
    let line = program.wait_for("msg=\"starting server\"");
    let port = line.split("0.0.0.0:").nth(1).expect("an address");
    let port = port.split(' ').next().expect("a port");
    let client = Client::new(format!("127.0.0.1:{port}"));
    for (host, status) in [("127.0.0.1", 200), ("rebound.example", 403)] {
        let request = format!(
            "GET {PIPELINES} HTTP/1.1\r\nhost: {host}:{port}\r\norigin: http://{host}:{port}\r\n\
             connection: close\r\n\r\n"
        );
        let answer = client.exchange(request.as_bytes());
        assert_eq!(answer.status, status, "{host}");
    }
}

#[test]
fn an_address_with_too_many_requests_gets_429_but_its_probes_do_not_count() {
    let (_home, _program, client) = serve("  rate_limit: 2 per hour\n");
    for _ in 0..3 {
        assert_eq!(client.get("/v1/live").status, 200);
    }
    for _ in 0..2 {
        assert_eq!(client.get(PIPELINES).status, 200);
    }
    for (host, path) in [("localhost", PIPELINES), ("evil.example", "/nothing")] {
        let refused = called(&client, host, path);
        assert_eq!(code(&refused), (429, "RATE_LIMITED".to_owned()), "{host}");
        let seconds = refused
            .header("retry-after")
            .and_then(|text| text.parse().ok());
        assert!(
            seconds.is_some_and(|seconds: u32| (1..=1800).contains(&seconds)),
            "{refused:?}"
        );
    }
    for path in ["/health", "/ready", "/v1/live"] {
        assert_ne!(client.get(path).status, 429, "{path}");
    }
}
