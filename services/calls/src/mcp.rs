//! Calls of the Model Context Protocol.

use std::{
    future::ready,
    task::{Context, Poll},
};

use http::{HeaderValue, StatusCode, header::RETRY_AFTER};
use ziggurat_audit::Verdict;
use ziggurat_mcp::{
    Admission, Caller, End, Error, Failure, ObservedCall, Outcome, Reported, ToolRequest,
};

use crate::{Call, ErrorReason, http::RETRY_SECONDS, limits::Refused};

/// A call that nothing is noted of.
const OFF: &Call = &Call::off();

// === impl Call ===

impl Call {
    /// Returns the call that a tool answers.
    #[must_use]
    pub fn of(request: &ToolRequest) -> &Self {
        Self::by(request.caller())
    }

    /// Returns the call of a caller.
    #[must_use]
    pub fn by(caller: &Caller) -> &Self {
        caller.extension().unwrap_or(OFF)
    }
}

impl ObservedCall for Call {
    fn admission(&mut self) -> Option<Admission> {
        if let Some(refused) = self.refused() {
            return Some(Box::pin(ready(Err(refused.into()))));
        }
        let record = self.record().filter(|record| record.is_required())?.clone();
        Some(Box::pin(async move {
            record.open().await.map_err(|error| {
                let failure = Failure::new("audit is unavailable")
                    .with_source(error)
                    .with_status(StatusCode::SERVICE_UNAVAILABLE)
                    .with_header(RETRY_AFTER, HeaderValue::from(RETRY_SECONDS));
                failure.into()
            })
        }))
    }

    fn poll_cancelled(&mut self, cx: &mut Context<'_>) -> Poll<Reported> {
        Self::poll_cancelled(self, cx).map(|by| Reported::new(by.message()))
    }

    fn end(self: Box<Self>, end: End) {
        let code = end.code.map(|code| code.to_string()).unwrap_or_default();
        let verdict = verdict(end.outcome, self.reason());
        self.end_with(verdict, end.bytes, &code);
    }
}

impl From<Refused> for Reported {
    fn from(refused: Refused) -> Self {
        Self::new(refused.to_string())
    }
}

impl From<Refused> for Error {
    fn from(refused: Refused) -> Self {
        Reported::from(refused).into()
    }
}

/// Returns the verdict on a call from how it ended.
fn verdict(outcome: Outcome, reason: Option<ErrorReason>) -> Verdict {
    match (outcome, reason) {
        (Outcome::Ok, _) => Verdict::Ok,
        (Outcome::Asked, _) => Verdict::Asked,
        (Outcome::Cancelled, _) => Verdict::Cancelled,
        (Outcome::Refused, Some(ErrorReason::Denied)) => Verdict::Denied,
        (
            Outcome::Refused | Outcome::NotAdmitted | Outcome::Failed,
            Some(ErrorReason::Limited(_)),
        ) => Verdict::Limited,
        (Outcome::Reported, reason) => reason.map_or(Verdict::Error, ErrorReason::verdict),
        (Outcome::InvalidArguments | Outcome::Refused, _) => Verdict::Refused,
        (Outcome::Unknown | Outcome::Disabled, _) => Verdict::Unknown,
        _ => Verdict::Failed,
    }
}
