//! Settings of the tables of a pipeline.

use ziggurat_rag_service::retrieval::{Backend, DocumentOrder, FilterColumns, Table};
use ziggurat_runtime::config::{Section, Value};
use ziggurat_sync::SyncedTable;

use crate::configuration::filter;

/// Limit on the columns that are searched by words besides the texts.
const MAX_KEYWORD_COLUMNS: usize = 8;

/// Limit on the weight of such a column.
const MAX_WEIGHT: u32 = 10;

/// Reads an entry of the list.
pub(super) fn table(file: &Section<'_>) -> Table {
    let required = |key: &str| {
        let value = file.key(key);
        value.required(value.text())
    };
    Table {
        name: required("table"),
        text: required("text_column"),
        vector: required("vector_column"),
        id: file.key("id_column").text(),
        title: file.key("title_column").text(),
        url: file.key("url_column").text(),
        filter: filter::read(&file.key("filter")),
        filter_columns: columns(&file.key("filter_columns")),
        keyword: file
            .key("keyword_backend")
            .parsed(str::parse)
            .unwrap_or(Backend::Auto),
        text_search_config: file.key("text_search_config").text(),
        keyword_columns: keyword_columns(file),
        order: order(file),
    }
}

/// Returns the columns that are searched by words besides the texts, with their weights.
fn keyword_columns(file: &Section<'_>) -> Vec<(String, u32)> {
    let section = file.section("keyword_columns");
    let names = file.texts("keyword_columns").into_iter();
    let columns: Vec<_> = names
        .map(|(name, _)| {
            let weight = section.key(&name).whole(0..=MAX_WEIGHT);
            (name, weight.unwrap_or(1))
        })
        .collect();
    let value = file.key("keyword_columns");
    value.check(
        columns.len() <= MAX_KEYWORD_COLUMNS,
        "must have at most 8 columns",
    );
    let text = file.key("text_column").text();
    let is_other = |(name, _): &(String, u32)| text.as_ref() != Some(name);
    value.check(
        columns.iter().all(is_other),
        "must not have the text column, whose words count once",
    );
    let backend = file.key("keyword_backend").text().unwrap_or_default();
    let has_weights = matches!(&*backend, "" | "auto" | "tsvector" | "scan");
    value.check(
        columns.is_empty() || has_weights,
        "has no effect with this keyword_backend",
    );
    columns
}

/// Returns the columns that order the rows.
fn order(file: &Section<'_>) -> Option<DocumentOrder> {
    let (document, position) = (file.key("document_column"), file.key("position_column"));
    let (of_document, of_position) = (document.text(), position.text());
    let required = "required, because document_column is set";
    if of_document.is_some() {
        let id = file.key("id_column");
        id.check(id.text().is_some(), required);
        position.check(of_position.is_some(), required);
    } else {
        let required = "required, because position_column is set";
        document.check(of_position.is_none(), required);
    }
    Some(DocumentOrder {
        document: of_document?,
        position: of_position?,
    })
}

/// Returns the columns of an entry with vectors that are kept in step with its texts.
pub(super) fn synced(file: &Section<'_>, table: &Table) -> Option<SyncedTable> {
    if !file.key("sync").boolean().unwrap_or(false) {
        return None;
    }
    file.key("id_column").check(
        table.id.is_some(),
        "required, because the table has sync: true",
    );
    Some(SyncedTable {
        table: table.name.clone(),
        id: table.id.clone()?,
        text: table.text.clone(),
        vector: table.vector.clone(),
    })
}

/// Returns the columns that requests may filter by; `*` means all except system columns.
fn columns(value: &Value<'_>) -> FilterColumns {
    let Some(list) = value.list() else {
        return FilterColumns::Shown;
    };
    let names = list.iter().map(|name| name.required(name.text()));
    let names: Vec<_> = names.collect();
    if names.iter().any(|name| name == "*") {
        return FilterColumns::All;
    }
    FilterColumns::Listed(names)
}
