//! Settings of the tables of a pipeline.

use ziggurat_rag_service::retrieval::{Backend, FilterColumns, Table};
use ziggurat_runtime::config::{Section, Value};

use super::filter;

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
