use std::{
    collections::VecDeque,
    convert::Infallible,
    future::{Ready, ready},
};

use http::HeaderMap;
use http_body::{Frame, SizeHint};
use http_body_util::{BodyExt as _, Full};
use proptest::prelude::*;
use serde_json::{Value, json};
use tokio_test::{assert_pending, assert_ready, assert_ready_err, assert_ready_ok, block_on, task};
use tower::{ServiceExt as _, service_fn};
use tower_test::mock;

use super::*;
use crate::reject::{AuthFailed, SuccessFlag};

/// A body of ready frames.
#[derive(Clone, Debug, Default)]
pub(super) struct Frames {
    left: VecDeque<Result<Bytes, fmt::Error>>,
    trailers: Option<HeaderMap>,
    announced: Option<u64>,
}

impl Frames {
    pub(super) fn of(frames: impl IntoIterator<Item = &'static str>) -> Self {
        let frames = frames.into_iter().map(|frame| Ok(Bytes::from(frame)));
        Self {
            left: frames.collect(),
            ..Self::default()
        }
    }

    pub(super) fn with_trailers(mut self, trailers: HeaderMap) -> Self {
        self.trailers = Some(trailers);
        self
    }

    pub(super) fn broken(mut self) -> Self {
        self.left.push_back(Err(fmt::Error));
        self
    }
}

impl Body for Frames {
    type Data = Bytes;
    type Error = fmt::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, fmt::Error>>> {
        Poll::Ready(match self.left.pop_front() {
            Some(frame) => Some(frame.map(Frame::data)),
            None => self.trailers.take().map(Frame::trailers).map(Ok),
        })
    }

    fn size_hint(&self) -> SizeHint {
        self.announced
            .map_or_else(SizeHint::new, SizeHint::with_exact)
    }
}

pub(super) type Outcome = Response<RpcBody<Frames>>;

#[derive(Clone, Debug, PartialEq)]
struct Caller(&'static str);

/// The service of these tests.
fn serve(call: &Call) -> Reply<Frames> {
    let ready = |value: Value| Json::new(&value).map_err(|_| Error::internal_error());
    match call.method() {
        "echo" => {
            let params = call.raw_params().unwrap_or("null");
            Json::new(&serde_json::from_str::<Value>(params).expect("checked"))
                .map_err(|_| Error::internal_error())
                .into()
        }
        "about" => ready(json!({
            "notification": call.is_notification(),
            "batched": call.is_batched(),
            "caller": call.head().extensions.get::<Caller>().map(|caller| caller.0),
            "agent": call.head().headers.get("user-agent").map(|agent| agent.to_str().ok()),
        }))
        .into(),
        "add" => call
            .params::<(i64, i64)>()
            .and_then(|(a, b)| ready(json!(a + b)))
            .into(),
        "stream" => Reply::stream(Frames::of(["[1,", "2", "]"])),
        "break" => Reply::stream(Frames::of(["[1,"]).broken()),
        "login" => Reply::from(Error::internal_error().with_data("slow down"))
            .with_status(StatusCode::TOO_MANY_REQUESTS)
            .with_header(header::RETRY_AFTER, HeaderValue::from_static("60"))
            .with_extension(AuthFailed),
        _ => Error::method_not_found().into(),
    }
}

#[derive(Clone, Copy, Debug)]
struct Serve;

impl Service<Call> for Serve {
    type Response = Reply<Frames>;
    type Error = Infallible;
    type Future = Ready<Result<Reply<Frames>, Infallible>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, call: Call) -> Self::Future {
        ready(Ok(serve(&call)))
    }
}

pub(super) type Mock = mock::Mock<Call, Reply>;

pub(super) fn spawn(
    layer: JsonRpcLayer,
) -> (mock::Spawn<JsonRpc<Mock>>, mock::Handle<Call, Reply>) {
    let (mock, handle) = mock::pair();
    (mock::Spawn::new(layer.layer(mock)), handle)
}

/// The call that has reached the service.
pub(super) fn next_call(
    handle: &mut mock::Handle<Call, Reply>,
) -> (Call, mock::SendResponse<Reply>) {
    assert_ready!(task::spawn(handle.next_request()).poll()).expect("the service is there")
}

pub(super) fn full(text: impl Into<Bytes>) -> Full<Bytes> {
    Full::new(text.into())
}

pub(super) fn post<B>(body: B) -> Request<B> {
    Request::post("/").body(body).expect("static parts")
}

pub(super) fn send(dialect: Dialect, message: impl Into<Bytes>) -> Outcome {
    let service = JsonRpcLayer::new().with_dialect(dialect).layer(Serve);
    block_on(service.oneshot(post(full(message)))).expect("infallible")
}

pub(super) fn text<T: Body<Data = Bytes, Error: fmt::Debug>>(body: T) -> String {
    let whole = block_on(body.collect()).expect("a whole body").to_bytes();
    String::from_utf8(whole.to_vec()).expect("text")
}

pub(super) fn ask(dialect: Dialect, message: impl Into<Bytes>) -> String {
    text(send(dialect, message).into_body())
}

pub(super) fn error(id: &str, code: i64, message: &str, data: &str) -> String {
    let data = json!(data);
    format!(
        r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":{code},"message":"{message}","data":{data}}}}}"#
    )
}

pub(super) fn invalid(id: &str, problem: &str) -> String {
    error(id, -32600, "Invalid Request", problem)
}

#[test]
fn the_layer_and_the_service_are_send_sync_and_clone() {
    fn check<T: Send + Sync + Clone>() {}
    check::<JsonRpcLayer>();
    check::<JsonRpc<Serve>>();
    check::<Dialect>();
    check::<Call>();
    check::<Id>();
}

#[test]
fn the_futures_and_bodies_are_send() {
    fn check<T: Send>(_: T) {}
    check(JsonRpcLayer::new().layer(Serve).call(post(full("{}"))));
    check(Dialect::new().read(post(Bytes::new())).answer(Serve));
    check(RpcBody::<NoStream>::from(Bytes::new()));
}

#[test]
fn a_request_is_answered_with_its_id() {
    let cases = [
        (
            r#"{"jsonrpc":"2.0","id":1,"method":"add","params":[2,3]}"#,
            r#"{"jsonrpc":"2.0","id":1,"result":5}"#,
        ),
        (
            "\n{\"\\u006dethod\":\"\\u0061dd\",\"params\":[2,3],\"id\":\"\\u0061\\n\",\"jsonrpc\":\"\\u0032.0\",\"x\":{}}\r\n",
            r#"{"jsonrpc":"2.0","id":"\u0061\n","result":5}"#,
        ),
        (
            r#"{"jsonrpc":"2.0","id":1,"method":"gone"}"#,
            r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"Method not found"}}"#,
        ),
        (
            r#"{"jsonrpc":"2.0","id":"","method":""}"#,
            r#"{"jsonrpc":"2.0","id":"","error":{"code":-32601,"message":"Method not found"}}"#,
        ),
        (
            r#"{"jsonrpc":"2.0","id":null,"method":"echo"}"#,
            r#"{"jsonrpc":"2.0","id":null,"result":null}"#,
        ),
        (
            r#"{"jsonrpc":"2.0","id":-1.50e+3,"method":"echo","params":null}"#,
            r#"{"jsonrpc":"2.0","id":-1.50e+3,"result":null}"#,
        ),
        (
            r#"{"jsonrpc":"2.0","id":1,"method":"stream"}"#,
            r#"{"jsonrpc":"2.0","id":1,"result":[1,2]}"#,
        ),
    ];
    for (message, answer) in cases {
        let response = send(Dialect::new(), message);
        assert_eq!(response.status(), StatusCode::OK, "{message}");
        let content_type = &response.headers()["content-type"];
        assert_eq!(content_type, "application/json", "{message}");
        assert_eq!(text(response.into_body()), answer, "{message}");
    }
}

#[test]
fn an_invalid_request_is_refused_with_its_id_if_it_has_one() {
    let no_id = "`id` must be a string, a number or null";
    let cases = [
        ("7", "null", "a message must be an object"),
        ("[]", "null", "batches are not accepted"),
        (
            r#"[{"jsonrpc":"2.0","id":1,"method":"echo"}]"#,
            "null",
            "batches are not accepted",
        ),
        ("{}", "null", "`jsonrpc` is missing"),
        (r#"{"id":1,"method":"echo"}"#, "1", "`jsonrpc` is missing"),
        (
            r#"{"jsonrpc":"1.0","id":"x","method":"m"}"#,
            r#""x""#,
            "`jsonrpc` must be \"2.0\"",
        ),
        (
            r#"{"jsonrpc":2.0,"id":1,"method":"echo"}"#,
            "1",
            "`jsonrpc` must be \"2.0\"",
        ),
        (r#"{"jsonrpc":"2.0","id":1}"#, "1", "`method` is missing"),
        (r#"{"jsonrpc":"2.0"}"#, "null", "`method` is missing"),
        (
            r#"{"jsonrpc":"2.0","id":1,"method":7}"#,
            "1",
            "`method` must be a string",
        ),
        (
            r#"{"jsonrpc":"2.0","id":true,"method":"echo"}"#,
            "null",
            no_id,
        ),
        (
            r#"{"jsonrpc":"2.0","id":[1],"method":"echo"}"#,
            "null",
            no_id,
        ),
        (r#"{"jsonrpc":"2.0","id":{},"method":"m"}"#, "null", no_id),
        (
            r#"{"jsonrpc":"2.0","id":1,"result":7}"#,
            "1",
            "responses are not accepted",
        ),
        (
            r#"{"jsonrpc":"2.0","id":1,"error":{}}"#,
            "1",
            "responses are not accepted",
        ),
    ];
    for (message, id, problem) in cases {
        assert_eq!(
            ask(Dialect::new(), message),
            invalid(id, problem),
            "{message}"
        );
    }
}

#[test]
fn text_that_is_not_json_is_refused_without_an_id() {
    let cases = [
        ("", "expected a value at line 1 column 1"),
        ("{", "expected a key at line 1 column 2"),
        ("\u{feff}{}", "expected a value at line 1 column 1"),
        (
            r#"{"jsonrpc":"2.0","id":1,"method":"a","id":2}"#,
            "duplicate key in the object that ends at line 1 column 45",
        ),
    ];
    for (message, problem) in cases {
        let answer = error("null", -32700, "Parse error", problem);
        assert_eq!(ask(Dialect::new(), message), answer, "{message}");
    }
}

#[test]
fn params_of_the_wrong_type_are_refused() {
    let cases = [
        ("7", "`params` must be an object or an array"),
        (r#""add""#, "`params` must be an object or an array"),
        ("false", "`params` must be an object or an array"),
        (r#"[2,"x"]"#, "invalid type: string \"x\", expected i64"),
    ];
    for (params, problem) in cases {
        let message = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"add","params":{params}}}"#);
        let answer = error("1", -32602, "Invalid params", problem);
        assert_eq!(ask(Dialect::new(), message), answer, "{params}");
    }
}

#[test]
fn a_dialect_decides_which_messages_are_accepted() {
    let dialect = Dialect::new();
    let strict = "`id` must be a string or an integer";
    let cases = [
        (dialect.with_strict_ids(), r#"{"jsonrpc":"2.0","id":null,"method":"echo"}"#, invalid("null", strict)),
        (dialect.with_strict_ids(), r#"{"jsonrpc":"2.0","id":1.0,"method":"echo"}"#, invalid("null", strict)),
        (dialect.with_strict_ids(), r#"{"jsonrpc":"2.0","id":1e3,"method":"echo"}"#, invalid("null", strict)),
        (
            dialect.with_strict_ids(),
            r#"{"jsonrpc":"2.0","id":-7,"method":"echo"}"#,
            r#"{"jsonrpc":"2.0","id":-7,"result":null}"#.to_owned(),
        ),
        (
            dialect.with_object_params(),
            r#"{"jsonrpc":"2.0","id":1,"method":"echo","params":[]}"#,
            error("1", -32602, "Invalid params", "`params` must be an object"),
        ),
        (
            dialect.with_object_params(),
            r#"{"jsonrpc":"2.0","id":1,"method":"echo","params":null}"#,
            r#"{"jsonrpc":"2.0","id":1,"result":null}"#.to_owned(),
        ),
        (dialect.with_responses_ignored(), r#"{"jsonrpc":"2.0","id":1,"result":7}"#, String::new()),
        (dialect.with_responses_ignored(), r#"{"jsonrpc":"2.0","id":true,"error":7}"#, String::new()),
        (dialect.with_responses_ignored(), r#"{"id":1,"error":7}"#, invalid("1", "`jsonrpc` is missing")),
        (
            dialect.with_responses_ignored(),
            r#"{"jsonrpc":"2.0","id":1,"method":"echo","result":7}"#,
            r#"{"jsonrpc":"2.0","id":1,"result":null}"#.to_owned(),
        ),
        (dialect.with_responses_ignored(), r#"{"jsonrpc":"2.0","id":1}"#, invalid("1", "`method` is missing")),
        (
            dialect.with_unknown_id_omitted(),
            "7",
            r#"{"jsonrpc":"2.0","error":{"code":-32600,"message":"Invalid Request","data":"a message must be an object"}}"#.to_owned(),
        ),
        (
            dialect.with_unknown_id_omitted(),
            r#"{"id":7}"#,
            invalid("7", "`jsonrpc` is missing"),
        ),
        (
            dialect.with_max_depth(1),
            r#"{"jsonrpc":"2.0","id":1,"method":"echo","params":{}}"#,
            error("null", -32700, "Parse error", "more than 1 levels deep at line 1 column 50"),
        ),
    ];
    for (dialect, message, answer) in cases {
        assert_eq!(ask(dialect, message), answer, "{message} to {dialect:?}");
    }
}

#[test]
fn messages_without_an_answer_get_202_and_no_body() {
    let dialect = Dialect::new()
        .with_responses_ignored()
        .with_batches(Batches::new(3));
    let cases = [
        r#"{"jsonrpc":"2.0","method":"echo"}"#,
        r#"{"jsonrpc":"2.0","method":"gone"}"#,
        r#"{"jsonrpc":"2.0","method":"break"}"#,
        r#"{"jsonrpc":"2.0","method":"login"}"#,
        r#"{"jsonrpc":"2.0","method":"echo","params":7}"#,
        r#"{"jsonrpc":"2.0","id":1,"result":7}"#,
        r#"[{"jsonrpc":"2.0","method":"echo"},{"jsonrpc":"2.0","method":"gone"},{"jsonrpc":"2.0","result":1}]"#,
    ];
    for message in cases {
        let response = send(dialect, message);
        assert_eq!(response.status(), StatusCode::ACCEPTED, "{message}");
        assert!(response.headers().is_empty(), "{message}");
        assert!(response.body().is_end_stream(), "{message}");
        assert_eq!(response.body().size_hint().exact(), Some(0), "{message}");
        let failed = response.extensions().get::<AuthFailed>().is_some();
        assert_eq!(failed, message.contains("login"), "{message}");
        assert_eq!(text(response.into_body()), "", "{message}");
    }
}

#[test]
fn notifications_reach_the_service_unless_their_params_are_invalid() {
    let cases = [
        (r#"{"jsonrpc":"2.0","method":"seen","params":{}}"#, true),
        (r#"{"jsonrpc":"2.0","method":"seen","params":7}"#, false),
    ];
    for (message, is_seen) in cases {
        let (mut mock, mut handle) = spawn(JsonRpcLayer::new());
        assert_ready_ok!(mock.poll_ready::<Request<Full<Bytes>>>());
        let mut response = task::spawn(mock.call(post(full(message))));
        let polled = response.poll();
        assert_eq!(polled.is_pending(), is_seen, "{message}");
        if is_seen {
            let (call, reply) = next_call(&mut handle);
            assert!(call.is_notification() && call.id().is_none());
            reply.send_response(Error::internal_error().into());
            let response = assert_ready_ok!(response.poll());
            assert_eq!(response.status(), StatusCode::ACCEPTED);
        }
    }
}

#[test]
fn http_refusals_use_the_renderer() {
    let layer = JsonRpcLayer::new()
        .with_max_bytes(8)
        .with_render(SuccessFlag);
    let ask = |request: Request<Frames>| {
        let response = block_on(layer.layer(Serve).oneshot(request)).expect("infallible");
        let allow = response.headers().get("allow").cloned();
        (
            response.status().as_u16(),
            allow,
            text(response.into_body()),
        )
    };
    let no = |message: &str| format!(r#"{{"success":false,"error":"{message}"}}"#);

    for method in ["GET", "HEAD", "PUT", "DELETE", "OPTIONS", "post"] {
        let request = Request::builder().method(method).body(Frames::default());
        let allow = Some(HeaderValue::from_static("POST"));
        let refused = (405, allow, no("Method not allowed"));
        assert_eq!(ask(request.expect("a request")), refused, "{method}");
    }

    let announced = Frames {
        announced: Some(9),
        ..Frames::of(["{}"]).broken()
    };
    let too_large = (413, None, no("Request body too large"));
    assert_eq!(ask(post(announced)), too_large, "announced");
    assert_eq!(ask(post(Frames::of(["123456789"]))), too_large, "one frame");
    assert_eq!(
        ask(post(Frames::of(["12345", "6789"]))),
        too_large,
        "two frames"
    );

    let broken = (400, None, no("Failed to read request body"));
    assert_eq!(ask(post(Frames::of(["{}"]).broken())), broken);

    let (status, _, body) = ask(post(Frames::of(["1234", "5678"])));
    assert_eq!(
        (status, body),
        (200, invalid("null", "a message must be an object"))
    );
}

#[test]
fn a_body_of_one_frame_is_not_copied() {
    let body = Bytes::from(r#"{"jsonrpc":"2.0","id":1,"method":"echo","params":{"a":1}}"#);
    let kept = body.clone();
    let service = service_fn(move |call: Call| {
        let params = call.raw_params().expect("params").as_bytes().as_ptr_range();
        let is_inside = kept.as_ptr_range().contains(&params.start);
        ready(Ok::<_, Infallible>(Reply::<NoStream>::from(
            Json::new(&is_inside).map_err(|_| Error::internal_error()),
        )))
    });
    let service = JsonRpcLayer::new().layer(service);
    let response = block_on(service.oneshot(post(full(body)))).expect("infallible");
    assert_eq!(
        text(response.into_body()),
        r#"{"jsonrpc":"2.0","id":1,"result":true}"#
    );
}

#[test]
fn a_body_of_many_frames_is_put_together() {
    let body = Frames {
        trailers: Some(HeaderMap::new()),
        ..Frames::of([
            "",
            r#"{"jsonrpc":"2.0","#,
            "",
            r#""id":1,"#,
            r#""method":"stream"}"#,
            "",
        ])
    };
    let service = JsonRpcLayer::new().layer(Serve);
    let response = block_on(service.oneshot(post(body))).expect("infallible");
    assert_eq!(
        text(response.into_body()),
        r#"{"jsonrpc":"2.0","id":1,"result":[1,2]}"#
    );
}

#[test]
fn the_service_sees_the_head_of_the_request() {
    let mut request = post(full(r#"{"jsonrpc":"2.0","id":1,"method":"about"}"#));
    request.extensions_mut().insert(Caller("ali"));
    let agent = HeaderValue::from_static("test");
    request.headers_mut().insert(header::USER_AGENT, agent);
    let service = JsonRpcLayer::new().layer(Serve);
    let response = block_on(service.oneshot(request)).expect("infallible");
    assert_eq!(
        text(response.into_body()),
        r#"{"jsonrpc":"2.0","id":1,"result":{"agent":"test","batched":false,"caller":"ali","notification":false}}"#
    );
}

#[test]
fn a_reply_may_have_a_status_headers_and_extensions() {
    let response = send(
        Dialect::new(),
        r#"{"jsonrpc":"2.0","id":1,"method":"login"}"#,
    );
    assert_eq!(response.status(), StatusCode::TOO_MANY_REQUESTS);
    assert_eq!(response.headers()["retry-after"], "60");
    assert_eq!(response.headers()["content-type"], "application/json");
    assert!(response.extensions().get::<AuthFailed>().is_some());
    assert_eq!(
        text(response.into_body()),
        error("1", -32603, "Internal error", "slow down")
    );
}

#[test]
fn the_status_of_errors_can_be_set_but_not_over_that_of_a_reply() {
    let dialect = Dialect::new().with_error_status(|error| match error.code() {
        Error::METHOD_NOT_FOUND => StatusCode::NOT_FOUND,
        _ => StatusCode::BAD_REQUEST,
    });
    let cases = [
        (r#"{"jsonrpc":"2.0","id":1,"method":"gone"}"#, 404),
        (r#"{"jsonrpc":"2.0","id":1,"method":"add"}"#, 400),
        ("{", 400),
        ("[]", 400),
        (r#"{"jsonrpc":"2.0","id":1,"method":"login"}"#, 429),
        (r#"{"jsonrpc":"2.0","id":1,"method":"echo"}"#, 200),
        (r#"{"jsonrpc":"2.0","method":"gone"}"#, 202),
    ];
    for (message, status) in cases {
        assert_eq!(send(dialect, message).status(), status, "{message}");
    }
}

#[test]
fn readiness_is_that_of_the_service() {
    let (mut mock, mut handle) = spawn(JsonRpcLayer::new());
    handle.allow(0);
    assert_pending!(mock.poll_ready::<Request<Full<Bytes>>>());
    handle.allow(1);
    assert!(mock.is_woken());
    assert_ready_ok!(mock.poll_ready::<Request<Full<Bytes>>>());
}

#[test]
fn the_service_that_was_ready_is_the_one_that_is_called() {
    let (mut mock, mut handle) = spawn(JsonRpcLayer::new());
    handle.allow(1);
    assert_ready_ok!(mock.poll_ready::<Request<Full<Bytes>>>());
    // From now on only the service that is ready already can be called.
    handle.allow(0);
    let message = r#"{"jsonrpc":"2.0","id":1,"method":"m"}"#;
    let mut response = task::spawn(mock.call(post(full(message))));
    assert_pending!(response.poll());
    let (_, reply) = next_call(&mut handle);
    reply.send_response(Error::method_not_found().into());
    assert_ready_ok!(response.poll());
}

#[test]
fn a_message_may_be_answered_by_a_service_that_is_not_ready_yet() {
    let (mock, mut handle) = mock::pair::<Call, Reply>();
    handle.allow(0);
    let message = Bytes::from(r#"{"jsonrpc":"2.0","id":1,"method":"m"}"#);
    let mut answer = task::spawn(Dialect::new().read(Request::new(message)).answer(mock));
    assert_pending!(answer.poll());
    handle.allow(1);
    assert!(answer.is_woken());
    assert_pending!(answer.poll());
    let (_, reply) = next_call(&mut handle);
    reply.send_response(Error::method_not_found().into());
    let answer = assert_ready_ok!(answer.poll());
    assert!(answer.into_body().is_some());
}

#[test]
fn an_error_of_the_service_is_passed_on() {
    let call = r#"{"jsonrpc":"2.0","id":1,"method":"m"}"#;
    let layer = JsonRpcLayer::new().with_dialect(Dialect::new().with_batches(Batches::new(2)));
    for message in [call.to_owned(), format!("[{call},{call}]")] {
        let (mut mock, mut handle) = spawn(layer);
        assert_ready_ok!(mock.poll_ready::<Request<Full<Bytes>>>());
        let mut response = task::spawn(mock.call(post(full(message.clone()))));
        assert_pending!(response.poll());
        let (_, reply) = next_call(&mut handle);
        reply.send_error("out of order");
        let error = assert_ready_err!(response.poll());
        assert_eq!(error.to_string(), "out of order", "{message}");
    }
}

#[test]
fn a_dialect_may_depend_on_the_head_of_the_request() {
    let layer = JsonRpcLayer::new().with_dialect_of(|head| {
        if head.headers.contains_key("x-old") {
            Dialect::new().with_batches(Batches::new(2))
        } else {
            Dialect::new().with_unknown_id_omitted()
        }
    });
    let batch = format!("[{0}]", r#"{"jsonrpc":"2.0","id":1,"method":"gone"}"#);
    for (is_old, expected) in [(true, "[{"), (false, r#"{"jsonrpc":"2.0","error""#)] {
        let mut request = post(full(batch.clone()));
        if is_old {
            let yes = HeaderValue::from_static("yes");
            request.headers_mut().insert("x-old", yes);
        }
        let response = block_on(layer.layer(Serve).oneshot(request)).expect("infallible");
        let answer = text(response.into_body());
        assert!(answer.starts_with(expected), "{answer}");
    }
}

#[test]
fn neither_params_nor_headers_show_in_debug_output() {
    let mut request = Request::new(Bytes::from(
        r#"{"jsonrpc":"2.0","id":1,"method":"login","params":{"password":"secret"}}"#,
    ));
    let token = HeaderValue::from_static("secret");
    request.headers_mut().insert(header::AUTHORIZATION, token);
    let shown = format!("{:?}", Dialect::new().read(request));
    assert!(
        shown.contains("login") && !shown.contains("secret"),
        "{shown}"
    );
    let reply: Reply = Json::new("secret").expect("JSON").into();
    assert!(!format!("{reply:?}").contains("secret"));
}

proptest! {
    #[test]
    fn the_id_of_an_answer_is_that_of_the_call_byte_for_byte(
        id in prop_oneof![
            "-?(0|[1-9][0-9]{0,400})(\\.[0-9]{1,9})?([eE][+-]?[0-9]{1,3})?",
            "\"([a-zé ]|\\\\[nt/\"]|\\\\u00[0-9a-f]{2}){0,60}\"",
        ],
        method in "gone|echo|stream",
    ) {
        let message = format!(r#"{{"method":"{method}","id": {id} ,"jsonrpc":"2.0"}}"#);
        let answer = ask(Dialect::new(), message);
        let opening = format!(r#"{{"jsonrpc":"2.0","id":{id},"#);
        prop_assert!(answer.starts_with(&opening), "{answer}");
        prop_assert!(serde_json::from_str::<Box<serde_json::value::RawValue>>(&answer).is_ok());
    }

    #[test]
    fn the_answer_to_any_bytes_is_json_or_empty(message: Vec<u8>) {
        let answer = ask(Dialect::new().with_batches(Batches::new(4)), message);
        prop_assert!(answer.is_empty() || serde_json::from_str::<Value>(&answer).is_ok());
    }

    #[test]
    fn a_message_of_any_members_is_answered_or_needs_no_answer(
        members in prop::collection::vec((
            prop::sample::select(vec!["jsonrpc", "id", "method", "params", "result", "x"]),
            prop::sample::select(vec!["\"2.0\"", "1", "null", "{}", "[1]", "true", "\"stream\""]),
        ), 0..6),
        is_batch: bool,
    ) {
        let members: Vec<_> = members.iter().map(|(key, value)| format!("\"{key}\":{value}")).collect();
        let message = format!("{{{}}}", members.join(","));
        let message = if is_batch { format!("[{message},{message}]") } else { message };
        let response = send(Dialect::new().with_batches(Batches::new(4)), message);
        let is_silent = response.status() == StatusCode::ACCEPTED;
        let answer = text(response.into_body());
        prop_assert_eq!(answer.is_empty(), is_silent);
        prop_assert!(is_silent || serde_json::from_str::<Value>(&answer).is_ok(), "{answer}");
    }
}
