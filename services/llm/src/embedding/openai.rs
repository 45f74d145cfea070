//! Vectors from `OpenAI` and compatible servers.

use serde::{Deserialize, Serialize};

use super::Embedding;
use crate::{Deadline, Error, Http, Request, Usage};

#[derive(Serialize)]
struct Ask<'a> {
    model: &'a str,
    input: &'a str,
}

#[derive(Deserialize)]
struct Answer {
    data: Vec<Item>,
    #[serde(default)]
    usage: Option<Counted>,
}

#[derive(Deserialize)]
struct Item {
    embedding: Vec<f32>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Counted {
    prompt_tokens: u64,
    total_tokens: u64,
}

pub(super) async fn embed(
    http: &Http,
    model: &str,
    text: &str,
    deadline: Deadline,
) -> Result<Embedding, Error> {
    let ask = Ask { model, input: text };
    let request = Request::post(&["embeddings"], &ask)?;
    let answer: Answer = http.json(&request, deadline).await?;
    let usage = answer.usage.unwrap_or_default();
    let first = answer.data.into_iter().next().ok_or(Error::Empty)?;
    Ok(Embedding {
        vector: first.embedding,
        usage: Usage::read(usage.prompt_tokens, usage.total_tokens),
    })
}
