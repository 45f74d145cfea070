//! Files with the keys of providers.

use std::path::{Path, PathBuf};

use serde::Deserialize;
use ziggurat_llm::Provider;

use super::{
    findings::Place,
    written::{Reader, Written},
};

/// The raw section.
#[derive(Debug, Default, Deserialize)]
pub(super) struct RawKeyFiles {
    anthropic: Option<Written>,
    openai: Option<Written>,
    voyage: Option<Written>,
    gemini: Option<Written>,
}

/// The configured files.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct KeyFiles {
    anthropic: Option<PathBuf>,
    openai: Option<PathBuf>,
    voyage: Option<PathBuf>,
    gemini: Option<PathBuf>,
}

// === impl RawKeyFiles ===

impl RawKeyFiles {
    pub(super) fn read(self, reader: &mut Reader<'_>, place: &Place) -> KeyFiles {
        let mut path = |written, key| reader.path(&place.key(key), written);
        KeyFiles {
            anthropic: path(self.anthropic, "anthropic"),
            openai: path(self.openai, "openai"),
            voyage: path(self.voyage, "voyage"),
            gemini: path(self.gemini, "gemini"),
        }
    }
}

// === impl KeyFiles ===

impl KeyFiles {
    /// Fills missing files from `others`.
    pub(super) fn or(self, others: &Self) -> Self {
        let others = others.clone();
        Self {
            anthropic: self.anthropic.or(others.anthropic),
            openai: self.openai.or(others.openai),
            voyage: self.voyage.or(others.voyage),
            gemini: self.gemini.or(others.gemini),
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
            _ => None,
        }
    }
}
