//! Files with the keys of providers.

use std::path::{Path, PathBuf};

use ziggurat_llm::Provider;
use ziggurat_runtime::config::Section;

/// The configured files.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct KeyFiles {
    anthropic: Option<PathBuf>,
    openai: Option<PathBuf>,
    voyage: Option<PathBuf>,
    gemini: Option<PathBuf>,
    cohere: Option<PathBuf>,
    jina: Option<PathBuf>,
}

// === impl KeyFiles ===

impl KeyFiles {
    pub(super) fn read(file: &Section<'_>) -> Self {
        Self {
            anthropic: file.key("anthropic").path(),
            openai: file.key("openai").path(),
            voyage: file.key("voyage").path(),
            gemini: file.key("gemini").path(),
            cohere: file.key("cohere").path(),
            jina: file.key("jina").path(),
        }
    }

    /// Fills missing files from `others`.
    pub(super) fn or(self, others: &Self) -> Self {
        let others = others.clone();
        Self {
            anthropic: self.anthropic.or(others.anthropic),
            openai: self.openai.or(others.openai),
            voyage: self.voyage.or(others.voyage),
            gemini: self.gemini.or(others.gemini),
            cohere: self.cohere.or(others.cohere),
            jina: self.jina.or(others.jina),
        }
    }

    /// Returns all configured files.
    pub(crate) fn all(&self) -> impl Iterator<Item = &Path> {
        Provider::ALL
            .into_iter()
            .filter_map(|provider| self.of(provider))
    }

    /// Returns the file with the key of a provider.
    pub(crate) fn of(&self, provider: Provider) -> Option<&Path> {
        match provider {
            Provider::Anthropic => self.anthropic.as_deref(),
            Provider::OpenAi => self.openai.as_deref(),
            Provider::Voyage => self.voyage.as_deref(),
            Provider::Gemini => self.gemini.as_deref(),
            Provider::Cohere => self.cohere.as_deref(),
            Provider::Jina => self.jina.as_deref(),
            _ => None,
        }
    }
}
