use std::{fmt, pin::pin};

use http::{HeaderMap, HeaderName, HeaderValue, Request};
use http_body::Body;
use http_body_util::{BodyExt as _, Full};
use serde_json::json;
use tokio_test::block_on;

use super::*;
use crate::json_rpc::{
    Dialect, Incoming, Json, NoStream,
    tests::{Frames, text},
};

/// The frames of a body, trailers as `None`.
fn frames<T: Body<Data = Bytes, Error: fmt::Debug>>(body: T) -> Vec<Option<Bytes>> {
    let mut body = pin!(body);
    let mut frames = Vec::new();
    let mut announced = body.size_hint().exact();
    while let Some(frame) = block_on(body.frame()) {
        assert!(
            frames.is_empty() || !frames.contains(&None),
            "trailers are last"
        );
        let data = frame.expect("a frame").into_data().ok();
        let length = data.as_ref().map_or(0, Bytes::len);
        let size = u64::try_from(length).expect("a size") + body.size_hint().lower();
        assert!(announced.is_none_or(|announced| announced == size));
        announced = body.size_hint().exact();
        frames.push(data);
    }
    assert!(body.is_end_stream());
    assert_eq!(body.size_hint().exact(), Some(0));
    frames
}

fn envelope(message: &str) -> Envelope {
    match Dialect::new().read(Request::new(Bytes::from(message.to_owned()))) {
        Incoming::Call(call) => call.envelope(),
        other => panic!("{other:?}"),
    }
}

fn wrap<T>(id: &str, reply: Reply<T>) -> RpcBody<T> {
    let message = format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"m"}}"#);
    envelope(&message).wrap(reply).into_body().expect("a body")
}

#[test]
fn a_ready_result_is_one_frame_and_its_text_is_written_once() {
    for id in ["1", "null", &format!("\"{}\"", "x".repeat(38))] {
        let result = Json::new("a result").expect("JSON");
        let place = result.as_bytes().as_ptr();
        let body: RpcBody<NoStream> = wrap(id, result.into());
        let size = body.size_hint().exact();
        let frames = frames(body);
        let [Some(frame)] = &frames[..] else {
            panic!("one frame: {frames:?}");
        };
        assert_eq!(
            frame,
            &format!(r#"{{"jsonrpc":"2.0","id":{id},"result":"a result"}}"#)
        );
        assert_eq!(size, u64::try_from(frame.len()).ok());
        assert!(
            frame.as_ptr_range().contains(&place),
            "the buffer is the same"
        );
    }
}

#[test]
fn a_ready_result_under_a_long_id_is_not_copied_either() {
    let id = format!("\"{}\"", "x".repeat(39));
    let result = Json::new("a result").expect("JSON");
    let place = result.as_bytes().as_ptr();
    let body: RpcBody<NoStream> = wrap(&id, result.into());
    let whole = format!(r#"{{"jsonrpc":"2.0","id":{id},"result":"a result"}}"#);
    assert_eq!(body.size_hint().exact(), u64::try_from(whole.len()).ok());
    let frames = frames(body);
    let [Some(opening), Some(rest)] = &frames[..] else {
        panic!("two frames: {frames:?}");
    };
    assert_eq!([&opening[..], rest].concat(), whole.as_bytes());
    assert_eq!(rest.as_ptr(), place);
}

#[test]
fn a_streamed_result_passes_through_without_a_copy() {
    let result = Bytes::from(String::from(r#"{"rows":[1,2,3]}"#));
    let body = wrap("7", Reply::stream(Full::new(result.clone())));
    let around = r#"{"jsonrpc":"2.0","id":7,"result":}"#.len();
    assert_eq!(
        body.size_hint().exact(),
        u64::try_from(around + result.len()).ok()
    );
    assert!(!body.is_end_stream());
    let frames = frames(body);
    let [Some(opening), Some(middle), Some(end)] = &frames[..] else {
        panic!("three frames: {frames:?}");
    };
    assert_eq!(opening, r#"{"jsonrpc":"2.0","id":7,"result":"#);
    assert_eq!(middle.as_ptr(), result.as_ptr());
    assert_eq!(end, "}");
}

#[test]
fn a_streamed_result_of_unknown_size_has_a_body_of_unknown_size() {
    let body = wrap("7", Reply::stream(Frames::of(["1"])));
    assert_eq!(body.size_hint().exact(), None);
    assert_eq!(body.size_hint().lower(), 34);
}

#[test]
fn the_trailers_of_a_streamed_result_follow_the_envelope() {
    let trailers = HeaderMap::from_iter([(
        HeaderName::from_static("digest"),
        HeaderValue::from_static("x"),
    )]);
    let result = Frames::of(["[]"]).with_trailers(trailers.clone());
    let collected = block_on(wrap("7", Reply::stream(result.clone())).collect()).expect("a body");
    assert_eq!(collected.trailers(), Some(&trailers));
    assert_eq!(
        collected.to_bytes(),
        r#"{"jsonrpc":"2.0","id":7,"result":[]}"#
    );
    assert_eq!(frames(wrap("7", Reply::stream(result))).len(), 4);
}

#[test]
fn a_streamed_result_that_breaks_off_breaks_the_body_off() {
    let mut body = pin!(wrap("7", Reply::stream(Frames::of(["["]).broken())));
    let mut next = || block_on(body.frame()).map(|frame| frame.map(|_| ()));
    assert_eq!(next(), Some(Ok(())), "the opening");
    assert_eq!(next(), Some(Ok(())), "the first frame");
    assert_eq!(next(), Some(Err(fmt::Error)));
    assert_eq!(next(), None);
}

#[test]
fn an_error_has_only_the_members_it_was_given() {
    let error = Error::new(-32022, "say \"no\"\n").with_data(json!({"supported": ["a"]}));
    let body: RpcBody<NoStream> = wrap("1", error.into());
    assert_eq!(
        text(body),
        r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32022,"message":"say \"no\"\n","data":{"supported":["a"]}}}"#
    );
    let unspeakable = std::collections::HashMap::from([((1, 2), 3)]);
    assert!(Json::new(&unspeakable).is_err());
    assert_eq!(Error::internal_error().with_data(unspeakable).data(), None);
}
