//! A message that was read, and its answer.

use bytes::Bytes;
use http::Extensions;
use tower_service::Service;

use crate::json_rpc::{Answer, Answering, Batch, Call, Envelope, Error, Reply};

/// A message that was read.
///
/// ```
/// use http::Request;
/// use ziggurat_layers::json_rpc::{Dialect, Incoming};
///
/// fn describe(message: &'static str) -> String {
///     match Dialect::new().read(Request::new(message.into())) {
///         Incoming::Call(call) => format!("calls {}", call.method()),
///         Incoming::Batch(batch) => format!("makes {} calls", batch.len()),
///         Incoming::Refused(refusal) => format!("is refused: {}", refusal.error().message()),
///         Incoming::Ignored => "is ignored".to_owned(),
///     }
/// }
/// assert_eq!(describe(r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#), "calls ping");
/// assert_eq!(describe("ping"), "is refused: Parse error");
/// ```
#[derive(Debug)]
pub enum Incoming {
    /// One request or notification.
    Call(Call),
    /// Several in an array.
    Batch(Batch),
    /// A message that is answered with an error without calling the service.
    Refused(Refusal),
    /// A message without an answer that is not passed on: a response, if those are
    /// [ignored](crate::json_rpc::Dialect::with_responses_ignored), or a notification with invalid params.
    Ignored,
}

/// The error answer to a message that is not passed on.
///
/// ```
/// use http::Request;
/// use ziggurat_layers::json_rpc::{Dialect, Error, Incoming};
///
/// let Incoming::Refused(refusal) = Dialect::new().read(Request::new("ping".into())) else {
///     panic!("not JSON");
/// };
/// assert_eq!(refusal.error().code(), Error::PARSE_ERROR);
/// ```
#[derive(Clone, Debug)]
#[must_use]
pub struct Refusal {
    pub(crate) envelope: Envelope,
    pub(crate) error: Error,
}

// === impl Incoming ===

impl Incoming {
    /// Answers the message, with calls of the service if needed.
    ///
    /// The service need not be ready.
    ///
    /// ```
    /// use std::convert::Infallible;
    /// use http::Request;
    /// use http_body_util::BodyExt as _;
    /// use tower::service_fn;
    /// use ziggurat_layers::json_rpc::{Call, Dialect, Error, Json, Reply};
    ///
    /// # tokio_test::block_on(async {
    /// let service = service_fn(|_: Call| async {
    ///     let pong = Json::new("pong").map_err(|_| Error::internal_error());
    ///     Ok::<_, Infallible>(<Reply>::from(pong))
    /// });
    /// let message = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;
    /// let answer = Dialect::new().read(Request::new(message.into())).answer(service).await?;
    /// let body = answer.into_body().expect("a request has an answer");
    /// let text = body.collect().await?.to_bytes();
    /// assert_eq!(text, r#"{"jsonrpc":"2.0","id":1,"result":"pong"}"#);
    /// # Ok::<_, Infallible>(())
    /// # }).unwrap();
    /// ```
    pub fn answer<S, T>(self, service: S) -> Answering<S, S::Future, T>
    where
        S: Service<Call, Response = Reply<T>>,
    {
        match self {
            Self::Call(call) => Answering::call(call, service),
            Self::Batch(batch) => Answering::batch(batch.run(), service),
            Self::Refused(refusal) => Answering::ready(refusal.into_answer(), service),
            Self::Ignored => Answering::ready(Answer::none(Extensions::new()), service),
        }
    }
}

// === impl Refusal ===

impl Refusal {
    /// The reason for the refusal.
    ///
    /// ```
    /// use ziggurat_layers::json_rpc::Refusal;
    ///
    /// /// Nothing of the message is in an error, so it may be logged.
    /// fn log_line(refusal: &Refusal) -> String {
    ///     format!("refused a message: {}", refusal.error().data().unwrap_or("no reason"))
    /// }
    /// # let _ = log_line;
    /// ```
    #[must_use]
    pub fn error(&self) -> &Error {
        &self.error
    }

    /// Returns the complete answer.
    ///
    /// ```
    /// use http::Request;
    /// use ziggurat_layers::json_rpc::{Dialect, Incoming, NoStream};
    ///
    /// let Incoming::Refused(refusal) = Dialect::new().read(Request::new("ping".into())) else {
    ///     panic!("not JSON");
    /// };
    /// assert_eq!(refusal.into_answer::<NoStream>().into_response().status(), 200);
    /// ```
    pub fn into_answer<T>(self) -> Answer<T> {
        self.envelope.wrap(Reply::from(self.error))
    }

    pub(super) fn to_bytes(&self) -> Bytes {
        self.envelope.wrap_error(&self.error)
    }
}
