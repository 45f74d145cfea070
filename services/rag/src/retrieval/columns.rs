//! Columns that requests may filter by.

use std::collections::HashSet;

use thiserror::Error;

use crate::{filter::CheckedFilter, retrieval::Table};

/// The system columns of every table, which hold no values of the row.
const SYSTEM: [&str; 7] = ["ctid", "xmin", "xmax", "cmin", "cmax", "tableoid", "oid"];

/// The columns of a table that the filter of a request may name.
///
/// A filter tests a value of every row, so a client could guess, letter by letter, the content of a
/// column that no answer shows. The filter of the operator is not restricted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum FilterColumns {
    /// The columns that clients see in answers: the texts and the ids. Titles and addresses have to
    /// be listed.
    #[default]
    Shown,
    /// The listed columns.
    Listed(Vec<String>),
    /// All columns except system columns.
    All,
}

/// Error for a filter on a column that is not allowed. `Display` is for the client.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("column {column} cannot be filtered by; allowed columns: {}", self.list())]
pub struct ForbiddenColumn {
    /// Name of the column, as the client wrote it.
    column: String,
    /// The allowed columns, in the order of the configuration; `None` if all are allowed.
    allowed: Option<Vec<String>>,
}

/// The columns of one table that a filter may name.
#[derive(Debug)]
pub(super) struct AllowedColumns {
    /// `None` if all columns except system columns are allowed.
    names: Option<Vec<String>>,
}

// === impl AllowedColumns ===

impl AllowedColumns {
    pub(super) fn of(table: &Table) -> Self {
        let names = match &table.filter_columns {
            FilterColumns::Shown => {
                let names = [Some(&table.text), table.id.as_ref()].into_iter().flatten();
                Some(names.cloned().collect())
            }
            FilterColumns::Listed(names) => Some(names.clone()),
            FilterColumns::All => None,
        };
        Self { names }
    }

    /// Leaves out columns that an asker does not know.
    pub(super) fn without(&self, hidden: &HashSet<String>) -> Self {
        let names = self.names.as_ref();
        let is_known = |name: &&String| !hidden.contains(*name);
        Self {
            names: names.map(|names| names.iter().filter(is_known).cloned().collect()),
        }
    }

    pub(super) fn check(&self, filter: &CheckedFilter) -> Result<(), ForbiddenColumn> {
        let mut columns = filter.columns();
        let forbidden = columns.find(|column| match &self.names {
            Some(names) => !names.iter().any(|name| name == column),
            None => SYSTEM.contains(column),
        });
        forbidden.map_or(Ok(()), |column| {
            Err(ForbiddenColumn {
                column: column.to_owned(),
                allowed: self.names.clone(),
            })
        })
    }
}

// === impl ForbiddenColumn ===

impl ForbiddenColumn {
    /// Merges the errors of two tables, so that the message lists the columns of both.
    pub(super) fn or(self, other: Self) -> Self {
        let allowed = self.allowed.zip(other.allowed);
        let allowed = allowed.map(|(mut names, others)| {
            let new: Vec<_> = others
                .into_iter()
                .filter(|name| !names.contains(name))
                .collect();
            names.extend(new);
            names
        });
        Self { allowed, ..self }
    }

    fn list(&self) -> String {
        match &self.allowed {
            None => "all but system columns".to_owned(),
            Some(names) if names.is_empty() => "none".to_owned(),
            Some(names) => names.join(", "),
        }
    }
}
