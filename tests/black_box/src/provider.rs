//! A provider that people sign in at (`OpenID` Connect).

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::{SystemTime, UNIX_EPOCH},
};

use aws_lc_rs::signature::Ed25519KeyPair;
use serde_json::{Value, json};

use crate::{
    Answer, Browser,
    issuer::{key_list, listener, serve, signed},
};

/// The id that the provider knows a server by.
const CLIENT: &str = "ziggurat";

/// A provider on this machine, which gives no refresh tokens.
#[derive(Debug)]
pub struct FakeProvider {
    /// Its name, which is also its address.
    pub url: String,
    /// The claims of the next ID token.
    claims: Arc<Mutex<Value>>,
}

impl FakeProvider {
    /// Starts a provider.
    pub fn start() -> Self {
        let key = Ed25519KeyPair::generate().expect("a key");
        let keys = key_list(&key);
        let claims = Arc::<Mutex<Value>>::default();
        let next = Arc::clone(&claims);
        let (listener, url) = listener();
        let document = document(&url);
        serve(listener, move |line| match line.split(' ').nth(1)? {
            "/keys" => Some(keys.clone()),
            "/.well-known/openid-configuration" => Some(document.clone()),
            "/token" => {
                let claims = next.lock().unwrap_or_else(PoisonError::into_inner);
                let header = json!({"alg": "EdDSA", "kid": "a", "typ": "JWT"});
                let token = signed(&key, &header, &claims);
                let tokens = json!({"access_token": "at", "token_type": "Bearer",
                    "expires_in": 300, "id_token": token});
                Some(tokens.to_string())
            }
            _ => None,
        });
        Self { url, claims }
    }

    /// Takes the way to this provider on a page of a sign-in, signs a person in there, and returns the
    /// page that the browser comes back to.
    pub fn sign_in(&self, browser: &Browser, page: &Answer, person: &Value) -> Answer {
        let link = page.body.split("href=\"").find_map(|rest| {
            let link = rest.split('"').next()?;
            link.contains("/oauth/upstream/").then_some(link)
        });
        let link = link.unwrap_or_else(|| panic!("a way to a provider in {page:?}"));
        let sent = browser.open(&link.replace("&amp;", "&"));
        let query = sent
            .head
            .lines()
            .find(|line| line.to_ascii_lowercase().starts_with("location:"))
            .and_then(|line| line.trim().split_once('?'))
            .unwrap_or_else(|| panic!("an address in {sent:?}"))
            .1;
        let parameter = |name: &str| {
            let pairs = query.split('&').filter_map(|pair| pair.split_once('='));
            let found = pairs.into_iter().find(|(key, _)| *key == name);
            found.expect(name).1.to_owned()
        };
        let now = SystemTime::now().duration_since(UNIX_EPOCH);
        let now = now.expect("after 1970").as_secs();
        let mut claims = json!({"iss": self.url, "aud": CLIENT, "iat": now, "exp": now + 300,
            "nonce": parameter("nonce")});
        for (name, value) in person.as_object().expect("claims") {
            claims[name] = value.clone();
        }
        *self.claims.lock().unwrap_or_else(PoisonError::into_inner) = claims;
        let redirect = parameter("redirect_uri").replace("%2F", "/");
        let path = redirect.find("/oauth/").expect("a path");
        let state = parameter("state");
        browser.open(&format!("{}?state={state}&code=c0de", &redirect[path..]))
    }
}

fn document(url: &str) -> String {
    json!({
        "issuer": url,
        "authorization_endpoint": format!("{url}/auth"),
        "token_endpoint": format!("{url}/token"),
        "jwks_uri": format!("{url}/keys"),
    })
    .to_string()
}
