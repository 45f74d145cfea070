use std::time::Duration;

use serde_json::{Value, json};
use tokio::{join, time};
use ziggurat_fake_providers::{Api, Fake, Gate, Turn};

use super::*;
use crate::headers;

const KEY: &str = "wq8JkLmN2pRs7TuV";

/// Retries without a delay, so that no test waits.
const AT_ONCE: Retry = Retry::times(2).with_base(Duration::ZERO);

fn access(fake: &Fake, whose: Api) -> Access {
    Access {
        base_url: Some(fake.url(whose)),
        key: Some(KEY.into()),
        retry: AT_ONCE,
        ..Access::default()
    }
}

fn http_client(provider: Provider, access: &Access) -> Http {
    let client = client().expect("a client");
    Http::new(&client, provider, access).expect("an address")
}

fn openai(fake: &Fake) -> Http {
    http_client(Provider::OpenAi, &access(fake, Api::OpenAi))
}

async fn embed(http: &Http, deadline: Deadline) -> Result<Value, Error> {
    let ask = json!({"model": "m", "input": "fern"});
    let request = Request::post(&["embeddings"], &ask)?.with_vectors();
    http.json(&request, deadline).await
}

#[tokio::test]
async fn each_provider_gets_its_key_in_the_header_it_reads() {
    let fake = Fake::start();
    for (whose, provider, expected) in [
        (Api::Anthropic, Provider::Anthropic, Some(KEY)),
        (Api::Gemini, Provider::Gemini, Some(KEY)),
        (Api::OpenAi, Provider::OpenAi, Some(KEY)),
        (Api::Voyage, Provider::Voyage, Some(KEY)),
        (Api::Ollama, Provider::Ollama, None),
    ] {
        let http = http_client(provider, &access(&fake, whose));
        http.ping(None, Deadline::none())
            .await
            .expect("it is there");
        let seen = fake.requests().pop().expect("a request");
        assert_eq!(seen.api, whose);
        assert_eq!(seen.key(), expected, "{provider:?}");
        assert!(seen.query.is_none(), "no key in the address");
        let version = seen.header("anthropic-version");
        let is_anthropic = provider == Provider::Anthropic;
        assert_eq!(version, is_anthropic.then_some("2023-06-01"));
    }
}

#[tokio::test]
async fn a_configured_header_is_sent_and_never_replaces_one_of_the_client() {
    let fake = Fake::start();
    let configured = [
        ("X-Team", "search"),
        ("Authorization", "Bearer theirs"),
        ("Content-Type", "text/plain"),
        ("Accept", "text/html"),
    ];
    let mut access = access(&fake, Api::OpenAi);
    access.headers = headers::merge(configured).expect("headers");
    let answer = embed(&http_client(Provider::OpenAi, &access), Deadline::none()).await;
    answer.expect("an answer");
    // Without a key of the client, the configured header is the only one.
    access.key = None;
    let answer = embed(&http_client(Provider::OpenAi, &access), Deadline::none()).await;
    answer.expect("an answer");

    let [first, second] = &fake.requests()[..] else {
        panic!("two requests");
    };
    assert_eq!(first.key(), Some(KEY));
    assert_eq!(second.key(), Some("theirs"));
    for seen in [first, second] {
        assert_eq!(seen.header("x-team"), Some("search"));
        assert_eq!(seen.header("content-type"), Some("application/json"));
        assert_eq!(seen.header("accept"), Some("application/json"));
        assert_eq!(seen.path, "v1/embeddings");
    }
}

#[test]
fn an_invalid_address_or_key_is_refused_before_anything_is_sent() {
    let client = client().expect("a client");
    let open = |provider, base_url: Option<&str>, key: Option<&str>| {
        let access = Access {
            base_url: base_url.map(str::to_owned),
            key: key.map(Into::into),
            ..Access::default()
        };
        Http::new(&client, provider, &access).map(|http| http.inner.base.to_string())
    };
    for text in ["localhost:11434", "ftp://host", "http://", "https:///path"] {
        let refused = open(Provider::Ollama, Some(text), None);
        assert!(
            matches!(refused, Err(InvalidAccess::BaseUrl)) || text == "https:///path",
            "{text}"
        );
    }
    let base = open(Provider::Ollama, Some(" http://a:1/b/ "), None);
    assert_eq!(base.as_deref(), Ok("http://a:1/b/"));
    for (provider, expected) in [
        (
            Provider::OpenAi,
            "OpenAI API key is required when provider is 'openai'",
        ),
        (
            Provider::Voyage,
            "Voyage AI API key is required when provider is 'voyage'",
        ),
        (
            Provider::Gemini,
            "Gemini API key is required when provider is 'gemini'",
        ),
    ] {
        let error = open(provider, None, Some("")).expect_err("no key");
        assert_eq!(error.to_string(), expected);
    }
    assert!(open(Provider::OpenAi, Some("http://a/v1"), None).is_ok());
    let error = open(Provider::OpenAi, None, Some("swordfish\n")).expect_err("no header");
    assert_eq!(error, InvalidAccess::Key(Provider::OpenAi));
    assert!(!error.to_string().contains("swordfish"));
}

#[tokio::test]
async fn credentials_in_an_address_are_sent_in_a_header_and_never_shown() {
    let fake = Fake::start();
    let url = fake
        .url(Api::Ollama)
        .replace("http://", "http://me:open%20sesame@");
    let access = Access {
        base_url: Some(url),
        ..Access::default()
    };
    let http = http_client(Provider::Ollama, &access);
    http.ping(None, Deadline::none())
        .await
        .expect("it is there");
    let sent = fake.request();
    let sent = sent.header("authorization");
    // "me:open sesame"
    assert_eq!(sent, Some("Basic bWU6b3BlbiBzZXNhbWU="));
    assert!(!format!("{http:?}").contains("sesame"), "{http:?}");
}

#[tokio::test]
async fn transient_failures_are_retried_with_the_whole_request() {
    let fake = Fake::start();
    for turn in [
        Turn::refusal(429),
        Turn::refusal(500),
        Turn::refusal(529),
        Turn::reset(),
        Turn::answer().reset_after(20),
        Turn::answer().cut_after(20),
    ] {
        let before = fake.requests().len();
        fake.next(turn.clone());
        let answer = embed(&openai(&fake), Deadline::none()).await;
        answer.unwrap_or_else(|error| panic!("{turn:?}: {error}"));
        let seen = fake.requests().split_off(before);
        assert_eq!(seen.len(), 2, "{turn:?}");
        assert_eq!(seen[0].body, seen[1].body);
    }
}

#[tokio::test]
async fn permanent_or_repeated_failures_are_errors_with_their_class() {
    let fake = Fake::start();
    for (turn, class, requests) in [
        (Turn::refusal(400), Class::Invalid, 1),
        (Turn::refusal(401), Class::Credentials, 1),
        (Turn::refusal(403), Class::Credentials, 1),
        (Turn::refusal(404), Class::Provider, 1),
        (
            Turn::refusal(301).with_header("Location", "/x"),
            Class::Provider,
            1,
        ),
        (Turn::refusal(429), Class::RateLimit, 3),
        (Turn::refusal(503), Class::Provider, 3),
        (Turn::reset(), Class::Unreachable, 3),
        (Turn::answer().reset_after(9), Class::Unreachable, 3),
        (Turn::answer().cut_after(9), Class::Provider, 3),
        (Turn::answer().ended_after(9), Class::Provider, 1),
        (Turn::malformed(), Class::Provider, 1),
    ] {
        let before = fake.requests().len();
        fake.always(turn.clone());
        let error = embed(&openai(&fake), Deadline::none()).await;
        let error = error.expect_err("it fails");
        assert_eq!(error.class(), class, "{turn:?}: {error}");
        assert_eq!(
            fake.requests().len() - before,
            requests,
            "{turn:?}: {error}"
        );
    }
}

#[tokio::test]
async fn a_provider_without_a_listener_is_unreachable() {
    let gone = Fake::start();
    let access = access(&gone, Api::Ollama);
    let url = gone.url(Api::Ollama);
    drop(gone);
    let http = http_client(Provider::Ollama, &access);
    let error = http.ping(None, Deadline::none()).await.expect_err("gone");
    assert_eq!(error.class(), Class::Unreachable);
    let text = error.to_string();
    let start = format!("failed to connect to Ollama at {url}: ");
    assert!(text.starts_with(&start), "{text}");
    assert!(text.ends_with("(is Ollama running?)"), "{text}");
    assert!(text.contains("refused"), "{text}");

    let http = http_client(Provider::OpenAi, &access);
    let error = http.ping(None, Deadline::none()).await.expect_err("gone");
    assert!(error.to_string().starts_with("failed to send request: "));
}

/// Advances the clock after this many requests, so that no request is cut before it arrives.
async fn pass(fake: &Fake, asked: usize, seconds: u64) {
    fake.asked(asked).await;
    time::pause();
    time::advance(Duration::from_secs(seconds)).await;
    time::resume();
}

#[tokio::test]
async fn a_provider_that_sends_nothing_is_slow_unless_the_deadline_has_passed() {
    let fake = Fake::start();
    let gate = Gate::new();
    fake.always(Turn::answer().held(&gate));
    let mut access = access(&fake, Api::OpenAi);
    access.timeouts.attempt = Some(Duration::from_secs(5));
    let patient = http_client(Provider::OpenAi, &access);
    let (outcome, ()) = join!(embed(&patient, Deadline::none()), async {
        for attempt in 1..=3 {
            pass(&fake, attempt, 5).await;
        }
    });
    let error = outcome.expect_err("slow");
    assert!(matches!(error, Error::Slow), "{error}");
    assert_eq!(
        fake.requests().len(),
        3,
        "an attempt that is cut is made again"
    );
    // The clients that timed out have disconnected.
    fake.left(3).await;

    access.timeouts.attempt = None;
    access.timeouts.call = Duration::from_secs(5);
    let http = http_client(Provider::OpenAi, &access);
    let (outcome, ()) = join!(embed(&http, Deadline::none()), pass(&fake, 4, 5));
    let error = outcome.expect_err("slow");
    assert!(matches!(error, Error::Slow), "{error}");
    assert_eq!(fake.requests().len(), 4, "a call that is cut is over");

    let deadline = Deadline::after(Duration::from_secs(3));
    let (outcome, ()) = join!(embed(&http, deadline), pass(&fake, 5, 3));
    let error = outcome.expect_err("late");
    assert!(matches!(error, Error::Late), "{error}");
    assert_eq!(error.class(), Class::Timeout);

    // A body that stops in the middle times out, too.
    fake.always(Turn::answer().held_after(9, &gate));
    let (outcome, ()) = join!(embed(&http, Deadline::none()), pass(&fake, 6, 5));
    let error = outcome.expect_err("slow");
    assert!(matches!(error, Error::Slow), "{error}");
}

#[tokio::test]
async fn an_answer_that_is_too_long_is_not_read_to_its_end() {
    let fake = Fake::start();
    fake.next(Turn::huge(16 << 20));
    let error = embed(&openai(&fake), Deadline::none()).await;
    let error = error.expect_err("too long");
    assert!(error.to_string().contains("longer than"), "{error}");
    assert_eq!(error.class(), Class::Provider);
    // A few bytes less are a valid response.
    fake.next(Turn::huge(1 << 20));
    let answer = embed(&openai(&fake), Deadline::none()).await;
    answer.expect("an answer");
}

#[tokio::test]
async fn answers_without_vectors_have_a_limit_of_their_own() {
    let fake = Fake::start();
    let ask = json!({"model": "m", "input": "fern"});
    let request = || Request::post(&["embeddings"], &ask).expect("encoded");
    let http = openai(&fake);
    fake.next(Turn::huge(1 << 20));
    let error = http.once(&request(), Deadline::none()).await;
    let error = error.expect_err("too long");
    assert!(
        error.to_string().contains("longer than 1048576 bytes"),
        "{error}"
    );
    fake.next(Turn::huge(1 << 20));
    let answer = http.once(&request().with_vectors(), Deadline::none()).await;
    answer.expect("an answer");
}

#[tokio::test]
async fn answers_share_a_budget_and_one_without_room_fails() {
    let fake = Fake::start();
    let http = openai(&fake);
    let budget = ByteBudget::new(1 << 20, 1 << 20);
    let held = budget.take(1, 700_000).expect("room");
    let ask = json!({"model": "m", "input": "fern"});
    let request = Request::post(&["embeddings"], &ask).expect("encoded");
    let ask = async || {
        fake.next(Turn::huge(200_000));
        let mut response = http.head(&request).await.expect("an answer");
        body::whole(&mut response, MAX_ANSWER, &budget).await
    };
    let error = ask().await.expect_err("no room");
    assert!(matches!(error, Error::NoRoom), "{error}");
    drop(held);
    assert!(ask().await.expect("room").len() >= 200_000);
    assert!(budget.take(1, 700_000).is_ok(), "nothing is held any more");
}

#[tokio::test]
async fn an_error_response_is_read_up_to_its_limit() {
    let fake = Fake::start();
    fake.always(Turn::raw(404, vec![b'x'; 4 << 20]));
    let error = embed(&openai(&fake), Deadline::none()).await;
    let error = error.expect_err("refused");
    let refusal = error.refusal().expect("one");
    assert_eq!(refusal.status(), 404);
    assert!(refusal.body().len() < MAX_REFUSAL);
    // One that breaks off is still an error response.
    fake.always(Turn::refusal(404).cut_after(30));
    let error = embed(&openai(&fake), Deadline::none()).await;
    let error = error.expect_err("refused");
    assert_eq!(error.refusal().expect("one").status(), 404);
}

#[tokio::test]
async fn no_part_of_a_key_is_in_an_error_that_quotes_it() {
    let fake = Fake::start();
    let mut access = access(&fake, Api::OpenAi);
    access.headers = headers::merge([("X-Gateway-Key", "gateway-7f3a9c1e")]).expect("headers");
    let http = http_client(Provider::OpenAi, &access);
    let quoting = "key {key} (that is {stars}) through gateway-7f3a9c1e is wrong";
    for status in [400, 401, 500] {
        fake.always(Turn::refusal_with(status, quoting));
        let error = embed(&http, Deadline::none()).await.expect_err("refused");
        let shown = format!("{error} {error:?} {http:?}");
        for piece in ["wq8JkL", "N2pRs7", "Rs7TuV", "7f3a9c"] {
            assert!(!shown.contains(piece), "{piece} in {shown}");
        }
        let message = error.refusal().expect("one").message();
        assert!(message.starts_with("key [redacted] (that is "), "{message}");
    }
}

#[tokio::test]
async fn a_stream_is_passed_on_and_retried_until_its_first_bytes() {
    let fake = Fake::start();
    let ask = json!({"model": "m", "messages": [], "stream": true});
    let request = Request::post(&["chat", "completions"], &ask).expect("JSON");
    let request = request.with_accept("text/event-stream");
    let http = openai(&fake);
    let gate = Gate::new();
    fake.next(Turn::refusal(503));
    fake.next(Turn::reset());
    fake.next(Turn::text("one two").held_after(40, &gate));
    let mut stream = http.open(&request, Deadline::none()).await.expect("begun");
    let mut text = Vec::new();
    while text.len() < 40 {
        text.extend(stream.chunk().await.expect("no error").expect("no end"));
    }
    assert_eq!(text.len(), 40, "the rest is held");
    gate.open();
    while let Some(bytes) = stream.chunk().await.expect("no error") {
        text.extend(bytes);
    }
    let text = String::from_utf8(text).expect("text");
    assert!(text.ends_with("data: [DONE]\n\n"), "{text}");
    let seen = fake.requests();
    assert_eq!(seen.len(), 3);
    assert_eq!(seen[2].header("accept"), Some("text/event-stream"));

    // A response that has begun is not retried.
    fake.next(Turn::text("one two").cut_after(40));
    let mut stream = http.open(&request, Deadline::none()).await.expect("begun");
    let broken = loop {
        match stream.chunk().await {
            Ok(Some(_)) => {}
            Ok(None) => panic!("an orderly end"),
            Err(error) => break error,
        }
    };
    assert_eq!(broken.class(), Class::Provider, "{broken}");
    assert_eq!(fake.requests().len(), 4);
}

#[tokio::test]
async fn a_name_from_a_caller_stays_one_part_of_the_path() {
    let fake = Fake::start();
    let mut access = access(&fake, Api::Gemini);
    access.base_url = Some(fake.url(Api::Gemini));
    let http = http_client(Provider::Gemini, &access);
    let ask = |path: &'static [&'static str]| {
        let http = http.clone();
        async move { http.once(&Request::get(path), Deadline::none()).await }
    };
    ask(&["v1beta", "models", "../../v1/x?key=1#y"]).await.ok();
    let seen = fake.request();
    assert_eq!(seen.path, "v1beta/models/..%2F..%2Fv1%2Fx%3Fkey=1%23y");
    assert_eq!(seen.query, None);
    let error = ask(&["v1beta", ".."]).await.expect_err("no path");
    assert_eq!(error.class(), Class::Internal);
    assert_eq!(fake.requests().len(), 1);
}

#[test]
fn the_same_place_with_the_same_key_is_the_same_target() {
    let fake = Fake::start();
    let one = openai(&fake);
    assert!(one.is_same_target(&one.clone()));
    assert!(one.is_same_target(&openai(&fake)));
    let mut other = access(&fake, Api::OpenAi);
    other.key = Some("another-key".into());
    assert!(!one.is_same_target(&http_client(Provider::OpenAi, &other)));
    let voyage = http_client(Provider::Voyage, &access(&fake, Api::OpenAi));
    assert!(!one.is_same_target(&voyage));
}

#[test]
fn clients_and_their_futures_can_be_shared_between_threads() {
    fn shared<T: Clone + Send + Sync + fmt::Debug>(_: &T) {}
    fn sent<T: Send>(_: &T) {}
    let embedder = crate::Embedder::local();
    shared(&embedder);
    sent(&embedder.embed("fern"));
    let fake = Fake::start();
    let http = openai(&fake);
    shared(&http);
    sent(&embed(&http, Deadline::none()));
}
