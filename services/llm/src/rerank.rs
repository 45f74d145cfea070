//! Reranking of texts.

#[cfg(test)]
mod tests;

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use ziggurat_telemetry::traces::Trace;

use crate::{Deadline, Error, Http, LOG_TARGET, Provider, Request, embedding::TotalTokens};

/// Number of texts in one request to Text Embeddings Inference, which refuses more by default.
const TEI_BATCH: usize = 32;

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
    #[serde(rename = "relevance_score", alias = "score")]
    pub score: f64,
}

/// Request of any provider: each has some of the fields.
#[derive(Serialize)]
struct RerankRequest<'a> {
    query: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    documents: Option<&'a [&'a str]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    texts: Option<&'a [&'a str]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    model: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    top_k: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    top_n: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    return_documents: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    truncate: Option<bool>,
}

/// Response of any provider.
#[derive(Deserialize)]
#[serde(untagged)]
enum RerankResponse {
    Object {
        #[serde(alias = "results")]
        data: Vec<Ranked>,
        #[serde(default)]
        usage: TotalTokens,
    },
    List(Vec<Ranked>),
}

// === impl Reranker ===

impl Reranker {
    /// Creates a reranker for this model. Text Embeddings Inference serves only one, so it needs no
    /// name there.
    ///
    /// # Errors
    /// Fails if the provider does not rerank.
    pub fn new(http: Http, model: &str) -> Result<Self, Error> {
        let provider = http.provider();
        if !provider.reranks() {
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
        let most = (1..documents.len()).contains(&top_k).then_some(top_k);
        if self.http.provider() != Provider::Tei {
            let request = self.request(query, documents, most);
            return self.send(&request, deadline).await;
        }
        let mut ranked = Vec::with_capacity(documents.len());
        for (batch, start) in documents.chunks(TEI_BATCH).zip((0..).step_by(TEI_BATCH)) {
            let found = self
                .send(&self.request(query, batch, None), deadline)
                .await?;
            ranked.extend(found.into_iter().map(|one| Ranked {
                index: one.index.saturating_add(start),
                ..one
            }));
        }
        ranked.sort_by(|one, two| two.score.total_cmp(&one.score));
        ranked.truncate(most.unwrap_or(documents.len()));
        Ok(ranked)
    }

    fn request<'a>(
        &'a self,
        query: &'a str,
        documents: &'a [&'a str],
        most: Option<usize>,
    ) -> RerankRequest<'a> {
        let provider = self.http.provider();
        let is_tei = provider == Provider::Tei;
        let is_voyage = provider == Provider::Voyage;
        RerankRequest {
            query,
            documents: (!is_tei).then_some(documents),
            texts: is_tei.then_some(documents),
            model: (!is_tei).then_some(&*self.model),
            top_k: most.filter(|_| is_voyage),
            top_n: most.filter(|_| !is_voyage),
            // Jina would send the texts back.
            return_documents: (provider == Provider::Jina).then_some(false),
            // A text that is too long would be an error.
            truncate: is_tei.then_some(true),
        }
    }

    async fn send(
        &self,
        request: &RerankRequest<'_>,
        deadline: Deadline,
    ) -> Result<Vec<Ranked>, Error> {
        let request = Request::post(&["rerank"], request)?;
        let mut measured = self.http.begin("rerank", &self.trace);
        let answer = measured.http().json(&request, deadline).await;
        let answer = answer.map(|answer: RerankResponse| match answer {
            RerankResponse::Object { data, usage } => (data, usage),
            RerankResponse::List(data) => (data, TotalTokens::default()),
        });
        measured.end(answer.as_ref().map(|(_, usage)| usage.usage()));
        let (data, usage) = answer?;
        tracing::debug!(target: LOG_TARGET, usage = ?usage.usage(), "texts were put in order");
        Ok(data)
    }
}
