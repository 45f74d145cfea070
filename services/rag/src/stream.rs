//! The answer as server-sent events.

#![expect(
    single_use_lifetimes,
    reason = "the derive of a schema repeats the lifetime of its type"
)]

use std::{mem, panic::AssertUnwindSafe, sync::Arc, time::Duration};

use futures_util::{FutureExt as _, Stream, stream};
use serde::Serialize;
use tracing::debug;
use utoipa::ToSchema;
use ziggurat_http::sse::Event;
use ziggurat_llm::{Chunk, Chunks, Deadline};
use ziggurat_runtime::cut_off::CutOff;

use super::{
    Options,
    ask::Ask,
    failure::Failure,
    pipeline::{NOTHING, Pipeline},
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
    stage: Stage,
}

#[derive(Debug)]
enum Stage {
    /// The search has not started.
    Asked(Box<Asked>),
    /// The model is answering.
    Answering(Box<Chunks>),
    /// The last text was sent.
    Told,
    /// The last event was sent.
    Over,
}

#[derive(Debug)]
struct Asked {
    ask: Ask,
    /// Deadline for the first text.
    begin: Deadline,
    /// Limit on the idle time of the provider after that.
    idle: Duration,
}

/// Answers a question as a stream of events.
///
/// Work is done only while an event is polled for: dropping the stream cancels all that it waits
/// for.
pub(super) fn events(
    pipeline: Arc<Pipeline>,
    ask: Ask,
    options: &Options,
) -> impl Stream<Item = Event> + Send + use<> {
    let patience = &options.patience;
    let asked = Asked {
        ask,
        begin: Deadline::after(patience.request),
        idle: patience.stream_idle,
    };
    let telling = AnswerStream {
        pipeline,
        has_retrieval_codes: options.retrieval_error_codes,
        cut_off: options.cut_off.clone(),
        end: Deadline::after(patience.stream_max),
        stage: Stage::Asked(Box::new(asked)),
    };
    stream::unfold(telling, async |mut telling| {
        let event = telling.next().await?;
        Some((event, telling))
    })
}

// === impl AnswerStream ===

impl AnswerStream {
    /// Returns the next event; `None` after the last.
    async fn next(&mut self) -> Option<Event> {
        if matches!(self.stage, Stage::Over) {
            return None;
        }
        // A panic would break off the body without a final event.
        let cut_off = self.cut_off.clone();
        let words = tokio::select! {
            biased;
            words = AssertUnwindSafe(self.words()).catch_unwind() => words,
            () = cut_off.happened() => Ok(Err(Failure::Stopped)),
        };
        let failure = match words {
            Ok(Ok(Some(words))) => return Some(event(&StreamEvent::Chunk { content: &words })),
            Ok(Ok(None)) => {
                self.stage = Stage::Over;
                return Some(event(&StreamEvent::Done));
            }
            Ok(Err(failure)) => failure,
            Err(_) => Failure::Panicked,
        };
        self.stage = Stage::Over;
        let rejection = failure.rejection(self.has_retrieval_codes);
        failure.log(self.pipeline.name());
        let error = rejection.message();
        Some(event(&StreamEvent::Error { error }))
    }

    /// Returns the next text; `None` after the last.
    async fn words(&mut self) -> Result<Option<String>, Failure> {
        match mem::replace(&mut self.stage, Stage::Told) {
            Stage::Asked(asked) => {
                let begin = asked.begin.or_earlier(self.end);
                // Boxed, so that its memory is freed before the rest of the answer arrives.
                begin.cut(Box::pin(self.begin(*asked, begin))).await?
            }
            Stage::Answering(chunks) => self.end.cut(self.go_on(chunks)).await?,
            Stage::Told | Stage::Over => Ok(None),
        }
    }

    /// Runs all steps up to the first text.
    async fn begin(&mut self, asked: Asked, deadline: Deadline) -> Result<Option<String>, Failure> {
        let Asked { mut ask, idle, .. } = asked;
        // Boxed for the same reason: a search takes tens of kilobytes until it ends.
        let passages = Box::pin(self.pipeline.find(&ask, deadline)).await?;
        if passages.is_empty() {
            return Ok(Some(NOTHING.to_owned()));
        }
        let prompt = self.pipeline.prompt(&mut ask, &passages)?;
        // The prompt contains them, so their memory is freed before the long wait for the model.
        drop(passages);
        let chunks = self.pipeline.completer().stream_by(&prompt, deadline);
        let chunks = chunks.await?.with_idle(idle);
        self.go_on(Box::new(chunks)).await
    }

    /// Returns the next text of the provider. Texts before a failure were already sent.
    async fn go_on(&mut self, mut chunks: Box<Chunks>) -> Result<Option<String>, Failure> {
        loop {
            match chunks.next().await.transpose()? {
                Some(Chunk::Text(words)) => {
                    self.stage = Stage::Answering(chunks);
                    return Ok(Some(words));
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
        if !matches!(self.stage, Stage::Over) {
            let pipeline = self.pipeline.name();
            debug!(pipeline, "the client left before the end of its answer");
        }
    }
}

fn event(event: &StreamEvent<'_>) -> Event {
    Event::json(event).expect("strings")
}
