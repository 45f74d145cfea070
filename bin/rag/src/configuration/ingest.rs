//! Settings for loading documents into a table of a pipeline.

use std::sync::Arc;

use ziggurat_documents::Splitter;
use ziggurat_ingest::{Columns, ReaderLimits, Settings, TableName, VectorType};
use ziggurat_postgres::database::Database;
use ziggurat_rag_service::retrieval::Table;
use ziggurat_runtime::config::{Section, Value};
use ziggurat_sync::SyncedTable;

use crate::configuration::database::{self, Purpose};

/// Default length of a passage, and of what it repeats of the one before, in tokens.
const CHUNK_TOKENS: usize = 300;
const OVERLAP_TOKENS: usize = 40;

/// The checked settings for loading documents.
#[derive(Clone, Debug)]
pub(crate) struct Ingest {
    /// The database, with a role that may write.
    pub(crate) database: Arc<Database>,
    pub(crate) settings: Settings,
    /// Limits of the process that reads a PDF or DOCX file.
    pub(crate) reader: ReaderLimits,
}

// === impl Ingest ===

impl Ingest {
    /// Reads the section; returns `None` if it is missing, or after a problem was added. `role` is
    /// the database role that answers questions.
    pub(super) fn read(
        file: &Section<'_>,
        (tables, synced): (&[Table], &[SyncedTable]),
        role: Option<&str>,
    ) -> Option<Self> {
        let table = table(&file.key("table"), (tables, synced), file.is_present());
        let columns = columns(&file.section("columns"), table);
        let settings = Settings {
            splitter: splitter(file),
            create: file.key("create").boolean(),
            vector_type: file.key("vector_type").parsed(vector_type),
            text_search_config: table
                .and_then(|table| table.text_search_config.clone())
                .unwrap_or_else(|| "english".to_owned()),
            reader: role.map(str::to_owned),
            batch_size: file.key("batch_size").whole(1..=4096),
            url: file.key("url").parsed(address),
            ..Settings::new(TableName {
                table: table.map(|table| table.name.clone()).unwrap_or_default(),
                columns,
            })
        };
        let reader = reader_limits(file);
        if !file.is_present() {
            return None;
        }
        let section = file.section("database");
        if !section.is_present() {
            section.problem("required: documents are written by a role of its own");
            return None;
        }
        let database = database::read(&section, Purpose::Documents, false)?;
        table.map(|_| Self {
            database,
            settings,
            reader,
        })
    }
}

/// Returns the table that documents are written to: of several the only one without `sync: true`, or
/// the first if each has it.
fn table<'t>(
    value: &Value<'_>,
    (tables, synced): (&'t [Table], &[SyncedTable]),
    is_needed: bool,
) -> Option<&'t Table> {
    let is_synced = |table: &Table| synced.iter().any(|synced| synced.table == table.name);
    if let Some(name) = value.text() {
        let table = tables.iter().find(|table| table.name == name);
        value.check(table.is_some(), "must be one of the tables of the pipeline");
        value.check(
            !table.is_some_and(is_synced),
            "must be a table without sync: true, whose vectors are made of its texts",
        );
        return table;
    }
    let mut others = tables.iter().filter(|table| !is_synced(table));
    match (others.next(), others.next()) {
        (Some(only), None) => Some(only),
        (None, _) => tables.first(),
        _ => {
            value.check(
                !is_needed,
                "required, because the pipeline has several tables",
            );
            None
        }
    }
}

fn columns(file: &Section<'_>, table: Option<&Table>) -> Columns {
    let usual = Columns::default();
    let named = |key: &str, usual: String| file.key(key).text().unwrap_or(usual);
    // An empty name means that the table has no such column.
    let optional = |key: &str, usual: Option<String>| {
        let written = file.key(key).written();
        written.map_or(usual, |name| Some(name).filter(|name| !name.is_empty()))
    };
    Columns {
        id: table.and_then(|table| table.id.clone()).unwrap_or(usual.id),
        content: table.map_or(usual.content, |table| table.text.clone()),
        embedding: table.map_or(usual.embedding, |table| table.vector.clone()),
        document_id: named("document_id", usual.document_id),
        metadata: named("metadata", usual.metadata),
        checksum: named("checksum", usual.checksum),
        title: optional("title", usual.title),
        url: optional("url", usual.url),
        created_at: optional("created_at", usual.created_at),
        updated_at: optional("updated_at", usual.updated_at),
    }
}

fn reader_limits(file: &Section<'_>) -> ReaderLimits {
    let usual = ReaderLimits::default();
    ReaderLimits {
        memory_mib: file
            .key("reader_memory_mib")
            .whole(256..=65_536)
            .unwrap_or(usual.memory_mib),
        seconds: file
            .key("reader_seconds")
            .whole(1..=3600)
            .unwrap_or(usual.seconds),
    }
}

fn splitter(file: &Section<'_>) -> Splitter {
    let tokens = file.key("chunk_tokens").whole(20..=8192);
    let tokens = tokens.unwrap_or(CHUNK_TOKENS);
    let value = file.key("overlap_tokens");
    let overlap = value
        .whole(0..=4096)
        .unwrap_or(OVERLAP_TOKENS.min(tokens / 2));
    value.check(
        overlap <= tokens / 2,
        "must be at most half of chunk_tokens",
    );
    Splitter::new(tokens, overlap)
}

/// Reads an address with a place for the path of a document.
fn address(text: &str) -> Result<String, &'static str> {
    let is_address = ["https://", "http://", "/"]
        .iter()
        .any(|one| text.starts_with(one));
    if is_address && text.contains("{path}") {
        return Ok(text.to_owned());
    }
    Err("must be an address with {path}, such as https://help.example/{path}")
}

fn vector_type(name: &str) -> Result<VectorType, &'static str> {
    match name {
        "vector" => Ok(VectorType::Vector),
        "halfvec" => Ok(VectorType::HalfVector),
        _ => Err("must be vector or halfvec"),
    }
}
