//! The provider clients of one pipeline: for embedding, completion and reranking.

use std::{path::PathBuf, sync::OnceLock, time::Duration};

use anyhow::{Context as _, bail};
use secrecy::{ExposeSecret as _, SecretString};
use ziggurat_llm::{
    self as llm, Access, Completer, Embedder, Http, Provider, Reranker, StaticModels,
    key::{self, KeyError},
};
use ziggurat_rag_service::Rerank;
use ziggurat_telemetry::Metrics;

use crate::{
    configuration::{self, ConfigSources, Model, ModelSource, Pipeline},
    secrets::Secrets,
};

/// Minimum length of a header value that is redacted from the log.
const SECRET_HEADER: usize = 8;

/// Minimum time for the vectors of documents with all attempts, and minimum number of retries.
const DOCUMENT_TIMEOUT: Duration = Duration::from_mins(10);
const DOCUMENT_RETRIES: u32 = 8;

/// A shared HTTP client for all providers, created on first use because loading the system's
/// certificates takes time. The static models, which need none, are shared, too.
#[derive(Debug, Default)]
pub(crate) struct HttpClients {
    client: OnceLock<reqwest::Client>,
    static_models: StaticModels,
}

/// Shared parts for building clients.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BuildContext<'a> {
    pub(crate) http_clients: &'a HttpClients,
    pub(crate) sources: &'a ConfigSources,
    pub(crate) secrets: &'a Secrets,
    pub(crate) metrics: &'a Metrics,
    /// Limit on the idle time of a provider in a stream.
    pub(crate) idle: Duration,
}

/// The clients of one pipeline, with the settings each was built from.
#[derive(Clone, Debug)]
pub(crate) struct Clients {
    embedding: BuiltClient<Model, Embedder>,
    completion: BuiltClient<Model, Completer>,
    rerank: Option<BuiltClient<configuration::Rerank, Reranker>>,
    /// The files that hold the keys, or would hold them.
    pub(crate) key_files: Vec<PathBuf>,
}

/// A client, with the settings and the key it was built from.
#[derive(Clone, Debug)]
struct BuiltClient<O, T> {
    of: O,
    key: Option<SecretString>,
    client: T,
}

// === impl HttpClients ===

impl HttpClients {
    /// Prepares the access to a provider; it opens no connection.
    fn http_client(&self, provider: Provider, access: &Access) -> anyhow::Result<Http> {
        if let Some(client) = self.client.get() {
            return Ok(Http::new(client, provider, access)?);
        }
        let client = llm::client().context("cannot create the HTTP client")?;
        let client = self.client.get_or_init(|| client);
        Ok(Http::new(client, provider, access)?)
    }
}

// === impl Clients ===

impl Clients {
    /// Builds the clients of a pipeline. An unchanged client is reused and keeps its usage
    /// counters. It reads files but opens no connection.
    ///
    /// # Errors
    /// Fails if a key is missing, or if a provider cannot be used as configured.
    pub(crate) fn of(
        pipeline: &Pipeline,
        context: BuildContext<'_>,
        before: Option<&Self>,
    ) -> anyhow::Result<Self> {
        let mut keys = Keys {
            pipeline,
            context,
            files: Vec::new(),
        };
        let embedding = keys.find(&pipeline.embedding);
        let embedding = embedding.context("failed to load API keys")?;
        let completion = keys.find(&pipeline.completion);
        let completion = completion.context("failed to load API keys")?;
        let rerank = pipeline.rerank.as_ref();
        let rerank_key = rerank
            .map(|rerank| keys.of(rerank.provider, rerank.base_url.as_deref()))
            .transpose()
            .context("failed to load API keys")?;
        Ok(Self {
            embedding: BuiltClient::new(
                &pipeline.embedding,
                embedding,
                before.map(|before| &before.embedding),
                |key| context.embedder(&pipeline.embedding, key),
            )?,
            completion: BuiltClient::new(
                &pipeline.completion,
                completion,
                before.map(|before| &before.completion),
                |key| context.completer(&pipeline.completion, key),
            )?,
            rerank: rerank
                .zip(rerank_key)
                .map(|(rerank, key)| {
                    let before = before.and_then(|before| before.rerank.as_ref());
                    BuiltClient::new(rerank, key, before, |key| context.reranker(rerank, key))
                })
                .transpose()?,
            key_files: keys.files,
        })
    }

    pub(crate) fn embedder(&self) -> Embedder {
        self.embedding.client.clone()
    }

    pub(crate) fn completer(&self) -> Completer {
        self.completion.client.clone()
    }

    pub(crate) fn reranker(&self) -> Option<Rerank> {
        self.rerank.as_ref().map(|made| Rerank {
            reranker: made.client.clone(),
            top_k: made.of.top_k,
        })
    }
}

/// Builds the embedder for the documents of a pipeline. It waits longer for its provider than that
/// for questions, because a run of hours should not end with a limit of a minute.
///
/// # Errors
/// Fails if a key is missing, or if the provider cannot be used as configured.
pub(crate) fn document_embedder(
    pipeline: &Pipeline,
    context: BuildContext<'_>,
) -> anyhow::Result<Embedder> {
    let mut model = pipeline.embedding.clone();
    model.timeouts.call = model.timeouts.call.max(DOCUMENT_TIMEOUT);
    model.retry = model.retry.at_least(DOCUMENT_RETRIES);
    embedder_of_texts(pipeline, model, context)
}

/// Builds the embedder for the tables of a pipeline that are kept in step. It does not wait longer
/// than that for questions, because a row that fails comes again.
///
/// # Errors
/// Fails if a key is missing, or if the provider cannot be used as configured.
pub(crate) fn row_embedder(
    pipeline: &Pipeline,
    context: BuildContext<'_>,
) -> anyhow::Result<Embedder> {
    embedder_of_texts(pipeline, pipeline.embedding.clone(), context)
}

/// Builds an embedder for texts that are found, not for questions.
fn embedder_of_texts(
    pipeline: &Pipeline,
    mut model: Model,
    context: BuildContext<'_>,
) -> anyhow::Result<Embedder> {
    let mut keys = Keys {
        pipeline,
        context,
        files: Vec::new(),
    };
    let key = keys.find(&model).context("failed to load API keys")?;
    model.input_type = model.input_type.map(|_| "document".to_owned());
    context.embedder(&model, key)
}

// === impl BuiltClient ===

impl<O: Clone + PartialEq, T: Clone> BuiltClient<O, T> {
    fn new(
        of: &O,
        key: Option<SecretString>,
        before: Option<&Self>,
        make: impl FnOnce(Option<SecretString>) -> anyhow::Result<T>,
    ) -> anyhow::Result<Self> {
        let shown = |key: &Option<SecretString>| {
            let key = key.as_ref();
            key.map(|key| key.expose_secret().to_owned())
        };
        let reusable =
            before.filter(|before| before.of == *of && shown(&before.key) == shown(&key));
        let client = match reusable {
            Some(reusable) => reusable.client.clone(),
            None => make(key.clone())?,
        };
        Ok(Self {
            of: of.clone(),
            key,
            client,
        })
    }
}

// === impl BuildContext ===

impl BuildContext<'_> {
    fn embedder(self, model: &Model, key: Option<SecretString>) -> anyhow::Result<Embedder> {
        let provider = match model.maker {
            ModelSource::Provider(provider) => provider,
            ModelSource::Static => {
                let loaded = self.http_clients.static_models.load(&model.path)?;
                return Ok(Embedder::of_static_model(loaded));
            }
            ModelSource::Local => return Ok(Embedder::local()),
        };
        let http = self
            .http_clients
            .http_client(provider, &self.access(model, key))?;
        let embedder = Embedder::new(http, Some(&model.name))?;
        Ok(embedder.with_input_type(model.input_type.as_deref()))
    }

    fn completer(self, model: &Model, key: Option<SecretString>) -> anyhow::Result<Completer> {
        let ModelSource::Provider(provider) = model.maker else {
            return Ok(Completer::local());
        };
        let http = self
            .http_clients
            .http_client(provider, &self.access(model, key))?;
        let completer = Completer::new(http, &model.name)?;
        Ok(completer.with_idle(self.idle))
    }

    fn reranker(
        self,
        rerank: &configuration::Rerank,
        key: Option<SecretString>,
    ) -> anyhow::Result<Reranker> {
        let access = Access {
            base_url: rerank.base_url.clone(),
            key,
            headers: rerank.headers.clone(),
            timeouts: rerank.timeouts,
            metrics: self.metrics.clone(),
            ..Access::default()
        };
        self.hide(&access);
        let http = self.http_clients.http_client(rerank.provider, &access)?;
        Ok(Reranker::new(http, &rerank.model)?)
    }

    fn access(self, model: &Model, key: Option<SecretString>) -> Access {
        let access = Access {
            base_url: model.base_url.clone(),
            key,
            headers: model.headers.clone(),
            timeouts: model.timeouts,
            retry: model.retry,
            metrics: self.metrics.clone(),
        };
        self.hide(&access);
        access
    }

    /// Adds the secrets in the settings to those that the log redacts.
    fn hide(self, access: &Access) {
        let url = access.base_url.as_deref();
        let url = url.and_then(|url| reqwest::Url::parse(url).ok());
        let password = url.as_ref().and_then(reqwest::Url::password);
        let values = access.headers.values().map(http::HeaderValue::as_bytes);
        let headers = values.filter(|value| value.len() >= SECRET_HEADER);
        let key = access
            .key
            .as_ref()
            .map(|key| key.expose_secret().as_bytes());
        let password = password.map(str::as_bytes);
        self.secrets.add(headers.chain(key).chain(password));
    }
}

/// Finds the keys of a pipeline, and records the files they are in.
struct Keys<'a> {
    pipeline: &'a Pipeline,
    context: BuildContext<'a>,
    files: Vec<PathBuf>,
}

// === impl Keys ===

impl Keys<'_> {
    fn find(&mut self, model: &Model) -> anyhow::Result<Option<SecretString>> {
        match model.maker {
            ModelSource::Static | ModelSource::Local => Ok(None),
            ModelSource::Provider(provider) => self.of(provider, model.base_url.as_deref()),
        }
    }

    fn of(
        &mut self,
        provider: Provider,
        base_url: Option<&str>,
    ) -> anyhow::Result<Option<SecretString>> {
        let sources = self.context.sources;
        let configured = self.pipeline.key_files.of(provider);
        // A missing file is watched too, because it may be created later.
        self.files.extend(configured.map(PathBuf::from));
        let environment = |name: &str| sources.environment.get(name);
        match key::find(provider, configured, environment, sources.home()) {
            Ok(key) => {
                let file = key.as_ref().and_then(|key| key.file.clone());
                self.files.extend(file);
                Ok(key.map(|key| key.secret))
            }
            Err(KeyError::Nowhere { .. }) if provider == Provider::OpenAi => {
                // Compatible servers may need no key.
                if base_url.is_none() {
                    bail!("OpenAI API key or base URL required");
                }
                Ok(None)
            }
            Err(error) => Err(error.into()),
        }
    }
}
