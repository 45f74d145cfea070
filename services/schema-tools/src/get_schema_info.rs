//! `get_schema_info`: describes tables and their columns.

mod budget;
mod columns;
mod no_match;
mod structured;
mod summary;
#[cfg(test)]
mod tests;

use serde::Deserialize;
use ziggurat_databases::{Current, Databases};
use ziggurat_mcp::{
    Annotations, Error, Lenient, Property, Reported, Schema, ToolDescriptor, ToolHandler,
    ToolRequest, ToolResult,
};
use ziggurat_postgres::{
    metadata::{Metadata, Table},
    statement::MaskedColumns,
};

use ziggurat_answers::{CallFormat, ResultFormat, Table as Rows, client};

use self::{budget::Budget, columns::Listing};

/// Default limit on the bytes of lines in an answer.
const DEFAULT_MAX_BYTES: usize = 4 << 20;

/// Default limit on the tokens of an answer to a client that negotiates a revision.
const DEFAULT_MAX_TOKENS: usize = 4000;

/// With more tables, a call without filters gets a summary.
const SUMMARY_ABOVE: usize = 10;

/// Describes the tables of the caller's database.
///
/// The metadata is as old as the database's `metadata_ttl` allows. An answer holds as many tables
/// as [`with_max_bytes`](Self::with_max_bytes) allows, and says so if there are more; for a client
/// that negotiates a revision, as [`with_max_tokens`](Self::with_max_tokens) allows. The structured
/// result has a row for each column of the tables in the text.
#[derive(Clone, Debug)]
pub struct GetSchemaInfo {
    databases: Databases,
    max_bytes: usize,
    max_tokens: usize,
    format: ResultFormat,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Arguments {
    schema_name: Lenient<String>,
    table_name: Lenient<String>,
    vector_tables_only: Lenient<bool>,
    compact: Lenient<bool>,
    include_partitions: Lenient<bool>,
    database: Lenient<String>,
}

/// The filters and options of a call.
#[derive(Debug)]
struct Filter {
    schema: Option<String>,
    table: Option<String>,
    only_vectors: bool,
    is_compact: bool,
    with_partitions: bool,
}

/// A call with its output format.
struct Lookup {
    filter: Filter,
    /// Set if the caller wants a structured result.
    is_structured: bool,
    /// The limits for a client that negotiates a revision.
    budget: Option<Budget>,
    format: CallFormat,
    /// The line that names the database.
    heading: String,
    /// The columns that are masked for the caller.
    masked: MaskedColumns,
}

// === impl GetSchemaInfo ===

impl GetSchemaInfo {
    /// Makes a tool that describes the tables of these databases.
    #[must_use]
    pub fn new(databases: Databases) -> Self {
        Self {
            databases,
            max_bytes: DEFAULT_MAX_BYTES,
            max_tokens: DEFAULT_MAX_TOKENS,
            format: ResultFormat::default(),
        }
    }

    /// Sets the form of the values in texts.
    #[must_use]
    pub fn with_format(mut self, format: ResultFormat) -> Self {
        self.format = format;
        self
    }

    /// Sets the limit on the tokens of an answer to a client that negotiates a revision (4,000 by
    /// default).
    #[must_use]
    pub fn with_max_tokens(mut self, max_tokens: usize) -> Self {
        self.max_tokens = max_tokens;
        self
    }

    /// Sets the limit on the bytes of lines in an answer (4 MiB by default); an answer holds at
    /// least one table.
    #[must_use]
    pub fn with_max_bytes(mut self, max_bytes: usize) -> Self {
        self.max_bytes = max_bytes;
        self
    }

    fn answer(&self, lookup: &Lookup, metadata: &Metadata) -> Option<ToolResult> {
        let (filter, masked) = (&lookup.filter, &lookup.masked);
        let tables = filter.tables(metadata);
        if tables.is_empty() {
            return None;
        }
        let mut text = format!("{}\n\n", lookup.heading);
        if metadata.is_cut() {
            text.push_str(
                "Note: this database has more tables than the server can keep track of. Those \
                 behind the last one here are missing; find them with query_database in \
                 pg_catalog.pg_class.\n\n",
            );
        }
        if filter.is_open() && tables.len() > SUMMARY_ABOVE {
            if let Some(budget) = lookup.budget {
                budget.write_summary(&mut text, &tables, lookup.format);
            } else {
                summary::write(&mut text, &tables, summary::Limits::default());
                lookup.format.show(&mut text, 0);
            }
            let structure = || structured::schemas(&tables, self.max_bytes, metadata.is_cut());
            let structure = lookup.is_structured.then(structure);
            return Some(ToolResult::text(text).with_structure(structure));
        }
        let listing = if let Some(budget) = lookup.budget {
            budget.write_tables(
                &mut text,
                &tables,
                !filter.is_compact,
                lookup.format,
                masked,
            )
        } else {
            let mut listing =
                Listing::new(self.max_bytes, !filter.is_compact, lookup.format, masked);
            listing.extend(&tables);
            listing.write(&mut text, tables.len());
            listing
        };
        let shown = &tables[..listing.tables()];
        let has_more = shown.len() < tables.len() || metadata.is_cut();
        let structure = lookup.is_structured.then(|| {
            if filter.is_compact {
                structured::tables(shown, self.max_bytes, has_more)
            } else {
                structured::columns(shown, self.max_bytes, has_more, masked)
            }
        });
        Some(ToolResult::text(text).with_structure(structure))
    }
}

impl ToolHandler for GetSchemaInfo {
    fn describe(&self) -> ToolDescriptor {
        let schema = Property::string("Only the tables of this schema; the exact name.");
        let table = Property::string("Only this table; needs schema_name. The exact name.");
        let vectors = Property::boolean("Only tables that have a pgvector column.");
        let compact = Property::boolean("One line for each table instead of one for each column.");
        let partitions = Property::boolean("The partitions of partitioned tables, too.");
        let arguments = Schema::new()
            .with_optional("schema_name", schema)
            .with_optional("table_name", table)
            .with_optional("vector_tables_only", vectors.with_default(false))
            .with_optional("compact", compact.with_default(false))
            .with_optional("include_partitions", partitions.with_default(false));
        let tool = ToolDescriptor::new(
            "get_schema_info",
            "Describes the tables and views of the database as tab-separated text, a line for \
             each column: type, whether it may be NULL, comments, keys, what it refers to, \
             indexes, default, and whether it holds vectors. Without arguments, a database of \
             more than ten tables is summed up by schema. Call it before writing SQL for tables \
             that are not known; name a schema, or a schema and a table, to get no more than is \
             needed.",
            arguments.clone(),
        )
        .with_negotiated(
            "Describes tables and views as tab-separated text, a line for each column, the first \
             one with the table: type, whether it may be NULL, comments, keys, what it refers to, \
             indexes, default, vectors. Without arguments, a larger database is summed up by \
             schema.",
            arguments,
        )
        .with_title("Look at the schema")
        .without_statements()
        .with_output_on_demand(Rows::schema())
        .with_annotations(Annotations::reading());
        client::with_database(&self.databases, tool)
    }

    async fn call(&self, request: ToolRequest) -> Result<ToolResult, Error> {
        let mut arguments: Arguments = request.arguments()?;
        let database = arguments.database.0.take();
        let filter = Filter::try_from(arguments)?;
        let current = client::chosen(&self.databases, &request, database).await?;
        let budget = Budget {
            max_tokens: self.max_tokens,
            has_search: request.listed_tools().has("search_schema"),
        };
        let lookup = Lookup {
            filter,
            is_structured: request.wants_structure(),
            budget: request.is_negotiated().then_some(budget),
            format: self.format.of(&request),
            heading: client::heading(&self.databases, &request, &current),
            masked: MaskedColumns::marks(current.pool()).await,
        };
        let metadata = client::metadata(&current).await?;
        if let Some(answer) = self.answer(&lookup, &metadata) {
            return Ok(answer);
        }
        let answer = self.answer_again(&lookup, &current).await;
        let label = client::label(&self.databases, &request, &current);
        answer.map_err(|error| lookup.format.error(client::labelled(&label, error)))
    }
}

impl GetSchemaInfo {
    /// Answers with recent metadata before it reports that there is nothing: the table may be new,
    /// or its schema newly allowed.
    async fn answer_again(&self, lookup: &Lookup, current: &Current) -> Result<ToolResult, Error> {
        let metadata = client::recent_metadata(current).await?;
        if let Some(answer) = self.answer(lookup, &metadata) {
            return Ok(answer);
        }
        let filter = &lookup.filter;
        let schema = filter.schema.as_deref();
        Err(match schema.filter(|schema| metadata.is_denied(schema)) {
            // The message of PostgreSQL, which reading the catalogue does not produce.
            Some(schema) => Reported::new(format!(
                "ERROR: permission denied for schema {schema} (SQLSTATE 42501)"
            )),
            None => Reported::new(no_match::explain(filter, current.label(), &metadata)),
        }
        .into())
    }
}

// === impl Filter ===

impl TryFrom<Arguments> for Filter {
    type Error = Reported;

    fn try_from(arguments: Arguments) -> Result<Self, Reported> {
        // Models send empty names for missing ones.
        let given = |name: Lenient<String>| name.0.filter(|name| !name.is_empty());
        let schema = given(arguments.schema_name);
        let table = given(arguments.table_name);
        if table.is_some() && schema.is_none() {
            return Err(Reported::new(
                "table_name requires schema_name to be specified",
            ));
        }
        Ok(Self {
            // A single table is always shown with its columns.
            is_compact: arguments.compact.0 == Some(true) && table.is_none(),
            only_vectors: arguments.vector_tables_only.0 == Some(true),
            with_partitions: arguments.include_partitions.0 == Some(true),
            schema,
            table,
        })
    }
}

impl Filter {
    /// Returns whether the call has no filter.
    fn is_open(&self) -> bool {
        self.schema.is_none() && !self.only_vectors && !self.is_compact
    }

    fn tables<'a>(&self, metadata: &'a Metadata) -> Vec<Table<'a>> {
        let fits = |table: &Table<'_>| {
            // A call that names a partition wants to see it.
            let is_shown = self.with_partitions || self.table.is_some() || !table.is_partition();
            is_shown && (table.has_vectors() || !self.only_vectors)
        };
        match (&self.schema, &self.table) {
            (Some(schema), Some(table)) => metadata
                .table(schema, table)
                .into_iter()
                .filter(fits)
                .collect(),
            (Some(schema), None) => metadata.schema(schema).filter(fits).collect(),
            (None, _) => metadata.tables().filter(fits).collect(),
        }
    }
}
