//! The assertion with which a client proves that it has its key (RFC 7523).

use base64::{Engine as _, prelude::BASE64_URL_SAFE_NO_PAD};
use ziggurat_layers::access_token::Members;

/// The value of `client_assertion_type`.
pub(crate) const TYPE: &str = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer";

/// Types in the header of an assertion.
pub(crate) const HEADERS: [&str; 2] = ["JWT", "client-authentication+jwt"];

/// Longest assertion.
pub(crate) const LONGEST: usize = 8 << 10;

/// Longest time until an assertion expires, in seconds.
const LONGEST_LIFE: u64 = 600;

/// Seconds by which the clock of a client may be ahead.
const AHEAD: u64 = 60;

/// The claims of an assertion that make it good once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Claims {
    pub(crate) id: String,
    pub(crate) ends_at: u64,
}

/// Checks the signed claims of an assertion. The audience is one of these addresses, or a list with
/// nothing else, each with or without a slash at its end.
pub(crate) fn check(claims: &[u8], client: &str, audiences: &[&str], now: u64) -> Option<Claims> {
    let members = Members::parse(claims)?;
    let text = |name| members.get::<String>(name).ok().flatten();
    let is_of_client = |name| text(name).is_some_and(|value| value == client);
    let audience = match members.get::<String>("aud") {
        Ok(one) => vec![one?],
        Err(_) => members.get::<Vec<String>>("aud").ok()??,
    };
    let is_own = |named: &String| {
        let named = named.strip_suffix('/').unwrap_or(named);
        audiences.contains(&named)
    };
    let is_for_us = !audience.is_empty() && audience.iter().all(is_own);
    let ends_at = members.get::<u64>("exp").ok()??;
    let begins_at = members.get::<u64>("nbf").ok()?.unwrap_or(0);
    let is_now = (now + 1..=now + LONGEST_LIFE).contains(&ends_at) && begins_at <= now + AHEAD;
    let id = text("jti").filter(|id| !id.is_empty())?;
    let is_good = is_of_client("iss") && is_of_client("sub") && is_for_us && is_now;
    is_good.then_some(Claims { id, ends_at })
}

/// Returns the client that an assertion names; nothing of it is proved.
pub(crate) fn client_of(assertion: &str) -> Option<String> {
    let claims = assertion.split('.').nth(1)?;
    let claims = BASE64_URL_SAFE_NO_PAD.decode(claims).ok()?;
    Members::parse(&claims)?.get("iss").ok()?
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    const CLIENT: &str = "https://app.example/client.json";
    const AUDIENCES: [&str; 2] = ["https://as.example", "https://as.example/oauth/token"];
    const NOW: u64 = 1_800_000_000;

    fn checked(name: &str, value: Value) -> Option<Claims> {
        let mut claims = json!({"iss": CLIENT, "sub": CLIENT, "aud": AUDIENCES[0],
            "exp": NOW + 60, "jti": "1"});
        claims[name] = value;
        check(claims.to_string().as_bytes(), CLIENT, &AUDIENCES, NOW)
    }

    #[test]
    fn an_assertion_is_for_this_server_alone() {
        for audience in [
            json!("https://as.example"),
            json!("https://as.example/"),
            json!("https://as.example/oauth/token"),
            json!("https://as.example/oauth/token/"),
            json!(["https://as.example/", "https://as.example/oauth/token"]),
        ] {
            assert!(checked("aud", audience.clone()).is_some(), "{audience}");
        }
        for audience in [
            json!(""),
            json!([]),
            json!(null),
            json!(7),
            json!("https://as.example//"),
            json!("https://as.example/oauth"),
            json!("https://AS.example"),
            json!("https://other.example"),
            json!(["https://as.example", "https://other.example"]),
            json!([["https://as.example"]]),
        ] {
            assert_eq!(checked("aud", audience.clone()), None, "{audience}");
        }
    }

    #[test]
    fn an_assertion_is_of_the_client_and_of_the_next_ten_minutes() {
        let claims = checked("exp", json!(NOW + 600)).expect("good");
        assert_eq!((&*claims.id, claims.ends_at), ("1", NOW + 600));
        assert!(checked("nbf", json!(NOW + 60)).is_some());
        for (name, value) in [
            ("iss", json!("https://app.example")),
            ("sub", json!("https://app.example/client.json/")),
            ("sub", json!([CLIENT])),
            ("sub", Value::Null),
            ("exp", json!(NOW)),
            ("exp", json!(NOW + 601)),
            ("exp", json!("soon")),
            ("exp", json!(1e300)),
            ("nbf", json!(NOW + 61)),
            ("nbf", json!("now")),
            ("jti", json!("")),
            ("jti", json!(1)),
            ("jti", Value::Null),
        ] {
            assert_eq!(checked(name, value.clone()), None, "{name}: {value}");
        }
        assert_eq!(check(b"[]", CLIENT, &AUDIENCES, NOW), None);
    }
}
