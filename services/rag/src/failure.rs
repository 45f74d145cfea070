//! Reasons why a question has no answer, and the responses for them.

use std::error::Error;

use http::StatusCode;
use rand::rngs::SysError;
use thiserror::Error;
use ziggurat_audit::Verdict;
use ziggurat_layers::{
    reject::Rejection,
    sanitize::{ErrorDetail, TraceId},
};
use ziggurat_llm::{self as llm, Class, Elapsed};

use crate::retrieval::{FailureKind, RetrievalFailure};

/// Message for a request that exceeded its own time limit; a slow provider has another message.
const TOO_LATE: &str = "request took too long to process";

/// Message for a search of a table or column that is gone. The log has its name.
const MISSING: &str = "a table or column that the pipeline searches does not exist; the log of the \
                       server names it";

/// Message for a request that is cut off because the server stops.
pub(super) const STOPPED: &str = "the server is shutting down";

/// Message for an asker without a role in the database of the pipeline. Only the log has the reason.
pub(super) const NOT_OPEN: &str = "this pipeline is not open to you";

/// The reason why a question has no answer.
///
/// `Display` is for the log; the client gets the [`rejection`](Self::rejection).
#[derive(Debug, Error)]
pub(super) enum Failure {
    /// The request exceeded its time limit.
    #[error("the request timed out")]
    Late,
    /// The server is shutting down.
    #[error("the server is shutting down")]
    Stopped,
    /// A provider failed.
    #[error("a provider failed")]
    Provider(#[source] llm::Error),
    /// The database is not open to the asker.
    #[error("the pipeline is not open to its caller")]
    NotOpen(#[source] RetrievalFailure),
    /// The filter of the request does not fit any of the tables.
    #[error("the filter of the request does not match the tables")]
    Filter(#[source] RetrievalFailure),
    /// The tables could not be searched.
    #[error("the tables could not be searched")]
    Retrieval(FailureKind, #[source] RetrievalFailure),
    /// The system returned no random bytes.
    #[error("no random bytes")]
    Random(#[from] SysError),
    /// The code panicked. The panic hook has logged the message.
    #[error("it panicked")]
    Panicked,
}

// === impl Failure ===

impl Failure {
    /// Returns the response for the client. A failure of the database gets a code of its own if
    /// `has_retrieval_codes` is set.
    pub(super) fn rejection(&self, has_retrieval_codes: bool) -> Rejection {
        let sentence = match self {
            Self::Late => {
                let status = StatusCode::GATEWAY_TIMEOUT;
                return Rejection::new(status, "request_timeout", TOO_LATE);
            }
            Self::Stopped => {
                let status = StatusCode::SERVICE_UNAVAILABLE;
                return Rejection::new(status, "shutting_down", STOPPED);
            }
            Self::NotOpen(_) => return not_open(),
            Self::Filter(_) => {
                return Rejection::new(
                    StatusCode::BAD_REQUEST,
                    "invalid_request",
                    "invalid filter: column or value does not fit the searched tables",
                );
            }
            Self::Retrieval(kind, _) if has_retrieval_codes => return retrieval(*kind),
            Self::Retrieval(_, failure) if failure.is_missing() => MISSING,
            Self::Provider(error) => error.class().sentence(),
            Self::Retrieval(..) | Self::Random(_) | Self::Panicked => Class::Internal.sentence(),
        };
        let fault = StatusCode::INTERNAL_SERVER_ERROR;
        Rejection::new(fault, "execution_error", sentence)
    }

    /// Returns the end of the question in the words of the audit trail.
    pub(super) fn verdict(&self) -> Verdict {
        match self {
            Self::Late => Verdict::Timeout,
            Self::Stopped => Verdict::Cancelled,
            Self::Filter(_) => Verdict::Refused,
            Self::NotOpen(_) => Verdict::Denied,
            Self::Provider(_) | Self::Retrieval(..) => Verdict::Error,
            Self::Random(_) | Self::Panicked => Verdict::Failed,
        }
    }

    /// Logs the failure without secrets. Only the code that sends the response calls this.
    pub(super) fn log(self, pipeline: &str, trace: Option<&TraceId>) {
        let trace_id = trace.map(TraceId::as_str);
        if matches!(self, Self::Stopped) {
            return tracing::debug!(pipeline, trace_id, "a stream was aborted");
        }
        if let Self::NotOpen(failure) = self {
            return log_not_open(pipeline, failure);
        }
        let is_of_client = matches!(self, Self::Filter(_));
        let error = ErrorDetail::new(self);
        let error: &dyn Error = &error;
        if is_of_client {
            tracing::debug!(
                error,
                pipeline,
                trace_id,
                "the filter of a request does not match the tables"
            );
        } else {
            tracing::error!(error, pipeline, trace_id, "pipeline execution failed");
        }
    }
}

impl From<Elapsed> for Failure {
    fn from(_: Elapsed) -> Self {
        Self::Late
    }
}

impl From<llm::Error> for Failure {
    fn from(error: llm::Error) -> Self {
        match error {
            llm::Error::Late => Self::Late,
            error => Self::Provider(error),
        }
    }
}

impl From<RetrievalFailure> for Failure {
    fn from(failure: RetrievalFailure) -> Self {
        match failure {
            RetrievalFailure::Embedding(error) => error.into(),
            RetrievalFailure::Database(..) if failure.is_not_open() => Self::NotOpen(failure),
            RetrievalFailure::Database(kind, _) => Self::Retrieval(kind, failure),
            RetrievalFailure::Filter => Self::Filter(failure),
        }
    }
}

/// Returns the refusal of an asker to which the database of the pipeline is not open.
pub(super) fn not_open() -> Rejection {
    Rejection::new(StatusCode::FORBIDDEN, "forbidden", NOT_OPEN)
}

/// Logs the reason, which the asker is not told.
pub(super) fn log_not_open(pipeline: &str, error: impl Error + Send + Sync + 'static) {
    let error = ErrorDetail::new(error);
    let error: &dyn Error = &error;
    tracing::warn!(error, pipeline, "a pipeline is not open to its caller");
}

fn retrieval(kind: FailureKind) -> Rejection {
    let fault = StatusCode::INTERNAL_SERVER_ERROR;
    let (status, code, message) = match kind {
        FailureKind::Refused => (
            fault,
            "retrieval_refused",
            "the document search could not be run because of a server-side configuration or \
             permissions problem; no documents were searched",
        ),
        FailureKind::Unavailable => (
            StatusCode::SERVICE_UNAVAILABLE,
            "retrieval_unavailable",
            "the document store could not be reached; no documents were searched",
        ),
        FailureKind::Failed => (
            fault,
            "retrieval_failed",
            "the document search failed; no documents were searched",
        ),
    };
    Rejection::new(status, code, message)
}
