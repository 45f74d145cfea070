//! Tests of traces from the context of a caller to the bytes that a collector gets.

mod collector;
mod comments;
mod contexts;
mod exporting;
mod sampling;
mod settings;
mod spans;

use opentelemetry_proto::tonic::{
    collector::trace::v1::ExportTraceServiceRequest,
    common::v1::{KeyValue, any_value::Value},
    trace::v1::Span,
};

use self::collector::{Answer, Collector, block_on};
use super::*;

const TRACE: &str = "4bf92f3577b34da6a3ce929d0e0e4736";
const SENT: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
const OTHER: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00";

/// Settings that record every trace.
fn everything() -> TraceSettings {
    TraceSettings {
        service_name: "ziggurat-tools".to_owned(),
        service_version: "1.2.3".to_owned(),
        service_instance: "9f3c".to_owned(),
        ratio: 1.0,
        propagate_to_providers: true,
        ..TraceSettings::default()
    }
}

/// Returns the context in `params._meta`.
fn sent(traceparent: &str) -> Incoming {
    Incoming::default().with_meta(Some(traceparent), None)
}

/// Returns the request that the exporter sends for the spans of `record`, as the crate of the
/// protocol decodes it.
fn exported(settings: TraceSettings, record: impl FnOnce(&Tracer)) -> ExportTraceServiceRequest {
    let requests = block_on(async {
        let collector = Collector::start([Answer::Ok]).await;
        let (tracer, exporter) = Tracer::new(collector.settings(settings)).expect("valid");
        record(&tracer);
        collector.serve(exporter.run(async {})).await;
        assert_eq!(tracer.dropped_spans(), 0);
        collector.requests()
    });
    assert_eq!(requests.len(), 1);
    serde_json::from_str(&requests[0].body).expect("a request of the protocol")
}

fn spans(export: &ExportTraceServiceRequest) -> &[Span] {
    &export.resource_spans[0].scope_spans[0].spans
}

fn attributes(attributes: &[KeyValue]) -> Vec<(&str, String)> {
    let text = |attribute: &KeyValue| {
        let value = attribute.value.as_ref()?.value.as_ref()?;
        match value {
            Value::StringValue(text) => Some(text.clone()),
            Value::IntValue(number) => Some(number.to_string()),
            _ => None,
        }
    };
    let attributes = attributes.iter();
    attributes
        .map(|attribute| {
            (
                &*attribute.key,
                text(attribute).expect("a text or a number"),
            )
        })
        .collect()
}

fn hex(id: &[u8]) -> String {
    use std::fmt::Write as _;

    id.iter().fold(String::new(), |mut text, byte| {
        write!(text, "{byte:02x}").expect("infallible");
        text
    })
}
