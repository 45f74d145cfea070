//! Any text of a client: a trace id that is read is a part of it, and a record has bounded texts.
#![no_main]

use std::time::Duration;

use http::{HeaderValue, Request};
use libfuzzer_sys::fuzz_target;
use ziggurat_layers::audit::{Record, TraceId};

fuzz_target!(|input: (&str, &str, &str)| {
    let (method, uri, traceparent) = input;
    let id = TraceId::from_traceparent(traceparent);
    if let Some(id) = id {
        let id = id.to_string();
        assert!(id.len() == 32 && id.bytes().any(|digit| digit != b'0'));
        assert_eq!(traceparent[3..35], id);
        assert_eq!(TraceId::from_traceparent(&format!("{traceparent} ")), None);
    }
    let Ok(value) = HeaderValue::from_str(traceparent) else {
        assert_eq!(id, None);
        return;
    };
    let request = Request::builder()
        .method(method)
        .uri(uri)
        .header("traceparent", value)
        .body(());
    if let Ok(request) = request {
        let record = Record::of(&request, Duration::ZERO);
        assert_eq!(record.trace_id(), id);
        assert!(record.path().len() <= 1024 && !record.path().contains('?'));
        assert!(record.method().as_str().len() <= 32);
    }
});
