//! Any bytes: read without a panic, refused where `serde_json` refuses, ids kept to the digit.
#![no_main]

use bytes::Bytes;
use http::Request;
use libfuzzer_sys::fuzz_target;
use serde_json::value::RawValue;
use ziggurat_layers::json_rpc::{Batches, Dialect, Error, Incoming};

fuzz_target!(|bytes: &[u8]| {
    for dialect in [
        Dialect::new(),
        Dialect::new().with_strict_ids().with_object_params(),
        Dialect::new()
            .with_batches(Batches::new(8))
            .with_responses_ignored(),
    ] {
        let message = Request::new(Bytes::copy_from_slice(bytes));
        let is_json = serde_json::from_slice::<&RawValue>(bytes).is_ok();
        match dialect.read(message) {
            Incoming::Call(call) => {
                assert!(is_json);
                let text = str::from_utf8(bytes).expect("JSON is text");
                if let Some(id) = call.id() {
                    assert!(text.contains(id.as_json()));
                }
                if let Some(params) = call.raw_params() {
                    assert!(text.contains(params));
                    let _ = call.params::<serde_json::Value>();
                }
            }
            Incoming::Batch(batch) => assert!(is_json && (1..=8).contains(&batch.len())),
            Incoming::Refused(refusal) => {
                // `serde_json` limits neither depth nor duplicate keys like we do.
                assert!(is_json || refusal.error().code() == Error::PARSE_ERROR);
            }
            Incoming::Ignored => assert!(is_json),
        }
    }
});
