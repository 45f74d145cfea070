//! Observation of calls from their beginning to their end, for records, metrics and limits.

use std::{
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};

use ziggurat_layers::json_rpc::Call;

use crate::{Caller, Error, Reported, ResultSeal};

/// Follows calls to their end, whatever becomes of them.
///
/// ```
/// use std::sync::{Arc, atomic::{AtomicUsize, Ordering}};
/// use ziggurat_layers::json_rpc::Call;
/// use ziggurat_mcp::{Caller, End, ObservedCall, Observer};
///
/// /// Counts the calls that have ended.
/// #[derive(Clone, Default)]
/// struct Counter(Arc<AtomicUsize>);
///
/// impl Observer for Counter {
///     fn begin(&self, _: &Call, _: &mut Caller) -> Option<Box<dyn ObservedCall>> {
///         Some(Box::new(self.clone()))
///     }
/// }
///
/// impl ObservedCall for Counter {
///     fn end(self: Box<Self>, _: End) {
///         self.0.fetch_add(1, Ordering::Relaxed);
///     }
/// }
/// ```
pub trait Observer: Send + Sync {
    /// Observes a call that begins; `None` if it is of no interest. Extensions that it adds to the
    /// caller can be read by the tool.
    fn begin(&self, call: &Call, caller: &mut Caller) -> Option<Box<dyn ObservedCall>>;
}

/// A call that an [`Observer`] follows.
pub trait ObservedCall: Send {
    /// Returns a future that the call waits for before it is answered; `None` if it need not wait,
    /// which is the default. A call that is not admitted ends with the error. One that is
    /// [reported](Error::Reported) is the result of a tool, and of other methods the data of an
    /// internal error.
    fn admission(&mut self) -> Option<Admission> {
        None
    }

    /// Returns why the call has to end now, once it has to; by default it never does. It is polled
    /// whenever the call makes no progress, and before each piece of a stream, with the task of the
    /// call. The call is dropped then, its client gets the reason as an error, and its outcome is
    /// [`Cancelled`](Outcome::Cancelled).
    fn poll_cancelled(&mut self, _: &mut Context<'_>) -> Poll<Reported> {
        Poll::Pending
    }

    /// Returns the seal of the result of a tool that succeeds, if it has one; by default it has none.
    fn seal(&mut self) -> Option<Box<dyn ResultSeal>> {
        None
    }

    /// Takes the end of the call. It happens exactly once.
    fn end(self: Box<Self>, end: End);
}

/// The decision whether a call is answered.
// Boxed: only calls that wait for an observer have one.
pub type Admission = Pin<Box<dyn Future<Output = Result<(), Error>> + Send>>;

/// The end of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct End {
    /// The outcome of the call.
    pub outcome: Outcome,
    /// The code of the JSON-RPC error, if the answer is one.
    pub code: Option<i64>,
    /// The bytes of the text of a tool's result.
    pub bytes: u64,
}

/// Marks the reply to a call that the [`Observer`] did not admit because of a failure, in the
/// extensions of its HTTP response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotAdmitted;

/// Fields of the log line of a tool's call; an [`Observer`] stores them in the extensions of the
/// caller.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LogFields {
    /// The kind and the name of the caller.
    pub caller: Option<Arc<str>>,
    /// The id of the trace, which is logged as 32 hexadecimal digits.
    pub trace_id: Option<u128>,
}

/// The outcome of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Outcome {
    /// The call was dropped before its end, or the observer has cancelled it.
    Cancelled,
    /// The call succeeded.
    Ok,
    /// The client was asked, and repeats the call with the answer.
    Asked,
    /// The tool reported an error to its caller.
    Reported,
    /// The arguments do not fit the schema of the tool.
    InvalidArguments,
    /// The database is still being prepared.
    NotReady,
    /// The call was refused with a protocol error.
    Refused,
    /// No tool, resource, prompt or method has the name.
    Unknown,
    /// The operator disabled the tool.
    Disabled,
    /// The observer did not admit the call.
    NotAdmitted,
    /// The server has a fault.
    Failed,
}

// === impl End ===

impl End {
    pub(crate) fn of(outcome: Outcome) -> Self {
        Self {
            outcome,
            code: None,
            bytes: 0,
        }
    }
}

// === impl Outcome ===

impl Outcome {
    /// Returns the word of the log.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Cancelled => "cancelled",
            Self::Ok => "ok",
            Self::Asked => "asked",
            Self::Reported | Self::InvalidArguments => "error",
            Self::NotReady => "not ready",
            Self::Refused => "refused",
            Self::Unknown => "unknown tool",
            Self::Disabled => "disabled",
            Self::NotAdmitted => "not admitted",
            Self::Failed => "failed",
        }
    }
}
