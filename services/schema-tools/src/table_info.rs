//! `pg://{database}/{schema}/{table}`: describes the tables of the databases a caller may use.

mod details;
#[cfg(test)]
mod tests;

use std::{collections::BTreeSet, sync::Arc};

use serde::Serialize;
use ziggurat_calls::Call;
use ziggurat_databases::{Databases, MetadataError};
use ziggurat_mcp::{
    Caller, Placeholders, ReadError, ResourceTemplateDescriptor, TemplateHandler, Unavailable,
};
use ziggurat_postgres::{
    metadata::{Column, Metadata, Table},
    statement::MaskedColumns,
};
use ziggurat_tokens::Identity;

use self::details::Details;
use crate::Glossary;

const NOT_READY: &str = "DATABASE_NOT_READY";

const DATABASE: &str = "database";
const SCHEMA: &str = "schema";
const TABLE: &str = "table";
const COLUMN: &str = "column";

/// Limit on completions; clients show the first hundred.
const MAX_NAMES: usize = 1000;

/// Describes a table, or one of its columns.
#[derive(Clone, Debug)]
pub struct TableInfo {
    databases: Databases,
    glossary: Glossary,
    is_column: bool,
}

#[derive(Serialize)]
struct Described<'a> {
    database: &'a str,
    schema: &'a str,
    table: &'a str,
    kind: &'static str,
    #[serde(skip_serializing_if = "str::is_empty")]
    comment: &'a str,
    #[serde(flatten)]
    details: Details<'a>,
    columns: Vec<DescribedColumn<'a>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct DescribedColumn<'a> {
    name: &'a str,
    #[serde(rename = "type")]
    data_type: &'a str,
    is_nullable: bool,
    is_primary_key: bool,
    is_indexed: bool,
    /// True if its values are masked; else left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    is_masked: Option<bool>,
    #[serde(skip_serializing_if = "str::is_empty")]
    references: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    default: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    comment: &'a str,
}

// === impl TableInfo ===

impl TableInfo {
    /// Makes a template for whole tables.
    #[must_use]
    pub fn tables(databases: Databases) -> Self {
        Self {
            databases,
            glossary: Glossary::default(),
            is_column: false,
        }
    }

    /// Makes a template for one column of a table.
    #[must_use]
    pub fn columns(databases: Databases) -> Self {
        Self {
            is_column: true,
            ..Self::tables(databases)
        }
    }

    /// Sets the notes about tables and columns.
    #[must_use]
    pub fn with_glossary(mut self, glossary: Glossary) -> Self {
        self.glossary = glossary;
        self
    }

    /// Returns the metadata of a database, if it exists and the caller may use it.
    async fn metadata(
        &self,
        placeholders: &Placeholders,
        caller: &Caller,
    ) -> Option<Result<Arc<Metadata>, Unavailable>> {
        let identity = caller.extension::<Identity>();
        let call = Call::by(caller).context();
        let name = placeholders.get(DATABASE)?;
        let metadata = self.databases.metadata(identity, name, &call);
        let unavailable =
            |error: MetadataError| Unavailable::new(NOT_READY, error.public_message()).retryable();
        Some(metadata.await?.map_err(unavailable))
    }

    /// Returns the columns of a database that are masked for a caller.
    async fn marks(&self, caller: &Caller, database: &str) -> MaskedColumns {
        let identity = caller.extension::<Identity>();
        match self.databases.named(identity, database) {
            Some(named) => MaskedColumns::marks(named.pool()).await,
            None => MaskedColumns::default(),
        }
    }
}

impl TemplateHandler for TableInfo {
    fn describe(&self) -> ResourceTemplateDescriptor {
        if self.is_column {
            ResourceTemplateDescriptor::new(
                "pg://{database}/{schema}/{table}/{column}",
                "postgresql_column",
                "One column of a table: its type, keys, default and comment.",
            )
            .with_title("A column of a table")
        } else {
            ResourceTemplateDescriptor::new(
                "pg://{database}/{schema}/{table}",
                "postgresql_table",
                "A table or view and its columns: types, keys, defaults, comments, checks and \
                 policies.",
            )
            .with_title("A table")
        }
    }

    async fn read(
        &self,
        placeholders: Placeholders,
        caller: Caller,
    ) -> Result<Option<String>, ReadError> {
        let Some(metadata) = self.metadata(&placeholders, &caller).await else {
            return Ok(None);
        };
        let metadata = metadata?;
        let [database, schema, table] = [DATABASE, SCHEMA, TABLE]
            .map(|placeholder| placeholders.get(placeholder).unwrap_or_default());
        let column = placeholders.get(COLUMN);
        let Some(found) = metadata.table(schema, table) else {
            return Ok(None);
        };
        let masked = self.marks(&caller, database).await;
        let mut described = Described::of(database, found, column, &masked);
        if column.is_some() {
            let is_there = !described.columns.is_empty();
            return Ok(is_there.then(|| described.to_json()));
        }
        let names = (schema, table);
        let details = details::load(&self.databases, &caller, database, names).await?;
        described.details = Details::of(database, found, details.as_ref(), &self.glossary);
        Ok(Some(described.to_json()))
    }

    async fn complete(
        &self,
        placeholder: String,
        placeholders: Placeholders,
        caller: Caller,
    ) -> Vec<String> {
        let written = placeholders.get(&placeholder).unwrap_or_default();
        if placeholder == DATABASE {
            let seen = self.databases.visible(caller.extension::<Identity>());
            let names = seen.iter().map(|it| it.database().name().to_owned());
            return names.filter(|name| name.starts_with(written)).collect();
        }
        let Some(Ok(metadata)) = self.metadata(&placeholders, &caller).await else {
            return Vec::new();
        };
        let schema = placeholders.get(SCHEMA);
        let names: Vec<&str> = match (&*placeholder, schema, placeholders.get(TABLE)) {
            (SCHEMA, ..) => {
                let schemas: BTreeSet<_> = metadata.tables().map(Table::schema).collect();
                schemas.into_iter().collect()
            }
            (TABLE, Some(schema), _) => metadata.schema(schema).map(Table::name).collect(),
            (COLUMN, Some(schema), Some(table)) => {
                let table = metadata.table(schema, table);
                table.map_or_else(Vec::new, |it| it.columns().map(Column::name).collect())
            }
            _ => Vec::new(),
        };
        let fitting = names.into_iter().filter(|name| name.starts_with(written));
        fitting.take(MAX_NAMES).map(str::to_owned).collect()
    }
}

// === impl Described ===

impl<'a> Described<'a> {
    fn of(
        database: &'a str,
        table: Table<'a>,
        column: Option<&str>,
        masked: &MaskedColumns,
    ) -> Self {
        let columns = table.columns();
        let wanted = columns.filter(|found| column.is_none_or(|wanted| found.name() == wanted));
        Self {
            database,
            schema: table.schema(),
            table: table.name(),
            kind: table.kind().as_str(),
            comment: table.comment(),
            details: Details::default(),
            columns: wanted
                .map(|column| DescribedColumn::of(table, column, masked))
                .collect(),
        }
    }
}

impl Described<'_> {
    fn to_json(&self) -> String {
        serde_json::to_string_pretty(self).expect("texts, numbers and truth values are JSON")
    }
}

impl<'a> DescribedColumn<'a> {
    fn of(table: Table<'_>, column: Column<'a>, masked: &MaskedColumns) -> Self {
        Self {
            name: column.name(),
            data_type: column.data_type(),
            is_nullable: column.is_nullable(),
            is_primary_key: column.is_primary_key(),
            is_indexed: column.is_indexed(),
            is_masked: masked.mark(table.oid(), column.number()).then_some(true),
            references: column.references(),
            default: column.default(),
            comment: column.comment(),
        }
    }
}
