//! Claims in the tokens of an issuer.

use std::{
    io::{BufRead as _, BufReader, Write as _},
    net::TcpListener,
    thread,
};

use aws_lc_rs::signature::{Ed25519KeyPair, KeyPair as _};
use base64::{Engine as _, prelude::BASE64_URL_SAFE_NO_PAD};
use rustix::process::Signal;
use serde_json::{Value, json};

use super::{NOTES, check, configure, home, value};
use crate::support::Postgres;

/// An issuer whose keys are fetched over HTTP.
struct FakeIssuer {
    url: String,
    key: Ed25519KeyPair,
}

impl FakeIssuer {
    fn start() -> Self {
        let key = Ed25519KeyPair::generate().expect("a key");
        let x = BASE64_URL_SAFE_NO_PAD.encode(key.public_key());
        let keys = json!({"keys": [{"kty": "OKP", "crv": "Ed25519", "kid": "a", "x": x}]});
        let keys = keys.to_string();
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let url = format!("http://{}", listener.local_addr().expect("bound"));
        thread::spawn(move || {
            for stream in listener.incoming() {
                let mut stream = stream.expect("a client");
                let mut lines = BufReader::new(&stream).lines();
                let first = lines.next().and_then(Result::ok).unwrap_or_default();
                let is_end = |line: &Result<String, _>| line.as_ref().is_ok_and(String::is_empty);
                lines.find(is_end);
                let (status, body) = if first.starts_with("GET /keys ") {
                    ("200 OK", &*keys)
                } else {
                    ("404 Not Found", "{}")
                };
                let length = body.len();
                let answer = format!(
                    "HTTP/1.1 {status}\r\ncontent-type: application/json\r\nconnection: close\r\n\
                     content-length: {length}\r\n\r\n{body}"
                );
                stream.write_all(answer.as_bytes()).ok();
            }
        });
        Self { url, key }
    }

    fn configuration(&self, claims: &str) -> String {
        let url = &self.url;
        format!(
            "http: {{auth: {{issuer: {{url: '{url}', jwks_url: '{url}/keys', \
             public_url: 'https://tools.example', when_unreachable: accept}}}}}}\n\
             identity: {{claims: {claims}}}\n"
        )
    }

    /// Returns a token with these claims.
    fn token(&self, subject: &str, more: &Value) -> String {
        let mut claims = json!({"iss": self.url, "sub": subject, "exp": 4_000_000_000_u64,
            "aud": "https://tools.example/mcp"});
        for (name, value) in more.as_object().expect("claims") {
            claims[name] = value.clone();
        }
        let header = json!({"alg": "EdDSA", "kid": "a", "typ": "at+jwt"});
        let encode = |value: &Value| BASE64_URL_SAFE_NO_PAD.encode(value.to_string());
        let text = format!("{}.{}", encode(&header), encode(&claims));
        let signature = BASE64_URL_SAFE_NO_PAD.encode(self.key.sign(text.as_bytes()));
        format!("{text}.{signature}")
    }
}

#[test]
fn the_claims_of_an_issuer_that_the_configuration_names_fill_parameters() {
    let postgres = Postgres::with(NOTES);
    let issuer = FakeIssuer::start();
    let named = issuer.configuration("[tenant, realm_access.roles]");
    let home = home(&postgres, &named);
    let (program, stranger) = home.serve(&[]);
    let client = |subject: &str, claims: Value| stranger.bearing(&issuer.token(subject, &claims));
    let acme = client(
        "robot",
        json!({"tenant": "acme", "realm_access": {"roles": ["x", "y"]}, "level": 5}),
    );
    // Another token of the same subject.
    let globex = client("robot", json!({"tenant": "globex", "level": 6}));
    let odd = client(
        "odd",
        json!({"tenant": {"name": "acme"}, "realm_access": {"roles": "x"}, "level": 7}),
    );
    check(&acme, &["of_two", "own_name", "own_notes", "own_roles"]);
    check(&globex, &["of_two", "own_name", "own_notes"]);
    check(&odd, &["of_two", "own_name"]);
    for _ in 0..2 {
        assert_eq!(value(&acme, "own_notes"), "red");
        assert_eq!(value(&globex, "own_notes"), "blue");
    }
    assert_eq!(value(&acme, "own_roles"), "x+y");
    assert_eq!(value(&acme, "own_name"), "client:robot");
    program.until_it_says("configuration reloaded", || {
        configure(&home, &postgres, &issuer.configuration("[level]"));
        program.signal(Signal::HUP);
    });
    check(&acme, &["of_two", "own_level", "own_name"]);
    assert_eq!(value(&globex, "own_level"), "6");
}
