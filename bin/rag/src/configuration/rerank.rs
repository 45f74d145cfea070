//! Settings of reranking.

use http::HeaderMap;
use ziggurat_llm::{Provider, Timeouts};
use ziggurat_runtime::config::Section;

use crate::configuration::{
    model::{Headers, base_url, check_times},
    pipelines::{merged, timeouts},
};

/// The checked settings of reranking.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Rerank {
    pub(crate) provider: Provider,
    /// Empty for a server that has only one.
    pub(crate) model: String,
    pub(crate) base_url: Option<String>,
    pub(crate) headers: HeaderMap,
    pub(crate) timeouts: Timeouts,
    /// Maximum number of results to keep; zero keeps all of them.
    pub(crate) top_k: usize,
}

// === impl Rerank ===

impl Rerank {
    pub(super) fn read(file: &Section<'_>, shared: &Headers) -> Option<Self> {
        let (provider, model) = (file.key("provider"), file.key("model"));
        let (provider_name, model_name) = (provider.text(), model.text());
        let base_url = file.key("base_url").parsed(base_url);
        let headers = merged(file, &shared.then(&Headers::read(file, "headers")));
        let call = file.key("request_timeout").time();
        let attempt = file.key("per_attempt_timeout").time();
        let top_k = file.key("top_k").whole(0..=usize::MAX);
        check_times(file, call, attempt);
        let found = Provider::find(provider_name?.trim()).filter(|found| found.reranks());
        provider.check(found.is_some(), "must be one of: voyage, cohere, jina, tei");
        let is_tei = found == Some(Provider::Tei);
        file.key("base_url").check(
            base_url.is_some() || !is_tei,
            "required when provider is tei",
        );
        model.check(
            model_name.is_some() || is_tei,
            "required when provider is set",
        );
        Some(Self {
            provider: found?,
            model: model_name.unwrap_or_default(),
            base_url,
            headers,
            timeouts: timeouts(call, attempt),
            top_k: top_k.unwrap_or(0),
        })
    }
}
