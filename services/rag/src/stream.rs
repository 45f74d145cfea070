//! The answer as server-sent events.

#![expect(
    single_use_lifetimes,
    reason = "the derive of a schema repeats the lifetime of its type"
)]

use std::{
    collections::VecDeque,
    mem,
    panic::AssertUnwindSafe,
    sync::Arc,
    time::{Duration, Instant},
};

use futures_util::{FutureExt as _, Stream, stream};
use http::StatusCode;
use serde::Serialize;
use tracing::debug;
use utoipa::ToSchema;
use ziggurat_audit::Verdict;
use ziggurat_layers::{reject::Rejection, shutdown::CutOff};
use ziggurat_llm::{Chunk, Chunks, Deadline, Prompt, Stop, Usage};
use ziggurat_serve::sse::Event;

use crate::{
    Options,
    answer::Source,
    citations::{AnswerPart, Citation, CitedAnswer},
    debug::DebugDetails,
    failure::Failure,
    openai::ChatEncoder,
    pipeline::{Includes, Pipeline},
    question::Question,
    request::Query,
    stages::Stage,
};

/// An event of a stream. The last one is `done` or `error`, and nothing follows it.
#[derive(Debug, Serialize, ToSchema)]
#[serde(tag = "type", rename_all = "lowercase")]
pub(super) enum StreamEvent<'a> {
    /// The passages that were found. Sent once, before the first text, if the request has
    /// `stream_sources` and the pipeline permits it.
    Sources {
        /// The passages, best first.
        sources: &'a [Source],
    },
    /// A part of the answer.
    Chunk {
        /// The text of the part; never empty.
        content: &'a str,
    },
    /// A citation whose mark was sent. Sent only if the request has `citations` and the pipeline
    /// permits it.
    Citation(&'a Citation),
    /// Details of the answer, before `done`. Sent only if the request has `debug` and the pipeline
    /// permits it.
    Debug(&'a DebugDetails),
    /// The answer is complete.
    Done {
        /// Number of marks that were removed because they name no source. Present with `citations`.
        #[serde(skip_serializing_if = "Option::is_none")]
        #[schema(nullable = false)]
        dropped_citations: Option<u64>,
        /// The reason why a requested part, such as the sources, is missing.
        #[serde(skip_serializing_if = "Option::is_none")]
        #[schema(nullable = false)]
        notice: Option<&'a str>,
        /// The reason why the model stopped.
        #[serde(skip)]
        stop: &'a Stop,
        #[serde(skip)]
        usage: Usage,
    },
    /// The answer ends early because of a failure.
    Error {
        /// The reason, as one of a few fixed sentences.
        error: &'a str,
        #[serde(skip)]
        rejection: &'a Rejection,
    },
}

/// The format of the events.
#[derive(Debug)]
pub(super) enum Encoder {
    /// The format of the endpoint of a pipeline.
    Pipeline,
    /// The format of the API of `OpenAI`.
    Chat(Box<ChatEncoder>),
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
    includes: Includes,
    /// Checks the citations of an answer that has some.
    cited: Option<Box<CitedAnswer>>,
    encoder: Encoder,
    usage: Usage,
    stop: Stop,
    /// Events that are sent next.
    queue: VecDeque<Event>,
    question: Question,
    /// Runs while the model answers.
    model: Stage,
    /// The time when the model was asked, until its first text.
    asked: Option<Instant>,
}

#[derive(Debug)]
enum Step {
    /// The search has not started.
    Pending(Box<Pending>),
    /// The search has ended, and the model was not asked yet.
    Found(Box<Found>),
    /// The model is answering.
    Answering(Box<Chunks>),
    /// The last text was sent.
    LastText,
    /// The last event is in the queue.
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

#[derive(Debug)]
struct Found {
    /// The prompt for the model; `None` if nothing was found.
    prompt: Option<Prompt>,
    deadline: Deadline,
    idle: Duration,
}

/// A step of an answer.
enum Progress {
    Sources(Vec<Source>),
    Text(String),
    End,
}

/// Answers a question as a stream of events.
///
/// Work is done only while an event is polled for: dropping the stream cancels all that it waits
/// for.
pub(super) fn events(
    pipeline: Arc<Pipeline>,
    query: Query,
    options: &Options,
    question: Question,
    encoder: Encoder,
) -> impl Stream<Item = Event> + Send + use<> {
    let timeouts = &options.timeouts;
    let includes = pipeline.includes(&query);
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
        includes,
        cited: None,
        encoder,
        usage: Usage::default(),
        stop: Stop::EndTurn,
        queue: VecDeque::new(),
        question,
        model: Stage::default(),
        asked: None,
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
        while self.queue.is_empty() {
            if matches!(self.step, Step::Ended) {
                return None;
            }
            // A panic would break off the body without a final event.
            let cut_off = self.cut_off.clone();
            let progress = tokio::select! {
                biased;
                progress = AssertUnwindSafe(self.advance()).catch_unwind() => progress,
                () = cut_off.happened() => Ok(Err(Failure::Stopped)),
            };
            match progress {
                Ok(Ok(progress)) => self.queue_progress(progress),
                Ok(Err(failure)) => self.fail(failure),
                Err(_) => self.fail(Failure::Panicked),
            }
        }
        self.queue.pop_front()
    }

    fn queue_progress(&mut self, progress: Progress) {
        match progress {
            Progress::Sources(sources) => self.queue(&StreamEvent::Sources { sources: &sources }),
            Progress::Text(text) => match &mut self.cited {
                Some(cited) => {
                    let parts = cited.push(&text);
                    self.queue_parts(&parts);
                }
                None => self.queue(&StreamEvent::Chunk { content: &text }),
            },
            Progress::End => {
                let dropped = self.queue_rest();
                self.model = Stage::default();
                if let Some(details) = self.includes.recorder.details() {
                    self.queue(&StreamEvent::Debug(&details));
                }
                let notice = self.includes.notice.take();
                let stop = mem::replace(&mut self.stop, Stop::EndTurn);
                self.queue(&StreamEvent::Done {
                    dropped_citations: self.includes.citations.then_some(dropped),
                    notice: notice.as_deref(),
                    stop: &stop,
                    usage: self.usage,
                });
                self.end(Verdict::Ok, StatusCode::OK);
            }
        }
    }

    /// Ends the answer early.
    fn fail(&mut self, failure: Failure) {
        self.queue_rest();
        let rejection = failure.rejection(self.has_retrieval_codes);
        let error = rejection.message();
        self.queue(&StreamEvent::Error {
            error,
            rejection: &rejection,
        });
        self.end(failure.verdict(), rejection.status());
        let trace_id = self.question.trace_id();
        failure.log(self.pipeline.name(), trace_id.as_ref());
    }

    /// Queues the text that was held back, and returns the number of dropped citations.
    fn queue_rest(&mut self) -> u64 {
        let Some(mut cited) = self.cited.take() else {
            return 0;
        };
        let parts = cited.finish();
        self.queue_parts(&parts);
        cited.dropped()
    }

    fn queue_parts(&mut self, parts: &[AnswerPart]) {
        for part in parts {
            match part {
                AnswerPart::Text(content) => self.queue(&StreamEvent::Chunk { content }),
                AnswerPart::Citation(citation) => self.queue(&StreamEvent::Citation(citation)),
            }
        }
    }

    fn queue(&mut self, event: &StreamEvent<'_>) {
        let first = self.queue.len();
        match &mut self.encoder {
            Encoder::Pipeline => {
                let event = Event::json(event).expect("strings and numbers");
                self.queue.push_back(event);
            }
            Encoder::Chat(encoder) => self.queue.extend(encoder.encode(event)),
        }
        let bytes: usize = self.queue.range(first..).map(Event::size).sum();
        self.question
            .call()
            .count_bytes(bytes.try_into().unwrap_or_default());
    }

    fn end(&mut self, verdict: Verdict, status: StatusCode) {
        self.step = Step::Ended;
        self.model = Stage::default();
        self.question.end(verdict, status);
    }

    /// Goes on with the answer.
    async fn advance(&mut self) -> Result<Progress, Failure> {
        match mem::replace(&mut self.step, Step::LastText) {
            Step::Pending(pending) => {
                let deadline = pending.first_text.or_earlier(self.end);
                // Boxed, so that its memory is freed before the rest of the answer arrives.
                let found = Box::pin(self.search(*pending, deadline));
                deadline.cut(found).await?
            }
            Step::Found(found) => {
                let deadline = found.deadline;
                deadline.cut(Box::pin(self.first_text(*found))).await?
            }
            Step::Answering(chunks) => self.end.cut(self.continue_text(chunks)).await?,
            Step::LastText | Step::Ended => Ok(Progress::End),
        }
    }

    /// Searches, and goes on to the first text if the client gets no sources before it.
    async fn search(&mut self, pending: Pending, deadline: Deadline) -> Result<Progress, Failure> {
        let Pending {
            mut query, idle, ..
        } = pending;
        let (context, recorder) = (self.question.context(), &self.includes.recorder);
        let rewrite = self
            .pipeline
            .rewrite(&mut query, deadline, &context, recorder);
        self.usage += Box::pin(rewrite).await;
        // Boxed for the same reason: a search takes tens of kilobytes until it ends.
        let found = self.pipeline.find(&query, deadline, &context, recorder);
        let passages = Box::pin(found).await?;
        self.question.call().found(passages.len());
        let mut prompt = None;
        if !passages.is_empty() {
            let prompted = self.pipeline.prompt(&mut query, &passages, &self.includes);
            let (filled, shown) = prompted?;
            self.cited = self
                .includes
                .citations
                .then(|| Box::new(CitedAnswer::new(shown)));
            prompt = Some(filled);
        }
        let found = Found {
            prompt,
            deadline,
            idle,
        };
        if self.includes.sources {
            self.step = Step::Found(Box::new(found));
            let sources = passages.into_iter().map(Source::from);
            return Ok(Progress::Sources(sources.collect()));
        }
        // The prompt contains them, so their memory is freed before the long wait for the model.
        drop(passages);
        self.first_text(found).await
    }

    fn record_first_text(&mut self) {
        if let Some(asked) = self.asked.take() {
            let recorder = &self.includes.recorder;
            recorder.time("first_token", asked.elapsed());
        }
    }

    /// Asks the model, and returns its first text.
    async fn first_text(&mut self, found: Found) -> Result<Progress, Failure> {
        let Some(prompt) = found.prompt else {
            return Ok(Progress::Text(self.pipeline.no_answer().to_owned()));
        };
        let recorder = &self.includes.recorder;
        self.model = self.pipeline.begin("model", recorder);
        self.asked = recorder.is_on().then(Instant::now);
        let trace = self.question.call().trace();
        let completer = self.pipeline.completer().with_trace(trace);
        let chunks = completer.stream_by(&prompt, found.deadline).await?;
        let chunks = chunks.with_idle(found.idle);
        self.continue_text(Box::new(chunks)).await
    }

    /// Returns the next text of the provider. Texts before a failure were already sent.
    async fn continue_text(&mut self, mut chunks: Box<Chunks>) -> Result<Progress, Failure> {
        loop {
            match chunks.next().await.transpose()? {
                Some(Chunk::Text(text)) => {
                    self.step = Step::Answering(chunks);
                    self.record_first_text();
                    return Ok(Progress::Text(text));
                }
                // The prompt offers no tools.
                Some(Chunk::ToolUseStarted { .. } | Chunk::ToolUse(_)) => {}
                Some(Chunk::End { stop, usage }) => {
                    self.pipeline.note(&stop);
                    self.stop = stop;
                    self.usage += usage;
                    return Ok(Progress::End);
                }
                None => return Ok(Progress::End),
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
