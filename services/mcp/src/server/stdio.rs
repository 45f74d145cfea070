//! Serves JSON-RPC calls over standard input and output, or any other pair of pipes.
//!
//! Messages come and go one per line (Model Context Protocol, stdio transport). Calls run
//! concurrently and are answered as they finish; answers are written one after another. Only
//! JSON-RPC is written to the output: a program must log to another permit.
//!
//! ```
//! use std::{convert::Infallible, future::pending};
//! use tower::service_fn;
//! use ziggurat_layers::json_rpc::{Call, Error, Json, Reply};
//! use ziggurat_mcp::stdio::Stdio;
//!
//! # tokio_test::block_on(async {
//! let service = service_fn(|call: Call| async move {
//!     let reply: Reply = match call.method() {
//!         "ping" => Json::new("pong").map_err(|_| Error::internal_error()).into(),
//!         _ => Error::method_not_found().into(),
//!     };
//!     Ok::<_, Infallible>(reply)
//! });
//! let input = &b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\n"[..];
//! let mut output = Vec::new();
//! Stdio::new().serve(service, input, &mut output, pending()).await?;
//! assert_eq!(output, b"{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":\"pong\"}\n");
//! # Ok::<_, std::io::Error>(())
//! # }).unwrap();
//! ```
//!
//! # Notifications
//!
//! Each call has a [`Notifier`] in its extensions. Its messages are written on separate lines
//! before the answer.
//!
//! # Cancelling
//!
//! `notifications/cancelled` with a `requestId` drops the calls of that id, in any state: waiting
//! for a permit, running, or answered but not yet written. Nothing is sent for them. An answer is
//! finished once its line has begun, because half a line would corrupt the next one. Unknown ids
//! are ignored, and `initialize` cannot be cancelled.
//!
//! # Memory
//!
//! A call holds a permit from its start until its answer is written; there are
//! [`max_calls`](Limits::max_calls) permits. [`max_waiting`](Limits::max_waiting) more messages are
//! read ahead, so that a cancellation is read before the calls that wait; then reading stops until
//! a call is done. Each message holds at most a line.
//!
//! # Panics of the service
//!
//! All calls are polled by the future of [`serve`](Stdio::serve), which spawns no tasks, so a panic
//! in one call ends them all. [`Mcp`](crate::Mcp) catches the panics of its tools.

mod calls;
mod input;
mod output;
#[cfg(feature = "stdio")]
mod process;
#[cfg(feature = "stdio")]
mod streams;
#[cfg(test)]
mod tests;

use std::{convert::Infallible, future::poll_fn, io, pin::pin, sync::Arc, time::Duration};

use bytes::Bytes;
use futures_util::FutureExt as _;
use http::{Extensions, Request};
use http_body::Body;
use tokio::{
    io::{AsyncRead, AsyncWrite},
    sync::{OwnedSemaphorePermit, Semaphore, mpsc},
    time,
};
use tower_service::Service;
use tracing::warn;
use ziggurat_layers::json_rpc::{Call, Dialect, Incoming, Reply, RpcBody, lines::Line};
use ziggurat_layers::shutdown::{CutOff, ERROR_SEND_TIME};

use self::{
    calls::{Calls, as_cancellation, cancellable_id},
    input::Lines,
    output::{OutputLine, write_lines},
};
use crate::{self as mcp, Notifier};

/// Limits on the resources of a client.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Limits {
    /// Calls that run, or are answered and not yet written; at least one.
    pub max_calls: usize,
    /// Messages that are read ahead while all permits are taken.
    pub max_waiting: usize,
    /// Bytes in a line; a longer line is refused.
    pub max_line_bytes: usize,
    /// Time for the running calls when the input ends or the server shuts down; after it they have
    /// half a second to return an error.
    pub grace: Duration,
}

/// The channels that a call needs for its messages and its answer.
struct CallChannels<T> {
    notifier: Notifier,
    write_permits: Arc<Semaphore>,
    writer: mpsc::WeakSender<OutputLine<T>>,
}

/// Serves calls over a pair of pipes.
#[derive(Clone, Debug)]
#[must_use]
pub struct Stdio {
    dialect: Dialect,
    limits: Limits,
    cut_off: CutOff,
    extensions: Extensions,
}

// === impl Limits ===

impl Default for Limits {
    fn default() -> Self {
        Self {
            max_calls: 32,
            max_waiting: 32,
            max_line_bytes: 10 << 20,
            // Clients wait two seconds for a server to exit before they kill it.
            grace: Duration::from_millis(1300),
        }
    }
}

// === impl Stdio ===

impl Stdio {
    /// Makes a server with the [dialect](mcp::dialect) of the protocol and the default [`Limits`].
    pub fn new() -> Self {
        Self {
            dialect: mcp::dialect(),
            limits: Limits::default(),
            cut_off: CutOff::default(),
            extensions: Extensions::new(),
        }
    }

    /// Sets which messages are accepted.
    pub fn with_dialect(mut self, dialect: Dialect) -> Self {
        self.dialect = dialect;
        self
    }

    /// Sets the limits on the resources of the client.
    pub fn with_limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// Sets the signal for the service that the time of the running calls is over, so that it can
    /// still answer them.
    pub fn with_cut_off(mut self, cut_off: CutOff) -> Self {
        self.cut_off = cut_off;
        self
    }

    /// Puts a value into the extensions of every call, as an HTTP layer would.
    pub fn with_extension(mut self, value: impl Clone + Send + Sync + 'static) -> Self {
        self.extensions.insert(value);
        self
    }

    /// Serves until the input ends or `shutdown` resolves, then lets the running calls finish
    /// within the grace period.
    ///
    /// The bodies of the service cannot fail, by their type, because a line cannot be taken back.
    ///
    /// # Errors
    ///
    /// Returns an error if the input or the output fails. If the output fails, the client is gone
    /// and the running calls are dropped at once.
    pub async fn serve<S, T, R, W>(
        self,
        service: S,
        input: R,
        output: W,
        shutdown: impl Future<Output = ()>,
    ) -> io::Result<()>
    where
        S: Service<Call, Response = Reply<T>, Error = Infallible> + Clone,
        T: Body<Data = Bytes, Error = Infallible>,
        R: AsyncRead + Unpin,
        W: AsyncWrite + Unpin,
    {
        let max_calls = self.limits.max_calls.clamp(1, Semaphore::MAX_PERMITS);
        let call_permits = Arc::new(Semaphore::new(max_calls));
        let write_permits = Arc::new(Semaphore::new(1));
        let (writer, lines) = mpsc::channel(1);
        let messages = writer.downgrade();
        let run = |incoming, notifier| {
            CallChannels {
                notifier,
                write_permits: write_permits.clone(),
                // Weak, because the writer has to end with the calls and this closure outlives
                // them.
                writer: messages.clone(),
            }
            .run(incoming, service.clone(), call_permits.clone())
        };
        let mut writing = pin!(write_lines(lines, output));
        let mut calls = Calls::new(writer);
        let ended = tokio::select! {
            // Ends here only by failing.
            written = &mut writing => return written,
            ended = self.read_calls(&mut calls, input, run) => ended,
            () = shutdown => Ok(()),
        };
        let finishing = async {
            calls.finish_all().await;
            Ok(())
        };
        let mut finished = pin!(async { tokio::try_join!(finishing, writing) });
        let mut outcome = time::timeout(self.limits.grace, finished.as_mut()).await;
        if outcome.is_err() {
            // The public path of this module, which filters of logs name.
            warn!(target: "ziggurat_mcp::stdio", "calls were cut off after the grace period");
            self.cut_off.happen();
            outcome = time::timeout(ERROR_SEND_TIME, finished).await;
        }
        // Calls that still run now are dropped: their client does not read.
        if let Ok(finished) = outcome {
            finished?;
        }
        ended
    }

    /// Starts calls until the input ends, and passes their answers to the writer.
    async fn read_calls<R, F, T>(
        &self,
        calls: &mut Calls<F, T>,
        input: R,
        run: impl Fn(Incoming, Notifier) -> F,
    ) -> io::Result<()>
    where
        R: AsyncRead + Unpin,
        F: Future<Output = Option<OutputLine<T>>>,
    {
        let Limits {
            max_calls,
            max_waiting,
            max_line_bytes,
            ..
        } = self.limits;
        let max_running = max_calls.max(1).saturating_add(max_waiting);
        let mut lines = Lines::new(input, max_line_bytes);
        loop {
            let line = tokio::select! {
                Some(()) = calls.finish_one() => continue,
                line = lines.next(), if calls.len() < max_running => line?,
            };
            let Some(line) = line else {
                return Ok(());
            };
            let notifier = Notifier::new();
            let incoming = self.read(line, &notifier);
            if let Some(notification) = as_cancellation(&incoming) {
                calls.cancel(notification);
            } else {
                calls.start(cancellable_id(&incoming), run(incoming, notifier));
            }
        }
    }

    fn read(&self, line: Line, notifier: &Notifier) -> Incoming {
        match line {
            Line::Message(message) => {
                let mut message = Request::new(message);
                message.extensions_mut().clone_from(&self.extensions);
                message.extensions_mut().insert(notifier.clone());
                self.dialect.read(message)
            }
            Line::TooLong => self.dialect.read_line(line),
        }
    }
}

impl Default for Stdio {
    fn default() -> Self {
        Self::new()
    }
}

// === impl CallChannels ===

impl<T: Body<Data = Bytes>> CallChannels<T> {
    /// Runs a call from the moment it is read until its answer may be written.
    async fn run<S>(
        self,
        incoming: Incoming,
        service: S,
        call_permits: Arc<Semaphore>,
    ) -> Option<OutputLine<T>>
    where
        S: Service<Call, Response = Reply<T>, Error = Infallible>,
    {
        let permit = acquire(call_permits).await;
        let mut answer = pin!(incoming.answer(service));
        let answer = loop {
            tokio::select! {
                // Biased, so that messages are written before the answer.
                biased;
                message = poll_fn(|cx| self.notifier.poll_next(cx)) => self.write(message).await,
                answer = &mut answer => break answer,
            }
        };
        while let Some(message) = poll_fn(|cx| self.notifier.poll_next(cx)).now_or_never() {
            self.write(message).await;
        }
        let Ok(answer) = answer;
        let body = answer.into_body()?;
        Some(OutputLine {
            body,
            _write_permit: acquire(self.write_permits).await,
            _call_permit: Some(permit),
        })
    }

    async fn write(&self, message: Bytes) {
        let line = OutputLine {
            body: RpcBody::from(message),
            _write_permit: acquire(Arc::clone(&self.write_permits)).await,
            _call_permit: None,
        };
        if let Some(writer) = self.writer.upgrade() {
            // The channel has space, because there is only one permit to write.
            writer.try_send(line).ok();
        }
    }
}

async fn acquire(semaphore: Arc<Semaphore>) -> OwnedSemaphorePermit {
    let permit = semaphore.acquire_owned().await;
    permit.expect("the semaphore is never closed")
}
