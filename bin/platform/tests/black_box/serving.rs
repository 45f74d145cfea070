//! Start, connections and shutdown of the server, and its configuration.

use rustix::process::Signal;
use serde_json::{Value, json};
use ziggurat_black_box::{Client, Program};

use crate::support::{Home, Session, request};

#[test]
fn it_shuts_down_cleanly_on_a_signal() {
    let home = Home::new();
    for signal in [Signal::TERM, Signal::INT] {
        let (mut program, _client) = home.serve();
        program.signal(signal);
        assert_eq!(program.ended().code(), Some(0));
        assert!(program.whole_log().contains("INFO shutting down"));
        assert!(
            !home.file("data/platform.db-wal").exists(),
            "one whole file"
        );
    }
}

#[test]
fn the_openapi_document_is_public_at_one_path_and_needs_a_token_at_the_other() {
    let home = Home::new();
    let (_program, session, _) = home.started();
    let plain = Client::new(session.client.address().to_owned());
    let public = plain.get("/account/v1/openapi.json");
    assert_eq!(public.status, 200);
    assert_eq!(public.json()["openapi"], "3.0.3");
    assert_eq!(plain.get("/account/v1/open-api").status, 401);
    assert_eq!(session.get("/open-api").json(), public.json());
    let printed = home.ran(&["-openapi"]).stdout;
    let printed: Value = serde_json::from_str(&printed).expect("JSON");
    assert_eq!(printed, public.json());
}

#[test]
fn every_json_response_links_the_openapi_document() {
    let home = Home::new();
    let (_program, session, _) = home.started();
    let plain = Client::new(session.client.address().to_owned());
    for (answer, status) in [
        (session.get("/clients"), 200),
        (session.get("/clients/nonsense"), 400),
        (plain.get("/account/v1/clients"), 401),
        (session.get("/nothing"), 404),
        (plain.get("/account/v1/oauth/token"), 405),
    ] {
        assert_eq!(answer.status, status, "{answer:?}");
        assert_eq!(
            answer.header("link"),
            Some("</account/v1/openapi.json>; rel=\"service-desc\""),
            "{answer:?}"
        );
    }
}

#[test]
fn every_response_has_a_request_id_and_bodies_have_a_size_limit() {
    let home = Home::new();
    let (_program, session, _) = home.started();
    let one = session.get("/clients");
    let two = session.get("/nothing");
    let (one, two) = (one.header("x-request-id"), two.header("x-request-id"));
    assert!(one.is_some() && two.is_some() && one != two);
    let large = json!({"name": "a".repeat(1 << 20), "description": ""});
    let answer = request(&session.client, "POST", "/account/v1/clients", Some(&large));
    assert_eq!(
        (answer.status, &answer.json()["code"]),
        (413, &json!(413)),
        "{answer:?}"
    );
}

#[test]
fn a_body_that_arrives_too_late_is_408() {
    let home = Home::new();
    home.configure("server: {body_timeout: 200ms}\n");
    let (_program, session, _) = home.started();
    let head = format!(
        "POST /account/v1/clients HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n\
         authorization: Bearer {}\r\ncontent-length: 9\r\n\r\n{{}}",
        session.token
    );
    let answer = session.client.exchange(head.as_bytes());
    assert_eq!(
        (answer.status, &answer.json()["code"]),
        (408, &json!(408)),
        "{answer:?}"
    );
}

#[test]
fn all_problems_of_a_configuration_are_reported_at_once() {
    let home = Home::new();
    home.configure(
        "server: {address: nowhere, public_url: 'ftp://a', shutdown_timeout: soon, body_timeout: 0s, \
         tls: {cert_file: /no/cert}, trusted_proxies: [x]}\n\
         tokens: {lifetime: 5m, audience: ['a b'], scope: ' '}\n\
         state: {url: 'mysql://app:swordfish@db/x'}\n\
         rate_limit: {failures_per_address: often}\n",
    );
    for words in [&["-check-config"][..], &[]] {
        let ran = home.ran(words);
        assert_eq!(ran.code, Some(1), "{}", ran.stderr);
        for key in [
            "server.address",
            "server.public_url",
            "server.body_timeout",
            "server.shutdown_timeout",
            "server.tls.cert_file",
            "server.tls.key_file",
            "server.trusted_proxies",
            "tokens.lifetime",
            "tokens.audience",
            "tokens.scope",
            "state.url",
            "rate_limit.failures_per_address",
        ] {
            assert!(
                ran.stderr.contains(&format!("{key}: ")),
                "{key}: {}",
                ran.stderr
            );
        }
        assert!(!ran.stderr.contains("swordfish"), "{}", ran.stderr);
    }
    home.configure("tokens: {lifetime: 1h}\n");
    let ran = home.ran(&["-check-config"]);
    assert_eq!(
        (ran.code, &*ran.stdout, &*ran.stderr),
        (Some(0), "the configuration is valid\n", "")
    );
    home.configure("sever: {}\ntokens: {lifetime: 1h}\n");
    for words in [&["-check-config"][..], &[]] {
        let ran = home.ran(words);
        assert_eq!(ran.code, Some(1), "{words:?}");
        let expected = "ERROR: invalid configuration: unknown key 'sever' in ";
        assert!(ran.stderr.starts_with(expected), "{}", ran.stderr);
    }
}

#[test]
fn the_configuration_of_the_manual_is_good() {
    let manual = include_str!("../../../../docs/src/platform.md");
    let mut seen = 0;
    for block in manual.split("```yaml\n").skip(1) {
        let home = Home::new();
        home.configure(block.split("```").next().unwrap_or_default());
        let ran = home.ran(&["-check-config"]);
        assert_eq!((ran.code, &*ran.stderr), (Some(0), ""), "{block}");
        seen += 1;
    }
    assert_eq!(seen, 2);
}

#[test]
fn the_log_is_json_and_as_detailed_as_the_variables_or_the_file_say() {
    let mut home = Home::new();
    home.configure("log: {format: json}\n");
    let program = Program::start(&mut home.command(&["-addr", "127.0.0.1:0"]));
    program.wait_for("listening on ");
    let log = program.log();
    for line in log.lines() {
        let line: Value = serde_json::from_str(line).expect("JSON");
        assert!(line["timestamp"].is_string(), "{line}");
    }
    drop(program);
    home.configure("log: {level: 'off'}\n");
    home.set("ZIGGURAT_LOG", "info");
    let (program, _client) = home.serve();
    assert!(
        program.log().contains("INFO listening on"),
        "{}",
        program.log()
    );
}

#[test]
fn plain_http_causes_a_warning_and_secrets_are_never_logged() {
    let home = Home::new().with_flags(&["-addr", "0.0.0.0:0"]);
    let made = home.done(&["init"]);
    let (program, _) = Program::listening(&mut home.command(&[]));
    assert!(
        program
            .log()
            .contains("WARN secrets and tokens are sent unencrypted")
    );
    let secret = made["client_secret"].as_str().expect("a text");
    assert!(!program.log().contains(secret));
}

#[test]
fn https_is_served_where_there_is_a_certificate() {
    let home = Home::new();
    let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).expect("made");
    home.replace(&home.file("cert.pem"), &made.cert.pem());
    home.replace(&home.file("key.pem"), &made.signing_key.serialize_pem());
    let folder = home.path().display().to_string();
    home.configure(&format!(
        "server: {{tls: {{cert_file: {folder}/cert.pem, key_file: {folder}/key.pem}}}}\n"
    ));
    let (program, client) = home.serve();
    assert!(program.log().contains("listening on https://127.0.0.1:"));
    assert!(
        program
            .log()
            .contains("tokens are issued by https://127.0.0.1:")
    );
    let plain = client.get("/account/v1/openapi.json");
    assert_eq!(plain.status, 400, "it speaks HTTPS");
    let line = program.until_it_says("certificate reloaded", || {
        let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).expect("made");
        home.replace(&home.file("key.pem"), &made.signing_key.serialize_pem());
        home.replace(&home.file("cert.pem"), &made.cert.pem());
    });
    assert!(line.contains("INFO"), "{line}");
}

#[test]
fn a_client_is_created_once_for_each_key_and_a_repeated_request_gets_its_secret() {
    let home = Home::new();
    let (_program, session, _) = home.started();
    let create = |session: &Session, name: &str| {
        let headers = "content-type: application/json\r\nidempotency-key: deploy-1\r\n";
        let body = json!({"name": name, "description": "", "role": "admin"}).to_string();
        let path = "/account/v1/clients";
        session.client.send("POST", path, headers, &body)
    };
    let count = || session.get("/clients").json().as_array().map(Vec::len);
    let first = create(&session, "ci");
    assert_eq!(
        (first.status, first.header("idempotent-replayed")),
        (200, None)
    );
    let again = create(&session, "ci");
    assert_eq!((again.status, &again.body), (200, &first.body));
    assert_eq!(again.header("idempotent-replayed"), Some("true"));
    assert_ne!(again.header("x-request-id"), first.header("x-request-id"));
    assert_eq!(count(), Some(2));

    let other = create(&session, "deploy");
    let words = "This Idempotency-Key was used for another request";
    assert_eq!(
        (other.status, other.json()["message"].as_str()),
        (422, Some(words))
    );
    // The key of another caller is another key.
    let made = first.json();
    let second = Session::of(&session.client, &made["auth0_id"], &made["auth0_secret"]);
    assert_eq!(create(&second, "ci").header("idempotent-replayed"), None);
    assert_eq!(count(), Some(3));
}
