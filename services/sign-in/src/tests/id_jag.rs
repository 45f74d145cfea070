//! Assertions with which a provider admits people, and the attacks on them.

use std::sync::{Arc, atomic::Ordering};

use http::StatusCode;
use serde_json::{Value, json};

use super::{
    Answered, Browser, ISSUER, REDIRECT, RESOURCE, Server, acme, claims,
    idp::{IDP, Idp, SUBJECT, analysts, held, settings, upstream},
    upstream::{arrive, connected},
    web::Signer,
};
use crate::{IdentityAssertion, MappingRule, Resource, Settings};

const GRANT_TYPE: &str = "urn:ietf:params:oauth:grant-type:jwt-bearer";

const INVALID: &str = "the assertion is not valid";

fn entry() -> IdentityAssertion {
    let mut entry = IdentityAssertion::new("corp", IDP);
    entry.rules.map = vec![analysts()];
    entry
}

fn with_entry(entry: IdentityAssertion) -> Settings {
    Settings {
        identity_assertion: vec![entry],
        upstreams: Vec::new(),
        ..settings(upstream())
    }
}

fn server() -> (Arc<Idp>, Server) {
    Idp::with_settings(with_entry(entry()))
}

/// Returns the claims of an assertion for the client `acme`, after a change.
fn all_claims(idp: &Idp, id: &str, change: &[(&str, Value)]) -> Value {
    let now = idp.now.load(Ordering::Relaxed);
    let mut claims = json!({"iss": IDP, "sub": SUBJECT, "aud": ISSUER, "client_id": "acme",
        "jti": id, "iat": now, "exp": now + 300, "resource": RESOURCE, "scope": "mcp mcp:write",
        "groups": ["db-analysts"], "preferred_username": "ann"});
    for (name, value) in change {
        claims[*name] = value.clone();
    }
    claims
}

fn header(signer: &Signer) -> Value {
    json!({"alg": signer.algorithm, "kid": signer.key["kid"], "typ": "oauth-id-jag+jwt"})
}

fn assertion(idp: &Idp, id: &str, change: &[(&str, Value)]) -> String {
    let signer = held(&idp.signer);
    signer.sign(&header(&signer), &all_claims(idp, id, change))
}

async fn send(server: &Server, assertion: &str, more: &[(&str, &str)]) -> Answered {
    let mut form = vec![
        ("grant_type", GRANT_TYPE),
        ("client_id", "acme"),
        ("client_secret", "right"),
        ("assertion", assertion),
    ];
    form.retain(|(name, _)| !more.iter().any(|(other, _)| other == name));
    form.extend(more.iter().filter(|(_, value)| !value.is_empty()));
    server.post("/oauth/token", &form).await
}

fn assert_refused(answer: &Answered, why: &str) {
    assert_eq!(answer.status, StatusCode::BAD_REQUEST, "{why}: {answer:?}");
    let body = json!({"error": "invalid_grant", "error_description": INVALID});
    assert_eq!(answer.json(), body, "{why}");
}

/// Returns the reason of the last event.
fn last_reason(server: &Server) -> String {
    let seen = server.events.lock().expect("events").last().cloned();
    let (name, event) = seen.expect("an event");
    assert_eq!(name, "assertion.refused");
    let (_, reason) = event.split_once("reason: Some(\"").expect("a reason");
    reason.split('"').next().expect("its end").to_owned()
}

#[tokio::test]
async fn an_assertion_gives_an_access_token_and_no_refresh_token() {
    let (idp, server) = server();
    let text = assertion(&idp, "1", &[]);
    let answer = send(&server, &text, &[]).await;
    assert_eq!(answer.status, StatusCode::OK, "{answer:?}");
    let tokens = answer.json();
    assert_eq!(tokens["expires_in"], 3600);
    assert_eq!(tokens["scope"], "mcp", "no rule allows changes");
    assert_eq!(tokens.get("refresh_token"), None);
    let claims = claims(&tokens);
    for (name, expected) in [
        ("sub", json!("corp:248")),
        ("client_id", json!("acme")),
        ("aud", json!([RESOURCE])),
        ("preferred_username", json!("ann")),
        ("groups", json!(["analysts", "readers"])),
        ("databases", json!(["shop"])),
        ("amr", Value::Null),
    ] {
        assert_eq!(claims[name], expected, "{name}");
    }
    let seen = server.events.lock().expect("events").clone();
    let names: Vec<_> = seen.iter().map(|(name, _)| *name).collect();
    assert_eq!(names, ["assertion.ok", "token.issued"]);
    assert!(seen.iter().all(|(_, event)| !event.contains(&text)));
}

#[tokio::test]
async fn the_document_says_that_assertions_are_taken() {
    let path = "/.well-known/oauth-authorization-server";
    let (_idp, server) = server();
    let document = server.get(path).await.json();
    let types = document["grant_types_supported"].as_array().expect("types");
    assert!(types.contains(&json!(GRANT_TYPE)));
    let profile = json!(["urn:ietf:params:oauth:grant-profile:id-jag"]);
    assert_eq!(document["authorization_grant_profiles_supported"], profile);
    let document = Server::new().get(path).await.json();
    let types = document["grant_types_supported"].as_array().expect("types");
    assert!(!types.contains(&json!(GRANT_TYPE)));
    assert_eq!(document.get("authorization_grant_profiles_supported"), None);
    let refused = send(&Server::with_client(acme(REDIRECT)), "a.b.c", &[]).await;
    assert_eq!(refused.error(), "unsupported_grant_type");
}

#[tokio::test]
async fn a_person_has_one_grant_for_a_client_that_each_assertion_prolongs() {
    let (idp, server) = server();
    let first = send(&server, &assertion(&idp, "1", &[]), &[]).await.json();
    server.wait(3000);
    let second = send(&server, &assertion(&idp, "2", &[]), &[]).await.json();
    assert_eq!(second["expires_in"], 3600);
    assert_eq!(claims(&first)["grant_id"], claims(&second)["grant_id"]);
    let token = second["access_token"].as_str().expect("a token");
    let form = [
        ("client_id", "acme"),
        ("client_secret", "right"),
        ("token", token),
    ];
    assert_eq!(
        server.post("/oauth/revoke", &form).await.status,
        StatusCode::OK
    );
    // The provider decides whether another one follows.
    let third = send(&server, &assertion(&idp, "3", &[]), &[]).await.json();
    assert_ne!(claims(&third)["grant_id"], claims(&second)["grant_id"]);
    server.wait(3600);
    let fourth = send(&server, &assertion(&idp, "4", &[]), &[]).await.json();
    assert_ne!(claims(&fourth)["grant_id"], claims(&third)["grant_id"]);
}

#[tokio::test]
async fn changes_need_a_rule_and_the_scope_of_both() {
    let mut entry = entry();
    entry.rules.map[0].then.write = true;
    entry.access_lifetime = std::time::Duration::from_secs(24 * 3600);
    let (idp, server) = Idp::with_settings(with_entry(entry));
    let answer = send(&server, &assertion(&idp, "1", &[]), &[]).await.json();
    assert_eq!(answer["scope"], "mcp mcp:write");
    assert_eq!(answer["expires_in"], 24 * 3600, "longer than other tokens");
    let more = [("scope", "mcp")];
    let answer = send(&server, &assertion(&idp, "2", &[]), &more)
        .await
        .json();
    assert_eq!(answer["scope"], "mcp");
    let change = [("scope", Value::Null)];
    let text = assertion(&idp, "3", &change);
    let answer = send(&server, &text, &[("scope", "mcp:write")]).await;
    assert_refused(&answer, "no scope is left");
    assert_eq!(last_reason(&server), "scope");
}

#[tokio::test]
async fn an_assertion_is_good_once() {
    let (idp, server) = server();
    let text = assertion(&idp, "1", &[]);
    assert_eq!(send(&server, &text, &[]).await.status, StatusCode::OK);
    assert_refused(&send(&server, &text, &[]).await, "replayed");
    assert_eq!(last_reason(&server), "jti");
    let again = assertion(&idp, "1", &[("sub", json!("249"))]);
    assert_refused(&send(&server, &again, &[]).await, "the same number");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_assertion_at_many_replicas_at_once_is_good_at_one() {
    let (idp, server) = server();
    let server = Arc::new(server);
    for number in 0..20 {
        let text = assertion(&idp, &number.to_string(), &[]);
        let mut tasks = tokio::task::JoinSet::new();
        for _ in 0..4 {
            let (server, text) = (Arc::clone(&server), text.clone());
            tasks.spawn(async move { send(&server, &text, &[]).await.status });
        }
        let sent = tasks.join_all().await;
        let good = sent.iter().filter(|status| status.is_success());
        assert_eq!(good.count(), 1, "{sent:?}");
        server.wait(900);
    }
}

#[tokio::test]
async fn an_assertion_with_a_wrong_claim_is_refused() {
    let now = 1_800_000_000;
    for (name, value, reason) in [
        ("iss", json!("https://evil.example"), "iss"),
        ("iss", json!(format!("{IDP}/")), "iss"),
        ("aud", json!([ISSUER, "https://other.example"]), "aud"),
        ("aud", json!([ISSUER, ISSUER]), "aud"),
        ("aud", json!("https://other.example"), "aud"),
        ("aud", json!(RESOURCE), "aud"),
        ("exp", json!(now), "exp"),
        ("exp", json!(now + 601), "exp"),
        ("iat", json!(now + 61), "iat"),
        ("nbf", json!(now + 61), "nbf"),
        ("sub", Value::Null, "sub"),
        ("jti", Value::Null, "jti"),
        ("client_id", json!("other"), "client_id"),
        ("client_id", Value::Null, "client_id"),
        ("resource", json!("https://other.example/mcp"), "resource"),
        (
            "resource",
            json!([RESOURCE, "https://other.example/mcp"]),
            "resource",
        ),
        ("groups", json!(["all"]), "no rule matches"),
        ("scope", json!("other"), "scope"),
    ] {
        let (idp, server) = server();
        let text = assertion(&idp, "1", &[(name, value.clone())]);
        assert_refused(&send(&server, &text, &[]).await, &format!("{name} {value}"));
        assert_eq!(last_reason(&server), reason, "{name} {value}");
        // It did not use its number up.
        let good = send(&server, &assertion(&idp, "1", &[]), &[]).await;
        assert_eq!(good.status, StatusCode::OK, "{name} {value}: {good:?}");
    }
}

#[tokio::test]
async fn an_assertion_of_another_type_or_key_is_refused() {
    let (idp, server) = server();
    let stranger = Signer::new("ES256");
    let sign = |typ: Value| {
        let signer = held(&idp.signer);
        let header = json!({"alg": signer.algorithm, "kid": signer.key["kid"], "typ": typ});
        signer.sign(&header, &all_claims(&idp, "1", &[]))
    };
    let good = assertion(&idp, "1", &[]);
    let (signed, _) = good.rsplit_once('.').expect("a signature");
    let own = send(&server, &assertion(&idp, "0", &[]), &[]).await.json();
    let own = own["access_token"].as_str().expect("a token").to_owned();
    for (why, text) in [
        ("JWT", sign(json!("JWT"))),
        ("no type", sign(Value::Null)),
        ("an access token", sign(json!("at+jwt"))),
        ("no signature", format!("{signed}.")),
        (
            "a stranger's key",
            stranger.sign(&header(&stranger), &all_claims(&idp, "1", &[])),
        ),
        ("an ID token", idp.id_token(None, None)),
        ("a token of this server", own),
        ("no token", "a.b.c".to_owned()),
        ("too long", format!("{good}{}", "A".repeat(8192))),
    ] {
        assert_refused(&send(&server, &text, &[]).await, why);
    }
    assert_eq!(send(&server, &good, &[]).await.status, StatusCode::OK);
    let missing = send(&server, "", &[]).await;
    assert_eq!(missing.error(), "invalid_request");
}

#[tokio::test]
async fn a_provider_speaks_for_its_own_people_alone() {
    let mut settings = with_entry(entry());
    let mut other = entry();
    other.name = "other".to_owned();
    other.issuer = "https://other.example".to_owned();
    other.jwks_url = Some(format!("{IDP}/other-keys"));
    settings.identity_assertion.push(other);
    let (idp, server) = Idp::with_settings(settings);
    // Its keys sign an assertion that names the issuer of the other one.
    let text = assertion(&idp, "1", &[("iss", json!("https://other.example"))]);
    let refused = send(&server, &text, &[]).await;
    assert_eq!(
        refused.status,
        StatusCode::SERVICE_UNAVAILABLE,
        "no keys are there"
    );
    *held(&idp.others) = Some(Signer::new("ES256").keys());
    server.wait(10);
    let text = assertion(&idp, "1", &[("iss", json!("https://other.example"))]);
    assert_refused(&send(&server, &text, &[]).await, "keys of another provider");
    assert_eq!(last_reason(&server), "signature");
}

#[tokio::test]
async fn keys_of_one_issuer_have_other_algorithms_for_assertions_than_for_id_tokens() {
    let mut both = with_entry(entry());
    both.upstreams.push(upstream());
    let (idp, server) = Idp::with_settings(both);
    let mut other = Signer::new("ES384");
    other.key["kid"] = json!("2");
    let keys = json!({"keys": [held(&idp.signer).key, other.key]});
    *held(&idp.published) = Some(keys);
    // The keys of ID tokens are known first.
    connected(&idp, &server).await;
    *held(&idp.signer) = other;
    let good = send(&server, &assertion(&idp, "1", &[]), &[]).await;
    assert_eq!(good.status, StatusCode::OK, "{good:?}");
    let page = arrive(&idp, &server, &mut Browser::default(), "acme").await;
    assert_eq!(page.status, StatusCode::FORBIDDEN, "{page:?}");
}

#[tokio::test]
async fn an_assertion_leaves_the_sign_in_of_a_browser_as_it_is() {
    let mut entry = entry();
    entry.rules.map[0].then.databases = Some(vec!["logs".to_owned()]);
    let mut both = with_entry(entry);
    both.upstreams.push(upstream());
    let (idp, server) = Idp::with_settings(both);
    let (client, first) = connected(&idp, &server).await;
    let by_assertion = send(&server, &assertion(&idp, "1", &[]), &[]).await.json();
    assert_eq!(claims(&by_assertion)["databases"], json!(["logs"]));
    let token = first["refresh_token"].as_str().expect("a token");
    let second = server.refresh(&client, token).await.json();
    assert_eq!(claims(&second)["sub"], claims(&by_assertion)["sub"]);
    assert_eq!(claims(&second)["databases"], json!(["shop"]));
    server.wait(13 * 3600);
    let token = second["refresh_token"].as_str().expect("a token");
    let third = server.refresh(&client, token).await;
    assert_eq!(third.status, StatusCode::OK, "{third:?}");
}

#[tokio::test]
async fn a_resource_is_named_where_there_are_several() {
    let mut settings = with_entry(entry());
    settings
        .resources
        .push(Resource::new("https://b.example/mcp", "B"));
    let (idp, server) = Idp::with_settings(settings);
    let absent = [("resource", Value::Null)];
    let text = assertion(&idp, "1", &absent);
    assert_refused(&send(&server, &text, &[]).await, "which of two");
    let more = [("resource", "https://b.example/mcp")];
    let text = assertion(&idp, "2", &[]);
    assert_refused(
        &send(&server, &text, &more).await,
        "another one in the request",
    );
    let more = [("resource", "https://tools.example/mcp/")];
    let good = send(&server, &text, &more).await;
    assert_eq!(good.status, StatusCode::OK, "{good:?}");
}

#[tokio::test]
async fn a_client_that_proves_nothing_is_refused_unless_the_settings_allow_it() {
    let mut open = entry();
    open.public_clients = true;
    for (entry, is_open) in [(entry(), false), (open, true)] {
        let (idp, server) = Idp::with_settings(with_entry(entry));
        let client = server.register(REDIRECT).await;
        let change = [("client_id", json!(client))];
        let more = [("client_id", &*client), ("client_secret", "")];
        let answer = send(&server, &assertion(&idp, "1", &change), &more).await;
        assert_eq!(answer.status == StatusCode::OK, is_open, "{answer:?}");
        if !is_open {
            assert_eq!(answer.error(), "unauthorized_client");
        }
        // Each program that registers the same gets the same secret.
        let metadata = json!({"redirect_uris": [REDIRECT],
            "token_endpoint_auth_method": "client_secret_post"});
        let registered = server.register_with(&metadata).await.json();
        let (id, secret) = (&registered["client_id"], &registered["client_secret"]);
        let more = [
            ("client_id", id.as_str().expect("an id")),
            ("client_secret", secret.as_str().expect("a secret")),
        ];
        let text = assertion(&idp, "2", &[("client_id", id.clone())]);
        let answer = send(&server, &text, &more).await;
        assert_eq!(answer.status == StatusCode::OK, is_open, "{answer:?}");
    }
}

#[tokio::test]
async fn a_person_whom_the_program_does_not_admit_gets_no_token() {
    let (idp, server) = server();
    server.staff.is_ann_gone.store(true, Ordering::Relaxed);
    let refused = send(&server, &assertion(&idp, "1", &[]), &[]).await;
    assert_refused(&refused, "disabled");
    assert_eq!(last_reason(&server), "the person is not admitted");
}

#[tokio::test]
async fn keys_out_of_reach_are_no_fault_of_the_assertion() {
    let (idp, server) = server();
    idp.is_down.store(true, Ordering::Relaxed);
    let text = assertion(&idp, "1", &[]);
    let answer = send(&server, &text, &[]).await;
    assert_eq!(answer.status, StatusCode::SERVICE_UNAVAILABLE);
    assert_eq!(answer.error(), "temporarily_unavailable");
    let before = idp.requests.load(Ordering::Relaxed);
    send(&server, &text, &[]).await;
    assert_eq!(
        idp.requests.load(Ordering::Relaxed),
        before,
        "not so soon again"
    );
    idp.is_down.store(false, Ordering::Relaxed);
    server.wait(10);
    assert_eq!(send(&server, &text, &[]).await.status, StatusCode::OK);
    // The last good keys stay in use, also for a key that is not among them.
    idp.is_down.store(true, Ordering::Relaxed);
    server.wait(700);
    let good = send(&server, &assertion(&idp, "2", &[]), &[]).await;
    assert_eq!(good.status, StatusCode::OK);
}

#[tokio::test]
async fn unknown_keys_are_looked_for_once_in_ten_seconds() {
    let (idp, server) = server();
    assert_eq!(
        send(&server, &assertion(&idp, "1", &[]), &[]).await.status,
        StatusCode::OK
    );
    let before = idp.requests.load(Ordering::Relaxed);
    let mut stranger = Signer::new("ES256");
    for number in 0..20 {
        stranger.key["kid"] = json!(format!("k{number}"));
        let text = stranger.sign(&header(&stranger), &all_claims(&idp, "2", &[]));
        assert_refused(&send(&server, &text, &[]).await, "an unknown key");
        server.wait(1);
    }
    let fetched = idp.requests.load(Ordering::Relaxed) - before;
    assert!(fetched <= 4, "{fetched} requests for two fetches");
}

#[tokio::test]
async fn wrong_assertions_are_counted_as_wrong_secrets_are() {
    let (idp, server) = server();
    for _ in 0..30 {
        assert_refused(&send(&server, "a.b.c", &[]).await, "wrong");
    }
    let refused = send(&server, &assertion(&idp, "1", &[]), &[]).await;
    assert_eq!(refused.status, StatusCode::TOO_MANY_REQUESTS);
    assert_eq!(refused.error(), "invalid_client");
}

#[tokio::test]
async fn a_rule_for_all_people_admits_all_people_of_the_provider() {
    let mut entry = entry();
    entry.rules.map.push(MappingRule::default());
    let (idp, server) = Idp::with_settings(with_entry(entry));
    let text = assertion(&idp, "1", &[("groups", json!(["all"]))]);
    let tokens = send(&server, &text, &[]).await.json();
    assert_eq!(
        claims(&tokens).get("databases"),
        None,
        "all that the program gives"
    );
}
