//! Vectors of a model in a folder.

use std::fs;

use ziggurat_black_box::Postgres;

use crate::support::{Home, database, question, server};

/// Small models, of which `float32` makes vectors of 16 dimensions.
const MODELS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/static_models");

/// Returns a configuration with a pipeline that has a model in this folder.
fn configuration(postgres: &Postgres, folder: &str) -> String {
    let database = database(postgres);
    format!(
        "{}pipelines:\n- name: docs\n  database: {database}\n  tables: [{{table: documents, \
         text_column: content, vector_column: embedding, id_column: id}}]\n  embedding_llm: \
         {{provider: static, model_path: '{folder}'}}\n  rag_llm: {{provider: local}}\n  ingest: \
         {{database: {database}}}\n",
        server("")
    )
}

/// Copies a model into the folder of the configuration, which names it by a relative path.
fn with_model(postgres: &Postgres) -> Home {
    let home = Home::with(&configuration(postgres, "model"));
    fs::create_dir(home.file("model")).expect("a folder");
    for file in ["config.json", "tokenizer.json", "model.safetensors"] {
        let copy = home.file("model").join(file);
        fs::copy(format!("{MODELS}/float32/{file}"), copy).expect("copied");
    }
    home
}

#[test]
fn documents_are_loaded_and_found_with_vectors_of_a_model_in_a_folder() {
    let postgres = Postgres::with("");
    let home = with_model(&postgres);
    let path = home.file("wool.txt");
    home.write("wool.txt", "Wool is washed by hand.");
    let ran = home.ran(&["ingest", path.to_str().expect("UTF-8")]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let stored = "SELECT count(*) FROM documents WHERE vector_dims(embedding) = 16";
    assert_eq!(postgres.count(stored), 1);
    let (program, client) = home.serve();
    program.wait_for("embedding_provider=static");
    let answer = client.post("/v1/pipelines/docs", &question("How is wool washed?"));
    assert_eq!(answer.status, 200, "{answer:?}");
    let text = answer.json()["answer"].to_string();
    assert!(text.contains("washed by hand"), "{text}");
    let health = client.get("/v1/health").json();
    assert_eq!(health["status"], "healthy", "{health}");
}

#[test]
fn a_model_that_cannot_be_used_is_named_at_the_start_and_by_the_check() {
    let postgres = Postgres::with("");
    let home = with_model(&postgres);
    let checked = home.ran(&["-check-config"]);
    assert_eq!(checked.code, Some(0), "{}", checked.stdout);
    fs::write(home.file("model/model.safetensors"), b"broken").expect("written");
    let checked = home.ran(&["-check-config"]);
    assert_eq!(checked.code, Some(1));
    for text in [
        "failed to create pipeline docs",
        "model/model.safetensors: ",
    ] {
        assert!(checked.stdout.contains(text), "{text}: {}", checked.stdout);
    }
    let started = home.ran(&[]);
    assert_eq!(started.code, Some(1));
    assert!(
        started.stdout.contains("model/model.safetensors: "),
        "{}",
        started.stdout
    );
    home.configure(&configuration(&postgres, ""));
    let checked = home.ran(&["-check-config"]);
    let required = "pipelines[0].embedding_llm.model_path: required when provider is static";
    assert!(checked.stdout.contains(required), "{}", checked.stdout);
}
