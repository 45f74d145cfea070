//! A pipeline: its tables, its providers and its settings.

mod history;
pub(crate) mod prompt;
pub(crate) mod rerank;
pub(crate) mod rewrite;

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use tokio::time::Instant;
use tracing::{debug, warn};
use ziggurat_llm::{Completer, Deadline, Embedder, Message, Prompt, Stop, Usage};
use ziggurat_postgres::{call_context::CallContext, database::Database, pool::LeaseError};
use ziggurat_runtime::lock;
use ziggurat_sync::Watched;
use ziggurat_tokens::{CallerId, CallerNames, Identity};

use crate::{
    citations::ShownPassage,
    debug::{PromptSize, Recorder},
    failure::{Failure, log_not_open, not_open},
    pipeline::{
        prompt::{Nonce, fitting},
        rerank::Rerank,
    },
    reply::Refused,
    request::Query,
    retrieval::{ForbiddenColumn, Passage, ProbeError, Retriever, SearchRequest},
    stages::Stage,
};

/// Default limit on the results that a request may ask for; a larger configured `top_n` raises it.
const MAX_RESULTS: usize = 1000;

/// Notice for a client that asks for details without permission.
const NO_DEBUG: &str = "This pipeline does not show how its answers are made.";

/// Notice for a client that asks for sources without permission.
const NO_SOURCES: &str = "This pipeline does not share its sources.";

/// Default answer when nothing was found.
const NO_RESULTS: &str = "No relevant information found in the available documents.";

/// Text that is embedded to find out how many dimensions the vectors of a model have.
const PROBE: &str = "dimensions";

/// Pause between two attempts to find out the dimensions of a model.
const PROBE_PAUSE: Duration = Duration::from_mins(1);

/// The parts of a pipeline.
#[derive(Clone, Debug)]
pub struct Parts {
    /// The name, as used in paths.
    pub name: String,
    /// A description for users.
    pub description: String,
    /// The callers for which the pipeline exists; `None` for all.
    pub callers: Option<CallerNames>,
    /// The tables to search.
    pub retriever: Retriever,
    /// The model that computes the vectors of questions.
    pub embedder: Embedder,
    /// The model that answers.
    pub completer: Completer,
    /// The model that rewrites follow-ups so that they stand alone for the search, if they are
    /// rewritten.
    pub rewriter: Option<Completer>,
    /// The model that reorders the results, if there is one.
    pub reranker: Option<Rerank>,
    /// Number of results to use if the request does not set one.
    pub top_n: usize,
    /// Limit on the results and the earlier messages in the prompt, in tokens.
    pub token_budget: usize,
    /// A system prompt that replaces the default.
    pub system_prompt: Option<String>,
    /// Permission for clients to see the results.
    pub allow_include_sources: bool,
    /// Permission for clients to see how an answer was made.
    pub allow_debug: bool,
    /// Minimum relevance of the best result: its score from the reranker, else its cosine
    /// similarity. Without such a result the question is not answered.
    pub min_score: Option<f64>,
    /// The answer if nothing is found; `None` for the default.
    pub no_answer: Option<String>,
    /// Limit on the answer, in tokens.
    pub max_tokens: Option<u32>,
    /// The sampling temperature of the model.
    pub temperature: Option<f64>,
}

/// The parts of an answer besides its text.
#[derive(Clone, Debug, Default)]
pub(super) struct Includes {
    pub(super) sources: bool,
    pub(super) citations: bool,
    /// Collects details, if the answer includes them.
    pub(super) recorder: Recorder,
    /// The reason why something that was asked for is missing.
    pub(super) notice: Option<String>,
}

/// Answers questions from its tables.
#[derive(Debug)]
#[must_use]
pub struct Pipeline {
    parts: Parts,
    /// The tables that this process keeps in step.
    synced: Vec<Watched>,
    /// Time of the last attempt to find out the dimensions of the model.
    probed: Mutex<Option<Instant>>,
}

// === impl Pipeline ===

impl Pipeline {
    /// Builds a pipeline. It opens no connection.
    pub fn new(parts: Parts) -> Self {
        Self {
            parts,
            synced: Vec::new(),
            probed: Mutex::default(),
        }
    }

    /// Shows the figures of these tables in the health of the pipeline.
    pub fn with_synced(self, synced: Vec<Watched>) -> Self {
        Self { synced, ..self }
    }

    pub(super) fn synced(&self) -> &[Watched] {
        &self.synced
    }

    /// Permits sources and citations, for an operator. The masks of a caller without a token hold.
    pub(super) fn of_operator(mut self) -> Self {
        self.parts.allow_include_sources = true;
        self.parts.retriever = self.parts.retriever.masked_for(None);
        self
    }

    pub(super) fn name(&self) -> &str {
        &self.parts.name
    }

    pub(super) fn retriever(&self) -> &Retriever {
        &self.parts.retriever
    }

    /// Returns the number of results to use if the request does not set one.
    pub(super) fn top_n(&self) -> usize {
        self.parts.top_n
    }

    pub(super) fn has_reranker(&self) -> bool {
        self.parts.reranker.is_some()
    }

    pub(super) fn description(&self) -> &str {
        &self.parts.description
    }

    /// Returns whether the pipeline exists for a caller.
    pub(super) fn is_for(&self, caller: &CallerId<'_>) -> bool {
        let callers = self.parts.callers.as_ref();
        callers.is_none_or(|callers| callers.fit(caller))
    }

    pub(super) fn embedder(&self) -> &Embedder {
        &self.parts.embedder
    }

    pub(super) fn completer(&self) -> &Completer {
        &self.parts.completer
    }

    pub(super) fn database(&self) -> &Arc<Database> {
        self.parts.retriever.database()
    }

    /// Returns the database as its asker reaches it.
    pub(super) fn asked_database(&self) -> &Arc<Database> {
        self.parts.retriever.asked_database()
    }

    /// Begins a stage of a question.
    pub(super) fn begin(&self, stage: &'static str, recorder: &Recorder) -> Stage {
        let stages = self.parts.retriever.stages();
        stages.with_recorder(recorder.clone()).begin(stage)
    }

    /// Returns it for an asker that has a role or settings of its own in the database; `None` if all
    /// askers are served alike.
    ///
    /// # Errors
    /// Fails if the database is not open to the asker.
    pub(super) fn asked_by(&self, identity: Option<&Identity>) -> Result<Option<Self>, LeaseError> {
        let retriever = self.parts.retriever.asked_by(identity)?;
        Ok(retriever.map(|retriever| {
            Self::new(Parts {
                retriever,
                ..self.parts.clone()
            })
        }))
    }

    /// Checks that the database responds and that at least one table can be searched with vectors
    /// of the model. A model with unknown dimensions is asked for a vector, within the time limit.
    pub(super) async fn probe(&self, timeout: Duration) -> Result<(), ProbeError> {
        let Parts {
            retriever,
            embedder,
            ..
        } = &self.parts;
        retriever.probe(embedder.dimensions()).await?;
        if embedder.dimensions().is_some() || !self.may_probe() {
            return Ok(());
        }
        match embedder.embed_by(PROBE, Deadline::after(timeout)).await {
            Ok(_) => retriever.probe(embedder.dimensions()).await,
            Err(error) => {
                // Failures of providers are reported by `/v1/health`.
                let pipeline = self.name();
                debug!(%error, pipeline, "the dimensions of the model are not known yet");
                Ok(())
            }
        }
    }

    /// Returns false if a table is known not to support vector search.
    pub(super) fn is_sound(&self) -> bool {
        let dimensions = self.parts.embedder.dimensions();
        self.parts.retriever.is_sound(dimensions)
    }

    fn may_probe(&self) -> bool {
        let mut probed = lock(&self.probed);
        let may_probe = probed.is_none_or(|last| last.elapsed() >= PROBE_PAUSE);
        if may_probe {
            *probed = Some(Instant::now());
        }
        may_probe
    }

    /// Checks that PostgreSQL accepts the role of the asker, if it has one.
    pub(super) async fn check_open(&self) -> Result<(), Refused> {
        let checked = self.parts.retriever.check_open().await;
        checked.map_err(|closed| {
            log_not_open(self.name(), closed);
            not_open().into()
        })
    }

    /// Checks the parts of a request that need no access to the tables.
    pub(super) fn check(&self, query: &Query) -> Result<(), Refused> {
        // Which columns an asker with masks knows, is seen in the tables.
        if self.parts.retriever.has_masks() {
            return Ok(());
        }
        let checked = query
            .filter
            .as_ref()
            .map(|filter| self.parts.retriever.check_filter(filter));
        let checked = checked.transpose().map(|_| ());
        checked.map_err(|error| forbidden(&error))
    }

    /// Checks the filter of an asker for whom columns are masked: it does not know them.
    pub(super) async fn check_filter_of_asker(&self, query: &Query) -> Result<(), Refused> {
        let Some(filter) = &query.filter else {
            return Ok(());
        };
        let checked = self.parts.retriever.check_filter_of_asker(filter).await;
        checked.map_err(|error| forbidden(&error))
    }

    /// Returns whether clients may see the results.
    pub(super) fn allows_sources(&self) -> bool {
        self.parts.allow_include_sources
    }

    /// Returns the parts of the answer besides its text.
    pub(super) fn includes(&self, query: &Query) -> Includes {
        let sources = if query.stream {
            query.stream_sources
        } else {
            query.include_sources
        };
        let shares = self.allows_sources();
        let mut notices = Vec::new();
        if (sources || query.citations) && !shares {
            let pipeline = self.name();
            warn!(
                pipeline,
                "a request asked for sources, which are not permitted"
            );
            notices.push(NO_SOURCES);
        }
        if query.debug && !self.parts.allow_debug {
            notices.push(NO_DEBUG);
        }
        Includes {
            sources: sources && shares,
            citations: query.citations && shares,
            recorder: Recorder::new(query.debug && self.parts.allow_debug),
            notice: (!notices.is_empty()).then(|| notices.join(" ")),
        }
    }

    /// Rewrites a follow-up for the search, and returns the tokens that were used for it.
    pub(super) async fn rewrite(
        &self,
        query: &mut Query,
        deadline: Deadline,
        call: &CallContext,
        recorder: &Recorder,
    ) -> Usage {
        let Some(completer) = &self.parts.rewriter else {
            return Usage::default();
        };
        if query.history.is_empty() {
            return Usage::default();
        }
        let retriever = self.parts.retriever.with_call(call.clone());
        let stages = retriever.stages().with_recorder(recorder.clone());
        let _stage = stages.begin_detail("rewrite");
        let completer = completer.with_trace(call.trace());
        let Query { text, history, .. } = query;
        let rewritten = rewrite::rewritten(&completer, text, history, deadline, self.name()).await;
        let (rewritten, usage) = if let Some(rewritten) = rewritten {
            rewritten
        } else {
            let extended = rewrite::extended(&retriever, text, history).await;
            (extended, Usage::default())
        };
        recorder.rewritten(&rewritten);
        query.rewritten = Some(rewritten);
        usage
    }

    /// Finds passages for the question, best first, for a call.
    pub(super) async fn find(
        &self,
        query: &Query,
        deadline: Deadline,
        call: &CallContext,
        recorder: &Recorder,
    ) -> Result<Vec<Passage>, Failure> {
        let parts = &self.parts;
        let most = parts.top_n.max(MAX_RESULTS);
        let operators = parts.retriever.operators(query.searched());
        let searched = operators
            .as_ref()
            .map_or(query.searched(), |operators| &operators.text);
        let question = SearchRequest {
            text: searched,
            operators: operators.as_ref(),
            filter: query.filter.as_ref(),
            top_n: query.top_n.unwrap_or(parts.top_n).min(most),
            disable_hybrid: query.disable_hybrid,
        };
        let retriever = parts.retriever.with_call(call.clone());
        let retriever = retriever.with_recorder(recorder.clone());
        let embedding = async {
            let _stage = retriever.stages().begin("embed");
            let embedder = parts.embedder.with_trace(call.trace());
            let embedding = embedder.embed_by(searched, deadline).await?;
            Ok(embedding.vector)
        };
        let mut passages = retriever.find(&question, embedding).await?;
        recorder.fused(&passages);
        passages.truncate(question.top_n);
        if let Some(rerank) = &parts.reranker
            && !passages.is_empty()
        {
            let _stage = retriever.stages().begin("rerank");
            let rerank = rerank.with_trace(call.trace());
            let name = self.name();
            let ordered = rerank.order(searched, passages, deadline, name, recorder);
            passages = ordered.await?;
        }
        if !self.is_relevant(&passages) {
            passages.clear();
        }
        Ok(retriever.expand(passages, &question).await)
    }

    /// Returns whether the best passage reaches the minimum score. If none has a score that can be
    /// compared, they count as relevant.
    fn is_relevant(&self, passages: &[Passage]) -> bool {
        let relevance = passages.iter().filter_map(|passage| passage.relevance);
        let best = relevance.max_by(f64::total_cmp);
        best.zip(self.parts.min_score)
            .is_none_or(|(best, least)| best >= least)
    }

    /// Returns the answer if nothing is found.
    pub(super) fn no_answer(&self) -> &str {
        self.parts.no_answer.as_deref().unwrap_or(NO_RESULTS)
    }

    /// Builds the prompt for the model, and returns it with the passages that the model may cite.
    pub(super) fn prompt(
        &self,
        query: &mut Query,
        passages: &[Passage],
        includes: &Includes,
    ) -> Result<(Prompt, Vec<ShownPassage>), Failure> {
        let parts = &self.parts;
        let stages = parts.retriever.stages();
        let stages = stages.with_recorder(includes.recorder.clone());
        let stage = stages.begin_detail("prompt");
        let nonce = Nonce::new()?;
        let mut messages = std::mem::take(&mut query.history);
        let budget = history::fit(&mut messages, parts.token_budget);
        let texts = fitting(passages, budget);
        let turn = nonce.question(&query.text, passages, &texts);
        messages.push(Message::user(turn));
        let persona = parts.system_prompt.as_deref();
        let persona = persona.filter(|persona| !persona.trim().is_empty());
        let prompt = Prompt::new(messages)
            .with_system(nonce.system(persona, includes.citations))
            .with_max_tokens(parts.max_tokens)
            .with_temperature(parts.temperature);
        drop(stage);
        includes
            .recorder
            .prompt(PromptSize::of(&prompt, texts.len()), passages);
        if !includes.citations {
            return Ok((prompt, Vec::new()));
        }
        let shown = passages.iter().zip(&texts);
        let shown = shown.map(|(passage, text)| ShownPassage::new(passage, text));
        Ok((prompt, shown.collect()))
    }

    /// Logs a warning if an answer is incomplete.
    pub(super) fn note(&self, stop: &Stop) {
        let pipeline = self.name();
        match stop {
            Stop::MaxTokens => warn!(pipeline, "an answer was cut at the maximum length"),
            Stop::Filtered => warn!(pipeline, "the provider withheld an answer"),
            _ => {}
        }
    }
}

fn forbidden(error: &ForbiddenColumn) -> Refused {
    Refused::invalid(format!("invalid filter: {error}"))
}
