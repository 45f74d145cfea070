//! Settings of traces.

use std::{fmt, str::FromStr, time::Duration};

use http::{HeaderMap, HeaderName, HeaderValue, header};

/// Header fields that the exporter sets.
const OWN_HEADERS: [HeaderName; 5] = [
    header::CONNECTION,
    header::CONTENT_LENGTH,
    header::CONTENT_TYPE,
    header::HOST,
    header::TRANSFER_ENCODING,
];

/// Settings of a [`Tracer`](super::Tracer) and its [`Exporter`](super::Exporter).
#[derive(Clone)]
pub struct TraceSettings {
    /// The address of `/v1/traces` of the collector.
    pub url: String,
    /// Header fields of every request to the collector.
    pub headers: ExportHeaders,
    /// The part of the traces that is recorded, from 0 to 1.
    pub ratio: f64,
    /// Records what an authenticated caller records, and nothing else of it.
    pub follow_parent: bool,
    /// Sends the context of a trace to providers of models.
    pub propagate_to_providers: bool,
    /// Time for the export of a batch with its repetitions, and of all batches at the end.
    pub timeout: Duration,
    /// Maximum number of spans that wait for their export.
    pub queue: usize,
    /// The name of the program.
    pub service_name: String,
    /// The version of the program.
    pub service_version: String,
    /// The id of the process.
    pub service_instance: String,
}

/// Header fields for the collector, which are secrets. Their values are never displayed.
#[derive(Clone, Debug, Default)]
pub struct ExportHeaders(HeaderMap);

/// Invalid line of a file of header fields. It holds no part of the line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {problem}")]
pub struct InvalidExportHeader {
    line: usize,
    problem: &'static str,
}

/// Invalid setting. It holds no value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{key}: {problem}")]
pub struct InvalidTraceSettings {
    key: &'static str,
    problem: &'static str,
}

// === impl TraceSettings ===

impl Default for TraceSettings {
    fn default() -> Self {
        Self {
            url: String::new(),
            headers: ExportHeaders::default(),
            ratio: 0.01,
            follow_parent: true,
            propagate_to_providers: false,
            timeout: Duration::from_secs(10),
            queue: 2048,
            service_name: String::new(),
            service_version: String::new(),
            service_instance: String::new(),
        }
    }
}

impl fmt::Debug for TraceSettings {
    /// Leaves the address out, which may have a password.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TraceSettings")
            .field("headers", &self.headers)
            .field("ratio", &self.ratio)
            .field("follow_parent", &self.follow_parent)
            .field("propagate_to_providers", &self.propagate_to_providers)
            .field("timeout", &self.timeout)
            .field("queue", &self.queue)
            .finish_non_exhaustive()
    }
}

// === impl ExportHeaders ===

impl ExportHeaders {
    pub(super) fn into_map(self) -> HeaderMap {
        self.0
    }
}

/// Reads lines `name: value`. Empty lines and those that begin with `#` are skipped.
impl FromStr for ExportHeaders {
    type Err = InvalidExportHeader;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let mut headers = HeaderMap::new();
        for (index, text) in text.lines().enumerate() {
            if text.trim().is_empty() || text.starts_with('#') {
                continue;
            }
            let (name, value) = read(text).map_err(|problem| InvalidExportHeader {
                line: index + 1,
                problem,
            })?;
            headers.append(name, value);
        }
        Ok(Self(headers))
    }
}

fn read(line: &str) -> Result<(HeaderName, HeaderValue), &'static str> {
    let (name, value) = line
        .split_once(':')
        .ok_or("not of the form `name: value`")?;
    let name: HeaderName = name.parse().map_err(|_| "invalid name")?;
    if OWN_HEADERS.contains(&name) {
        return Err("a header field that the exporter sets");
    }
    let value = value.trim();
    if value.is_empty() {
        return Err("no value");
    }
    let mut value: HeaderValue = value.parse().map_err(|_| "invalid value")?;
    value.set_sensitive(true);
    Ok((name, value))
}

// === impl InvalidTraceSettings ===

impl InvalidTraceSettings {
    pub(super) const fn new(key: &'static str, problem: &'static str) -> Self {
        Self { key, problem }
    }
}
