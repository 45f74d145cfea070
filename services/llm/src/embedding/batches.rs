//! Requests for the vectors of several texts, and the answers of each provider.

use serde::Deserialize;
use serde_json::json;

use crate::{
    Deadline, Error, Http, Provider, Request, Usage,
    embedding::{
        Embedding,
        formats::{EmbeddingRequest, Ollama, OpenAi, Values, Voyage, ask},
        unsupported,
    },
};

/// The vectors of several texts, in their order, and the usage.
pub(super) type Vectors = (Vec<Vec<f32>>, Usage);

#[derive(Deserialize)]
struct GeminiBatch {
    embeddings: Vec<Values>,
}

/// Returns the maximum number of texts in one request. With passages of usual length, requests of
/// this size are also below the limits of the providers on tokens.
pub(super) fn max_batch(provider: Provider) -> usize {
    match provider {
        Provider::OpenAi => 512,
        Provider::Voyage => 128,
        Provider::Gemini => 100,
        _ => 64,
    }
}

/// Requests the vectors of several texts at once.
pub(super) async fn embed(
    http: &Http,
    model: &str,
    input_type: Option<&str>,
    texts: &[&str],
    deadline: Deadline,
) -> Result<Vectors, Error> {
    let plain = EmbeddingRequest {
        model,
        input: texts,
        input_type: None,
    };
    let vectors = match http.provider() {
        Provider::OpenAi => {
            let request = Request::post(&["embeddings"], &plain)?;
            ask(http, request, deadline, |answer: OpenAi| Some(answer.all())).await?
        }
        Provider::Voyage => {
            let question = EmbeddingRequest {
                input_type,
                ..plain
            };
            let request = Request::post(&["embeddings"], &question)?;
            ask(http, request, deadline, |answer: Voyage| Some(answer.all())).await?
        }
        Provider::Ollama => {
            let request = Request::post(&["api", "embed"], &plain)?;
            ask(http, request, deadline, |answer: Ollama| Some(answer.all())).await?
        }
        Provider::Gemini => gemini(http, model, texts, deadline).await?,
        provider @ (Provider::Anthropic | Provider::Cohere | Provider::Jina | Provider::Tei) => {
            return Err(unsupported(provider));
        }
    };
    if vectors.0.len() != texts.len() {
        let text = format!("{} vectors for {} texts", vectors.0.len(), texts.len());
        return Err(Error::Malformed(text));
    }
    Ok(vectors)
}

async fn gemini(
    http: &Http,
    model: &str,
    texts: &[&str],
    deadline: Deadline,
) -> Result<Vectors, Error> {
    let model = model.strip_prefix("models/").unwrap_or(model);
    let operation = format!("{model}:batchEmbedContents");
    let requests: Vec<_> = texts
        .iter()
        .map(|text| {
            json!({"model": format!("models/{model}"), "content": {"parts": [{"text": text}]}})
        })
        .collect();
    let body = json!({"requests": requests});
    let request = Request::post(&["v1beta", "models", &operation], &body)?;
    // Gemini does not report the usage.
    ask(http, request, deadline, |answer: GeminiBatch| {
        let vectors = answer.embeddings.into_iter().map(|one| one.values);
        Some((vectors.collect(), Usage::default()))
    })
    .await
}

impl Embedding {
    /// Returns an error if the vector has no numbers, or a number that is not finite.
    pub(super) fn check(vector: &[f32]) -> Result<(), Error> {
        if vector.is_empty() {
            return Err(Error::Empty);
        }
        if vector.iter().any(|number| !number.is_finite()) {
            let text = "a number of the vector is not finite";
            return Err(Error::Malformed(text.to_owned()));
        }
        Ok(())
    }
}
