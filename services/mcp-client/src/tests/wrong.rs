//! Wrong answers over HTTP.

use std::io;

use futures_util::stream;
use http::StatusCode;
use http_body::Frame;
use http_body_util::{BodyExt as _, StreamBody};
use serde_json::json;

use super::{doubles::*, *};
use ziggurat_mcp::protocol::Revision;

const LIST: &str = r#"{"jsonrpc":"2.0","id":2,"result":{"tools":[]}}"#;

/// Statuses and bodies that are no list of tools, and a part of the error.
const WRONG: &[(u16, &str, &str)] = &[
    (
        200,
        "not json",
        "not valid: expected ident at line 1 column 2 in `not json`",
    ),
    (200, "", "the HTTP status 200 OK: "),
    (202, "", "the HTTP status 202 Accepted: "),
    (200, "[]", "not valid"),
    (200, "7", "not valid"),
    (
        200,
        r#"{"jsonrpc":"2.0","id":7,"result":{}}"#,
        "another request than 2",
    ),
    (
        200,
        r#"{"jsonrpc":"2.0","id":"2","result":{}}"#,
        "another request than 2",
    ),
    (
        200,
        r#"{"jsonrpc":"2.0","result":{}}"#,
        "neither a request nor a result",
    ),
    (
        200,
        r#"{"jsonrpc":"2.0","id":2,"result":null}"#,
        "neither a request nor a result",
    ),
    (200, r#"{"id":2,"result":{}}"#, "`jsonrpc` is not \"2.0\""),
    (
        200,
        r#"{"jsonrpc":"2.0","id":2,"result":{}}"#,
        "`tools/list`: missing field",
    ),
    (
        200,
        r#"{"jsonrpc":"2.0","id":2,"result":{"tools":7}}"#,
        "`tools/list`: invalid type",
    ),
    (
        200,
        r#"{"jsonrpc":"2.0","id":2,"result":{"tools":[{"name":7}]}}"#,
        "invalid type",
    ),
    (
        200,
        r#"{"jsonrpc":"2.0","method":"notifications/x"}"#,
        "closed the connection",
    ),
    (
        500,
        "boom",
        "the HTTP status 500 Internal Server Error: boom",
    ),
    (500, LIST, "the HTTP status 500"),
    (401, "", "the HTTP status 401 Unauthorized: "),
    (
        404,
        r#"{"jsonrpc":"2.0","id":2,"error":{"code":-32601,"message":"No"}}"#,
        "-32601: No",
    ),
    (
        400,
        r#"{"jsonrpc":"2.0","error":{"code":-32700,"message":"No"}}"#,
        "-32700: No",
    ),
];

/// Lists the tools of a server that answers like this.
async fn list(
    answer: impl Fn() -> Response<TestBody> + Clone + Send + 'static,
) -> Result<Vec<ListedTool>, ClientError> {
    let (builder, _received) = scripted(move |_| answer());
    let builder = builder.with_max_bytes(1000);
    let builder = builder.with_revision(Revision::V2025_11_25);
    let client = builder.connect().await.expect("connected");
    soon(client.tools()).await
}

/// Returns a stream of events that arrives in pieces.
fn stream_of(pieces: Vec<Result<Bytes, &'static str>>) -> Response<TestBody> {
    let frames = pieces.into_iter().map(|piece| match piece {
        Ok(bytes) => Ok(Frame::data(bytes)),
        Err(problem) => Err(BoxError::from(io::Error::other(problem))),
    });
    events(StreamBody::new(stream::iter(frames)).boxed_unsync())
}

#[tokio::test]
async fn an_answer_that_is_not_one_is_an_error_that_says_so() {
    let long = format!(
        r#"{{"jsonrpc":"2.0","id":2,"result":{{"x":"{}"}}}}"#,
        "x".repeat(1000)
    );
    for (code, body, expected) in WRONG
        .iter()
        .chain(&[(200, &*long, "longer than 1000 bytes")])
    {
        let code = StatusCode::from_u16(*code).expect("a status");
        let answer = (*body).to_owned();
        let error = list(move || status(code, answer.clone())).await;
        let error = error.expect_err(body).to_string();
        assert!(error.contains(expected), "{body}: {error}");
    }
}

#[tokio::test]
async fn a_stream_that_ends_breaks_or_is_wrong_is_an_error() {
    let long = format!("data: {}", "x".repeat(2000));
    for (pieces, expected) in [
        (vec![], "closed the connection"),
        (vec![Ok("data: {\"jsonrpc\":")], "closed the connection"),
        (vec![Ok("data: "), Ok(LIST)], "closed the connection"),
        (vec![Ok("data: not json\n\n")], "expected ident"),
        (
            vec![Ok(": hello\n\n"), Err("the cable is cut")],
            "connection to the server failed",
        ),
        (vec![Ok(&*long)], "longer than 1000 bytes"),
    ] {
        let case = format!("{pieces:?}");
        let pieces: Vec<_> = pieces
            .into_iter()
            .map(|piece| piece.map(|text| Bytes::from(text.to_owned())))
            .collect();
        let error = list(move || stream_of(pieces.clone())).await;
        let error = error.expect_err(&case).to_string();
        assert!(error.contains(expected), "{case}: {error}");
    }
}

#[tokio::test]
async fn a_stream_may_arrive_in_any_two_pieces() {
    let stream = format!("id: 1\ndata:\n\nevent: message\r\ndata: {LIST}\r\n\r\n");
    for position in 0..=stream.len() {
        let (first, second) = stream.split_at(position);
        let pieces = [first, second].map(|piece| Ok(Bytes::from(piece.to_owned())));
        let list = list(move || stream_of(pieces.to_vec())).await;
        assert!(list.expect("a list").is_empty(), "{position}");
    }
}

#[tokio::test]
async fn the_cause_of_a_failed_connection_is_kept() {
    use std::error::Error as _;

    let refused = tower::service_fn(async |_: Request<RequestBody>| {
        Err::<Response<TestBody>, _>(io::Error::other("the cable is cut"))
    });
    let client = Client::service("http://localhost/", refused)
        .connect()
        .await;
    let error = client.expect_err("no server");
    assert_eq!(error.to_string(), "the connection to the server failed");
    let source = error.source().expect("a cause").to_string();
    assert_eq!(source, "the cable is cut");
}

#[tokio::test]
async fn bad_addresses_tokens_and_arguments_are_refused_before_anything_is_sent() {
    for (address, problem) in [
        ("", "is invalid"),
        ("a b", "is invalid"),
        ("/mcp", "does not begin with `http://`"),
        ("ftp://a/", "does not begin with `http://`"),
        ("https://a/", "needs TLS"),
    ] {
        let error = Client::http(address).connect().await.expect_err(address);
        assert!(error.to_string().contains(problem), "{address}: {error}");
    }
    let client = over_http(mcp().0).with_bearer("a\nb").connect().await;
    let error = client.expect_err("a line feed").to_string();
    assert!(error.contains("the bearer token"), "{error}");

    let client = over_http(mcp().0).connect().await.expect("connected");
    for arguments in [json!([1]), json!("a"), json!(7)] {
        let error = client.call("echo", &arguments).await;
        let error = error.expect_err("not an object").to_string();
        assert!(
            error.starts_with("the arguments are not an object"),
            "{error}"
        );
    }
}
