//! The closures of a program that uses a client, and their arguments.

use std::{fmt, pin::Pin, sync::Arc};

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::error::ClientError;

/// A form that a server asks the user to fill in.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Form {
    /// The question to show.
    pub message: String,
    /// The fields, as a JSON Schema.
    pub schema: Box<RawValue>,
}

/// The answer to a form.
///
/// ```
/// use ziggurat_mcp_client::FormAnswer;
///
/// #[derive(serde::Serialize)]
/// struct Confirmation {
///     ok: bool,
/// }
///
/// let answer = FormAnswer::accept(&Confirmation { ok: true })?;
/// # let _ = answer;
/// # Ok::<_, serde_json::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct FormAnswer {
    action: &'static str,
    content: Option<Box<RawValue>>,
}

/// The progress of a call.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[non_exhaustive]
pub struct ProgressReport {
    /// The amount done, in any unit.
    pub progress: f64,
    /// The whole amount, if the server knows it.
    pub total: Option<f64>,
    /// A sentence for the user.
    pub message: Option<String>,
}

/// A log message of a server.
#[derive(Clone, Debug, Deserialize)]
#[non_exhaustive]
pub struct LogMessage {
    /// The severity, such as `info`.
    pub level: String,
    /// The part of the server that logs.
    pub logger: Option<String>,
    /// The message, any JSON.
    pub data: Box<RawValue>,
}

/// The lowest severity of the log messages that a client asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum LogLevel {
    /// Details for developers.
    Debug,
    /// Normal events.
    Info,
    /// Normal events of importance.
    Notice,
    /// Problems that may need attention.
    Warning,
    /// Errors of single operations.
    Error,
    /// Failures of components.
    Critical,
    /// Failures that need action at once.
    Alert,
    /// The server cannot be used.
    Emergency,
}

type FormFuture = Pin<Box<dyn Future<Output = FormAnswer> + Send>>;

pub(crate) type OnForm = Arc<dyn Fn(Form) -> FormFuture + Send + Sync>;
pub(crate) type OnLog = Arc<dyn Fn(LogMessage) + Send + Sync>;
pub(crate) type OnProgress = Arc<dyn Fn(ProgressReport) + Send + Sync>;

/// A request of a server for input, before its checks.
#[derive(Deserialize)]
pub(crate) struct InputRequest {
    pub(crate) method: String,
    pub(crate) params: Option<Box<RawValue>>,
}

// === impl Form ===

impl Form {
    /// Reads the params of `elicitation/create`.
    pub(crate) fn read(params: Option<&RawValue>) -> Result<Self, ClientError> {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct FormParams {
            mode: Option<String>,
            message: String,
            requested_schema: Box<RawValue>,
        }

        let params = params.map_or("{}", RawValue::get);
        let params: FormParams = serde_json::from_str(params)
            .map_err(|error| ClientError::result("elicitation/create", &error))?;
        if params.mode.is_some_and(|mode| mode != "form") {
            let problem = "the server asks for a kind of input that is not a form";
            return Err(ClientError::unexpected(problem));
        }
        Ok(Self {
            message: params.message,
            schema: params.requested_schema,
        })
    }
}

// === impl FormAnswer ===

impl FormAnswer {
    /// Sends the fields of the form.
    ///
    /// # Errors
    ///
    /// Returns an error if the value has no JSON form.
    pub fn accept(fields: &impl Serialize) -> Result<Self, serde_json::Error> {
        Ok(Self {
            action: "accept",
            content: Some(serde_json::value::to_raw_value(fields)?),
        })
    }

    /// Says that the user declines.
    #[must_use]
    pub fn decline() -> Self {
        Self {
            action: "decline",
            content: None,
        }
    }

    /// Says that the user closed the form without an answer.
    #[must_use]
    pub fn cancel() -> Self {
        Self {
            action: "cancel",
            content: None,
        }
    }

    /// Returns the result of `elicitation/create`.
    pub(crate) fn into_json(self) -> Result<Box<RawValue>, ClientError> {
        let Self { action, content } = self;
        let json = match content {
            Some(content) => format!(r#"{{"action":"{action}","content":{content}}}"#),
            None => format!(r#"{{"action":"{action}"}}"#),
        };
        RawValue::from_string(json).map_err(|error| ClientError::Setup(error.to_string()))
    }
}

// === impl LogLevel ===

impl LogLevel {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Debug => "debug",
            Self::Info => "info",
            Self::Notice => "notice",
            Self::Warning => "warning",
            Self::Error => "error",
            Self::Critical => "critical",
            Self::Alert => "alert",
            Self::Emergency => "emergency",
        }
    }
}

impl fmt::Display for LogLevel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
