//! Tests of the export with collectors that work, fail, hang and are not there.

use std::{future::pending, time::Duration};

use serde_json::Value;
use tokio::time;
use ziggurat_runtime::logs::captured::Captured;

use super::{
    queue::{BATCH, Queue},
    record::Record,
    *,
};

/// Records this number of spans.
fn record_spans(tracer: &Tracer, count: usize) {
    for _ in 0..count {
        drop(tracer.begin("ping", Incoming::default(), false));
    }
}

/// Exports this number of spans at the end of the program, and returns the requests with the number
/// of spans that were dropped.
fn export(answers: &[Answer], settings: TraceSettings, count: usize) -> (Vec<usize>, u64) {
    block_on(async {
        let collector = Collector::start(answers.iter().copied()).await;
        let (tracer, exporter) = Tracer::new(collector.settings(settings)).expect("valid");
        record_spans(&tracer, count);
        collector.serve(exporter.run(async {})).await;
        (counts(&collector), tracer.dropped_spans())
    })
}

/// Returns the number of spans in each request.
fn counts(collector: &Collector) -> Vec<usize> {
    let requests = collector.requests();
    let count = |request: &collector::Request| {
        let export = serde_json::from_str(&request.body).expect("valid");
        spans(&export).len()
    };
    requests.iter().map(count).collect()
}

fn with_timeout(timeout: Duration) -> TraceSettings {
    TraceSettings {
        timeout,
        ..everything()
    }
}

#[test]
fn a_request_is_the_json_of_the_protocol_with_the_header_fields() {
    let request = block_on(async {
        let collector = Collector::start([Answer::Ok]).await;
        let settings = TraceSettings {
            headers: "Authorization: Bearer x\nx-tenant: 7"
                .parse()
                .expect("valid"),
            ..collector.settings(everything())
        };
        let (tracer, exporter) = Tracer::new(settings).expect("valid");
        let mut call = tracer.begin("ping", sent(SENT), false);
        call.set_rows(u64::MAX);
        call.set_error("-32603");
        drop(call);
        collector.serve(exporter.run(async {})).await;
        collector.requests().remove(0)
    });
    let head = request.head.to_lowercase();
    assert!(head.starts_with("post /v1/traces http/1.1\r\n"), "{head}");
    for field in [
        "content-type: application/json",
        "authorization: bearer x",
        "x-tenant: 7",
    ] {
        assert!(head.contains(field), "{field}: {head}");
    }
    let body: Value = serde_json::from_str(&request.body).expect("JSON");
    let mut span = body["resourceSpans"][0]["scopeSpans"][0]["spans"][0].clone();
    for key in ["spanId", "startTimeUnixNano", "endTimeUnixNano"] {
        let value = span[key].take();
        assert!(
            value.as_str().is_some_and(|text| text.len() > 15),
            "{key}: {value}"
        );
    }
    let expected = serde_json::json!({
        "traceId": TRACE,
        "spanId": null,
        "parentSpanId": "00f067aa0ba902b7",
        "name": "ping",
        "kind": 2,
        "startTimeUnixNano": null,
        "endTimeUnixNano": null,
        "attributes": [
            {"key": "ziggurat.rows", "value": {"intValue": "9223372036854775807"}},
            {"key": "error.type", "value": {"stringValue": "-32603"}},
        ],
        "status": {"code": 2},
    });
    assert_eq!(span, expected);
}

#[test]
fn a_full_queue_drops_spans_and_counts_them() {
    let settings = TraceSettings {
        queue: 10,
        ..everything()
    };
    assert_eq!(export(&[Answer::Ok], settings, 25), (vec![10], 15));
}

#[test]
fn all_that_waits_is_exported_at_the_end_in_batches() {
    assert_eq!(
        export(&[Answer::Ok], everything(), 1100),
        (vec![512, 512, 76], 0)
    );
    assert_eq!(export(&[Answer::Ok], everything(), 0), (vec![], 0));
}

#[test]
fn a_full_batch_or_the_end_wakes_the_exporter() {
    let record = || {
        let own = TraceParent::parse(SENT).expect("valid");
        Box::new(Record::new(record::SERVER, "ping".to_owned(), own, 0))
    };
    for capacity in [10, BATCH, 2048] {
        let queue = Queue::new(capacity);
        let mut waiting = tokio_test::task::spawn(queue.filled());
        for _ in 1..capacity.min(BATCH) {
            queue.push(record());
            tokio_test::assert_pending!(waiting.poll());
        }
        queue.push(record());
        assert!(waiting.is_woken(), "{capacity}");
        tokio_test::assert_ready!(waiting.poll());
        // One that has not waited yet does not wait.
        tokio_test::assert_ready!(tokio_test::task::spawn(queue.filled()).poll());
    }
    let queue = Queue::new(10);
    let mut waiting = tokio_test::task::spawn(queue.filled());
    tokio_test::assert_pending!(waiting.poll());
    queue.close();
    assert!(waiting.is_woken());
    tokio_test::assert_ready!(waiting.poll());
}

#[test]
fn a_batch_that_is_being_sent_at_the_end_is_not_lost() {
    block_on(async {
        let again = Answer::With("503 Service Unavailable", "", "");
        let collector = Collector::start([again, Answer::Ok]).await;
        let (tracer, exporter) = Tracer::new(collector.settings(everything())).expect("valid");
        record_spans(&tracer, 520);
        collector.serve(exporter.run(collector.arrival())).await;
        assert_eq!(counts(&collector), [512, 512, 8]);
        assert_eq!(tracer.dropped_spans(), 0);
    });
}

#[test]
fn a_span_waits_for_others_for_seconds_only() {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .start_paused(true)
        .build()
        .expect("a runtime");
    runtime.block_on(async {
        // With a paused clock no collector answers in time, so that the span counts as dropped.
        let collector = Collector::start([Answer::Hang]).await;
        let (tracer, exporter) = Tracer::new(collector.settings(everything())).expect("valid");
        record_spans(&tracer, 1);
        let dropped = async {
            time::sleep(Duration::from_secs(4)).await;
            let early = tracer.dropped_spans();
            time::sleep(Duration::from_mins(1)).await;
            (early, tracer.dropped_spans())
        };
        tokio::select! {
            () = exporter.run(pending()) => panic!("it runs"),
            () = collector.serve(pending()) => panic!("it serves"),
            dropped = dropped => assert_eq!(dropped, (0, 1)),
        }
    });
}

#[test]
fn a_batch_is_sent_again_while_the_collector_asks_for_it() {
    for status in [
        "429 Too Many Requests",
        "502 Bad Gateway",
        "503 Service Unavailable",
        "504 Gateway Timeout",
    ] {
        let again = Answer::With(status, "retry-after: 0\r\n", "");
        let exported = export(&[again, Answer::Ok], everything(), 3);
        assert_eq!(exported, (vec![3, 3], 0), "{status}");
    }
}

#[test]
fn a_batch_that_is_refused_is_dropped_and_counted() {
    for status in [
        "400 Bad Request",
        "401 Unauthorized",
        "500 Internal Server Error",
    ] {
        let refused = Answer::With(status, "", "{}");
        assert_eq!(
            export(&[refused], everything(), 3),
            (vec![3], 3),
            "{status}"
        );
    }
}

#[test]
fn a_redirect_is_not_followed() {
    let redirect = Answer::With("307 Temporary Redirect", "location: /elsewhere\r\n", "");
    assert_eq!(
        export(&[redirect, Answer::Ok], everything(), 3),
        (vec![3], 3)
    );
}

#[test]
fn a_collector_that_asks_for_more_time_than_there_is_gets_no_second_request() {
    let later = Answer::With("503 Service Unavailable", "retry-after: 3600\r\n", "");
    // Longer than the test may last, so that the batch is given up at once.
    let settings = with_timeout(Duration::from_mins(30));
    assert_eq!(export(&[later, Answer::Ok], settings, 3), (vec![3], 3));
}

#[test]
fn a_collector_that_is_never_ready_is_given_up_after_the_timeout() {
    let never = Answer::With("503 Service Unavailable", "", "");
    let (requests, dropped) = export(&[never], with_timeout(Duration::from_millis(400)), 3);
    assert!((1..=4).contains(&requests.len()), "{requests:?}");
    assert_eq!(dropped, 3);
}

#[test]
fn a_collector_that_hangs_costs_all_spans_and_no_more_than_the_timeout() {
    let (requests, dropped) = export(
        &[Answer::Hang],
        with_timeout(Duration::from_millis(50)),
        600,
    );
    assert!(requests.len() <= 1);
    assert_eq!(dropped, 600);
}

#[test]
fn spans_that_the_collector_refuses_are_counted() {
    for (body, refused) in [
        (
            r#"{"partialSuccess":{"rejectedSpans":"2","errorMessage":"x"}}"#,
            2,
        ),
        (r#"{"partialSuccess":{"rejectedSpans":2}}"#, 2),
        (r#"{"partialSuccess":{"errorMessage":"a warning"}}"#, 0),
        (r#"{"partialSuccess":null}"#, 0),
        ("{}", 0),
        ("", 0),
        ("not JSON", 0),
    ] {
        let answer = Answer::With("200 OK", "", body);
        assert_eq!(
            export(&[answer], everything(), 3),
            (vec![3], refused),
            "{body}"
        );
    }
}

#[test]
fn spans_after_the_end_are_dropped_and_counted() {
    block_on(async {
        let collector = Collector::start([Answer::Ok]).await;
        let (tracer, exporter) = Tracer::new(collector.settings(everything())).expect("valid");
        let unfinished = tracer.begin("ping", Incoming::default(), false);
        collector.serve(exporter.run(async {})).await;
        assert_eq!(tracer.dropped_spans(), 0);
        drop(unfinished);
        assert_eq!(tracer.dropped_spans(), 1);
        assert!(collector.requests().is_empty());
    });
}

#[test]
fn failures_are_logged_once_a_minute_and_without_secrets() {
    let (log, _guard) = Captured::start();
    block_on(async {
        // The port was free a moment ago.
        let collector = Collector::start([Answer::Ok]).await;
        let url = collector.settings(everything()).url;
        drop(collector);
        let settings = TraceSettings {
            url: url.replace("//", "//user:secret@"),
            headers: "x-key: secret".parse().expect("valid"),
            ..everything()
        };
        let (tracer, exporter) = Tracer::new(settings).expect("valid");
        record_spans(&tracer, 1100);
        exporter.run(async {}).await;
        assert_eq!(tracer.dropped_spans(), 1100);
    });
    let lines = log.lines();
    assert_eq!(lines.len(), 1, "{lines:?}");
    assert!(lines[0].contains("spans were not exported"), "{lines:?}");
    assert!(
        lines[0].contains("the collector was not reached"),
        "{lines:?}"
    );
    assert!(!lines[0].contains("secret"), "{lines:?}");
}

#[test]
fn tracers_and_spans_go_between_threads() {
    fn goes<T: Send + Sync + 'static>() {}
    fn sends<T: Send>(_: &T) {}

    goes::<Tracer>();
    goes::<Trace>();
    goes::<ServerSpan>();
    goes::<StatementSpan>();
    let settings = TraceSettings {
        url: "http://127.0.0.1:9".to_owned(),
        ..everything()
    };
    let (_, exporter) = Tracer::new(settings).expect("valid");
    sends(&exporter.run(async {}));
}
