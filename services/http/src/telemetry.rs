//! Settings of metrics and traces, which all servers have.

use std::{fs, io, path::PathBuf, process, str::FromStr, time::Duration};

use thiserror::Error;
use tokio::{sync::oneshot, task::JoinSet, time};
use ziggurat_runtime::{Address, config::Section};
use ziggurat_telemetry::{
    Metrics,
    traces::{ExportHeaders, InvalidExportHeader, InvalidTraceSettings, TraceSettings, Tracer},
};

/// Limit on the spans that wait for their export.
const MAX_QUEUE: usize = 1 << 20;

/// Limit on the size of the file of header fields.
const MAX_HEADERS: u64 = 64 << 10;

/// The section `telemetry` of a configuration.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TelemetrySettings {
    /// Address of the page of metrics, if there is one.
    pub metrics_address: Option<Address>,
    /// Settings of traces, if they are exported.
    pub otlp: Option<OtlpSettings>,
    /// True if providers of models get the context of traces.
    pub propagate_to_providers: bool,
}

/// Export of traces to a collector.
#[derive(Clone, Debug, PartialEq)]
pub struct OtlpSettings {
    url: String,
    headers_file: Option<PathBuf>,
    ratio: f64,
    parent: bool,
    timeout: Duration,
    queue: usize,
}

/// Kind of the comments in statements.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SqlCommentKind {
    /// No comment.
    #[default]
    Off,
    /// The caller, the request and the tool.
    Call,
    /// The same, and the trace.
    Trace,
}

/// The task that exports the traces of a program, if they are exported.
#[derive(Debug, Default)]
pub struct TraceExport {
    /// Ends the task when it is dropped.
    stop: Option<oneshot::Sender<()>>,
    task: JoinSet<()>,
}

/// Error of the section `telemetry`.
#[derive(Debug, Error)]
pub enum TelemetryError {
    /// The page of metrics cannot be served.
    #[error("telemetry.metrics: cannot listen on {0}: {1}")]
    Page(Address, io::Error),
    /// The file of header fields cannot be read.
    #[error("telemetry.otlp.headers_file: {0}")]
    File(io::Error),
    /// The file of header fields is too large.
    #[error("telemetry.otlp.headers_file: larger than 64 KiB")]
    Long,
    /// A line of the file is no header field.
    #[error("telemetry.otlp.headers_file: {0}")]
    Header(InvalidExportHeader),
    /// A setting of traces is invalid.
    #[error("telemetry.otlp.{0}")]
    Settings(InvalidTraceSettings),
}

// === impl TelemetrySettings ===

impl TelemetrySettings {
    /// Reads the section, and warns of an address that other machines can reach.
    #[must_use]
    pub fn read(file: &Section<'_>) -> Self {
        let file = file.section("telemetry");
        let metrics_address = file.section("metrics").key("address");
        let metrics_address = metrics_address.parsed(str::parse::<Address>);
        if metrics_address.as_ref().is_some_and(|it| !it.is_loopback()) {
            file.warn(
                "telemetry.metrics.address: other machines can read the metrics, which need no \
                 token",
            );
        }
        Self {
            metrics_address,
            otlp: OtlpSettings::read(&file.section("otlp")),
            propagate_to_providers: false,
        }
    }

    /// Reads `telemetry.propagate_to_providers` too, which servers have that call providers.
    #[must_use]
    pub fn with_providers(self, file: &Section<'_>) -> Self {
        let key = file.section("telemetry").key("propagate_to_providers");
        Self {
            propagate_to_providers: key.boolean().unwrap_or_default(),
            ..self
        }
    }
}

// === impl OtlpSettings ===

impl OtlpSettings {
    fn read(file: &Section<'_>) -> Option<Self> {
        let usual = TraceSettings::default();
        let url = file.key("url").text();
        let settings = Self {
            url: url.clone().unwrap_or_default(),
            headers_file: file.key("headers_file").resolved_path(),
            ratio: file.key("ratio").decimal(0.0..=1.0).unwrap_or(usual.ratio),
            parent: file.key("parent").boolean().unwrap_or(usual.follow_parent),
            timeout: file.key("timeout").some_time().unwrap_or(usual.timeout),
            queue: file
                .key("queue")
                .whole(1..=MAX_QUEUE)
                .unwrap_or(usual.queue),
        };
        url.map(|_| settings)
    }

    /// Returns the settings of a program with a name and a version.
    fn settings(&self, name: &str, version: &str) -> Result<TraceSettings, TelemetryError> {
        Ok(TraceSettings {
            url: self.url.clone(),
            headers: self.headers()?,
            ratio: self.ratio,
            follow_parent: self.parent,
            timeout: self.timeout,
            queue: self.queue,
            service_name: name.to_owned(),
            service_version: version.to_owned(),
            service_instance: process::id().to_string(),
            ..TraceSettings::default()
        })
    }

    fn headers(&self) -> Result<ExportHeaders, TelemetryError> {
        let Some(path) = &self.headers_file else {
            return Ok(ExportHeaders::default());
        };
        if fs::metadata(path).map_err(TelemetryError::File)?.len() > MAX_HEADERS {
            return Err(TelemetryError::Long);
        }
        let text = fs::read_to_string(path).map_err(TelemetryError::File)?;
        text.parse().map_err(TelemetryError::Header)
    }
}

// === impl TraceExport ===

impl TraceExport {
    /// Starts the traces of a program, if they are exported, and shows dropped spans in its metrics.
    ///
    /// # Errors
    /// Fails if the address or the file of header fields cannot be used.
    pub fn start(
        settings: &TelemetrySettings,
        name: &str,
        version: &str,
        metrics: &Metrics,
    ) -> Result<(Tracer, Self), TelemetryError> {
        let Some(otlp) = &settings.otlp else {
            return Ok((Tracer::off(), Self::default()));
        };
        let (tracer, exporter) = Tracer::new(TraceSettings {
            propagate_to_providers: settings.propagate_to_providers,
            ..otlp.settings(name, version)?
        })
        .map_err(TelemetryError::Settings)?;
        let dropped = tracer.clone();
        metrics.read_dropped_spans(move || dropped.dropped_spans());
        let (stop, stopped) = oneshot::channel::<()>();
        let run = exporter.run(async {
            // Nothing is sent: the sender is dropped.
            stopped.await.ok();
        });
        let task = JoinSet::from_iter([run]);
        let stop = Some(stop);
        Ok((tracer, Self { stop, task }))
    }

    /// Exports the spans that are left, within a time.
    pub async fn close(self, limit: Duration) {
        drop(self.stop);
        // The rest is lost if the collector does not answer.
        time::timeout(limit, self.task.join_all()).await.ok();
    }
}

// === impl SqlCommentKind ===

impl SqlCommentKind {
    /// Reads `telemetry.sql_comment`, which servers have that run statements of callers.
    #[must_use]
    pub fn read(file: &Section<'_>) -> Self {
        let key = file.section("telemetry").key("sql_comment");
        key.parsed(str::parse).unwrap_or_default()
    }
}

impl FromStr for SqlCommentKind {
    type Err = &'static str;

    fn from_str(word: &str) -> Result<Self, Self::Err> {
        match word {
            "off" => Ok(Self::Off),
            "call" => Ok(Self::Call),
            "trace" => Ok(Self::Trace),
            _ => Err("must be off, call or trace"),
        }
    }
}
