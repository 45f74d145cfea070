//! One pipeline: what it searches, and who answers.

use std::{
    sync::{Mutex, PoisonError},
    time::Duration,
};

use tokio::time::Instant;
use tracing::{debug, warn};
use ziggurat_llm::{Completer, Deadline, Embedder, Message, Prompt, Stop};

use super::{
    ask::Ask,
    failure::Failure,
    prompt::Nonce,
    reply::{Refused, invalid},
    rerank::Rerank,
    retrieval::{Library, Obstacle, Passage, Question},
};

/// How many results a request may ask for, unless the pipeline is configured for more.
const MOST: usize = 1000;

/// The notice for a client that asks for sources it may not have.
const NO_SOURCES: &str = "This pipeline does not share its sources.";

/// What is said when nothing was found.
pub(super) const NOTHING: &str = "No relevant information found in the available documents.";

/// The text whose vector shows how many dimensions a model has.
const PROBE: &str = "dimensions";

/// Time before a provider that made no vector is asked for one again.
const PROBE_PAUSE: Duration = Duration::from_mins(1);

/// What a pipeline is made of.
#[derive(Clone, Debug)]
pub struct Parts {
    /// What it is called in paths.
    pub name: String,
    /// What it is, for people.
    pub description: String,
    /// What it searches.
    pub library: Library,
    /// Who makes vectors of questions.
    pub embedder: Embedder,
    /// Who answers.
    pub completer: Completer,
    /// Who puts the results in order, if anybody does.
    pub reranker: Option<Rerank>,
    /// How many results are used, unless a request says otherwise.
    pub top_n: usize,
    /// How much of the results is shown to the model, in tokens.
    pub token_budget: usize,
    /// What the model is, in place of what it usually is.
    pub system_prompt: Option<String>,
    /// Whether clients may have the results.
    pub allow_include_sources: bool,
    /// The longest answer, in tokens.
    pub max_tokens: Option<u32>,
    /// How much is left to chance.
    pub temperature: Option<f64>,
}

/// Answers questions from its tables.
#[derive(Debug)]
#[must_use]
pub struct Pipeline {
    parts: Parts,
    /// The moment a vector was last asked for to count its dimensions.
    probed: Mutex<Option<Instant>>,
}

// === impl Pipeline ===

impl Pipeline {
    /// Puts a pipeline together. It connects to nothing.
    pub fn new(parts: Parts) -> Self {
        let probed = Mutex::default();
        Self { parts, probed }
    }

    pub(super) fn name(&self) -> &str {
        &self.parts.name
    }

    pub(super) fn description(&self) -> &str {
        &self.parts.description
    }

    pub(super) fn embedder(&self) -> &Embedder {
        &self.parts.embedder
    }

    pub(super) fn completer(&self) -> &Completer {
        &self.parts.completer
    }

    /// Checks that it can be asked: that its database answers, and that one of its tables can be
    /// searched with the vectors of its model. A model that has made no vector yet is asked for
    /// one, for so long at most.
    pub(super) async fn probe(&self, patience: Duration) -> Result<(), Obstacle> {
        let Parts {
            library, embedder, ..
        } = &self.parts;
        library.probe(embedder.dimensions()).await?;
        if embedder.dimensions().is_some() || !self.may_probe() {
            return Ok(());
        }
        match embedder.embed_by(PROBE, Deadline::after(patience)).await {
            Ok(_) => library.probe(embedder.dimensions()).await,
            Err(error) => {
                // Providers are for `/v1/health` to look at.
                let pipeline = self.name();
                debug!(%error, pipeline, "the dimensions of the model are not known yet");
                Ok(())
            }
        }
    }

    /// True if nothing is known that keeps a table from a search by meaning.
    pub(super) fn is_sound(&self) -> bool {
        let dimensions = self.parts.embedder.dimensions();
        self.parts.library.is_sound(dimensions)
    }

    fn may_probe(&self) -> bool {
        let mut probed = self.probed.lock().unwrap_or_else(PoisonError::into_inner);
        let may_probe = probed.is_none_or(|last| last.elapsed() >= PROBE_PAUSE);
        if may_probe {
            *probed = Some(Instant::now());
        }
        may_probe
    }

    /// Checks what can be checked of a question without the tables.
    pub(super) fn check(&self, ask: &Ask) -> Result<(), Refused> {
        let checked = ask
            .filter
            .as_ref()
            .map(|filter| self.parts.library.check_filter(filter));
        let checked = checked.transpose().map(|_| ());
        checked.map_err(|error| invalid(format!("invalid filter: {error}")))
    }

    /// Decides if the answer has sources.
    ///
    /// # Errors
    /// A sentence for the client that asks for sources it may not have.
    pub(super) fn shows_sources(&self, ask: &Ask) -> Result<bool, &'static str> {
        let is_allowed = self.parts.allow_include_sources;
        if ask.include_sources && !is_allowed {
            let pipeline = self.name();
            warn!(pipeline, "sources were asked for, and are not permitted");
            return Err(NO_SOURCES);
        }
        Ok(ask.include_sources)
    }

    /// What the tables hold about the question, best first.
    pub(super) async fn find(
        &self,
        ask: &Ask,
        deadline: Deadline,
    ) -> Result<Vec<Passage>, Failure> {
        let parts = &self.parts;
        let most = parts.top_n.max(MOST);
        let question = Question {
            text: &ask.query,
            filter: ask.filter.as_ref(),
            top_n: ask.top_n.unwrap_or(parts.top_n).min(most),
            disable_hybrid: ask.disable_hybrid,
        };
        let embedding = async {
            let embedding = parts.embedder.embed_by(&ask.query, deadline).await?;
            Ok(embedding.vector)
        };
        let passages = parts.library.find(&question, embedding).await?;
        match &parts.reranker {
            Some(rerank) if !passages.is_empty() => {
                let ordered = rerank.order(&ask.query, passages, deadline, self.name());
                ordered.await
            }
            _ => Ok(passages),
        }
    }

    /// What the model is told.
    pub(super) fn prompt(&self, ask: &mut Ask, passages: &[Passage]) -> Result<Prompt, Failure> {
        let parts = &self.parts;
        let nonce = Nonce::new()?;
        let turn = nonce.question(&ask.query, passages, parts.token_budget);
        let mut messages = std::mem::take(&mut ask.history);
        messages.push(Message::user(turn));
        let persona = parts.system_prompt.as_deref();
        let persona = persona.filter(|persona| !persona.trim().is_empty());
        Ok(Prompt::new(messages)
            .with_system(nonce.system(persona))
            .with_max_tokens(parts.max_tokens)
            .with_temperature(parts.temperature))
    }

    /// Says in the log that an answer is not all there is to say.
    pub(super) fn note(&self, stop: &Stop) {
        let pipeline = self.name();
        match stop {
            Stop::MaxTokens => warn!(pipeline, "an answer was cut at its greatest length"),
            Stop::Filtered => warn!(pipeline, "an answer was held back by the provider"),
            _ => {}
        }
    }
}
