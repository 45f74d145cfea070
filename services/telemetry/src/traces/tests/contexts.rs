//! Tests of the contexts that callers send.

use http::{HeaderMap, HeaderName, HeaderValue};
use proptest::prelude::*;

use super::*;

/// Returns the headers of a request, with several values of one name if they are given.
fn headers(fields: &[(&'static str, &str)]) -> HeaderMap {
    let mut headers = HeaderMap::new();
    for (name, value) in fields {
        let value = HeaderValue::from_bytes(value.as_bytes()).expect("a value");
        headers.append(HeaderName::from_static(name), value);
    }
    headers
}

/// Begins a call with these headers.
fn begun(fields: &[(&'static str, &str)]) -> Trace {
    let settings = TraceSettings {
        url: "http://127.0.0.1:9".to_owned(),
        ..everything()
    };
    let (tracer, _exporter) = Tracer::new(settings).expect("valid");
    let incoming = Incoming::default().with_headers(&headers(fields));
    tracer.begin("ping", incoming, true).trace().clone()
}

#[test]
fn a_traceparent_is_read_and_written() {
    let parent = TraceParent::parse(SENT).expect("valid");
    assert_eq!(parent.trace_id.to_string(), TRACE);
    assert_eq!(parent.span_id.to_string(), "00f067aa0ba902b7");
    assert!(parent.is_sampled);
    assert_eq!(parent.to_string(), SENT);

    let small = "00-00000000000000000000000000000001-0000000000000002-00";
    let parent = TraceParent::parse(small).expect("valid");
    assert_eq!(parent.to_string(), small);
}

#[test]
fn flags_that_are_not_known_are_not_passed_on() {
    for (flags, is_sampled) in [("00", false), ("02", false), ("03", true), ("ff", true)] {
        let text = format!("{}{flags}", &SENT[..53]);
        let parent = TraceParent::parse(&text).expect("valid");
        assert_eq!(parent.is_sampled, is_sampled, "{flags}");
        let passed_on = if is_sampled { "01" } else { "00" };
        assert_eq!(parent.to_string()[53..], *passed_on);
    }
}

#[test]
fn later_versions_are_read_by_their_first_fields() {
    for text in [
        format!("01{}", &SENT[2..]),
        format!("cc{}-what the future brings", &SENT[2..]),
        format!("fe{}-", &SENT[2..]),
    ] {
        let parent = TraceParent::parse(&text);
        assert_eq!(parent, TraceParent::parse(SENT), "{text}");
    }
}

#[test]
fn malformed_traceparents_are_ignored() {
    let rest = &SENT[2..];
    for text in [
        String::new(),
        "00".to_owned(),
        format!("ff{rest}"),
        format!("0{rest}"),
        format!("000{rest}"),
        format!("0G{rest}"),
        format!("0A{rest}"),
        format!("+0{rest}"),
        format!("{SENT}-"),
        format!("{SENT}-00"),
        format!("{SENT}0"),
        format!("{SENT} "),
        format!(" {SENT}"),
        format!("01{rest}0"),
        format!("01{rest}.0"),
        SENT.to_uppercase(),
        SENT.replace('-', "_"),
        SENT.replace("-0", "0-"),
        SENT.replace("4b", "4B"),
        SENT.replace("-01", "-1"),
        SENT.replace("-01", "-0x"),
        SENT.replace("-01", "-+1"),
        SENT.replace("4b", "ü"),
        SENT.replace("4b", " b"),
        SENT.replace(TRACE, "00000000000000000000000000000000"),
        SENT.replace("00f067aa0ba902b7", "0000000000000000"),
        SENT.replace(TRACE, &TRACE[1..]),
        SENT.replace("-00f067", "-00f06"),
        SENT[..54].to_owned(),
    ] {
        assert_eq!(TraceParent::parse(&text), None, "{text}");
        let trace = begun(&[("traceparent", text.trim()), ("tracestate", "a=1")]);
        if text.trim() != SENT {
            assert_ne!(trace.id().expect("new").to_string(), TRACE, "{text}");
            assert_eq!(trace.tracestate(), None, "{text}");
        }
    }
}

#[test]
fn several_traceparents_are_none() {
    let trace = begun(&[("traceparent", SENT), ("traceparent", SENT)]);
    assert_ne!(trace.id().expect("new").to_string(), TRACE);
}

#[test]
fn a_tracestate_is_passed_on_as_it_is() {
    let long = format!("a={}", "x".repeat(510));
    for states in [
        &["congo=t61rcWkgMzE"][..],
        &["a=1, b@c=2\t,,d=x=y"],
        &["a=1", "b=2"],
        &[&long],
    ] {
        let mut fields = vec![("traceparent", SENT)];
        fields.extend(states.iter().map(|state| ("tracestate", *state)));
        assert_eq!(begun(&fields).tracestate(), Some(&*states.join(",")));
    }
}

#[test]
fn a_tracestate_that_is_long_or_malformed_is_dropped() {
    let long = format!("a={}", "x".repeat(511));
    let many = ["a=1"; 33].join(",");
    for state in ["", " ", ",", "a", "=1", "a=1,b", "a=ü", &long, &many] {
        let trace = begun(&[("traceparent", SENT), ("tracestate", state)]);
        assert_eq!(trace.id().expect("sent").to_string(), TRACE, "{state}");
        assert_eq!(trace.tracestate(), None, "{state}");
    }
    assert_eq!(begun(&[("tracestate", "a=1")]).tracestate(), None);
}

#[test]
fn a_call_without_a_parent_begins_a_trace() {
    let (one, other) = (begun(&[]), begun(&[]));
    assert!(one.is_sampled());
    assert_ne!(one.id(), other.id());
    let text = one.id().expect("new").to_string();
    assert_eq!(text.len(), 32);
    let parent = one.traceparent().expect("new").to_string();
    assert_eq!(TraceParent::parse(&parent), one.traceparent());
    assert_eq!(parent[3..35], text);
}

proptest! {
    #[test]
    fn a_traceparent_that_is_read_is_the_one_that_was_sent(
        text in "[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}(-.*)?|.*",
    ) {
        if let Some(parent) = TraceParent::parse(&text) {
            prop_assert_eq!(&parent.to_string()[2..53], &text[2..53]);
        }
    }
}
