//! HTTP client of one provider.

mod access;
mod body;
mod request;
mod sent_trace;
#[cfg(test)]
mod tests;

use std::{
    fmt,
    sync::{Arc, LazyLock},
    time::{Duration, Instant},
};

use bytes::Bytes;
use http::HeaderMap;
use jiff::Timestamp;
use reqwest::{Client, Response, Url};
use serde::de::DeserializeOwned;
use tracing::{debug, info, trace};
use ziggurat_layers::body_limit::ByteBudget;
use ziggurat_runtime::{redact::Redactor, retry_after};
use ziggurat_telemetry::{Metrics, traces::ProviderSpan};

use crate::{Class, Deadline, Error, LOG_TARGET, Provider, Refusal, Retry, error};

pub use self::access::{Access, InvalidAccess, Timeouts};
use self::sent_trace::SentTrace;
pub(crate) use self::{
    body::Streaming,
    request::{MAX_ANSWER, Request},
};

/// Maximum number of bytes of all responses that are being read. A single one may take three quarters.
const MAX_ANSWERS: u64 = 32 << 20;

/// Budget of the responses of all providers of this process.
static ANSWERS: LazyLock<ByteBudget> = LazyLock::new(|| ByteBudget::new(MAX_ANSWERS, MAX_ANSWERS));

/// Maximum number of bytes of an error response that are read.
const MAX_REFUSAL: usize = 64 << 10;

/// Timeout for connecting.
const CONNECT: Duration = Duration::from_secs(10);

/// Idle timeout of connections in the pool.
const IDLE: Duration = Duration::from_secs(90);

/// Maximum number of idle connections per provider. After a burst the others are closed, because
/// each holds tens of kilobytes.
const MAX_IDLE: usize = 64;

/// Creates the client that all providers of a program share, with one connection pool.
///
/// It follows no redirect, because that would send the key to another address. Without root
/// certificates on the machine, it supports plain HTTP only, which is enough for a local Ollama.
///
/// # Errors
/// Fails if the TLS library does.
pub fn client() -> Result<Client, reqwest::Error> {
    let builder = || {
        Client::builder()
            .redirect(reqwest::redirect::Policy::none())
            .referer(false)
            .connect_timeout(CONNECT)
            .pool_idle_timeout(IDLE)
            .pool_max_idle_per_host(MAX_IDLE)
            .user_agent(concat!("ziggurat/", env!("CARGO_PKG_VERSION")))
    };
    builder().build().or_else(|error| {
        let error: &dyn std::error::Error = &error;
        tracing::warn!(error, "the certificates of providers cannot be verified");
        builder().tls_certs_only([]).build()
    })
}

/// A provider with its address, credentials, headers and timeouts.
///
/// Clones share their state; all with the same [`Client`] share connections.
#[derive(Clone)]
pub struct Http {
    inner: Arc<Inner>,
    /// Context of the trace in the headers of requests.
    trace: Option<SentTrace>,
}

struct Inner {
    client: Client,
    provider: Provider,
    base: Url,
    headers: HeaderMap,
    redactor: Redactor,
    timeouts: Timeouts,
    retry: Retry,
    metrics: Metrics,
}

// === impl Http ===

impl Http {
    /// Prepares the access to a provider, without a connection.
    ///
    /// # Errors
    /// Fails on an invalid address, and if a key is missing or invalid.
    pub fn new(
        client: &Client,
        provider: Provider,
        access: &Access,
    ) -> Result<Self, InvalidAccess> {
        let base = access.base(provider)?;
        let headers = access.headers(provider, &base)?;
        let mut redactor = Redactor::default();
        access.hide(&mut redactor, &base);
        Ok(Self {
            trace: None,
            inner: Arc::new(Inner {
                client: client.clone(),
                provider,
                base: access::bare(base),
                headers,
                redactor,
                timeouts: access.timeouts,
                retry: access.retry,
                metrics: access.metrics.clone(),
            }),
        })
    }

    /// Returns the provider.
    #[must_use]
    pub fn provider(&self) -> Provider {
        self.inner.provider
    }

    /// Returns a client that sends its requests as a part of a span.
    pub(crate) fn with_trace_of(&self, span: &ProviderSpan) -> Self {
        Self {
            inner: Arc::clone(&self.inner),
            trace: SentTrace::of(span),
        }
    }

    /// Returns the metrics of the calls to it.
    pub(crate) fn metrics(&self) -> &Metrics {
        &self.inner.metrics
    }

    /// Returns whether the other has the same address, key and headers, so that both have the same
    /// health.
    #[must_use]
    pub fn is_same_target(&self, other: &Self) -> bool {
        let (a, b) = (&self.inner, &other.inner);
        a.provider == b.provider && a.base == b.base && a.headers == b.headers
    }

    /// Sends a request, with retries, and parses the JSON of the response.
    ///
    /// # Errors
    /// Fails if there is no success in time, or the body is invalid.
    pub(crate) async fn json<T: DeserializeOwned>(
        &self,
        request: &Request,
        deadline: Deadline,
    ) -> Result<T, Error> {
        let body = self.bytes(request, deadline, self.inner.retry).await?;
        serde_json::from_slice(&body).map_err(|error| self.malformed(&error))
    }

    /// Sends a request once, without retries, and reads the body of the response.
    ///
    /// # Errors
    /// Fails if there is no success in time.
    pub(crate) async fn once(&self, request: &Request, deadline: Deadline) -> Result<Bytes, Error> {
        self.bytes(request, deadline, Retry::never()).await
    }

    /// Sends a request, with retries until the first bytes of the response arrive.
    ///
    /// After that there is no timeout: the caller limits the pauses of the stream.
    ///
    /// # Errors
    /// Fails if there is no success in time.
    pub(crate) async fn open(
        &self,
        request: &Request,
        deadline: Deadline,
    ) -> Result<Streaming, Error> {
        self.persist(request, deadline, self.inner.retry, || async {
            Streaming::begin(self.head(request).await?).await
        })
        .await
    }

    /// Creates an error that the provider reported in the middle of a response, without keys.
    #[must_use]
    pub fn reported(&self, class: Class, message: &str) -> Error {
        Error::Reported {
            class,
            message: error::cut(self.inner.redactor.redact(message)),
        }
    }

    /// Creates an error for an invalid response, without keys.
    #[must_use]
    pub fn malformed(&self, error: &dyn fmt::Display) -> Error {
        Error::Malformed(self.inner.redactor.redact(&error.to_string()))
    }

    async fn bytes(
        &self,
        request: &Request,
        deadline: Deadline,
        retry: Retry,
    ) -> Result<Bytes, Error> {
        self.persist(request, deadline, retry, || async {
            let mut response = self.head(request).await?;
            let body = body::whole(&mut response, request.max_answer, &ANSWERS).await?;
            trace!(target: LOG_TARGET, bytes = body.len(), "a body was read");
            Ok(body)
        })
        .await
    }

    /// Attempts an operation until it succeeds or fails permanently.
    async fn persist<T, F>(
        &self,
        request: &Request,
        deadline: Deadline,
        retry: Retry,
        attempt: impl Fn() -> F,
    ) -> Result<T, Error>
    where
        F: Future<Output = Result<T, Error>>,
    {
        let began = Instant::now();
        let timeouts = self.inner.timeouts;
        let call = deadline.or_earlier(Deadline::after(timeouts.call));
        let outcome = retry.run(call, || {
            let end = timeouts
                .attempt
                .map_or(call, |time| call.or_earlier(Deadline::after(time)));
            let attempt = attempt();
            async move { end.cut(attempt).await.unwrap_or(Err(Error::Slow)) }
        });
        let outcome = match outcome.await {
            // The caller's deadline has passed, which is not the fault of the provider.
            Err(Error::Slow) if deadline.has_passed() => Err(Error::Late),
            outcome => outcome,
        };
        info!(
            target: LOG_TARGET,
            provider = self.inner.provider.name(),
            path = request.path(),
            duration_ms = began.elapsed().as_secs_f64() * 1e3,
            failure = outcome.as_ref().err().map(|error| error.class().sentence()),
            "call"
        );
        outcome
    }

    /// Sends a request once; returns a successful response before its body is read.
    async fn head(&self, request: &Request) -> Result<Response, Error> {
        let inner = &self.inner;
        trace!(target: LOG_TARGET, bytes = request.length(), "a request is sent");
        let mut request = request.build(&inner.base, &inner.headers)?;
        if let Some(trace) = &self.trace {
            trace.add_to(request.headers_mut());
        }
        let mut response = inner
            .client
            .execute(request)
            .await
            .map_err(|error| self.unreachable(&error))?;
        let status = response.status();
        debug!(target: LOG_TARGET, status = status.as_u16(), "a provider answers");
        if status.is_success() {
            return Ok(response);
        }
        let pause = retry_after::read(response.headers(), Timestamp::now());
        // A broken body is ignored, because the status is sufficient.
        let body = body::beginning(&mut response, MAX_REFUSAL).await;
        let refusal = Refusal::new(inner.provider, status, &body, pause, &inner.redactor);
        Err(Error::Refused(Box::new(refusal)))
    }

    fn unreachable(&self, error: &reqwest::Error) -> Error {
        if error.is_builder() {
            return Error::Invalid(body::reason(error));
        }
        let inner = &self.inner;
        let reason = inner.redactor.redact(&body::reason(error));
        Error::Unreachable(match inner.provider {
            Provider::Ollama if error.is_connect() => {
                let url = inner.base.as_str().trim_end_matches('/');
                format!("failed to connect to Ollama at {url}: {reason} (is Ollama running?)")
            }
            _ => format!("failed to send request: {reason}"),
        })
    }
}

impl fmt::Debug for Http {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Http")
            .field("provider", &self.inner.provider)
            .field("base", &self.inner.base.as_str())
            .finish_non_exhaustive()
    }
}
