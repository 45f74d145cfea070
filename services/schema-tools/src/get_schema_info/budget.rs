//! Answers within a number of tokens, for clients that negotiate a revision.

use std::iter;

use ziggurat_answers::CallFormat;
use ziggurat_postgres::{metadata::Table, statement::MaskedColumns};

use crate::{
    get_schema_info::{columns::Listing, summary},
    search_schema::{name, page::max_bytes},
};

/// Limits on an answer, and the tool that finds the rest.
#[derive(Clone, Copy, Debug)]
pub(super) struct Budget {
    pub(super) max_tokens: usize,
    /// Set if the server has `search_schema`.
    pub(super) has_search: bool,
}

// === impl Budget ===

impl Budget {
    /// Writes the summary of a database: of fewer schemas if all are too long.
    pub(super) fn write_summary(self, out: &mut String, tables: &[Table<'_>], format: CallFormat) {
        let (start, max_bytes) = (out.len(), max_bytes(self.max_tokens));
        let hint = self.summary_hint();
        let halves = iter::successors(Some(summary::Limits::default()), |limits| limits.half());
        for (attempt, limits) in halves.enumerate() {
            summary::write(out, tables, limits);
            format.show(out, start);
            if attempt > 0 {
                out.push_str(&hint);
            }
            if out.len() <= max_bytes {
                return;
            }
            out.truncate(start);
        }
        let count = tables.len().to_string();
        out.extend(["There are ", &count, " tables.", &hint]);
        out.truncate(out.floor_char_boundary(max_bytes));
    }

    /// Writes the first tables, as many as fit. The first one loses columns if it does not fit.
    /// Returns the listing.
    pub(super) fn write_tables(
        self,
        out: &mut String,
        tables: &[Table<'_>],
        with_columns: bool,
        format: CallFormat,
        masked: &MaskedColumns,
    ) -> Listing {
        let max_bytes = max_bytes(self.max_tokens);
        let room =
            max_bytes.saturating_sub(out.len() + Listing::header_bytes(with_columns, masked));
        let mut listing = Listing::new(room, with_columns, format, masked).without_repetition();
        listing.extend(tables);
        if listing.tables() == tables.len() && listing.is_within_limit() {
            listing.write(out, tables.len());
            return listing;
        }
        // Once more, with room for the hint.
        let hint = self.tables_hint(tables, tables.len());
        let columns_hint = tables
            .first()
            .map(|table| self.columns_hint(*table, usize::MAX));
        let longest = columns_hint.map_or(0, |hint| hint.len()).max(hint.len());
        let room = room.saturating_sub(longest);
        listing = Listing::new(room, with_columns, format, masked).without_repetition();
        listing.extend(tables);
        let missing = listing.cut();
        listing.write(out, listing.tables());
        let start = out.len();
        out.push_str(&match tables.first() {
            Some(&table) if missing > 0 && with_columns => self.columns_hint(table, missing),
            _ => self.tables_hint(tables, tables.len() - listing.tables()),
        });
        format.show(out, start);
        out.truncate(out.floor_char_boundary(max_bytes));
        listing
    }

    fn summary_hint(self) -> String {
        if self.has_search {
            "\nThe summary is shortened. search_schema(query=\"words of the question\") finds \
             tables."
                .to_owned()
        } else {
            "\nThe summary is shortened. Name a schema.".to_owned()
        }
    }

    fn tables_hint(self, tables: &[Table<'_>], more: usize) -> String {
        let mut schemas = tables.iter().map(|table| table.schema());
        let first = schemas.next().unwrap_or_default();
        let only = schemas.all(|schema| schema == first);
        let schema = if only {
            format!("schema={first:?}, ")
        } else {
            String::new()
        };
        if self.has_search {
            format!(
                "… {more} more tables. Find them with search_schema({schema}query=\"words of the \
                 question\"), or list them with search_schema({schema}level=\"names\").\n"
            )
        } else {
            format!("… {more} more tables. Name a schema, or a schema and a table.\n")
        }
    }

    fn columns_hint(self, table: Table<'_>, more: usize) -> String {
        let (schema, table, path) = (table.schema(), table.name(), name::of(table));
        if self.has_search {
            format!(
                "… {more} more columns of {path}: search_schema(schema={schema:?}, \
                 table={table:?}, level=\"full\") has all, in pages.\n"
            )
        } else {
            format!("… {more} more columns of {path}: they are in information_schema.columns.\n")
        }
    }
}
