//! Embeddings of texts.

mod batches;
mod formats;
#[cfg(test)]
mod tests;

use std::{
    fmt,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use ziggurat_telemetry::traces::Trace;

use crate::{Deadline, Error, Http, Meter, Provider, StaticModel, Usage, local, static_model};

pub(super) use self::formats::{TotalTokens, ping_voyage};

/// Number of texts that are embedded at once without a provider.
const LOCAL_BATCH: usize = 256;

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
    trace: Trace,
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
    source: VectorSource,
    model: String,
    /// Purpose of the texts, for Voyage.
    input_type: Option<String>,
    meter: Meter,
    /// Dimensions of the last vector; zero before the first.
    dimensions: AtomicUsize,
}

/// Origin of vectors.
#[derive(Clone)]
enum VectorSource {
    Provider(Http),
    Static(StaticModel),
    Local,
}

// === impl Embedder ===

impl Embedder {
    /// Creates an embedder for a provider, with its default model if none is named.
    ///
    /// # Errors
    /// Fails if the provider makes no vectors.
    pub fn new(http: Http, model: Option<&str>) -> Result<Self, Error> {
        let default = match http.provider() {
            Provider::OpenAi => "text-embedding-3-small",
            Provider::Gemini => "gemini-embedding-001",
            Provider::Ollama => "nomic-embed-text",
            Provider::Voyage => "voyage-3-lite",
            provider => return Err(unsupported(provider)),
        };
        Ok(Self::with(
            VectorSource::Provider(http),
            model.unwrap_or(default),
            None,
        ))
    }

    /// Makes vectors without a provider, of 256 dimensions.
    ///
    /// They compare words and parts of words, not their meaning: only for demos and tests.
    #[must_use]
    pub fn local() -> Self {
        Self::with(VectorSource::Local, local::MODEL, None)
    }

    /// Makes vectors with a model in memory, without a provider.
    #[must_use]
    pub fn of_static_model(model: StaticModel) -> Self {
        let (name, dimensions) = (model.name().to_owned(), model.dimensions());
        let embedder = Self::with(VectorSource::Static(model), &name, None);
        let known = &embedder.inner.dimensions;
        known.store(dimensions, Ordering::Relaxed);
        embedder
    }

    /// Sets the purpose of the texts for Voyage: `query` or `document`. Other providers ignore it.
    #[must_use]
    pub fn with_input_type(self, input_type: Option<&str>) -> Self {
        let dimensions = self.dimensions().unwrap_or_default();
        let embedder = Self::with(self.inner.source.clone(), self.model(), input_type);
        let known = &embedder.inner.dimensions;
        known.store(dimensions, Ordering::Relaxed);
        embedder
    }

    fn with(source: VectorSource, model: &str, input_type: Option<&str>) -> Self {
        Self {
            trace: Trace::off(),
            inner: Arc::new(Inner {
                source,
                model: model.to_owned(),
                input_type: input_type.map(str::to_owned),
                meter: Meter::default(),
                dimensions: AtomicUsize::new(0),
            }),
        }
    }

    /// Sets the trace of the call that vectors are made for.
    #[must_use]
    pub fn with_trace(&self, trace: Trace) -> Self {
        let inner = Arc::clone(&self.inner);
        Self { inner, trace }
    }

    /// Returns the name of the provider: `static` for a model in memory, and `local` without one.
    #[must_use]
    pub fn provider(&self) -> &'static str {
        match &self.inner.source {
            VectorSource::Provider(http) => http.provider().name(),
            VectorSource::Static(_) => static_model::NAME,
            VectorSource::Local => local::NAME,
        }
    }

    /// Returns the name of the model.
    #[must_use]
    pub fn model(&self) -> &str {
        &self.inner.model
    }

    /// Returns whether it works without a provider and without a model.
    #[must_use]
    pub fn is_local(&self) -> bool {
        matches!(self.inner.source, VectorSource::Local)
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
        match &self.inner.source {
            VectorSource::Provider(http) => Some(http),
            VectorSource::Static(_) | VectorSource::Local => None,
        }
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
        let input_type = self.inner.input_type.as_deref();
        let embedding = match &self.inner.source {
            VectorSource::Provider(http) => {
                let mut measured = http.begin("embedding", &self.trace);
                let http = measured.http();
                let embedding = formats::embed(http, self.model(), input_type, text, deadline);
                let embedding = embedding.await;
                measured.end(embedding.as_ref().map(|embedding| embedding.usage));
                embedding?
            }
            VectorSource::Static(model) => {
                let vectors = deadline.cut(model.embed_all(&[text])).await;
                let vectors = vectors.map_err(|_| Error::Late)??;
                Embedding::free(vectors.into_iter().next().unwrap_or_default())
            }
            VectorSource::Local => Embedding::free(local::embed(text).to_vec()),
        };
        self.inner.meter.add(embedding.usage);
        Embedding::check(&embedding.vector)?;
        let dimensions = embedding.vector.len();
        self.inner.dimensions.store(dimensions, Ordering::Relaxed);
        Ok(embedding)
    }

    /// Returns the maximum number of texts in one request to the provider.
    #[must_use]
    pub fn max_batch(&self) -> usize {
        let provider = self.http().map(Http::provider);
        provider.map_or(LOCAL_BATCH, batches::max_batch)
    }

    /// Makes the vectors of several texts, in their order, with up to `batch` texts in a request. A
    /// request that the provider refuses is repeated in two halves, because some servers
    /// take fewer texts than others.
    ///
    /// # Errors
    /// Fails if the provider does.
    pub async fn embed_all(&self, texts: &[&str], batch: usize) -> Result<Vec<Vec<f32>>, Error> {
        let mut vectors = Vec::with_capacity(texts.len());
        let mut batch = batch.max(1);
        while let Some(rest) = texts.get(vectors.len()..).filter(|rest| !rest.is_empty()) {
            let some = &rest[..rest.len().min(batch)];
            match self.embed_batch(some).await {
                Ok(made) => vectors.extend(made),
                Err(error) if error.refuses_input() && some.len() > 1 => {
                    batch = some.len().div_ceil(2);
                }
                Err(error) => return Err(error),
            }
        }
        Ok(vectors)
    }

    async fn embed_batch(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>, Error> {
        let (vectors, usage) = match &self.inner.source {
            VectorSource::Provider(http) => {
                let input_type = self.inner.input_type.as_deref();
                let mut measured = http.begin("embedding", &self.trace);
                let http = measured.http();
                let made = batches::embed(http, self.model(), input_type, texts, Deadline::none());
                let made = made.await;
                measured.end(made.as_ref().map(|(_, usage)| *usage));
                made?
            }
            VectorSource::Static(model) => (model.embed_all(texts).await?, Usage::default()),
            VectorSource::Local => {
                let vectors = texts.iter().map(|text| local::embed(text).to_vec());
                (vectors.collect(), Usage::default())
            }
        };
        self.inner.meter.add(usage);
        for vector in &vectors {
            Embedding::check(vector)?;
            self.inner.dimensions.store(vector.len(), Ordering::Relaxed);
        }
        Ok(vectors)
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

fn unsupported(provider: Provider) -> Error {
    Error::Unsupported(format!(
        "{} does not provide an embedding API",
        provider.title()
    ))
}
