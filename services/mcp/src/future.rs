//! The future of a call.

use std::{
    convert::Infallible,
    fmt, mem,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
};

use bytes::Bytes;
use ziggurat_layers::{json_rpc::Reply, sanitize::Sanitizer};
use ziggurat_runtime::cut_off::AtCutOff;

use crate::{
    DetachedCalls, Failure, ResultBody, ToolError,
    body::Ending,
    encode::{Encoder, Encoders},
    heartbeat::Heartbeat,
    method::MethodFuture,
    negotiated,
    protocol::Revision,
    record::Record,
    resource::{Contents, ReadFuture},
    template::{CompleteFuture, ReadFuture as TemplatedFuture},
    tool::ToolFuture,
    wire::{self, Fault},
};

/// Response future of [`Mcp`](super::Mcp).
pub struct ResponseFuture {
    pub(super) state: State,
    pub(super) sanitizer: Sanitizer,
    /// `None` for calls that are answered exactly as in revision 2024-11-05.
    pub(super) negotiated: Option<(Arc<Encoders>, Revision)>,
    /// The deadline of the call when the server shuts down.
    pub(super) cut_off: AtCutOff,
}

/// Progress of a call.
pub(super) enum State {
    Ready(Option<Result<Reply<ResultBody>, Fault>>),
    Calling {
        /// Set until the call has ended.
        record: Option<Record>,
        result: ToolFuture,
        /// Set if the client asked for progress.
        pulse: Option<Heartbeat>,
        /// Finishes the call if the client disconnects; `None` if that cancels it.
        unattended: Option<DetachedCalls>,
    },
    Reading {
        uri: String,
        contents: ReadFuture,
    },
    ReadingTemplated {
        uri: String,
        contents: TemplatedFuture,
    },
    Completing(CompleteFuture),
    Answering(MethodFuture),
}

// === impl ResponseFuture ===

impl Future for ResponseFuture {
    type Output = Result<Reply<ResultBody>, Infallible>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.get_mut();
        let outcome = match this.poll_outcome(cx) {
            Poll::Ready(outcome) => outcome,
            Poll::Pending => {
                ready!(this.cut_off.poll(cx));
                // Drops the call here, so that it is not detached either.
                this.state = State::Ready(None);
                Err(Fault::Tool(Failure::new("the server is shutting down")))
            }
        };
        let face = this.negotiated.as_ref();
        let face = face.map(|(faces, revision)| faces.of(*revision));
        Poll::Ready(Ok(outcome.unwrap_or_else(|fault| match face {
            Some(face) => face.fault(fault, this.sanitizer),
            None => fault.into_reply(this.sanitizer),
        })))
    }
}

impl ResponseFuture {
    fn poll_outcome(&mut self, cx: &mut Context<'_>) -> Poll<Result<Reply<ResultBody>, Fault>> {
        let face = self.negotiated.as_ref();
        let face = face.map(|(faces, revision)| faces.of(*revision));
        Poll::Ready(match &mut self.state {
            State::Ready(outcome) => outcome.take().expect("not polled after it is ready"),
            State::Calling {
                record,
                result,
                pulse,
                ..
            } => {
                let Poll::Ready(result) = result.as_mut().poll(cx) else {
                    if let Some(pulse) = pulse {
                        pulse.poll(cx);
                    }
                    return Poll::Pending;
                };
                let record = record.take().expect("not polled after it is ready");
                if let Err(ToolError::Failed(failure)) = &result {
                    failure.log("tools/call", record.tool());
                }
                let result = record.follow(result, &self.cut_off);
                match face {
                    Some(face) => face.tool_result(result),
                    None => wire::tool_result(result, &Ending::PLAIN),
                }
            }
            State::Reading { uri, contents } => {
                let contents = ready!(contents.as_mut().poll(cx)).map(Some);
                read(uri, contents, face)
            }
            State::ReadingTemplated { uri, contents } => {
                let contents = ready!(contents.as_mut().poll(cx));
                read(uri, contents, face)
            }
            State::Completing(proposed) => {
                let proposed = ready!(proposed.as_mut().poll(cx));
                let face = face.expect("only where a revision is negotiated");
                Ok(negotiated::completed(face, proposed))
            }
            State::Answering(result) => {
                let result = ready!(result.as_mut().poll(cx));
                Ok(Reply::stream(ResultBody::from(result)))
            }
        })
    }
}

impl Drop for ResponseFuture {
    fn drop(&mut self) {
        let state = mem::replace(&mut self.state, State::Ready(None));
        if let State::Calling {
            record: Some(record),
            result,
            unattended: Some(unattended),
            ..
        } = state
        {
            unattended.take_over(record, result, self.cut_off.clone());
        }
    }
}

impl fmt::Debug for ResponseFuture {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ResponseFuture").finish_non_exhaustive()
    }
}

// === impl State ===

impl State {
    pub(super) fn ready(reply: Reply<ResultBody>) -> Self {
        Self::Ready(Some(Ok(reply)))
    }

    pub(super) fn result(result: Bytes) -> Self {
        // Streamed although it is complete, so that the bytes are shared and not copied.
        Self::ready(Reply::stream(ResultBody::from(result)))
    }
}

/// Encodes the outcome of reading a resource, which may not exist.
fn read(
    uri: &mut String,
    contents: Result<Option<Contents>, Failure>,
    face: Option<&Encoder>,
) -> Result<Reply<ResultBody>, Fault> {
    match contents {
        Ok(Some(contents)) => {
            let tail = face.map_or(wire::PLAIN, |face| &face.read_tail);
            Ok(wire::contents(&contents, tail))
        }
        Ok(None) => Err(Fault::UnknownResource(mem::take(uri))),
        Err(failure) => {
            failure.log("resources/read", uri);
            Err(Fault::Resource(failure))
        }
    }
}
