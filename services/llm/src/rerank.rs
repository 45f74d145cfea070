//! Reranking of texts.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use ziggurat_telemetry::traces::Trace;

use super::{Deadline, Error, Http, LOG_TARGET, Provider, Request, embedding::TotalTokens};

/// Orders texts by their relevance for a question.
#[derive(Clone, Debug)]
pub struct Reranker {
    http: Http,
    model: Arc<str>,
    trace: Trace,
}

/// A text in the new order.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[non_exhaustive]
pub struct Ranked {
    /// Index of the text, as the provider sent it: it may be out of range or occur twice.
    pub index: usize,
    /// Relevance for the question.
    #[serde(rename = "relevance_score")]
    pub score: f64,
}

#[derive(Serialize)]
struct RerankRequest<'a> {
    query: &'a str,
    documents: &'a [&'a str],
    model: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    top_k: Option<usize>,
}

#[derive(Deserialize)]
struct RerankResponse {
    data: Vec<Ranked>,
    #[serde(default)]
    usage: TotalTokens,
}

// === impl Reranker ===

impl Reranker {
    /// Creates a reranker for this model.
    ///
    /// # Errors
    /// Fails if the provider does not rerank.
    pub fn new(http: Http, model: &str) -> Result<Self, Error> {
        let provider = http.provider();
        if provider != Provider::Voyage {
            return Err(Error::Unsupported(format!(
                "provider {} does not support reranking",
                provider.name()
            )));
        }
        Ok(Self {
            http,
            model: model.into(),
            trace: Trace::off(),
        })
    }

    /// Sets the trace of the call that texts are ordered for.
    #[must_use]
    pub fn with_trace(&self, trace: Trace) -> Self {
        Self {
            trace,
            ..self.clone()
        }
    }

    /// Returns the provider.
    #[must_use]
    pub fn http(&self) -> &Http {
        &self.http
    }

    /// Orders the texts, best first; keeps at most `top_k` of them if that is above zero.
    ///
    /// # Errors
    /// Fails if the provider does.
    pub async fn rerank(
        &self,
        query: &str,
        documents: &[&str],
        top_k: usize,
        deadline: Deadline,
    ) -> Result<Vec<Ranked>, Error> {
        let ask = RerankRequest {
            query,
            documents,
            model: &self.model,
            top_k: (1..documents.len()).contains(&top_k).then_some(top_k),
        };
        let request = Request::post(&["rerank"], &ask)?;
        let mut measured = self.http.begin("rerank", &self.trace);
        let answer: Result<RerankResponse, _> = measured.http().json(&request, deadline).await;
        measured.end(answer.as_ref().map(|answer| answer.usage.usage()));
        let answer = answer?;
        tracing::debug!(target: LOG_TARGET, usage = ?answer.usage.usage(), "texts were put in order");
        Ok(answer.data)
    }
}
