//! Helpers for tests of the configuration.

use std::{
    ffi::OsString,
    path::{Path, PathBuf},
};

use tempfile::TempDir;
use ziggurat_runtime::{Environment, Secret};

use super::{ConfigSources, Configuration, LoadError, Loaded};
use crate::arguments::Arguments;

/// File, environment and command line of one test.
#[derive(Debug)]
pub(super) struct Case {
    folder: TempDir,
    file: Option<PathBuf>,
    sources: ConfigSources,
    words: Vec<OsString>,
}

// === impl Case ===

impl Case {
    /// Creates an empty case: no file, no variables, no arguments.
    pub(super) fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        std::fs::create_dir(folder.path().join("binary")).expect("made");
        let sources = ConfigSources {
            environment: Environment::default(),
            system_folder: folder.path().join("system"),
            binary_folder: folder.path().join("binary"),
        };
        Self {
            folder,
            file: None,
            sources,
            words: Vec::new(),
        }
    }

    /// Writes a file with this text and names it with `-config`.
    pub(super) fn file(mut self, text: &str) -> Self {
        let path = self.path("test.yaml");
        std::fs::write(&path, text).expect("written");
        self.file = Some(path);
        self
    }

    pub(super) fn env(mut self, variables: &[(&str, &str)]) -> Self {
        self.sources.environment = sources(variables).environment;
        self
    }

    /// Adds these words after the name of the program.
    pub(super) fn words(mut self, line: &str) -> Self {
        self.words
            .extend(line.split_whitespace().map(OsString::from));
        self
    }

    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(super) fn folder(&self) -> &Path {
        self.folder.path()
    }

    pub(super) fn load(&self) -> Result<Loaded, LoadError> {
        self.load_with(None)
    }

    /// Loads as a reload does that tells clients the causes of failures or not.
    pub(super) fn load_with(&self, tells_causes: Option<bool>) -> Result<Loaded, LoadError> {
        let file = self
            .file
            .iter()
            .flat_map(|path| ["-config".into(), path.into()]);
        let words = file.chain(self.words.iter().cloned());
        let mut overrides = Arguments::parse(words).expect("understood").overrides;
        overrides.tells_causes = tells_causes;
        Configuration::load(&overrides, &self.sources)
    }

    pub(super) fn configuration(&self) -> Configuration {
        self.load().expect("a good configuration").value
    }

    pub(super) fn warnings(&self) -> Vec<String> {
        let loaded = self.load().expect("a good configuration");
        let folder = format!("{}/", self.folder().display());
        let warnings = loaded.warnings.into_iter();
        warnings.map(|text| text.replace(&folder, "")).collect()
    }

    /// Returns all problems, without the folder of the test.
    pub(super) fn problems(&self) -> Vec<String> {
        let folder = format!("{}/", self.folder().display());
        match self.load() {
            Err(LoadError::Invalid(problems)) => problems
                .iter()
                .map(|problem| problem.replace(&folder, ""))
                .collect(),
            other => panic!("no problems: {other:?}"),
        }
    }

    /// Returns the error message, without the folder of the test.
    pub(super) fn error(&self) -> String {
        let error = self.load().expect_err("a bad configuration");
        let folder = format!("{}/", self.folder().display());
        format!("{:#}", anyhow::Error::from(error)).replace(&folder, "")
    }
}

/// Creates `ConfigSources` with these variables, and no files.
pub(super) fn sources(variables: &[(&str, &str)]) -> ConfigSources {
    ConfigSources {
        environment: Environment::new(variables.iter().copied()),
        system_folder: "/nonexistent/system".into(),
        binary_folder: "/nonexistent/binary".into(),
    }
}

/// Exposes a secret for a test.
pub(super) fn secrets(secret: Option<&Secret>) -> Option<&str> {
    secret.map(Secret::expose)
}
