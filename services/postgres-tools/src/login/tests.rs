use std::convert::Infallible;

use futures_util::{StreamExt as _, stream};
use http_body_util::{BodyExt as _, Full, StreamBody};
use tower::{ServiceBuilder, ServiceExt as _, service_fn};
use ziggurat_layers::{
    bearer::TokenHash,
    json_rpc::{Call, Json, JsonRpcLayer, Reply},
};
use ziggurat_tokens::Holder;

use super::*;

const LOGIN: &str = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"authenticate_user","arguments":{}}}"#;
const PING: &str = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;

/// Sends a request through the layer to a service that answers with the name of the method.
async fn send<B>(layer: LoginLayer, request: Request<B>) -> (u16, String)
where
    B: Body<Data = Bytes, Error: Into<BoxError>>,
{
    let methods = service_fn(|call: Call| async move {
        let reply = Json::new(call.method()).expect("text");
        Ok::<Reply, Infallible>(reply.into())
    });
    let service = ServiceBuilder::new()
        .layer(layer)
        .layer(JsonRpcLayer::new().with_dialect(mcp::dialect()))
        .service(methods);
    let response = service.oneshot(request).await.expect("infallible");
    let status = response.status().as_u16();
    if status == 401 {
        assert_eq!(response.headers()["www-authenticate"], "Bearer");
    }
    let body = response.into_body().collect().await.expect("whole");
    let body = String::from_utf8(body.to_bytes().into()).expect("text");
    (status, body)
}

fn post(message: &str) -> Request<Full<Bytes>> {
    let body = Full::from(message.to_owned());
    Request::post("/mcp/v1").body(body).expect("static parts")
}

fn refused() -> (u16, String) {
    let body = r#"{"error":"Missing Authorization header"}"#;
    (401, body.to_owned())
}

fn known() -> Identity {
    let (id, database) = ("token-1".into(), None);
    let holder = Holder::Program { id, database };
    Identity::new(TokenHash::of("token"), holder)
}

#[tokio::test]
async fn a_login_passes_without_a_token() {
    let escaped = LOGIN.replace("user", r"\u0075ser");
    for message in [LOGIN, &escaped, &LOGIN.replace('1', "null")] {
        let (status, body) = send(LoginLayer::new(), post(message)).await;
        assert_eq!(status, 200, "{message}");
        assert!(body.contains(r#""result":"tools/call""#), "{body}");
    }
}

#[tokio::test]
async fn everything_else_is_refused_as_if_it_had_not_been_read() {
    let name = "authenticate_user";
    let twice = LOGIN.replace(r#""arguments":{}"#, r#""name":"query_database""#);
    let messages = [
        PING.to_owned(),
        LOGIN.replace("tools/call", "tools/list"),
        LOGIN.replace("tools/call", "prompts/get"),
        LOGIN.replace(r#""id":1,"#, ""),
        LOGIN.replace(name, "query_database"),
        LOGIN.replace(name, "Authenticate_User"),
        LOGIN.replace(name, "authenticate_user "),
        LOGIN.replace(r#""authenticate_user""#, r#"["authenticate_user"]"#),
        LOGIN.replace(r#""name":"authenticate_user","#, ""),
        LOGIN.replace(r#""2.0""#, r#""1.0""#),
        r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":["authenticate_user"]}"#.into(),
        r#"{"jsonrpc":"2.0","id":1,"method":"tools/call"}"#.into(),
        twice,
        format!("[{LOGIN}]"),
        format!("{LOGIN}{PING}"),
        format!("{LOGIN}{}", " ".repeat(MAX_BYTES)),
        "no JSON".to_owned(),
        String::new(),
    ];
    for message in messages {
        let answer = send(LoginLayer::new(), post(&message)).await;
        assert_eq!(answer, refused(), "{message:.300}");
    }
}

#[tokio::test]
async fn a_login_is_a_post() {
    for method in [Method::GET, Method::PUT, Method::DELETE] {
        let mut request = post(LOGIN);
        *request.method_mut() = method;
        assert_eq!(send(LoginLayer::new(), request).await, refused());
    }
}

#[tokio::test]
async fn a_body_that_breaks_off_or_never_ends_is_refused() {
    let frame = |text: &str| Ok(Frame::data(Bytes::from(text.to_owned())));
    let broken = stream::iter([frame(LOGIN), Err("broken")]);
    let request = Request::post("/").body(StreamBody::new(broken));
    let answer = send(LoginLayer::new(), request.expect("static parts")).await;
    assert_eq!(answer, refused());

    let endless = stream::repeat(1000)
        .map(|length| Ok::<_, &str>(Frame::data(Bytes::from(vec![b' '; length]))));
    let request = Request::post("/").body(StreamBody::new(endless));
    let answer = send(LoginLayer::new(), request.expect("static parts")).await;
    assert_eq!(answer, refused());
}

#[tokio::test]
async fn a_login_in_pieces_passes_too() {
    let pieces = LOGIN.as_bytes().chunks(7).map(Bytes::from_static);
    let pieces = stream::iter(pieces.map(Frame::data).map(Ok::<_, Infallible>));
    let request = Request::post("/").body(StreamBody::new(pieces));
    let (status, _) = send(LoginLayer::new(), request.expect("static parts")).await;
    assert_eq!(status, 200);
}

#[tokio::test]
async fn a_request_with_a_token_passes_unread() {
    let long = format!("{PING}{}", " ".repeat(MAX_BYTES));
    for (message, expected) in [
        (PING, r#""result":"ping""#),
        (&long, r#""result":"ping""#),
        ("no JSON", "-32700"),
    ] {
        let mut request = post(message);
        request.extensions_mut().insert(known());
        let (status, body) = send(LoginLayer::new(), request).await;
        assert_eq!(status, 200);
        assert!(body.contains(expected), "{body}");
    }
}

#[tokio::test]
async fn if_no_token_is_required_all_requests_pass() {
    let layer = LoginLayer::new().with_required(false);
    let (status, body) = send(layer, post(PING)).await;
    assert_eq!(status, 200);
    assert!(body.contains(r#""result":"ping""#), "{body}");
}

#[tokio::test]
async fn a_refusal_has_the_configured_challenge() {
    let challenge = Challenge::new().with_scope("mcp").expect("a scope");
    let layer = LoginLayer::new().with_challenge(&challenge);
    let unread = service_fn(|_: Request<PeekedBody<Full<Bytes>>>| async {
        Ok::<_, Infallible>(Response::new(Full::<Bytes>::default()))
    });
    for method in [Method::GET, Method::POST] {
        let mut request = post(PING);
        *request.method_mut() = method;
        let Ok(response) = layer.layer(unread).oneshot(request).await;
        assert_eq!(response.status(), 401);
        let header = &response.headers()["www-authenticate"];
        assert_eq!(header, r#"Bearer scope="mcp""#);
    }
}
