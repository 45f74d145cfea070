//! Errors of calls.

use serde_json::json;
use ziggurat_layers::{
    json_rpc::{Error, Reply},
    sanitize::Sanitizer,
};

use crate::{
    Failure, NotAdmitted, Outcome, Reported, ResultBody, elicit::MissingCapabilities,
    protocol::error::CAPABILITY_MISSING, server::encode::Encoder,
};

/// Text for the model while a database is not ready.
const NOT_READY: &str = "The database is still being prepared. Try again in a few seconds.";

/// Codes without negotiation.
const DATABASE_NOT_READY: i64 = -32001;
const TOOL_NOT_FOUND: i64 = -32002;
const EXACT_RESOURCE_NOT_FOUND: i64 = -32003;

/// Code in the negotiated revisions before the modern one.
const RESOURCE_NOT_FOUND: i64 = -32002;

/// The failure of a call.
#[derive(Debug)]
pub(crate) enum Fault {
    Params(Error),
    UnknownMethod,
    UnknownTool(String),
    DisabledTool(String),
    InvalidArguments(Reported),
    UnknownResource(String),
    UnknownPrompt(String),
    NotReady,
    /// The client lacks a capability that the questions need.
    MissingCapabilities(MissingCapabilities),
    Tool(Failure),
    Resource(Failure),
    /// The observer of the calls did not admit it.
    NotAdmitted(Failure),
    /// The same, or it has cancelled the call, with a text for the model or the user.
    NotAdmittedFor {
        reason: Reported,
        is_tool: bool,
    },
}

// === impl Fault ===

impl Fault {
    /// Makes the fault of a call, possibly of a tool, that was not admitted.
    pub(crate) fn not_admitted(error: crate::Error, is_tool: bool) -> Self {
        match error {
            crate::Error::Reported(reason) => Self::NotAdmittedFor { reason, is_tool },
            crate::Error::Failed(failure) => Self::NotAdmitted(failure),
            crate::Error::NotReady => Self::NotReady,
            crate::Error::MissingCapabilities(missing) => Self::MissingCapabilities(missing),
        }
    }

    /// Returns the outcome of a call that ends with the fault.
    pub(crate) fn outcome(&self) -> Outcome {
        match self {
            Self::UnknownMethod
            | Self::UnknownTool(_)
            | Self::UnknownResource(_)
            | Self::UnknownPrompt(_) => Outcome::Unknown,
            Self::DisabledTool(_) => Outcome::Disabled,
            Self::InvalidArguments(_) => Outcome::InvalidArguments,
            Self::NotReady => Outcome::NotReady,
            Self::NotAdmitted(_) | Self::NotAdmittedFor { .. } => Outcome::NotAdmitted,
            Self::Tool(failure) | Self::Resource(failure) if failure.is_fault() => Outcome::Failed,
            Self::Tool(failure) if failure.is_reported() => Outcome::Reported,
            Self::Params(_) | Self::MissingCapabilities(_) | Self::Tool(_) | Self::Resource(_) => {
                Outcome::Refused
            }
        }
    }
}

impl From<Error> for Fault {
    /// Makes a fault: every JSON-RPC error so far is about the params.
    fn from(error: Error) -> Self {
        Self::Params(error)
    }
}

// === impl Encoder ===

impl Encoder {
    /// Encodes the error of a call without a result.
    pub(crate) fn fault(&self, fault: Fault, sanitizer: Sanitizer) -> Reply<ResultBody> {
        let error = match fault {
            Fault::Params(error) => error,
            Fault::UnknownMethod => Error::method_not_found(),
            Fault::UnknownTool(name) if self.is_negotiated => {
                Error::invalid_params().with_data(format!("no tool is named \"{name}\""))
            }
            Fault::UnknownTool(name) => {
                Error::new(TOOL_NOT_FOUND, "Tool not found").with_data(name)
            }
            Fault::DisabledTool(name) => return self.disabled_tool(&name),
            Fault::InvalidArguments(wrong) => return self.tool_error(wrong.as_str()),
            Fault::UnknownPrompt(problem) if self.is_negotiated => {
                Error::invalid_params().with_data(problem)
            }
            Fault::UnknownPrompt(problem) => {
                Error::new(Error::INTERNAL_ERROR, "Prompt execution error").with_data(problem)
            }
            Fault::UnknownResource(uri) => self.unknown_resource(&uri),
            Fault::MissingCapabilities(missing) => {
                let message = "Missing required client capability";
                Error::new(CAPABILITY_MISSING, message).with_data(missing.data())
            }
            Fault::NotReady if self.is_negotiated => return self.tool_error(NOT_READY),
            Fault::NotReady => Error::new(DATABASE_NOT_READY, "Database not ready"),
            Fault::Tool(failure) => return failed("Tool execution error", failure, sanitizer),
            Fault::NotAdmittedFor {
                reason,
                is_tool: true,
            } => return self.tool_error(reason.as_str()),
            Fault::NotAdmittedFor { reason, .. } => {
                Error::new(Error::INTERNAL_ERROR, "Internal error").with_data(reason.as_str())
            }
            Fault::NotAdmitted(failure) => {
                let reply = failed("Internal error", failure, sanitizer);
                return reply.with_extension(NotAdmitted);
            }
            Fault::Resource(failure) => return failed("Resource read error", failure, sanitizer),
        };
        Reply::from(error)
    }

    fn unknown_resource(&self, uri: &str) -> Error {
        let message = "Resource not found";
        if !self.is_negotiated {
            return Error::new(EXACT_RESOURCE_NOT_FOUND, message).with_data(uri);
        }
        let code = if self.revision.is_modern() {
            Error::INVALID_PARAMS
        } else {
            RESOURCE_NOT_FOUND
        };
        Error::new(code, message).with_data(json!({"uri": uri}))
    }
}

fn failed(message: &'static str, failure: Failure, sanitizer: Sanitizer) -> Reply<ResultBody> {
    let error = failure.error(message, sanitizer);
    failure.complete(Reply::from(error))
}
