use std::net::TcpListener;

use tokio::time::{self, Instant};
use ziggurat_fake_providers::{Api, Fake, Gate, Turn};
use ziggurat_llm::Retry;

use super::*;
use crate::{
    pipeline::{Parts, Pipeline},
    tests::{access, bare, completer, embedder, http},
};

const SPEAKERS: [Api; 4] = [Api::Anthropic, Api::OpenAi, Api::Gemini, Api::Ollama];
const EMBEDDERS: [Api; 4] = [Api::Voyage, Api::OpenAi, Api::Gemini, Api::Ollama];

fn check(parts: Vec<Parts>) -> HealthCheck {
    let pipelines = parts.into_iter().map(Pipeline::new).collect();
    HealthCheck::new(Pipelines::new(pipelines), Duration::from_secs(3))
}

impl HealthCheck {
    fn all(&self) -> Served {
        self.inner.pipelines.seen_by(&Caller::new(None))
    }

    async fn report_all(&self) -> Arc<Report> {
        self.report(self.all()).await
    }
}

fn with_completer(fake: &Fake, api: Api) -> Parts {
    bare("docs", Embedder::local(), completer(fake, api))
}

fn with_embedder(fake: &Fake, api: Api) -> Parts {
    bare("docs", embedder(fake, api), Completer::local())
}

fn written(report: &Report) -> String {
    serde_json::to_string(report).expect("JSON")
}

#[tokio::test]
async fn the_report_names_reachable_providers_and_the_reason_for_others() {
    let fake = Fake::start();
    let parts = bare(
        "docs",
        embedder(&fake, Api::OpenAi),
        completer(&fake, Api::Gemini),
    );
    fake.next_of(Api::Gemini, Turn::refusal(401));
    let report = check(vec![parts]).report_all().await;
    let expected = "{\"status\":\"degraded\",\"pipelines\":[{\"name\":\"docs\",\
        \"embedding\":{\"reachable\":true},\"completion\":{\"reachable\":false,\
        \"error\":\"the configured provider rejected the server's credentials\"}}]}";
    assert_eq!(written(&report), expected);
    assert_eq!(
        written(&*check(Vec::new()).report_all().await),
        "{\"status\":\"healthy\"}"
    );
}

#[tokio::test]
async fn every_fault_of_every_provider_has_its_message_at_the_first_attempt() {
    let fake = Fake::start();
    let both = SPEAKERS.map(|api| (api, with_completer(&fake, api)));
    let both = both
        .into_iter()
        .chain(EMBEDDERS.map(|api| (api, with_embedder(&fake, api))));
    for (api, parts) in both {
        let is_voyage = api == Api::Voyage;
        for (turn, class) in [
            (
                Turn::refusal_with(401, "bad key {key}"),
                Some(Class::Credentials),
            ),
            (
                Turn::refusal_with(403, "bad key {stars}"),
                Some(Class::Credentials),
            ),
            (Turn::refusal(429), Some(Class::RateLimit)),
            // Other refusals of so small a request do not mean that Voyage is unhealthy.
            (Turn::refusal(400), (!is_voyage).then_some(Class::Invalid)),
            (Turn::refusal(404), (!is_voyage).then_some(Class::Provider)),
            (Turn::refusal(500), Some(Class::Provider)),
            (Turn::refusal(529), Some(Class::Provider)),
            (Turn::reset(), Some(Class::Unreachable)),
        ] {
            let before = fake.requests().len();
            fake.next(turn.clone());
            let report = check(vec![parts.clone()]).report_all().await;
            let PipelineHealth {
                embedding,
                completion,
                ..
            } = report.pipelines[0];
            let health = if embedding.reachable {
                completion
            } else {
                embedding
            };
            let sentence = class.map(Class::sentence);
            assert_eq!(health.error, sentence, "{api:?} {turn:?}");
            assert_eq!(health.reachable, class.is_none());
            assert_eq!(fake.requests().len(), before + 1, "{api:?} {turn:?}");
        }
    }
}

#[tokio::test]
async fn a_connection_that_is_refused_is_not_tried_again() {
    let fake = Fake::start();
    let closed = TcpListener::bind("127.0.0.1:0").expect("a port");
    let mut access = access(&fake, Api::OpenAi);
    access.base_url = closed
        .local_addr()
        .ok()
        .map(|address| format!("http://{address}"));
    access.retry = Retry::times(9);
    drop(closed);
    let completer = Completer::new(http(Api::OpenAi, &access), "model-1");
    let parts = bare("docs", Embedder::local(), completer.expect("a completer"));
    let report = check(vec![parts]).report_all().await;
    let error = report.pipelines[0].completion.error;
    assert_eq!(error, Some("the provider could not be reached"));
}

#[tokio::test]
async fn a_provider_that_hangs_delays_the_report_only_until_the_deadline() {
    let fake = Fake::start();
    fake.always_of(Api::Gemini, Turn::answer().held(&Gate::new()));
    let parts = SPEAKERS.map(|api| with_completer(&fake, api));
    let pipelines = parts.into_iter().map(Pipeline::new).collect();
    let timeout = Duration::from_millis(300);
    let check = HealthCheck::new(Pipelines::new(pipelines), timeout);
    let began = Instant::now();
    let report = check.report_all().await;
    assert!(began.elapsed() >= timeout);
    for (api, health) in SPEAKERS.iter().zip(&report.pipelines) {
        let error = (*api == Api::Gemini).then_some("the request took too long to process");
        assert_eq!(health.completion.error, error, "{api:?}");
    }
}

#[tokio::test]
async fn a_provider_shared_by_pipelines_is_pinged_once() {
    let fake = Fake::start();
    let mut parts = vec![
        bare(
            "a",
            embedder(&fake, Api::OpenAi),
            completer(&fake, Api::OpenAi),
        ),
        bare(
            "b",
            embedder(&fake, Api::OpenAi),
            completer(&fake, Api::Ollama),
        ),
        bare(
            "c",
            embedder(&fake, Api::Ollama),
            completer(&fake, Api::OpenAi),
        ),
    ];
    let mut access = access(&fake, Api::OpenAi);
    access.key = Some("sk-another-key-than-that".to_owned().into());
    let other = Completer::new(http(Api::OpenAi, &access), "model-1");
    parts.push(bare("d", Embedder::local(), other.expect("a completer")));
    fake.next_of(Api::Ollama, Turn::refusal(500));
    let report = check(parts).report_all().await;
    let apis: Vec<_> = fake.requests().iter().map(|seen| seen.api).collect();
    let count = |api: Api| apis.iter().filter(|other| **other == api).count();
    assert_eq!((count(Api::OpenAi), count(Api::Ollama)), (2, 1), "{apis:?}");
    let broken = Some("the provider returned an error");
    assert_eq!(report.pipelines[1].completion.error, broken);
    assert_eq!(report.pipelines[2].embedding.error, broken);
    assert!(report.pipelines[0].completion.reachable);
}

#[tokio::test]
async fn simultaneous_calls_share_one_round_of_pings() {
    let fake = Fake::start();
    let gate = Gate::new();
    fake.always(Turn::answer().held(&gate));
    let check = check(vec![with_completer(&fake, Api::OpenAi)]);
    let asking = join_all((0..50).map(|_| check.report_all()));
    let opening = async {
        fake.asked(1).await;
        gate.open();
    };
    let (reports, ()) = tokio::join!(asking, opening);
    assert!(
        reports
            .iter()
            .all(|report| Arc::ptr_eq(report, &reports[0]))
    );
    assert_eq!(fake.requests().len(), 1);
}

#[tokio::test]
async fn callers_that_see_other_pipelines_share_no_round() {
    let fake = Fake::start();
    let gate = Gate::new();
    fake.always(Turn::answer().held(&gate));
    let check = check(vec![
        with_completer(&fake, Api::OpenAi),
        with_completer(&fake, Api::Gemini),
    ]);
    let all = check.all();
    let asking = join_all([
        check.report(all.clone()),
        check.report(all[..1].to_vec()),
        check.report(all[..1].to_vec()),
    ]);
    let opening = async {
        fake.asked(3).await;
        gate.open();
    };
    let (reports, ()) = tokio::join!(asking, opening);
    assert_eq!(
        (reports[0].pipelines.len(), reports[1].pipelines.len()),
        (2, 1)
    );
    assert!(Arc::ptr_eq(&reports[1], &reports[2]));
    assert_eq!(fake.requests().len(), 3);
    assert!(check.report(Vec::new()).await.pipelines.is_empty());
    assert_eq!(fake.requests().len(), 3, "nothing to ping");
}

#[tokio::test]
async fn every_call_pings_again() {
    let fake = Fake::start();
    let check = check(vec![with_completer(&fake, Api::OpenAi)]);
    for (turn, is_there) in [
        (Turn::answer(), true),
        (Turn::refusal(500), false),
        (Turn::answer(), true),
    ] {
        fake.next(turn);
        let report = check.report_all().await;
        assert_eq!(report.pipelines[0].completion.reachable, is_there);
    }
    assert_eq!(fake.requests().len(), 3);
}

#[tokio::test]
async fn replaced_pipelines_start_another_round() {
    let fake = Fake::start();
    let check = check(vec![with_completer(&fake, Api::OpenAi)]);
    check.report_all().await;
    let parts = with_completer(&fake, Api::Gemini);
    let before = Arc::downgrade(&check.all()[0]);
    check.inner.pipelines.replace(vec![Pipeline::new(parts)]);
    assert!(before.upgrade().is_none(), "replaced pipelines are dropped");
    check.report_all().await;
    assert_eq!(fake.requests()[1].api, Api::Gemini);
}

#[tokio::test]
async fn a_round_is_cancelled_with_the_last_call_that_waits_for_it() {
    let fake = Fake::start();
    fake.always(Turn::answer().held(&Gate::new()));
    let check = check(vec![with_completer(&fake, Api::OpenAi)]);
    let mut first = Box::pin(check.report_all());
    let mut second = Box::pin(check.report_all());
    tokio::select! {
        _ = &mut first => panic!("it hangs"),
        _ = &mut second => panic!("it hangs"),
        () = fake.asked(1) => {}
    }
    drop(first);
    // The second call keeps the round running.
    let waited = time::timeout(Duration::from_millis(20), &mut second);
    assert!(waited.await.is_err());
    drop(second);
    fake.left(1).await;
    assert_eq!(fake.requests().len(), 1);
}
