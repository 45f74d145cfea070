//! One provider, as it is reached over HTTP.

mod access;
mod body;
mod request;
#[cfg(test)]
mod tests;

use std::{
    fmt,
    sync::Arc,
    time::{Duration, Instant},
};

use bytes::Bytes;
use http::HeaderMap;
use jiff::Timestamp;
use reqwest::{Client, Response, Url};
use serde::de::DeserializeOwned;
use tracing::{debug, info, trace};
use ziggurat_runtime::redact::Redactor;

use super::{
    Class, Deadline, Error, LOG_TARGET, Provider, Refusal, Retry, error, retry::retry_after,
};

pub use self::{
    access::{Access, InvalidAccess, Timeouts},
    body::Streaming,
    request::Request,
};

/// The longest answer.
const MAX_BODY: usize = 32 << 20;

/// How much of a refusal is read.
const MAX_REFUSAL: usize = 64 << 10;

/// How long it may take to reach a provider that is there.
const CONNECT: Duration = Duration::from_secs(10);

/// How long a connection nobody uses is kept.
const IDLE: Duration = Duration::from_secs(90);

/// How many connections nobody uses are kept to one provider. After a burst the others are
/// closed: each holds tens of kilobytes.
const MAX_IDLE: usize = 64;

/// Makes the client all providers of a program share: its connections are kept and used again.
///
/// It follows no redirect, for that would carry the key to another address. Machines without
/// certificates of authorities get one that reaches plain HTTP only, such as Ollama next door.
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
        tracing::warn!(error, "no certificate of a provider can be verified");
        builder().tls_certs_only([]).build()
    })
}

/// One provider: where it is, what it is sent with every request, and how long it is given.
///
/// A clone is the same provider; connections are shared with all that have the same [`Client`].
#[derive(Clone)]
pub struct Http {
    inner: Arc<Inner>,
}

struct Inner {
    client: Client,
    provider: Provider,
    base: Url,
    headers: HeaderMap,
    redactor: Redactor,
    patience: Timeouts,
    retry: Retry,
}

// === impl Http ===

impl Http {
    /// Gets ready to talk to a provider; connects to nothing.
    ///
    /// # Errors
    /// Fails on an address that is none, and if a key is missing or cannot be sent.
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
            inner: Arc::new(Inner {
                client: client.clone(),
                provider,
                base: access::bare(base),
                headers,
                redactor,
                patience: access.patience,
                retry: access.retry,
            }),
        })
    }

    /// Who it is.
    #[must_use]
    pub fn provider(&self) -> Provider {
        self.inner.provider
    }

    /// Whether the other is the same place, reached with the same key and headers: what one
    /// says about its health holds for both.
    #[must_use]
    pub fn is_same_target(&self, other: &Self) -> bool {
        let (a, b) = (&self.inner, &other.inner);
        a.provider == b.provider && a.base == b.base && a.headers == b.headers
    }

    /// Sends a request, again if it fails by chance, and reads the JSON of the answer.
    ///
    /// # Errors
    /// Fails if there is no success in time, or its body makes no sense.
    pub async fn json<T: DeserializeOwned>(
        &self,
        request: &Request<'_>,
        deadline: Deadline,
    ) -> Result<T, Error> {
        let body = self.bytes(request, deadline, self.inner.retry).await?;
        serde_json::from_slice(&body).map_err(|error| self.malformed(&error))
    }

    /// Sends a request once, whatever comes of it, and reads the body of the answer.
    ///
    /// # Errors
    /// Fails if there is no success in time.
    pub async fn once(&self, request: &Request<'_>, deadline: Deadline) -> Result<Bytes, Error> {
        self.bytes(request, deadline, Retry::never()).await
    }

    /// Sends a request, again if it fails by chance before the first bytes of the answer are
    /// there.
    ///
    /// From there on nothing is timed: the caller knows how long a stream may be silent.
    ///
    /// # Errors
    /// Fails if there is no success in time.
    pub async fn open(
        &self,
        request: &Request<'_>,
        deadline: Deadline,
    ) -> Result<Streaming, Error> {
        self.persist(request, deadline, self.inner.retry, || async {
            Streaming::begin(self.head(request).await?).await
        })
        .await
    }

    /// An error the provider has reported in the middle of an answer, without keys.
    #[must_use]
    pub fn reported(&self, class: Class, message: &str) -> Error {
        Error::Reported {
            class,
            message: error::cut(self.inner.redactor.redact(message)),
        }
    }

    /// An answer that makes no sense, without keys.
    #[must_use]
    pub fn malformed(&self, error: &dyn fmt::Display) -> Error {
        Error::Malformed(self.inner.redactor.redact(&error.to_string()))
    }

    async fn bytes(
        &self,
        request: &Request<'_>,
        deadline: Deadline,
        retry: Retry,
    ) -> Result<Bytes, Error> {
        self.persist(request, deadline, retry, || async {
            let mut response = self.head(request).await?;
            let body = body::whole(&mut response, MAX_BODY).await?;
            trace!(target: LOG_TARGET, bytes = body.len(), "a body was read");
            Ok(body)
        })
        .await
    }

    /// Attempts something until it succeeds, or is over for good.
    async fn persist<T, F>(
        &self,
        request: &Request<'_>,
        deadline: Deadline,
        retry: Retry,
        attempt: impl Fn() -> F,
    ) -> Result<T, Error>
    where
        F: Future<Output = Result<T, Error>>,
    {
        let began = Instant::now();
        let patience = self.inner.patience;
        let call = deadline.or_earlier(Deadline::after(patience.call));
        let outcome = retry.run(call, || {
            let end = patience
                .attempt
                .map_or(call, |time| call.or_earlier(Deadline::after(time)));
            let attempt = attempt();
            async move { end.cut(attempt).await.unwrap_or(Err(Error::Slow)) }
        });
        let outcome = match outcome.await {
            // Whoever asked had no more time: that is not the fault of the provider.
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

    /// Sends a request once; what comes back is a success that has begun.
    async fn head(&self, request: &Request<'_>) -> Result<Response, Error> {
        let inner = &self.inner;
        trace!(target: LOG_TARGET, bytes = request.length(), "a request is sent");
        let request = request.build(&inner.base, &inner.headers)?;
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
        let pause = retry_after(response.headers(), Timestamp::now());
        // Whatever of the body can be read: the status says enough without it.
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
