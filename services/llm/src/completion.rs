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
    collections::VecDeque,
    fmt,
    sync::{
        Arc,
        atomic::{AtomicU8, Ordering},
    },
    time::Duration,
};

use serde_json::value::RawValue;
use ziggurat_telemetry::traces::Trace;

use self::{chunks::Reading, fault::Fault, openai::Format};
use crate::{
    Chunk, Deadline, Error, Http, LOG_TARGET, Meter, Prompt, Provider, Reply, Request, Streaming,
    Usage,
};

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
    trace: Trace,
}

struct Inner {
    /// The provider; `None` without a model.
    source: Option<(Http, Api)>,
    model: String,
    /// The request format that a model of `OpenAI` accepts, as far as known.
    format: AtomicU8,
    meter: Arc<Meter>,
    idle: Duration,
}

/// Format of requests and replies.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Api {
    Anthropic,
    OpenAi,
    Gemini,
    Ollama,
}

/// Parses a streamed reply.
trait StreamReader: fmt::Debug + Send + Sync {
    /// Parses an event.
    fn read(&mut self, event: &[u8], chunks: &mut VecDeque<Chunk>) -> Result<(), Fault>;

    /// Handles the end of the stream: for some providers it completes the reply, if a stop reason
    /// was sent.
    fn finish(&mut self, _chunks: &mut VecDeque<Chunk>) {}
}

/// A prompt that is being sent.
struct Attempt<'a> {
    completer: &'a Completer,
    api: Api,
    prompt: &'a Prompt,
    is_streamed: bool,
    format: Format,
    /// Number of times the prompt was sent, this time included.
    sends: usize,
}

// === impl Completer ===

impl Completer {
    /// Creates a completer for a model of a provider.
    ///
    /// # Errors
    /// Fails if the provider has no completion models.
    pub fn new(http: Http, model: &str) -> Result<Self, Error> {
        let provider = http.provider();
        let api = match provider {
            Provider::Anthropic => Api::Anthropic,
            Provider::OpenAi => Api::OpenAi,
            Provider::Gemini => Api::Gemini,
            Provider::Ollama => Api::Ollama,
            Provider::Voyage | Provider::Cohere | Provider::Jina | Provider::Tei => {
                let title = provider.title();
                let text = format!("{title} does not provide a completion API");
                return Err(Error::Unsupported(text));
            }
        };
        Ok(Self::with(Some((http, api)), model, Arc::default(), IDLE))
    }

    /// Creates a completer without a model: it quotes the sentences that fit the question best,
    /// marked as local.
    pub fn local() -> Self {
        Self::with(None, local::MODEL, Arc::default(), IDLE)
    }

    /// Creates a completer for another model of the same provider. Both share one usage meter.
    pub fn with_model(&self, model: &str) -> Self {
        let inner = &self.inner;
        if model == inner.model {
            return self.clone();
        }
        let source = inner.source.clone();
        let other = Self::with(source, model, Arc::clone(&inner.meter), inner.idle);
        other.with_trace(self.trace.clone())
    }

    /// Sets the trace of the call that prompts are sent for.
    pub fn with_trace(&self, trace: Trace) -> Self {
        let inner = Arc::clone(&self.inner);
        Self { inner, trace }
    }

    /// Sets the maximum pause in a stream.
    pub fn with_idle(self, idle: Duration) -> Self {
        let inner = &self.inner;
        let source = inner.source.clone();
        Self::with(source, &inner.model, Arc::clone(&inner.meter), idle)
    }

    fn with(source: Option<(Http, Api)>, model: &str, meter: Arc<Meter>, idle: Duration) -> Self {
        Self {
            trace: Trace::off(),
            inner: Arc::new(Inner {
                source,
                model: model.to_owned(),
                format: AtomicU8::new(Format::of(model).bits()),
                meter,
                idle,
            }),
        }
    }

    /// Returns the name of the provider; `local` without a provider.
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
        self.inner.source.as_ref().map(|(http, _)| http)
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
        let Some((http, api)) = &self.inner.source else {
            return Ok(Reply::of(local::answer(prompt)));
        };
        let mut measured = http.begin("completion", &self.trace);
        let reply = self.reply(measured.http(), *api, prompt, deadline).await;
        measured.end(reply.as_ref().map(|reply| reply.usage));
        let reply = reply?;
        self.inner.meter.add(reply.usage);
        Ok(reply)
    }

    async fn reply(
        &self,
        http: &Http,
        api: Api,
        prompt: &Prompt,
        deadline: Deadline,
    ) -> Result<Reply, Error> {
        let mut attempt = self.attempt(api, prompt, false);
        let answer: Box<RawValue> = loop {
            match http.json(&attempt.request()?, deadline).await {
                Ok(answer) => break answer,
                Err(error) => attempt.adapt(error)?,
            }
        };
        let format = attempt.keep();
        let body = answer.get().as_bytes();
        let reply = match api {
            Api::Anthropic => anthropic::reply(body),
            Api::OpenAi => openai::reply(format, body),
            Api::Gemini => gemini::reply(body),
            Api::Ollama => ollama::reply(body),
        };
        reply.map_err(|fault| fault.of(http))
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
        let Some((http, api)) = &self.inner.source else {
            return Ok(Chunks::ready(local::answer(prompt)));
        };
        let mut measured = http.begin("completion", &self.trace);
        let opened = self.open(measured.http(), *api, prompt, deadline).await;
        let (format, answer) = opened.inspect_err(|error| measured.end(Err(error)))?;
        // Boxed: one per stream, not per event.
        let reading = match api {
            Api::Anthropic => Reading::events(Box::new(anthropic::Reader::default())),
            Api::OpenAi => Reading::events(openai::reader(format)),
            Api::Gemini => Reading::events(Box::new(gemini::Reader::default())),
            Api::Ollama => Reading::lines(Box::new(ollama::Reader::default())),
        };
        let inner = &self.inner;
        let meter = Arc::clone(&inner.meter);
        Ok(Chunks::new(answer, reading, meter, inner.idle, measured))
    }

    /// Sends a prompt until a reply begins, which is streamed in the returned format.
    async fn open(
        &self,
        http: &Http,
        api: Api,
        prompt: &Prompt,
        deadline: Deadline,
    ) -> Result<(Format, Streaming), Error> {
        let mut attempt = self.attempt(api, prompt, true);
        loop {
            match http.open(&attempt.request()?, deadline).await {
                Ok(answer) => return Ok((attempt.keep(), answer)),
                Err(error) => attempt.adapt(error)?,
            }
        }
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

    fn attempt<'a>(&'a self, api: Api, prompt: &'a Prompt, is_streamed: bool) -> Attempt<'a> {
        Attempt {
            completer: self,
            api,
            prompt,
            is_streamed,
            format: Format::from_bits(self.inner.format.load(Ordering::Relaxed)),
            sends: 1,
        }
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

// === impl Attempt ===

impl Attempt<'_> {
    fn request(&self) -> Result<Request, Error> {
        let (model, prompt, is_streamed) = (self.completer.model(), self.prompt, self.is_streamed);
        let request = match self.api {
            Api::Anthropic => anthropic::request(model, prompt, is_streamed),
            Api::OpenAi => openai::request(model, self.format, prompt, is_streamed),
            Api::Gemini => gemini::request(model, prompt, is_streamed),
            Api::Ollama => return ollama::request(model, prompt, is_streamed),
        }?;
        Ok(if is_streamed {
            request.with_accept(EVENTS)
        } else {
            request
        })
    }

    /// Selects another format, if the error response asks for one.
    fn adapt(&mut self, error: Error) -> Result<(), Error> {
        let can_adapt = self.api == Api::OpenAi && self.sends < MAX_SENDS;
        let refusal = error.refusal().filter(|_| can_adapt);
        let adapted =
            refusal.and_then(|refusal| self.format.adapted(refusal.status(), refusal.body()));
        let Some(format) = adapted else {
            return Err(error);
        };
        let model = self.completer.model();
        tracing::debug!(target: LOG_TARGET, model, ?format, "a model asks for another request format");
        self.format = format;
        self.sends += 1;
        Ok(())
    }

    /// Stores the format that has succeeded.
    fn keep(&self) -> Format {
        let kept = &self.completer.inner.format;
        kept.store(self.format.bits(), Ordering::Relaxed);
        self.format
    }
}
