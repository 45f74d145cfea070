//! Tests of configuration files.

mod auth;
mod cascades;
mod connect;
mod example;
mod files;
mod identity;
mod ingest;
mod masks;
mod messages;
mod neighbours;
mod sync;
mod values;

use std::fs;

use tempfile::TempDir;
use ziggurat_runtime::Environment;

use super::{ConfigSources, Configuration, LoadError, Loaded, Pipeline};

/// A complete pipeline, with one line for each of its keys.
const PIPELINE: &str = "
- name: docs
  database: {host: db.example, database: docs, username: reader}
  tables: [{table: documents, text_column: content, vector_column: embedding}]
  embedding_llm: {provider: ollama, model: nomic}
  rag_llm: {provider: openai, model: gpt-4o-mini}
";

/// A configuration file and an environment, for one test.
struct Case {
    folder: TempDir,
    sources: ConfigSources,
}

impl Case {
    fn new(text: &str) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        fs::write(folder.path().join("test.yaml"), text).expect("written");
        let sources = ConfigSources {
            environment: Environment::default(),
            system_folder: folder.path().join("system"),
            binary_folder: folder.path().join("binary"),
        };
        Self { folder, sources }
    }

    /// Creates a file with this pipeline, in which some texts are replaced.
    fn changed(changes: &[(&str, &str)]) -> Self {
        let mut text = format!("pipelines:{PIPELINE}");
        for (old, new) in changes {
            assert!(text.contains(old), "{old} in {text}");
            text = text.replacen(old, new, 1);
        }
        Self::new(&text)
    }

    fn env(mut self, variables: &[(&str, &str)]) -> Self {
        self.sources.environment = Environment::new(variables.iter().copied());
        self
    }

    fn load(&self) -> Result<Loaded, LoadError> {
        Configuration::load(&self.folder.path().join("test.yaml"), &self.sources)
    }

    fn configuration(&self) -> Configuration {
        let loaded = self.load();
        loaded.unwrap_or_else(|error| panic!("{error}")).value
    }

    fn pipeline(&self) -> Pipeline {
        self.configuration().pipelines.remove(0)
    }

    /// Returns the error message, without the folder of the test.
    fn error(&self) -> String {
        let error = self.load().expect_err("a bad configuration").to_string();
        error.replace(&format!("{}/", self.folder.path().display()), "")
    }

    fn warnings(&self) -> Vec<String> {
        let folder = format!("{}/", self.folder.path().display());
        let warnings = self.load().expect("a good configuration").warnings;
        let warnings = warnings.into_iter();
        warnings.map(|text| text.replace(&folder, "")).collect()
    }
}
