//! Default settings of pipelines.

use ziggurat_masking::Key;
use ziggurat_runtime::config::Section;

use crate::configuration::{
    key_files::KeyFiles,
    model::{Block, Headers, Role, needs_model},
};

/// Default limit on documents in a prompt, in tokens.
const TOKEN_BUDGET: usize = 4000;

/// Default number of results.
const TOP_N: usize = 10;

/// The checked defaults of pipelines.
#[derive(Debug)]
pub(super) struct Defaults {
    pub(super) token_budget: usize,
    pub(super) top_n: usize,
    pub(super) embedding: Block,
    pub(super) completion: Block,
    pub(super) key_files: KeyFiles,
    pub(super) headers: Headers,
    /// The key of hashes in masked columns, if there is one.
    pub(super) mask_key: Option<Key>,
}

// === impl Defaults ===

impl Defaults {
    pub(super) fn read(file: &Section<'_>, key_files: &KeyFiles, mask_key: Option<Key>) -> Self {
        Self {
            token_budget: count(file, "token_budget").unwrap_or(TOKEN_BUDGET),
            top_n: count(file, "top_n").unwrap_or(TOP_N),
            embedding: block(&file.section("embedding_llm"), Role::Embedding),
            completion: block(&file.section("rag_llm"), Role::Completion),
            key_files: KeyFiles::read(&file.section("api_keys")).or(key_files),
            headers: Headers::read(file, "llm_headers"),
            mask_key,
        }
    }
}

/// Reads a number; zero counts as missing.
pub(super) fn count(file: &Section<'_>, key: &str) -> Option<usize> {
    let number = file.key(key).whole(0..=usize::MAX);
    number.filter(|number| *number > 0)
}

/// Reads a block, and checks it only if it names a provider.
fn block(file: &Section<'_>, role: Role) -> Block {
    let block = Block::read(file);
    if block.has_provider() {
        let maker = block.maker(file, role);
        let has_model = block.model.is_some() || maker.is_some_and(|maker| !needs_model(maker));
        file.key("model")
            .check(has_model, "required when provider is set");
    }
    block
}
