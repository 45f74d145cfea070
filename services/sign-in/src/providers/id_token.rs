//! The ID token of an upstream (`OpenID` Connect).

use crate::{
    keys::digest,
    providers::{configured::Upstream, mapping::Claims},
};

/// Seconds by which the clock of an upstream may differ.
const CLOCK: u64 = 300;

/// Longest subject that a provider may choose, in bytes.
const LONGEST_SUBJECT: usize = 255;

/// Number of ways of a sign-in that are told on.
const MAX_WAYS: usize = 8;

/// The thing that binds a token to its request.
#[derive(Clone, Copy)]
pub(crate) enum Bound<'a> {
    /// The digest of the number that the request had.
    Nonce([u8; 32]),
    /// The subject of the token before. A refresh has no number.
    Subject(&'a str),
}

/// Checks the signed claims of an ID token. Fails with the name of the wrong claim.
pub(crate) fn check(
    claims: &Claims,
    upstream: &Upstream,
    bound: Bound<'_>,
    now: u64,
) -> Result<(), &'static str> {
    let has = |name, value: &str| claims.text(name) == Some(value);
    if !has("iss", &upstream.issuer) {
        return Err("iss");
    }
    if !is_for(claims, &upstream.client_id) {
        return Err("aud");
    }
    if claims.seconds("exp").is_none_or(|exp| exp <= now) {
        return Err("exp");
    }
    if claims
        .seconds("iat")
        .is_none_or(|iat| iat.abs_diff(now) > CLOCK)
    {
        return Err("iat");
    }
    if subject(claims).is_none() {
        return Err("sub");
    }
    match bound {
        Bound::Nonce(expected) => {
            let nonce = claims.text("nonce").map(|nonce| digest(nonce.as_bytes()));
            (nonce == Some(expected)).then_some(()).ok_or("nonce")
        }
        Bound::Subject(expected) => has("sub", expected).then_some(()).ok_or("sub"),
    }
}

/// Returns the subject of a person: a text without characters that are not shown.
pub(crate) fn subject(claims: &Claims) -> Option<&str> {
    let subject = claims.text("sub")?;
    let is_plain = subject.len() <= LONGEST_SUBJECT && !subject.chars().any(char::is_control);
    is_plain.then_some(subject)
}

/// Returns the ways in which the person signed in there (RFC 8176), words between blanks.
pub(crate) fn ways(claims: &Claims) -> String {
    let is_word = |way: &&str| {
        (1..=16).contains(&way.len())
            && way
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
    };
    let ways = claims.texts("amr").unwrap_or_default().into_iter();
    let ways: Vec<_> = ways.filter(is_word).take(MAX_WAYS).collect();
    ways.join(" ")
}

/// Returns whether the audience is this client alone, or the token was made for this client.
fn is_for(claims: &Claims, client: &str) -> bool {
    let is_made_for = claims.text("azp").map(|azp| azp == client);
    if claims.has("azp") && is_made_for != Some(true) {
        return false;
    }
    match claims.texts("aud").as_deref() {
        Some([only]) => *only == client,
        Some(audience) => audience.contains(&client) && is_made_for == Some(true),
        None => false,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    const NOW: u64 = 1_800_000_000;

    fn checked(change: &[(&str, Value)], bound: Bound<'_>) -> Result<(), &'static str> {
        let upstream = Upstream::new("corp", "https://idp.example", "tools");
        let mut claims = json!({"iss": "https://idp.example", "aud": "tools", "sub": "248",
            "exp": NOW + 60, "iat": NOW, "nonce": "n"});
        for (name, value) in change {
            claims[name] = value.clone();
        }
        let claims = Claims::read(claims.to_string().as_bytes()).expect("claims");
        check(&claims, &upstream, bound, NOW)
    }

    fn good(change: &[(&str, Value)]) -> bool {
        checked(change, Bound::Nonce(digest(b"n"))) == Ok(())
    }

    #[test]
    fn the_audience_is_this_client_alone_or_made_for_it() {
        for change in [
            vec![],
            vec![("aud", json!(["tools"]))],
            vec![("aud", json!(["tools"])), ("azp", json!("tools"))],
            vec![("aud", json!(["other", "tools"])), ("azp", json!("tools"))],
        ] {
            assert!(good(&change), "{change:?}");
        }
        for change in [
            vec![("aud", json!("other"))],
            vec![("aud", json!([]))],
            vec![("aud", json!(null))],
            vec![("aud", json!(["tools", 7])), ("azp", json!("tools"))],
            vec![("aud", json!(["tools", "other"]))],
            vec![("aud", json!(["tools", "other"])), ("azp", json!("other"))],
            vec![("aud", json!(["other"])), ("azp", json!("tools"))],
            vec![("azp", json!("other"))],
            vec![("azp", json!(["tools"]))],
        ] {
            assert!(!good(&change), "{change:?}");
        }
    }

    #[test]
    fn each_other_claim_is_checked() {
        for (name, value, expected) in [
            ("iss", json!("https://idp.example/"), "iss"),
            ("exp", json!(NOW), "exp"),
            ("exp", json!("soon"), "exp"),
            ("iat", json!(NOW - 301), "iat"),
            ("iat", json!(NOW + 301), "iat"),
            ("iat", json!(null), "iat"),
            ("sub", json!(""), "sub"),
            ("sub", json!(7), "sub"),
            ("sub", json!("a\nb"), "sub"),
            ("sub", json!("s".repeat(256)), "sub"),
            ("nonce", json!("m"), "nonce"),
            ("nonce", json!(null), "nonce"),
        ] {
            let bound = Bound::Nonce(digest(b"n"));
            let verdict = checked(&[(name, value.clone())], bound);
            assert_eq!(verdict, Err(expected), "{name} {value}");
        }
        assert!(good(&[("iat", json!(NOW - 300))]) && good(&[("iat", json!(NOW + 300))]));
        assert_eq!(checked(&[], Bound::Subject("248")), Ok(()));
        assert_eq!(checked(&[], Bound::Subject("249")), Err("sub"));
    }

    #[test]
    fn only_words_of_the_ways_are_told_on() {
        let claims = |amr: Value| Claims::read(json!({"amr": amr}).to_string().as_bytes());
        let told = |amr: Value| ways(&claims(amr).expect("claims"));
        assert_eq!(
            told(json!(["pwd", "mfa", "a b", "x".repeat(17)])),
            "pwd mfa"
        );
        assert_eq!(told(json!("pwd")), "pwd");
        assert_eq!(told(json!(7)), "");
        assert_eq!(told(json!(vec!["x"; 20])).split(' ').count(), MAX_WAYS);
    }
}
