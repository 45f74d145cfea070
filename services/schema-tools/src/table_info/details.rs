//! Members of a table's description beyond its columns.

use std::ops::Not;

use serde::Serialize;
use ziggurat_calls::Call;
use ziggurat_databases::Databases;
use ziggurat_mcp::{Caller, ReadError, Unavailable};
use ziggurat_postgres::{
    error::QueryError,
    metadata::{Column, Table},
    pool::LeaseError,
};
use ziggurat_tokens::Identity;

use crate::{
    Glossary,
    table_details::{Constraint, DetailOptions, Policy, RowSecurity, TableDetails},
};

/// The members; those that are empty are absent.
#[derive(Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Details<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    rows: Option<u64>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    policies: &'a [Policy],
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    checks: &'a [Constraint],
    #[serde(skip_serializing_if = "Vec::is_empty")]
    enums: Vec<Labels<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    notes: Vec<Note<'a>>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    triggers: &'a [String],
    /// The query of a view.
    #[serde(skip_serializing_if = "Option::is_none")]
    view: Option<&'a str>,
    /// The number of partitions and their key.
    #[serde(skip_serializing_if = "Option::is_none")]
    partitions: Option<String>,
    /// The parent and the bounds of a partition.
    #[serde(skip_serializing_if = "Option::is_none")]
    partition_of: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    row_security: Option<RowSecurity>,
    /// True if the role may not select from the table.
    #[serde(skip_serializing_if = "Not::not")]
    not_readable: bool,
    /// The columns that the role may not read, if it may read others.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    unreadable_columns: &'a [String],
}

/// The values of a column of an enum.
#[derive(Serialize)]
struct Labels<'a> {
    column: &'a str,
    labels: Vec<&'a str>,
}

/// A note of the glossary, about the table if it has no column.
#[derive(Serialize)]
struct Note<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    column: Option<&'a str>,
    note: &'a str,
}

// === impl Details ===

impl<'a> Details<'a> {
    pub(super) fn of(
        database: &str,
        table: Table<'a>,
        details: Option<&'a TableDetails>,
        glossary: &'a Glossary,
    ) -> Self {
        let names = (table.schema(), table.name());
        let columns = || table.columns().map(Column::name);
        let notes = [None].into_iter().chain(columns().map(Some));
        let notes = notes.filter_map(|column| {
            let note = glossary.note(database, names, column)?;
            Some(Note { column, note })
        });
        let enums = table.columns().filter_map(|column| {
            let labels = column.enum_type()?.labels().collect();
            let column = column.name();
            Some(Labels { column, labels })
        });
        let known = Self {
            rows: table.rows(),
            enums: enums.collect(),
            notes: notes.collect(),
            ..Self::default()
        };
        let Some(details) = details else {
            return known;
        };
        let row_security = Some(details.row_security).filter(|state| *state != RowSecurity::Off);
        let partitions = details.partitions.as_ref();
        let parent = details.partition_of.as_ref();
        Self {
            // Without row security they have no effect.
            policies: row_security.map_or(&[], |_| &details.policies),
            checks: &details.checks,
            triggers: &details.triggers,
            view: details.view_definition.as_deref(),
            partitions: partitions.map(|it| format!("{} by {}", it.count, it.key)),
            partition_of: parent.map(|(parent, bounds)| format!("{parent} {bounds}")),
            row_security,
            not_readable: !details.privileges.contains(&"SELECT"),
            unreadable_columns: &details.unreadable_columns,
            ..known
        }
    }
}

/// Reads the details of a table in a database that the caller may use: with a connection of the
/// caller if that is its current database, else with one that is closed afterwards.
pub(super) async fn load(
    databases: &Databases,
    caller: &Caller,
    database: &str,
    table: (&str, &str),
) -> Result<Option<TableDetails>, ReadError> {
    let identity = caller.extension::<Identity>();
    let current = databases.current(identity).ok();
    let current = current.filter(|current| current.label() == database);
    let options = DetailOptions::default();
    let loaded = if let Some(current) = current {
        let current = current.with_call(Call::by(caller).context());
        let lease = current.pool().lease().await;
        TableDetails::load(lease.map_err(|error| no_lease(&error))?, &[table], options).await
    } else {
        let visible = databases.visible(identity);
        let named = visible
            .iter()
            .find(|open| open.database().name() == database);
        let Some(named) = named else {
            return Ok(None);
        };
        let connection = databases.connect_once(named.database()).await;
        let connection = connection.map_err(|error| no_lease(&error))?;
        let (lease, _permit) = connection.into_parts();
        let lease = lease.with_call(Call::by(caller).context());
        TableDetails::load(lease, &[table], options).await
    };
    Ok(loaded.map_err(|error| unavailable(&error))?.pop())
}

fn no_lease(error: &LeaseError) -> Unavailable {
    Unavailable::new(super::NOT_READY, error.public_message()).retryable()
}

fn unavailable(error: &QueryError) -> Unavailable {
    let message = match error {
        QueryError::Lease(cause) => cause.public_message(),
        QueryError::Failed { report, .. } => report.to_string(),
        _ => "the connection to the database was lost".to_owned(),
    };
    Unavailable::new(super::NOT_READY, message).retryable()
}
