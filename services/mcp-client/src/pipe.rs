//! Requests over a pair of pipes: one message per line.
//!
//! Nothing runs in the background: the requests that wait read for each other. Each poll writes and
//! reads as much as it can, and everything that wakes the pipes wakes all waiting requests.

mod line;
mod routing;

use std::{
    collections::HashMap,
    future::poll_fn,
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, Ordering},
    },
    task::{Context, Poll, Wake, Waker},
};

use tokio::io::{AsyncRead, AsyncWrite};

use self::{
    line::{LineReader, LineWriter},
    routing::Waiting,
};
use crate::{
    error::ClientError,
    lock::lock,
    message::{self, Message},
    outgoing::Outgoing,
};

/// A server at the other end of two pipes.
pub(crate) struct Pipe {
    state: Mutex<PipeState>,
    wakers: Arc<Wakers>,
    max_bytes: usize,
}

struct PipeState {
    input: LineReader,
    output: LineWriter,
    waiting: Waiting,
}

/// The tasks that wait for the pipes.
#[derive(Default)]
struct Wakers {
    tasks: Mutex<HashMap<Key, Waker>>,
    flushes: AtomicU64,
}

/// The key of a task that waits.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Key {
    Request(u64),
    Flush(u64),
}

/// The place of a flush among the tasks that wait.
struct Place<'a> {
    wakers: &'a Wakers,
    key: Key,
}

/// A request over the pipes.
pub(crate) struct PipeExchange {
    pipe: Arc<Pipe>,
    id: u64,
    is_cancellable: bool,
}

// === impl Pipe ===

impl Pipe {
    pub(crate) fn new(
        input: impl AsyncRead + Send + Unpin + 'static,
        output: impl AsyncWrite + Send + Unpin + 'static,
        max_bytes: usize,
    ) -> Self {
        Self {
            state: Mutex::new(PipeState {
                input: LineReader::new(Box::new(input), max_bytes),
                output: LineWriter::new(Box::new(output)),
                waiting: Waiting::new(max_bytes),
            }),
            wakers: Arc::default(),
            max_bytes,
        }
    }

    pub(crate) fn start(self: &Arc<Self>, request: &Outgoing<'_>) -> PipeExchange {
        let mut state = lock(&self.state);
        state.waiting.add(request.id);
        state.output.push(&request.body);
        PipeExchange {
            pipe: Arc::clone(self),
            id: request.id,
            // The protocol forbids it for `initialize`.
            is_cancellable: request.method != "initialize",
        }
    }

    pub(crate) async fn send(&self, message: &[u8]) -> Result<(), ClientError> {
        lock(&self.state).output.push(message);
        self.flush().await
    }

    /// Writes all pushed lines. Also reads, since a server may stop reading while its own output is
    /// full.
    pub(crate) async fn flush(&self) -> Result<(), ClientError> {
        let place = self.wakers.place();
        poll_fn(|cx| {
            place.wakers.set(place.key, cx.waker());
            self.drive(|state, cx| state.output.poll_flush(cx))
        })
        .await
    }

    /// Ends the input of the server.
    pub(crate) async fn close(&self) -> Result<(), ClientError> {
        self.flush().await?;
        poll_fn(|cx| lock(&self.state).output.poll_shutdown(cx)).await
    }

    /// Writes and reads all that the pipes take and have, and then looks at the state.
    fn drive<T>(&self, look: impl FnOnce(&mut PipeState, &mut Context<'_>) -> T) -> T {
        let all = Waker::from(Arc::clone(&self.wakers));
        let cx = &mut Context::from_waker(&all);
        let (woken, outcome) = {
            let mut state = lock(&self.state);
            let PipeState {
                input,
                output,
                waiting,
            } = &mut *state;
            if let Poll::Ready(Err(error)) = output.poll_flush(cx) {
                waiting.fail_all(&error);
            }
            while let Poll::Ready(line) = input.poll_line(cx) {
                match line {
                    Ok(Some(line)) => waiting.deliver(line.len(), Message::read(&line)),
                    Ok(None) => {
                        let max_bytes = self.max_bytes;
                        waiting.fail_all(&ClientError::TooLarge { max_bytes });
                    }
                    Err(end) => {
                        waiting.end(&end);
                        break;
                    }
                }
            }
            let woken = waiting.take_woken();
            (woken, look(&mut state, cx))
        };
        for id in woken {
            self.wakers.wake_one(id);
        }
        outcome
    }
}

// === impl Wakers ===

impl Wakers {
    /// Makes a place for a flush.
    fn place(&self) -> Place<'_> {
        let key = Key::Flush(self.flushes.fetch_add(1, Ordering::Relaxed));
        Place { wakers: self, key }
    }

    fn set(&self, key: Key, waker: &Waker) {
        let mut tasks = lock(&self.tasks);
        match tasks.get_mut(&key) {
            Some(known) => known.clone_from(waker),
            None => drop(tasks.insert(key, waker.clone())),
        }
    }

    fn wake_one(&self, id: u64) {
        let waker = lock(&self.tasks).get(&Key::Request(id)).cloned();
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    fn wake_all(&self) {
        // Without the lock: a waker may run a task at once.
        let wakers: Vec<_> = lock(&self.tasks).values().cloned().collect();
        for waker in wakers {
            waker.wake();
        }
    }
}

impl Wake for Wakers {
    fn wake(self: Arc<Self>) {
        self.wake_all();
    }
}

// === impl Place ===

impl Drop for Place<'_> {
    fn drop(&mut self) {
        lock(&self.wakers.tasks).remove(&self.key);
    }
}

// === impl PipeExchange ===

impl PipeExchange {
    pub(crate) fn poll_next(&self, cx: &Context<'_>) -> Poll<Result<Message, ClientError>> {
        self.pipe.wakers.set(Key::Request(self.id), cx.waker());
        self.pipe.drive(|state, _| state.waiting.next(self.id))
    }

    pub(crate) fn finish(&mut self) {
        self.is_cancellable = false;
    }
}

impl Drop for PipeExchange {
    fn drop(&mut self) {
        lock(&self.pipe.wakers.tasks).remove(&Key::Request(self.id));
        lock(&self.pipe.state).waiting.remove(self.id);
        if self.is_cancellable {
            let cancelled = message::cancelled(self.id);
            // If the pipe is full, the next request writes the rest; an error reaches it as well.
            drop(self.pipe.drive(|state, cx| {
                state.output.push(&cancelled);
                state.output.poll_flush(cx)
            }));
        }
    }
}
