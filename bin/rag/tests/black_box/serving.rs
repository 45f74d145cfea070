//! Start, listening and shutdown of a server.

mod tools;

use std::{
    io::{Read as _, Write as _},
    net::{TcpListener, TcpStream},
    thread,
    time::{Duration, Instant},
};

use rustix::process::Signal;
use serde_json::json;
use ziggurat_black_box::{Program, connect, until};
use ziggurat_fake_providers::{Api, Fake, Gate, Turn};

use crate::support::{
    Client, Home, asking, free_port, library, nowhere, pipeline, question, server,
};

#[test]
fn the_start_logs_the_pipelines_and_the_address() {
    let postgres = library();
    let section = server("  tls: {enabled: false}\n");
    let list = pipeline("docs", &postgres, "") + &nowhere("lost", "");
    let home = Home::with(&format!("{section}pipelines:\n{list}"));
    let (program, client) = home.serve();
    program.wait_for("msg=\"watching for configuration changes\"");
    let log = program.log();
    let address = client.address();
    for expected in [
        "level=INFO msg=\"configuration loaded\" pipelines=2",
        "level=INFO msg=\"pipeline created\" name=docs embedding_provider=local \
         completion_provider=local",
        "level=INFO msg=\"pipeline created\" name=lost ",
        "level=WARN msg=\"provider local ",
        &format!("level=INFO msg=\"starting server\" address={address} tls=false"),
    ] {
        assert!(log.contains(expected), "{expected} in {log}");
    }
    // One database is unreachable, which affects only its pipeline.
    let line = program.wait_for("pipelines=lost");
    assert!(
        line.contains("level=ERROR") && line.contains("failed to connect to database"),
        "{line}"
    );
    assert_eq!(
        client.post("/v1/pipelines/docs", &question("ferns")).status,
        200
    );
    assert_eq!(
        client.post("/v1/pipelines/lost", &question("ferns")).status,
        500
    );
    assert_eq!(client.get("/v1/live").status, 200);
}

#[test]
fn a_probe_gets_the_number_of_unavailable_pipelines_and_the_log_names_them() {
    let postgres = library();
    let fake = Fake::start();
    fake.set_dimensions(3);
    let model = format!(
        "embedding_llm: {{provider: openai, model: m, base_url: '{}'}}",
        fake.url(Api::OpenAi)
    );
    let other =
        pipeline("other", &postgres, "").replace("embedding_llm: {provider: local}", &model);
    let list = pipeline("docs", &postgres, "") + &nowhere("lost", "") + &other;
    let mut home = Home::with(&format!("{}pipelines:\n{list}", server("")));
    home.set("OPENAI_API_KEY", "sk-wq8JkLmN2pRs7TuV");
    let (program, client) = home.serve();
    let first = program.wait_for("a pipeline is unavailable\" name=lost");
    assert!(first.contains("the database is unreachable"), "{first}");
    let line = program.wait_for("a pipeline is unavailable\" name=other");
    let expected = "has vectors of 256 dimensions and the embedding model returns 3";
    assert!(
        line.contains("level=WARN") && line.contains(expected),
        "{line}"
    );
    until("two are unavailable", || {
        client.get("/ready").body == r#"{"status":"ready","unavailable":2}"#
    });
    assert_eq!(client.get("/ready").status, 200);
    let health = client.get("/v1/health").json();
    assert_eq!(health["status"], "degraded", "{health}");
    assert_eq!(health["pipelines"][0].get("search"), None, "{health}");
    assert_eq!(
        health["pipelines"][2]["search"]["by_meaning"], false,
        "{health}"
    );
    // Keyword search still answers questions.
    let answer = client.post("/v1/pipelines/other", &question("ferns"));
    assert_eq!(answer.status, 200, "{answer:?}");
}

#[test]
fn without_a_pipeline_that_can_serve_the_server_is_not_ready() {
    let list = nowhere("one", "") + &nowhere("two", "");
    let home = Home::with(&format!("{}pipelines:\n{list}", server("")));
    let (_program, client) = home.serve();
    until("both have been looked at", || {
        client.get("/ready").body == r#"{"status":"unavailable","unavailable":2}"#
    });
    assert_eq!(client.get("/ready").status, 503);
    assert_eq!(client.get("/v1/live").status, 200);
}

#[test]
fn localhost_listens_on_ipv4_and_ipv6() {
    let port = free_port();
    let list = nowhere("docs", "");
    let home = Home::with(&format!("server: {{port: {port}}}\npipelines:\n{list}"));
    let (program, client) = home.serve();
    assert_eq!(client.address(), format!("localhost:{port}"));
    assert!(!program.log().contains("the traffic is not encrypted"));
    let has_v6 = TcpListener::bind("[::1]:0").is_ok();
    for address in [format!("127.0.0.1:{port}"), format!("[::1]:{port}")] {
        if address.starts_with('[') && !has_v6 {
            continue;
        }
        let answer = Client::new(address.clone()).get("/v1/live");
        assert_eq!(
            (answer.status, &*answer.body),
            (200, "{\"status\":\"ok\"}\n"),
            "{address}"
        );
    }
}

#[test]
fn a_public_address_without_tls_is_logged_as_a_warning() {
    let yaml = server("  allow_public: true\n").replace("127.0.0.1", "0.0.0.0");
    let home = Home::with(&format!("{yaml}pipelines:\n{}", nowhere("docs", "")));
    let program = Program::start_on_stdout(&mut home.command(&[]));
    let line = program.wait_for("the traffic is not encrypted");
    assert!(line.contains("level=WARN"), "{line}");
}

#[test]
fn an_address_in_use_fails_the_start() {
    let taken = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = taken.local_addr().expect("bound");
    let yaml = format!(
        "server: {{listen_address: 127.0.0.1, port: {}}}\npipelines:\n{}",
        address.port(),
        nowhere("docs", "")
    );
    let ran = Home::with(&yaml).ran(&[]);
    assert_eq!(ran.code, Some(1));
    let expected = format!("msg=\"server failed\" error=\"cannot listen on {address}: ");
    assert!(ran.stdout.contains(&expected), "{}", ran.stdout);
}

#[test]
fn a_request_in_flight_is_answered_before_the_end() {
    let (postgres, fake) = (library(), Fake::start());
    let mut home = Home::with(&format!(
        "{}pipelines:\n{}",
        server(""),
        asking("docs", &postgres, &fake, "")
    ));
    home.set("ANTHROPIC_API_KEY", "sk-ant-wq8JkLmN2pRs7TuV");
    let (mut program, client) = home.serve();
    let gate = Gate::new();
    fake.next(Turn::text("Shade.").held(&gate));
    let asked = {
        let client = client.clone();
        thread::spawn(move || client.post("/v1/pipelines/docs", &question("Where do ferns grow?")))
    };
    fake.wait_for(1);
    program.signal(Signal::TERM);
    program.wait_for("msg=\"received shutdown signal\"");
    program.wait_for("msg=\"shutting down server\"");
    until("new connections are refused", || {
        TcpStream::connect(client.address()).is_err()
    });
    gate.open();
    let answer = asked.join().expect("answered");
    assert_eq!(answer.status, 200, "{answer:?}");
    assert_eq!(answer.json()["answer"], "Shade.");
    assert_eq!(program.ended().code(), Some(0));
}

#[test]
fn a_request_beyond_the_shutdown_timeout_gets_an_error() {
    let (postgres, fake) = (library(), Fake::start());
    let mut home = Home::with(&format!(
        "{}pipelines:\n{}",
        server("  shutdown_timeout: 200ms\n"),
        asking("docs", &postgres, &fake, "")
    ));
    home.set("ANTHROPIC_API_KEY", "sk-ant-wq8JkLmN2pRs7TuV");
    let (mut program, client) = home.serve();
    let gate = Gate::new();
    fake.always(Turn::text("Shade.").held(&gate));
    let streamed = json!({"query": "Where do ferns grow?", "stream": true}).to_string();
    let cases = [
        (
            question("Where do ferns grow?"),
            "HTTP/1.1 503 ",
            r#"{"error":{"code":"SHUTTING_DOWN","message":"the server is shutting down"}}"#,
        ),
        (
            streamed,
            "HTTP/1.1 200 ",
            r#"data: {"type":"error","error":"the server is shutting down"}"#,
        ),
    ];
    let asked = cases.map(|(body, start, end)| {
        let mut stream = connect(client.address());
        let request = format!(
            "POST /v1/pipelines/docs HTTP/1.1\r\nhost: localhost\r\ncontent-length: {}\r\n\r\n{body}",
            body.len()
        );
        stream.write_all(request.as_bytes()).expect("sent");
        (stream, start, end)
    });
    fake.wait_for(2);
    let begun = Instant::now();
    program.signal(Signal::INT);
    assert_eq!(program.ended().code(), Some(0), "{}", program.log());
    assert!(begun.elapsed() < Duration::from_secs(5));
    for (mut stream, start, end) in asked {
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("text");
        assert!(
            answer.starts_with(start) && answer.contains(end),
            "{answer}"
        );
    }
}

#[test]
fn a_body_that_arrives_too_slowly_is_answered_with_408() {
    let section = server("  body_timeout: 200ms\n");
    let home = Home::with(&format!("{section}pipelines:\n{}", nowhere("docs", "")));
    let (_program, client) = home.serve();
    let head = "POST /v1/pipelines/docs HTTP/1.1\r\nhost: localhost\r\ncontent-length: 9\r\n\r\n{}";
    let answer = client.exchange(head.as_bytes());
    assert_eq!(answer.status, 408, "{answer:?}");
    assert_eq!(answer.json()["error"]["code"], "REQUEST_TIMEOUT");
}
