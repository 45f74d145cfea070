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

use crate::json_rpc::{
    Answer, Call, Dialect, Envelope, Error, Reply, RpcBody, collect::Gathered, dialect::Checked,
    scan::Message,
};

/// How batches are answered.
///
/// The answers come in the order of the calls and are complete before the first is sent: a
/// result that is streamed may hold on to something its neighbours are waiting for. So they
/// are gathered, within a bound.
#[derive(Clone, Copy, Debug)]
#[must_use]
pub struct Batches {
    pub(super) max_calls: usize,
    concurrency: usize,
    max_bytes: usize,
}

/// A batch whose calls have yet to be made.
pub struct Batch {
    pub(super) dialect: Dialect,
    pub(super) limits: Batches,
    pub(super) document: Bytes,
    pub(super) head: Parts,
    pub(super) messages: Vec<Message>,
}

/// A batch on its way to the service.
pub(super) struct Run<F, T> {
    dialect: Dialect,
    document: Bytes,
    head: Parts,
    waiting: vec::IntoIter<Message>,
    concurrency: usize,
    /// At most as many as may run at once, so all of them are polled on every wake-up.
    flights: Vec<Flight<F, T>>,
    /// By the order of the messages; empty where there is nothing to say.
    answers: Vec<Bytes>,
    room: usize,
    extensions: Extensions,
}

struct Flight<F, T> {
    index: usize,
    envelope: Envelope,
    // Boxed: a batch is rare, and its calls move while the list shrinks.
    stage: Pin<Box<Stage<F, T>>>,
}

pin_project! {
    #[project = StageProj]
    enum Stage<F, T> {
        Serving { #[pin] reply: F },
        Gathering { #[pin] body: RpcBody<T>, gathered: Gathered },
    }
}

// === impl Batches ===

impl Batches {
    /// Answers batches of up to `max_calls` messages, four at a time, with up to 10 MiB of
    /// answers.
    pub fn new(max_calls: usize) -> Self {
        Self {
            max_calls,
            concurrency: 4,
            max_bytes: 10 << 20,
        }
    }

    /// Sets how many calls of a batch the service works on at once; one at least.
    pub fn with_concurrency(mut self, calls: usize) -> Self {
        self.concurrency = calls.max(1);
        self
    }

    /// Sets how much the answers to a batch may hold together.
    ///
    /// A call whose result does not fit any more is answered with
    /// [`Error::INTERNAL_ERROR`].
    pub fn with_max_bytes(mut self, bytes: usize) -> Self {
        self.max_bytes = bytes;
        self
    }
}

// === impl Batch ===

impl Batch {
    /// How many messages the batch has, at least one.
    #[must_use]
    #[expect(clippy::len_without_is_empty, reason = "an empty batch is refused")]
    pub fn len(&self) -> usize {
        self.messages.len()
    }

    pub(super) fn run<F, T>(self) -> Run<F, T> {
        let count = self.messages.len();
        Run {
            dialect: self.dialect,
            document: self.document,
            head: self.head,
            waiting: self.messages.into_iter(),
            concurrency: self.limits.concurrency,
            flights: Vec::with_capacity(self.limits.concurrency.min(count)),
            answers: vec![Bytes::new(); count],
            room: self.limits.max_bytes,
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

// === impl Run ===

impl<F, T: Body<Data = Bytes>> Run<F, T> {
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
            self.take_off(service, cx)?;
            let has_landed = self.fly(cx)?;
            if self.flights.is_empty() && self.waiting.len() == 0 {
                return Poll::Ready(Ok(self.answer()));
            }
            if !has_landed {
                return Poll::Pending;
            }
        }
    }

    /// Starts calls while there is room and the service is ready for one.
    fn take_off<S>(&mut self, service: &mut S, cx: &mut Context<'_>) -> Result<(), S::Error>
    where
        S: Service<Call, Future = F>,
    {
        while self.flights.len() < self.concurrency {
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
                    self.flights.push(Flight {
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

    /// Polls the calls that are under way; says whether any is complete.
    fn fly<E>(&mut self, cx: &mut Context<'_>) -> Result<bool, E>
    where
        F: Future<Output = Result<Reply<T>, E>>,
    {
        let before = self.flights.len();
        let mut at = 0;
        while let Some(flight) = self.flights.get_mut(at) {
            match flight.poll(&mut self.room, &mut self.extensions, cx)? {
                Poll::Ready(answer) => {
                    self.answers[flight.index] = answer;
                    self.flights.swap_remove(at);
                }
                Poll::Pending => at += 1,
            }
        }
        Ok(self.flights.len() < before)
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
        // The place of the first comma is that of the bracket.
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

// === impl Flight ===

impl<F, T: Body<Data = Bytes>> Flight<F, T> {
    /// Resolves to the whole answer, which is empty if the call was a notification.
    fn poll<E>(
        &mut self,
        room: &mut usize,
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
                    let gathered = Gathered::default();
                    self.stage.set(Stage::Gathering { body, gathered });
                }
                StageProj::Gathering { body, gathered } => {
                    let Poll::Ready(whole) = gather(body, gathered, room, cx) else {
                        return Ok(Poll::Pending);
                    };
                    return Ok(Poll::Ready(whole.unwrap_or_else(|problem| {
                        *room += gathered.len();
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
    gathered: &mut Gathered,
    room: &mut usize,
    cx: &mut Context<'_>,
) -> Poll<Result<Bytes, &'static str>> {
    loop {
        let announced = usize::try_from(body.size_hint().lower()).unwrap_or(usize::MAX);
        match ready!(body.as_mut().poll_frame(cx)) {
            Some(Ok(frame)) => {
                // A member of an array has no place for trailers.
                let Ok(data) = frame.into_data() else {
                    continue;
                };
                let Some(rest) = room.checked_sub(data.len()) else {
                    return Poll::Ready(Err("the answers to the batch are too large"));
                };
                gathered.push(data, announced.min(*room));
                *room = rest;
            }
            Some(Err(_)) => return Poll::Ready(Err("the result broke off")),
            None => return Poll::Ready(Ok(gathered.take())),
        }
    }
}
