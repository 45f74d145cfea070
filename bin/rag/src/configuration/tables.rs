//! Settings of the tables of a pipeline and of their search.

use ziggurat_rag_service::retrieval::{Backend, FilterColumns, SearchOptions, Table};
use ziggurat_runtime::config::{Section, Value};

use super::filter;

/// Default limit on the rows that are read if no index serves keyword search.
const MAX_SCANNED: u32 = 10_000;

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
        filter: filter::read(&file.key("filter")),
        filter_columns: columns(&file.key("filter_columns")),
        keyword: file
            .key("keyword_backend")
            .parsed(str::parse)
            .unwrap_or(Backend::Auto),
    }
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

/// Reads the section `search`.
pub(super) fn search(file: &Section<'_>) -> SearchOptions {
    let scanned = file.key("bm25_max_documents").whole(1..=i64::MAX);
    let share = |key: &str| file.key(key).decimal(0.0..=1.0);
    SearchOptions {
        hybrid: file.key("hybrid_enabled").boolean().unwrap_or(true),
        vector_weight: share("vector_weight").unwrap_or(0.5),
        min_similarity: share("min_similarity"),
        max_scanned: scanned.map_or(MAX_SCANNED, |number| {
            u32::try_from(number).unwrap_or(u32::MAX)
        }),
    }
}
