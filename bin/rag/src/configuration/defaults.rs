//! Default settings of pipelines.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::{
    findings::{Findings, Place},
    key_files::{KeyFiles, RawKeyFiles},
    model::{Block, Headers, Maker, RawModel, Role},
    written::{Reader, Written},
};

/// Default limit on documents in a prompt, in tokens.
const TOKEN_BUDGET: usize = 4000;

/// Default number of results.
const TOP_N: usize = 10;

/// The raw section.
#[derive(Debug, Default, Deserialize)]
pub(super) struct RawDefaults {
    token_budget: Option<Written>,
    top_n: Option<Written>,
    embedding_llm: Option<RawModel>,
    rag_llm: Option<RawModel>,
    api_keys: Option<RawKeyFiles>,
    llm_headers: Option<BTreeMap<String, Written>>,
}

/// The checked defaults of pipelines.
#[derive(Debug)]
pub(super) struct Defaults {
    pub(super) token_budget: usize,
    pub(super) top_n: usize,
    pub(super) embedding: Block,
    pub(super) completion: Block,
    pub(super) key_files: KeyFiles,
    pub(super) headers: Headers,
}

// === impl RawDefaults ===

impl RawDefaults {
    pub(super) fn check(self, reader: &mut Reader<'_>, key_files: &KeyFiles) -> Defaults {
        let place = Place::section("defaults");
        let at = |key: &str| place.key(key);
        Defaults {
            token_budget: reader
                .count(&at("token_budget"), self.token_budget)
                .filter(|tokens| *tokens > 0)
                .unwrap_or(TOKEN_BUDGET),
            top_n: reader
                .count(&at("top_n"), self.top_n)
                .filter(|results| *results > 0)
                .unwrap_or(TOP_N),
            embedding: block(
                reader,
                &at("embedding_llm"),
                self.embedding_llm,
                Role::Embedding,
            ),
            completion: block(reader, &at("rag_llm"), self.rag_llm, Role::Completion),
            key_files: self
                .api_keys
                .unwrap_or_default()
                .read(reader, &at("api_keys"))
                .or(key_files),
            headers: Headers::read(reader, &at("llm_headers"), self.llm_headers),
        }
    }
}

/// Reads a block, and checks it only if it names a provider.
fn block(reader: &mut Reader<'_>, place: &Place, raw: Option<RawModel>, role: Role) -> Block {
    let block = raw.unwrap_or_default().read(reader, place);
    if block.has_provider() {
        let maker = block.maker(reader, place, role);
        let findings: &mut Findings = &mut reader.findings;
        let has_model = block.model.is_some() || maker.is_some_and(Maker::is_local);
        let message = "required when provider is set";
        findings.check(has_model, &place.key("model"), message);
    }
    block
}
