//! Setup of embedding and model providers from the configuration.

use std::{path::Path, sync::OnceLock, time::Duration};

use anyhow::Context as _;
use ziggurat_llm::{self as llm, Access, Http, Provider, StaticModels, Timeouts};
use ziggurat_postgres_tools as tools;
use ziggurat_telemetry::Metrics;

use crate::configuration::{Embedding, EmbeddingProvider, Knowledgebase, Secret};

/// Timeouts of an embedding with all attempts; a local server may have to load the model first.
const EMBEDDING_TIMEOUT: Duration = Duration::from_secs(30);
const OLLAMA_TIMEOUT: Duration = Duration::from_mins(1);

/// Creates clients of providers. All share one HTTP client, which is created on first use, because
/// reading the certificates of the machine takes a while, and the static models.
#[derive(Debug, Default)]
pub(crate) struct Providers {
    client: OnceLock<reqwest::Client>,
    static_models: StaticModels,
    metrics: Metrics,
}

// === impl Providers ===

impl Providers {
    /// Measures the calls to providers.
    pub(crate) fn new(metrics: Metrics) -> Self {
        Self {
            metrics,
            ..Self::default()
        }
    }

    /// Creates a client of a provider; connects to nothing.
    ///
    /// # Errors
    /// Fails if the provider cannot be used as configured.
    pub(crate) fn http_client(&self, provider: Provider, access: &Access) -> anyhow::Result<Http> {
        let access = &Access {
            metrics: self.metrics.clone(),
            ..access.clone()
        };
        if let Some(client) = self.client.get() {
            return Ok(Http::new(client, provider, access)?);
        }
        let client = llm::client().context("cannot create the HTTP client")?;
        let client = self.client.get_or_init(|| client);
        Ok(Http::new(client, provider, access)?)
    }

    /// Creates the embedder of the tools.
    pub(crate) fn embedder(&self, embedding: &Embedding) -> tools::Embedder {
        if !embedding.is_enabled {
            return tools::Embedder::Disabled;
        }
        let keys = Keys {
            voyage: embedding.voyage_api_key.as_ref(),
            openai: embedding.openai_api_key.as_ref(),
            gemini: embedding.gemini_api_key.as_ref(),
        };
        let base_url = match embedding.provider {
            EmbeddingProvider::Voyage => embedding.voyage_base_url.as_deref(),
            EmbeddingProvider::OpenAi => embedding.openai_base_url.as_deref(),
            EmbeddingProvider::Gemini => embedding.gemini_base_url.as_deref(),
            EmbeddingProvider::Ollama => Some(&*embedding.ollama_url),
            EmbeddingProvider::Static | EmbeddingProvider::Local => None,
        };
        let model = (embedding.model.as_deref(), embedding.model_path.as_deref());
        let attempt = Some(embedding.per_attempt_timeout);
        match self.vectors(embedding.provider, model, keys, base_url, attempt) {
            Ok(embedder) => tools::Embedder::Ready(embedder),
            Err(error) => {
                let reason = format!("{error:#}");
                tracing::error!(reason, "the embedding provider cannot be used");
                tools::Embedder::unusable(reason)
            }
        }
    }

    /// Creates the embedder of the knowledge base.
    ///
    /// # Errors
    /// Fails if the provider cannot be used as configured.
    pub(crate) fn knowledge_embedder(
        &self,
        knowledge: &Knowledgebase,
    ) -> anyhow::Result<llm::Embedder> {
        let keys = Keys {
            voyage: knowledge.voyage_api_key.as_ref(),
            openai: knowledge.openai_api_key.as_ref(),
            gemini: knowledge.gemini_api_key.as_ref(),
        };
        let base_url = match knowledge.provider {
            EmbeddingProvider::Voyage => knowledge.voyage_base_url.as_deref(),
            EmbeddingProvider::OpenAi => knowledge.openai_base_url.as_deref(),
            EmbeddingProvider::Gemini => knowledge.gemini_base_url.as_deref(),
            EmbeddingProvider::Ollama => Some(&*knowledge.ollama_url),
            EmbeddingProvider::Static | EmbeddingProvider::Local => None,
        };
        let model = (knowledge.model.as_deref(), knowledge.model_path.as_deref());
        self.vectors(knowledge.provider, model, keys, base_url, None)
    }

    fn vectors(
        &self,
        provider: EmbeddingProvider,
        (model, path): (Option<&str>, Option<&Path>),
        keys: Keys<'_>,
        base_url: Option<&str>,
        attempt: Option<Duration>,
    ) -> anyhow::Result<llm::Embedder> {
        let (provider, key, call) = match provider {
            EmbeddingProvider::Voyage => (Provider::Voyage, keys.voyage, EMBEDDING_TIMEOUT),
            EmbeddingProvider::OpenAi => (Provider::OpenAi, keys.openai, EMBEDDING_TIMEOUT),
            EmbeddingProvider::Gemini => (Provider::Gemini, keys.gemini, EMBEDDING_TIMEOUT),
            EmbeddingProvider::Ollama => (Provider::Ollama, None, OLLAMA_TIMEOUT),
            EmbeddingProvider::Static => {
                let path = path.context("the folder of the static model is not configured")?;
                let model = self.static_models.load(path)?;
                return Ok(llm::Embedder::of_static_model(model));
            }
            EmbeddingProvider::Local => return Ok(llm::Embedder::local()),
        };
        let access = Access {
            base_url: base_url.map(str::to_owned),
            key: key.cloned().map(Into::into),
            timeouts: Timeouts { call, attempt },
            ..Access::default()
        };
        let http = self.http_client(provider, &access)?;
        Ok(llm::Embedder::new(http, model)?)
    }
}

/// API keys of the providers that need one.
#[derive(Clone, Copy)]
struct Keys<'a> {
    voyage: Option<&'a Secret>,
    openai: Option<&'a Secret>,
    gemini: Option<&'a Secret>,
}
