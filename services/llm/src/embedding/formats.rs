//! Requests for vectors, and the answers of each provider.

use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::json;

use super::{Embedding, unsupported};
use crate::{Class, Deadline, Error, Http, Provider, Request, Usage};

/// Text and model of a ping of Voyage.
const PING_TEXT: &str = ".";
const PING_MODEL: &str = "voyage-3.5-lite";

#[derive(Serialize)]
struct EmbeddingRequest<'a, I> {
    model: &'a str,
    input: I,
    #[serde(skip_serializing_if = "Option::is_none")]
    input_type: Option<&'a str>,
}

#[derive(Deserialize)]
struct OpenAi {
    data: Vec<Item>,
    usage: Option<TokenCounts>,
}

#[derive(Deserialize)]
struct Voyage {
    #[serde(default)]
    data: Vec<Item>,
    #[serde(default)]
    usage: TotalTokens,
}

#[derive(Deserialize)]
struct Item {
    embedding: Vec<f32>,
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
struct Ollama {
    embeddings: Vec<Vec<f32>>,
    #[serde(default)]
    prompt_eval_count: u64,
}

#[derive(Deserialize)]
struct Gemini {
    embedding: Values,
}

#[derive(Deserialize)]
struct Values {
    #[serde(default)]
    values: Vec<f32>,
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
                let usage = answer.usage.unwrap_or_default();
                let usage = Usage::read(usage.prompt_tokens, usage.total_tokens);
                first(answer.data, usage)
            })
            .await
        }
        Provider::Voyage => {
            let request = voyage(model, text, input_type)?;
            ask(http, request, deadline, |answer: Voyage| {
                first(answer.data, answer.usage.usage())
            })
            .await
        }
        Provider::Ollama => {
            let request = Request::post(&["api", "embed"], &plain)?;
            ask(http, request, deadline, |answer: Ollama| {
                let read = answer.prompt_eval_count;
                let vector = answer.embeddings.into_iter().next()?;
                Some(Embedding::new(vector, Usage::read(read, read)))
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

async fn ask<A: DeserializeOwned>(
    http: &Http,
    request: Request,
    deadline: Deadline,
    read: fn(A) -> Option<Embedding>,
) -> Result<Embedding, Error> {
    let answer = http.json(&request, deadline).await?;
    read(answer).ok_or(Error::Empty)
}

fn first(items: Vec<Item>, usage: Usage) -> Option<Embedding> {
    let item = items.into_iter().next()?;
    Some(Embedding::new(item.embedding, usage))
}

// === impl TotalTokens ===

impl TotalTokens {
    pub(crate) fn usage(&self) -> Usage {
        Usage::read(0, self.total_tokens)
    }
}
