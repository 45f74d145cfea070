//! Limits of callers.

use std::{fs, iter, time::Duration};

use futures_util::{FutureExt as _, stream as streams};
use tokio::{task, time};
use ziggurat_calls::limits::Limits;
use ziggurat_fake_providers::{Gate, Turn};
use ziggurat_runtime::{ConfigSources, config::Input, flags::Flags};

use super::*;

const DOCS: &str = "/v1/pipelines/docs";

/// Returns limits of some callers, from members of the section.
pub(super) fn limits(caller: &str, members: &str) -> Limits {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("rag.yaml");
    let section = format!("limits: {{callers: [{{for: {{{caller}}}, {members}}}]}}");
    fs::write(&path, section).expect("written");
    let (sources, flags) = (ConfigSources::default(), Flags::default());
    let input = Input::new(&sources, &flags);
    let read = input.load(Some(&path), |file| {
        ziggurat_calls::limits::Settings::read(&file.section("limits"))
    });
    Limits::new(read.expect("valid").value)
}

/// Serves pipelines with limits of the local caller.
fn limited(members: &str, parts: impl IntoIterator<Item = Parts>) -> Router {
    let options = Options {
        limits: limits("local: true", members),
        ..Options::default()
    };
    served_with(parts, options)
}

/// Returns a pipeline that waits only a millisecond for its database, and does not find it.
fn hasty() -> Parts {
    let pool = nowhere_with(Settings {
        lease_timeout: Duration::from_millis(1),
        ..Settings::default()
    });
    Parts {
        retriever: retriever(pool, vec![table("docs")]),
        ..bare("hasty", Embedder::local(), Completer::local())
    }
}

/// Returns a body that must not be read.
fn unread() -> Body {
    let read = || -> Option<Result<Bytes, Infallible>> { panic!("the body is read") };
    Body::from_stream(streams::iter(iter::from_fn(read)))
}

/// Waits until a model is asked for the answer to the first question.
async fn at_model(fake: &Fake) {
    let asked = async {
        while fake.requests().len() < 2 {
            task::yield_now().await;
        }
    };
    let asked = time::timeout(Duration::from_mins(1), asked);
    asked.await.expect("a model is asked");
}

fn field<'a>(response: &'a Response<Body>, name: &str) -> &'a str {
    let value = response.headers().get(name);
    value.map_or("", |value| value.to_str().expect("ASCII"))
}

fn reached(message: &str) -> (u16, Value) {
    (429, error("RATE_LIMITED", message))
}

#[tokio::test]
async fn every_response_to_a_question_announces_the_limits() {
    let setup = Setup::new().await;
    let service = limited(
        "calls: 100 per hour, concurrent: 1, rows_per_day: 1000, bytes_per_day: 100000",
        [setup.parts(), hasty()],
    );
    let streamed = json!({"query": QUESTION, "stream": true}).to_string();
    let large = "x".repeat(1 << 21);
    let questions = [
        (200, DOCS, &*question().to_string()),
        (200, DOCS, &streamed),
        (400, DOCS, "{}"),
        (413, DOCS, &large),
        (404, "/v1/pipelines/none", "{}"),
        (500, "/v1/pipelines/hasty", &question().to_string()),
    ];
    for (index, (status, path, body)) in questions.into_iter().enumerate() {
        let response = sent(&service, "POST", path, body.to_owned()).await;
        assert_eq!(response.status(), status, "{path}");
        let policy = "\"calls\";q=100;w=3600, \"rows_per_day\";q=1000;qu=\"rows\";w=86400, \
            \"bytes_per_day\";q=100000;qu=\"content-bytes\";w=86400";
        assert_eq!(field(&response, "ratelimit-policy"), policy, "{path}");
        let left = format!("\"calls\";r={};t=", 99 - index);
        let rest = field(&response, "ratelimit");
        assert!(rest.starts_with(&left), "{path}: {rest}");
        text(response).await;
    }
    for (method, path) in [("GET", "/v1/pipelines"), ("GET", DOCS)] {
        let response = sent(&service, method, path, "").await;
        assert_eq!(field(&response, "ratelimit"), "", "{method} {path}");
    }
}

#[tokio::test]
async fn limits_of_other_callers_change_nothing() {
    let parts = [bare("docs", Embedder::local(), Completer::local())];
    let options = Options {
        limits: limits(
            "users: [alice], tokens: [a], clients: [b]",
            "calls: 1 per day",
        ),
        ..Options::default()
    };
    let service = served_with(parts, options);
    for _ in 0..3 {
        let response = sent(&service, "POST", DOCS, "{}").await;
        assert_eq!(response.status(), 400);
        assert_eq!(field(&response, "ratelimit"), "");
    }
}

#[tokio::test]
async fn calls_count_before_the_pipeline_is_looked_up_and_the_body_is_read() {
    let service = limited(
        "calls: 2 per hour",
        [bare("docs", Embedder::local(), Completer::local())],
    );
    for (path, status) in [("/v1/pipelines/none", 404), (DOCS, 400)] {
        assert_eq!(sent(&service, "POST", path, "{}").await.status(), status);
    }
    // Two are refused, and after as many the caller is flooding.
    for path in [DOCS, "/v1/pipelines/none", DOCS, "/v1/pipelines/none"] {
        let response = sent(&service, "POST", path, unread()).await;
        let seconds = field(&response, "retry-after").to_owned();
        assert!(
            seconds
                .parse::<u32>()
                .is_ok_and(|it| (1..=3600).contains(&it))
        );
        let (policy, rest) = ("ratelimit-policy", "ratelimit");
        assert_eq!(field(&response, policy), "\"calls\";q=2;w=3600");
        assert!(field(&response, rest).starts_with("\"calls\";r=0;t="));
        let (status, body) = said(response).await;
        let message = body["error"]["message"].as_str().expect("a sentence");
        assert_eq!(status, 429);
        assert_eq!(body["error"]["code"], "RATE_LIMITED");
        assert!(
            message.starts_with("Too many calls: 2 per hour. Try again in "),
            "{message}"
        );
    }
    assert_eq!(sent(&service, "GET", "/v1/stats", "").await.status(), 200);
}

#[tokio::test]
async fn a_question_counts_as_running_until_its_answer_has_ended() {
    let setup = Setup::new().await;
    let service = limited("concurrent: 1", [setup.parts(), hasty()]);
    let hasty = async || {
        let body = question().to_string();
        said(sent(&service, "POST", "/v1/pipelines/hasty", body).await).await
    };
    let full = reached("Too many statements at once: 1.");

    let gate = Gate::new();
    setup
        .fake
        .next_of(Api::Anthropic, Turn::text("Shade.").held(&gate));
    let first = ask(&service, question());
    let others = async {
        at_model(&setup.fake).await;
        assert_eq!(hasty().await, full);
        // Arguments are checked first.
        let invalid = sent(&service, "POST", DOCS, "{}").await;
        assert_eq!(invalid.status(), 400);
        gate.open();
    };
    let ((status, _), ()) = tokio::join!(first, others);
    assert_eq!(status, 200);
    assert_eq!(hasty().await.0, 500, "it looks for its database");

    // A stream runs until its end, or until its client leaves.
    for reads in [false, true] {
        let response = stream(&service, question()).await;
        assert_eq!(hasty().await, full, "{reads}");
        if reads {
            assert!(text(response).await.ends_with(DONE));
        } else {
            drop(response);
        }
        assert_eq!(hasty().await.0, 500, "{reads}");
    }
}

#[tokio::test]
async fn a_question_waits_until_another_has_ended() {
    let setup = Setup::new().await;
    // Without tables there is nothing to wait for.
    let empty = bare("empty", Embedder::local(), Completer::local());
    let service = limited("concurrent: 1", [setup.parts(), empty]);
    let empty = async || {
        let body = question().to_string();
        sent(&service, "POST", "/v1/pipelines/empty", body).await
    };
    assert!(empty().now_or_never().is_some());
    let gate = Gate::new();
    let turn = Turn::text("Shade.").held(&gate);
    setup.fake.next_of(Api::Anthropic, turn);
    let second = async {
        at_model(&setup.fake).await;
        let mut second = Box::pin(empty());
        assert!((&mut second).now_or_never().is_none());
        gate.open();
        second.await
    };
    let ((first, _), second) = tokio::join!(ask(&service, question()), second);
    assert_eq!((first, second.status().as_u16()), (200, 200));
}

#[tokio::test]
async fn rows_and_bytes_count_as_they_are_sent_and_then_no_provider_is_asked() {
    let setup = Setup::new().await;
    let service = limited("rows_per_day: 4, bytes_per_day: 100000", [setup.parts()]);
    let whole = sent(&service, "POST", DOCS, question().to_string()).await;
    let left = field(&whole, "ratelimit").to_owned();
    let sent_bytes = text(whole).await.len();
    assert!(left.starts_with("\"rows_per_day\";r=1;t="), "{left}");
    let bytes_left = format!("\"bytes_per_day\";r={};t=", 100_000 - sent_bytes);
    assert!(left.contains(&bytes_left), "{left}");

    // The answer that reaches a limit is sent to its end.
    let frames = text(stream(&service, question()).await).await;
    assert!(frames.ends_with(DONE), "{frames}");
    let asked = setup.fake.requests().len();
    for stream in [false, true] {
        let body = json!({"query": QUESTION, "stream": stream}).to_string();
        let response = sent(&service, "POST", DOCS, body).await;
        let left = field(&response, "ratelimit");
        assert!(left.starts_with("\"rows_per_day\";r=0;t="), "{left}");
        let bytes = 100_000 - sent_bytes - frames.len();
        let bytes_left = format!("\"bytes_per_day\";r={bytes};t=");
        assert!(left.contains(&bytes_left), "{left}");
        let seconds = field(&response, "retry-after").parse::<u32>();
        assert!(seconds.is_ok_and(|it| (1..=86_400).contains(&it)));
        let sentence = "The allowance of rows for today is used up. It starts anew at 00:00 UTC.";
        assert_eq!(said(response).await, reached(sentence), "{stream}");
    }
    assert_eq!(setup.fake.requests().len(), asked);

    let service = limited("bytes_per_day: 1", [setup.parts()]);
    assert_eq!(ask(&service, question()).await.0, 200);
    let sentence = "The allowance of bytes for today is used up. It starts anew at 00:00 UTC.";
    assert_eq!(ask(&service, question()).await, reached(sentence));
}
