//! Checks which messages are accepted, and reads them.

use std::fmt;

use bytes::Bytes;
use http::{Request, StatusCode, request::Parts};

use crate::json_rpc::{
    Batch, Batches, Call, Envelope, Error, Id, Incoming, Refusal,
    envelope::{Recipient, UnknownId},
    scan::{Document, Limits, Message, scan},
    text::{Span, Text},
};

/// The variant of JSON-RPC: which messages are accepted, and the form of refusals.
///
/// By default it is strict version 2.0, without batches. The same dialect serves HTTP and
/// [lines](crate::json_rpc::lines).
///
/// ```
/// use http::Request;
/// use ziggurat_layers::json_rpc::{Batches, Dialect, Incoming};
///
/// let dialect = Dialect::new()
///     .with_batches(Batches::new(20))
///     .with_strict_ids()
///     .with_object_params();
/// let message = r#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#;
/// assert!(matches!(dialect.read(Request::new(message.into())), Incoming::Refused(_)));
/// ```
#[derive(Clone, Copy, Debug)]
#[must_use]
pub struct Dialect {
    batches: Option<Batches>,
    max_depth: u8,
    ids_are_strict: bool,
    params_are_objects: bool,
    responses_are_ignored: bool,
    unknown_id: UnknownId,
    error_status: fn(&Error) -> StatusCode,
}

/// One message of a document, checked.
pub(crate) enum Checked {
    Call(CheckedCall),
    Refused(Refusal),
    Ignored,
}

/// A call without its head.
pub(crate) struct CheckedCall {
    pub(crate) method: Text,
    pub(crate) params: Option<Text>,
    pub(crate) envelope: Envelope,
}

// === impl Dialect ===

impl Dialect {
    /// Accepts requests and notifications of version 2.0 of the specification.
    ///
    /// ```
    /// use http::Request;
    /// use ziggurat_layers::json_rpc::{Dialect, Incoming};
    ///
    /// let message = r#"{"jsonrpc":"1.0","id":1,"method":"ping"}"#;
    /// assert!(matches!(Dialect::new().read(Request::new(message.into())), Incoming::Refused(_)));
    /// ```
    pub fn new() -> Self {
        Self {
            batches: None,
            max_depth: 64,
            ids_are_strict: false,
            params_are_objects: false,
            responses_are_ignored: false,
            unknown_id: UnknownId::Null,
            error_status: |_| StatusCode::OK,
        }
    }

    /// Answers batches, which are refused by default.
    ///
    /// ```
    /// use http::Request;
    /// use ziggurat_layers::json_rpc::{Batches, Dialect, Incoming};
    ///
    /// let dialect = Dialect::new().with_batches(Batches::new(20));
    /// let message = r#"[{"jsonrpc":"2.0","id":1,"method":"ping"}]"#;
    /// assert!(matches!(dialect.read(Request::new(message.into())), Incoming::Batch(_)));
    /// ```
    pub fn with_batches(mut self, batches: Batches) -> Self {
        self.batches = Some(batches);
        self
    }

    /// Sets how many arrays and objects may be open at once in a message (64 by default).
    ///
    /// `serde_json` fails at 128 levels below the params in any case.
    ///
    /// ```
    /// use http::Request;
    /// use ziggurat_layers::json_rpc::{Dialect, Incoming};
    ///
    /// let dialect = Dialect::new().with_max_depth(2);
    /// let message = r#"{"jsonrpc":"2.0","id":1,"method":"m","params":{"a":[]}}"#;
    /// assert!(matches!(dialect.read(Request::new(message.into())), Incoming::Refused(_)));
    /// ```
    pub fn with_max_depth(mut self, levels: u8) -> Self {
        self.max_depth = levels;
        self
    }

    /// Refuses ids other than strings and integers: no `null`, no fractions, no exponents.
    ///
    /// ```
    /// use http::Request;
    /// use ziggurat_layers::json_rpc::{Dialect, Incoming};
    ///
    /// let message = || Request::new(r#"{"jsonrpc":"2.0","id":1.5,"method":"ping"}"#.into());
    /// assert!(matches!(Dialect::new().read(message()), Incoming::Call(_)));
    /// assert!(matches!(Dialect::new().with_strict_ids().read(message()), Incoming::Refused(_)));
    /// ```
    pub fn with_strict_ids(mut self) -> Self {
        self.ids_are_strict = true;
        self
    }

    /// Refuses params by position: params must be an object.
    ///
    /// ```
    /// use http::Request;
    /// use ziggurat_layers::json_rpc::{Dialect, Error, Incoming};
    ///
    /// let message = r#"{"jsonrpc":"2.0","id":1,"method":"sum","params":[2,3]}"#;
    /// let dialect = Dialect::new().with_object_params();
    /// let Incoming::Refused(refusal) = dialect.read(Request::new(message.into())) else {
    ///     panic!("an array");
    /// };
    /// assert_eq!(refusal.error().code(), Error::INVALID_PARAMS);
    /// ```
    pub fn with_object_params(mut self) -> Self {
        self.params_are_objects = true;
        self
    }

    /// Ignores messages that are responses, which are refused by default.
    ///
    /// A response is an object of version 2.0, without a `method`, that has a `result` or an
    /// `error`.
    ///
    /// ```
    /// use http::Request;
    /// use ziggurat_layers::json_rpc::{Dialect, Incoming};
    ///
    /// let message = r#"{"jsonrpc":"2.0","id":1,"result":{}}"#;
    /// let dialect = Dialect::new().with_responses_ignored();
    /// assert!(matches!(dialect.read(Request::new(message.into())), Incoming::Ignored));
    /// ```
    pub fn with_responses_ignored(mut self) -> Self {
        self.responses_are_ignored = true;
        self
    }

    /// Omits the `id` of an answer if the id of the message could not be read; the default is
    /// `null`.
    ///
    /// ```
    /// use http::Request;
    /// use http_body_util::BodyExt as _;
    /// use ziggurat_layers::json_rpc::{Dialect, Incoming, NoStream};
    ///
    /// # tokio_test::block_on(async {
    /// let dialect = Dialect::new().with_unknown_id_omitted();
    /// let Incoming::Refused(refusal) = dialect.read(Request::new("ping".into())) else {
    ///     panic!("not JSON");
    /// };
    /// let body = refusal.into_answer::<NoStream>().into_body().expect("an error");
    /// assert!(body.collect().await?.to_bytes().starts_with(br#"{"jsonrpc":"2.0","error":"#));
    /// # Ok::<_, std::convert::Infallible>(())
    /// # }).unwrap();
    /// ```
    pub fn with_unknown_id_omitted(mut self) -> Self {
        self.unknown_id = UnknownId::Omitted;
        self
    }

    /// Sets the HTTP status of answers that are errors (200 by default).
    ///
    /// It applies to refused messages and to the errors of the service, unless a reply [has its own
    /// status](crate::json_rpc::Reply::with_status). Batches always have status 200.
    ///
    /// ```
    /// use http::StatusCode;
    /// use ziggurat_layers::json_rpc::{Dialect, Error};
    ///
    /// let dialect = Dialect::new().with_error_status(|error| match error.code() {
    ///     Error::METHOD_NOT_FOUND => StatusCode::NOT_FOUND,
    ///     _ => StatusCode::BAD_REQUEST,
    /// });
    /// # let _ = dialect;
    /// ```
    pub fn with_error_status(mut self, status: fn(&Error) -> StatusCode) -> Self {
        self.error_status = status;
        self
    }

    /// Reads a message.
    ///
    /// The body of the request is the whole message; its head is passed to the calls in it. Without
    /// HTTP, `Request::new(line)` is enough.
    ///
    /// ```
    /// use http::Request;
    /// use ziggurat_layers::json_rpc::{Dialect, Incoming};
    ///
    /// let message = Request::post("/rpc")
    ///     .header("x-tenant", "acme")
    ///     .body(r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#.into())?;
    /// let Incoming::Call(call) = Dialect::new().read(message) else {
    ///     panic!("a call");
    /// };
    /// assert_eq!(call.head().headers["x-tenant"], "acme");
    /// # Ok::<_, http::Error>(())
    /// ```
    #[must_use]
    pub fn read(&self, message: Request<Bytes>) -> Incoming {
        let (head, document) = message.into_parts();
        let limits = Limits {
            max_depth: self.max_depth,
            max_messages: self.batches.map_or(0, |batches| batches.max_calls),
        };
        match scan(&document, limits) {
            Ok(Document::Single(message)) => match self.check(&message, &document) {
                Checked::Call(call) => Incoming::Call(call.into_call(head, false)),
                Checked::Refused(refusal) => Incoming::Refused(refusal),
                Checked::Ignored => Incoming::Ignored,
            },
            Ok(Document::Array { kept, count }) => self.batch(kept, count, document, head),
            Err(fault) => {
                let error = Error::parse_error().with_data(fault.to_string());
                Incoming::Refused(self.refuse(None, error))
            }
        }
    }

    fn batch(
        &self,
        messages: Vec<Message>,
        count: usize,
        document: Bytes,
        head: Parts,
    ) -> Incoming {
        let refuse = |problem: &str| {
            let error = Error::invalid_request().with_data(problem);
            Incoming::Refused(self.refuse(None, error))
        };
        let Some(limits) = self.batches else {
            return refuse("batches are not accepted");
        };
        if count == 0 {
            return refuse("the batch is empty");
        }
        if count > messages.len() {
            return refuse("the batch has too many messages");
        }
        Incoming::Batch(Batch {
            dialect: *self,
            limits,
            document,
            head,
            messages,
        })
    }

    /// Checks the members of an envelope.
    pub(crate) fn check(&self, message: &Message, document: &Bytes) -> Checked {
        let id = match message.id.map(|span| self.id(document, span)) {
            Some(Ok(id)) => Some(id),
            Some(Err(problem)) if !message.is_response() => {
                let error = Error::invalid_request().with_data(problem);
                return Checked::Refused(self.refuse(None, error));
            }
            Some(Err(_)) | None => None,
        };
        let version = check_version(message, document);
        if version.is_ok() && message.is_response() && self.responses_are_ignored {
            return Checked::Ignored;
        }
        let method = match version.and_then(|()| method(message, document)) {
            Ok(method) => method,
            Err(problem) => {
                let error = Error::invalid_request().with_data(problem);
                return Checked::Refused(self.refuse(id, error));
            }
        };
        let params = match self.params(message, document) {
            Ok(params) => params,
            // A notification gets no answer, so the error is dropped.
            Err(_) if id.is_none() => return Checked::Ignored,
            Err(problem) => {
                let error = Error::invalid_params().with_data(problem);
                return Checked::Refused(self.refuse(id, error));
            }
        };
        let recipient = id.map_or(Recipient::Notification, Recipient::Caller);
        Checked::Call(CheckedCall {
            method,
            params,
            envelope: self.envelope(recipient),
        })
    }

    fn id(&self, document: &Bytes, span: Span) -> Result<Id, &'static str> {
        let id = Id::of_value(document, span);
        if self.ids_are_strict {
            id.filter(|id| id.is_integer() || id.as_str().is_some())
                .ok_or("`id` must be a string or an integer")
        } else {
            id.ok_or("`id` must be a string, a number or null")
        }
    }

    /// Treats `null` as absent.
    fn params(&self, message: &Message, document: &Bytes) -> Result<Option<Text>, &'static str> {
        let Some(span) = message.params else {
            return Ok(None);
        };
        match document[span.start] {
            b'{' => Ok(Some(Text::of_value(document, span))),
            b'n' => Ok(None),
            _ if self.params_are_objects => Err("`params` must be an object"),
            b'[' => Ok(Some(Text::of_value(document, span))),
            _ => Err("`params` must be an object or an array"),
        }
    }

    pub(crate) fn refuse(&self, id: Option<Id>, error: Error) -> Refusal {
        let recipient = id.map_or(Recipient::Unknown(self.unknown_id), Recipient::Caller);
        let envelope = self.envelope(recipient);
        Refusal { envelope, error }
    }

    pub(crate) fn envelope(&self, recipient: Recipient) -> Envelope {
        Envelope {
            recipient,
            error_status: self.error_status,
        }
    }
}

impl Default for Dialect {
    fn default() -> Self {
        Self::new()
    }
}

/// Returns whether a message is an object of version 2.0.
fn check_version(message: &Message, document: &Bytes) -> Result<(), &'static str> {
    if !message.is_object {
        return Err("a message must be an object");
    }
    let version = message.jsonrpc.ok_or("`jsonrpc` is missing")?;
    let is_right = string(document, version).is_some_and(|version| version.as_str() == "2.0");
    is_right.then_some(()).ok_or("`jsonrpc` must be \"2.0\"")
}

/// The `method` of a message.
fn method(message: &Message, document: &Bytes) -> Result<Text, &'static str> {
    match (message.method, message.is_response()) {
        (Some(span), _) => string(document, span).ok_or("`method` must be a string"),
        (None, true) => Err("responses are not accepted"),
        (None, false) => Err("`method` is missing"),
    }
}

fn string(document: &Bytes, span: Span) -> Option<Text> {
    let is_string = document[span.start] == b'"';
    is_string.then(|| Text::of_string(document, span))
}

// === impl CheckedCall ===

impl CheckedCall {
    pub(super) fn into_call(self, head: Parts, is_batched: bool) -> Call {
        Call {
            method: self.method,
            params: self.params,
            envelope: self.envelope,
            is_batched,
            head,
        }
    }
}

impl fmt::Debug for CheckedCall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CheckedCall").finish_non_exhaustive()
    }
}
