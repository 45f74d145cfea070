//! The reply of a service to a call.

use std::{
    convert::Infallible,
    error, fmt,
    pin::Pin,
    task::{Context, Poll},
};

use bytes::{Buf as _, Bytes};
use http::{Extensions, HeaderMap, HeaderName, HeaderValue, StatusCode};
use http_body::{Body, Frame, SizeHint};
use serde::Serialize;

use crate::json_rpc::{Error, RpcBody, body::Opening};

/// Space in front of a ready result: the opening of an answer with an id of up to 40 bytes, enough
/// for a UUID in quotes.
const HEADER_SPACE: usize = r#"{"jsonrpc":"2.0","id":,"result":"#.len() + 40;

/// The reply to a [`Call`](crate::json_rpc::Call): a ready result, a streamed one, or an error.
///
/// `T` is the body of streamed results. A reply may have HTTP parts: a status, headers, and
/// extensions for the layers further out.
///
/// ```
/// use http::StatusCode;
/// use ziggurat_layers::{json_rpc::{Error, Json, NoStream, Reply}, reject::AuthFailed};
///
/// let ready: Reply = Json::new(&["a", "result"])?.into();
/// let streamed = Reply::stream(String::from(r#"{"rows":[]}"#));
/// let refused: Reply<NoStream> = Reply::from(Error::internal_error())
///     .with_status(StatusCode::TOO_MANY_REQUESTS)
///     .with_extension(AuthFailed);
/// # let _ = (ready, streamed, refused);
/// # Ok::<_, ziggurat_layers::json_rpc::NotJson>(())
/// ```
#[derive(Clone)]
#[must_use]
pub struct Reply<T = NoStream> {
    pub(super) outcome: ReplyOutcome<T>,
    pub(super) status: Option<StatusCode>,
    pub(super) headers: HeaderMap,
    pub(super) extensions: Extensions,
}

#[derive(Clone)]
pub(super) enum ReplyOutcome<T> {
    Json(Json),
    Stream(T),
    Error(Error),
}

/// A result that is ready, as JSON.
///
/// It is serialised once, behind space for the opening of its answer, and sent as one frame without
/// being copied. A large result, or one that is text already, is better [streamed](Reply::stream).
///
/// ```
/// use ziggurat_layers::json_rpc::{Json, NotJson, Reply};
///
/// fn rows(names: &[&str]) -> Result<Reply, NotJson> {
///     Ok(Json::new(names)?.into())
/// }
/// assert!(rows(&["ali", "bob"])?.error().is_none());
/// # Ok::<_, NotJson>(())
/// ```
#[derive(Clone)]
pub struct Json {
    /// [`HEADER_SPACE`] bytes to be overwritten, then the result.
    buffer: Vec<u8>,
}

/// A value could not be written as JSON.
///
/// ```
/// use std::collections::HashMap;
/// use ziggurat_layers::json_rpc::Json;
///
/// let keys_that_are_lists = HashMap::from([(vec![1, 2], "one and two")]);
/// let error = Json::new(&keys_that_are_lists).unwrap_err();
/// assert_eq!(error.to_string(), "a result could not be written as JSON");
/// ```
#[derive(Debug)]
pub struct NotJson(serde_json::Error);

/// The body of a service that streams no results; it has no values.
///
/// ```
/// use ziggurat_layers::json_rpc::{Error, NoStream, Reply};
///
/// /// `Reply` alone means the same.
/// fn reply() -> Reply<NoStream> {
///     Error::method_not_found().into()
/// }
/// let same: Reply = reply();
/// # let _ = same;
/// ```
#[derive(Clone, Copy, Debug)]
pub enum NoStream {}

// === impl Reply ===

impl<T> Reply<T> {
    /// Replies with a result that is sent as it is produced.
    ///
    /// The data of the body is one JSON value, which is neither checked nor copied. On lines
    /// it must not contain a line feed; JSON never needs one.
    ///
    /// ```
    /// use ziggurat_layers::json_rpc::Reply;
    ///
    /// // A result that is text already: it is not parsed and not copied.
    /// let stored = String::from(r#"{"rows":[]}"#);
    /// let reply = Reply::stream(stored);
    /// assert!(reply.error().is_none());
    /// ```
    pub fn stream(result: T) -> Self {
        Self::new(ReplyOutcome::Stream(result))
    }

    fn new(outcome: ReplyOutcome<T>) -> Self {
        Self {
            outcome,
            status: None,
            headers: HeaderMap::new(),
            extensions: Extensions::new(),
        }
    }

    /// Sets the HTTP status. The default is 200 for a result, and for an error the status set by
    /// [`with_error_status`](crate::json_rpc::Dialect::with_error_status).
    ///
    /// ```
    /// use http::StatusCode;
    /// use ziggurat_layers::json_rpc::{Error, Reply};
    ///
    /// let reply = <Reply>::from(Error::new(-32001, "Session not found"))
    ///     .with_status(StatusCode::NOT_FOUND);
    /// # let _ = reply;
    /// ```
    pub fn with_status(mut self, status: StatusCode) -> Self {
        self.status = Some(status);
        self
    }

    /// Returns the status of the HTTP response, if one was set.
    ///
    /// ```
    /// use http::StatusCode;
    /// use ziggurat_layers::json_rpc::{Json, Reply};
    ///
    /// let reply: Reply = Json::new(&7)?.into();
    /// assert_eq!(reply.status(), None);
    /// let reply = reply.with_status(StatusCode::FORBIDDEN);
    /// assert_eq!(reply.status(), Some(StatusCode::FORBIDDEN));
    /// # Ok::<_, Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn status(&self) -> Option<StatusCode> {
        self.status
    }

    /// Adds a header to the HTTP response, next to others of that name.
    ///
    /// ```
    /// use http::{HeaderValue, header};
    /// use ziggurat_layers::json_rpc::{Error, Reply};
    ///
    /// let reply = <Reply>::from(Error::new(-32000, "Busy"))
    ///     .with_header(header::RETRY_AFTER, HeaderValue::from_static("5"));
    /// # let _ = reply;
    /// ```
    pub fn with_header(mut self, name: HeaderName, value: HeaderValue) -> Self {
        self.headers.append(name, value);
        self
    }

    /// Puts a value into the extensions of the HTTP response.
    ///
    /// ```
    /// use ziggurat_layers::{json_rpc::{Error, Reply}, reject::AuthFailed};
    ///
    /// // The rate limiter further out counts a failed login.
    /// let reply = <Reply>::from(Error::new(-32001, "Wrong password")).with_extension(AuthFailed);
    /// # let _ = reply;
    /// ```
    pub fn with_extension(mut self, value: impl Clone + Send + Sync + 'static) -> Self {
        self.extensions.insert(value);
        self
    }

    /// Changes the type of streamed results.
    ///
    /// ```
    /// use bytes::Bytes;
    /// use http_body_util::{BodyExt as _, Full, combinators::BoxBody};
    /// use ziggurat_layers::json_rpc::Reply;
    ///
    /// let plain: Reply<Full<Bytes>> = Reply::stream(Full::from("[]"));
    /// // One type for the methods of a server that stream in different ways.
    /// let boxed: Reply<BoxBody<Bytes, std::convert::Infallible>> = plain.map_stream(|body| body.boxed());
    /// # let _ = boxed;
    /// ```
    pub fn map_stream<U>(self, map: impl FnOnce(T) -> U) -> Reply<U> {
        Reply {
            outcome: match self.outcome {
                ReplyOutcome::Json(json) => ReplyOutcome::Json(json),
                ReplyOutcome::Stream(result) => ReplyOutcome::Stream(map(result)),
                ReplyOutcome::Error(error) => ReplyOutcome::Error(error),
            },
            status: self.status,
            headers: self.headers,
            extensions: self.extensions,
        }
    }

    /// The error, if the call failed.
    ///
    /// ```
    /// use ziggurat_layers::json_rpc::{Error, Reply};
    ///
    /// /// The label of a call in the metrics.
    /// fn outcome(reply: &Reply) -> &'static str {
    ///     if reply.error().is_some() { "error" } else { "ok" }
    /// }
    /// assert_eq!(outcome(&Error::internal_error().into()), "error");
    /// ```
    #[must_use]
    pub fn error(&self) -> Option<&Error> {
        match &self.outcome {
            ReplyOutcome::Error(error) => Some(error),
            ReplyOutcome::Json(_) | ReplyOutcome::Stream(_) => None,
        }
    }
}

impl<T> From<Json> for Reply<T> {
    fn from(result: Json) -> Self {
        Self::new(ReplyOutcome::Json(result))
    }
}

impl<T> From<Error> for Reply<T> {
    fn from(error: Error) -> Self {
        Self::new(ReplyOutcome::Error(error))
    }
}

impl<T> From<Result<Json, Error>> for Reply<T> {
    fn from(outcome: Result<Json, Error>) -> Self {
        outcome.map_or_else(Self::from, Self::from)
    }
}

impl<T> fmt::Debug for Reply<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let outcome: &dyn fmt::Debug = match &self.outcome {
            ReplyOutcome::Json(json) => json,
            ReplyOutcome::Stream(_) => &"a stream",
            ReplyOutcome::Error(error) => error,
        };
        f.debug_struct("Reply")
            .field("outcome", outcome)
            .field("status", &self.status)
            .field("headers", &self.headers)
            .finish_non_exhaustive()
    }
}

// === impl Json ===

impl Json {
    /// Serialises a result.
    ///
    /// ```
    /// use ziggurat_layers::json_rpc::Json;
    ///
    /// #[derive(serde::Serialize)]
    /// struct Sum { value: i64 }
    ///
    /// assert_eq!(Json::new(&Sum { value: 5 })?.as_bytes(), br#"{"value":5}"#);
    /// # Ok::<_, ziggurat_layers::json_rpc::NotJson>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Fails if JSON cannot represent the value, such as a map with keys that are not strings.
    pub fn new<V: Serialize + ?Sized>(result: &V) -> Result<Self, NotJson> {
        let mut buffer = Vec::with_capacity(HEADER_SPACE + 128);
        buffer.resize(HEADER_SPACE, 0);
        serde_json::to_writer(&mut buffer, result).map_err(NotJson)?;
        Ok(Self { buffer })
    }

    /// The result.
    ///
    /// ```
    /// use ziggurat_layers::json_rpc::Json;
    ///
    /// assert_eq!(Json::new("pong")?.as_bytes(), br#""pong""#);
    /// # Ok::<_, ziggurat_layers::json_rpc::NotJson>(())
    /// ```
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        &self.buffer[HEADER_SPACE..]
    }

    /// Completes the answer in front of and behind the result.
    pub(super) fn into_body<T>(self, opening: &Opening<'_>) -> RpcBody<T> {
        let mut buffer = self.buffer;
        buffer.push(b'}');
        let Some(start) = HEADER_SPACE.checked_sub(opening.len()) else {
            // The id is longer than most. It is sent as a frame of its own, because the result may
            // be large.
            let mut rest = Bytes::from(buffer);
            rest.advance(HEADER_SPACE);
            return RpcBody::buffered(opening.join(0).into(), vec![rest]);
        };
        let mut at = start;
        for piece in opening.pieces() {
            buffer[at..at + piece.len()].copy_from_slice(piece);
            at += piece.len();
        }
        let mut whole = Bytes::from(buffer);
        whole.advance(start);
        RpcBody::from(whole)
    }
}

impl fmt::Debug for Json {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The text is left out: it may be long and private.
        let length = self.as_bytes().len();
        f.debug_struct("Json")
            .field("length", &length)
            .finish_non_exhaustive()
    }
}

// === impl NotJson ===

impl fmt::Display for NotJson {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a result could not be written as JSON")
    }
}

impl error::Error for NotJson {
    fn source(&self) -> Option<&(dyn error::Error + 'static)> {
        Some(&self.0)
    }
}

// === impl NoStream ===

impl Body for NoStream {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        match *self {}
    }

    fn is_end_stream(&self) -> bool {
        match *self {}
    }

    fn size_hint(&self) -> SizeHint {
        match *self {}
    }
}
