//! Error messages for failed searches, with the reason and the next steps.

use std::fmt::Write as _;

use ziggurat_answers::client;
use ziggurat_mcp::Reported;
use ziggurat_postgres::{
    error::QueryError,
    metadata::{Column, Metadata},
};

use crate::{
    embedder::EmbedError,
    similarity_search::{
        Form,
        target_table::{self, Problem, TargetTable},
    },
};

/// Limit on the names in a list.
const MAX_NAMES: usize = 10;

/// Steps that name a tool which a client may not have.
const LIST_TABLES: &str =
    "get_schema_info(vector_tables_only=true) shows the tables that can be searched.";
const SHOW_TABLE: &str = "get_schema_info shows what the table is like now.";

/// Describes the problem with the target table.
pub(super) fn explain(
    problem: &Problem<'_>,
    label: &str,
    metadata: &Metadata,
    form: Form<'_>,
) -> Reported {
    match problem {
        Problem::Unnamed => compose(
            "Missing or invalid 'table_name' argument",
            &[&candidates(metadata, label)],
            &["Name one of the tables that have vectors.", LIST_TABLES],
            form,
        ),
        Problem::NoTable { name } => compose(
            &format!("Table '{name}' not found."),
            &[
                &absence(name, label, metadata),
                "Names are case-sensitive: PostgreSQL folds names to lower case unless they were \
                 quoted when created.",
            ],
            &[
                LIST_TABLES,
                "A table outside of the schema public is named schema.table.",
            ],
            form,
        ),
        Problem::NoVectors { name } => compose(
            &format!("No vector columns found in table '{name}'."),
            &[
                "The table exists, but none of its columns is of a pgvector type.",
                &candidates(metadata, label),
            ],
            &[
                LIST_TABLES,
                "query_database can search this table by its words, with ILIKE or to_tsvector.",
            ],
            form,
        ),
        Problem::NoTexts { name, vectors } => compose(
            &format!("No text columns found corresponding to vector columns in table '{name}'."),
            &[&format!(
                "The table has vectors in {}, but no column of a text type to show passages of.",
                names(vectors)
            )],
            &[
                "query_database can order its rows by distance, and join the table that has the \
                 texts.",
                "A view with the vector and its text side by side can be searched.",
            ],
            form,
        ),
    }
}

/// Describes a missing question vector for a table that could be searched otherwise.
pub(super) fn no_vector(error: &EmbedError, place: &TargetTable<'_>) -> Reported {
    compose_all(
        &format!("Failed to generate query embedding: {error}"),
        &[&format!(
            "Table {} was found. Its vectors are in {}, its texts in {}; what is missing is the \
             vector of the question.",
            target_table::full_name(place.table),
            names(&place.vectors),
            names(&place.texts),
        )],
        &[
            "The operator has to configure an embedding provider, the one the vectors \
             of the table were made with.",
            "Until then, query_database can search the texts by their words, with ILIKE or \
             to_tsvector.",
        ],
    )
}

/// Describes a question vector with a length that no vector column of the table has.
pub(super) fn misfit(dimensions: usize, place: &TargetTable<'_>) -> Reported {
    compose_all(
        &format!(
            "Vector search failed: the query embedding has {dimensions} dimensions, and no vector \
             column of table '{}' has as many.",
            place.name()
        ),
        &[
            &format!("Its vectors are in {}.", names(&place.vectors)),
            "Vectors can be compared only if one model has made them.",
        ],
        &[
            "The operator has to configure the embedding provider and model the \
             vectors of the table were made with, or have the vectors made again.",
            "generate_embedding shows the model that is configured.",
        ],
    )
}

/// Describes a query error.
pub(super) async fn failed(
    error: &QueryError,
    place: &TargetTable<'_>,
    form: Form<'_>,
) -> Reported {
    let problem = match (error, form.errors) {
        (QueryError::Lease(error), _) => return client::unavailable(error),
        (QueryError::Failed { phase, report }, Some(errors)) => {
            Box::pin(errors.described(*phase, report)).await
        }
        (QueryError::Failed { report, .. }, None) => {
            format!("Vector search failed: {}", client::explained(report))
        }
        _ => "Vector search failed: the connection to the database was lost".to_owned(),
    };
    compose(
        &problem,
        &[&format!(
            "The search was of table {}, with its vectors in {}.",
            target_table::full_name(place.table),
            names(&place.vectors)
        )],
        &[
            "If it took too long, an HNSW index on the vectors for the metric that is asked for \
             makes it fast.",
            SHOW_TABLE,
        ],
        form,
    )
}

/// Lists the tables to choose from.
fn candidates(metadata: &Metadata, label: &str) -> String {
    let tables: Vec<_> = target_table::searchable(metadata)
        .map(target_table::full_name)
        .collect();
    let mut text = match tables.len() {
        0 => format!("No table of the database '{label}' has a vector column."),
        _ => format!("Tables with vector columns: {}.", listed(&tables)),
    };
    if metadata.is_cut() {
        text.push_str(
            " There may be others: the database has more than the server keeps track of.",
        );
    }
    text
}

fn absence(name: &str, label: &str, metadata: &Metadata) -> String {
    match name.split_once('.') {
        Some((schema, _)) if metadata.is_denied(schema) => {
            format!("The role of the server may not use the schema '{schema}'.")
        }
        Some((schema, _)) if metadata.schema(schema).len() == 0 => {
            format!("The database '{label}' has no schema '{schema}', or nothing in it.")
        }
        Some((schema, _)) => format!("The schema '{schema}' has no table or view of that name."),
        None => format!("The schema 'public' of the database '{label}' has none of that name."),
    }
}

fn names(columns: &[Column<'_>]) -> String {
    let names: Vec<_> = columns
        .iter()
        .map(|column| format!("{} ({})", column.name(), column.data_type()))
        .collect();
    listed(&names)
}

fn listed(names: &[String]) -> String {
    let more = names.len().saturating_sub(MAX_NAMES);
    let mut text = names[..names.len() - more].join(", ");
    if more > 0 {
        write!(text, " and {more} more").expect("a string takes all that is written");
    }
    text
}

/// Leaves out the steps that name `get_schema_info`, if the client does not have it.
fn compose(first_line: &str, causes: &[&str], steps: &[&str], form: Form<'_>) -> Reported {
    let mut steps = steps.to_vec();
    steps.retain(|&step| form.has_schema_info || (step != LIST_TABLES && step != SHOW_TABLE));
    compose_all(first_line, causes, &steps)
}

fn compose_all(first_line: &str, causes: &[&str], steps: &[&str]) -> Reported {
    Reported::new(format!(
        "{first_line}\n\n<diagnosis>\n{}</diagnosis>\n\n<next_steps>\n{}</next_steps>",
        lines(causes),
        lines(steps),
    ))
}

fn lines(items: &[&str]) -> String {
    let mut lines = String::new();
    for item in items {
        writeln!(lines, "- {item}").expect("a string takes all that is written");
    }
    lines
}
