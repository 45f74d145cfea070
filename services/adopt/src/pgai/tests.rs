use ziggurat_runtime::Secret;

use crate::{Adopted, Pgai};

const URL: &str = "postgres://reader:swordfish@db:5433/shop?sslmode=require";

fn row(id: u32, config: &str) -> String {
    format!(
        r#"{{"id": {id}, "source_schema": "public", "source_table": "articles", "source_pk": [{{"attname":
        "id", "typname": "int8"}}], "trigger_name": "_vectorizer_src_trg_{id}", "queue_schema": "ai",
        "queue_table": "_vectorizer_q_{id}", "queue_failed_table": "_vectorizer_q_failed_{id}", "config":
        {{{config}, "formatting": {{"implementation": "python_template", "template": "$chunk"}}}}}}"#
    )
}

fn adopt(rows: &[String]) -> Adopted {
    let adopted = Pgai::new(&Secret::from(URL))
        .finish(rows)
        .expect("vectorizers");
    assert!(!format!("{adopted:?}").contains("swordfish"));
    adopted
}

#[test]
fn a_column_without_chunks_is_kept_in_step() {
    let config = r#""destination": {"implementation": "column", "embedding_column": "embedding"},
        "chunking": {"implementation": "none"}, "loading": {"implementation": "column", "column_name":
        "body"}, "parsing": {"implementation": "auto"}, "embedding": {"implementation": "ollama", "model":
        "nomic-embed-text", "dimensions": 768, "base_url": "http://ollama:11434"}"#;
    let adopted = adopt(&[row(3, config)]);
    assert_eq!(
        adopted.files[0].text,
        "# Made by -adopt from the configuration of another server.
pipelines:
- name: articles
  database:
    host: db
    port: 5433
    database: shop
    username: reader
    ssl_mode: require
  tables:
  - table: public.articles
    text_column: body
    vector_column: embedding
    id_column: id
    sync: true
  ingest:
    database:   # a role that may write
      host: db
      port: 5433
      database: shop
      username: reader
      ssl_mode: require
  embedding_llm:
    provider: ollama
    model: nomic-embed-text
    base_url: \"http://ollama:11434\"
  rag_llm:
    provider: local   # for trying things out; name a provider and a model
"
    );
    assert_eq!(
        adopted.entries,
        [
            "-- When ziggurat-rag keeps \"public\".\"articles\" in step, pgai has to stop:
DROP TRIGGER IF EXISTS \"_vectorizer_src_trg_3\" ON \"public\".\"articles\";
DROP TRIGGER IF EXISTS \"_vectorizer_src_trg_3_truncate\" ON \"public\".\"articles\";
DROP FUNCTION IF EXISTS \"ai\".\"_vectorizer_src_trg_3\"();
DROP TABLE IF EXISTS \"ai\".\"_vectorizer_q_3\";
DROP TABLE IF EXISTS \"ai\".\"_vectorizer_q_failed_3\";
DELETE FROM ai.vectorizer WHERE id = 3;
"
        ]
    );
    assert!(
        !adopted.report.lacks_something(),
        "{}",
        adopted.report.text()
    );
}

#[test]
fn a_table_of_chunks_answers_at_once_and_is_not_kept_in_step() {
    let config = |embedding: &str| {
        format!(
            r#""destination": {{"implementation": "table", "target_schema": "ai", "target_table":
            "Chunks"}}, "chunking": {{"implementation": "recursive_character_text_splitter"}}, "loading":
            {{"implementation": "uri", "column_name": "address"}}, "parsing": {{"implementation":
            "docling"}}, "embedding": {{"implementation": {embedding}}}"#
        )
    };
    let openai =
        config(r#""openai", "model": "text-embedding-3-small", "api_key_name": "OPENAI_API_KEY""#);
    let litellm = config(r#""litellm", "model": "cohere/embed-english-v3.0""#);
    let adopted = adopt(&[row(1, &openai), row(2, &openai), row(7, &litellm)]);
    let text = &adopted.files[0].text;
    for part in [
        "- name: articles\n",
        "- name: articles_2\n",
        "  - table: \"ai.\\\"Chunks\\\"\"\n    text_column: chunk\n    vector_column: embedding\n    \
         id_column: embedding_uuid\n  embedding_llm:\n    provider: openai\n",
    ] {
        assert!(text.contains(part), "{part}\n{text}");
    }
    assert!(!text.contains("sync") && adopted.entries.is_empty());
    let report = adopted.report.text();
    for line in [
        "changed  ai.vectorizer:1  articles  embedding: the key of openai is in OPENAI_API_KEY; see api_keys",
        "missing  ai.vectorizer:1  articles  loading: the documents of the column address",
        "missing  ai.vectorizer:1  articles  parsing: docling",
        "missing  ai.vectorizer:1  articles  keeping ai.Chunks in step with its source: questions work \
         at once, new passages come from ziggurat-rag ingest",
        "missing  ai.vectorizer:7  articles  embedding: the provider of embed-english-v3.0",
    ] {
        assert!(report.lines().any(|it| it == line), "{line}\n{report}");
    }
}

#[test]
fn an_older_row_is_understood_and_another_row_is_refused() {
    let older = r#"{"id": 1, "source_schema": "public", "source_table": "a", "source_pk": [], "target_schema":
        "public", "target_table": "a_store", "config": {"chunking": {"implementation":
        "character_text_splitter", "chunk_column": "body"}, "formatting": {"template": "$title: $chunk"},
        "embedding": {"implementation": "voyageai", "model": "voyage-3"}}}"#;
    let adopted = adopt(&[older.to_owned()]);
    assert!(adopted.files[0].text.contains("provider: voyage\n"));
    assert!(adopted.report.text().contains("formatting: $title: $chunk"));
    let database = Pgai::new(&Secret::from(URL));
    assert!(database.finish(&["{}".to_owned()]).is_err());
    let options = Pgai::new(&Secret::from("postgres://u@h/d?options=-c%20a%3Db"));
    let report = options.finish(&[]).expect("nothing").report.text();
    assert!(
        report.contains("options: a pipeline has no such key"),
        "{report}"
    );
}
