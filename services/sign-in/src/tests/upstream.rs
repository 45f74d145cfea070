//! Sign-ins at another provider, and the attacks on them.

use std::{
    collections::BTreeMap,
    sync::{Arc, atomic::Ordering},
};

use aws_lc_rs::hmac;
use base64::{Engine as _, prelude::BASE64_URL_SAFE_NO_PAD};
use bytes::Bytes;
use http::{Request, StatusCode};
use http_body_util::Full;
use serde_json::{Value, json};
use ziggurat_layers::client_ip::ClientIp;

use super::{
    Answered, Browser, ISSUER, REDIRECT, Server, VERIFIER, authorize, claims,
    idp::{IDP, Idp, PERSON, held, settings, upstream},
    web::Signer,
};
use crate::{Provision, SecondFactor, Settings};

/// Returns the path of the link for the provider on a page.
fn link(page: &Answered) -> String {
    let (_, rest) = page
        .body
        .split_once(" href=\"https://tools.example")
        .expect("a link");
    rest.split_once('"').expect("its end").0.to_owned()
}

/// Goes from an authorization request to the provider, and returns the address there.
async fn leave(server: &Server, browser: &mut Browser, client: &str) -> String {
    let page = browser.visit(server, &authorize(client, &[])).await;
    let away = browser.visit(server, &link(&page)).await;
    assert_eq!(away.status, StatusCode::SEE_OTHER, "{away:?}");
    away.address()
}

/// Signs ann in at the provider, and returns the page after it.
pub(super) async fn arrive(
    idp: &Idp,
    server: &Server,
    browser: &mut Browser,
    client: &str,
) -> Answered {
    let address = leave(server, browser, client).await;
    browser.visit(server, &idp.sign_in(&address)).await
}

/// Signs ann in at the provider, and returns the first tokens of a client.
pub(super) async fn connected(idp: &Idp, server: &Server) -> (String, Value) {
    let client = server.register(REDIRECT).await;
    let code = code(idp, server, &client).await;
    let answer = server.exchange(&client, &code).await;
    assert_eq!(answer.status, StatusCode::OK, "{answer:?}");
    let tokens = answer.json();
    (client, tokens)
}

/// Signs ann in at the provider, lets her allow a client everything, and returns its code.
async fn code(idp: &Idp, server: &Server, client: &str) -> String {
    let mut browser = Browser::default();
    let page = arrive(idp, server, &mut browser, client).await;
    let form = [
        ("decision", "allow"),
        ("database.shop", "on"),
        ("write", "on"),
    ];
    let end = browser.submit(server, &page, "/oauth/consent", &form).await;
    end.back().get("code").expect("a code").to_owned()
}

fn assert_refused(answer: &Answered, text: &str) {
    assert_eq!(answer.status, StatusCode::FORBIDDEN, "{answer:?}");
    assert!(answer.body.contains(text), "{answer:?}");
    let mut cookies = answer.headers.get_all("set-cookie").into_iter();
    assert!(!cookies.any(|it| it.as_bytes().windows(8).any(|part| part == b"session=")));
}

const NOT_CONFIRMED: &str = "Acme &lt;single&gt; sign-on did not confirm who you are.";

#[tokio::test]
async fn a_person_signs_in_at_the_provider_and_gets_the_access_of_its_rules() {
    let (idp, server) = Idp::with_server();
    let client = server.register(REDIRECT).await;
    let mut browser = Browser::default();
    let page = browser.visit(&server, &authorize(&client, &[])).await;
    assert!(
        page.body.contains(">Acme &lt;single&gt; sign-on</a>"),
        "{page:?}"
    );
    let page = arrive(&idp, &server, &mut browser, &client).await;
    assert_eq!(page.status, StatusCode::OK);
    assert!(page.body.contains("The &lt;shop&gt;"), "{page:?}");
    assert!(!page.body.contains("The &lt;logs&gt;"), "not of the rules");
    assert!(page.body.contains("<dd>ann</dd>"), "{page:?}");
    let form = [("decision", "allow"), ("database.shop", "on")];
    let end = browser
        .submit(&server, &page, "/oauth/consent", &form)
        .await;
    let code = end.back().get("code").expect("a code").to_owned();
    let tokens = server.exchange(&client, &code).await.json();
    assert_eq!(tokens["expires_in"], 3600, "people are confirmed each hour");
    let claims = claims(&tokens);
    for (name, expected) in [
        ("sub", json!(PERSON)),
        ("preferred_username", json!("ann")),
        ("email", json!("ann@acme.example")),
        ("groups", json!(["analysts", "readers"])),
        ("roles", json!(["reader"])),
        ("databases", json!(["shop"])),
        ("amr", json!(["pwd", "mfa"])),
    ] {
        assert_eq!(claims[name], expected, "{name}");
    }
    let events = server.events();
    assert!(
        events.contains(&"upstream.ok") && !events.contains(&"login.ok"),
        "{events:?}"
    );
    // The session holds for the next client, and for the account.
    let page = browser.visit(&server, &authorize(&client, &[])).await;
    assert!(page.body.contains("Allow access?"), "{page:?}");
    let page = browser.visit(&server, "/oauth/account").await;
    assert!(page.body.contains("Inspector"), "{page:?}");
}

#[tokio::test]
async fn a_person_takes_a_quarter_of_an_hour_at_the_provider_whenever_the_way_began() {
    let (idp, server) = Idp::with_server();
    let mut browser = Browser::default();
    let page = browser.visit(&server, &authorize("acme", &[])).await;
    server.wait(890);
    let address = browser.visit(&server, &link(&page)).await.address();
    server.wait(890);
    let page = browser.visit(&server, &idp.sign_in(&address)).await;
    assert!(page.body.contains("Allow access?"), "{page:?}");
}

#[tokio::test]
async fn a_person_sees_the_account_after_a_sign_in_at_the_provider() {
    let (idp, server) = Idp::with_server();
    let mut browser = Browser::default();
    let page = browser.visit(&server, "/oauth/account").await;
    let away = browser.visit(&server, &link(&page)).await;
    let page = browser.visit(&server, &idp.sign_in(&away.address())).await;
    assert!(page.body.contains("Your account"), "{page:?}");
}

#[tokio::test]
async fn the_documents_of_providers_are_fetched_at_the_start() {
    let (idp, server) = Idp::with_server();
    server.sign_in.fetch_providers().await;
    assert_eq!(idp.requests.load(Ordering::Relaxed), 2);
    leave(&server, &mut Browser::default(), "acme").await;
    assert_eq!(idp.requests.load(Ordering::Relaxed), 2);
}

#[tokio::test]
async fn a_provider_is_tried_without_a_sign_in() {
    let (idp, _server) = Idp::with_server();
    let settings = settings(upstream());
    let [(issuer, None)] = &settings.try_providers(Arc::clone(&idp)).await[..] else {
        panic!("it answers");
    };
    assert_eq!(*issuer, upstream().issuer);
    *held(&idp.published) = Some(json!({"keys": []}));
    let [(_, Some(problem))] = &settings.try_providers(idp).await[..] else {
        panic!("it has no keys");
    };
    assert_eq!(problem.to_string(), "it has no usable keys");
}

#[tokio::test]
async fn a_token_has_a_hundred_groups_and_roles_at_most() {
    let mut corp = upstream();
    let names = |kind: &str| (0..60).map(|number| format!("{kind}{number}")).collect();
    corp.rules.map[0].then.groups = names("group");
    corp.rules.map[0].then.roles = names("role");
    let (idp, server) = Idp::with_settings(settings(corp));
    let (_, tokens) = connected(&idp, &server).await;
    let claims = claims(&tokens);
    let count = |name: &str| claims[name].as_array().expect("a list").len();
    assert_eq!((count("groups"), count("roles")), (61, 39));
}

#[tokio::test]
async fn a_session_of_the_provider_has_no_second_factor_and_no_password_here() {
    let settings = Settings {
        second_factor: SecondFactor::Required,
        password_change: true,
        ..settings(upstream())
    };
    let (idp, server) = Idp::with_settings(settings);
    let mut browser = Browser::default();
    arrive(&idp, &server, &mut browser, "acme").await;
    let page = browser.visit(&server, "/oauth/account").await;
    assert!(page.body.contains("Your account"), "{page:?}");
    assert!(!page.body.contains("set_up"), "{page:?}");
    let form = [("set_up", "yes")];
    let page = browser
        .submit(&server, &page, "/oauth/account", &form)
        .await;
    assert!(!page.body.contains("<code>"), "{page:?}");
    assert!(!page.body.contains("new_password"), "{page:?}");
    let form = [("present_password", "right"), ("new_password", "another")];
    browser
        .submit(&server, &page, "/oauth/account", &form)
        .await;
    assert_eq!(*held(&server.staff.changed), None);
}

#[tokio::test]
async fn a_client_that_wants_a_new_sign_in_gets_one_at_the_provider() {
    let (_idp, server) = Idp::with_server();
    for prompt in ["login", "select_account"] {
        let mut browser = Browser::default();
        let request = authorize("acme", &[("prompt", prompt)]);
        let page = browser.visit(&server, &request).await;
        let away = browser.visit(&server, &link(&page)).await;
        let address = away.address();
        assert!(address.ends_with(&format!("&prompt={prompt}")), "{address}");
    }
}

/// CVE-2026-27124: the person of another browser would use the account of this one.
#[tokio::test]
async fn a_sign_in_begun_in_one_browser_does_not_end_in_another() {
    let (idp, server) = Idp::with_server();
    let client = server.register(REDIRECT).await;
    let mut attacker = Browser::default();
    let address = leave(&server, &mut attacker, &client).await;
    let back = idp.sign_in(&address);
    let mut victim = Browser::default();
    victim.visit(&server, &authorize(&client, &[])).await;
    for browser in [&mut victim, &mut Browser::default()] {
        let refused = browser.visit(&server, &back).await;
        assert_refused(&refused, NOT_CONFIRMED);
        let back = leave(&server, &mut attacker, &client).await;
        idp.sign_in(&back);
    }
    let requests = idp.requests.load(Ordering::Relaxed);
    assert_eq!(requests, 2, "no code was sent to the provider");
    // Its state is used up.
    assert_refused(&attacker.visit(&server, &back).await, NOT_CONFIRMED);
    let events = server.events();
    assert!(events.contains(&"upstream.refused"), "{events:?}");
}

#[tokio::test]
async fn a_flow_of_another_browser_does_not_go_to_the_provider() {
    let (_idp, server) = Idp::with_server();
    let page = Browser::default()
        .visit(&server, &authorize("acme", &[]))
        .await;
    let mut victim = Browser::default();
    victim.visit(&server, &authorize("acme", &[])).await;
    let refused = victim.visit(&server, &link(&page)).await;
    assert_eq!(refused.status, StatusCode::BAD_REQUEST, "{refused:?}");
}

#[tokio::test]
async fn a_state_is_good_once_for_its_provider_and_for_a_quarter_of_an_hour() {
    let mut other = upstream();
    other.name = "other".to_owned();
    other.issuer = "https://other.example".to_owned();
    let mut both = settings(upstream());
    both.upstreams.push(other);
    let (idp, server) = Idp::with_settings(both);
    let mut browser = Browser::default();
    let address = leave(&server, &mut browser, "acme").await;
    let back = idp.sign_in(&address);
    let elsewhere = back.replace("/corp/", "/other/");
    let refused = browser.visit(&server, &elsewhere).await;
    assert_refused(&refused, "did not confirm who you are.");
    assert_eq!(browser.visit(&server, &back).await.status, StatusCode::OK);
    assert_refused(&browser.visit(&server, &back).await, NOT_CONFIRMED);
    let address = leave(&server, &mut Browser::default(), "acme").await;
    for back in [
        "/oauth/upstream/corp/callback?code=c0de",
        "/oauth/upstream/corp/callback?code=c0de&state=guess",
        "/oauth/upstream/corp/callback?state=a&state=b&code=c0de",
    ] {
        assert_refused(&browser.visit(&server, back).await, NOT_CONFIRMED);
    }
    let mut late = Browser {
        cookies: browser.cookies.clone(),
    };
    drop(address);
    late.cookies.retain(|name, _| !name.ends_with("session"));
    let address = leave(&server, &mut late, "acme").await;
    let back = idp.sign_in(&address);
    server.wait(900);
    assert_refused(&late.visit(&server, &back).await, NOT_CONFIRMED);
    for path in [
        "/oauth/upstream/none",
        "/oauth/upstream/none/callback",
        "/oauth/upstream/a/b",
    ] {
        assert_eq!(
            server.get(path).await.status,
            StatusCode::NOT_FOUND,
            "{path}"
        );
    }
}

#[tokio::test]
async fn an_answer_of_another_issuer_or_with_an_error_is_refused() {
    let (idp, server) = Idp::with_server();
    let mut browser = Browser::default();
    let address = leave(&server, &mut browser, "acme").await;
    let back = idp.sign_in(&address);
    let (path, _) = back.rsplit_once("&iss=").expect("an issuer");
    let other = format!("{path}&iss=https%3A%2F%2Fevil.example");
    assert_refused(&browser.visit(&server, &other).await, NOT_CONFIRMED);
    let address = leave(&server, &mut browser, "acme").await;
    let back = idp
        .sign_in(&address)
        .replace("code=c0de", "error=access_denied%3Cb%3E");
    let refused = browser.visit(&server, &back).await;
    let text = "Acme &lt;single&gt; sign-on refused: access_denied&lt;b&gt;";
    assert_refused(&refused, text);
}

#[tokio::test]
async fn an_id_token_with_a_wrong_claim_is_refused() {
    for (name, value) in [
        ("iss", json!("https://login.example/realms/other")),
        ("iss", json!(format!("{IDP}/"))),
        ("aud", json!("other")),
        ("aud", json!(["tools", "other"])),
        ("azp", json!("other")),
        ("nonce", json!("of another request")),
        ("nonce", Value::Null),
        ("exp", json!(1_799_999_999)),
        ("iat", json!(1_799_999_000)),
        ("sub", json!("")),
    ] {
        let (idp, server) = Idp::with_server();
        idp.claim(name, value.clone());
        let page = arrive(&idp, &server, &mut Browser::default(), "acme").await;
        assert_refused(&page, NOT_CONFIRMED);
        let seen = server.events.lock().expect("events").last().cloned();
        let (kind, event) = seen.expect("an event");
        let reason = if name == "azp" { "aud" } else { name };
        assert_eq!(kind, "upstream.refused");
        assert!(
            event.contains(&format!("reason: Some({reason:?})")),
            "{name} {value}: {event}"
        );
    }
}

/// Makes an ID token that the provider has not made.
type Forge = fn(&Idp, &Value, &dyn Fn(&Value) -> String) -> String;

#[tokio::test]
async fn an_id_token_without_a_signature_or_with_another_key_is_refused() {
    let text = |value: &Value| BASE64_URL_SAFE_NO_PAD.encode(value.to_string());
    let forgeries: [(&str, Forge); 6] = [
        ("none", |_, claims, text| {
            format!(
                "{}.{}.",
                text(&json!({"alg": "none", "typ": "JWT"})),
                text(claims)
            )
        }),
        ("the public key as a shared secret", |idp, claims, text| {
            let signer = held(&idp.signer);
            let header = json!({"alg": "HS256", "kid": signer.key["kid"], "typ": "JWT"});
            let parts = format!("{}.{}", text(&header), text(claims));
            let key = hmac::Key::new(hmac::HMAC_SHA256, signer.key.to_string().as_bytes());
            let tag = hmac::sign(&key, parts.as_bytes());
            format!("{parts}.{}", BASE64_URL_SAFE_NO_PAD.encode(tag))
        }),
        ("the client secret", |_, claims, text| {
            let signed = format!("{}.{}", text(&json!({"alg": "HS256"})), text(claims));
            let key = hmac::Key::new(hmac::HMAC_SHA256, b"hush &=+");
            let tag = hmac::sign(&key, signed.as_bytes());
            format!("{signed}.{}", BASE64_URL_SAFE_NO_PAD.encode(tag))
        }),
        ("a stranger's key", |idp, claims, _| {
            let kid = held(&idp.signer).key["kid"].clone();
            Signer::new("ES256").sign(&json!({"alg": "ES256", "kid": kid}), claims)
        }),
        ("a key in the header", |_, claims, _| {
            let stranger = Signer::new("ES256");
            stranger.sign(
                &json!({"alg": "ES256", "kid": "9", "jwk": stranger.key}),
                claims,
            )
        }),
        ("an access token", |idp, claims, _| {
            let signer = held(&idp.signer);
            let header =
                json!({"alg": signer.algorithm, "kid": signer.key["kid"], "typ": "at+jwt"});
            signer.sign(&header, claims)
        }),
    ];
    for (name, forge) in forgeries {
        let (idp, server) = Idp::with_server();
        let mut browser = Browser::default();
        let address = leave(&server, &mut browser, "acme").await;
        let back = idp.sign_in(&address);
        let (_, nonce) = address.split_once("&nonce=").expect("a nonce");
        let nonce = nonce.split('&').next();
        let forged = forge(&idp, &idp.all_claims(nonce), &text);
        *held(&idp.instead) = Some(forged);
        let page = browser.visit(&server, &back).await;
        assert!(page.body.contains(NOT_CONFIRMED), "{name}: {page:?}");
        assert_refused(&page, NOT_CONFIRMED);
    }
}

#[tokio::test]
async fn each_algorithm_of_the_provider_is_read_and_a_new_key_is_fetched() {
    for algorithm in ["RS256", "PS256", "ES256", "EdDSA"] {
        let (idp, server) = Idp::with_server();
        *held(&idp.signer) = Signer::new(algorithm);
        let page = arrive(&idp, &server, &mut Browser::default(), "acme").await;
        assert_eq!(page.status, StatusCode::OK, "{algorithm}: {page:?}");
        let mut new = Signer::new(algorithm);
        new.key["kid"] = json!("2");
        *held(&idp.signer) = new;
        server.wait(10);
        let page = arrive(&idp, &server, &mut Browser::default(), "acme").await;
        assert_eq!(page.status, StatusCode::OK, "{algorithm}: {page:?}");
    }
    let (idp, server) = Idp::with_server();
    let both = json!({"keys": [held(&idp.signer).key, Signer::new("ES384").key]});
    *held(&idp.published) = Some(both);
    *held(&idp.signer) = Signer::new("ES384");
    let page = arrive(&idp, &server, &mut Browser::default(), "acme").await;
    assert_refused(&page, NOT_CONFIRMED);
}

#[tokio::test]
async fn a_person_whom_the_rules_do_not_admit_has_no_access() {
    let no_access = "Your account has no access here.";
    for (name, value, text) in [
        ("email_verified", json!(false), no_access),
        ("email_verified", Value::Null, no_access),
        ("groups", json!(["all"]), no_access),
        ("groups", Value::Null, no_access),
        ("groups", json!("db-analysts "), no_access),
        ("groups", json!("db-analysts"), "Allow access?"),
    ] {
        let (idp, server) = Idp::with_server();
        idp.claim(name, value.clone());
        let page = arrive(&idp, &server, &mut Browser::default(), "acme").await;
        assert!(page.body.contains(text), "{name} {value}: {page:?}");
        if text == no_access {
            assert_refused(&page, no_access);
        }
    }
    let (idp, server) = Idp::with_server();
    idp.claim("groups", Value::Null);
    idp.claim("_claim_names", json!({"groups": "src1"}));
    let page = arrive(&idp, &server, &mut Browser::default(), "acme").await;
    let text = "Your groups do not fit into the token; ask for app roles.";
    assert_refused(&page, text);
    let (idp, server) = Idp::with_server();
    server.staff.is_ann_gone.store(true, Ordering::Relaxed);
    let page = arrive(&idp, &server, &mut Browser::default(), "acme").await;
    assert_refused(&page, no_access);
}

#[tokio::test]
async fn people_are_made_by_hand_by_invite_or_by_rule() {
    for (provision, address, is_verified, is_admitted) in [
        (Provision::Mapped, "eve@evil.example", true, true),
        (Provision::Invited, "ann@acme.example", true, true),
        (Provision::Invited, "eve@evil.example", true, false),
        // A person may write any address at some providers.
        (Provision::Invited, "ann@acme.example", false, false),
        (Provision::ByHand, "ann@acme.example", true, false),
    ] {
        let mut corp = upstream();
        corp.provision = provision;
        corp.rules.require = BTreeMap::new();
        let (idp, server) = Idp::with_settings(settings(corp));
        idp.claim("email", json!(address));
        idp.claim("email_verified", json!(is_verified));
        let page = arrive(&idp, &server, &mut Browser::default(), "acme").await;
        assert_eq!(
            page.status == StatusCode::OK,
            is_admitted,
            "{provision:?} {address}"
        );
    }
}

#[tokio::test]
async fn a_provider_that_is_down_is_no_fault_of_the_person() {
    let (idp, server) = Idp::with_server();
    let mut browser = Browser::default();
    idp.is_down.store(true, Ordering::Relaxed);
    let page = browser.visit(&server, &authorize("acme", &[])).await;
    let answer = browser.visit(&server, &link(&page)).await;
    assert_eq!(answer.status, StatusCode::SERVICE_UNAVAILABLE);
    idp.is_down.store(false, Ordering::Relaxed);
    server.wait(10);
    let address = leave(&server, &mut browser, "acme").await;
    let back = idp.sign_in(&address);
    *held(&idp.error) = Some("invalid_client");
    let answer = browser.visit(&server, &back).await;
    assert_eq!(answer.status, StatusCode::SERVICE_UNAVAILABLE);
    *held(&idp.error) = Some("invalid_grant");
    let page = arrive(&idp, &server, &mut browser, "acme").await;
    assert_refused(&page, NOT_CONFIRMED);
}

#[tokio::test]
async fn an_address_begins_thirty_sign_ins_a_minute() {
    let (_idp, server) = Idp::with_server();
    let mut browser = Browser::default();
    let page = browser.visit(&server, &authorize("acme", &[])).await;
    let ask = async |number: u8| {
        let request = Request::get(link(&page)).header("cookie", browser.header());
        let mut request = request.body(Full::<Bytes>::default()).expect("a request");
        let peer = ClientIp::from_peer(([192, 0, 2, number], 4711).into());
        request.extensions_mut().insert(peer);
        server.send(request).await.status
    };
    for _ in 0..30 {
        assert_eq!(ask(1).await, StatusCode::SEE_OTHER);
    }
    assert_eq!(ask(1).await, StatusCode::TOO_MANY_REQUESTS);
    assert_eq!(ask(2).await, StatusCode::SEE_OTHER);
}

#[tokio::test]
async fn no_secret_of_the_provider_is_in_an_event_or_on_a_page() {
    let (idp, server) = Idp::with_server();
    let mut browser = Browser::default();
    let address = leave(&server, &mut browser, "acme").await;
    let page = browser.visit(&server, &idp.sign_in(&address)).await;
    assert_eq!(page.status, StatusCode::OK);
    let seen = server.events.lock().expect("events").clone();
    let (_, query) = address.split_once('?').expect("a query");
    let query = crate::form::Form::read(query).expect("parameters");
    let secrets = ["state", "nonce"].map(|name| query.get(name).expect("a value"));
    for secret in [&secrets[..], &["hush", "c0de", "refresh-1", VERIFIER]].concat() {
        assert!(!page.body.contains(secret), "{secret}");
        let mut events = seen.iter();
        assert!(!events.any(|(_, event)| event.contains(secret)), "{secret}");
    }
    assert!(address.contains(&ziggurat_text::percent::encode(ISSUER).collect::<String>()));
}

#[tokio::test]
async fn without_passwords_no_page_asks_for_one_and_none_is_right() {
    let with_both = settings(upstream());
    let mut browser = Browser::default();
    let server = Server::with(with_both.clone());
    let client = server.register(REDIRECT).await;
    let page = browser.visit(&server, &authorize(&client, &[])).await;
    assert!(page.body.contains("name=\"password\"") && page.body.contains("/oauth/upstream/"));

    let server = Server::with(Settings {
        password_login: false,
        ..with_both
    });
    let client = server.register(REDIRECT).await;
    let mut browser = Browser::default();
    let shown = browser.visit(&server, &authorize(&client, &[])).await;
    assert!(!shown.body.contains("name=\"password\"") && shown.body.contains("/oauth/upstream/"));
    // A form that another page of the same server made is no way around it.
    let flow = shown
        .body
        .split("flow=")
        .nth(1)
        .and_then(|rest| rest.split('"').next());
    let form = [
        ("flow", flow.expect("a flow")),
        ("name", "ann"),
        ("password", "right"),
    ];
    let answer = browser.post(&server, "/oauth/login", &form).await;
    assert_eq!(answer.status, StatusCode::FORBIDDEN, "{answer:?}");
}
