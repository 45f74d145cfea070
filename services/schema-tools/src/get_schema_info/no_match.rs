//! The error message if no table matches.

use std::fmt::Write as _;

use ziggurat_postgres::metadata::Metadata;

use crate::get_schema_info::Filter;

/// Describes the empty result, its possible reasons and the next steps.
pub(super) fn explain(filter: &Filter, label: &str, metadata: &Metadata) -> String {
    let mut text = String::from("\nNo tables found matching your criteria.\n\n");
    text.push_str(&found(filter));
    write!(
        text,
        "\n\n<current_connection>\nConnected to: {label}\n</current_connection>\n\n\
         <diagnosis>\n{}</diagnosis>\n\n<next_steps>\n{}</next_steps>",
        lines(&causes(filter, metadata)),
        lines(&steps(filter)),
    )
    .expect("a string takes all that is written");
    text
}

/// Describes the filters.
fn found(filter: &Filter) -> String {
    let which = if filter.only_vectors {
        " with vector columns"
    } else {
        ""
    };
    match (&filter.schema, &filter.table) {
        (Some(schema), Some(table)) => {
            format!("No tables found{which} in schema '{schema}' under the name '{table}'.")
        }
        (Some(schema), None) => format!("No tables found{which} in schema '{schema}'."),
        (None, _) => format!("No tables found{which} in this database."),
    }
}

fn causes(filter: &Filter, metadata: &Metadata) -> Vec<String> {
    let mut causes = Vec::new();
    let without_vectors = |schema: &str, table: &str| metadata.table(schema, table).is_some();
    match (&filter.schema, &filter.table) {
        (Some(schema), Some(table)) if filter.only_vectors && without_vectors(schema, table) => {
            causes.push("The table exists, but has no pgvector column.".to_owned());
        }
        (Some(schema), table) => {
            let count = metadata.schema(schema).len();
            if count == 0 {
                causes.push(
                    "The schema does not exist, is empty, or belongs to the system, whose tables \
                     are not shown."
                        .to_owned(),
                );
            } else if table.is_some() {
                causes.push(format!(
                    "The schema has {count} tables and partitions, but none of that name."
                ));
            } else if filter.only_vectors {
                causes.push("None of the schema's tables has a pgvector column.".to_owned());
            }
            causes.push(
                "Names are case-sensitive: PostgreSQL folds names to lower case unless they were \
                 quoted when created."
                    .to_owned(),
            );
        }
        (None, _) if filter.only_vectors => {
            causes.push("No table of this database has a pgvector column.".to_owned());
        }
        (None, _) => causes
            .push("The database is empty, or its role may not use any of its schemas.".to_owned()),
    }
    if metadata.is_cut() {
        causes.push(
            "The database has more tables than the server keeps track of; this may be one of the \
             others."
                .to_owned(),
        );
    }
    causes
}

fn steps(filter: &Filter) -> Vec<String> {
    let mut steps = Vec::new();
    if let (Some(schema), Some(_)) = (&filter.schema, &filter.table) {
        steps.push(format!(
            "get_schema_info(schema_name=\"{schema}\", compact=true) lists the tables of the schema."
        ));
    }
    if filter.only_vectors {
        steps.push(
            "Leave vector_tables_only out to see the tables that have no vectors.".to_owned(),
        );
    }
    if filter.schema.is_some() {
        steps.push("get_schema_info(compact=true) lists the tables of all schemas.".to_owned());
    } else if !filter.only_vectors {
        steps.push(
            "query_database with SELECT current_database(), current_user tells which database \
             and role this is."
                .to_owned(),
        );
    }
    steps.push("Check that this is the intended database.".to_owned());
    steps
}

fn lines(items: &[String]) -> String {
    let mut lines = String::new();
    for item in items {
        writeln!(lines, "- {item}").expect("a string takes all that is written");
    }
    lines
}
