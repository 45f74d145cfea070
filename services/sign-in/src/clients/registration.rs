//! Dynamic registration (RFC 7591).
//!
//! The id is made of the registered metadata, so a client that registers again gets the same id, and a
//! client that was forgotten comes back.

use base64::{Engine as _, prelude::BASE64_URL_SAFE_NO_PAD};
use serde_json::{Map, Value, json};

use crate::{
    clients::{Method, PUBLIC, StoredClient, WITH_SECRET, redirect},
    keys::{Seal, base32, digest},
    settings::Registration,
};

/// Longest body of a registration.
pub(crate) const LONGEST: usize = 16 << 10;

/// Longest name of a client, in characters.
const LONGEST_NAME: usize = 200;

/// Number of redirect addresses.
const MAX_REDIRECTS: usize = 16;

/// Letters of an id.
const ID_LETTERS: usize = 24;

/// A refusal, with the code of the RFC.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Refused {
    pub(crate) code: &'static str,
    pub(crate) problem: String,
}

/// Reads the metadata of a client.
pub(crate) fn read(body: &[u8], registration: &Registration) -> Result<StoredClient, Refused> {
    let metadata = |problem: &str| Refused {
        code: "invalid_client_metadata",
        problem: problem.to_owned(),
    };
    let object: Map<String, Value> =
        serde_json::from_slice(body).map_err(|_| metadata("the body must be a JSON object"))?;
    let redirect_uris = redirects(object.get("redirect_uris"), registration)?;
    let name = match object.get("client_name") {
        None | Some(Value::Null) => String::new(),
        Some(Value::String(name)) if name.chars().count() <= LONGEST_NAME => name.clone(),
        Some(_) => {
            return Err(metadata(
                "client_name must be a text of at most 200 characters",
            ));
        }
    };
    let grants = texts(object.get("grant_types"));
    let grants = grants.map_err(|()| metadata("grant_types must be a list of texts"))?;
    let is_code = |grants: &Vec<&str>| grants.contains(&"authorization_code");
    if grants.as_ref().is_some_and(|grants| !is_code(grants)) {
        return Err(metadata("grant_types must have authorization_code"));
    }
    let responses = texts(object.get("response_types"));
    let responses = responses.map_err(|()| metadata("response_types must be a list of texts"))?;
    if responses.is_some_and(|responses| !responses.contains(&"code")) {
        return Err(metadata("response_types must have code"));
    }
    let method = object.get("token_endpoint_auth_method");
    let method = method_of(method, &redirect_uris).ok_or_else(|| {
        metadata(
            "token_endpoint_auth_method must be none, client_secret_basic or client_secret_post",
        )
    })?;
    let application_type = object.get("application_type").and_then(Value::as_str);
    let application_type = application_type.filter(|kind| matches!(*kind, "web" | "native"));
    // A list without it is a choice, and no list is not a choice.
    let has_refresh = grants.is_none_or(|grants| grants.contains(&"refresh_token"));
    let mut client = StoredClient {
        id: String::new(),
        name,
        redirect_uris,
        has_refresh,
        method,
        application_type: application_type.map(str::to_owned),
    };
    client.id = id(&client);
    Ok(client)
}

/// Returns the way in which a client proves itself, which has to have a secret for some clients.
fn method_of(asked: Option<&Value>, redirect_uris: &[String]) -> Option<Method> {
    let asked = match asked {
        None | Some(Value::Null) => Method::None,
        Some(method) => Method::of(method.as_str()?)?,
    };
    let needs_secret = redirect_uris.iter().any(|it| redirect::needs_secret(it));
    Some(if asked == Method::None && needs_secret {
        Method::Post
    } else {
        asked
    })
}

/// Returns the answer to a registration.
pub(crate) fn answer(client: &StoredClient, seal: &Seal, now: u64) -> Value {
    let mut grants = vec!["authorization_code"];
    grants.extend(client.has_refresh.then_some("refresh_token"));
    let mut answer = json!({
        "client_id": client.id,
        "client_id_issued_at": now,
        "client_name": client.name,
        "redirect_uris": client.redirect_uris,
        "grant_types": grants,
        "response_types": ["code"],
        "token_endpoint_auth_method": client.method.name(),
    });
    if let Some(kind) = &client.application_type {
        answer["application_type"] = kind.as_str().into();
    }
    if client.id.starts_with(WITH_SECRET) {
        answer["client_secret"] = secret(&client.id, seal).into();
        answer["client_secret_expires_at"] = 0.into();
    }
    answer
}

/// Returns the secret of a client that registered itself.
pub(crate) fn secret(id: &str, seal: &Seal) -> String {
    let proof = seal.prove("client", id.as_bytes());
    format!("zcs_{}", BASE64_URL_SAFE_NO_PAD.encode(proof))
}

/// Returns the redirect addresses that are good, sorted. The others are dropped.
fn redirects(given: Option<&Value>, registration: &Registration) -> Result<Vec<String>, Refused> {
    let refused = |problem: &str| Refused {
        code: "invalid_redirect_uri",
        problem: problem.to_owned(),
    };
    let given = texts(given).ok().flatten();
    let given = given.filter(|given| (1..=MAX_REDIRECTS).contains(&given.len()));
    let given = given.ok_or_else(|| refused("redirect_uris must be a list of 1 to 16 texts"))?;
    let good = given
        .into_iter()
        .filter(|address| redirect::is_allowed(address, registration));
    let mut good: Vec<_> = good.map(str::to_owned).collect();
    good.sort_unstable();
    good.dedup();
    if good.is_empty() {
        return Err(refused(
            "redirect_uris[0]: must be https on a host this server allows, http on a loopback \
             host, or a scheme it allows",
        ));
    }
    Ok(good)
}

/// Returns a list of texts, if it is there.
fn texts(value: Option<&Value>) -> Result<Option<Vec<&str>>, ()> {
    let list = match value {
        None | Some(Value::Null) => return Ok(None),
        Some(Value::Array(list)) => list.iter(),
        Some(_) => return Err(()),
    };
    let texts: Option<Vec<_>> = list.map(Value::as_str).collect();
    texts.map(Some).ok_or(())
}

/// Returns the id of a client.
fn id(client: &StoredClient) -> String {
    let parts = json!([
        client.name.trim(),
        client.redirect_uris,
        client.has_refresh,
        client.method.name(),
    ]);
    let hash = digest(parts.to_string().as_bytes());
    let beginning = match client.method {
        Method::None => PUBLIC,
        Method::Basic | Method::Post => WITH_SECRET,
    };
    format!("{beginning}{}", base32(&hash, ID_LETTERS))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn register(metadata: &Value) -> Result<StoredClient, Refused> {
        read(metadata.to_string().as_bytes(), &Registration::default())
    }

    #[test]
    fn who_registers_the_same_gets_the_same_id() {
        let metadata = json!({"client_name": "Inspector", "scope": "x",
            "redirect_uris": ["http://localhost:6274/oauth/callback"]});
        let client = register(&metadata).expect("a client");
        assert_eq!(client.id.len(), PUBLIC.len() + ID_LETTERS);
        assert!(client.id.starts_with(PUBLIC), "{}", client.id);
        assert_eq!(register(&metadata), Ok(client.clone()));
        let mut other = metadata.clone();
        other["redirect_uris"] = json!(["http://localhost:6275/oauth/callback"]);
        assert_ne!(register(&other).expect("a client").id, client.id);
        other["token_endpoint_auth_method"] = json!("client_secret_post");
        let with_secret = register(&other).expect("a client");
        assert!(
            with_secret.id.starts_with(WITH_SECRET),
            "{}",
            with_secret.id
        );
        let seal = Seal::new(&[7; 32]);
        let answer = answer(&with_secret, &seal, 9);
        assert_eq!(answer["client_secret"], secret(&with_secret.id, &seal));
        assert_eq!(answer["client_secret_expires_at"], 0);
        assert_eq!(answer["client_id_issued_at"], 9);
    }

    #[test]
    fn a_client_that_needs_a_secret_gets_one_even_where_it_asks_for_none() {
        let address = "https://www.perplexity.ai/rest/connections/oauth_callback";
        for asked in [json!(null), json!("none")] {
            let client = register(&json!({"client_name": "Perplexity",
                "redirect_uris": [address], "token_endpoint_auth_method": asked}));
            let client = client.expect("a client");
            assert!(client.id.starts_with(WITH_SECRET), "{}", client.id);
            assert_eq!(client.method, Method::Post);
        }
    }

    #[test]
    fn bad_addresses_are_dropped_and_only_bad_ones_are_refused() {
        let client = register(&json!({"redirect_uris": [
            "https://evil.example/", "cursor://anysphere.cursor-mcp/oauth/callback",
        ]}));
        let expected = ["cursor://anysphere.cursor-mcp/oauth/callback"];
        assert_eq!(client.expect("a client").redirect_uris, expected);
        for redirects in [
            json!(["https://evil.example/"]),
            json!([]),
            json!("x"),
            json!([1]),
        ] {
            let refused = register(&json!({"redirect_uris": redirects})).expect_err("bad");
            assert_eq!(refused.code, "invalid_redirect_uri");
        }
    }

    #[test]
    fn metadata_that_asks_for_something_else_is_refused() {
        let good = json!({"redirect_uris": ["http://127.0.0.1/"]});
        for (member, value) in [
            ("client_name", json!("x".repeat(201))),
            ("client_name", json!(1)),
            ("grant_types", json!(["client_credentials"])),
            ("grant_types", json!("authorization_code")),
            ("response_types", json!(["token"])),
            ("token_endpoint_auth_method", json!("private_key_jwt")),
        ] {
            let mut metadata = good.clone();
            metadata[member] = value.clone();
            let refused = register(&metadata).expect_err(member);
            assert_eq!(refused.code, "invalid_client_metadata", "{member}: {value}");
        }
        assert!(read(b"[]", &Registration::default()).is_err());
    }
}
