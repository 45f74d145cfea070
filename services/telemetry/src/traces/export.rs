//! Export of spans over HTTP, in JSON (OTLP/HTTP).

use std::{
    error::Error as _,
    fmt, iter,
    pin::pin,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, StatusCode, header};
use reqwest::{Client, Response, Url, redirect::Policy};
use serde_json::{Value, json};
use tokio::time::{self, Instant};
use tracing::warn;

use crate::traces::{
    InvalidTraceSettings, TraceSettings,
    queue::{Batch, Queue},
    record::Attribute,
};

/// Target of log events.
const LOG_TARGET: &str = "ziggurat::traces";

/// Maximum time that a span waits for others to fill a batch.
const INTERVAL: Duration = Duration::from_secs(5);

/// Time between two log events about failures.
const LOG_INTERVAL: Duration = Duration::from_mins(1);

/// Minimum time before the first repetition. It doubles with each one.
const BACKOFF: Duration = Duration::from_millis(100);

/// Maximum size of a response that is read.
const MAX_RESPONSE: usize = 64 << 10;

/// Sends the spans of a [`Tracer`](super::Tracer) to the collector.
///
/// A collector that fails or hangs costs spans, never time of a call. Redirects are not followed,
/// because they would send the header fields elsewhere.
#[must_use = "spans are dropped until the exporter runs"]
pub struct Exporter {
    queue: Arc<Queue>,
    client: Client,
    url: Url,
    headers: HeaderMap,
    timeout: Duration,
    /// The body of a request up to the spans.
    prefix: String,
    last_log: Mutex<Option<Instant>>,
}

/// Failure of an export. It names no address and no header field.
#[derive(Debug, thiserror::Error)]
enum ExportError {
    #[error("the collector answered {0}")]
    Status(StatusCode),
    #[error("the collector was not reached: {0}")]
    Unreachable(String),
    #[error("the collector did not answer in time")]
    Timeout,
    #[error("the collector refused {0} spans")]
    Refused(u64),
    #[error("the spans could not be encoded")]
    Encoding(#[from] serde_json::Error),
}

// === impl Exporter ===

impl Exporter {
    pub(super) fn new(
        queue: Arc<Queue>,
        settings: TraceSettings,
    ) -> Result<Self, InvalidTraceSettings> {
        let invalid = |problem| InvalidTraceSettings::new("url", problem);
        let url = Url::parse(&settings.url).map_err(|_| invalid("not an address"))?;
        if !matches!(url.scheme(), "http" | "https") {
            return Err(invalid("must begin with http:// or https://"));
        }
        let mut builder = Client::builder()
            .redirect(Policy::none())
            .referer(false)
            .user_agent(concat!("ziggurat/", env!("CARGO_PKG_VERSION")));
        if url.scheme() == "http" {
            // A machine without root certificates can have a collector beside the program.
            builder = builder.tls_certs_only([]);
        }
        let client = builder.build().map_err(|_| {
            invalid("the certificate of the collector cannot be verified on this machine")
        })?;
        let resource = [
            Attribute::new("service.name", &*settings.service_name),
            Attribute::new("service.version", &*settings.service_version),
            Attribute::new("service.instance.id", &*settings.service_instance),
        ];
        let resource = json!(resource);
        let scope = json!({
            "name": env!("CARGO_PKG_NAME"),
            "version": env!("CARGO_PKG_VERSION"),
        });
        let prefix = format!(
            r#"{{"resourceSpans":[{{"resource":{{"attributes":{resource}}},"scopeSpans":[{{"scope":{scope},"spans":"#
        );
        Ok(Self {
            queue,
            client,
            url,
            headers: settings.headers.into_map(),
            timeout: settings.timeout,
            prefix,
            last_log: Mutex::default(),
        })
    }

    /// Exports spans until `stop` is ready, and then those that wait, within the timeout. Tracers
    /// drop all spans after that. It needs a Tokio runtime with a network and a timer.
    pub async fn run(self, stop: impl Future<Output = ()>) {
        let mut exporting = pin!(self.export_all());
        tokio::select! {
            () = &mut exporting => return,
            () = stop => self.queue.close(),
        }
        if time::timeout(self.timeout, exporting).await.is_err() {
            self.failed(&ExportError::Timeout);
        }
        // They count as dropped.
        while let Some(unsent) = self.queue.next() {
            drop(unsent);
        }
    }

    /// Exports batches until the queue is closed and empty.
    async fn export_all(&self) {
        loop {
            // The end of the interval is as good as a full batch.
            let _ = time::timeout(INTERVAL, self.queue.filled()).await;
            let Some(batch) = self.queue.next() else {
                return;
            };
            if !batch.records().is_empty() {
                self.export(batch).await;
            }
        }
    }

    async fn export(&self, batch: Batch<'_>) {
        let sending = time::timeout(self.timeout, self.send(&batch)).await;
        match sending.unwrap_or(Err(ExportError::Timeout)) {
            Ok(refused) => {
                batch.exported(refused);
                if refused > 0 {
                    self.failed(&ExportError::Refused(refused));
                }
            }
            Err(error) => {
                drop(batch);
                self.failed(&error);
            }
        }
    }

    /// Sends a batch, again and again while the collector asks for it, and returns the number of spans
    /// that it refused.
    async fn send(&self, batch: &Batch<'_>) -> Result<u64, ExportError> {
        let spans = serde_json::to_string(batch.records())?;
        let body = Bytes::from(format!("{}{spans}}}]}}]}}", self.prefix));
        let mut backoff = BACKOFF;
        loop {
            let response = self.post(body.clone()).await?;
            let status = response.status();
            if status.is_success() {
                return Ok(refused(response).await);
            }
            if !is_temporary(status) {
                return Err(ExportError::Status(status));
            }
            let wait = retry_after(response.headers()).unwrap_or_default();
            let wait = wait.max(backoff);
            if wait >= self.timeout {
                return Err(ExportError::Status(status));
            }
            drop(response);
            time::sleep(wait).await;
            backoff *= 2;
        }
    }

    async fn post(&self, body: Bytes) -> Result<Response, ExportError> {
        let json = HeaderValue::from_static("application/json");
        let request = self
            .client
            .post(self.url.clone())
            .headers(self.headers.clone())
            .header(header::CONTENT_TYPE, json)
            .body(body);
        let response = request.send().await;
        response.map_err(|error| ExportError::Unreachable(reason(&error.without_url())))
    }

    /// Logs a failure, unless one was logged a moment ago.
    fn failed(&self, error: &ExportError) {
        let mut last = self.last_log.lock().unwrap_or_else(PoisonError::into_inner);
        if last.is_none_or(|last| last.elapsed() >= LOG_INTERVAL) {
            *last = Some(Instant::now());
            let dropped = self.queue.dropped();
            warn!(target: LOG_TARGET, %error, dropped, "spans were not exported");
        }
    }
}

impl fmt::Debug for Exporter {
    /// Leaves out the address, which may have a password, and the header fields.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Exporter").finish_non_exhaustive()
    }
}

/// Statuses after which OTLP allows the same batch again.
const fn is_temporary(status: StatusCode) -> bool {
    matches!(
        status,
        StatusCode::TOO_MANY_REQUESTS
            | StatusCode::BAD_GATEWAY
            | StatusCode::SERVICE_UNAVAILABLE
            | StatusCode::GATEWAY_TIMEOUT
    )
}

/// Reads `Retry-After` in seconds. A date is treated as absent, because collectors send none.
fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let seconds = headers.get(header::RETRY_AFTER)?.to_str().ok()?;
    seconds.trim().parse().ok().map(Duration::from_secs)
}

/// Returns the number of spans that a response says are refused. One that cannot be read refuses
/// none.
async fn refused(mut response: Response) -> u64 {
    let mut body = Vec::new();
    while let Ok(Some(chunk)) = response.chunk().await {
        body.extend_from_slice(&chunk);
        if body.len() > MAX_RESPONSE {
            return 0;
        }
    }
    let answer: Value = serde_json::from_slice(&body).unwrap_or_default();
    let refused = answer.pointer("/partialSuccess/rejectedSpans");
    // The encoding has strings for numbers of 64 bits, but readers have to take numbers too.
    let number = |value: &Value| value.as_u64().or_else(|| value.as_str()?.parse().ok());
    refused.and_then(number).unwrap_or_default()
}

/// Returns the innermost cause: the outer ones have no details.
fn reason(error: &reqwest::Error) -> String {
    let causes = iter::successors(error.source(), |&cause| cause.source());
    causes
        .last()
        .map_or_else(|| error.to_string(), ToString::to_string)
}
