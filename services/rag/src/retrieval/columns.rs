//! The columns requests may filter by.

use thiserror::Error;

use super::Table;
use crate::filter::CheckedFilter;

/// The columns of every table that hold what PostgreSQL knows of a row, and none of its values.
const SYSTEM: [&str; 7] = ["ctid", "xmin", "xmax", "cmin", "cmax", "tableoid", "oid"];

/// The columns of a table that the filter of a request may name.
///
/// A filter answers for every row whether a value is this or that, so that a client reads a column
/// letter by letter that no answer shows. The filter of the operator is not restricted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum FilterColumns {
    /// Those clients see anyway: the texts and the ids.
    #[default]
    Shown,
    /// These.
    Listed(Vec<String>),
    /// All but system columns.
    All,
}

/// A filter names a column it may not name. `Display` is for the client.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("column {column} cannot be filtered by; allowed columns: {}", self.list())]
pub struct ForbiddenColumn {
    /// As the client wrote it.
    column: String,
    /// In the order of the configuration; none where it is all of them.
    allowed: Option<Vec<String>>,
}

/// The columns of one table.
#[derive(Debug)]
pub(super) struct Allowed {
    /// None where it is all of them.
    names: Option<Vec<String>>,
}

// === impl Allowed ===

impl Allowed {
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
    /// The same, where another table allows other columns.
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
