//! Tests of proxies, TLS, redirects, retries and limits.

use std::{
    fs,
    io::{Read as _, Write as _},
    net::{TcpListener, TcpStream},
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use rustls::{ServerConfig, ServerConnection, StreamOwned};

use crate::{
    server::{Reply, Seen, Server},
    support::{User, ends, fails},
};

/// Sends these answers in turn, then repeats the last.
fn in_turn(replies: Vec<Reply>) -> impl Fn(&Seen) -> Reply + Send + Sync {
    let asked = AtomicUsize::new(0);
    move |_| {
        let at = asked.fetch_add(1, Ordering::SeqCst);
        replies[at.min(replies.len() - 1)].clone()
    }
}

fn at_once(status: u16) -> Reply {
    Reply::With(
        status,
        vec![("Retry-After", "0".to_owned())],
        r#"{"message":"later"}"#.to_owned(),
    )
}

#[test]
fn a_read_is_tried_three_times_and_each_attempt_is_shown() {
    for status in [429, 502, 503, 504] {
        let replies = vec![at_once(status), at_once(status), Reply::json(200, "{}")];
        let server = Server::platform(in_turn(replies));
        let ran = User::of(&server).platform(&["api", "GET", "/x", "-v"]);
        assert_eq!(ran.code, Some(0), "{ran:?}");
        assert_eq!(server.calls().len(), 3);
        assert_eq!(ran.stderr.matches("> GET ").count(), 3, "{}", ran.stderr);
    }
    let server = Server::platform(in_turn(vec![at_once(503)]));
    let ran = User::of(&server).platform(&["api", "GET", "/x"]);
    fails(&ran, 1, "API error (503): later\n");
    assert_eq!(server.calls().len(), 3, "and then it is given up");
}

#[test]
fn a_connection_that_breaks_is_tried_again_for_a_read() {
    let replies = vec![Reply::Close, Reply::json(200, "{}")];
    let server = Server::platform(in_turn(replies));
    let ran = User::of(&server).platform(&["api", "GET", "/x"]);
    ends(&ran, 0, "{}\n", "");
}

#[test]
fn no_retries_means_one_attempt_and_writes_are_never_repeated() {
    for (arguments, reply) in [
        (vec!["api", "GET", "/x", "--retries", "0"], at_once(503)),
        (vec!["api", "POST", "/x", "-d", "{}"], at_once(503)),
        (vec!["api", "PUT", "/x"], at_once(429)),
        (vec!["api", "PATCH", "/x"], Reply::Close),
        (vec!["api", "DELETE", "/x"], Reply::Close),
    ] {
        let server = Server::platform(in_turn(vec![reply]));
        let ran = User::of(&server).platform(&arguments);
        assert_eq!(ran.code, Some(1), "{ran:?}");
        assert_eq!(server.calls().len(), 1, "{arguments:?}");
    }
    for status in [400, 401, 404, 408, 500, 501] {
        let server = Server::platform(in_turn(vec![at_once(status)]));
        User::of(&server).platform(&["api", "GET", "/x"]);
        assert_eq!(server.calls().len(), 1, "{status}");
    }
}

#[test]
fn a_server_that_asks_for_long_is_not_waited_for_but_quoted() {
    let reply = Reply::With(429, vec![("Retry-After", "11".to_owned())], String::new());
    let server = Server::platform(in_turn(vec![reply]));
    let ran = User::of(&server).platform(&["api", "GET", "/x"]);
    fails(&ran, 1, "rate limited (429): retry after 11s\n");
    assert_eq!(server.calls().len(), 1);
    // The server asks for a wait of five seconds, which the deadline does not permit.
    let reply = Reply::With(503, vec![("Retry-After", "5".to_owned())], String::new());
    let server = Server::platform(in_turn(vec![reply]));
    let ran = User::of(&server).platform(&["api", "GET", "/x", "--timeout", "2s"]);
    fails(&ran, 1, "API error (503):");
    assert_eq!(server.calls().len(), 1);
}

#[test]
fn a_read_follows_redirects_and_keeps_its_credential_on_the_same_host() {
    let away = Server::answering(|_| Reply::json(200, r#"{"from":"away"}"#));
    let location = format!("{}/there", away.url());
    let server = Server::platform(move |seen| {
        let to = |location: &str| {
            Reply::With(302, vec![("Location", location.to_owned())], String::new())
        };
        match seen.target.as_str() {
            "/away" => to(&location),
            "/near" => to("/end"),
            "/round" => to("/round"),
            _ => Reply::json(200, r#"{"from":"home"}"#),
        }
    });
    let user = User::of(&server);
    let ran = user.platform(&["api", "GET", "/near", "-o", "json"]);
    ends(&ran, 0, "{\"from\":\"home\"}\n", "");
    let calls = server.calls();
    assert!(calls[1].header("authorization").is_some(), "the same host");
    let ran = user.platform(&["api", "GET", "/away", "-o", "json"]);
    ends(&ran, 0, "{\"from\":\"away\"}\n", "");
    assert_eq!(away.seen().len(), 1);
    assert_eq!(away.seen()[0].header("authorization"), None);
    let ran = user.platform(&["api", "GET", "/round"]);
    assert_eq!(ran.code, Some(1));
    assert!(ran.stderr.contains("stopped after 10 redirects"), "{ran:?}");
}

#[test]
fn a_write_follows_no_redirect() {
    let away = Server::answering(|_| Reply::json(200, "{}"));
    let location = format!("{}/there", away.url());
    let server = Server::platform(move |_| {
        Reply::With(307, vec![("Location", location.clone())], String::new())
    });
    let user = User::of(&server);
    let ran = user.platform(&["api", "POST", "/x", "-d", "{\"a\":1}"]);
    fails(&ran, 1, "API error (307):");
    assert!(away.seen().is_empty());
    // The token exchange does not send the secret to the other host either.
    let location = format!("{}/there", away.url());
    let server = Server::answering(move |_| {
        Reply::With(308, vec![("Location", location.clone())], String::new())
    });
    let ran = User::of(&server).platform(&["tenant", "list"]);
    fails(
        &ran,
        1,
        "authentication failed: token endpoint returned 308",
    );
    assert!(away.seen().is_empty());
}

#[test]
fn plain_http_goes_through_the_proxy_with_its_password() {
    let proxy = Server::platform(|_| Reply::json(200, "[]"));
    let with_user = format!("http://us%40er:p%3Aw@127.0.0.1:{}", proxy.port());
    let user = User::new()
        .with_pair()
        .with("HTTP_PROXY", &with_user)
        .with("http_proxy", "http://127.0.0.1:1");
    let base = "http://platform.test:8080/base";
    let ran = user.platform(&["tenant", "list", "-o", "json", "--api-url", base]);
    assert_eq!(
        (ran.code, ran.stdout.as_str()),
        (Some(0), "[]\n"),
        "{ran:?}"
    );
    assert!(
        ran.stderr
            .starts_with("Warning: http://platform.test:8080/base is plain http"),
        "{}",
        ran.stderr
    );
    let seen = proxy.seen();
    let targets: Vec<&str> = seen.iter().map(|seen| seen.target.as_str()).collect();
    assert_eq!(
        targets,
        [
            "http://platform.test:8080/base/account/v1/oauth/token",
            "http://platform.test:8080/base/account/v1/tenants"
        ]
    );
    let expected = format!("Basic {}", STANDARD.encode("us@er:p:w"));
    for seen in seen {
        assert_eq!(seen.header("host"), Some("platform.test:8080"));
        assert_eq!(seen.header("proxy-authorization"), Some(expected.as_str()));
    }
}

#[test]
fn exempt_hosts_and_this_machine_are_reached_directly() {
    let proxy = Server::answering(|_| Reply::json(200, "[]"));
    let server = Server::platform(|_| Reply::json(200, "[]"));
    let user = User::of(&server).with("HTTP_PROXY", &proxy.url());
    assert_eq!(user.platform(&["tenant", "list"]).code, Some(0));
    assert!(proxy.seen().is_empty(), "loopback is never proxied");
    let user = User::new()
        .with_pair()
        .with("HTTP_PROXY", &proxy.url())
        .with("NO_PROXY", ".invalid");
    let base = "http://platform.invalid";
    let ran = user.platform(&["tenant", "list", "--api-url", base]);
    assert_eq!(ran.code, Some(1), "no such host: {ran:?}");
    assert!(proxy.seen().is_empty());
}

/// Creates a certificate for `localhost` and `platform.test`, and the file that makes it trusted.
fn tls() -> (Arc<ServerConfig>, String) {
    let names = vec!["localhost".to_owned(), "platform.test".to_owned()];
    let made = rcgen::generate_simple_self_signed(names).expect("a certificate");
    let key = rustls::pki_types::PrivateKeyDer::try_from(made.signing_key.serialize_der())
        .expect("a key");
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .expect("versions")
        .with_no_client_auth()
        .with_single_cert(vec![made.cert.der().clone()], key)
        .expect("a configuration");
    (Arc::new(config), made.cert.pem())
}

fn tls_platform(config: Arc<ServerConfig>) -> Server {
    let exchanged = |seen: &Seen| {
        if seen.is_exchange() {
            Reply::token("tls-token", 3600)
        } else {
            Reply::json(200, "[]")
        }
    };
    Server::over(
        move |stream| {
            let connection = ServerConnection::new(Arc::clone(&config)).ok()?;
            Some(StreamOwned::new(connection, stream))
        },
        exchanged,
    )
}

#[test]
fn a_server_is_trusted_by_the_file_or_the_folder_named_and_otherwise_not() {
    let (config, pem) = tls();
    let server = tls_platform(config);
    let base = format!("https://localhost:{}", server.port());
    let user = User::new().with_pair();
    let arguments = ["tenant", "list", "-o", "json", "--api-url", base.as_str()];
    let ran = user.platform(&arguments);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(ran.stderr.contains("TLS: "), "{}", ran.stderr);
    assert!(server.seen().is_empty());
    let file = user.home().join("root.pem");
    fs::write(&file, &pem).expect("written");
    let trusting = user.with("SSL_CERT_FILE", file.to_str().expect("a path"));
    ends(&trusting.platform(&arguments), 0, "[]\n", "");
    let folder = trusting.home().join("roots");
    fs::create_dir(&folder).expect("a folder");
    // Named as by `openssl rehash`.
    fs::write(folder.join("12345678.0"), &pem).expect("written");
    let trusting = trusting
        .without("SSL_CERT_FILE")
        .with("SSL_CERT_DIR", folder.to_str().expect("a path"));
    ends(&trusting.platform(&arguments), 0, "[]\n", "");
}

/// Starts a proxy that opens tunnels to this port for any target, and records the targets.
fn tunnels_to(port: u16) -> (u16, Arc<Mutex<Vec<String>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let own = listener.local_addr().expect("an address").port();
    let asked = Arc::new(Mutex::new(Vec::new()));
    let heads = Arc::clone(&asked);
    thread::spawn(move || {
        for mut client in listener.incoming().flatten() {
            let mut head = Vec::new();
            let mut byte = [0];
            while !head.ends_with(b"\r\n\r\n") && client.read(&mut byte).unwrap_or(0) == 1 {
                head.push(byte[0]);
            }
            heads
                .lock()
                .expect("a list")
                .push(String::from_utf8_lossy(&head).into_owned());
            let mut server = TcpStream::connect(("127.0.0.1", port)).expect("reached");
            let opened = client.write_all(b"HTTP/1.1 200 Connection established\r\n\r\n");
            opened.expect("answered");
            let (mut from, mut to) = (
                client.try_clone().expect("a stream"),
                server.try_clone().expect("a stream"),
            );
            thread::spawn(move || std::io::copy(&mut from, &mut to));
            thread::spawn(move || std::io::copy(&mut server, &mut client));
        }
    });
    (own, asked)
}

#[test]
fn https_goes_through_a_tunnel_the_proxy_cannot_look_into() {
    let (config, pem) = tls();
    let server = tls_platform(config);
    let (port, asked) = tunnels_to(server.port());
    let user = User::new().with_pair();
    let file = user.home().join("root.pem");
    fs::write(&file, &pem).expect("written");
    let user = user
        .with("SSL_CERT_FILE", file.to_str().expect("a path"))
        .with("https_proxy", &format!("http://a:b@127.0.0.1:{port}"));
    let base = "https://platform.test/base";
    let ran = user.platform(&["tenant", "list", "-o", "json", "--api-url", base]);
    ends(&ran, 0, "[]\n", "");
    let asked = asked.lock().expect("a list");
    assert!(!asked.is_empty());
    for head in &*asked {
        assert!(head.starts_with("CONNECT platform.test:443 HTTP/1.1\r\n"));
        assert!(head.contains("Proxy-Authorization: Basic YTpi\r\n"));
        assert!(!head.contains("Bearer"), "{head}");
    }
    assert_eq!(server.calls()[0].target, "/base/account/v1/tenants");
}

#[test]
fn a_proxy_that_refuses_is_named() {
    let proxy = Server::answering(|_| Reply::json(407, ""));
    let user = User::new().with_pair().with("HTTPS_PROXY", &proxy.url());
    let ran = user.platform(&["tenant", "list", "--api-url", "https://platform.test"]);
    assert_eq!(ran.code, Some(1));
    assert!(
        ran.stderr.contains("the proxy responded 407 to CONNECT"),
        "{ran:?}"
    );
    let user = User::new().with_pair().with("HTTPS_PROXY", "socks5://p:1");
    let ran = user.platform(&["tenant", "list", "--api-url", "https://platform.test"]);
    assert_eq!(ran.code, Some(1));
    assert!(
        ran.stderr
            .contains("HTTPS_PROXY: unsupported protocol scheme"),
        "{ran:?}"
    );
}

#[test]
fn an_unreachable_address_is_exit_1_and_names_the_request() {
    let port = {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        listener.local_addr().expect("an address").port()
    };
    let base = format!("http://127.0.0.1:{port}");
    let user = User::new().with_pair();
    let ran = user.platform(&["tenant", "list", "--api-url", &base]);
    let message = format!("authentication failed: token request to {base}: connect to 127.0.0.1:");
    fails(&ran, 1, &message);
    // With a cached token the request itself fails.
    let server = Server::platform(|_| Reply::Close);
    let user = User::of(&server);
    let ran = user.platform(&["tenant", "list", "--retries", "0"]);
    let url = format!("{}/account/v1/tenants", server.url());
    fails(&ran, 1, &format!("list tenants: Get \"{url}\": "));
}
