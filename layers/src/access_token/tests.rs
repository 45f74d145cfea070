mod forged;
mod public_keys;
mod refresh;
mod signer;

use std::{
    collections::HashMap,
    future::pending,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
};

use proptest::prelude::*;
use serde_json::{Value, json};
use tokio_test::block_on;

use self::signer::{AUDIENCE, ISSUER, NOW, Signer, claims};
use super::{revoked::Revoked, *};
use crate::clock::ManualClock;

const KEYS: &str = "https://accounts.example/keys";
const LIST: &str = "https://accounts.example/revoked";

/// An issuer in memory.
#[derive(Default)]
struct Documents {
    by_url: Mutex<HashMap<String, String>>,
    fetched: AtomicUsize,
}

impl Documents {
    fn set(&self, url: &str, document: &Value) {
        let mut by_url = self.by_url.lock().unwrap_or_else(PoisonError::into_inner);
        by_url.insert(url.to_owned(), document.to_string());
    }

    fn remove(&self, url: &str) {
        let mut by_url = self.by_url.lock().unwrap_or_else(PoisonError::into_inner);
        by_url.remove(url);
    }

    fn fetched(&self) -> usize {
        self.fetched.load(Ordering::SeqCst)
    }
}

impl Fetch for Arc<Documents> {
    async fn fetch(&self, request: FetchRequest<'_>) -> Result<Fetched, FetchError> {
        self.fetched.fetch_add(1, Ordering::SeqCst);
        let by_url = self.by_url.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(document) = by_url.get(request.url()) else {
            return Err(FetchError::status(http::StatusCode::NOT_FOUND));
        };
        let tag = format!("{:?}", TokenHash::of(document));
        if request.tag() == Some(&tag) {
            return Ok(Fetched::not_modified());
        }
        if document.len() > request.max_bytes() {
            return Err(FetchError::too_large());
        }
        Ok(Fetched::new(document.clone()).with_tag(tag))
    }

    async fn sleep(&self, _: Duration) {
        pending::<()>().await;
    }
}

type Tokens = AccessTokens<Arc<Documents>, AccessToken, ManualClock>;

/// An issuer with keys, and a verifier that has fetched them.
struct World {
    documents: Arc<Documents>,
    clock: ManualClock,
    tokens: Tokens,
}

impl World {
    fn new(signers: &[&Signer], adjust: impl FnOnce(Rules) -> Rules) -> Self {
        let documents = Arc::new(Documents::default());
        documents.set(KEYS, &set(signers));
        let rules = Rules::new(ISSUER, [AUDIENCE]).and_then(|rules| rules.with_jwks(KEYS));
        let clock = ManualClock::new();
        clock.advance(Duration::from_secs(NOW));
        let tokens = AccessTokens::new(adjust(rules.expect("good rules")), Arc::clone(&documents));
        let tokens = tokens.with_clock(clock.clone());
        block_on(tokens.poll());
        Self {
            documents,
            clock,
            tokens,
        }
    }

    fn verdict(&self, token: &str) -> Result<AccessToken, Denied> {
        let verdict = self.tokens.verify_now(token);
        verdict.expect("the keys were fetched a moment ago")
    }
}

fn set(signers: &[&Signer]) -> Value {
    let keys: Vec<_> = signers.iter().map(|signer| &signer.jwk).collect();
    json!({ "keys": keys })
}

fn same(rules: Rules) -> Rules {
    rules
}

#[test]
fn verifiers_are_send_sync_and_clone_and_their_futures_send() {
    fn check<T: Send + Sync + Clone>(_: &T) {}
    fn check_future<T: Send>(_: &T) {}
    let world = World::new(&[&Signer::new(Algorithm::EdDsa, "a")], same);
    check(&world.tokens);
    check_future(&world.tokens.verify("a"));
    check_future(&world.tokens.clone().run());
}

#[test]
fn every_algorithm_is_accepted_with_a_key_of_its_own() {
    let signers = Algorithm::ALL.map(|algorithm| Signer::new(algorithm, algorithm.name()));
    let world = World::new(&signers.each_ref(), same);
    for signer in &signers {
        let name = signer.algorithm.name();
        let token = world.verdict(&signer.plain()).expect(name);
        assert_eq!(token.subject(), "alice", "{name}");
        assert_eq!(token.client_id(), Some("console"), "{name}");
        assert_eq!(token.token_id(), Some("t1"), "{name}");
        assert_eq!(token.claim("tenant"), Some(r#""acme""#), "{name}");
        assert!(token.has_scope("read") && !token.has_scope("rea"), "{name}");
        let other = Signer::new(signer.algorithm, name);
        assert_eq!(
            world.verdict(&other.plain()),
            Err(Denied::Invalid),
            "{name}"
        );
    }
}

#[test]
fn the_issuer_decides_which_of_its_algorithms_count() {
    let signers = [Algorithm::Es256, Algorithm::EdDsa].map(|it| Signer::new(it, it.name()));
    let world = World::new(&signers.each_ref(), |rules| {
        rules.with_algorithms([Algorithm::EdDsa])
    });
    assert_eq!(world.verdict(&signers[0].plain()), Err(Denied::Invalid));
    assert!(world.verdict(&signers[1].plain()).is_ok());
}

#[test]
fn a_token_without_a_key_id_needs_exactly_one_key_that_fits() {
    let [first, second] = ["a", "b"].map(|kid| Signer::new(Algorithm::EdDsa, kid));
    let other = Signer::new(Algorithm::Es256, "c");
    let unnamed = first.token(|header, _| drop(header.as_object_mut().map(|it| it.remove("kid"))));
    let world = World::new(&[&first, &other], same);
    assert!(world.verdict(&unnamed).is_ok());
    let world = World::new(&[&first, &second], same);
    assert_eq!(world.verdict(&unnamed), Err(Denied::Invalid));
    assert!(world.verdict(&first.plain()).is_ok());
}

#[test]
fn two_keys_of_one_name_and_kind_are_not_tried_in_turn() {
    let [first, second] = ["a", "a"].map(|kid| Signer::new(Algorithm::EdDsa, kid));
    let world = World::new(&[&first, &second], same);
    assert_eq!(world.verdict(&first.plain()), Err(Denied::Invalid));
    let mut encryption = Signer::new(Algorithm::EdDsa, "a");
    encryption.jwk["use"] = json!("enc");
    let world = World::new(&[&encryption, &first], same);
    assert!(
        world.verdict(&first.plain()).is_ok(),
        "the other is not for signatures"
    );
}

#[test]
fn required_scopes_are_compared_as_words() {
    let signer = Signer::new(Algorithm::EdDsa, "a");
    let world = World::new(&[&signer], |rules| rules.with_scopes(["read", "write"]));
    let verdict = |scope: Value| {
        let change = |_: &mut Value, claims: &mut Value| claims["scope"] = scope;
        world.verdict(&signer.token(change)).map(drop)
    };
    assert_eq!(verdict(json!("write x read")), Ok(()));
    for scope in ["", "read", "readwrite", "READ WRITE", "read,write"] {
        assert_eq!(
            verdict(json!(scope)),
            Err(Denied::InsufficientScope),
            "{scope}"
        );
    }
    assert_eq!(verdict(json!(["read", "write"])), Err(Denied::Invalid));
}

#[test]
fn scope_lists_count_only_where_they_are_allowed() {
    let signer = Signer::new(Algorithm::EdDsa, "a");
    let strict = World::new(&[&signer], |rules| rules.with_scopes(["read"]));
    let lenient = World::new(&[&signer], |rules| {
        rules.with_scopes(["read"]).with_scope_lists()
    });
    for (name, value, is_accepted) in [
        ("scope", json!(["read"]), true),
        ("scp", json!(["read"]), true),
        ("scp", json!("write read"), true),
        ("scp", json!([["read"]]), false),
        ("scp", json!({"read": true}), false),
    ] {
        let token = signer.token(|_, claims| {
            drop(claims.as_object_mut().map(|claims| claims.remove("scope")));
            claims[name] = value.clone();
        });
        assert!(strict.verdict(&token).is_err(), "{name}: {value}");
        assert_eq!(
            lenient.verdict(&token).is_ok(),
            is_accepted,
            "{name}: {value}"
        );
    }
}

#[test]
fn plain_tokens_are_accepted_only_when_they_are_asked_for() {
    let signer = Signer::new(Algorithm::EdDsa, "a");
    let strict = World::new(&[&signer], same);
    let lenient = World::new(&[&signer], Rules::with_plain_jwt);
    for typ in [
        json!("JWT"),
        json!("jwt"),
        json!("application/JWT"),
        Value::Null,
    ] {
        let token = signer.token(|header, claims| {
            let header = header.as_object_mut().expect("an object");
            match &typ {
                Value::Null => drop(header.remove("typ")),
                typ => drop(header.insert("typ".to_owned(), typ.clone())),
            }
            drop(
                claims
                    .as_object_mut()
                    .map(|claims| claims.remove("client_id")),
            );
            claims["azp"] = json!("web");
        });
        assert_eq!(strict.verdict(&token), Err(Denied::Invalid), "{typ}");
        let token = lenient.verdict(&token).expect("a plain token");
        assert_eq!(token.client_id(), Some("web"), "{typ}");
    }
    for typ in [
        "at+jwt",
        "AT+JWT",
        "application/at+jwt",
        "Application/AT+jwt",
    ] {
        let token = signer.token(|header, _| header["typ"] = json!(typ));
        assert!(strict.verdict(&token).is_ok(), "{typ}");
    }
}

#[test]
fn a_token_that_is_too_long_is_refused_unread() {
    let signer = Signer::new(Algorithm::EdDsa, "a");
    let world = World::new(&[&signer], same);
    let of_length =
        |length: usize| signer.token(|_, claims| claims["filler"] = json!("x".repeat(length)));
    assert!(world.verdict(&of_length(5000)).is_ok());
    assert_eq!(world.verdict(&of_length(8192)), Err(Denied::Invalid));
    let world = World::new(&[&signer], |rules| rules.with_max_token_bytes(16_384));
    assert!(world.verdict(&of_length(8192)).is_ok());
}

#[test]
fn a_remembered_token_ends_at_its_expiry_date() {
    let signer = Signer::new(Algorithm::EdDsa, "a");
    let world = World::new(&[&signer], same);
    let token = signer.plain();
    world.clock.advance(Duration::from_secs(59));
    assert!(world.verdict(&token).is_ok());
    assert_eq!(world.tokens.remembered(), 1);
    world.clock.advance(Duration::from_secs(1));
    assert_eq!(world.tokens.check(&token), Some(Err(Denied::Invalid)));
    block_on(world.tokens.poll());
    assert_eq!(
        world.tokens.remembered(),
        0,
        "it is dropped at the next opportunity"
    );

    let lenient = World::new(&[&signer], |rules| {
        rules.with_expiry_leeway(Duration::from_secs(30))
    });
    lenient.clock.advance(Duration::from_secs(89));
    assert!(lenient.verdict(&token).is_ok());
    lenient.clock.advance(Duration::from_secs(1));
    assert_eq!(lenient.tokens.check(&token), Some(Err(Denied::Invalid)));
}

#[test]
fn no_more_tokens_are_remembered_than_the_rules_allow() {
    let signer = Signer::new(Algorithm::EdDsa, "a");
    let world = World::new(&[&signer], |rules| rules.with_max_remembered(100));
    for n in 0..300 {
        let token = signer.token(|_, claims| claims["jti"] = json!(n.to_string()));
        assert!(world.verdict(&token).is_ok(), "{n}");
        assert!(world.tokens.remembered() <= 100, "{n}");
    }
}

#[test]
fn the_identity_is_made_once_for_each_token_and_may_refuse_it() {
    let signer = Signer::new(Algorithm::EdDsa, "a");
    let world = World::new(&[&signer], same);
    let made = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&made);
    let tokens = world.tokens.with_identity(move |token| {
        count.fetch_add(1, Ordering::SeqCst);
        match token.subject() {
            "alice" => Ok(7_u32),
            _ => Err(Denied::InsufficientScope),
        }
    });
    block_on(tokens.poll());
    let token = signer.plain();
    assert_eq!(tokens.check(&token), Some(Ok(7)));
    assert_eq!(tokens.check(&token), Some(Ok(7)));
    assert_eq!(made.load(Ordering::SeqCst), 1);
    let other = signer.token(|_, claims| claims["sub"] = json!("bob"));
    assert_eq!(tokens.check(&other), Some(Err(Denied::InsufficientScope)));
    assert_eq!(tokens.remembered(), 1);
}

#[test]
fn only_safe_urls_are_rules() {
    let is_issuer = |url: &str| Rules::new(url, [AUDIENCE]).is_ok();
    for url in [
        "https://a.example",
        "http://localhost:8080",
        "http://127.0.0.1",
        "http://[::1]:1/x",
    ] {
        assert!(is_issuer(url), "{url}");
    }
    for url in [
        "http://a.example",
        "http://localhost.a.example",
        "http://127.0.0.1.a.example",
        "http://10.0.0.1",
        "ftp://localhost",
        "file:///etc/keys",
        "accounts.example",
        "",
    ] {
        assert!(!is_issuer(url), "{url}");
        let rules = Rules::new(ISSUER, [AUDIENCE]).expect("good");
        assert!(rules.clone().with_jwks(url).is_err(), "{url}");
        assert!(rules.with_revocations(url).is_err(), "{url}");
    }
    let nothing = Rules::new(ISSUER, [""; 0]).expect_err("no audience");
    assert_eq!(nothing.to_string(), "there must be an audience");
}

#[test]
fn neither_tokens_nor_claims_are_shown_by_debug() {
    let signer = Signer::new(Algorithm::EdDsa, "a");
    let world = World::new(&[&signer], same);
    let token = signer.plain();
    let identity = world.verdict(&token).expect("valid");
    let shown = format!("{:?} {identity:?}", world.tokens);
    assert!(
        !shown.contains(&token) && !shown.contains("acme"),
        "{shown}"
    );
}

proptest! {
    #[test]
    fn any_text_is_refused_without_a_panic(text in "\\PC{0,60}|[A-Za-z0-9_.-]{0,200}") {
        let world = World::new(&[&Signer::new(Algorithm::EdDsa, "a")], same);
        prop_assert!(!matches!(world.tokens.check(&text), Some(Ok(_))));
    }

    #[test]
    fn any_documents_of_an_issuer_are_read_without_a_panic(text in "\\PC{0,80}") {
        let _ = KeySet::parse(text.as_bytes(), &Algorithm::ALL);
        let _ = Revoked::parse(text.as_bytes(), ISSUER);
    }
}
