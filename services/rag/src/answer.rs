//! The answer as one JSON body.

use serde::Serialize;
use utoipa::ToSchema;
use ziggurat_calls::Call;
use ziggurat_llm::{Chunk, Completer, Deadline, Prompt, Stop, Usage};
use ziggurat_search::budget;

use crate::{
    citations::{Citation, CitedAnswer, bounded},
    debug::DebugDetails,
    failure::Failure,
    pipeline::Pipeline,
    request::Query,
    retrieval::Passage,
};

/// Limit on the text of a source, in characters, because a row may hold a whole book.
const MAX_SOURCE_CHARS: usize = 16_384;

/// Number of tokens after which a step is reported.
const STEP_TOKENS: usize = 100;

/// A complete answer.
#[derive(Debug)]
pub(super) struct Answer {
    pub(super) text: String,
    /// The checked citations, if the answer has them.
    pub(super) citations: Option<Vec<Citation>>,
    pub(super) dropped_citations: u64,
    /// The passages that were found, if the answer shows them.
    pub(super) sources: Vec<Passage>,
    /// False if nothing relevant was found, and no model was asked.
    pub(super) has_passages: bool,
    pub(super) usage: Usage,
    /// The reason why the model stopped.
    pub(super) stop: Stop,
    notice: Option<String>,
    debug: Option<DebugDetails>,
}

/// A step on the way to an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// Passages are searched.
    Retrieving,
    /// The model is asked.
    Answering,
    /// The model has written about this many tokens.
    Written(usize),
}

/// A function that is called with each step, if the asker wants to know.
pub(super) type Watch<'a> = Option<&'a (dyn Fn(Step) + Send + Sync)>;

/// The answer of a pipeline.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = QueryResponse)]
pub(super) struct Answered {
    /// The text that the model wrote. With `citations`, marks that name no source are removed.
    answer: String,
    /// The marks in the answer, in their order. Present only if the request asks for them and the
    /// pipeline permits it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    citations: Option<Vec<Citation>>,
    /// Number of marks that were removed because they name no source. Present with `citations`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    dropped_citations: Option<u64>,
    /// The passages that were found, best first. Present only if the request asks for them, the
    /// pipeline permits it and there are any.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schema(required = false)]
    sources: Vec<Source>,
    /// Tokens used for this answer, as counted by the provider.
    tokens_used: u64,
    /// The reason why a requested part, such as the sources, is missing.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    notice: Option<String>,
    /// Details of the answer. Present only if the request asks for it and the pipeline permits it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    debug: Option<DebugDetails>,
}

/// A passage that was found.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub(super) struct Source {
    /// The id of the row; absent if the table has no id column.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    id: Option<String>,
    /// The title of the row; absent if the table has no title column.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    title: Option<String>,
    /// The address of the row; absent if the table has no column for it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    url: Option<String>,
    /// The text. A text of more than 16,384 characters is cut there and ends with `…`.
    #[schema(max_length = 16384)]
    content: String,
    /// The relevance; higher is better.
    score: f64,
}

/// Answers a question within the time limit of the request.
pub(super) async fn answer(
    pipeline: &Pipeline,
    query: Query,
    deadline: Deadline,
    call: &Call,
    watch: Watch<'_>,
) -> Result<Answer, Failure> {
    let answered = answer_by(pipeline, query, deadline, call, watch);
    deadline.cut(answered).await?
}

async fn answer_by(
    pipeline: &Pipeline,
    mut query: Query,
    deadline: Deadline,
    call: &Call,
    watch: Watch<'_>,
) -> Result<Answer, Failure> {
    let includes = pipeline.includes(&query);
    let (has_citations, recorder) = (includes.citations, &includes.recorder);
    let context = call.context();
    let report = |step| watch.into_iter().for_each(|watch| watch(step));
    report(Step::Retrieving);
    let rewrite = pipeline.rewrite(&mut query, deadline, &context, recorder);
    let rewriting = Box::pin(rewrite).await;
    // The state of a search is too large to be a part of this future.
    let passages = pipeline.find(&query, deadline, &context, recorder);
    let passages = Box::pin(passages).await?;
    call.found(passages.len());
    if passages.is_empty() {
        return Ok(Answer {
            text: pipeline.no_answer().to_owned(),
            citations: has_citations.then(Vec::new),
            dropped_citations: 0,
            sources: Vec::new(),
            has_passages: false,
            usage: rewriting,
            stop: Stop::EndTurn,
            debug: recorder.details(),
            notice: includes.notice,
        });
    }
    let (prompt, shown) = pipeline.prompt(&mut query, &passages, &includes)?;
    // Frees passages that the answer does not show before the long wait for the model.
    let sources = if includes.sources {
        passages
    } else {
        Vec::new()
    };
    let stage = pipeline.begin("model", recorder);
    let completer = pipeline.completer().with_trace(context.trace());
    report(Step::Answering);
    let (text, stop, mut usage) = complete(&completer, &prompt, deadline, watch).await?;
    drop(stage);
    pipeline.note(&stop);
    usage += rewriting;
    let mut answered = Answer {
        text,
        citations: None,
        dropped_citations: 0,
        sources,
        has_passages: true,
        usage,
        stop,
        debug: recorder.details(),
        notice: includes.notice,
    };
    if has_citations {
        answered.check_citations(CitedAnswer::new(shown));
    }
    Ok(answered)
}

/// Has the model answer. Its text arrives in parts only if the asker wants to know how it goes on.
async fn complete(
    completer: &Completer,
    prompt: &Prompt,
    deadline: Deadline,
    watch: Watch<'_>,
) -> Result<(String, Stop, Usage), Failure> {
    let Some(watch) = watch else {
        let reply = completer.complete_by(prompt, deadline).await?;
        return Ok((reply.text().into_owned(), reply.stop, reply.usage));
    };
    let mut chunks = completer.stream_by(prompt, deadline).await?;
    let (mut text, mut next) = (String::new(), STEP_TOKENS);
    while let Some(chunk) = chunks.next().await.transpose()? {
        match chunk {
            Chunk::Text(more) => text.push_str(&more),
            Chunk::End { stop, usage } => return Ok((text, stop, usage)),
            // The prompt offers no tools.
            Chunk::ToolUseStarted { .. } | Chunk::ToolUse(_) => {}
        }
        let written = budget::of_bytes(&text);
        if written >= next {
            next = written - written % STEP_TOKENS + STEP_TOKENS;
            watch(Step::Written(written));
        }
    }
    Ok((text, Stop::EndTurn, Usage::default()))
}

// === impl Answer ===

impl Answer {
    /// Replaces the text by the checked one, and adds its citations.
    fn check_citations(&mut self, mut cited: CitedAnswer) {
        let (text, citations) = cited.check(&self.text);
        self.text = text;
        self.citations = Some(citations);
        self.dropped_citations = cited.dropped();
    }
}

// === impl Answered ===

impl From<Answer> for Answered {
    fn from(answer: Answer) -> Self {
        let has_citations = answer.citations.is_some();
        Self {
            answer: answer.text,
            citations: answer.citations,
            dropped_citations: has_citations.then_some(answer.dropped_citations),
            sources: answer.sources.into_iter().map(Source::from).collect(),
            tokens_used: answer.usage.total_tokens,
            notice: answer.notice,
            debug: answer.debug,
        }
    }
}

// === impl Source ===

impl From<Passage> for Source {
    fn from(passage: Passage) -> Self {
        let score = passage.score;
        Self {
            id: passage.id,
            title: passage.title,
            url: passage.url,
            content: bounded(passage.content, MAX_SOURCE_CHARS),
            // JSON has no notation for NaN and infinity.
            score: if score.is_finite() { score } else { 0.0 },
        }
    }
}
