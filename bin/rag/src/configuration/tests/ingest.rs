//! The section `ingest` of a pipeline.

use std::time::Duration;

use ziggurat_documents::Splitter;
use ziggurat_ingest::{Columns, ReaderLimits, VectorType};

use super::{Case, PIPELINE};

const WRITER: &str = "database: {host: db.example, database: docs, username: writer}";

/// Creates a file with a pipeline that has this section.
fn case(section: &str) -> Case {
    Case::new(&format!("pipelines:{PIPELINE}  ingest: {{{section}}}\n"))
}

#[test]
fn documents_are_written_by_a_role_of_their_own_with_defaults() {
    assert!(Case::changed(&[]).pipeline().ingest.is_none());
    let ingest = case(WRITER).pipeline().ingest.expect("a section");
    let database = ingest.database.settings();
    assert_eq!(database.user, "writer");
    assert_eq!(database.query_timeout, Duration::from_mins(10));
    assert_eq!(ingest.reader, ReaderLimits::default());
    let settings = ingest.settings;
    assert_eq!(settings.table.table, "documents");
    assert_eq!(settings.table.columns, Columns::default());
    assert_eq!(settings.splitter, Splitter::new(300, 40));
    assert_eq!((settings.create, settings.vector_type), (None, None));
    assert_eq!(settings.reader.as_deref(), Some("reader"));
}

#[test]
fn all_settings_are_read() {
    let section = format!(
        "{WRITER}, table: documents, create: false, chunk_tokens: 100, overlap_tokens: 10, \
         vector_type: halfvec, batch_size: 8, url: 'https://help.example/{{path}}', reader_memory_mib: 512, \
         reader_seconds: 5, columns: {{document_id: doc, checksum: digest, metadata: meta, \
         title: '', updated_at: changed}}"
    );
    let ingest = case(&section).pipeline().ingest.expect("a section");
    let limits = (ingest.reader.memory_mib, ingest.reader.seconds);
    assert_eq!(limits, (512, 5));
    let settings = ingest.settings;
    assert_eq!(settings.splitter, Splitter::new(100, 10));
    assert_eq!(settings.create, Some(false));
    assert_eq!(settings.vector_type, Some(VectorType::HalfVector));
    assert_eq!(&*settings.text_search_config, "english");
    assert_eq!(settings.batch_size, Some(8));
    assert_eq!(settings.url.as_deref(), Some("https://help.example/{path}"));
    let columns = settings.table.columns;
    assert_eq!((&*columns.document_id, columns.title), ("doc", None));
    assert_eq!((&*columns.checksum, &*columns.metadata), ("digest", "meta"));
    assert_eq!(columns.updated_at.as_deref(), Some("changed"));
    assert_eq!(columns.url.as_deref(), Some("url"));
}

#[test]
fn passages_of_the_table_have_an_order_without_more_settings() {
    let order = |search: &str, columns: &str| {
        let section = format!("{WRITER}, columns: {{{columns}}}");
        let pipeline = PIPELINE.replace(
            "vector_column: embedding",
            "vector_column: embedding, id_column: id",
        );
        let case = format!("pipelines:{pipeline}  ingest: {{{section}}}\n  search: {{{search}}}\n");
        let order = Case::new(&case).pipeline().tables[0].order.clone();
        order.map(|order| format!("{} {}", order.document, order.position))
    };
    for search in ["", "expand: 1"] {
        assert_eq!(order(search, "").as_deref(), Some("document_id metadata"));
    }
    let named = order("expand: 2", "document_id: doc, metadata: meta");
    assert_eq!(named.as_deref(), Some("doc meta"));
}

#[test]
fn invalid_settings_are_named() {
    let at = |key: &str| format!("pipelines[0].ingest.{key}");
    for (section, key, problem) in [
        (
            "create: true",
            "database",
            "required: documents are written by a role of its own",
        ),
        (
            "DB, table: other",
            "table",
            "must be one of the tables of the pipeline",
        ),
        (
            "DB, vector_type: bit",
            "vector_type",
            "must be vector or halfvec",
        ),
        (
            "DB, chunk_tokens: 50",
            "overlap_tokens",
            "must be at most half of chunk_tokens",
        ),
        (
            "DB, batch_size: 0",
            "batch_size",
            "must be between 1 and 4096",
        ),
        (
            "DB, url: help.example/x",
            "url",
            "must be an address with {path}, such as https://help.example/{path}",
        ),
    ] {
        // An overlap that is not set follows the length.
        let section = section.replace("DB", WRITER);
        let section = section.replace("chunk_tokens: 50", "chunk_tokens: 50, overlap_tokens: 26");
        let expected = format!("invalid configuration: {}: {problem}", at(key));
        assert_eq!(case(&section).error(), expected);
    }
    let two = "table: documents, text_column: content, vector_column: embedding}, {table: b";
    let text = format!("pipelines:{PIPELINE}  ingest: {{{WRITER}}}\n");
    let text = text.replacen("table: documents", two, 1);
    let expected = at("table") + ": required, because the pipeline has several tables";
    assert_eq!(
        Case::new(&text).error(),
        format!("invalid configuration: {expected}")
    );
}
