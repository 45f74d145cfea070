//! The error object for the client.

use std::{borrow::Cow, error, fmt};

use serde::Serialize;

/// The error object of an answer (JSON-RPC 2.0, section 5.1).
///
/// It contains only what the client may see. It cannot be made from an error value, so a driver's
/// message is not sent by accident; log that where the call failed.
///
/// ```
/// use ziggurat_layers::json_rpc::Error;
///
/// const TOOL_NOT_FOUND: i64 = -32002;
///
/// let error = Error::new(TOOL_NOT_FOUND, "Tool not found").with_data("launch_missiles");
/// assert_eq!(error.data(), Some(r#""launch_missiles""#));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    code: i64,
    message: Cow<'static, str>,
    /// JSON.
    data: Option<Box<str>>,
}

// === impl Error ===

impl Error {
    /// The message is not JSON.
    ///
    /// ```
    /// use ziggurat_layers::json_rpc::Error;
    ///
    /// assert_eq!(Error::PARSE_ERROR, -32700);
    /// ```
    pub const PARSE_ERROR: i64 = -32700;
    /// The message is JSON, but not a request.
    ///
    /// ```
    /// use ziggurat_layers::json_rpc::Error;
    ///
    /// assert_eq!(Error::INVALID_REQUEST, -32600);
    /// ```
    pub const INVALID_REQUEST: i64 = -32600;
    /// There is no such method.
    ///
    /// ```
    /// use ziggurat_layers::json_rpc::Error;
    ///
    /// assert_eq!(Error::METHOD_NOT_FOUND, -32601);
    /// ```
    pub const METHOD_NOT_FOUND: i64 = -32601;
    /// The method does not accept these parameters.
    ///
    /// ```
    /// use ziggurat_layers::json_rpc::Error;
    ///
    /// assert_eq!(Error::INVALID_PARAMS, -32602);
    /// ```
    pub const INVALID_PARAMS: i64 = -32602;
    /// The server failed.
    ///
    /// ```
    /// use ziggurat_layers::json_rpc::Error;
    ///
    /// assert_eq!(Error::INTERNAL_ERROR, -32603);
    /// ```
    pub const INTERNAL_ERROR: i64 = -32603;

    /// Makes an error with a code of your own.
    ///
    /// ```
    /// use ziggurat_layers::json_rpc::Error;
    ///
    /// let error = Error::new(-32001, "Session not found");
    /// assert_eq!((error.code(), error.message()), (-32001, "Session not found"));
    /// ```
    pub fn new(code: i64, message: impl Into<Cow<'static, str>>) -> Self {
        Self {
            code,
            message: message.into(),
            data: None,
        }
    }

    /// `Parse error`, [`PARSE_ERROR`](Self::PARSE_ERROR).
    ///
    /// ```
    /// use ziggurat_layers::json_rpc::Error;
    ///
    /// assert_eq!(Error::parse_error().message(), "Parse error");
    /// ```
    #[must_use]
    pub const fn parse_error() -> Self {
        Self::standard(Self::PARSE_ERROR, "Parse error")
    }

    /// `Invalid Request`, [`INVALID_REQUEST`](Self::INVALID_REQUEST).
    ///
    /// ```
    /// use ziggurat_layers::json_rpc::Error;
    ///
    /// let error = Error::invalid_request().with_data("`initialize` comes first");
    /// assert_eq!(error.code(), Error::INVALID_REQUEST);
    /// ```
    #[must_use]
    pub const fn invalid_request() -> Self {
        Self::standard(Self::INVALID_REQUEST, "Invalid Request")
    }

    /// `Method not found`, [`METHOD_NOT_FOUND`](Self::METHOD_NOT_FOUND).
    ///
    /// ```
    /// use ziggurat_layers::json_rpc::{Error, Reply};
    ///
    /// /// The last arm of a dispatcher.
    /// fn unknown(method: &str) -> Reply {
    ///     Error::method_not_found().with_data(method).into()
    /// }
    /// assert!(unknown("sum").error().is_some());
    /// ```
    #[must_use]
    pub const fn method_not_found() -> Self {
        Self::standard(Self::METHOD_NOT_FOUND, "Method not found")
    }

    /// `Invalid params`, [`INVALID_PARAMS`](Self::INVALID_PARAMS).
    ///
    /// ```
    /// use ziggurat_layers::json_rpc::Error;
    ///
    /// fn limit(rows: u32) -> Result<u32, Error> {
    ///     let error = || Error::invalid_params().with_data("`rows` is at most 100");
    ///     (rows <= 100).then_some(rows).ok_or_else(error)
    /// }
    /// assert_eq!(limit(101).map_err(|error| error.code()), Err(Error::INVALID_PARAMS));
    /// ```
    #[must_use]
    pub const fn invalid_params() -> Self {
        Self::standard(Self::INVALID_PARAMS, "Invalid params")
    }

    /// `Internal error`, [`INTERNAL_ERROR`](Self::INTERNAL_ERROR).
    ///
    /// ```
    /// use ziggurat_layers::json_rpc::Error;
    ///
    /// /// The cause goes to the log, not to the client.
    /// fn failed(cause: &std::io::Error) -> Error {
    ///     eprintln!("call failed: {cause}");
    ///     Error::internal_error()
    /// }
    /// assert_eq!(failed(&std::io::Error::other("no disk")).data(), None);
    /// ```
    #[must_use]
    pub const fn internal_error() -> Self {
        Self::standard(Self::INTERNAL_ERROR, "Internal error")
    }

    const fn standard(code: i64, message: &'static str) -> Self {
        Self {
            code,
            message: Cow::Borrowed(message),
            data: None,
        }
    }

    /// Adds the `data` member: anything that helps the client and was written for it.
    ///
    /// If JSON cannot represent the value, such as a map with keys that are not strings, the error
    /// has no data.
    ///
    /// ```
    /// use ziggurat_layers::json_rpc::Error;
    ///
    /// let error = Error::invalid_params().with_data(["`a` is missing", "`b` is missing"]);
    /// assert_eq!(error.data(), Some(r#"["`a` is missing","`b` is missing"]"#));
    /// ```
    #[must_use]
    pub fn with_data(mut self, data: impl Serialize) -> Self {
        self.data = serde_json::to_string(&data)
            .ok()
            .map(String::into_boxed_str);
        self
    }

    /// The kind of failure, for programs.
    ///
    /// ```
    /// use ziggurat_layers::json_rpc::Error;
    ///
    /// assert_eq!(Error::invalid_params().code(), Error::INVALID_PARAMS);
    /// ```
    #[must_use]
    pub fn code(&self) -> i64 {
        self.code
    }

    /// The kind of failure, for people.
    ///
    /// ```
    /// use ziggurat_layers::json_rpc::Error;
    ///
    /// assert_eq!(Error::invalid_params().message(), "Invalid params");
    /// ```
    #[must_use]
    pub fn message(&self) -> &str {
        &self.message
    }

    /// The `data` member, as JSON.
    ///
    /// ```
    /// use ziggurat_layers::json_rpc::Error;
    ///
    /// assert_eq!(Error::parse_error().data(), None);
    /// assert_eq!(Error::parse_error().with_data(7).data(), Some("7"));
    /// ```
    #[must_use]
    pub fn data(&self) -> Option<&str> {
        self.data.as_deref()
    }

    /// Appends the error object.
    pub(super) fn write_to(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(br#"{"code":"#);
        out.extend_from_slice(self.code.to_string().as_bytes());
        out.extend_from_slice(br#","message":"#);
        serde_json::to_writer(&mut *out, &self.message).expect("text is written to memory");
        if let Some(data) = &self.data {
            out.extend_from_slice(br#","data":"#);
            out.extend_from_slice(data.as_bytes());
        }
        out.push(b'}');
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.message, self.code)?;
        match &self.data {
            Some(data) => write!(f, ": {data}"),
            None => Ok(()),
        }
    }
}

impl error::Error for Error {}
