//! Traces of calls across programs: W3C Trace Context in and out, spans as OTLP/HTTP in JSON.
//!
//! A [`Tracer`] begins the span of each call below the span of its caller, and the call's [`Trace`]
//! begins the spans of its statements and providers. Each of these typed spans has only attributes
//! that may leave the program. Spans go to a bounded queue, from which the [`Exporter`] sends them;
//! it is a future that the program runs.
//!
//! The SDK of OpenTelemetry 0.33 only logs how many spans it drops, and its exporter how many the
//! collector refuses. For a metric, the queue and the export would be code of this crate anyway. The
//! rest would add 17 crates and 0.4 MB to a program; a call with a statement costs 0.1 µs here and
//! 0.3 µs there if 1 % of the traces are recorded, and 1 to 2 µs in both if all are.
//!
//! ```
//! use ziggurat_telemetry::traces::{Incoming, TraceSettings, Tracer};
//!
//! # tokio_test::block_on(async {
//! let (tracer, exporter) = Tracer::new(TraceSettings {
//!     url: "http://127.0.0.1:9/v1/traces".to_owned(),
//!     service_name: "ziggurat-tools".to_owned(),
//!     ratio: 1.0,
//!     ..TraceSettings::default()
//! })?;
//!
//! let sent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-00";
//! let incoming = Incoming::default().with_meta(Some(sent), None);
//! let mut span = tracer.begin("tools/call", incoming, false);
//! span.set_tool("query_database");
//! let trace = span.trace().clone();
//! assert_eq!(trace.id().map(|id| id.to_string()).as_deref(), sent.get(3..35));
//!
//! let mut statement = trace.statement("shop", "SELECT secret FROM t");
//! statement.set_status_code("42P01");
//! drop(statement);
//! span.set_verdict("error");
//! drop(span);
//!
//! // In a program `stop` is its shutdown. No collector is there, so that both spans are dropped.
//! exporter.run(async {}).await;
//! assert_eq!(tracer.dropped_spans(), 2);
//! # Ok::<_, Box<dyn std::error::Error>>(())
//! # }).unwrap();
//! ```

mod comment;
mod export;
mod id;
mod parent;
mod queue;
mod record;
mod settings;
mod span;
mod tracer;

pub use self::{
    comment::SqlComment,
    export::Exporter,
    id::{SpanId, TraceId},
    parent::{Incoming, TraceParent},
    settings::{ExportHeaders, InvalidExportHeader, InvalidTraceSettings, TraceSettings},
    span::{ProviderSpan, ServerSpan, StatementSpan, Transport},
    tracer::{Trace, Tracer},
};

#[cfg(test)]
mod tests;
