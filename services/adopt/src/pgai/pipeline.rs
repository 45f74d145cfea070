//! The pipeline that replaces a vectorizer.

use crate::{
    Database,
    document::{Members, Yaml},
    pgai::{
        drop::quoted,
        vectorizer::{Destination, Vectorizer},
    },
    report::{Place, Report},
};

/// Keys of our database entries, and their names in a pipeline.
const KEYS: [(&str, &str); 8] = [
    ("host", "host"),
    ("database", "database"),
    ("user", "username"),
    ("sslmode", "ssl_mode"),
    ("sslcert", "ssl_cert"),
    ("sslkey", "ssl_key"),
    ("sslrootcert", "ssl_root_ca"),
    ("connect_timeout", "connect_timeout"),
];

/// Makes the pipeline, unless its provider does not exist here.
pub(super) fn of(
    vectorizer: &Vectorizer<'_>,
    name: &str,
    database: &Database,
    place: Place<'_>,
    report: &mut Report,
) -> Option<Members> {
    let embedding = embedding(vectorizer, place, report)?;
    report_differences(vectorizer, place, report);
    let table = match &vectorizer.destination {
        Destination::Column(column) => synced(vectorizer, column, place, report)?,
        Destination::Table(schema, table) => {
            report.missing(
                place,
                format!(
                    "keeping {schema}.{table} in step with its source: questions work at once, new \
                     passages come from ziggurat-rag ingest"
                ),
            );
            store(schema, table)
        }
    };
    let connection = connection(database);
    let mut pipeline = Members::default();
    pipeline.set("name", name);
    pipeline.set("database", connection.clone());
    pipeline.set("tables", vec![table]);
    if matches!(vectorizer.destination, Destination::Column(_)) {
        let mut ingest = Members::default();
        ingest.set_noted(
            "database",
            connection,
            Some("a role that may write".to_owned()),
        );
        pipeline.set("ingest", ingest);
    }
    pipeline.set("embedding_llm", embedding);
    let mut answers = Members::default();
    let note = "for trying things out; name a provider and a model".to_owned();
    answers.set_noted("provider", "local", Some(note));
    pipeline.set("rag_llm", answers);
    Some(pipeline)
}

/// Returns the provider and the model of the vectors.
fn embedding(
    vectorizer: &Vectorizer<'_>,
    place: Place<'_>,
    report: &mut Report,
) -> Option<Members> {
    let of = |key: &str| vectorizer.setting("embedding", key);
    let (kind, model) = (
        of("implementation").unwrap_or_default(),
        of("model").unwrap_or_default(),
    );
    let (provider, model) = match kind.as_str() {
        "litellm" => model
            .split_once('/')
            .map_or(("", &*model), |(prefix, model)| (prefix, model)),
        kind => (kind, &*model),
    };
    let provider = match provider {
        "ollama" | "openai" | "gemini" => provider,
        "voyageai" | "voyage" => "voyage",
        _ => {
            report.missing(place, format!("embedding: the provider of {model}"));
            return None;
        }
    };
    let mut embedding = Members::default();
    embedding.set("provider", provider);
    embedding.set("model", model);
    if kind == "ollama" {
        embedding.set_if("base_url", of("base_url"));
    }
    if let Some(key) = of("api_key_name") {
        let what = format!("embedding: the key of {provider} is in {key}; see api_keys");
        report.changed(place, what);
    }
    Some(embedding)
}

/// Reports settings without an equal.
fn report_differences(vectorizer: &Vectorizer<'_>, place: Place<'_>, report: &mut Report) {
    let template = vectorizer.setting("formatting", "template");
    if let Some(template) = template.filter(|template| template.trim() != "$chunk") {
        report.missing(place, format!("formatting: {template}"));
    }
    if vectorizer.setting("loading", "implementation").as_deref() == Some("uri") {
        let column = vectorizer.text_column().unwrap_or_default();
        report.missing(
            place,
            format!("loading: the documents of the column {column}"),
        );
    }
    let parsing = vectorizer.setting("parsing", "implementation");
    if let Some(parsing) = parsing.filter(|it| !matches!(it.as_str(), "auto" | "none")) {
        report.missing(place, format!("parsing: {parsing}"));
    }
}

/// Returns the table whose vectors are kept in step.
fn synced(
    vectorizer: &Vectorizer<'_>,
    column: &str,
    place: Place<'_>,
    report: &mut Report,
) -> Option<Members> {
    let text = vectorizer.text_column()?;
    let mut table = table(&vectorizer.source.0, &vectorizer.source.1, &text, column);
    let chunking = vectorizer.setting("chunking", "implementation");
    match &vectorizer.key[..] {
        [key] if matches!(chunking.as_deref(), None | Some("none")) => {
            table.set("id_column", key.as_str());
            table.set("sync", true);
            report.same(
                place,
                "sync: true: run ziggurat-rag sync install, and the statements below, which stop pgai",
            );
        }
        [_] => report.missing(place, "chunking of a column"),
        _ => report.missing(place, "sync: the primary key has several columns"),
    }
    Some(table)
}

/// Returns a table of passages as it stands.
fn store(schema: &str, name: &str) -> Members {
    let mut table = table(schema, name, "chunk", "embedding");
    table.set("id_column", "embedding_uuid");
    table
}

fn table(schema: &str, name: &str, text: &str, vector: &str) -> Members {
    let mut table = Members::default();
    let part = |name: &str| {
        let is_part = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
        let is_plain = name.starts_with(|c: char| c.is_ascii_lowercase() || c == '_');
        if is_plain && name.chars().all(is_part) {
            name.to_owned()
        } else {
            quoted(name)
        }
    };
    table.set("table", format!("{}.{}", part(schema), part(name)));
    table.set("text_column", text);
    table.set("vector_column", vector);
    table
}

fn connection(database: &Database) -> Members {
    let mut connection = Members::default();
    for (key, name) in KEYS {
        connection.set_if(name, database.text(key));
        if key == "host" {
            let port = database
                .text("port")
                .map(|port| Yaml::Plain(port.to_owned()));
            connection.set_if("port", port);
        }
    }
    connection
}
