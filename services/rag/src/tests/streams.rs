//! Answers as streams of events.

use std::time::Duration;

use futures_util::FutureExt as _;
use http::Version;
use ziggurat_fake_providers::{Answer, Gate, Turn};

use super::*;

const SPEAKERS: [Api; 4] = [Api::Anthropic, Api::OpenAi, Api::Gemini, Api::Ollama];

/// Returns the next frame of a body, as text.
async fn frame(body: &mut Body) -> Option<String> {
    let frame = body.frame().await?.expect("it never breaks off");
    let data = frame.into_data().expect("data");
    Some(String::from_utf8(data.into()).expect("text"))
}

#[tokio::test]
async fn a_stream_is_the_text_in_chunks_and_one_final_event() {
    let setup = Setup::new().await;
    let words = "Ferns \"like\"\nshade — and größere Töpfe.";
    for api in SPEAKERS {
        let service = served([setup.parts_of(Api::Voyage, api)]);
        for turn in [
            Turn::text(words),
            Turn::text(words).in_pieces(1),
            Turn::text(words).in_pieces(7).with_crlf(),
            Turn::text(words).with_long_line(100 << 10),
        ] {
            setup.fake.next_of(api, turn.clone());
            let frames = text(stream(&service, question()).await).await;
            let (chunks, end) = frames.split_at(frames.len() - DONE.len());
            assert_eq!(end, DONE, "{api:?} {turn:?}");
            let mut told = String::new();
            for frame in chunks.split_inclusive("\n\n") {
                let json = frame.strip_prefix("data: ").expect("data");
                let event: Value = serde_json::from_str(json).expect("JSON");
                let content = event["content"].as_str().expect("a text");
                assert!(!content.is_empty());
                assert_eq!(frame, chunk(content));
                told.push_str(content);
            }
            assert_eq!(told, words, "{api:?} {turn:?}");
        }
    }
}

#[tokio::test]
async fn each_frame_is_one_event_byte_by_byte() {
    let setup = Setup::new().await;
    let service = served([setup.parts()]);
    setup
        .fake
        .next_of(Api::Anthropic, Turn::text("Ferns like shade."));
    let mut body = stream(&service, question()).await.into_body();
    for expected in [
        "data: {\"type\":\"chunk\",\"content\":\"Ferns \"}\n\n",
        "data: {\"type\":\"chunk\",\"content\":\"like \"}\n\n",
        "data: {\"type\":\"chunk\",\"content\":\"shade.\"}\n\n",
        "data: {\"type\":\"done\"}\n\n",
    ] {
        assert_eq!(frame(&mut body).await.as_deref(), Some(expected));
    }
    assert_eq!(frame(&mut body).await, None);
}

#[tokio::test]
async fn an_empty_answer_is_only_the_event_done() {
    let setup = Setup::new().await;
    for api in SPEAKERS {
        let service = served([setup.parts_of(Api::Voyage, api)]);
        setup.fake.next_of(api, Turn::saying(Answer::silent()));
        assert_eq!(
            text(stream(&service, question()).await).await,
            DONE,
            "{api:?}"
        );
    }
}

#[tokio::test]
async fn the_head_is_sent_before_a_provider_is_called_and_text_before_the_end() {
    let setup = Setup::new().await;
    let service = served([setup.parts()]);
    let [embedding, rest] = [Gate::new(), Gate::new()];
    setup
        .fake
        .next_of(Api::OpenAi, Turn::answer().held(&embedding));
    let mut body = stream(&service, question()).await.into_body();
    assert!(setup.fake.requests().is_empty(), "no frame was polled");
    assert!(frame(&mut body).now_or_never().is_none());
    embedding.open();
    let answer = "data: {\"type\":\"content_block_delta\",\"index\":0,\
        \"delta\":{\"type\":\"text_delta\",\"text\":\"Shade\"}}\n\n";
    let turn = Turn::raw(
        200,
        format!("{answer}data: {{\"type\":\"message_stop\"}}\n\n"),
    );
    setup
        .fake
        .next_of(Api::Anthropic, turn.held_after(answer.len(), &rest));
    assert_eq!(frame(&mut body).await, Some(chunk("Shade")));
    assert!(frame(&mut body).now_or_never().is_none());
    rest.open();
    assert_eq!(frame(&mut body).await.as_deref(), Some(DONE));
}

#[tokio::test]
async fn text_before_a_fault_is_sent_and_the_fault_is_the_last_event() {
    let setup = Setup::new().await;
    let broken = "the provider returned an error";
    let service = served([setup.parts()]);
    let delta = "data: {\"type\":\"content_block_delta\",\"index\":0,\
        \"delta\":{\"type\":\"text_delta\",\"text\":\"Shade\"}}\n\n";
    let reported = |kind: &str| {
        format!(
            "{delta}data: {{\"type\":\"error\",\"error\":{{\"type\":\"{kind}\",\
            \"message\":\"bad {KEY}\"}}}}\n\n"
        )
    };
    for (body, sentence) in [
        // No final event; an error event; an invalid event.
        (delta.to_owned(), broken),
        (reported("overloaded_error"), broken),
        (
            reported("rate_limit_error"),
            "the provider rate limit was exceeded; retry later",
        ),
        (format!("{delta}data: {{\"type\"\n\n"), broken),
    ] {
        setup
            .fake
            .next_of(Api::Anthropic, Turn::raw(200, body.clone()));
        let frames = text(stream(&service, question()).await).await;
        assert_eq!(frames, chunk("Shade") + &failed(sentence), "{body}");
    }
    let turn = Turn::raw(200, delta.repeat(2)).reset_after(delta.len());
    setup.fake.next_of(Api::Anthropic, turn);
    let frames = text(stream(&service, question()).await).await;
    let expected = chunk("Shade") + &failed("the provider could not be reached");
    assert_eq!(frames, expected);
}

#[tokio::test]
async fn the_idle_time_of_a_provider_and_the_length_of_a_stream_are_limited() {
    let setup = Setup::new().await;
    let delta = "data: {\"type\":\"content_block_delta\",\"index\":0,\
        \"delta\":{\"type\":\"text_delta\",\"text\":\"Shade\"}}\n\n";
    let hour = Duration::from_hours(1);
    let soon = Duration::from_millis(200);
    for (stream_idle, stream_max, sentence) in [
        (soon, hour, "the request took too long to process"),
        (hour, soon * 5, "request took too long to process"),
    ] {
        let timeouts = Timeouts {
            request: hour,
            stream_idle,
            stream_max,
            ping: hour,
        };
        let options = Options {
            timeouts,
            ..Options::default()
        };
        let service = served_with([setup.parts()], options);
        let turn = Turn::raw(200, delta.repeat(2)).held_after(delta.len(), &Gate::new());
        setup.fake.next_of(Api::Anthropic, turn);
        let frames = text(stream(&service, question()).await).await;
        assert_eq!(frames, chunk("Shade") + &failed(sentence));
    }
}

#[tokio::test]
async fn a_stream_has_no_events_for_sources_and_tokens() {
    let setup = Setup::new().await;
    let service = served([setup.parts()]);
    setup.fake.next_of(Api::Anthropic, Turn::text("Shade."));
    let asked = json!({"query": QUESTION, "include_sources": true});
    let frames = text(stream(&service, asked).await).await;
    assert_eq!(frames, chunk("Shade.") + DONE);
}

#[tokio::test]
async fn a_disconnect_cancels_the_work_at_every_stage() {
    let mut setup = Setup::new().await;
    let service = served([setup.parts()]);
    // Disconnects while the vector is computed.
    let gate = Gate::new();
    setup.fake.next_of(Api::OpenAi, Turn::answer().held(&gate));
    let mut body = stream(&service, question()).await.into_body();
    tokio::select! {
        frame = frame(&mut body) => panic!("{frame:?}"),
        () = setup.fake.asked(1) => drop(body),
    }
    setup.fake.left(1).await;
    // Disconnects while the model answers.
    let turn = Turn::text("Ferns like shade.").held_after(200, &gate);
    setup.fake.next_of(Api::Anthropic, turn);
    let mut body = stream(&service, question()).await.into_body();
    tokio::select! {
        () = async { while frame(&mut body).await.is_some() {} } => panic!("it ended"),
        () = setup.fake.asked(3) => drop(body),
    }
    setup.fake.left(2).await;
    // Disconnects while the tables are searched.
    setup
        .fixture
        .given(
            "CREATE FUNCTION wait(text) RETURNS text LANGUAGE sql VOLATILE AS
            $$ SELECT pg_sleep(600)::text || $1 $$;
         CREATE VIEW slow AS SELECT id, wait(content) AS content, embedding FROM docs;",
        )
        .await;
    let service = served([Parts {
        retriever: retriever(setup.pool.clone(), vec![table("slow")]),
        ..setup.parts()
    }]);
    let mut body = stream(&service, question()).await.into_body();
    let running = "SELECT count(*) FROM pg_stat_activity
        WHERE datname = current_database() AND application_name = 'ziggurat' AND state = 'active'";
    tokio::select! {
        frame = frame(&mut body) => panic!("{frame:?}"),
        () = until(&mut setup.fixture, running, 1) => drop(body),
    }
    until(&mut setup.fixture, running, 0).await;
}

async fn until(fixture: &mut Fixture, sql: &str, count: i64) {
    while fixture.count(sql).await != count {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn a_thousand_dropped_streams_leave_no_tasks_and_no_connections() {
    let mut setup = Setup::new().await;
    let service = served([setup.parts()]);
    let turn = Turn::text("Ferns like shade.").held_after(200, &Gate::new());
    setup.fake.always_of(Api::Anthropic, turn);
    for number in 0..1000 {
        let mut body = stream(&service, question()).await.into_body();
        if number % 50 == 0 {
            let before = setup.fake.requests().len();
            tokio::select! {
                () = async { while frame(&mut body).await.is_some() {} } => panic!("it ended"),
                () = setup.fake.asked(before + 2) => {}
            }
        } else {
            // The stream has started and waits at some stage.
            let begun = async { frame(&mut body).await };
            assert!(begun.now_or_never().is_none());
        }
    }
    setup.fake.left(20).await;
    let metrics = tokio::runtime::Handle::current().metrics();
    let busy = "SELECT count(*) FROM pg_stat_activity
        WHERE datname = current_database() AND application_name = 'ziggurat' AND state <> 'idle'";
    until(&mut setup.fixture, busy, 0).await;
    // The remaining tasks drive client connections and clean up the pools.
    until_idle(|| metrics.num_alive_tasks() < 20).await;
}

async fn until_idle(is_idle: impl Fn() -> bool) {
    while !is_idle() {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn only_http_1_responses_have_a_connection_header() {
    let service = served([bare("docs", Embedder::local(), Completer::local())]);
    for (version, connection) in [(Version::HTTP_11, true), (Version::HTTP_2, false)] {
        let request = Request::post("/v1/pipelines/docs").version(version);
        let body = json!({"query": QUESTION, "stream": true}).to_string();
        let request = request.body(Body::from(body)).expect("valid");
        let response = service.clone().oneshot(request).await.expect("infallible");
        let headers = response.headers();
        assert_eq!(
            headers.contains_key("connection"),
            connection,
            "{version:?}"
        );
        assert_eq!(headers["cache-control"], "no-cache");
        assert_eq!(headers["x-accel-buffering"], "no");
    }
}

#[tokio::test]
async fn an_idle_stream_sends_keep_alive_comments_if_configured() {
    let setup = Setup::new().await;
    let options = Options {
        keep_alive: Some(Duration::from_millis(20)),
        ..Options::default()
    };
    let service = served_with([setup.parts()], options);
    let gate = Gate::new();
    setup.fake.next_of(Api::OpenAi, Turn::answer().held(&gate));
    setup.fake.next_of(Api::Anthropic, Turn::text("Shade."));
    let mut body = stream(&service, question()).await.into_body();
    let comment = ": keep-alive\n\n";
    assert_eq!(frame(&mut body).await.as_deref(), Some(comment));
    gate.open();
    let frames = text(Response::new(body)).await.replace(comment, "");
    assert_eq!(frames, chunk("Shade.") + DONE);
}

#[tokio::test]
async fn a_running_request_keeps_its_pipeline() {
    let setup = Setup::new().await;
    let pipelines = Pipelines::new(vec![Pipeline::new(setup.parts())]);
    let service = linked(service(pipelines.clone(), Options::default()));
    let gate = Gate::new();
    setup.fake.next_of(Api::OpenAi, Turn::answer().held(&gate));
    setup.fake.next_of(Api::Anthropic, Turn::text("Shade."));
    let mut body = stream(&service, question()).await.into_body();
    assert!(frame(&mut body).now_or_never().is_none());
    pipelines.replace(Vec::new());
    assert_eq!(ask(&service, question()).await.0, 404);
    gate.open();
    assert_eq!(text(Response::new(body)).await, chunk("Shade.") + DONE);
}
