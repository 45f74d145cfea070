//! Tests of the commented sample configuration.

use ziggurat_runtime::config;

use super::Case;
use crate::configuration::{Server, read};

/// The configuration for a folder of documents.
const FOLDER: &str = include_str!("../../../folder.yaml");

const EXAMPLE: &str = include_str!("../../../ziggurat-rag.example.yaml");

#[test]
fn the_example_is_valid_and_shows_the_defaults() {
    let case = Case::new(EXAMPLE);
    assert_eq!(case.warnings(), [""; 0]);
    let configuration = case.configuration();
    assert_eq!(configuration.server, Server::default());
    let pipeline = &configuration.pipelines[0];
    let bare = "
pipelines:
- name: docs
  description: Product documentation
  database: {host: localhost, database: docs, username: reader}
  tables: [{table: documents, text_column: content, vector_column: embedding, id_column: id}]
  embedding_llm: {provider: ollama, model: nomic-embed-text}
  rag_llm: {provider: ollama, model: llama3.2}
";
    let expected = format!("{:#?}", Case::new(bare).pipeline());
    assert_eq!(format!("{pipeline:#?}"), expected);
}

#[test]
fn the_example_names_every_key() {
    for path in config::keys_of(read) {
        // Keys that both model blocks have may be shown in only one of them.
        let key = path.rsplit('.').next().unwrap_or(&path);
        let is_said = EXAMPLE.contains(&format!("{key}:"));
        assert!(is_said, "{path}");
    }
}

#[test]
fn the_configuration_for_a_folder_is_valid_and_needs_no_key() {
    let case = Case::new(FOLDER).env(&[("USER", "me")]);
    assert_eq!(case.warnings(), [""; 0]);
    let pipeline = case.pipeline();
    assert!(pipeline.ingest.is_some() && pipeline.allow_include_sources);
    assert!(pipeline.embedding.maker.is_local() && pipeline.completion.maker.is_local());
}
