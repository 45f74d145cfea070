//! Tables with `sync: true`, and the section `ingest.sync`.

use std::time::Duration;

use ziggurat_sync::WorkerSettings;

use super::{Case, PIPELINE};

const TABLE: &str = "vector_column: embedding";
const SYNCED: &str = "vector_column: embedding, id_column: id, sync: true";
const WRITER: &str = "database: {host: db.example, database: docs, username: writer}";

/// Creates a file with a pipeline. Its table has these keys, and its section `ingest` these.
fn case(table: &str, section: &str) -> Case {
    let pipeline = PIPELINE.replace(TABLE, table);
    Case::new(&format!("pipelines:{pipeline}  ingest: {{{section}}}\n"))
}

#[test]
fn a_table_is_kept_in_step_with_defaults() {
    assert!(case(TABLE, WRITER).pipeline().sync.is_none());
    let sync = case(SYNCED, WRITER).pipeline().sync.expect("a table");
    let [table] = &*sync.tables else {
        panic!("one table")
    };
    let names = (&*table.table, &*table.id, &*table.text, &*table.vector);
    assert_eq!(names, ("documents", "id", "content", "embedding"));
    assert_eq!(sync.settings, WorkerSettings::default());
    assert!(!sync.in_server);
}

#[test]
fn all_settings_are_read() {
    let section = "batch_size: 9, sync: {in_server: true, concurrency: 2, poll_interval: 3s}";
    let case = case(SYNCED, &format!("{WRITER}, {section}"));
    let sync = case.pipeline().sync.expect("a table");
    let expected = WorkerSettings {
        batch_size: Some(9),
        concurrency: 2,
        poll_interval: Duration::from_secs(3),
    };
    assert_eq!((sync.settings, sync.in_server), (expected, true));
}

#[test]
fn invalid_settings_are_named() {
    let at = |key: &str| format!("pipelines[0].{key}");
    let without_id = SYNCED.replace("id_column: id, ", "");
    for (table, section, key, problem) in [
        (
            &*without_id,
            WRITER.to_owned(),
            "tables[0].id_column",
            "required, because the table",
        ),
        (
            TABLE,
            format!("{WRITER}, sync: {{in_server: true}}"),
            "ingest.sync.in_server",
            "has no effect, because no table",
        ),
        (
            SYNCED,
            format!("{WRITER}, table: documents"),
            "ingest.table",
            "must be a table without",
        ),
        (
            SYNCED,
            format!("{WRITER}, sync: {{concurrency: 0}}"),
            "ingest.sync.concurrency",
            "must be",
        ),
    ] {
        let error = case(table, &section).error();
        assert!(
            error.contains(&format!("{}: {problem}", at(key))),
            "{error}"
        );
    }
    let pipeline = PIPELINE.replace(TABLE, SYNCED);
    let error = Case::new(&format!("pipelines:{pipeline}")).error();
    assert!(
        error.contains("ingest.database: required, because a table has sync: true"),
        "{error}"
    );
}

#[test]
fn documents_are_loaded_into_the_only_table_that_is_not_kept_in_step() {
    let other = format!("{SYNCED}}}, {{table: manual, text_column: content, {TABLE}");
    let ingest = case(&other, WRITER).pipeline().ingest.expect("a section");
    assert_eq!(ingest.settings.table.table, "manual");
}

#[test]
fn a_table_is_kept_in_step_by_one_pipeline() {
    let one = PIPELINE.replace(TABLE, SYNCED) + &format!("  ingest: {{{WRITER}}}\n");
    let other = one.replace("name: docs", "name: other");
    let error = Case::new(&format!("pipelines:{one}{other}")).error();
    let problem = "pipelines docs and other both have table documents with sync: true";
    assert!(error.contains(problem), "{error}");
    let elsewhere = other.replace("db.example", "db2.example");
    Case::new(&format!("pipelines:{one}{elsewhere}")).configuration();
}
