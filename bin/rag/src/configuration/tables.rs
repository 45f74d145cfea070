//! Settings of the tables of a pipeline and of their search.

use serde::Deserialize;
use ziggurat_rag_service::retrieval::{Backend, FilterColumns, SearchOptions, Table};

use super::{
    filter::RawTableFilter,
    findings::Place,
    written::{Reader, Written},
};

/// Default limit on the rows that are read if no index serves keyword search.
const MAX_SCANNED: u32 = 10_000;

/// A raw entry of the list.
#[derive(Debug, Default, Deserialize)]
pub(super) struct RawTable {
    table: Option<Written>,
    text_column: Option<Written>,
    vector_column: Option<Written>,
    id_column: Option<Written>,
    filter: Option<RawTableFilter>,
    filter_columns: Option<Vec<Written>>,
    keyword_backend: Option<Written>,
}

/// The raw section.
#[derive(Debug, Default, Deserialize)]
pub(super) struct RawSearch {
    hybrid_enabled: Option<Written>,
    vector_weight: Option<Written>,
    min_similarity: Option<Written>,
    bm25_max_documents: Option<Written>,
}

// === impl RawTable ===

impl RawTable {
    pub(super) fn check(self, reader: &mut Reader<'_>, place: &Place) -> Table {
        let mut required = |written, key| {
            let at = place.key(key);
            let text = reader.text(&at, written);
            reader.findings.check(text.is_some(), &at, "required");
            text.unwrap_or_default()
        };
        Table {
            name: required(self.table, "table"),
            text: required(self.text_column, "text_column"),
            vector: required(self.vector_column, "vector_column"),
            id: reader.text(&place.key("id_column"), self.id_column),
            filter: self
                .filter
                .and_then(|filter| filter.check(reader, &place.key("filter"))),
            filter_columns: columns(reader, &place.key("filter_columns"), self.filter_columns),
            keyword: backend(reader, &place.key("keyword_backend"), self.keyword_backend),
        }
    }
}

/// Returns the columns that requests may filter by; `*` means all except system columns.
fn columns(reader: &mut Reader<'_>, place: &Place, written: Option<Vec<Written>>) -> FilterColumns {
    let Some(list) = written else {
        return FilterColumns::Shown;
    };
    let list = list.into_iter().enumerate();
    let names = list.filter_map(|(index, name)| {
        let at = place.element(index);
        let name = reader.text(&at, Some(name));
        reader.findings.check(name.is_some(), &at, "required");
        name
    });
    let names: Vec<_> = names.collect();
    if names.iter().any(|name| name == "*") {
        return FilterColumns::All;
    }
    FilterColumns::Listed(names)
}

fn backend(reader: &mut Reader<'_>, place: &Place, written: Option<Written>) -> Backend {
    let Some(name) = reader.text(place, written) else {
        return Backend::Auto;
    };
    name.parse().unwrap_or_else(|error| {
        reader.problem(place, &error);
        Backend::Auto
    })
}

// === impl RawSearch ===

impl RawSearch {
    pub(super) fn check(self, reader: &mut Reader<'_>, place: &Place) -> SearchOptions {
        let scanned_at = place.key("bm25_max_documents");
        let scanned = reader.integer(&scanned_at, self.bm25_max_documents);
        let is_some = scanned.is_none_or(|number| number >= 1);
        reader
            .findings
            .check(is_some, &scanned_at, "must be at least 1");
        let hybrid = reader.boolean(&place.key("hybrid_enabled"), self.hybrid_enabled);
        SearchOptions {
            hybrid: hybrid.unwrap_or(true),
            vector_weight: share(reader, &place.key("vector_weight"), self.vector_weight)
                .unwrap_or(0.5),
            min_similarity: share(reader, &place.key("min_similarity"), self.min_similarity),
            max_scanned: scanned.map_or(MAX_SCANNED, |number| {
                u32::try_from(number).unwrap_or(u32::MAX)
            }),
        }
    }
}

fn share(reader: &mut Reader<'_>, place: &Place, written: Option<Written>) -> Option<f64> {
    let share = reader.decimal(place, written)?;
    let is_share = (0.0..=1.0).contains(&share);
    reader
        .findings
        .check(is_share, place, "must be between 0.0 and 1.0");
    Some(share)
}
