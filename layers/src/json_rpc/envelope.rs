//! The envelope of an answer.

#[cfg(test)]
mod tests;

use bytes::Bytes;
use http::{HeaderValue, StatusCode, header};

use crate::json_rpc::{Answer, Error, Id, Reply, RpcBody, body::Opening, reply::ReplyOutcome};

const RESULT: &str = r#","result":"#;
const ERROR: &str = r#","error":"#;

/// Capacity for the headers that outer layers add, reserved once.
const HEADERS: usize = 6;

/// Wraps the reply to one call: holds its id, or that the call is a notification.
///
/// Needed only to call a service without the layer; take it from the call first. Otherwise
/// [`Incoming::answer`](crate::json_rpc::Incoming::answer) does both.
///
/// ```
/// use ziggurat_layers::json_rpc::{Answer, Call, Error, NoStream, Reply};
///
/// /// Answers without the layer: the envelope outlives the call.
/// fn serve(call: Call, method: fn(Call) -> Result<Reply, Error>) -> Answer<NoStream> {
///     let envelope = call.envelope();
///     envelope.wrap(method(call).unwrap_or_else(Reply::from))
/// }
/// # let _ = serve;
/// ```
#[derive(Clone, Debug)]
#[must_use]
pub struct Envelope {
    pub(crate) recipient: Recipient,
    pub(super) error_status: fn(&Error) -> StatusCode,
}

/// The recipient of the answer.
#[derive(Clone, Debug)]
pub(crate) enum Recipient {
    /// The client that sent this id.
    Caller(Id),
    /// A client that sent an unreadable id.
    Unknown(UnknownId),
    /// No recipient: the call was a notification.
    Notification,
}

/// The replacement for an id that could not be read.
#[derive(Clone, Copy, Debug)]
pub(crate) enum UnknownId {
    Null,
    Omitted,
}

// === impl Envelope ===

impl Envelope {
    pub(crate) fn id(&self) -> Option<&Id> {
        match &self.recipient {
            Recipient::Caller(id) => Some(id),
            Recipient::Unknown(_) | Recipient::Notification => None,
        }
    }

    /// Makes the answer.
    ///
    /// Of the reply to a notification only the extensions are kept.
    ///
    /// ```
    /// use http::Request;
    /// use ziggurat_layers::json_rpc::{Dialect, Error, Incoming, NoStream, Reply};
    ///
    /// let message = r#"{"jsonrpc":"2.0","method":"log"}"#;
    /// let Incoming::Call(call) = Dialect::new().read(Request::new(message.into())) else {
    ///     panic!("a notification");
    /// };
    /// let answer = call.envelope().wrap(Reply::<NoStream>::from(Error::method_not_found()));
    /// assert!(answer.into_body().is_none());
    /// ```
    pub fn wrap<T>(&self, reply: Reply<T>) -> Answer<T> {
        let Reply {
            outcome,
            status,
            mut headers,
            extensions,
        } = reply;
        if matches!(self.recipient, Recipient::Notification) {
            return Answer::none(extensions);
        }
        let (usual, body) = match outcome {
            ReplyOutcome::Json(json) => (StatusCode::OK, json.into_body(&self.opening(RESULT))),
            ReplyOutcome::Stream(result) => {
                let opening = self.opening(RESULT).join(0).into();
                (StatusCode::OK, RpcBody::streamed(opening, result))
            }
            ReplyOutcome::Error(error) => {
                let body = self.wrap_error(&error).into();
                ((self.error_status)(&error), body)
            }
        };
        headers.reserve(HEADERS);
        let json = HeaderValue::from_static("application/json");
        headers.insert(header::CONTENT_TYPE, json);
        Answer {
            status: status.unwrap_or(usual),
            headers,
            extensions,
            body: Some(body),
        }
    }

    pub(crate) fn wrap_error(&self, error: &Error) -> Bytes {
        let mut out = self.opening(ERROR).join(128);
        error.write_to(&mut out);
        out.push(b'}');
        out.into()
    }

    fn opening(&self, member: &'static str) -> Opening<'_> {
        let (name, id) = match &self.recipient {
            Recipient::Caller(id) => (r#","id":"#, id.as_json()),
            Recipient::Unknown(UnknownId::Null) | Recipient::Notification => (r#","id":"#, "null"),
            Recipient::Unknown(UnknownId::Omitted) => ("", ""),
        };
        Opening::new([r#"{"jsonrpc":"2.0""#, name, id, member])
    }
}
