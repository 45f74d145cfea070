//! Embeddings of texts.

mod gemini;
mod ollama;
mod openai;
#[cfg(test)]
mod tests;
pub(super) mod voyage;

use std::{
    fmt,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use super::{Deadline, Error, Http, Meter, Provider, Usage, local};

/// Makes vectors of texts.
///
/// ```
/// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
/// use ziggurat_llm::Embedder;
///
/// let embedder = Embedder::local();
/// let embedding = embedder.embed("a fern in the shade").await?;
/// assert_eq!(embedding.vector.len(), 256);
/// assert_eq!(embedder.provider(), "local");
/// # Ok::<_, ziggurat_llm::Error>(())
/// # }).unwrap();
/// ```
#[derive(Clone)]
pub struct Embedder {
    inner: Arc<Inner>,
}

/// The vector of a text, and its usage.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Embedding {
    /// The vector: finite numbers, at least one.
    pub vector: Vec<f32>,
    /// Tokens that the provider counted.
    pub usage: Usage,
}

struct Inner {
    source: Source,
    model: String,
    meter: Meter,
    /// Dimensions of the last vector; zero before the first.
    dimensions: AtomicUsize,
}

enum Source {
    Gemini(Http),
    Ollama(Http),
    OpenAi(Http),
    Voyage {
        http: Http,
        input_type: Option<String>,
    },
    Local,
}

// === impl Embedder ===

impl Embedder {
    /// Creates an embedder for a provider, with its default model if none is named.
    ///
    /// # Errors
    /// Fails if the provider makes no vectors.
    pub fn new(http: Http, model: Option<&str>) -> Result<Self, Error> {
        let (source, usual) = match http.provider() {
            Provider::OpenAi => (Source::OpenAi(http), "text-embedding-3-small"),
            Provider::Gemini => (Source::Gemini(http), "gemini-embedding-001"),
            Provider::Ollama => (Source::Ollama(http), "nomic-embed-text"),
            Provider::Voyage => {
                let input_type = None;
                (Source::Voyage { http, input_type }, "voyage-3-lite")
            }
            Provider::Anthropic => {
                let text = "Anthropic does not provide an embedding API";
                return Err(Error::Unsupported(text.to_owned()));
            }
        };
        Ok(Self::with(source, model.unwrap_or(usual)))
    }

    /// Makes vectors without a provider, of 256 dimensions.
    ///
    /// They compare words and parts of words, not their meaning: only for demos and tests.
    #[must_use]
    pub fn local() -> Self {
        Self::with(Source::Local, local::MODEL)
    }

    /// Sets the purpose of the texts for Voyage: `query` or `document`. Other providers ignore it.
    #[must_use]
    pub fn with_input_type(self, input_type: Option<&str>) -> Self {
        let Source::Voyage { http, .. } = &self.inner.source else {
            return self;
        };
        let source = Source::Voyage {
            http: http.clone(),
            input_type: input_type.map(str::to_owned),
        };
        Self::with(source, &self.inner.model)
    }

    fn with(source: Source, model: &str) -> Self {
        Self {
            inner: Arc::new(Inner {
                source,
                model: model.to_owned(),
                meter: Meter::default(),
                dimensions: AtomicUsize::new(0),
            }),
        }
    }

    /// Returns the name of the provider, `local` if there is none.
    #[must_use]
    pub fn provider(&self) -> &'static str {
        self.inner
            .source
            .http()
            .map_or(local::NAME, |http| http.provider().name())
    }

    /// Returns the name of the model.
    #[must_use]
    pub fn model(&self) -> &str {
        &self.inner.model
    }

    /// Returns whether it works without a provider.
    #[must_use]
    pub fn is_local(&self) -> bool {
        matches!(self.inner.source, Source::Local)
    }

    /// Returns the total usage of all vectors so far.
    #[must_use]
    pub fn usage(&self) -> Usage {
        self.inner.meter.read()
    }

    /// Returns the dimensions of its vectors; `None` before the first.
    #[must_use]
    pub fn dimensions(&self) -> Option<usize> {
        let dimensions = self.inner.dimensions.load(Ordering::Relaxed);
        (dimensions > 0).then_some(dimensions)
    }

    /// Returns the provider, if there is one.
    #[must_use]
    pub fn http(&self) -> Option<&Http> {
        self.inner.source.http()
    }

    /// Makes the vector of a text.
    ///
    /// # Errors
    /// Fails if the provider does.
    pub async fn embed(&self, text: &str) -> Result<Embedding, Error> {
        self.embed_by(text, Deadline::none()).await
    }

    /// Makes the vector of a text, or fails when the deadline has passed.
    ///
    /// # Errors
    /// Fails if the provider does.
    pub async fn embed_by(&self, text: &str, deadline: Deadline) -> Result<Embedding, Error> {
        let model = self.model();
        let embedding = match &self.inner.source {
            Source::Gemini(http) => gemini::embed(http, model, text, deadline).await,
            Source::Ollama(http) => ollama::embed(http, model, text, deadline).await,
            Source::OpenAi(http) => openai::embed(http, model, text, deadline).await,
            Source::Voyage { http, input_type } => {
                voyage::embed(http, model, input_type.as_deref(), text, deadline).await
            }
            Source::Local => Ok(Embedding::free(local::embed(text).to_vec())),
        }?;
        self.inner.meter.add(embedding.usage);
        if embedding.vector.is_empty() {
            return Err(Error::Empty);
        }
        if embedding.vector.iter().any(|number| !number.is_finite()) {
            let text = "a number of the vector is not finite";
            return Err(Error::Malformed(text.to_owned()));
        }
        let dimensions = embedding.vector.len();
        self.inner.dimensions.store(dimensions, Ordering::Relaxed);
        Ok(embedding)
    }

    /// Checks that the provider is reachable and accepts the credentials. Voyage has to make a
    /// vector, which is counted; the others get a request that is free.
    ///
    /// # Errors
    /// Fails if it does not.
    pub async fn ping(&self, deadline: Deadline) -> Result<(), Error> {
        let Some(http) = self.http() else {
            return Ok(());
        };
        let usage = http.ping(Some(self.model()), deadline).await?;
        self.inner.meter.add(usage);
        Ok(())
    }
}

impl fmt::Debug for Embedder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Embedder")
            .field("provider", &self.provider())
            .field("model", &self.model())
            .finish_non_exhaustive()
    }
}

// === impl Embedding ===

impl Embedding {
    /// Creates an embedding from a vector and its usage.
    #[must_use]
    pub fn new(vector: Vec<f32>, usage: Usage) -> Self {
        Self { vector, usage }
    }

    /// Creates an embedding without usage.
    fn free(vector: Vec<f32>) -> Self {
        Self::new(vector, Usage::default())
    }
}

// === impl Source ===

impl Source {
    fn http(&self) -> Option<&Http> {
        match self {
            Self::Gemini(http)
            | Self::Ollama(http)
            | Self::OpenAi(http)
            | Self::Voyage { http, .. } => Some(http),
            Self::Local => None,
        }
    }
}
