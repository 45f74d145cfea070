//! An issuer of access tokens.

use std::{
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::{TcpListener, TcpStream},
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
        let keys = key_list(&key);
        let (listener, url) = listener();
        serve(listener, move |line| {
            line.starts_with("GET /keys ").then(|| keys.clone())
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
        signed(&self.key, &header, &claims)
    }
}

/// Listens on a port of this machine. Also returns the address.
pub(crate) fn listener() -> (TcpListener, String) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let url = format!("http://{}", listener.local_addr().expect("bound"));
    (listener, url)
}

/// Serves JSON. `answer` gets the first line of a request; `None` is 404.
pub(crate) fn serve(
    listener: TcpListener,
    answer: impl Fn(&str) -> Option<String> + Send + 'static,
) {
    thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.expect("a client");
            let (status, body) = match answer(&first_line(&stream)) {
                Some(body) => ("200 OK", body),
                None => ("404 Not Found", "{}".to_owned()),
            };
            let length = body.len();
            let answer = format!(
                "HTTP/1.1 {status}\r\ncontent-type: application/json\r\nconnection: close\r\n\
                 content-length: {length}\r\n\r\n{body}"
            );
            stream.write_all(answer.as_bytes()).ok();
        }
    });
}

/// Reads a request, and returns its first line.
fn first_line(stream: &TcpStream) -> String {
    let mut reader = BufReader::new(stream);
    let (mut first, mut length) = (String::new(), 0);
    reader.read_line(&mut first).ok();
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line).is_err() || line.trim().is_empty() {
            break;
        }
        if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().unwrap_or_default();
        }
    }
    // A client that finds bytes unread may see the connection reset.
    reader.take(length).read_to_end(&mut Vec::new()).ok();
    first
}

/// Signs a token.
pub(crate) fn signed(key: &Ed25519KeyPair, header: &Value, claims: &Value) -> String {
    let encode = |value: &Value| BASE64_URL_SAFE_NO_PAD.encode(value.to_string());
    let text = format!("{}.{}", encode(header), encode(claims));
    let signature = BASE64_URL_SAFE_NO_PAD.encode(key.sign(text.as_bytes()));
    format!("{text}.{signature}")
}

/// Returns the public key as a list of one.
pub(crate) fn key_list(key: &Ed25519KeyPair) -> String {
    let x = BASE64_URL_SAFE_NO_PAD.encode(key.public_key());
    json!({"keys": [{"kty": "OKP", "crv": "Ed25519", "kid": "a", "x": x}]}).to_string()
}
