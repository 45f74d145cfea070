//! The running calls.

use std::{
    pin::Pin,
    task::{Context, Poll},
};

use futures_util::{
    StreamExt as _,
    future::{AbortHandle, Abortable, Aborted},
    stream::FuturesUnordered,
};
use pin_project_lite::pin_project;
use serde::Deserialize;
use tokio::sync::mpsc;
use ziggurat_layers::json_rpc::{Call, Id, Incoming};

use crate::server::stdio::output::OutputLine;

/// The running calls: waiting for a permit, executing, or waiting to be written.
pub(super) struct Calls<F, T> {
    running: FuturesUnordered<RunningCall<F>>,
    /// At most one for each call, so a search is short.
    cancellable: Vec<Cancellable>,
    next_key: u64,
    writer: mpsc::Sender<OutputLine<T>>,
}

struct Cancellable {
    key: u64,
    id: Id,
    abort: AbortHandle,
}

pin_project! {
    /// A call and its key.
    struct RunningCall<F> {
        key: u64,
        #[pin]
        call: Abortable<F>,
    }
}

/// The params of `notifications/cancelled`.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Cancelled {
    request_id: Id,
}

/// Returns the notification, if the message cancels a call.
pub(super) fn as_cancellation(incoming: &Incoming) -> Option<&Call> {
    match incoming {
        Incoming::Call(call) if call.is_notification() => {
            (call.method() == "notifications/cancelled").then_some(call)
        }
        _ => None,
    }
}

/// Returns the id that a cancellation can name.
pub(super) fn cancellable_id(incoming: &Incoming) -> Option<Id> {
    match incoming {
        Incoming::Call(call) if call.method() != "initialize" => call.id().cloned(),
        _ => None,
    }
}

// === impl Calls ===

impl<F, T> Calls<F, T>
where
    F: Future<Output = Option<OutputLine<T>>>,
{
    pub(super) fn new(writer: mpsc::Sender<OutputLine<T>>) -> Self {
        Self {
            running: FuturesUnordered::new(),
            cancellable: Vec::new(),
            next_key: 0,
            writer,
        }
    }

    pub(super) fn len(&self) -> usize {
        self.running.len()
    }

    pub(super) fn start(&mut self, id: Option<Id>, call: F) {
        let key = self.next_key;
        self.next_key += 1;
        let (abort, registration) = AbortHandle::new_pair();
        let call = Abortable::new(call, registration);
        self.running.push(RunningCall { key, call });
        if let Some(id) = id {
            self.cancellable.push(Cancellable { key, id, abort });
        }
        debug_assert!(self.cancellable.len() <= self.running.len());
    }

    /// Aborts the calls that the notification names.
    pub(super) fn cancel(&self, notification: &Call) {
        let Ok(Cancelled { request_id }) = notification.params() else {
            return;
        };
        for call in self.cancellable.iter().filter(|call| call.id == request_id) {
            call.abort.abort();
        }
    }

    /// Waits for a call to end and passes its answer to the writer; `None` if there is no call.
    ///
    /// Cancel safe: no answer is lost when the future is dropped.
    pub(super) async fn finish_one(&mut self) -> Option<()> {
        let (key, outcome) = self.running.next().await?;
        self.cancellable.retain(|call| call.key != key);
        if let Ok(Some(line)) = outcome {
            // The channel has space, because there is only one permit to write. If the writer is
            // gone, it has failed, and the server ends.
            self.writer.try_send(line).ok();
        }
        Some(())
    }

    /// Waits for all calls to end, and closes the channel to the writer.
    pub(super) async fn finish_all(mut self) {
        while self.finish_one().await.is_some() {}
    }
}

// === impl RunningCall ===

impl<F: Future> Future for RunningCall<F> {
    type Output = (u64, Result<F::Output, Aborted>);

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.project();
        this.call.poll(cx).map(|outcome| (*this.key, outcome))
    }
}
