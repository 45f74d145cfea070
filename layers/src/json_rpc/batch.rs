//! Several calls in one message.

#[cfg(test)]
mod tests;

use std::{
    fmt, mem,
    pin::Pin,
    task::{Context, Poll, ready},
    vec,
};

use bytes::Bytes;
use http::{Extensions, HeaderMap, HeaderValue, StatusCode, header, request::Parts};
use http_body::Body;
use pin_project_lite::pin_project;
use tower_service::Service;

use crate::{
    collect::CollectedBody,
    json_rpc::{
        Answer, Call, Dialect, Envelope, Error, Reply, RpcBody, dialect::Checked, scan::Message,
    },
};

/// Limits and concurrency of batches.
///
/// The answers come in the order of the calls. They are complete before the first is sent, because
/// a streamed result may hold something that another call of the batch waits for. So they are
/// collected, up to a limit.
///
/// ```
/// use ziggurat_layers::json_rpc::{Batches, Dialect};
///
/// let one_by_one = Batches::new(50).with_concurrency(1).with_max_bytes(1 << 20);
/// let dialect = Dialect::new().with_batches(one_by_one);
/// # let _ = dialect;
/// ```
#[derive(Clone, Copy, Debug)]
#[must_use]
pub struct Batches {
    pub(super) max_calls: usize,
    concurrency: usize,
    max_bytes: usize,
}

/// A batch before its calls are made.
///
/// ```
/// use http::Request;
/// use ziggurat_layers::json_rpc::{Batches, Dialect, Incoming};
///
/// let message = r#"[{"jsonrpc":"2.0","id":1,"method":"a"},{"jsonrpc":"2.0","method":"b"}]"#;
/// let dialect = Dialect::new().with_batches(Batches::new(20));
/// let Incoming::Batch(batch) = dialect.read(Request::new(message.into())) else {
///     panic!("a batch");
/// };
/// assert_eq!(batch.len(), 2);
/// ```
pub struct Batch {
    pub(super) dialect: Dialect,
    pub(super) limits: Batches,
    pub(super) document: Bytes,
    pub(super) head: Parts,
    pub(super) messages: Vec<Message>,
}

/// A batch with running calls.
pub(super) struct RunningBatch<F, T> {
    dialect: Dialect,
    document: Bytes,
    head: Parts,
    waiting: vec::IntoIter<Message>,
    concurrency: usize,
    /// Not more than may run at once, so all of them are polled on every wake-up.
    running: Vec<RunningCall<F, T>>,
    /// In the order of the messages; empty for a message without an answer.
    answers: Vec<Bytes>,
    bytes_left: usize,
    extensions: Extensions,
}

struct RunningCall<F, T> {
    index: usize,
    envelope: Envelope,
    // Boxed: batches are rare, and the list moves its calls when one completes.
    stage: Pin<Box<Stage<F, T>>>,
}

pin_project! {
    #[project = StageProj]
    enum Stage<F, T> {
        Serving { #[pin] reply: F },
        Gathering { #[pin] body: RpcBody<T>, gathered: CollectedBody },
    }
}

// === impl Batches ===

impl Batches {
    /// Answers batches of up to `max_calls` messages, four at a time, with up to 10 MiB of
    /// answers.
    ///
    /// ```
    /// use http::Request;
    /// use ziggurat_layers::json_rpc::{Batches, Dialect, Incoming};
    ///
    /// let dialect = Dialect::new().with_batches(Batches::new(1));
    /// let two = r#"[{"jsonrpc":"2.0","id":1,"method":"a"},{"jsonrpc":"2.0","id":2,"method":"b"}]"#;
    /// assert!(matches!(dialect.read(Request::new(two.into())), Incoming::Refused(_)));
    /// ```
    pub fn new(max_calls: usize) -> Self {
        Self {
            max_calls,
            concurrency: 4,
            max_bytes: 10 << 20,
        }
    }

    /// Sets how many calls of a batch run at once; at least one.
    ///
    /// ```
    /// use ziggurat_layers::json_rpc::Batches;
    ///
    /// // Each call may depend on the one before it.
    /// let batches = Batches::new(20).with_concurrency(1);
    /// # let _ = batches;
    /// ```
    pub fn with_concurrency(mut self, calls: usize) -> Self {
        self.concurrency = calls.max(1);
        self
    }

    /// Sets the maximum size of all answers to a batch.
    ///
    /// If the result of a call does not fit, its answer is [`Error::INTERNAL_ERROR`].
    ///
    /// ```
    /// use ziggurat_layers::json_rpc::Batches;
    ///
    /// let batches = Batches::new(20).with_max_bytes(1 << 20);
    /// # let _ = batches;
    /// ```
    pub fn with_max_bytes(mut self, bytes: usize) -> Self {
        self.max_bytes = bytes;
        self
    }
}

// === impl Batch ===

impl Batch {
    /// Returns the number of messages, at least one.
    ///
    /// ```
    /// use ziggurat_layers::json_rpc::Incoming;
    ///
    /// /// The number of messages, for a limit on calls.
    /// fn cost(incoming: &Incoming) -> usize {
    ///     match incoming {
    ///         Incoming::Batch(batch) => batch.len(),
    ///         _ => 1,
    ///     }
    /// }
    /// assert_eq!(cost(&Incoming::Ignored), 1);
    /// ```
    #[must_use]
    #[expect(clippy::len_without_is_empty, reason = "an empty batch is refused")]
    pub fn len(&self) -> usize {
        self.messages.len()
    }

    pub(super) fn run<F, T>(self) -> RunningBatch<F, T> {
        let count = self.messages.len();
        RunningBatch {
            dialect: self.dialect,
            document: self.document,
            head: self.head,
            waiting: self.messages.into_iter(),
            concurrency: self.limits.concurrency,
            running: Vec::with_capacity(self.limits.concurrency.min(count)),
            answers: vec![Bytes::new(); count],
            bytes_left: self.limits.max_bytes,
            extensions: Extensions::new(),
        }
    }
}

impl fmt::Debug for Batch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Batch")
            .field("len", &self.len())
            .finish_non_exhaustive()
    }
}

// === impl RunningBatch ===

impl<F, T: Body<Data = Bytes>> RunningBatch<F, T> {
    pub(super) fn poll<S>(
        &mut self,
        service: &mut S,
        cx: &mut Context<'_>,
    ) -> Poll<Result<Answer<T>, S::Error>>
    where
        S: Service<Call, Response = Reply<T>, Future = F>,
        F: Future<Output = Result<Reply<T>, S::Error>>,
    {
        loop {
            self.start_calls(service, cx)?;
            let any_complete = self.poll_calls(cx)?;
            if self.running.is_empty() && self.waiting.len() == 0 {
                return Poll::Ready(Ok(self.answer()));
            }
            if !any_complete {
                return Poll::Pending;
            }
        }
    }

    /// Starts calls up to the limit, as long as the service is ready.
    fn start_calls<S>(&mut self, service: &mut S, cx: &mut Context<'_>) -> Result<(), S::Error>
    where
        S: Service<Call, Future = F>,
    {
        while self.running.len() < self.concurrency {
            let Some(message) = self.waiting.as_slice().first() else {
                break;
            };
            let index = self.answers.len() - self.waiting.len();
            match self.dialect.check(message, &self.document) {
                Checked::Call(checked) => {
                    if service.poll_ready(cx)?.is_pending() {
                        break;
                    }
                    let call = checked.into_call(self.head.clone(), true);
                    let envelope = call.envelope();
                    let reply = service.call(call);
                    self.running.push(RunningCall {
                        index,
                        envelope,
                        stage: Box::pin(Stage::Serving { reply }),
                    });
                }
                Checked::Refused(refusal) => self.answers[index] = refusal.to_bytes(),
                Checked::Ignored => {}
            }
            self.waiting.next();
        }
        Ok(())
    }

    /// Polls the running calls; returns whether any is complete.
    fn poll_calls<E>(&mut self, cx: &mut Context<'_>) -> Result<bool, E>
    where
        F: Future<Output = Result<Reply<T>, E>>,
    {
        let before = self.running.len();
        let mut at = 0;
        while let Some(call) = self.running.get_mut(at) {
            match call.poll(&mut self.bytes_left, &mut self.extensions, cx)? {
                Poll::Ready(answer) => {
                    self.answers[call.index] = answer;
                    self.running.swap_remove(at);
                }
                Poll::Pending => at += 1,
            }
        }
        Ok(self.running.len() < before)
    }

    fn answer(&mut self) -> Answer<T> {
        let mut frames = Vec::with_capacity(2 * self.answers.len());
        for answer in self.answers.drain(..).filter(|answer| !answer.is_empty()) {
            frames.extend([Bytes::from_static(b","), answer]);
        }
        let extensions = mem::take(&mut self.extensions);
        if frames.is_empty() {
            return Answer::none(extensions);
        }
        // The bracket takes the position of the first comma.
        frames[0] = Bytes::from_static(b"[");
        frames.push(Bytes::from_static(b"]"));
        Answer {
            status: StatusCode::OK,
            headers: HeaderMap::from_iter([(
                header::CONTENT_TYPE,
                HeaderValue::from_static("application/json"),
            )]),
            extensions,
            body: Some(RpcBody::buffered(Bytes::new(), frames)),
        }
    }
}

// === impl RunningCall ===

impl<F, T: Body<Data = Bytes>> RunningCall<F, T> {
    /// Resolves to the whole answer, which is empty if the call was a notification.
    fn poll<E>(
        &mut self,
        bytes_left: &mut usize,
        extensions: &mut Extensions,
        cx: &mut Context<'_>,
    ) -> Result<Poll<Bytes>, E>
    where
        F: Future<Output = Result<Reply<T>, E>>,
    {
        loop {
            match self.stage.as_mut().project() {
                StageProj::Serving { reply } => {
                    let Poll::Ready(reply) = reply.poll(cx)? else {
                        return Ok(Poll::Pending);
                    };
                    let answer = self.envelope.wrap(reply);
                    extensions.extend(answer.extensions);
                    let Some(body) = answer.body else {
                        return Ok(Poll::Ready(Bytes::new()));
                    };
                    let gathered = CollectedBody::default();
                    self.stage.set(Stage::Gathering { body, gathered });
                }
                StageProj::Gathering { body, gathered } => {
                    let Poll::Ready(whole) = gather(body, gathered, bytes_left, cx) else {
                        return Ok(Poll::Pending);
                    };
                    return Ok(Poll::Ready(whole.unwrap_or_else(|problem| {
                        *bytes_left += gathered.len();
                        let error = Error::internal_error().with_data(problem);
                        self.envelope.wrap_error(&error)
                    })));
                }
            }
        }
    }
}

fn gather<T: Body<Data = Bytes>>(
    mut body: Pin<&mut RpcBody<T>>,
    gathered: &mut CollectedBody,
    bytes_left: &mut usize,
    cx: &mut Context<'_>,
) -> Poll<Result<Bytes, &'static str>> {
    loop {
        let announced = usize::try_from(body.size_hint().lower()).unwrap_or(usize::MAX);
        match ready!(body.as_mut().poll_frame(cx)) {
            Some(Ok(frame)) => {
                // A member of an array cannot have trailers.
                let Ok(data) = frame.into_data() else {
                    continue;
                };
                let Some(rest) = bytes_left.checked_sub(data.len()) else {
                    return Poll::Ready(Err("the answers to the batch are too large"));
                };
                gathered.push(data, announced.min(*bytes_left));
                *bytes_left = rest;
            }
            Some(Err(_)) => return Poll::Ready(Err("the result is incomplete")),
            None => return Poll::Ready(Ok(gathered.take())),
        }
    }
}
