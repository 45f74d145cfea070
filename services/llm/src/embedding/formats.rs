//! Requests for vectors, and the answers of each provider.

use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::json;

use crate::{
    Class, Deadline, Error, Http, Provider, Request, Usage,
    embedding::{Embedding, batches::Vectors, unsupported},
};

/// Text and model of a ping of Voyage.
const PING_TEXT: &str = ".";
const PING_MODEL: &str = "voyage-3.5-lite";

#[derive(Serialize)]
pub(super) struct EmbeddingRequest<'a, I> {
    pub(super) model: &'a str,
    pub(super) input: I,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) input_type: Option<&'a str>,
}

#[derive(Deserialize)]
pub(super) struct OpenAi {
    data: Vec<Item>,
    usage: Option<TokenCounts>,
}

#[derive(Deserialize)]
pub(super) struct Voyage {
    #[serde(default)]
    data: Vec<Item>,
    #[serde(default)]
    usage: TotalTokens,
}

#[derive(Deserialize)]
struct Item {
    embedding: Vec<f32>,
    /// Place of the text in the request.
    #[serde(default)]
    index: usize,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct TokenCounts {
    prompt_tokens: u64,
    total_tokens: u64,
}

/// The only tokens that Voyage counts.
#[derive(Default, Deserialize)]
#[serde(default)]
pub(crate) struct TotalTokens {
    total_tokens: u64,
}

#[derive(Deserialize)]
pub(super) struct Ollama {
    embeddings: Vec<Vec<f32>>,
    #[serde(default)]
    prompt_eval_count: u64,
}

#[derive(Deserialize)]
struct Gemini {
    embedding: Values,
}

#[derive(Deserialize)]
pub(super) struct Values {
    #[serde(default)]
    pub(super) values: Vec<f32>,
}

/// Requests the vector of a text.
pub(super) async fn embed(
    http: &Http,
    model: &str,
    input_type: Option<&str>,
    text: &str,
    deadline: Deadline,
) -> Result<Embedding, Error> {
    let plain = EmbeddingRequest {
        model,
        input: text,
        input_type: None,
    };
    match http.provider() {
        Provider::OpenAi => {
            let request = Request::post(&["embeddings"], &plain)?;
            ask(http, request, deadline, |answer: OpenAi| {
                first(answer.all())
            })
            .await
        }
        Provider::Voyage => {
            let request = voyage(model, text, input_type)?;
            ask(http, request, deadline, |answer: Voyage| {
                first(answer.all())
            })
            .await
        }
        Provider::Ollama => {
            let request = Request::post(&["api", "embed"], &plain)?;
            ask(http, request, deadline, |answer: Ollama| {
                first(answer.all())
            })
            .await
        }
        Provider::Gemini => {
            let model = model.strip_prefix("models/").unwrap_or(model);
            let operation = format!("{model}:embedContent");
            let body = json!({"content": {"parts": [{"text": text}]}});
            let request = Request::post(&["v1beta", "models", &operation], &body)?;
            // Gemini does not report the usage.
            ask(http, request, deadline, |answer: Gemini| {
                Some(Embedding::free(answer.embedding.values))
            })
            .await
        }
        provider => Err(unsupported(provider)),
    }
}

/// Requests the smallest vector, once: Voyage has no free request. Returns the usage.
pub(crate) async fn ping_voyage(
    http: &Http,
    model: Option<&str>,
    deadline: Deadline,
) -> Result<Usage, Error> {
    let request = voyage(model.unwrap_or(PING_MODEL), PING_TEXT, None)?;
    match http.once(&request, deadline).await {
        // Any success is enough: the provider works.
        Ok(body) => {
            let answer: Option<Voyage> = serde_json::from_slice(&body).ok();
            Ok(answer.map_or_else(Usage::default, |answer| answer.usage.usage()))
        }
        // It is reachable and accepts the key; the model does not matter for the check.
        Err(Error::Refused(refusal))
            if refusal.status().is_client_error()
                && !matches!(refusal.class(), Class::Credentials | Class::RateLimit) =>
        {
            Ok(Usage::default())
        }
        Err(error) => Err(error),
    }
}

fn voyage(model: &str, text: &str, input_type: Option<&str>) -> Result<Request, Error> {
    let input = [text];
    let question = EmbeddingRequest {
        model,
        input,
        input_type,
    };
    Request::post(&["embeddings"], &question)
}

pub(super) async fn ask<A: DeserializeOwned, T>(
    http: &Http,
    request: Request,
    deadline: Deadline,
    read: fn(A) -> Option<T>,
) -> Result<T, Error> {
    let answer = http.json(&request.with_vectors(), deadline).await?;
    read(answer).ok_or(Error::Empty)
}

fn first((vectors, usage): Vectors) -> Option<Embedding> {
    let vector = vectors.into_iter().next()?;
    Some(Embedding::new(vector, usage))
}

/// Returns the vectors in the order of their texts.
fn in_order(mut items: Vec<Item>) -> Vec<Vec<f32>> {
    items.sort_by_key(|item| item.index);
    items.into_iter().map(|item| item.embedding).collect()
}

// === impl OpenAi ===

impl OpenAi {
    pub(super) fn all(self) -> Vectors {
        let usage = self.usage.unwrap_or_default();
        let usage = Usage::read(usage.prompt_tokens, usage.total_tokens);
        (in_order(self.data), usage)
    }
}

// === impl Voyage ===

impl Voyage {
    pub(super) fn all(self) -> Vectors {
        let usage = self.usage.usage();
        (in_order(self.data), usage)
    }
}

// === impl Ollama ===

impl Ollama {
    pub(super) fn all(self) -> Vectors {
        let read = self.prompt_eval_count;
        (self.embeddings, Usage::read(read, read))
    }
}

// === impl TotalTokens ===

impl TotalTokens {
    pub(crate) fn usage(&self) -> Usage {
        Usage::read(0, self.total_tokens)
    }
}
