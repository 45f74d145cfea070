//! Setup of the knowledge base and its embedder from the configuration.

use tracing::{error, info, warn};
use ziggurat_knowledge::{KnowledgeBase, Provider};
use ziggurat_llm::{self as llm, ModelSource};
use ziggurat_postgres_tools::{Embedder, SearchKnowledgebase};

use crate::{configuration::Knowledgebase, providers::Providers};

/// Knowledge base as configured.
#[derive(Clone, Debug)]
pub(crate) enum Knowledge {
    /// The operator has not enabled it.
    Disabled,
    /// The operator has enabled it, and not set its path.
    Unplaced,
    /// The knowledge base, and the embedder for questions.
    Base(KnowledgeBase, Embedder),
}

// === impl Knowledge ===

impl Knowledge {
    /// Creates it from the configuration. Opens and connects to nothing.
    pub(crate) fn of(configured: &Knowledgebase, providers: &Providers) -> Self {
        if !configured.is_enabled {
            return Self::Disabled;
        }
        let Some(path) = &configured.database_path else {
            return Self::Unplaced;
        };
        let embedder = match providers.vectors(&configured.vectors, None) {
            Ok(embedder) => Embedder::Ready(embedder),
            Err(error) => Embedder::unusable(format!("{error:#}")),
        };
        let bytes = usize::try_from(configured.max_memory_bytes).unwrap_or(usize::MAX);
        let mut base = KnowledgeBase::new(path, provider(configured)).with_max_bytes(bytes);
        if let Embedder::Ready(embedder) = &embedder {
            base = base.with_model(embedder.model());
        }
        Self::Base(base, embedder)
    }

    /// Creates the tool that searches it.
    pub(crate) fn tool(&self) -> SearchKnowledgebase<Embedder> {
        match self {
            Self::Disabled => SearchKnowledgebase::unconfigured(),
            Self::Unplaced => SearchKnowledgebase::unplaced(),
            Self::Base(base, embedder) => SearchKnowledgebase::new(base.clone(), embedder.clone()),
        }
    }

    /// Reads the file before the first search, and logs its size.
    pub(crate) async fn warm(self) {
        let (base, embedder) = match self {
            Self::Disabled => return,
            Self::Unplaced => {
                warn!("knowledgebase is enabled, and knowledgebase.database_path is not set");
                return;
            }
            Self::Base(base, embedder) => (base, embedder),
        };
        match &embedder {
            Embedder::Ready(embedder) if embedder.is_local() => warn!(
                "the knowledge base is searched with provider local, which compares words, not \
                 meanings"
            ),
            Embedder::Unusable(problem) => {
                error!("the knowledge base cannot be searched: {problem}");
            }
            _ => {}
        }
        match base.warm().await {
            Ok(chunks) => info!("Knowledge base: {chunks} chunks"),
            Err(error) => {
                error!("the knowledge base cannot be searched: {error}");
            }
        }
    }
}

/// Maps the configured provider.
pub(crate) fn provider(configured: &Knowledgebase) -> Provider {
    match configured.vectors.provider {
        ModelSource::Static => Provider::Static,
        ModelSource::Local => Provider::Local,
        ModelSource::Provider(llm::Provider::Voyage) => Provider::Voyage,
        ModelSource::Provider(llm::Provider::OpenAi) => Provider::OpenAi,
        ModelSource::Provider(llm::Provider::Gemini) => Provider::Gemini,
        // No other makes vectors.
        ModelSource::Provider(_) => Provider::Ollama,
    }
}
