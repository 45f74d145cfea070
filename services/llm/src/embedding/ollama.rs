//! Vectors from Ollama.

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
    embeddings: Vec<Vec<f32>>,
    #[serde(default)]
    prompt_eval_count: u64,
}

pub(super) async fn embed(
    http: &Http,
    model: &str,
    text: &str,
    deadline: Deadline,
) -> Result<Embedding, Error> {
    let ask = Ask { model, input: text };
    let request = Request::post(&["api", "embed"], &ask)?;
    let answer: Answer = http.json(&request, deadline).await?;
    let read = answer.prompt_eval_count;
    let vector = answer.embeddings.into_iter().next().ok_or(Error::Empty)?;
    Ok(Embedding {
        vector,
        usage: Usage::read(read, read),
    })
}
