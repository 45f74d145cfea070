//! Keys and revoked tokens that change.

use std::{
    pin::pin,
    task::{Context, Waker},
};

use super::*;
use crate::access_token::{keys::InvalidKeys, refresh::KEY_INTERVAL};

fn lasting(signer: &Signer) -> String {
    signer.token(|_, claims| claims["exp"] = json!(NOW + 86_400))
}

#[test]
fn before_the_first_fetch_the_verifier_is_unavailable() {
    let signer = Signer::new(Algorithm::EdDsa, "a");
    let world = World::new(&[], same);
    let token = signer.plain();
    assert_eq!(
        world.verdict(&token),
        Err(Denied::Unavailable),
        "asked a moment ago"
    );
    assert_eq!(
        world.verdict("no token"),
        Err(Denied::Invalid),
        "whatever the keys are"
    );
}

#[test]
fn a_request_with_an_unknown_key_waits_for_one_fetch_and_no_more() {
    let [old, new] = ["old", "new"].map(|kid| Signer::new(Algorithm::EdDsa, kid));
    let world = World::new(&[&old], same);
    world.documents.set(KEYS, &set(&[&new]));
    let token = lasting(&new);
    let mut cx = Context::from_waker(Waker::noop());

    let asked = world.documents.fetched();
    for _ in 0..100 {
        assert_eq!(world.verdict(&token), Err(Denied::Invalid), "too soon");
    }
    assert_eq!(world.documents.fetched(), asked);

    world.clock.advance(MIN_FETCH_INTERVAL);
    assert_eq!(world.tokens.verify_now(&token), None, "it has to wait");
    let mut running = pin!(world.tokens.clone().run());
    assert!(running.as_mut().poll(&mut cx).is_pending());
    let mut waiting = pin!(world.tokens.verify(&token));
    assert!(waiting.as_mut().poll(&mut cx).is_pending());
    assert!(running.as_mut().poll(&mut cx).is_pending());
    let Poll::Ready(verdict) = waiting.poll(&mut cx) else {
        panic!("the keys have been fetched");
    };
    assert!(verdict.is_ok());
    assert_eq!(world.documents.fetched(), asked + 1);
    assert_eq!(
        world.verdict(&lasting(&old)),
        Err(Denied::Invalid),
        "its key is gone"
    );
}

#[test]
fn a_question_from_before_the_task_runs_is_answered() {
    let [old, new] = ["old", "new"].map(|kid| Signer::new(Algorithm::EdDsa, kid));
    let world = World::new(&[&old], same);
    world.documents.set(KEYS, &set(&[&new]));
    world.clock.advance(MIN_FETCH_INTERVAL);
    let mut cx = Context::from_waker(Waker::noop());
    let token = lasting(&new);
    let mut waiting = pin!(world.tokens.verify(&token));
    assert!(waiting.as_mut().poll(&mut cx).is_pending());
    let mut running = pin!(world.tokens.clone().run());
    assert!(running.as_mut().poll(&mut cx).is_pending());
    assert!(matches!(waiting.poll(&mut cx), Poll::Ready(Ok(_))));
}

#[test]
fn a_remembered_token_of_a_withdrawn_key_is_refused() {
    let [old, new] = ["old", "new"].map(|kid| Signer::new(Algorithm::EdDsa, kid));
    let world = World::new(&[&old], same);
    let token = lasting(&old);
    assert!(world.verdict(&token).is_ok());
    world.documents.set(KEYS, &set(&[&new]));
    world.clock.advance(KEY_INTERVAL);
    block_on(world.tokens.poll());
    assert_eq!(world.verdict(&token), Err(Denied::Invalid));
}

#[test]
fn requests_that_wait_are_bounded() {
    let signer = Signer::new(Algorithm::EdDsa, "a");
    let world = World::new(&[], |rules| rules.with_max_waiting(2));
    let token = signer.plain();
    let mut cx = Context::from_waker(Waker::noop());
    let mut first = Box::pin(world.tokens.verify(&token));
    let mut second = Box::pin(world.tokens.verify(&token));
    let mut third = Box::pin(world.tokens.verify(&token));
    assert!(first.as_mut().poll(&mut cx).is_pending());
    assert!(second.as_mut().poll(&mut cx).is_pending());
    let refused = Poll::Ready(Err(Denied::Unavailable));
    assert_eq!(third.as_mut().poll(&mut cx), refused);
    drop(first);
    let mut fourth = Box::pin(world.tokens.verify(&token));
    assert!(
        fourth.as_mut().poll(&mut cx).is_pending(),
        "a place is free again"
    );
}

#[test]
fn bad_documents_do_not_replace_the_last_good_keys() {
    let signer = Signer::new(Algorithm::EdDsa, "a");
    let world = World::new(&[&signer], same);
    let mut unusable = signer.jwk.clone();
    unusable["key_ops"] = json!(["encrypt"]);
    let many: Vec<_> = (0..101).map(|_| signer.jwk.clone()).collect();
    for document in [
        json!([]),
        json!({"keys": {}}),
        json!({"keys": []}),
        json!({"keys": [unusable]}),
        json!({"keys": many}),
        json!({"keys": [signer.jwk], "filler": "x".repeat(1 << 20)}),
    ] {
        world.documents.set(KEYS, &document);
        world.clock.advance(KEY_INTERVAL);
        let asked = world.documents.fetched();
        block_on(world.tokens.poll());
        assert!(world.documents.fetched() > asked);
        assert!(world.verdict(&lasting(&signer)).is_ok());
    }
    world.documents.remove(KEYS);
    world.clock.advance(KEY_INTERVAL);
    block_on(world.tokens.poll());
    assert!(world.verdict(&lasting(&signer)).is_ok());
}

#[test]
fn a_key_that_is_not_for_this_is_left_out() {
    for (name, value) in [
        ("use", json!("enc")),
        ("use", json!(["sig"])),
        ("key_ops", json!(["encrypt"])),
        ("key_ops", json!(["sign", "deriveKey"])),
        ("key_ops", json!([])),
        ("key_ops", json!("verify")),
        ("alg", json!("RS256")),
        ("alg", json!("none")),
        ("alg", json!(7)),
        ("kty", json!("oct")),
        ("kty", json!("RSA")),
        ("kty", Value::Null),
        ("crv", json!("X25519")),
        ("crv", Value::Null),
        ("x", json!("AAAA")),
        ("x", Value::Null),
        ("kid", json!(7)),
    ] {
        let mut signer = Signer::new(Algorithm::EdDsa, "a");
        signer.jwk[name] = value.clone();
        let world = World::new(&[&signer, &Signer::new(Algorithm::Es256, "b")], same);
        let token = signer.token(|header, _| header["kid"] = json!("a"));
        assert_eq!(
            world.verdict(&token),
            Err(Denied::Invalid),
            "{name}: {value}"
        );
    }
    let mut signer = Signer::new(Algorithm::EdDsa, "a");
    signer.jwk["use"] = json!("sig");
    signer.jwk["key_ops"] = json!(["verify"]);
    signer.jwk["alg"] = json!("EdDSA");
    let world = World::new(&[&signer], same);
    assert!(world.verdict(&signer.plain()).is_ok());
}

#[test]
fn weak_rsa_keys_are_left_out() {
    let signer = Signer::new(Algorithm::Rs256, "a");
    for (name, value) in [
        ("e", "AQ"),
        ("e", "AAE"),
        ("e", "Ag"),
        ("e", ""),
        ("n", "AQAB"),
        ("n", ""),
    ] {
        let mut jwk = signer.jwk.clone();
        jwk[name] = json!(value);
        let set = json!({"keys": [jwk]}).to_string();
        let parsed = KeySet::parse(set.as_bytes(), &Algorithm::ALL);
        assert_eq!(
            parsed.err(),
            Some(InvalidKeys::NoneUsable),
            "{name}: {value}"
        );
    }
    // 2,047 bits: the first of the modulus is not set.
    let mut modulus = vec![0x7f_u8; 256];
    modulus[255] = 1;
    let mut jwk = signer.jwk.clone();
    jwk["n"] = json!(signer::encode(modulus));
    let set = json!({"keys": [jwk]}).to_string();
    assert!(KeySet::parse(set.as_bytes(), &Algorithm::ALL).is_err());
}

fn revoking(rules: Rules) -> Rules {
    rules.with_revocations(LIST).expect("a safe URL")
}

#[test]
fn revocation_by_client_subject_or_token_also_ends_remembered_tokens() {
    let signer = Signer::new(Algorithm::EdDsa, "a");
    let token = lasting(&signer);
    for (entry, is_revoked) in [
        (json!({"client_id": "console"}), true),
        (json!({"client": "console"}), true),
        (json!({"client": "alice"}), true),
        (json!({"sub": "alice"}), true),
        (json!({"jti": "t1"}), true),
        (
            json!({"client_id": "other", "sub": "bob", "jti": "t2"}),
            false,
        ),
        (json!({"sub": "console"}), false),
        (json!({"jti": "alice"}), false),
    ] {
        let world = World::new(&[&signer], revoking);
        let list = |revoked: &[&Value]| json!({"issuer": ISSUER, "revoked": revoked});
        world.documents.set(LIST, &list(&[]));
        world.clock.advance(MIN_FETCH_INTERVAL);
        block_on(world.tokens.poll());
        assert!(world.verdict(&token).is_ok(), "{entry}");
        world.documents.set(LIST, &list(&[&entry]));
        block_on(world.tokens.poll());
        assert_eq!(world.verdict(&token).is_err(), is_revoked, "{entry}");
        let kept = usize::from(!is_revoked);
        assert_eq!(world.tokens.remembered(), kept, "{entry}");
    }
}

#[test]
fn the_end_of_a_grant_ends_its_tokens() {
    let signer = Signer::new(Algorithm::EdDsa, "a");
    let token = lasting(&signer);
    for (grant, is_revoked) in [("g1", true), ("t1", false), ("alice", false)] {
        let world = World::new(&[&signer], revoking);
        let ended = json!([{"grant": grant, "until": 1_793_003_600}]);
        let list = json!({"issuer": ISSUER, "revoked": [], "revoked_grants": ended});
        world.documents.set(LIST, &list);
        world.clock.advance(MIN_FETCH_INTERVAL);
        block_on(world.tokens.poll());
        assert_eq!(world.verdict(&token).is_err(), is_revoked, "{grant}");
    }
}

#[test]
fn without_a_fresh_list_tokens_are_refused_unless_the_rules_say_otherwise() {
    let signer = Signer::new(Algorithm::EdDsa, "a");
    let token = lasting(&signer);
    let world = |outage| {
        let world = World::new(&[], |rules| revoking(rules).with_outage(outage));
        world.documents.set(KEYS, &set(&[&signer]));
        world
            .documents
            .set(LIST, &json!({"issuer": ISSUER, "revoked": []}));
        block_on(world.tokens.poll());
        world
    };
    let refusing = world(Outage::Refuse);
    let accepting = world(Outage::AcceptUntilExpiry);
    for world in [&refusing, &accepting] {
        assert!(world.verdict(&token).is_ok());
        world.documents.remove(LIST);
        world.clock.advance(Duration::from_secs(300));
        block_on(world.tokens.poll());
        assert!(
            world.verdict(&token).is_ok(),
            "the list is five minutes old"
        );
        world.clock.advance(Duration::from_secs(1));
    }
    assert_eq!(refusing.verdict(&token), Err(Denied::Unavailable));
    assert!(accepting.verdict(&token).is_ok());
    let list = json!({"issuer": ISSUER, "revoked": []});
    refusing.documents.set(LIST, &list);
    block_on(refusing.tokens.poll());
    assert!(refusing.verdict(&token).is_ok());
}

#[test]
fn a_malformed_list_is_not_an_empty_one() {
    let signer = Signer::new(Algorithm::EdDsa, "a");
    for list in [
        json!({"issuer": "https://other.example", "revoked": []}),
        json!({"issuer": ISSUER}),
        json!({"issuer": ISSUER, "revoked": [{}]}),
        json!({"issuer": ISSUER, "revoked": [{"sub": 7}]}),
        json!([]),
    ] {
        let world = World::new(&[], revoking);
        world.documents.set(KEYS, &set(&[&signer]));
        world.documents.set(LIST, &list);
        block_on(world.tokens.poll());
        assert_eq!(
            world.verdict(&signer.plain()),
            Err(Denied::Unavailable),
            "{list}"
        );
    }
}

#[test]
fn keys_and_list_are_found_in_the_metadata_of_the_issuer() {
    let signer = Signer::new(Algorithm::EdDsa, "a");
    let documents = Arc::new(Documents::default());
    let metadata = format!("{ISSUER}/.well-known/openid-configuration");
    let described = json!({"issuer": ISSUER, "jwks_uri": KEYS, "revoked_clients_uri": LIST});
    documents.set(&metadata, &described);
    documents.set(KEYS, &set(&[&signer]));
    documents.set(
        LIST,
        &json!({"issuer": ISSUER, "revoked": [{"sub": "bob"}]}),
    );
    let rules = Rules::new(ISSUER, [AUDIENCE]).expect("good rules");
    let clock = ManualClock::new();
    clock.advance(Duration::from_secs(NOW));
    let tokens = AccessTokens::new(rules, documents).with_clock(clock);
    block_on(tokens.poll());
    assert!(matches!(tokens.check(&signer.plain()), Some(Ok(_))));
    let bob = signer.token(|_, claims| claims["sub"] = json!("bob"));
    assert_eq!(tokens.check(&bob), Some(Err(Denied::Invalid)));
}
