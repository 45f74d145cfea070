//! Vectors from Voyage.

use serde::{Deserialize, Serialize};

use super::Embedding;
use crate::{Deadline, Error, Http, Request, Usage};

/// Text of a ping.
const SMALLEST: &str = ".";
const CHEAPEST: &str = "voyage-3.5-lite";

#[derive(Serialize)]
struct Ask<'a> {
    model: &'a str,
    input: [&'a str; 1],
    #[serde(skip_serializing_if = "Option::is_none")]
    input_type: Option<&'a str>,
}

#[derive(Deserialize)]
struct Answer {
    #[serde(default)]
    data: Vec<Item>,
    #[serde(default)]
    usage: Counted,
}

#[derive(Deserialize)]
struct Item {
    embedding: Vec<f32>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
pub(crate) struct Counted {
    total_tokens: u64,
}

pub(super) async fn embed(
    http: &Http,
    model: &str,
    input_type: Option<&str>,
    text: &str,
    deadline: Deadline,
) -> Result<Embedding, Error> {
    let ask = Ask {
        model,
        input: [text],
        input_type,
    };
    let request = Request::post(&["embeddings"], &ask)?;
    let answer: Answer = http.json(&request, deadline).await?;
    let first = answer.data.into_iter().next().ok_or(Error::Empty)?;
    Ok(Embedding {
        vector: first.embedding,
        usage: answer.usage.usage(),
    })
}

/// Requests the smallest vector, once: Voyage has no free request.
pub(crate) async fn ping(
    http: &Http,
    model: Option<&str>,
    deadline: Deadline,
) -> Result<Usage, Error> {
    let ask = Ask {
        model: model.unwrap_or(CHEAPEST),
        input: [SMALLEST],
        input_type: None,
    };
    let request = Request::post(&["embeddings"], &ask)?;
    let body = http.once(&request, deadline).await?;
    // Any success is enough: the provider works.
    let answer: Option<Answer> = serde_json::from_slice(&body).ok();
    Ok(answer.map_or_else(Usage::default, |answer| answer.usage.usage()))
}

// === impl Counted ===

impl Counted {
    /// The only tokens that Voyage counts.
    pub(crate) fn usage(&self) -> Usage {
        Usage::read(0, self.total_tokens)
    }
}
