//! Files with the keys of providers.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use ziggurat_llm::Provider;
use ziggurat_runtime::config::Section;

/// The configured files, by the names of their providers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct KeyFiles(BTreeMap<&'static str, PathBuf>);

// === impl KeyFiles ===

impl KeyFiles {
    pub(super) fn read(file: &Section<'_>) -> Self {
        let with_keys = Provider::ALL
            .into_iter()
            .filter(|it| it.key_file().is_some());
        let files = with_keys
            .map(Provider::name)
            .filter_map(|name| Some((name, file.key(name).path()?)));
        Self(files.collect())
    }

    /// Fills missing files from `others`.
    pub(super) fn or(self, others: &Self) -> Self {
        let mut files = others.clone();
        files.0.extend(self.0);
        files
    }

    /// Returns all configured files.
    pub(crate) fn all(&self) -> impl Iterator<Item = &Path> {
        self.0.values().map(PathBuf::as_path)
    }

    /// Returns the file with the key of a provider.
    pub(crate) fn of(&self, provider: Provider) -> Option<&Path> {
        self.0.get(provider.name()).map(PathBuf::as_path)
    }
}
