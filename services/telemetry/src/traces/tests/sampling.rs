//! Tests of the decision to record a trace.

use super::*;

fn tracer(ratio: f64, follow_parent: bool) -> Tracer {
    let settings = TraceSettings {
        url: "http://127.0.0.1:9".to_owned(),
        ratio,
        follow_parent,
        ..TraceSettings::default()
    };
    Tracer::new(settings).expect("valid").0
}

fn is_sampled(tracer: &Tracer, incoming: Incoming, is_authenticated: bool) -> bool {
    let span = tracer.begin("ping", incoming, is_authenticated);
    let is_sampled = span.trace().is_sampled();
    let flag = span.trace().traceparent().map(|own| own.is_sampled);
    assert_eq!(flag, Some(is_sampled));
    is_sampled
}

/// Returns a context with this lower half of the trace id.
fn with_low(low: u64, flags: &str) -> Incoming {
    sent(&format!("00-{:016x}{low:016x}-00f067aa0ba902b7-{flags}", 7))
}

fn count(calls: usize, mut is_sampled: impl FnMut() -> bool) -> usize {
    (0..calls).filter(|_| is_sampled()).count()
}

#[test]
fn the_ratio_decides_about_new_traces() {
    for (ratio, expected) in [(0.0, 0..=0), (0.01, 700..=1300), (1.0, 100_000..=100_000)] {
        let tracer = tracer(ratio, true);
        let count = count(100_000, || is_sampled(&tracer, Incoming::default(), false));
        assert!(expected.contains(&count), "{ratio}: {count}");
    }
}

#[test]
fn the_ratio_decides_the_same_about_one_trace_everywhere() {
    for (ratio, low, expected) in [
        (0.0, 0, false),
        (0.01, 0, true),
        (0.5, 0x7fff_ffff_ffff_ffff, true),
        (0.5, 0x8000_0000_0000_0000, false),
        (0.999, u64::MAX, false),
        (1.0, u64::MAX, true),
    ] {
        let tracer = tracer(ratio, false);
        for flags in ["00", "01"] {
            let is_sampled = is_sampled(&tracer, with_low(low, flags), true);
            assert_eq!(is_sampled, expected, "{ratio} {low:x}");
        }
    }
}

#[test]
fn the_decision_of_an_authenticated_caller_is_followed() {
    for ratio in [0.0, 0.5, 1.0] {
        let tracer = tracer(ratio, true);
        for low in [0, u64::MAX] {
            assert!(is_sampled(&tracer, with_low(low, "01"), true));
            assert!(!is_sampled(&tracer, with_low(low, "00"), true));
        }
    }
}

#[test]
fn an_unauthenticated_caller_decides_nothing() {
    let none = tracer(0.0, true);
    assert!(!is_sampled(&none, with_low(0, "01"), false));
    let all = tracer(1.0, true);
    assert!(is_sampled(&all, with_low(u64::MAX, "00"), false));
    // Nor by a trace id that the ratio would always choose.
    let some = tracer(0.01, true);
    let count = count(10_000, || is_sampled(&some, with_low(0, "01"), false));
    assert!((20..=300).contains(&count), "{count}");
}

#[test]
fn the_trace_is_that_of_the_caller_whether_it_is_recorded_or_not() {
    for ratio in [0.0, 1.0] {
        let span = tracer(ratio, false).begin("ping", sent(SENT), false);
        let own = span.trace().traceparent().expect("on");
        assert_eq!(own.trace_id.to_string(), TRACE);
        assert_ne!(own.span_id.to_string(), SENT[36..52]);
    }
}

#[test]
fn what_is_not_recorded_passes_the_span_of_the_call_on() {
    let tracer = tracer(0.0, true);
    let span = tracer.begin("ping", Incoming::default(), true);
    let own = span.trace().traceparent();
    assert!(own.is_some_and(|own| !own.is_sampled));
    assert_eq!(span.trace().statement("shop", "SELECT").traceparent(), own);
    assert_eq!(span.trace().provider("openai").sent(), None);
    let settings = TraceSettings {
        url: "http://127.0.0.1:9".to_owned(),
        ratio: 0.0,
        propagate_to_providers: true,
        ..TraceSettings::default()
    };
    let (tracer, _) = Tracer::new(settings).expect("valid");
    let incoming = Incoming::default().with_meta(Some(SENT), Some("a=1"));
    let span = tracer.begin("ping", incoming, false);
    let own = span.trace().traceparent().expect("on");
    let provider = span.trace().provider("openai");
    assert_eq!(provider.sent(), Some((own, Some("a=1"))));
}

#[test]
fn without_traces_nothing_has_an_id() {
    let tracer = Tracer::off();
    assert!(!tracer.is_on());
    let mut span = tracer.begin("ping", sent(SENT), true);
    span.set_tool("x");
    span.set_error("x");
    let trace = span.trace();
    assert_eq!((trace.id(), trace.tracestate()), (None, None));
    assert!(!trace.is_sampled());
    assert_eq!(trace.statement("shop", "SELECT").traceparent(), None);
    assert_eq!(trace.provider("openai").sent(), None);
    assert_eq!(tracer.dropped_spans(), 0);
    assert_eq!(Trace::off().id(), None);
}
