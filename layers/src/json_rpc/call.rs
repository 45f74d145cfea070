//! One call, as the service receives it.

use std::fmt;

use http::request::Parts;
use serde::Deserialize;

use crate::json_rpc::{Envelope, Error, Id, text::Text};

/// Maximum bytes of a deserializer's error message that are sent, since it may quote the input.
const MAX_ERROR_TEXT: usize = 200;

/// A request or a notification with a checked envelope.
///
/// All text is borrowed from the buffer the message arrived in; the params are checked JSON,
/// but stay raw until the method is known.
///
/// ```
/// use bytes::Bytes;
/// use http::Request;
/// use ziggurat_layers::json_rpc::{Dialect, Error, Incoming};
///
/// #[derive(serde::Deserialize)]
/// struct Sum<'a> {
///     a: i64,
///     b: i64,
///     #[serde(default)]
///     note: &'a str,
/// }
///
/// let message = r#"{"jsonrpc":"2.0","id":1,"method":"sum","params":{"a":2,"b":3,"note":"hi"}}"#;
/// let Incoming::Call(call) = Dialect::new().read(Request::new(Bytes::from(message))) else {
///     panic!("a call");
/// };
/// assert_eq!(call.method(), "sum");
/// let sum: Sum<'_> = call.params()?;
/// assert_eq!((sum.a + sum.b, sum.note), (5, "hi"));
/// # Ok::<_, Error>(())
/// ```
#[derive(Clone)]
pub struct Call {
    pub(super) method: Text,
    pub(super) params: Option<Text>,
    pub(super) envelope: Envelope,
    pub(super) is_batched: bool,
    pub(super) head: Parts,
}

// === impl Call ===

impl Call {
    /// The name of the method.
    ///
    /// ```
    /// use http::Request;
    /// use ziggurat_layers::json_rpc::{Dialect, Incoming};
    ///
    /// let message = r#"{"jsonrpc":"2.0","id":1,"method":"tools\/list"}"#;
    /// let Incoming::Call(call) = Dialect::new().read(Request::new(message.into())) else {
    ///     panic!("a call");
    /// };
    /// assert_eq!(call.method(), "tools/list");
    /// ```
    #[must_use]
    pub fn method(&self) -> &str {
        self.method.as_str()
    }

    /// The id the answer will carry; a notification has none.
    ///
    /// ```
    /// use http::Request;
    /// use ziggurat_layers::json_rpc::{Dialect, Id, Incoming};
    ///
    /// let message = r#"{"jsonrpc":"2.0","id":"a1","method":"ping"}"#;
    /// let Incoming::Call(call) = Dialect::new().read(Request::new(message.into())) else {
    ///     panic!("a call");
    /// };
    /// assert_eq!(call.id().and_then(Id::as_str), Some("a1"));
    /// ```
    #[must_use]
    pub fn id(&self) -> Option<&Id> {
        self.envelope.id()
    }

    /// Returns whether the call is a notification, which gets no answer.
    ///
    /// ```
    /// use http::Request;
    /// use ziggurat_layers::json_rpc::{Dialect, Incoming};
    ///
    /// let message = r#"{"jsonrpc":"2.0","method":"notifications/cancelled"}"#;
    /// let Incoming::Call(call) = Dialect::new().read(Request::new(message.into())) else {
    ///     panic!("a call");
    /// };
    /// assert!(call.is_notification());
    /// ```
    #[must_use]
    pub fn is_notification(&self) -> bool {
        self.id().is_none()
    }

    /// Returns whether the call arrived in a batch.
    ///
    /// ```
    /// use ziggurat_layers::json_rpc::{Call, Error, Reply};
    ///
    /// /// A method that must be the only one in its message.
    /// fn initialize(call: &Call) -> Reply {
    ///     if call.is_batched() {
    ///         return Error::invalid_request().with_data("`initialize` must not be in a batch").into();
    ///     }
    ///     Reply::from(Error::internal_error())
    /// }
    /// # let _ = initialize;
    /// ```
    #[must_use]
    pub fn is_batched(&self) -> bool {
        self.is_batched
    }

    /// The params as JSON: an object or an array, or nothing if they are absent or `null`.
    ///
    /// ```
    /// use http::Request;
    /// use ziggurat_layers::json_rpc::{Dialect, Incoming};
    ///
    /// let message = r#"{"jsonrpc":"2.0","id":1,"method":"sum","params":[2, 3]}"#;
    /// let Incoming::Call(call) = Dialect::new().read(Request::new(message.into())) else {
    ///     panic!("a call");
    /// };
    /// assert_eq!(call.raw_params(), Some("[2, 3]"));
    /// ```
    #[must_use]
    pub fn raw_params(&self) -> Option<&str> {
        self.params.as_ref().map(Text::as_str)
    }

    /// Deserializes the params, which may borrow from the call.
    ///
    /// Absent params and `null` are read as `{}`, so they are accepted if all members of `P` are
    /// optional. A struct can be read from an array too, its members by position, as JSON-RPC
    /// allows.
    ///
    /// ```
    /// use http::Request;
    /// use ziggurat_layers::json_rpc::{Dialect, Error, Incoming};
    ///
    /// let message = r#"{"jsonrpc":"2.0","id":1,"method":"sum","params":[2, 3]}"#;
    /// let Incoming::Call(call) = Dialect::new().read(Request::new(message.into())) else {
    ///     panic!("a call");
    /// };
    /// assert_eq!(call.params(), Ok((2, 3)));
    /// let error = call.params::<(bool, bool)>().expect_err("they are numbers");
    /// assert_eq!(error.code(), Error::INVALID_PARAMS);
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::INVALID_PARAMS`], its data naming the problem.
    pub fn params<'a, P: Deserialize<'a>>(&'a self) -> Result<P, Error> {
        let params = self.params.as_ref().map_or(&b"{}"[..], Text::as_bytes);
        serde_json::from_slice(params).map_err(|error| {
            let complaint = error.to_string();
            // The position counts from the start of the params, which means nothing to a client.
            let place = format!(" at line {} column {}", error.line(), error.column());
            let complaint = complaint.strip_suffix(&place).unwrap_or(&complaint);
            Error::invalid_params().with_data(shortened(complaint))
        })
    }

    /// The head of the HTTP request: headers, and extensions of the layers further out, such as the
    /// caller's identity. On lines, the head that the code which reads the lines has set.
    ///
    /// ```
    /// use ziggurat_layers::json_rpc::Call;
    ///
    /// #[derive(Clone)]
    /// struct User(String);
    ///
    /// /// The user that the bearer layer found.
    /// fn user(call: &Call) -> Option<&User> {
    ///     call.head().extensions.get()
    /// }
    /// # let _ = user;
    /// ```
    #[must_use]
    pub fn head(&self) -> &Parts {
        &self.head
    }

    /// The head of the HTTP request, mutable.
    ///
    /// ```
    /// use std::time::Instant;
    /// use ziggurat_layers::json_rpc::Call;
    ///
    /// /// Notes the arrival of a call for the service behind it.
    /// fn note_arrival(mut call: Call) -> Call {
    ///     call.head_mut().extensions.insert(Instant::now());
    ///     call
    /// }
    /// # let _ = note_arrival;
    /// ```
    pub fn head_mut(&mut self) -> &mut Parts {
        &mut self.head
    }

    /// The envelope for the answer; needed only to call the service without the layer.
    ///
    /// ```
    /// use http::Request;
    /// use ziggurat_layers::json_rpc::{Dialect, Error, Incoming, NoStream, Reply};
    ///
    /// let message = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;
    /// let Incoming::Call(call) = Dialect::new().read(Request::new(message.into())) else {
    ///     panic!("a call");
    /// };
    /// let envelope = call.envelope();
    /// drop(call); // A service would take it.
    /// let answer = envelope.wrap(Reply::<NoStream>::from(Error::method_not_found()));
    /// assert!(answer.into_body().is_some());
    /// ```
    pub fn envelope(&self) -> Envelope {
        self.envelope.clone()
    }
}

impl fmt::Debug for Call {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The params and the head are left out: they may hold passwords and tokens.
        f.debug_struct("Call")
            .field("method", &self.method)
            .field("id", &self.id())
            .field("is_batched", &self.is_batched)
            .finish_non_exhaustive()
    }
}

fn shortened(text: &str) -> &str {
    let mut end = text.len().min(MAX_ERROR_TEXT);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}

#[cfg(test)]
mod tests {
    use http::Request;

    use super::*;
    use crate::json_rpc::{Dialect, Incoming};

    #[test]
    fn missing_params_are_read_as_an_empty_object() {
        #[derive(Debug, Default, PartialEq, Deserialize)]
        struct Page {
            #[serde(default)]
            cursor: Option<String>,
        }

        for params in [
            "",
            r#","params":null"#,
            r#","params":{}"#,
            r#","params":[]"#,
        ] {
            let message = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"m"{params}}}"#);
            let Incoming::Call(call) = Dialect::new().read(Request::new(message.into())) else {
                panic!("a call");
            };
            assert_eq!(call.params(), Ok(Page::default()), "{params}");
        }
    }

    #[test]
    fn the_problem_with_the_params_is_named_and_kept_short() {
        #[derive(Debug, Deserialize)]
        #[expect(dead_code, reason = "only its shape is of interest")]
        struct Page {
            cursor: u32,
        }

        let long = "é".repeat(5000);
        let cases = [
            (r"{}", "missing field `cursor`"),
            (
                r#"{"cursor":-1}"#,
                "invalid value: integer `-1`, expected u32",
            ),
            (
                &format!(r#"{{"cursor":"{long}"}}"#),
                "invalid type: string \"éé",
            ),
            (
                &format!(r#"{{"cursor":"x{long}"}}"#),
                "invalid type: string \"xé",
            ),
        ];
        for (params, problem) in cases {
            let message = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"m","params":{params}}}"#);
            let Incoming::Call(call) = Dialect::new().read(Request::new(message.into())) else {
                panic!("a call");
            };
            let error = call.params::<Page>().expect_err("the wrong type");
            assert_eq!(error.code(), Error::INVALID_PARAMS);
            let data: String = serde_json::from_str(error.data().expect("data")).expect("a string");
            assert!(data.starts_with(problem), "{data}");
            assert!(data.len() <= 200 && !data.contains("line"), "{data}");
        }
    }
}
