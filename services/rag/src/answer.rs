//! The answer as one JSON body.

use serde::Serialize;
use utoipa::ToSchema;
use ziggurat_llm::Deadline;

use super::{
    failure::Failure,
    observation::ObservedQuestion,
    pipeline::{NO_RESULTS, Pipeline},
    request::Query,
    retrieval::Passage,
};

/// Limit on the text of a source, in characters, because a row may hold a whole book.
const MAX_SOURCE_CHARS: usize = 16_384;

/// The answer of a pipeline.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = QueryResponse)]
pub(super) struct Answered {
    /// The text that the model wrote.
    answer: String,
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
    notice: Option<&'static str>,
}

/// A passage that was found.
#[derive(Debug, Serialize, ToSchema)]
struct Source {
    /// The id of the row; absent if the table has no id column.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    id: Option<String>,
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
    question: &mut ObservedQuestion,
) -> Result<Answered, Failure> {
    let answered = answer_by(pipeline, query, deadline, question);
    deadline.cut(answered).await?
}

async fn answer_by(
    pipeline: &Pipeline,
    mut query: Query,
    deadline: Deadline,
    question: &mut ObservedQuestion,
) -> Result<Answered, Failure> {
    let shows_sources = pipeline.shows_sources(&query);
    let (shows_sources, notice) = match shows_sources {
        Ok(shows_sources) => (shows_sources, None),
        Err(notice) => (false, Some(notice)),
    };
    // The state of a search is too large to be a part of this future.
    let passages = Box::pin(pipeline.find(&query, deadline, question.call())).await?;
    question.set_rows(passages.len());
    if passages.is_empty() {
        return Ok(Answered {
            answer: NO_RESULTS.to_owned(),
            sources: Vec::new(),
            tokens_used: 0,
            notice,
        });
    }
    let prompt = pipeline.prompt(&mut query, &passages)?;
    // Frees passages that the answer does not show before the long wait for the model.
    let sources = if shows_sources { passages } else { Vec::new() };
    let stage = pipeline.begin("model");
    let completer = pipeline.completer().with_trace(question.call().trace());
    let reply = completer.complete_by(&prompt, deadline).await?;
    drop(stage);
    pipeline.note(&reply.stop);
    Ok(Answered {
        answer: reply.text().into_owned(),
        sources: sources.into_iter().map(Source::from).collect(),
        tokens_used: reply.usage.total_tokens,
        notice,
    })
}

/// Cuts a text to [`MAX_SOURCE_CHARS`] characters.
fn bounded(mut text: String) -> String {
    if text.char_indices().nth(MAX_SOURCE_CHARS).is_some() {
        let end = text.char_indices().nth(MAX_SOURCE_CHARS - 1);
        text.truncate(end.map_or(0, |(end, _)| end));
        text.push('…');
    }
    text
}

// === impl Source ===

impl From<Passage> for Source {
    fn from(passage: Passage) -> Self {
        let Passage { id, content, score } = passage;
        let content = bounded(content);
        // JSON has no notation for NaN and infinity.
        let score = if score.is_finite() { score } else { 0.0 };
        Self { id, content, score }
    }
}
