//! The answer as server-sent events.

#![expect(
    single_use_lifetimes,
    reason = "the derive of a schema repeats the lifetime of its type"
)]

use std::{mem, panic::AssertUnwindSafe, sync::Arc, time::Duration};

use futures_util::{FutureExt as _, Stream, stream};
use http::StatusCode;
use serde::Serialize;
use tracing::debug;
use utoipa::ToSchema;
use ziggurat_audit::Verdict;
use ziggurat_layers::shutdown::CutOff;
use ziggurat_llm::{Chunk, Chunks, Deadline};
use ziggurat_serve::sse::Event;

use super::{
    Options,
    failure::Failure,
    observation::ObservedQuestion,
    pipeline::{NO_RESULTS, Pipeline},
    request::Query,
    stages::Stage,
};

/// An event of a stream. The last one is `done` or `error`, and nothing follows it.
#[derive(Debug, Serialize, ToSchema)]
#[serde(tag = "type", rename_all = "lowercase")]
pub(super) enum StreamEvent<'a> {
    /// A part of the answer.
    Chunk {
        /// The text of the part; never empty.
        content: &'a str,
    },
    /// The answer is complete.
    Done,
    /// The answer ends early because of a failure.
    Error {
        /// The reason, as one of a few fixed sentences.
        error: &'a str,
    },
}

/// The state of a stream.
#[derive(Debug)]
struct AnswerStream {
    pipeline: Arc<Pipeline>,
    has_retrieval_codes: bool,
    cut_off: CutOff,
    /// Deadline for the whole answer.
    end: Deadline,
    step: Step,
    question: ObservedQuestion,
    /// Runs while the model answers.
    model: Stage,
}

#[derive(Debug)]
enum Step {
    /// The search has not started.
    Pending(Box<Pending>),
    /// The model is answering.
    Answering(Box<Chunks>),
    /// The last text was sent.
    LastText,
    /// The last event was sent.
    Ended,
}

#[derive(Debug)]
struct Pending {
    query: Query,
    /// Deadline for the first text.
    first_text: Deadline,
    /// Limit on the idle time of the provider after that.
    idle: Duration,
}

/// Answers a question as a stream of events.
///
/// Work is done only while an event is polled for: dropping the stream cancels all that it waits
/// for.
pub(super) fn events(
    pipeline: Arc<Pipeline>,
    query: Query,
    options: &Options,
    question: ObservedQuestion,
) -> impl Stream<Item = Event> + Send + use<> {
    let timeouts = &options.timeouts;
    let pending = Pending {
        query,
        first_text: Deadline::after(timeouts.request),
        idle: timeouts.stream_idle,
    };
    let state = AnswerStream {
        pipeline,
        has_retrieval_codes: options.retrieval_error_codes,
        cut_off: options.cut_off.clone(),
        end: Deadline::after(timeouts.stream_max),
        step: Step::Pending(Box::new(pending)),
        question,
        model: Stage::default(),
    };
    stream::unfold(state, async |mut state| {
        let event = state.next().await?;
        Some((event, state))
    })
}

// === impl AnswerStream ===

impl AnswerStream {
    /// Returns the next event; `None` after the last.
    async fn next(&mut self) -> Option<Event> {
        if matches!(self.step, Step::Ended) {
            return None;
        }
        // A panic would break off the body without a final event.
        let cut_off = self.cut_off.clone();
        let text = tokio::select! {
            biased;
            text = AssertUnwindSafe(self.next_text()).catch_unwind() => text,
            () = cut_off.happened() => Ok(Err(Failure::Stopped)),
        };
        let failure = match text {
            Ok(Ok(Some(text))) => return Some(self.event(&StreamEvent::Chunk { content: &text })),
            Ok(Ok(None)) => {
                let event = self.event(&StreamEvent::Done);
                self.end(Verdict::Ok, StatusCode::OK);
                return Some(event);
            }
            Ok(Err(failure)) => failure,
            Err(_) => Failure::Panicked,
        };
        let rejection = failure.rejection(self.has_retrieval_codes);
        let error = rejection.message();
        let event = self.event(&StreamEvent::Error { error });
        self.end(failure.verdict(), rejection.status());
        let trace_id = self.question.trace_id();
        failure.log(self.pipeline.name(), trace_id.as_ref());
        Some(event)
    }

    fn event(&mut self, event: &StreamEvent<'_>) -> Event {
        let event = Event::json(event).expect("strings");
        self.question.add_bytes(event.size().try_into().ok());
        event
    }

    fn end(&mut self, verdict: Verdict, status: StatusCode) {
        self.step = Step::Ended;
        self.model = Stage::default();
        self.question.end(verdict, status);
    }

    /// Returns the next text; `None` after the last.
    async fn next_text(&mut self) -> Result<Option<String>, Failure> {
        match mem::replace(&mut self.step, Step::LastText) {
            Step::Pending(pending) => {
                let deadline = pending.first_text.or_earlier(self.end);
                // Boxed, so that its memory is freed before the rest of the answer arrives.
                let text = Box::pin(self.first_text(*pending, deadline));
                deadline.cut(text).await?
            }
            Step::Answering(chunks) => self.end.cut(self.continue_text(chunks)).await?,
            Step::LastText | Step::Ended => Ok(None),
        }
    }

    /// Runs all steps up to the first text.
    async fn first_text(
        &mut self,
        pending: Pending,
        deadline: Deadline,
    ) -> Result<Option<String>, Failure> {
        let Pending {
            mut query, idle, ..
        } = pending;
        // Boxed for the same reason: a search takes tens of kilobytes until it ends.
        let found = self.pipeline.find(&query, deadline, self.question.call());
        let passages = Box::pin(found).await?;
        self.question.set_rows(passages.len());
        if passages.is_empty() {
            return Ok(Some(NO_RESULTS.to_owned()));
        }
        let prompt = self.pipeline.prompt(&mut query, &passages)?;
        // The prompt contains them, so their memory is freed before the long wait for the model.
        drop(passages);
        self.model = self.pipeline.begin("model");
        let trace = self.question.call().trace();
        let completer = self.pipeline.completer().with_trace(trace);
        let chunks = completer.stream_by(&prompt, deadline).await?;
        let chunks = chunks.with_idle(idle);
        self.continue_text(Box::new(chunks)).await
    }

    /// Returns the next text of the provider. Texts before a failure were already sent.
    async fn continue_text(&mut self, mut chunks: Box<Chunks>) -> Result<Option<String>, Failure> {
        loop {
            match chunks.next().await.transpose()? {
                Some(Chunk::Text(text)) => {
                    self.step = Step::Answering(chunks);
                    return Ok(Some(text));
                }
                // The prompt offers no tools.
                Some(Chunk::ToolUse(_)) => {}
                Some(Chunk::End { stop, .. }) => {
                    self.pipeline.note(&stop);
                    return Ok(None);
                }
                None => return Ok(None),
            }
        }
    }
}

impl Drop for AnswerStream {
    fn drop(&mut self) {
        if !matches!(self.step, Step::Ended) {
            let pipeline = self.pipeline.name();
            debug!(
                pipeline,
                "the client disconnected before the end of its answer"
            );
        }
    }
}
