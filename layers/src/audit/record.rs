//! The record of a request.

use std::{borrow::Cow, net::IpAddr, sync::Arc, time::Duration};

use http::{HeaderValue, Method, Request, StatusCode, Version};

use crate::{
    audit::TraceId,
    client_ip::ClientIp,
    sanitize::{RequestId, X_REQUEST_ID},
};

/// Lengths at which texts are cut, in bytes: clients choose methods and paths, and names may come
/// from their tokens.
const MAX_METHOD: usize = 32;
const MAX_PATH: usize = 1024;
const MAX_NAME: usize = 256;

/// The record of one request.
///
/// It holds no header, body or query, because those carry credentials. Texts are cut at 256 bytes
/// (the path at 1024, the method at 32); a cut text ends in `…`, a cut method does not. Texts of
/// clients and of identities may hold any character: a sink escapes them for its format.
///
/// ```
/// use std::time::Duration;
/// use http::Request;
/// use ziggurat_layers::audit::{Outcome, Record};
///
/// let request = Request::post("/login?token=hunter2").body(())?;
/// let record = Record::of(&request, Duration::ZERO);
/// assert_eq!(record.path(), "/login");
/// assert!(!format!("{record:?}").contains("hunter2"));
/// # Ok::<_, http::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Record {
    method: Method,
    version: Version,
    path: Box<str>,
    started: Duration,
    client: Option<IpAddr>,
    request_id: Option<RequestId>,
    trace_id: Option<TraceId>,
    pub(super) route: Option<Cow<'static, str>>,
    pub(super) identity: Option<Arc<str>>,
    pub(super) status: Option<StatusCode>,
    pub(super) code: Option<&'static str>,
    pub(super) outcome: Outcome,
    pub(super) bytes_in: u64,
    pub(super) bytes_out: u64,
    pub(super) duration: Duration,
}

/// The end of a request, as seen by [`Audit`](super::Audit).
///
/// A refusal by an inner layer is a [`Completed`](Self::Completed) request with a
/// [`code`](Record::code).
///
/// ```
/// use ziggurat_layers::audit::Outcome;
///
/// assert_eq!(Outcome::ResponseAborted.as_str(), "response_aborted");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Outcome {
    /// The server took the whole response.
    Completed,
    /// The response body was dropped before its end: the client closed the connection, or a layer
    /// further out dropped the body.
    ResponseAborted,
    /// The response body failed.
    BodyFailed,
    /// The request was dropped before there was a response.
    Cancelled,
    /// The service returned an error instead of a response.
    ServiceError,
    /// The service, its future or the response body panicked, and the panic passed this layer.
    Panicked,
}

// === impl Record ===

impl Record {
    /// Starts the record of a request that came in at `started`, the time since 1970.
    ///
    /// The layer does this. It is public for tests of a [`Sink`](super::Sink).
    ///
    /// ```
    /// use std::time::Duration;
    /// use http::Request;
    /// use ziggurat_layers::audit::Record;
    ///
    /// let record = Record::of(&Request::new(()), Duration::from_secs(7));
    /// assert_eq!(record.started(), Duration::from_secs(7));
    /// ```
    #[must_use]
    pub fn of<B>(request: &Request<B>, started: Duration) -> Self {
        let extensions = request.extensions();
        let from_header = || request.headers().get(X_REQUEST_ID).and_then(parsed);
        Self {
            method: capped_method(request.method()),
            version: request.version(),
            path: capped(request.uri().path(), MAX_PATH).into(),
            started,
            client: extensions.get().map(ClientIp::client),
            request_id: RequestId::of(request).or_else(from_header),
            trace_id: TraceId::of(request.headers()),
            route: None,
            identity: None,
            status: None,
            code: None,
            outcome: Outcome::Cancelled,
            bytes_in: 0,
            bytes_out: 0,
            duration: Duration::ZERO,
        }
    }

    pub(super) fn set_route(&mut self, route: Cow<'static, str>) {
        self.route = Some(match capped(&route, MAX_NAME) {
            Cow::Borrowed(_) => route,
            Cow::Owned(cut) => cut.into(),
        });
    }

    pub(super) fn set_identity(&mut self, identity: Arc<str>) {
        self.identity = Some(match capped(&identity, MAX_NAME) {
            Cow::Borrowed(_) => identity,
            Cow::Owned(cut) => cut.into(),
        });
    }

    /// The method of the request.
    ///
    /// ```
    /// # use {http::Request, std::time::Duration, ziggurat_layers::audit::Record};
    /// let record = Record::of(&Request::put("/a").body(())?, Duration::ZERO);
    /// assert_eq!(record.method(), "PUT");
    /// # Ok::<_, http::Error>(())
    /// ```
    #[must_use]
    pub fn method(&self) -> &Method {
        &self.method
    }

    /// The version of HTTP.
    ///
    /// ```
    /// # use {http::{Request, Version}, std::time::Duration, ziggurat_layers::audit::Record};
    /// let record = Record::of(&Request::new(()), Duration::ZERO);
    /// assert_eq!(record.version(), Version::HTTP_11);
    /// ```
    #[must_use]
    pub fn version(&self) -> Version {
        self.version
    }

    /// The path of the request, without the query.
    ///
    /// Paths may hold secrets as well, such as links that reset a password; the
    /// [`route`](Self::route) does not.
    ///
    /// ```
    /// # use {http::Request, std::time::Duration, ziggurat_layers::audit::Record};
    /// let record = Record::of(&Request::get("/a?b=c").body(())?, Duration::ZERO);
    /// assert_eq!(record.path(), "/a");
    /// # Ok::<_, http::Error>(())
    /// ```
    #[must_use]
    pub fn path(&self) -> &str {
        &self.path
    }

    /// The name of the route, if one was [set](super::AuditEntry::set_route).
    ///
    /// ```
    /// # use {http::Request, std::time::Duration, ziggurat_layers::audit::Record};
    /// let record = Record::of(&Request::new(()), Duration::ZERO);
    /// assert_eq!(record.route(), None);
    /// ```
    #[must_use]
    pub fn route(&self) -> Option<&str> {
        self.route.as_deref()
    }

    /// The status of the response; `None` if there was no response.
    ///
    /// ```
    /// # use {http::Request, std::time::Duration, ziggurat_layers::audit::Record};
    /// let record = Record::of(&Request::new(()), Duration::ZERO);
    /// assert_eq!(record.status(), None);
    /// ```
    #[must_use]
    pub fn status(&self) -> Option<StatusCode> {
        self.status
    }

    /// The [`code`](crate::reject::Rejection::code) of the layer that refused the request.
    ///
    /// ```
    /// # use {http::Request, std::time::Duration, ziggurat_layers::audit::Record};
    /// let record = Record::of(&Request::new(()), Duration::ZERO);
    /// assert_eq!(record.code(), None);
    /// ```
    #[must_use]
    pub fn code(&self) -> Option<&'static str> {
        self.code
    }

    /// The end of the request.
    ///
    /// ```
    /// # use {http::Request, std::time::Duration, ziggurat_layers::audit::{Outcome, Record}};
    /// let record = Record::of(&Request::new(()), Duration::ZERO);
    /// assert_eq!(record.outcome(), Outcome::Cancelled);
    /// ```
    #[must_use]
    pub fn outcome(&self) -> Outcome {
        self.outcome
    }

    /// The number of bytes of the request body that were read.
    ///
    /// ```
    /// # use {http::Request, std::time::Duration, ziggurat_layers::audit::Record};
    /// let record = Record::of(&Request::new(()), Duration::ZERO);
    /// assert_eq!(record.bytes_in(), 0);
    /// ```
    #[must_use]
    pub fn bytes_in(&self) -> u64 {
        self.bytes_in
    }

    /// The number of bytes of the response body that the server took, without trailers.
    ///
    /// ```
    /// # use {http::Request, std::time::Duration, ziggurat_layers::audit::Record};
    /// let record = Record::of(&Request::new(()), Duration::ZERO);
    /// assert_eq!(record.bytes_out(), 0);
    /// ```
    #[must_use]
    pub fn bytes_out(&self) -> u64 {
        self.bytes_out
    }

    /// The start of the request, as the time since 1970 in UTC.
    ///
    /// ```
    /// # use {http::Request, std::time::Duration, ziggurat_layers::audit::Record};
    /// let record = Record::of(&Request::new(()), Duration::from_secs(7));
    /// assert_eq!(record.started(), Duration::from_secs(7));
    /// ```
    #[must_use]
    pub fn started(&self) -> Duration {
        self.started
    }

    /// The time from the call of the service to the end of the request.
    ///
    /// ```
    /// # use {http::Request, std::time::Duration, ziggurat_layers::audit::Record};
    /// let record = Record::of(&Request::new(()), Duration::ZERO);
    /// assert_eq!(record.duration(), Duration::ZERO);
    /// ```
    #[must_use]
    pub fn duration(&self) -> Duration {
        self.duration
    }

    /// The address of the client: the [`ClientIp`] of the request when it reached the layer.
    ///
    /// ```
    /// # use {http::Request, std::time::Duration, ziggurat_layers::audit::Record};
    /// use ziggurat_layers::client_ip::ClientIp;
    ///
    /// let client = ClientIp::from_peer("192.0.2.1:4711".parse()?);
    /// let request = Request::get("/").extension(client).body(())?;
    /// let record = Record::of(&request, Duration::ZERO);
    /// assert_eq!(record.client(), Some("192.0.2.1".parse()?));
    /// # Ok::<_, Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn client(&self) -> Option<IpAddr> {
        self.client
    }

    /// The authenticated caller, if one was [set](super::AuditEntry::set_identity).
    ///
    /// ```
    /// # use {http::Request, std::time::Duration, ziggurat_layers::audit::Record};
    /// let record = Record::of(&Request::new(()), Duration::ZERO);
    /// assert_eq!(record.identity(), None);
    /// ```
    #[must_use]
    pub fn identity(&self) -> Option<&str> {
        self.identity.as_deref()
    }

    /// The [`RequestId`] in the extensions of the request, else the one in its `x-request-id`.
    ///
    /// The header is the word of the client, unless a proxy or a layer further out replaces it.
    ///
    /// ```
    /// # use {http::Request, std::time::Duration, ziggurat_layers::audit::Record};
    /// let request = Request::get("/").header("x-request-id", "42-a").body(())?;
    /// let record = Record::of(&request, Duration::ZERO);
    /// assert_eq!(record.request_id().unwrap().as_str(), "42-a");
    /// # Ok::<_, http::Error>(())
    /// ```
    #[must_use]
    pub fn request_id(&self) -> Option<&RequestId> {
        self.request_id.as_ref()
    }

    /// The trace id in the `traceparent` header of the request.
    ///
    /// ```
    /// # use {http::Request, std::time::Duration, ziggurat_layers::audit::Record};
    /// let record = Record::of(&Request::new(()), Duration::ZERO);
    /// assert_eq!(record.trace_id(), None);
    /// ```
    #[must_use]
    pub fn trace_id(&self) -> Option<TraceId> {
        self.trace_id
    }
}

fn parsed(value: &HeaderValue) -> Option<RequestId> {
    RequestId::try_from(value).ok()
}

fn capped_method(method: &Method) -> Method {
    let name = method.as_str().as_bytes();
    if name.len() <= MAX_METHOD {
        return method.clone();
    }
    Method::from_bytes(&name[..MAX_METHOD]).expect("a part of a token is a token")
}

/// Cuts a text that is longer than `max` bytes.
fn capped(text: &str, max: usize) -> Cow<'_, str> {
    if text.len() <= max {
        return text.into();
    }
    let mark = "…";
    let mut end = max - mark.len();
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    format!("{}{mark}", &text[..end]).into()
}

// === impl Outcome ===

impl Outcome {
    /// The name, for programs: in snake case.
    ///
    /// ```
    /// use ziggurat_layers::audit::Outcome;
    ///
    /// assert_eq!(Outcome::Completed.as_str(), "completed");
    /// ```
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Completed => "completed",
            Self::ResponseAborted => "response_aborted",
            Self::BodyFailed => "body_failed",
            Self::Cancelled => "cancelled",
            Self::ServiceError => "service_error",
            Self::Panicked => "panicked",
        }
    }
}
