//! Pipelines that are not for all callers.

use ziggurat_layers::bearer::TokenHash;
use ziggurat_runtime::{ConfigSources, config::Input, flags::Flags};
use ziggurat_tokens::{CallerNames, Holder, Identity};

use super::*;

/// Returns the callers that a section `for` names.
fn callers(section: &str) -> CallerNames {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("callers.yaml");
    std::fs::write(&path, format!("for: {section}\n")).expect("written");
    let (sources, flags) = (ConfigSources::default(), Flags::default());
    let loaded = Input::new(&sources, &flags).load(Some(&path), |file| {
        CallerNames::read_with_scopes(&file.section("for"))
    });
    loaded.expect("valid").value
}

fn program(id: &str) -> Identity {
    let (id, database) = (Arc::from(id), None);
    Identity::new(TokenHash::of(&id), Holder::Program { id, database })
}

/// Serves a pipeline for all callers, and one for a single token.
fn served_for_some(is_authenticated: bool) -> Router {
    let parts = |name: &str| bare(name, Embedder::local(), Completer::local());
    let mut own = parts("own");
    own.callers = Some(callers("{tokens: [token-1]}"));
    let pipelines = Pipelines::new(vec![Pipeline::new(parts("all")), Pipeline::new(own)]);
    let pipelines = if is_authenticated {
        pipelines.with_authentication()
    } else {
        pipelines
    };
    let chat = chat_service(pipelines.clone(), Options::default());
    let console = console_service(pipelines.clone(), true);
    linked(
        service(pipelines, Options::default())
            .merge(chat)
            .merge(console),
    )
}

/// Returns the names in all lists, which are the same.
async fn listed(service: &Router, identity: Option<Identity>) -> Vec<String> {
    let mut found = Vec::new();
    for (path, list, key) in [
        ("/v1/pipelines", "pipelines", "name"),
        ("/v1/stats", "pipelines", "name"),
        ("/v1/console", "pipelines", "name"),
        ("/v1/health", "pipelines", "name"),
        ("/v1/models", "data", "id"),
    ] {
        let (status, answer) = said(asked_by(service, "GET", path, identity.clone()).await).await;
        assert_eq!(status, 200, "{path}");
        let names = answer[list].as_array().into_iter().flatten();
        let names: Vec<_> = names
            .map(|entry| entry[key].as_str().expect("a name").to_owned())
            .collect();
        found.push(names);
    }
    found.dedup();
    assert_eq!(found.len(), 1, "{found:?}");
    found.remove(0)
}

async fn asked_by(
    service: &Router,
    method: &str,
    path: &str,
    identity: Option<Identity>,
) -> Response<Body> {
    let mut request = Request::builder().method(method).uri(path);
    if let Some(identity) = identity {
        request = request.extension(identity);
    }
    let request = request.body(Body::from(question().to_string()));
    let answered = service.clone().oneshot(request.expect("valid parts"));
    answered.await.expect("infallible")
}

#[tokio::test]
async fn a_caller_sees_the_pipelines_that_are_for_it() {
    let service = served_for_some(true);
    let [owner, other] = ["token-1", "token-2"].map(|id| Some(program(id)));
    assert_eq!(listed(&service, owner.clone()).await, ["all", "own"]);
    assert_eq!(listed(&service, other.clone()).await, ["all"]);
    assert_eq!(listed(&service, None).await, [""; 0]);

    for (identity, expected) in [(owner, 200), (other, 404), (None, 404)] {
        let model = asked_by(&service, "GET", "/v1/models/own", identity.clone()).await;
        assert_eq!(model.status(), expected);
        let asked = asked_by(&service, "POST", "/v1/pipelines/own", identity).await;
        let (status, answer) = said(asked).await;
        if expected == 404 {
            let message = "pipeline not found: own";
            assert_eq!(
                (status, answer),
                (404, error("PIPELINE_NOT_FOUND", message))
            );
        } else {
            assert_ne!(status, 404, "{answer}");
        }
    }
}

#[tokio::test]
async fn without_authentication_a_pipeline_for_tokens_is_for_no_caller() {
    let service = served_for_some(false);
    assert_eq!(listed(&service, None).await, ["all"]);
}
