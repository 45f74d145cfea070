//! Details of an answer, for operators who tune a pipeline.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use serde::Serialize;
use utoipa::ToSchema;
use ziggurat_llm::{Block, Prompt};
use ziggurat_runtime::lock;

use crate::retrieval::Passage;

/// Limit on the candidates of each list.
const MAX_CANDIDATES: usize = 1000;

/// Collects the details of one answer. Clones share them. One that is off collects nothing.
#[derive(Clone, Debug, Default)]
pub(crate) struct Recorder {
    details: Option<Arc<Mutex<DebugDetails>>>,
    /// Number of passages to record after the fusion, even if the question uses fewer.
    depth: usize,
}

/// Details of how an answer was made.
#[derive(Clone, Debug, Default, Serialize, ToSchema)]
#[schema(as = DebugDetails)]
pub(super) struct DebugDetails {
    /// The question that was searched for, if it is not the one that was asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    rewritten_query: Option<String>,
    pub(super) milliseconds: Milliseconds,
    pub(super) candidates: Candidates,
    /// The passages that were found but did not fit into the prompt.
    dropped_passages: Vec<DebugCandidate>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    prompt: Option<PromptSize>,
}

/// The time that each stage took. A stage that did not run is absent; some run at the same time.
#[derive(Clone, Debug, Default, Serialize, ToSchema)]
pub(super) struct Milliseconds {
    /// Rewriting of the question.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    rewrite: Option<f64>,
    /// The vector of the question.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub(super) embed: Option<f64>,
    /// The search by vector.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub(super) vector: Option<f64>,
    /// The search by keyword.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub(super) keyword: Option<f64>,
    /// The fusion of both, with the similarities of rows that only keywords found.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub(super) fuse: Option<f64>,
    /// Reranking.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub(super) rerank: Option<f64>,
    /// Joining passages with their neighbours.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    expand: Option<f64>,
    /// Building the prompt.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    prompt: Option<f64>,
    /// The time until the first text of the model; only of streams.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    first_token: Option<f64>,
    /// The whole answer of the model.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    answer: Option<f64>,
}

/// The rows that each step found, best first, of each list at most 1,000.
#[derive(Clone, Debug, Default, Serialize, ToSchema)]
#[schema(as = DebugCandidates)]
pub(super) struct Candidates {
    /// By vector; the score is the cosine similarity.
    pub(super) vector: Vec<DebugCandidate>,
    /// By keyword.
    pub(super) keyword: Vec<DebugCandidate>,
    /// After the fusion of both.
    pub(super) fused: Vec<DebugCandidate>,
    /// After reranking; absent without a reranker, and if it failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub(super) reranked: Option<Vec<DebugCandidate>>,
}

/// A row that was found.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub(super) struct DebugCandidate {
    /// The table, if the list is that of one search.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub(super) table: Option<String>,
    /// The id of the row; absent if the table has no id column.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub(super) id: Option<String>,
    /// The position in its table's list, from 1.
    rank: usize,
    /// The score; higher is better.
    pub(super) score: f64,
}

/// The size of the prompt.
#[derive(Clone, Copy, Debug, Serialize, ToSchema)]
pub(super) struct PromptSize {
    /// Number of documents in it.
    pub(super) documents: usize,
    /// Number of bytes, with all messages.
    pub(super) bytes: usize,
    /// An estimate: a quarter of the bytes.
    pub(super) tokens: usize,
}

/// A list of candidates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Arm {
    Vector,
    Keyword,
}

// === impl PromptSize ===

impl PromptSize {
    /// Measures a prompt with this many documents.
    pub(super) fn of(prompt: &Prompt, documents: usize) -> Self {
        let texts = prompt.messages.iter().flat_map(|message| &message.blocks);
        let lengths = texts.map(|block| match block {
            Block::Text { text, .. } => text.len(),
            Block::ToolUse { .. } | Block::ToolResult { .. } => 0,
        });
        let bytes = prompt.system.len() + lengths.sum::<usize>();
        Self {
            documents,
            bytes,
            tokens: bytes / 4,
        }
    }
}

// === impl Recorder ===

impl Recorder {
    pub(super) fn new(is_on: bool) -> Self {
        Self {
            details: is_on.then(Arc::default),
            depth: 0,
        }
    }

    /// Creates one that also records passages after the fusion which the question does not use, up
    /// to this many in all.
    pub(super) fn with_depth(depth: usize) -> Self {
        Self {
            depth,
            ..Self::new(true)
        }
    }

    /// Returns the number of passages to record after the fusion.
    pub(crate) fn depth(&self) -> usize {
        self.depth
    }

    pub(crate) fn is_on(&self) -> bool {
        self.details.is_some()
    }

    /// Records the time that a stage took.
    pub(crate) fn time(&self, stage: &str, duration: Duration) {
        self.change(|details| {
            if let Some(time) = details.milliseconds.of(stage) {
                *time = Some(milliseconds(duration));
            }
        });
    }

    /// Records the rows that a search of a table found: their ids and their scores.
    pub(crate) fn found(&self, arm: Arm, table: &str, hits: Vec<(Option<String>, f64)>) {
        self.change(|details| {
            let list = match arm {
                Arm::Vector => &mut details.candidates.vector,
                Arm::Keyword => &mut details.candidates.keyword,
            };
            let left = MAX_CANDIDATES.saturating_sub(list.len());
            let hits = hits.into_iter().take(left).zip(1..);
            list.extend(hits.map(|((id, score), rank)| DebugCandidate {
                table: Some(table.to_owned()),
                ..DebugCandidate::new(id, rank, score)
            }));
        });
    }

    /// Records the passages after the fusion.
    pub(super) fn fused(&self, passages: &[Passage]) {
        self.change(|details| details.candidates.fused = list(passages));
    }

    /// Records the passages after reranking.
    pub(super) fn reranked(&self, passages: &[Passage]) {
        self.change(|details| details.candidates.reranked = Some(list(passages)));
    }

    /// Records the question that was searched for.
    pub(super) fn rewritten(&self, query: &str) {
        self.change(|details| details.rewritten_query = Some(query.to_owned()));
    }

    /// Records the prompt, and the passages that are not in it.
    pub(super) fn prompt(&self, size: PromptSize, passages: &[Passage]) {
        self.change(|details| {
            details.prompt = Some(size);
            details.dropped_passages = list(passages).split_off(size.documents.min(MAX_CANDIDATES));
        });
    }

    /// Returns the details; `None` if it is off.
    pub(super) fn details(&self) -> Option<DebugDetails> {
        self.details.as_ref().map(|details| lock(details).clone())
    }

    fn change(&self, change: impl FnOnce(&mut DebugDetails)) {
        if let Some(details) = &self.details {
            change(&mut lock(details));
        }
    }
}

// === impl Milliseconds ===

impl Milliseconds {
    /// Returns the time of a stage, by its name in the metrics.
    fn of(&mut self, stage: &str) -> Option<&mut Option<f64>> {
        Some(match stage {
            "rewrite" => &mut self.rewrite,
            "embed" => &mut self.embed,
            "vector" => &mut self.vector,
            "keyword" => &mut self.keyword,
            "fuse" => &mut self.fuse,
            "rerank" => &mut self.rerank,
            "expand" => &mut self.expand,
            "prompt" => &mut self.prompt,
            "first_token" => &mut self.first_token,
            "model" => &mut self.answer,
            _ => return None,
        })
    }
}

// === impl DebugCandidate ===

impl DebugCandidate {
    fn new(id: Option<String>, rank: usize, score: f64) -> Self {
        Self {
            table: None,
            id,
            rank,
            // JSON has no notation for NaN and infinity.
            score: if score.is_finite() { score } else { 0.0 },
        }
    }
}

fn list(passages: &[Passage]) -> Vec<DebugCandidate> {
    let ranks = passages.iter().zip(1..).take(MAX_CANDIDATES);
    ranks
        .map(|(passage, rank)| DebugCandidate::new(passage.id.clone(), rank, passage.score))
        .collect()
}

/// Returns milliseconds with three decimals.
fn milliseconds(duration: Duration) -> f64 {
    let micros = u32::try_from(duration.as_micros()).unwrap_or(u32::MAX);
    f64::from(micros) / 1000.0
}
