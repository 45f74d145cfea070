//! A signed token and the documents of its issuer, one of them edited anywhere.
//!
//! No document may cause a panic. A token that is accepted says what the rules ask for, as another
//! parser reads it.
#![no_main]

use std::{
    future::pending,
    pin::pin,
    sync::LazyLock,
    task::{Context, Poll, Waker},
    time::Duration,
};

use aws_lc_rs::signature::{Ed25519KeyPair, KeyPair as _};
use base64::{Engine as _, prelude::BASE64_URL_SAFE_NO_PAD};
use http::StatusCode;
use libfuzzer_sys::fuzz_target;
use serde_json::Value;
use ziggurat_layers::{
    access_token::{AccessTokens, Fetch, FetchError, FetchRequest, Fetched, Rules},
    bearer::Verify as _,
    clock::ManualClock,
};

const NOW: u64 = 1_790_000_000;

const HEADER: &str = r#"{"alg":"EdDSA","kid":"a","typ":"at+jwt"}"#;
const CLAIMS: &str = r#"{"iss":"https://accounts.example","aud":["https://api.example"],"sub":"alice","client_id":"console","jti":"t1","exp":1790000060,"iat":1790000000,"scope":"read write"}"#;
const METADATA: &str = r#"{"issuer":"https://accounts.example","jwks_uri":"https://accounts.example/keys","revoked_clients_uri":"https://accounts.example/revoked"}"#;
const LIST: &str = r#"{"issuer":"https://accounts.example","revoked":[{"client_id":"other"},{"sub":"bob","jti":"t2"}]}"#;

static KEY: LazyLock<Ed25519KeyPair> =
    LazyLock::new(|| Ed25519KeyPair::from_seed_unchecked(&[7; 32]).expect("32 bytes"));

static JWKS: LazyLock<String> = LazyLock::new(|| {
    let x = encode(KEY.public_key());
    format!(r#"{{"keys":[{{"kty":"OKP","crv":"Ed25519","kid":"a","use":"sig","x":"{x}"}}]}}"#)
});

/// The documents of an issuer: metadata, keys, and the list of revoked tokens.
struct Documents([String; 3]);

impl Fetch for Documents {
    async fn fetch(&self, request: FetchRequest<'_>) -> Result<Fetched, FetchError> {
        let [metadata, keys, list] = &self.0;
        let document = match request.url() {
            "https://accounts.example/keys" => keys,
            "https://accounts.example/revoked" => list,
            url if url.contains("/.well-known/") => metadata,
            _ => return Err(FetchError::status(StatusCode::NOT_FOUND)),
        };
        Ok(Fetched::new(document.as_str()))
    }

    async fn sleep(&self, _: Duration) {
        pending::<()>().await;
    }
}

fn encode(bytes: impl AsRef<[u8]>) -> String {
    BASE64_URL_SAFE_NO_PAD.encode(bytes)
}

fn now<F: Future>(future: F) -> F::Output {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(output) => output,
        Poll::Pending => panic!("nothing here waits"),
    }
}

fn check(header: &str, claims: &str) {
    let header: Value = serde_json::from_str(header).expect("an accepted header is JSON");
    assert_eq!(header["alg"], "EdDSA");
    assert!(header.get("crit").is_none());
    let typ = header["typ"].as_str().expect("a type").to_ascii_lowercase();
    assert_eq!(typ.trim_start_matches("application/"), "at+jwt");
    let claims: Value = serde_json::from_str(claims).expect("accepted claims are JSON");
    assert_eq!(claims["iss"], "https://accounts.example");
    let audience = &claims["aud"];
    let is_ours = |name: &Value| name == "https://api.example";
    assert!(is_ours(audience) || audience.as_array().expect("names").iter().any(is_ours));
    assert!(claims["exp"].as_u64().expect("a date") > NOW);
    assert!(claims["iat"].as_u64().is_none_or(|date| date <= NOW + 60));
    assert!(claims["sub"].as_str().is_some_and(|sub| !sub.is_empty()));
    assert!(claims["client_id"].is_string());
}

fuzz_target!(|input: (u8, u16, u8, &str)| {
    let (document, at, removed, inserted) = input;
    let mut documents = [HEADER, CLAIMS, METADATA, &JWKS, LIST].map(str::to_owned);
    let edited = &mut documents[usize::from(document) % 5];
    let start = usize::from(at) % (edited.len() + 1);
    let end = edited.len().min(start + usize::from(removed));
    let is_same = edited[start..end] == *inserted;
    edited.replace_range(start..end, inserted);
    let [header, claims, metadata, keys, list] = documents;

    let signed = format!("{}.{}", encode(&header), encode(&claims));
    let signature = encode(KEY.sign(signed.as_bytes()));
    let rules = Rules::new("https://accounts.example", ["https://api.example"]).expect("https");
    let clock = ManualClock::new();
    clock.advance(Duration::from_secs(NOW));
    let tokens = AccessTokens::new(rules, Documents([metadata, keys, list])).with_clock(clock);
    now(tokens.poll());
    let verdict = tokens.verify_now(&format!("{signed}.{signature}"));
    let is_accepted = matches!(verdict, Some(Ok(_)));
    assert!(is_accepted || !is_same, "{verdict:?}");
    if is_accepted {
        check(&header, &claims);
    }
    // Not signed at all.
    assert!(!matches!(tokens.verify_now(inserted), Some(Ok(_))));
});
