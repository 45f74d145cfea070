//! The answer as one JSON body.

use serde::Serialize;
use utoipa::ToSchema;
use ziggurat_llm::Deadline;

use super::{
    ask::Ask,
    failure::Failure,
    pipeline::{NOTHING, Pipeline},
    retrieval::Passage,
};

/// The longest text of a source, in characters: a row may be a book.
const LONGEST: usize = 16_384;

/// What a pipeline answers.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = QueryResponse)]
pub(super) struct Answered {
    /// The words of the model.
    answer: String,
    /// What was found, best first: only if it was asked for, is permitted, and there is any.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schema(required = false)]
    sources: Vec<Source>,
    /// What the provider counted for this answer.
    tokens_used: u64,
    /// The reason why something that was asked for is missing, such as sources.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    notice: Option<&'static str>,
}

/// Something that was found.
#[derive(Debug, Serialize, ToSchema)]
struct Source {
    /// What the table calls it; left out where it has no names.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    id: Option<String>,
    /// Its text. A text of more than 16,384 characters is cut there and ends with `…`.
    #[schema(max_length = 16384)]
    content: String,
    /// How well it fits; more is better.
    score: f64,
}

/// Answers a question, unless the time of the request is over first.
pub(super) async fn answer(
    pipeline: &Pipeline,
    ask: Ask,
    deadline: Deadline,
) -> Result<Answered, Failure> {
    deadline.cut(answer_by(pipeline, ask, deadline)).await?
}

async fn answer_by(
    pipeline: &Pipeline,
    mut ask: Ask,
    deadline: Deadline,
) -> Result<Answered, Failure> {
    let shows_sources = pipeline.shows_sources(&ask);
    let (shows_sources, notice) = match shows_sources {
        Ok(shows_sources) => (shows_sources, None),
        Err(notice) => (false, Some(notice)),
    };
    let passages = pipeline.find(&ask, deadline).await?;
    if passages.is_empty() {
        return Ok(Answered {
            answer: NOTHING.to_owned(),
            sources: Vec::new(),
            tokens_used: 0,
            notice,
        });
    }
    let prompt = pipeline.prompt(&mut ask, &passages)?;
    // What nobody is going to read is not kept while the model thinks.
    let sources = if shows_sources { passages } else { Vec::new() };
    let reply = pipeline.completer().complete_by(&prompt, deadline).await?;
    pipeline.note(&reply.stop);
    Ok(Answered {
        answer: reply.text().into_owned(),
        sources: sources.into_iter().map(Source::from).collect(),
        tokens_used: reply.usage.total_tokens,
        notice,
    })
}

/// A text of at most [`LONGEST`] characters.
fn bounded(mut text: String) -> String {
    if text.char_indices().nth(LONGEST).is_some() {
        let end = text.char_indices().nth(LONGEST - 1);
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
        // JSON has no words for what is no number.
        let score = if score.is_finite() { score } else { 0.0 };
        Self { id, content, score }
    }
}
