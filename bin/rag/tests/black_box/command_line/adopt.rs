//! Tests of `ziggurat-rag adopt`: vectorizers of pgai become pipelines.

use std::{fs, os::unix::fs::PermissionsExt as _};

use serde_json::Value;
use ziggurat_black_box::{Folder, Postgres, Ran};

/// The tables of pgai that are read, with a vectorizer of each kind.
const PGAI: &str = r#"
CREATE SCHEMA ai;
CREATE TABLE ai.vectorizer (
    id int PRIMARY KEY, source_schema name, source_table name, source_pk jsonb, trigger_name name,
    queue_schema name, queue_table name, queue_failed_table name, config jsonb, name name
);
CREATE TABLE articles (id bigint PRIMARY KEY, body text, embedding text);
INSERT INTO ai.vectorizer VALUES
    (1, 'public', 'articles', '[{"attname": "id"}]', 'trg_1', 'ai', 'q_1', 'q_failed_1',
     '{"destination": {"implementation": "column", "embedding_column": "embedding"}, "chunking":
       {"implementation": "none"}, "loading": {"implementation": "column", "column_name": "body"},
       "formatting": {"template": "$chunk"}, "embedding": {"implementation": "ollama", "model": "m",
       "dimensions": 8}}', 'articles');
"#;

const CHUNKS: &str = r#"
INSERT INTO ai.vectorizer VALUES
    (2, 'public', 'articles', '[{"attname": "id"}]', 'trg_2', 'ai', 'q_2', 'q_failed_2',
     '{"destination": {"implementation": "table", "target_schema": "public", "target_table": "chunks"},
       "chunking": {"implementation": "character_text_splitter"}, "loading": {"column_name": "body"},
       "embedding": {"implementation": "openai", "model": "text-embedding-3-small"}}', 'chunks')
"#;

fn adopt(folder: &Folder, words: &[&str]) -> Ran {
    let words = [&["adopt"], words].concat();
    let mut command = folder.command(env!("CARGO_BIN_EXE_ziggurat-rag"), &words);
    Ran::from(command.output().expect("built"))
}

/// Returns a URL with a password, which a server that trusts all clients ignores.
fn url(postgres: &Postgres) -> String {
    let url = postgres.url();
    if postgres.password().is_empty() {
        return url.replacen('@', ":swordfish@", 1);
    }
    url
}

#[test]
fn a_vectorizer_becomes_a_pipeline_and_nothing_changes_in_the_database() {
    let postgres = Postgres::with(PGAI);
    let folder = Folder::new();
    fs::write(folder.file("url"), url(&postgres) + "\n").expect("written");
    let ran = adopt(&folder, &["-url-file", "url"]);
    assert_eq!(ran.code, Some(0), "{}{}", ran.stdout, ran.stderr);
    for part in [
        "same  ai.vectorizer:1  articles  sync: true",
        "DROP TRIGGER IF EXISTS \"trg_1\" ON \"public\".\"articles\";\n",
        "DROP TABLE IF EXISTS \"ai\".\"q_1\";\n",
    ] {
        assert!(ran.stdout.contains(part), "{part}\n{}", ran.stdout);
    }
    let path = folder.file("ziggurat-rag.yaml");
    let written = fs::read_to_string(&path).expect("written");
    assert!(written.contains("    sync: true\n"), "{written}");
    let mode = fs::metadata(&path).expect("written").permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    for text in [&written, &ran.stdout, &ran.stderr] {
        assert!(!text.contains("swordfish"), "{text}");
    }
    assert_eq!(postgres.count("SELECT count(*) FROM ai.vectorizer"), 1);
    let ran = adopt(&folder, &["-url-file", "url"]);
    assert_eq!(ran.code, Some(1));
    assert_eq!(
        ran.stderr,
        "ERROR: ./ziggurat-rag.yaml exists: nothing was written\n"
    );
}

#[test]
fn a_table_of_chunks_is_read_as_it_stands_and_the_rest_is_missing() {
    let postgres = Postgres::with(&format!("{PGAI}{CHUNKS}"));
    let folder = Folder::new();
    fs::write(folder.file("url"), url(&postgres)).expect("written");
    let ran = adopt(&folder, &["-url-file", "url", "-json"]);
    assert_eq!(ran.code, Some(3), "{}{}", ran.stdout, ran.stderr);
    let report: Value = serde_json::from_str(&ran.stdout).expect("JSON");
    assert_eq!(report["written"][0], "./ziggurat-rag.yaml");
    let written = fs::read_to_string(folder.file("ziggurat-rag.yaml")).expect("written");
    let chunks = "- table: public.chunks\n    text_column: chunk\n    vector_column: embedding\n";
    assert!(written.contains(chunks), "{written}");
}

#[test]
fn a_wrong_use_ends_with_2_and_a_database_without_pgai_with_1() {
    let postgres = Postgres::new();
    let folder = Folder::new();
    fs::write(folder.file("url"), url(&postgres)).expect("written");
    fs::write(folder.file("mysql"), "mysql://u:swordfish@h/d").expect("written");
    for (words, code) in [
        (&[][..], 2),
        (&["-url-file", "url", "more"], 2),
        (&["-url-file", "nothing"], 1),
        (&["-url-file", "mysql"], 1),
        (&["-url-file", "url"], 1),
    ] {
        let ran = adopt(&folder, words);
        assert_eq!(ran.code, Some(code), "{words:?}: {}", ran.stderr);
        assert!(!ran.stderr.contains("swordfish"), "{}", ran.stderr);
    }
}
