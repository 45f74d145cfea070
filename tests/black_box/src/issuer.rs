//! An issuer of access tokens.

use std::{
    io::{BufRead as _, BufReader, Write as _},
    net::TcpListener,
    thread,
};

use aws_lc_rs::signature::{Ed25519KeyPair, KeyPair as _};
use base64::{Engine as _, prelude::BASE64_URL_SAFE_NO_PAD};
use serde_json::{Value, json};

/// An issuer that serves its keys over HTTP.
#[derive(Debug)]
pub struct FakeIssuer {
    /// Its name, which is also its address.
    pub url: String,
    key: Ed25519KeyPair,
}

impl FakeIssuer {
    /// Starts an issuer with one key, which it serves at `/keys`.
    pub fn start() -> Self {
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

    /// A token for this resource, with these further claims.
    pub fn token(&self, resource: &str, subject: &str, more: &Value) -> String {
        let mut claims = json!({"iss": self.url, "sub": subject, "exp": 4_000_000_000_u64,
            "aud": resource});
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
