//! The assertion with which a provider admits a person for a client (ID-JAG).

use crate::{
    documents,
    people::Person,
    providers::{configured::IdentityAssertion, id_token, mapping::Claims},
    settings::{Resource, Settings},
};

/// Longest assertion.
pub(crate) const LONGEST: usize = 8 << 10;

/// Longest time until an assertion expires, in seconds.
const LONGEST_LIFE: u64 = 600;

/// Seconds by which the clock of a provider may be ahead.
const AHEAD: u64 = 60;

/// Longest number of an assertion, in bytes.
const LONGEST_ID: usize = 256;

/// The claims of an assertion that hold for its client.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Asserted<'a> {
    pub(crate) subject: &'a str,
    /// The number that makes it good once.
    pub(crate) id: &'a str,
    pub(crate) ends_at: u64,
    /// The moment at which the person signed in, as far as the provider says it.
    pub(crate) signed_in_at: u64,
}

/// Checks issuer, audience, moments and client of an assertion, in this order. Fails with the name of
/// the wrong claim.
pub(crate) fn check<'a>(
    claims: &'a Claims,
    entry: &IdentityAssertion,
    settings: &Settings,
    client: &str,
    now: u64,
) -> Result<Asserted<'a>, &'static str> {
    if claims.text("iss") != Some(&entry.issuer) {
        return Err("iss");
    }
    let audience = claims.texts("aud").unwrap_or_default();
    let [audience] = audience[..] else {
        return Err("aud");
    };
    if audience.strip_suffix('/').unwrap_or(audience) != settings.issuer {
        return Err("aud");
    }
    let ends_at = claims.seconds("exp").ok_or("exp")?;
    if !(now + 1..=now + LONGEST_LIFE).contains(&ends_at) {
        return Err("exp");
    }
    for name in ["iat", "nbf"] {
        let is_past = |at: Option<u64>| at.is_none_or(|at| at <= now + AHEAD);
        if !claims.moment(name).is_ok_and(is_past) {
            return Err(name);
        }
    }
    let subject = id_token::subject(claims).ok_or("sub")?;
    let id = claims.text("jti").filter(|id| id.len() <= LONGEST_ID);
    let id = id.ok_or("jti")?;
    if claims.text("client_id") != Some(client) {
        return Err("client_id");
    }
    let signed_in_at = claims.seconds("auth_time").or(claims.seconds("iat"));
    Ok(Asserted {
        subject,
        id,
        ends_at,
        signed_in_at: signed_in_at.map_or(now, |at| at.min(now)),
    })
}

/// Returns the resource of an assertion, and the alias that it names. The request may name the same.
pub(crate) fn resource<'s>(
    claims: &Claims,
    asked: Option<&str>,
    client: &str,
    settings: &'s Settings,
) -> Option<(&'s Resource, Option<String>)> {
    let all = &settings.resources;
    let found = if claims.has("resource") {
        let [named] = claims.texts("resource")?[..] else {
            return None;
        };
        documents::find(all, named)?
    } else {
        (documents::only(all)?, None)
    };
    let is_same = |asked| documents::find(all, asked).is_some_and(|(it, _)| it.uri == found.0.uri);
    (found.0.is_for(client) && asked.is_none_or(is_same)).then_some(found)
}

/// Returns the words that both the assertion and the request name. Nothing is left for a refresh.
pub(crate) fn scope(
    claims: &Claims,
    asked: Option<&str>,
    settings: &Settings,
    person: &Person,
    may_write: bool,
) -> Option<String> {
    let named = if claims.has("scope") {
        claims.text("scope")?
    } else {
        "mcp"
    };
    let is_asked = |word: &str| asked.is_none_or(|asked| asked.split(' ').any(|it| it == word));
    let is_allowed = |word: &str| {
        word != "offline_access"
            && (may_write || word != settings.write_scope)
            && settings.may_allow(person, word)
            && is_asked(word)
    };
    let words = settings.scope_words().into_iter();
    let words = words.filter(|word| named.split(' ').any(|it| it == *word) && is_allowed(word));
    let words: Vec<_> = words.collect();
    (!words.is_empty()).then(|| words.join(" "))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    const NOW: u64 = 1_800_000_000;

    fn settings() -> Settings {
        let tools = Resource::new("https://as.example/mcp", "Tools");
        Settings {
            issuer: "https://as.example".to_owned(),
            resources: vec![tools.with_alias("https://as.example")],
            ..Settings::default()
        }
    }

    fn claims(change: &[(&str, Value)]) -> Claims {
        let mut claims = json!({"iss": "https://idp.example", "aud": "https://as.example",
            "sub": "248", "jti": "1", "client_id": "acme", "exp": NOW + 300, "iat": NOW});
        for (name, value) in change {
            claims[name] = value.clone();
        }
        Claims::read(claims.to_string().as_bytes()).expect("claims")
    }

    fn refused(name: &str, value: &Value) -> Option<&'static str> {
        let entry = IdentityAssertion::new("acme", "https://idp.example");
        let claims = claims(&[(name, value.clone())]);
        check(&claims, &entry, &settings(), "acme", NOW).err()
    }

    #[test]
    fn an_assertion_is_for_this_server_alone() {
        for audience in [
            json!("https://as.example"),
            json!("https://as.example/"),
            json!(["https://as.example"]),
        ] {
            assert_eq!(refused("aud", &audience), None, "{audience}");
        }
        for audience in [
            json!("https://as.example//"),
            json!("https://as.example/mcp"),
            json!("https://other.example"),
            json!([]),
            json!(["https://as.example", "https://as.example/"]),
            json!(["https://as.example", "https://other.example"]),
            json!({"aud": "https://as.example"}),
            json!(null),
        ] {
            assert_eq!(refused("aud", &audience), Some("aud"), "{audience}");
        }
    }

    #[test]
    fn each_other_claim_of_an_assertion_is_checked() {
        for (name, value) in [
            ("iss", json!("https://idp.example/")),
            ("exp", json!(NOW)),
            ("exp", json!(NOW + 601)),
            ("exp", json!("soon")),
            ("iat", json!(NOW + 61)),
            ("iat", json!("now")),
            ("nbf", json!(NOW + 61)),
            ("nbf", json!(null)),
            ("sub", json!("")),
            ("sub", json!(["248"])),
            ("jti", json!("")),
            ("jti", json!(7)),
            ("jti", json!("x".repeat(257))),
            ("client_id", json!("other")),
            ("client_id", json!(["acme"])),
            ("client_id", json!(null)),
        ] {
            assert_eq!(refused(name, &value), Some(name), "{name} {value}");
        }
        for (name, value) in [("exp", NOW + 600), ("iat", NOW + 60), ("nbf", NOW + 60)] {
            assert_eq!(refused(name, &json!(value)), None, "{name} {value}");
        }
    }

    #[test]
    fn a_resource_is_one_of_this_server_and_the_one_of_the_request() {
        let one = settings();
        let mut two = settings();
        two.resources
            .push(Resource::new("https://as.example/b", "B"));
        let found = |settings: &Settings, claim: Value, asked: Option<&str>| {
            let claims = claims(&[("resource", claim)]);
            resource(&claims, asked, "acme", settings).map(|(it, alias)| (it.uri.clone(), alias))
        };
        let tools = |alias: Option<&str>| {
            let alias = alias.map(str::to_owned);
            Some(("https://as.example/mcp".to_owned(), alias))
        };
        let name = json!("https://as.example/mcp/");
        assert_eq!(found(&two, name.clone(), None), tools(None));
        assert_eq!(
            found(&two, json!(["https://as.example/mcp"]), None),
            tools(None)
        );
        let alias = "https://as.example";
        assert_eq!(found(&one, json!(alias), None), tools(Some(alias)));
        assert_eq!(found(&two, name.clone(), Some(alias)), tools(None));
        for (claim, asked) in [
            (name.clone(), Some("https://as.example/b")),
            (name, Some("https://other.example/mcp")),
            (json!("https://other.example/mcp"), None),
            (
                json!(["https://as.example/mcp", "https://as.example/b"]),
                None,
            ),
            (json!([]), None),
            (json!(7), None),
        ] {
            assert_eq!(found(&two, claim.clone(), asked), None, "{claim} {asked:?}");
        }
        let absent = claims(&[]);
        assert!(resource(&absent, None, "acme", &one).is_some());
        assert!(resource(&absent, None, "acme", &two).is_none());
    }

    #[test]
    fn an_assertion_gives_no_client_the_resource_of_another_one() {
        let mut closed = settings();
        closed.resources[0].clients = vec!["line".to_owned()];
        let uri = closed.resources[0].uri.clone();
        for claims in [claims(&[("resource", json!(uri))]), claims(&[])] {
            assert!(resource(&claims, None, "acme", &closed).is_none());
        }
        let named = claims(&[("resource", json!(uri))]);
        assert!(resource(&named, None, "line", &closed).is_some());
    }

    #[test]
    fn a_scope_is_named_by_both_and_changes_need_a_rule() {
        let settings = settings();
        let found = |claim: Option<Value>, asked: Option<&str>, may_write| {
            let claim = claim.map(|claim| ("scope", claim));
            let person = Person::new("7", "ann");
            scope(
                &claims(claim.as_slice()),
                asked,
                &settings,
                &person,
                may_write,
            )
        };
        let text = |text: &str| Some(text.to_owned());
        assert_eq!(found(None, None, true), text("mcp"));
        assert_eq!(
            found(Some(json!("mcp:write mcp")), None, true),
            text("mcp mcp:write")
        );
        assert_eq!(
            found(Some(json!("mcp mcp:write")), None, false),
            text("mcp")
        );
        assert_eq!(
            found(Some(json!("mcp mcp:write")), Some("mcp"), true),
            text("mcp")
        );
        assert_eq!(
            found(Some(json!("mcp offline_access x")), None, true),
            text("mcp")
        );
        for (claim, asked) in [
            (Some(json!("mcp:write")), None),
            (Some(json!("mcp")), Some("other")),
            (Some(json!("offline_access")), None),
            (Some(json!("")), None),
            (Some(json!(["mcp"])), None),
            (None, Some("mcp:write")),
        ] {
            assert_eq!(
                found(claim.clone(), asked, false),
                None,
                "{claim:?} {asked:?}"
            );
        }
    }
}
