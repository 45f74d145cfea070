mod lists;
mod requests;

use std::{
    convert::Infallible,
    future::{Ready, ready},
    sync::{Arc, Mutex},
};

use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use http_body_util::{BodyExt as _, Full};
use serde_json::{Value, json};
use tokio_test::block_on;
use tower::{ServiceExt as _, service_fn};

use super::*;
use crate::reject::Rejection;

type Sent = Arc<Mutex<Vec<Request<CheckedBody>>>>;

/// The response that a client got, and the requests that reached the server.
struct Outcome {
    status: u16,
    headers: HeaderMap,
    body: Bytes,
    sent: Vec<Request<CheckedBody>>,
}

impl Outcome {
    fn json(&self) -> Value {
        serde_json::from_slice(&self.body).expect("JSON")
    }

    /// The code of the only error.
    fn code(&self) -> Option<i64> {
        self.json()["error"]["code"].as_i64()
    }

    fn text(&self) -> &str {
        str::from_utf8(&self.body).expect("text")
    }

    fn rejection(&self) -> String {
        self.headers["x-code"].to_str().expect("a code").to_owned()
    }
}

type Getter = fn(&Extensions) -> Option<Access>;

fn layer() -> McpPolicyLayer<Getter> {
    McpPolicyLayer::new(|extensions| extensions.get::<Access>().cloned())
}

fn some_access() -> Access {
    Access::nothing()
        .with_tools(["search", "report_*"])
        .with_prompts(["summary"])
        .with_resources(["file:///handbook/*", "db://status"])
}

/// Sends a request through the layer to a server that answers with `response`.
fn send_to<B>(
    layer: &McpPolicyLayer<Getter>,
    request: Request<B>,
    response: Response<Full<Bytes>>,
) -> Outcome
where
    B: Body<Error: Into<BoxError>>,
{
    let sent = Sent::default();
    let server = {
        let sent = Arc::clone(&sent);
        service_fn(move |request| -> Ready<Result<_, Infallible>> {
            sent.lock().expect("not poisoned").push(request);
            ready(Ok(response.clone()))
        })
    };
    let render = |rejection: &Rejection| {
        let response = Response::builder().header("x-code", rejection.code());
        response.body(Full::from("refused")).expect("valid parts")
    };
    let service = layer.clone().with_render(render).layer(server);
    let Ok(response) = block_on(service.oneshot(request));
    let (head, body) = response.into_parts();
    let body = block_on(body.collect()).expect("whole").to_bytes();
    let sent = mem::take(&mut *sent.lock().expect("not poisoned"));
    Outcome {
        status: head.status.as_u16(),
        headers: head.headers,
        body,
        sent,
    }
}

fn response(content_type: &str, body: impl Into<Bytes>) -> Response<Full<Bytes>> {
    Response::builder()
        .header("content-type", content_type)
        .body(Full::new(body.into()))
        .expect("valid parts")
}

fn request(access: Access, headers: &[(&str, &str)], body: &str) -> Request<Full<Bytes>> {
    let mut request = Request::post("/mcp").header("content-type", "application/json");
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let body = Full::from(body.to_owned());
    request.extension(access).body(body).expect("valid parts")
}

/// Sends a message of a client with [`some_access`].
fn send(headers: &[(&str, &str)], message: &str) -> Outcome {
    let served = response(
        "application/json",
        r#"{"jsonrpc":"2.0","id":1,"result":{}}"#,
    );
    send_to(&layer(), request(some_access(), headers, message), served)
}

fn message(method: &str, params: &Value) -> String {
    json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).to_string()
}

/// Sends a call; an answer of the layer is its error.
fn call(method: &str, params: &Value) -> Result<(), Value> {
    let outcome = send(&[], &message(method, params));
    let error = outcome.json()["error"].take();
    assert_eq!(
        outcome.sent.is_empty(),
        !error.is_null(),
        "{method} {params}"
    );
    assert_eq!(outcome.status, 200, "{method} {params}");
    if error.is_null() { Ok(()) } else { Err(error) }
}

#[test]
fn the_layer_and_its_service_are_shared_between_threads() {
    fn check<T: Send + Sync + Clone + fmt::Debug>(_: &T) {}
    fn check_send<T: Send>(_: &T) {}

    let layer = layer();
    check(&layer);
    let server = service_fn(|_: Request<CheckedBody>| {
        ready(Ok::<_, Infallible>(Response::new(Full::<Bytes>::default())))
    });
    let mut service = layer.layer(server);
    check_send(&service.clone());
    check(&layer.layer(()));
    check(&Access::nothing());
    check_send(&service.call(Request::new(Full::<Bytes>::default())));
}

#[test]
fn the_layer_is_ready_when_the_server_is_and_uses_the_ready_service() {
    use tokio_test::{assert_pending, assert_ready, assert_ready_ok};
    use tower_test::mock;

    let (mut service, mut handle) =
        mock::spawn_layer::<Request<CheckedBody>, Response<Full<Bytes>>, _>(layer());
    handle.allow(0);
    assert_pending!(service.poll_ready::<Request<Full<Bytes>>>());
    handle.allow(1);
    assert_ready_ok!(service.poll_ready::<Request<Full<Bytes>>>());
    let ping = message("ping", &json!({}));
    let mut future = tokio_test::task::spawn(service.call(request(some_access(), &[], &ping)));
    assert_pending!(future.poll());
    let (passed, respond) =
        assert_ready!(tokio_test::task::spawn(handle.next_request()).poll()).expect("a request");
    assert_eq!(Bytes::from(passed.into_body()), ping);
    respond.send_response(response("application/json", "{}"));
    let answer = assert_ready_ok!(future.poll());
    assert_eq!(answer.status(), 200);
}
