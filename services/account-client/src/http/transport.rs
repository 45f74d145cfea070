//! Sends one request: over its own connection, within its deadline, with retries if they help.
//!
//! A dry run stops here, below all code that builds requests, so that the reported request is
//! exactly the one that would be sent.

use std::{
    fmt,
    future::{Future, poll_fn},
    io::Write,
    pin::{Pin, pin},
    task::Poll,
    time::Duration,
};

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Method, Request, Response, Uri, header};
use http_body_util::{BodyExt as _, Full};
use hyper::{body::Body as _, client::conn::http1::SendRequest};
use hyper_util::{client::proxy::matcher::Intercept, rt::TokioIo};
use jiff::Timestamp;
use tokio::time::Instant;
use tokio_rustls::TlsConnector;
use ziggurat_runtime::{Environment, causes, retry_after};

use crate::http::{
    address::{Origin, Target},
    connect,
    log::Log,
    mask::Mask,
    message::{Incoming, Outgoing, Purpose, Recorded, Sent, TransportError},
    proxy::Proxies,
    retry, tls,
};

/// Maximum size of a response.
const MAX_BODY: usize = 64 * 1024 * 1024;

/// Maximum number of redirects for a request that reads.
const MAX_REDIRECTS: usize = 10;

/// Sends requests.
pub struct Transport<'a> {
    environment: &'a Environment,
    proxies: Proxies,
    tls: Option<TlsConnector>,
    options: Options,
    /// The secrets that must not be shown; more are added as they become known.
    mask: Mask,
}

/// The options of all requests.
#[derive(Clone, Debug)]
pub struct Options {
    /// The log of requests and responses.
    pub log: Log,
    /// Set if requests that write are stopped instead of sent.
    pub dry_run: bool,
    /// The headers of every request.
    pub headers: HeaderMap,
    /// Maximum time for one request with its retries; `None` for no limit.
    pub timeout: Option<Duration>,
    /// Maximum number of retries of a request that only reads.
    pub retries: u32,
}

/// A connection and the future that drives it.
struct Connection {
    sender: SendRequest<Full<Bytes>>,
    driver: Option<Driver>,
    /// Set for a proxy that forwards requests; they contain the complete URL then.
    forwarder: Option<Intercept>,
}

// Boxed: one per connection, not per request.
pub(super) type Driver = Pin<Box<dyn Future<Output = hyper::Result<()>> + Send>>;

// === impl Transport ===

impl fmt::Debug for Transport<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = formatter.debug_struct("Transport");
        shown
            .field("options", &self.options)
            .finish_non_exhaustive()
    }
}

impl<'a> Transport<'a> {
    /// Creates a transport with the proxies and the root certificates of the environment.
    #[must_use]
    pub fn new(environment: &'a Environment, options: Options) -> Self {
        Self {
            environment,
            proxies: Proxies::from_environment(environment),
            tls: None,
            options,
            mask: Mask::default(),
        }
    }

    /// Masks a secret from now on.
    pub fn hide(&mut self, secret: &str) {
        self.mask.add(secret);
    }

    /// Returns the secrets that are masked.
    #[must_use]
    pub fn mask(&self) -> &Mask {
        &self.mask
    }

    /// Returns the options of all requests.
    pub(crate) fn options(&self) -> &Options {
        &self.options
    }

    /// Sends a GET request without a credential, and without retries.
    ///
    /// # Errors
    ///
    /// Fails without a response.
    pub async fn probe(
        &mut self,
        url: String,
        timeout: Duration,
        notes: &mut (dyn Write + Send),
    ) -> Result<Incoming, TransportError> {
        let request = Outgoing {
            method: Method::GET,
            url,
            headers: self.options.headers.clone(),
            body: None,
            purpose: Purpose::Call,
            timeout: Some(timeout),
            retries: 0,
        };
        match self.send(&request, notes).await? {
            Sent::Answer(answer) => Ok(answer),
            Sent::Stopped(_) => Err(TransportError::Answer(
                "the dry run stopped a read".to_owned(),
            )),
        }
    }

    /// Sends a request, or stops it if it writes and this is a dry run.
    pub(crate) async fn send(
        &mut self,
        request: &Outgoing,
        notes: &mut (dyn Write + Send),
    ) -> Result<Sent, TransportError> {
        if self.options.dry_run && request.purpose == Purpose::Call && !request.only_reads() {
            return Ok(Sent::Stopped(Recorded {
                method: request.method.clone(),
                url: request.url.clone(),
                headers: request.headers.clone(),
                body: request.body.clone(),
            }));
        }
        let deadline = request
            .timeout
            .and_then(|timeout| Instant::now().checked_add(timeout));
        let retries = if request.only_reads() {
            request.retries
        } else {
            0
        };
        let mut attempt = 0;
        loop {
            let result = self.attempt(request, deadline, notes).await;
            attempt += 1;
            if attempt > retries {
                return result.map(Sent::Answer);
            }
            let asked = match &result {
                Ok(answer) if retry::is_passing(answer.status) => {
                    retry_after::read(&answer.headers, Timestamp::now())
                }
                Err(TransportError::Connection {
                    is_passing: true, ..
                }) => None,
                _ => return result.map(Sent::Answer),
            };
            let wait = retry::wait(attempt, asked, retry::jitter());
            let until = wait.and_then(|wait| Instant::now().checked_add(wait));
            match until {
                Some(until) if deadline.is_none_or(|deadline| until < deadline) => {
                    tokio::time::sleep_until(until).await;
                }
                _ => return result.map(Sent::Answer),
            }
        }
    }

    /// Makes one attempt, and follows its redirects.
    async fn attempt(
        &mut self,
        request: &Outgoing,
        deadline: Option<Instant>,
        notes: &mut (dyn Write + Send),
    ) -> Result<Incoming, TransportError> {
        let mut target = Target::parse(&request.url)?;
        let mut headers = request.headers.clone();
        for _ in 0..=MAX_REDIRECTS {
            let answer = self
                .exchange(request, &target, &headers, deadline, notes)
                .await?;
            if !request.only_reads() || !is_redirect(&answer) {
                return Ok(answer);
            }
            let Some(location) = answer.headers.get(header::LOCATION) else {
                return Ok(answer);
            };
            let next = location
                .to_str()
                .map_err(|_| TransportError::Answer("its Location is not text".to_owned()))
                .and_then(|location| target.redirected(location))
                .map_err(|reason| TransportError::Answer(format!("redirect: {reason}")))?;
            if next.origin() != target.origin() {
                headers.remove(header::AUTHORIZATION);
            }
            target = next;
        }
        Err(TransportError::Answer(format!(
            "stopped after {MAX_REDIRECTS} redirects"
        )))
    }

    /// Sends one request and logs it with its response.
    async fn exchange(
        &mut self,
        request: &Outgoing,
        target: &Target,
        headers: &HeaderMap,
        deadline: Option<Instant>,
        notes: &mut (dyn Write + Send),
    ) -> Result<Incoming, TransportError> {
        let mut headers = headers.clone();
        if let Ok(host) = HeaderValue::from_str(target.host_header()) {
            headers.insert(header::HOST, host);
        }
        let length = request.body.as_ref().map(Bytes::len);
        if length.is_some() || !request.only_reads() {
            headers.insert(header::CONTENT_LENGTH, length.unwrap_or(0).into());
        }
        let log = self.options.log;
        log.request(notes, &self.mask, &target.url(), request, &headers);
        let started = Instant::now();
        let work = log.waiting(
            notes,
            target.host_header(),
            self.round_trip(request, target, &headers),
        );
        let result = match (deadline, request.timeout) {
            (Some(deadline), Some(timeout)) => tokio::time::timeout_at(deadline, work)
                .await
                .unwrap_or(Err(TransportError::Deadline(timeout))),
            _ => work.await,
        };
        log.waited(notes, started.elapsed());
        let took: Duration = started.elapsed();
        match &result {
            Ok(answer) => log.answer(notes, &self.mask, request.purpose, answer, took),
            Err(error) => log.failure(notes, &self.mask, &error.to_string(), took),
        }
        result
    }

    async fn round_trip(
        &mut self,
        request: &Outgoing,
        target: &Target,
        headers: &HeaderMap,
    ) -> Result<Incoming, TransportError> {
        // One connection per request: the server may close an idle one at any time, and such a
        // failure could not be distinguished from a real one.
        let mut connection = self.open(target.origin()).await?;
        connection.send(request, target, headers).await
    }

    async fn open(&mut self, origin: Origin) -> Result<Connection, TransportError> {
        let proxy = self.proxies.proxy_for(&origin)?;
        let is_tls = |proxy: &Intercept| Origin::of(proxy.uri()).is_tls;
        if self.tls.is_none() && (origin.is_tls || proxy.as_ref().is_some_and(is_tls)) {
            self.tls = Some(tls::connector(self.environment)?);
        }
        let stream = connect::dial(&origin, proxy.as_ref(), self.tls.as_ref()).await?;
        let (sender, driver) = hyper::client::conn::http1::handshake(TokioIo::new(stream))
            .await
            .map_err(|error| broken("", &error))?;
        Ok(Connection {
            forwarder: proxy.filter(|_| !origin.is_tls),
            sender,
            driver: Some(Box::pin(driver)),
        })
    }
}

// === impl Connection ===

impl Connection {
    async fn send(
        &mut self,
        request: &Outgoing,
        target: &Target,
        headers: &HeaderMap,
    ) -> Result<Incoming, TransportError> {
        let uri = if self.forwarder.is_some() {
            target.url()
        } else {
            target.path().to_owned()
        };
        let uri: Uri = uri
            .parse()
            .map_err(|error: http::uri::InvalidUri| TransportError::Answer(error.to_string()))?;
        let mut message = Request::new(Full::new(request.body.clone().unwrap_or_default()));
        *message.method_mut() = request.method.clone();
        *message.uri_mut() = uri;
        *message.headers_mut() = headers.clone();
        if let Some(authorization) = self.forwarder.as_ref().and_then(Intercept::basic_auth) {
            message
                .headers_mut()
                .insert(header::PROXY_AUTHORIZATION, authorization.clone());
        }
        let is_head = request.method == Method::HEAD;
        let answer = self.sender.send_request(message);
        let whole = async {
            let answer = answer.await.map_err(|error| broken("", &error))?;
            read(answer, is_head).await
        };
        drive(&mut self.driver, whole).await
    }
}

/// Polls the connection while the work waits for it; no task is spawned.
pub(super) async fn drive<T>(driver: &mut Option<Driver>, work: impl Future<Output = T>) -> T {
    let mut work = pin!(work);
    poll_fn(|context| {
        if let Poll::Ready(done) = work.as_mut().poll(context) {
            return Poll::Ready(done);
        }
        let has_ended = driver
            .as_mut()
            .is_some_and(|driver| driver.as_mut().poll(context).is_ready());
        if has_ended {
            *driver = None;
        }
        // The connection may just have read the data that the work waits for.
        work.as_mut().poll(context)
    })
    .await
}

async fn read(
    answer: Response<hyper::body::Incoming>,
    is_head: bool,
) -> Result<Incoming, TransportError> {
    let (parts, mut body) = answer.into_parts();
    let too_large = || {
        TransportError::Answer(format!(
            "the response is larger than {} MiB",
            MAX_BODY >> 20
        ))
    };
    if !is_head && usize::try_from(body.size_hint().lower()).is_ok_and(|least| least > MAX_BODY) {
        return Err(too_large());
    }
    let mut whole = Vec::new();
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|error| broken("", &error))?;
        if let Some(part) = frame.data_ref() {
            if whole.len() + part.len() > MAX_BODY {
                return Err(too_large());
            }
            whole.extend_from_slice(part);
        }
    }
    Ok(Incoming {
        status: parts.status,
        headers: parts.headers,
        body: whole.into(),
    })
}

fn is_redirect(answer: &Incoming) -> bool {
    matches!(answer.status.as_u16(), 301 | 302 | 303 | 307 | 308)
}

/// Creates the failure of a broken connection, with all its causes after the prefix.
pub(super) fn broken(prefix: &str, error: &hyper::Error) -> TransportError {
    TransportError::Connection {
        cause: format!("{prefix}{}", causes(error)),
        // The server rejects the cached token once, so the second command obtains a new one.
        is_passing: !error.is_parse(),
    }
}
