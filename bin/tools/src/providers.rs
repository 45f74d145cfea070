//! Setup of embedding and model providers from the configuration.

pub(crate) mod proxy;

use std::{sync::OnceLock, time::Duration};

use anyhow::Context as _;
use ziggurat_llm::{self as llm, Access, Http, ModelSource, Provider, StaticModels, Timeouts};
use ziggurat_postgres_tools as tools;
use ziggurat_telemetry::Metrics;

use crate::configuration::{Embedding, Vectors};

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
        let attempt = Some(embedding.per_attempt_timeout);
        match self.vectors(&embedding.vectors, attempt) {
            Ok(embedder) => tools::Embedder::Ready(embedder),
            Err(error) => {
                let reason = format!("{error:#}");
                tracing::error!(reason, "the embedding provider cannot be used");
                tools::Embedder::unusable(reason)
            }
        }
    }

    /// Creates an embedder; `attempt` limits each attempt.
    ///
    /// # Errors
    /// Fails if the provider cannot be used as configured.
    pub(crate) fn vectors(
        &self,
        vectors: &Vectors,
        attempt: Option<Duration>,
    ) -> anyhow::Result<llm::Embedder> {
        let provider = match vectors.provider {
            ModelSource::Provider(provider) => provider,
            ModelSource::Static => {
                let path = vectors.model_path.as_deref();
                let path = path.context("the folder of the static model is not configured")?;
                let model = self.static_models.load(path)?;
                return Ok(llm::Embedder::of_static_model(model));
            }
            ModelSource::Local => return Ok(llm::Embedder::local()),
        };
        let call = match provider {
            Provider::Ollama => OLLAMA_TIMEOUT,
            _ => EMBEDDING_TIMEOUT,
        };
        let access = Access {
            base_url: vectors.access.urls.get(&provider).cloned(),
            key: vectors.access.keys.get(&provider).cloned().map(Into::into),
            timeouts: Timeouts { call, attempt },
            ..Access::default()
        };
        let http = self.http_client(provider, &access)?;
        Ok(llm::Embedder::new(http, vectors.model.as_deref())?)
    }
}
