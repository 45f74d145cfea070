//! Log events about calls of tools.

use std::{
    fmt,
    pin::Pin,
    task::{Context, Poll, ready},
    time::Instant,
};

use futures_util::{Stream, stream};
use tracing::{
    Level, debug, enabled, error,
    field::{DisplayValue, display},
    info, warn,
};
use ziggurat_layers::shutdown::CutOffFuture;
use ziggurat_layers::{
    json_rpc::{Call, Id},
    sanitize::RequestId,
};

use crate::{
    Caller, End, Error, Failure, LogFields, ObservedCall, Outcome, Piece, Reported, ToolResult,
    body::Pieces, tool::Content,
};

/// Target of the events about calls of tools: one for each call when it ends, and at the debug
/// level one when it begins.
///
/// They have the fields `tool`, `outcome`, `duration_ms`, `id` (of the JSON-RPC message),
/// `request_id` (of the HTTP request, if it has one) and the fields of [`LogFields`]. They contain
/// no arguments or results. A call that succeeds is `info`, a call that reports an error or is
/// refused `warn`, a fault of the server `error`.
pub const LOG_TARGET: &str = "ziggurat::tool_calls";

/// Appended to a text that the shutdown of the server cuts short.
const SHUTDOWN_NOTICE: &str = "The server is shutting down: the rest of the result is missing.";

/// Limit on the logged part of a text from a client, in bytes.
const LONGEST: usize = 64;

/// The ids by which the log line of a failure is found.
#[derive(Clone, Debug, Default)]
pub(super) struct LogIds {
    request_id: Option<RequestId>,
    trace_id: Option<u128>,
}

/// The id of a trace as it is logged.
pub(super) struct Hex(u128);

/// A call of a tool, logged when it is dropped.
pub(super) struct Record {
    tool: String,
    id: Option<Id>,
    request_id: Option<RequestId>,
    fields: LogFields,
    began: Instant,
    outcome: Outcome,
    /// Set if the call may end after its response has begun.
    observed: Option<Box<dyn ObservedCall>>,
    /// The bytes of the text of the result so far.
    bytes: u64,
}

/// A stream of text that is logged when it has been sent.
struct RecordedStream {
    pieces: Pieces,
    record: Record,
    cut_off: CutOffFuture,
}

// === impl LogIds ===

impl LogIds {
    pub(super) fn of(caller: &Caller) -> Self {
        let fields: Option<&LogFields> = caller.extension();
        Self {
            request_id: caller.extension().cloned(),
            trace_id: fields.and_then(|fields| fields.trace_id),
        }
    }

    /// Logs the failure of a call.
    pub(super) fn log(&self, failure: &Failure, method: &'static str, name: &str) {
        failure.log(method, name, self.request_id.as_ref(), self.trace_id);
    }
}

// === impl Record ===

impl Record {
    /// Begins a record.
    pub(super) fn begin(tool: String, call: &Call, caller: &Caller) -> Self {
        let record = Self {
            tool,
            id: call.id().cloned(),
            request_id: caller.extension().cloned(),
            fields: caller.extension().cloned().unwrap_or_default(),
            began: Instant::now(),
            outcome: Outcome::Cancelled,
            observed: None,
            bytes: 0,
        };
        if enabled!(target: LOG_TARGET, Level::DEBUG) {
            let [tool, id, request_id, caller] = record.names();
            let trace_id = record.fields.trace_id.map(hex);
            debug!(target: LOG_TARGET, tool, id, request_id, caller, trace_id, "tool call begins");
        }
        record
    }

    /// Returns the name of the tool.
    pub(super) fn tool(&self) -> &str {
        &self.tool
    }

    /// Logs the cause of a failure, and adds the id under which it is found.
    pub(super) fn identified(&self, mut error: Error) -> Error {
        if let Error::Failed(failure) = &mut error {
            let id = self.request_id.as_ref();
            let id = failure.identified(id);
            failure.log("tools/call", self.tool(), id.as_ref(), self.fields.trace_id);
        }
        error
    }

    /// Passes the end of the call to its observer as well.
    pub(super) fn observed_by(&mut self, observed: Option<Box<dyn ObservedCall>>) {
        self.observed = observed;
    }

    /// Returns why the call has to end, once its observer says so.
    pub(super) fn poll_cancelled(&mut self, cx: &mut Context<'_>) -> Poll<Reported> {
        poll_cancelled(self.observed.as_mut(), cx)
    }

    /// Sets the outcome and logs it.
    pub(super) fn end(mut self, outcome: Outcome) {
        self.outcome = outcome;
    }

    /// Records the outcome. A stream is followed to its end.
    pub(super) fn follow(
        mut self,
        result: Result<ToolResult, Error>,
        cut_off: &CutOffFuture,
    ) -> Result<ToolResult, Error> {
        self.bytes = text_bytes(&result);
        match outcome(&result) {
            Some(outcome) => self.end(outcome),
            None => return result.map(|result| self.follow_stream(result, cut_off.clone())),
        }
        result
    }

    fn follow_stream(self, result: ToolResult, cut_off: CutOffFuture) -> ToolResult {
        match result.content {
            Content::Streamed(pieces) => {
                ToolResult::of(Content::Streamed(Box::pin(RecordedStream {
                    pieces,
                    record: self,
                    cut_off,
                })))
            }
            _ => result,
        }
    }

    /// Returns the tool, the ids of the call and the request, and the caller.
    fn names(&self) -> [Option<&str>; 4] {
        let id = self.id.as_ref();
        [
            Some(shortened(&self.tool)),
            id.map(|id| shortened(id.as_str().unwrap_or(id.as_json()))),
            self.request_id.as_ref().map(RequestId::as_str),
            self.fields.caller.as_deref(),
        ]
    }
}

impl Drop for Record {
    fn drop(&mut self) {
        let duration_ms = self.began.elapsed().as_secs_f64() * 1e3;
        let outcome = self.outcome.as_str();
        let [tool, id, request_id, caller] = self.names();
        let trace_id = self.fields.trace_id.map(hex);
        // The level of an event has to be a constant.
        macro_rules! log {
            ($level:ident) => {
                $level!(
                    target: LOG_TARGET,
                    tool, outcome, duration_ms, id, request_id, caller, trace_id, "tool call"
                )
            };
        }
        match self.outcome {
            Outcome::Ok | Outcome::Asked | Outcome::Cancelled => log!(info),
            Outcome::Failed => log!(error),
            _ => log!(warn),
        }
        if let Some(observed) = self.observed.take() {
            let bytes = self.bytes;
            observed.end(End {
                bytes,
                ..End::of(self.outcome)
            });
        }
    }
}

impl fmt::Debug for Record {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Record")
            .field("tool", &self.tool)
            .field("outcome", &self.outcome)
            .finish_non_exhaustive()
    }
}

// === impl RecordedStream ===

impl Stream for RecordedStream {
    type Item = Result<Piece, Reported>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        if let Poll::Ready(reason) = self.record.poll_cancelled(cx) {
            // Dropped now: the client may not take the rest for a while.
            self.pieces = Box::pin(stream::empty());
            return Poll::Ready(Some(Err(reason)));
        }
        let Poll::Ready(piece) = self.pieces.as_mut().poll_next(cx) else {
            ready!(Pin::new(&mut self.cut_off).poll(cx));
            // The stream is dropped with its body, and the call counts as cancelled.
            return Poll::Ready(Some(Err(Reported::new(SHUTDOWN_NOTICE))));
        };
        match &piece {
            Some(Ok(Piece::Text(text))) => self.record.bytes += text.text_len() as u64,
            Some(Err(_)) => self.record.outcome = Outcome::Reported,
            Some(Ok(Piece::Structure(_))) | None => self.record.outcome = Outcome::Ok,
        }
        Poll::Ready(piece)
    }
}

/// Returns why a call has to end, once its observer says so.
pub(super) fn poll_cancelled(
    observed: Option<&mut Box<dyn ObservedCall>>,
    cx: &mut Context<'_>,
) -> Poll<Reported> {
    observed.map_or(Poll::Pending, |observed| observed.poll_cancelled(cx))
}

/// Returns the outcome of a call; `None` for a stream, which ends later.
pub(super) fn outcome(result: &Result<ToolResult, Error>) -> Option<Outcome> {
    Some(match result {
        Ok(result) => match result.content {
            Content::Streamed(_) => return None,
            Content::Questions(_) => Outcome::Asked,
            Content::Whole(_) | Content::Texts(_) | Content::Blocks(_) => Outcome::Ok,
        },
        Err(Error::Reported(_)) => Outcome::Reported,
        Err(Error::NotReady) => Outcome::NotReady,
        Err(Error::Failed(failure)) if failure.is_fault() => Outcome::Failed,
        Err(Error::Failed(failure)) if failure.is_reported() => Outcome::Reported,
        Err(Error::Failed(_) | Error::MissingCapabilities(_)) => Outcome::Refused,
    })
}

/// Returns the bytes of the text of a result; 0 for a stream, since its text is not there yet.
pub(super) fn text_bytes(result: &Result<ToolResult, Error>) -> u64 {
    match result {
        Ok(result) => match &result.content {
            Content::Whole(text) => text.text_len() as u64,
            Content::Texts(texts) => texts.iter().map(|text| text.len() as u64).sum(),
            Content::Streamed(_) | Content::Questions(_) | Content::Blocks(_) => 0,
        },
        Err(Error::Reported(reported)) => reported.as_str().len() as u64,
        Err(_) => 0,
    }
}

/// Shows the id of a trace in the log.
pub(super) fn hex(trace_id: u128) -> DisplayValue<Hex> {
    display(Hex(trace_id))
}

impl fmt::Display for Hex {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", self.0)
    }
}

/// Logs a call at the debug level, before it is answered.
pub(super) fn announce(call: &Call) {
    debug!(
        method = shortened(call.method()),
        request_id = call.head().extensions.get().map(RequestId::as_str),
        "json-rpc"
    );
}

/// Returns the beginning of a text.
fn shortened(text: &str) -> &str {
    let mut ends = (0..=text.len().min(LONGEST)).rev();
    let end = ends.find(|at| text.is_char_boundary(*at));
    &text[..end.unwrap_or(0)]
}
