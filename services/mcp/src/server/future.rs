//! The future of a call.

use std::{
    convert::Infallible,
    fmt, mem,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
};

use bytes::Bytes;
use ziggurat_layers::shutdown::CutOffFuture;
use ziggurat_layers::{
    json_rpc::{Call, Error, Reply},
    sanitize::Sanitizer,
};

use crate::{
    Admission, Caller, DetachedCalls, End, Failure, ObservedCall, Outcome, ResultBody, Shared,
    record::{self, LogIds, Record},
    resource::{ListFuture, ReadFuture, template::CompleteFuture},
    server::{
        encode::{Encoder, Fault},
        heartbeat::Heartbeat,
        method::MethodFuture,
    },
    tool::ToolFuture,
};

/// Response future of [`Mcp`](crate::Mcp).
pub struct ResponseFuture {
    pub(crate) state: CallState,
    /// Told about the end of the call.
    pub(crate) observed: Option<Box<dyn ObservedCall>>,
    pub(crate) encoder: Arc<Encoder>,
    pub(crate) sanitizer: Sanitizer,
    /// The deadline of the call when the server shuts down.
    pub(crate) cut_off: CutOffFuture,
}

/// Progress of a call.
pub(crate) enum CallState {
    Ready(Option<Result<Reply<ResultBody>, Fault>>),
    /// Waiting for the observer.
    // Boxed: rare, and larger than the other states.
    Waiting(Box<Waiting>),
    Calling {
        /// Set until the call has ended.
        record: Option<Record>,
        result: ToolFuture,
        /// Set if the client asked for progress.
        heartbeat: Option<Heartbeat>,
        /// Finishes the call if the client disconnects; `None` if that cancels it.
        detached: Option<DetachedCalls>,
    },
    Reading {
        uri: String,
        ids: LogIds,
        contents: ReadFuture,
    },
    /// Listing resources that differ from caller to caller.
    Listing(ListFuture),
    Completing(CompleteFuture),
    Answering(MethodFuture),
}

/// A call that has to be admitted.
pub(crate) struct Waiting {
    admission: Admission,
    shared: Arc<Shared>,
    /// Set until it is admitted.
    call: Option<(Caller, Call)>,
}

// === impl ResponseFuture ===

impl Future for ResponseFuture {
    type Output = Result<Reply<ResultBody>, Infallible>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.get_mut();
        let outcome = match this.poll_outcome(cx) {
            Poll::Ready(outcome) => outcome,
            Poll::Pending => {
                let cancelled = record::poll_cancelled(this.observed.as_mut(), cx);
                if cancelled.is_pending() {
                    ready!(Pin::new(&mut this.cut_off).poll(cx));
                }
                let is_tool = matches!(this.state, CallState::Calling { .. });
                // Drops the call here, so that it is not detached either.
                this.state = CallState::Ready(None);
                let fault = match cancelled {
                    Poll::Ready(reason) => Fault::NotAdmittedFor { reason, is_tool },
                    Poll::Pending => Fault::Tool(Failure::new("the server is shutting down")),
                };
                let reply = this.encoder.fault(fault, this.sanitizer);
                Ok((reply, End::of(Outcome::Cancelled)))
            }
        };
        let (reply, mut end) = outcome.unwrap_or_else(|fault| {
            let end = End::of(fault.outcome());
            (this.encoder.fault(fault, this.sanitizer), end)
        });
        if let Some(observed) = this.observed.take() {
            end.code = reply.error().map(Error::code);
            observed.end(end);
        }
        Poll::Ready(Ok(reply))
    }
}

impl ResponseFuture {
    fn poll_outcome(
        &mut self,
        cx: &mut Context<'_>,
    ) -> Poll<Result<(Reply<ResultBody>, End), Fault>> {
        let encoder = &*self.encoder;
        if let CallState::Waiting(waiting) = &mut self.state {
            let admitted = ready!(waiting.admission.as_mut().poll(cx));
            let (caller, call) = waiting.call.take().expect("admitted once");
            self.state = match admitted {
                Ok(()) => waiting.shared.clone().dispatch(encoder, caller, call),
                Err(error) => {
                    let is_tool = call.method() == "tools/call";
                    CallState::Ready(Some(Err(Fault::not_admitted(error, is_tool))))
                }
            };
        }
        let reply = match &mut self.state {
            CallState::Ready(outcome) => outcome.take().expect("not polled after it is ready"),
            CallState::Waiting(_) => return Poll::Pending,
            CallState::Calling {
                record,
                result,
                heartbeat,
                ..
            } => {
                let Poll::Ready(result) = result.as_mut().poll(cx) else {
                    if let Some(heartbeat) = heartbeat {
                        heartbeat.poll(cx);
                    }
                    return Poll::Pending;
                };
                let mut record = record.take().expect("not polled after it is ready");
                let result = result.map_err(|error| record.identified(error));
                let outcome = record::outcome(&result);
                let is_sealed = matches!(outcome, None | Some(Outcome::Ok));
                let observed = self.observed.as_mut().filter(|_| is_sealed);
                let seal = observed.and_then(|observed| observed.seal());
                if outcome.is_none() {
                    record.observed_by(self.observed.take());
                }
                let mut end = End::of(outcome.unwrap_or(Outcome::Ok));
                end.bytes = record::text_bytes(&result);
                let reply = encoder.tool_result(record.follow(result, &self.cut_off), seal);
                return Poll::Ready(reply.map(|reply| (reply, end)));
            }
            CallState::Reading { uri, ids, contents } => match ready!(contents.as_mut().poll(cx)) {
                Ok(Some(contents)) => Ok(encoder.contents(&contents)),
                Ok(None) => Err(Fault::UnknownResource(mem::take(uri))),
                Err(failure) => {
                    ids.log(&failure, "resources/read", uri);
                    Err(Fault::Resource(failure))
                }
            },
            CallState::Listing(list) => encoder.listing(ready!(list.as_mut().poll(cx))),
            CallState::Completing(values) => {
                Ok(encoder.completion(ready!(values.as_mut().poll(cx))))
            }
            CallState::Answering(result) => {
                let result = ready!(result.as_mut().poll(cx));
                Ok(Reply::stream(ResultBody::from(result)))
            }
        };
        Poll::Ready(reply.map(|reply| (reply, End::of(Outcome::Ok))))
    }
}

impl Drop for ResponseFuture {
    fn drop(&mut self) {
        let state = mem::replace(&mut self.state, CallState::Ready(None));
        if let CallState::Calling {
            record: Some(mut record),
            result,
            detached: Some(detached),
            ..
        } = state
        {
            record.observed_by(self.observed.take());
            detached.detach(record, result, self.cut_off.clone());
        } else if let Some(observed) = self.observed.take() {
            observed.end(End::of(Outcome::Cancelled));
        }
    }
}

impl fmt::Debug for ResponseFuture {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ResponseFuture").finish_non_exhaustive()
    }
}

// === impl CallState ===

impl CallState {
    pub(crate) fn waiting(
        admission: Admission,
        shared: &Arc<Shared>,
        caller: Caller,
        call: Call,
    ) -> Self {
        Self::Waiting(Box::new(Waiting {
            admission,
            shared: Arc::clone(shared),
            call: Some((caller, call)),
        }))
    }

    pub(crate) fn ready(reply: Reply<ResultBody>) -> Self {
        Self::Ready(Some(Ok(reply)))
    }

    pub(crate) fn result(result: Bytes) -> Self {
        // Streamed although it is complete, so that the bytes are shared and not copied.
        Self::ready(Reply::stream(ResultBody::from(result)))
    }
}
