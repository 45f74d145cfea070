//! Vectors from Gemini.

use serde::{Deserialize, Serialize};

use super::Embedding;
use crate::{Deadline, Error, Http, Request};

#[derive(Serialize)]
struct Ask<'a> {
    content: Content<'a>,
}

#[derive(Serialize)]
struct Content<'a> {
    parts: [Part<'a>; 1],
}

#[derive(Serialize)]
struct Part<'a> {
    text: &'a str,
}

#[derive(Deserialize)]
struct Answer {
    embedding: Values,
}

#[derive(Deserialize)]
struct Values {
    #[serde(default)]
    values: Vec<f32>,
}

pub(super) async fn embed(
    http: &Http,
    model: &str,
    text: &str,
    deadline: Deadline,
) -> Result<Embedding, Error> {
    let ask = Ask {
        content: Content {
            parts: [Part { text }],
        },
    };
    let model = model.strip_prefix("models/").unwrap_or(model);
    let operation = format!("{model}:embedContent");
    let path = ["v1beta", "models", &operation];
    let answer: Answer = http.json(&Request::post(&path, &ask)?, deadline).await?;
    // Gemini does not report the usage.
    Ok(Embedding::free(answer.embedding.values))
}
