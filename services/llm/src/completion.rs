//! Completions of language models, complete or streamed.

mod anthropic;
mod chunks;
mod fault;
mod gemini;
mod local;
mod ollama;
mod openai;
mod partial;
#[cfg(test)]
mod tests;

use std::{
    fmt,
    sync::{
        Arc,
        atomic::{AtomicU8, Ordering},
    },
    time::Duration,
};

use bytes::Bytes;
use serde_json::value::RawValue;

use self::{chunks::Reading, fault::Fault, openai::Manner};
use super::{Deadline, Error, Http, LOG_TARGET, Meter, Prompt, Provider, Reply, Request, Usage};

pub use self::chunks::Chunks;

/// Maximum number of times that one prompt is sent, each time in another format.
const MAX_SENDS: usize = 3;

/// Maximum pause in a stream.
const IDLE: Duration = Duration::from_mins(1);

const EVENTS: &str = "text/event-stream";

/// Sends prompts to a model and returns its replies.
///
/// ```
/// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
/// use ziggurat_llm::{Completer, Message, Prompt};
///
/// let completer = Completer::local();
/// let prompt = Prompt::new(vec![Message::user("Is it going to rain?")]);
/// let reply = completer.complete(&prompt).await?;
/// assert!(reply.text().starts_with("[local]"));
/// # Ok::<_, ziggurat_llm::Error>(())
/// # }).unwrap();
/// ```
#[derive(Clone)]
#[must_use]
pub struct Completer {
    inner: Arc<Inner>,
}

struct Inner {
    source: Source,
    model: String,
    meter: Arc<Meter>,
    idle: Duration,
}

enum Source {
    Anthropic(Http),
    OpenAi {
        http: Http,
        /// The request format that the model accepts, as far as known.
        manner: AtomicU8,
    },
    Gemini(Http),
    Ollama(Http),
    Local,
}

/// A prompt in the format of a provider.
struct Ask {
    path: Vec<String>,
    query: Option<&'static str>,
    accept: Option<&'static str>,
    body: Bytes,
    manner: Option<Manner>,
    stream: bool,
    /// Number of times the prompt was sent, this time included.
    turn: usize,
}

// === impl Completer ===

impl Completer {
    /// Creates a completer for a model of a provider.
    ///
    /// # Errors
    /// Fails if the provider has no completion models.
    pub fn new(http: Http, model: &str) -> Result<Self, Error> {
        let source = Source::new(http, model)?;
        Ok(Self::with(source, model, Arc::default(), IDLE))
    }

    /// Creates a completer without a model: it quotes the sentences that fit the question best,
    /// marked as local.
    pub fn local() -> Self {
        Self::with(Source::Local, local::MODEL, Arc::default(), IDLE)
    }

    /// Creates a completer for another model of the same provider. Both share one usage meter.
    pub fn with_model(&self, model: &str) -> Self {
        let inner = &self.inner;
        if model == inner.model {
            return self.clone();
        }
        let source = inner.source.with_model(model);
        Self::with(source, model, Arc::clone(&inner.meter), inner.idle)
    }

    /// Sets the maximum pause in a stream.
    pub fn with_idle(self, idle: Duration) -> Self {
        let inner = &self.inner;
        let source = inner.source.with_model(&inner.model);
        Self::with(source, &inner.model, Arc::clone(&inner.meter), idle)
    }

    fn with(source: Source, model: &str, meter: Arc<Meter>, idle: Duration) -> Self {
        Self {
            inner: Arc::new(Inner {
                source,
                model: model.to_owned(),
                meter,
                idle,
            }),
        }
    }

    /// Returns the name of the provider, `local` if there is none.
    #[must_use]
    pub fn provider(&self) -> &'static str {
        self.http()
            .map_or(local::NAME, |http| http.provider().name())
    }

    /// Returns the name of the model.
    #[must_use]
    pub fn model(&self) -> &str {
        &self.inner.model
    }

    /// Returns whether it works without a model.
    #[must_use]
    pub fn is_local(&self) -> bool {
        self.http().is_none()
    }

    /// Returns the provider, if there is one.
    #[must_use]
    pub fn http(&self) -> Option<&Http> {
        self.inner.source.http()
    }

    /// Returns the total usage of all replies so far.
    #[must_use]
    pub fn usage(&self) -> Usage {
        self.inner.meter.read()
    }

    /// Sends a prompt and returns the complete reply.
    ///
    /// # Errors
    /// Fails if the provider does.
    pub async fn complete(&self, prompt: &Prompt) -> Result<Reply, Error> {
        self.complete_by(prompt, Deadline::none()).await
    }

    /// Sends a prompt and returns the complete reply, or fails when the deadline has passed.
    ///
    /// # Errors
    /// Fails if the provider does.
    pub async fn complete_by(&self, prompt: &Prompt, deadline: Deadline) -> Result<Reply, Error> {
        let Some(http) = self.http() else {
            return Ok(Reply::of(local::answer(prompt)));
        };
        let mut ask = self.ask(prompt, false, 1, self.inner.source.manner())?;
        let answer: Box<RawValue> = loop {
            let outcome = http.json(&ask.request(&ask.segments()), deadline).await;
            match outcome {
                Ok(answer) => break answer,
                Err(error) => ask = self.ask_otherwise(&ask, prompt, error)?,
            }
        };
        let manner = self.keep(ask.manner);
        let body = answer.get().as_bytes();
        let reply = match &self.inner.source {
            Source::Anthropic(_) => anthropic::reply(body),
            Source::OpenAi { .. } => openai::reply(manner, body),
            Source::Gemini(_) => gemini::reply(body),
            Source::Ollama(_) => ollama::reply(body),
            Source::Local => Err(Fault::NoChoices),
        };
        let reply = reply.map_err(|fault| fault.of(http))?;
        self.inner.meter.add(reply.usage);
        Ok(reply)
    }

    /// Sends a prompt and streams the reply.
    ///
    /// Dropping the stream cancels the request.
    ///
    /// # Errors
    /// Fails if the provider fails before the reply begins.
    pub async fn stream(&self, prompt: &Prompt) -> Result<Chunks, Error> {
        self.stream_by(prompt, Deadline::none()).await
    }

    /// Sends a prompt and streams the reply, or fails when the deadline passes before the reply has
    /// begun.
    ///
    /// # Errors
    /// Fails if the provider fails before the reply begins.
    pub async fn stream_by(&self, prompt: &Prompt, deadline: Deadline) -> Result<Chunks, Error> {
        let Some(http) = self.http() else {
            return Ok(Chunks::ready(local::answer(prompt)));
        };
        let mut ask = self.ask(prompt, true, 1, self.inner.source.manner())?;
        let answer = loop {
            let outcome = http.open(&ask.request(&ask.segments()), deadline).await;
            match outcome {
                Ok(answer) => break answer,
                Err(error) => ask = self.ask_otherwise(&ask, prompt, error)?,
            }
        };
        let manner = self.keep(ask.manner);
        let reading = match &self.inner.source {
            Source::Anthropic(_) => Reading::anthropic(),
            Source::OpenAi { .. } => Reading::openai(manner),
            Source::Gemini(_) => Reading::gemini(),
            Source::Ollama(_) | Source::Local => Reading::ollama(),
        };
        let meter = Arc::clone(&self.inner.meter);
        Ok(Chunks::new(
            http.clone(),
            answer,
            reading,
            meter,
            self.inner.idle,
        ))
    }

    /// Checks that the provider is reachable and accepts the credentials.
    ///
    /// # Errors
    /// Fails if it does not.
    pub async fn ping(&self, deadline: Deadline) -> Result<(), Error> {
        match self.http() {
            Some(http) => http.ping(Some(self.model()), deadline).await.map(drop),
            None => Ok(()),
        }
    }

    /// Returns the same prompt in another format, if the error response asks for that.
    fn ask_otherwise(&self, ask: &Ask, prompt: &Prompt, error: Error) -> Result<Ask, Error> {
        let manner = error.refusal().and_then(|refusal| {
            let manner = ask.manner.filter(|_| ask.turn < MAX_SENDS)?;
            manner.adapted(refusal.status(), refusal.body())
        });
        let Some(manner) = manner else {
            return Err(error);
        };
        let model = self.model();
        tracing::debug!(target: LOG_TARGET, model, ?manner, "a model wants to be asked otherwise");
        self.ask(prompt, ask.stream, ask.turn + 1, Some(manner))
    }

    /// Stores the format that has succeeded.
    fn keep(&self, manner: Option<Manner>) -> Manner {
        if let (Source::OpenAi { manner: kept, .. }, Some(manner)) = (&self.inner.source, manner) {
            kept.store(manner.bits(), Ordering::Relaxed);
        }
        manner.unwrap_or(Manner::PLAIN)
    }

    fn ask(
        &self,
        prompt: &Prompt,
        stream: bool,
        turn: usize,
        manner: Option<Manner>,
    ) -> Result<Ask, Error> {
        let model = self.model();
        let (path, query, body) = match &self.inner.source {
            Source::Anthropic(_) => {
                let body = anthropic::request(model, prompt, stream);
                (vec!["messages".to_owned()], None, body)
            }
            Source::OpenAi { .. } => {
                let manner = manner.unwrap_or(Manner::PLAIN);
                let path = openai::path(manner).iter().map(ToString::to_string);
                let body = openai::request(model, manner, prompt, stream);
                (path.collect(), None, body)
            }
            Source::Gemini(_) => {
                let path = ["v1beta", "models"].map(str::to_owned);
                let path = path.into_iter().chain([gemini::method(model, stream)]);
                let query = stream.then_some("alt=sse");
                (path.collect(), query, gemini::request(prompt))
            }
            Source::Ollama(_) | Source::Local => {
                let body = ollama::request(model, prompt, stream);
                (["api", "chat"].map(str::to_owned).to_vec(), None, body)
            }
        };
        let has_events = stream && !matches!(self.inner.source, Source::Ollama(_));
        let body = body.map_err(|error| Error::Invalid(error.to_string()))?;
        Ok(Ask {
            path,
            query,
            accept: has_events.then_some(EVENTS),
            body: body.into(),
            manner,
            stream,
            turn,
        })
    }
}

impl fmt::Debug for Completer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Completer")
            .field("provider", &self.provider())
            .field("model", &self.model())
            .finish_non_exhaustive()
    }
}

// === impl Source ===

impl Source {
    fn new(http: Http, model: &str) -> Result<Self, Error> {
        match http.provider() {
            Provider::Anthropic => Ok(Self::Anthropic(http)),
            Provider::OpenAi => Ok(Self::openai(http, Manner::of(model))),
            Provider::Gemini => Ok(Self::Gemini(http)),
            Provider::Ollama => Ok(Self::Ollama(http)),
            Provider::Voyage => {
                let text = "Voyage does not provide a completion API";
                Err(Error::Unsupported(text.to_owned()))
            }
        }
    }

    fn openai(http: Http, manner: Manner) -> Self {
        let manner = AtomicU8::new(manner.bits());
        Self::OpenAi { http, manner }
    }

    fn with_model(&self, model: &str) -> Self {
        match self {
            Self::Anthropic(http) => Self::Anthropic(http.clone()),
            Self::OpenAi { http, .. } => Self::openai(http.clone(), Manner::of(model)),
            Self::Gemini(http) => Self::Gemini(http.clone()),
            Self::Ollama(http) => Self::Ollama(http.clone()),
            Self::Local => Self::Local,
        }
    }

    fn http(&self) -> Option<&Http> {
        match self {
            Self::Anthropic(http)
            | Self::OpenAi { http, .. }
            | Self::Gemini(http)
            | Self::Ollama(http) => Some(http),
            Self::Local => None,
        }
    }

    fn manner(&self) -> Option<Manner> {
        match self {
            Self::OpenAi { manner, .. } => Some(Manner::from_bits(manner.load(Ordering::Relaxed))),
            _ => None,
        }
    }
}

// === impl Ask ===

impl Ask {
    fn segments(&self) -> Vec<&str> {
        self.path.iter().map(String::as_str).collect()
    }

    fn request<'a>(&self, path: &'a [&'a str]) -> Request<'a> {
        let mut request = Request::written(path, self.body.clone());
        if let Some(query) = self.query {
            request = request.with_query(query);
        }
        if let Some(accept) = self.accept {
            request = request.with_accept(accept);
        }
        request
    }
}
