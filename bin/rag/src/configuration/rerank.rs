//! Settings of reranking.

use std::collections::BTreeMap;

use http::HeaderMap;
use serde::Deserialize;
use ziggurat_llm::Timeouts;

use super::{
    findings::Place,
    model::{Headers, base_url},
    pipelines::{merged, patience},
    written::{Reader, Written},
};

/// The raw section.
#[derive(Debug, Default, Deserialize)]
pub(super) struct RawRerank {
    provider: Option<Written>,
    model: Option<Written>,
    base_url: Option<Written>,
    headers: Option<BTreeMap<String, Written>>,
    request_timeout: Option<Written>,
    per_attempt_timeout: Option<Written>,
    top_k: Option<Written>,
}

/// The checked settings of reranking by Voyage.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Rerank {
    pub(crate) model: String,
    pub(crate) base_url: Option<String>,
    pub(crate) headers: HeaderMap,
    pub(crate) patience: Timeouts,
    /// Maximum number of results to keep; zero keeps all of them.
    pub(crate) top_k: usize,
}

// === impl RawRerank ===

impl RawRerank {
    pub(super) fn check(
        self,
        reader: &mut Reader<'_>,
        place: &Place,
        shared: &Headers,
    ) -> Option<Rerank> {
        let at = |key: &str| place.key(key);
        let provider = reader.text(&at("provider"), self.provider);
        let model = reader.text(&at("model"), self.model);
        let base_url = base_url(reader, &at("base_url"), self.base_url);
        let own = Headers::read(reader, &at("headers"), self.headers);
        let headers = merged(reader, &at("headers"), &shared.then(&own));
        let call = reader.time(&at("request_timeout"), self.request_timeout);
        let attempt = reader.time(&at("per_attempt_timeout"), self.per_attempt_timeout);
        let top_k = reader.count(&at("top_k"), self.top_k);
        let longest = call.filter(|time| !time.is_zero());
        reader.findings.check(
            attempt.zip(longest).is_none_or(|(one, all)| one <= all),
            &at("per_attempt_timeout"),
            "must not exceed request_timeout",
        );
        let provider = provider?;
        reader.findings.check(
            provider.trim().eq_ignore_ascii_case("voyage"),
            &at("provider"),
            "must be one of: voyage",
        );
        reader.findings.check(
            model.is_some(),
            &at("model"),
            "required when provider is set",
        );
        Some(Rerank {
            model: model?,
            base_url,
            headers,
            patience: patience(call, attempt),
            top_k: top_k.unwrap_or(0),
        })
    }
}
