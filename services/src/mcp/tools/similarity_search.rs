//! `similarity_search`: the passages of a table that come closest to a question.

mod advice;
mod columns;
mod place;
#[cfg(test)]
mod tests;

use serde::Deserialize;

use crate::{
    databases::{Current, Databases},
    mcp::{
        Given, Property, Reported, Schema, Tool, ToolDescriptor, ToolError, ToolRequest,
        ToolResult,
        tools::{Embedder, client},
    },
    pg::metadata::Metadata,
};

use self::place::Place;

const DEFAULT_TOP_N: i64 = 10;
const DEFAULT_CHUNK_SIZE_TOKENS: i64 = 100;
const DEFAULT_LAMBDA: f64 = 0.6;
const DEFAULT_MAX_OUTPUT_TOKENS: i64 = 1000;

/// Searches a table that has vectors of its texts, for its caller.
///
/// It finds out by itself which columns hold vectors and which texts those are of.
#[derive(Clone, Debug)]
pub struct SimilaritySearch {
    databases: Databases,
    embedder: Embedder,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Arguments {
    query_text: Given<String>,
    table_name: Given<String>,
}

// === impl SimilaritySearch ===

impl SimilaritySearch {
    /// Searches the database the caller is using, with vectors made by this embedder.
    #[must_use]
    pub fn new(databases: Databases, embedder: Embedder) -> Self {
        Self {
            databases,
            embedder,
        }
    }

    fn answer(
        &self,
        table: Option<&str>,
        current: &Current,
        metadata: &Metadata,
    ) -> Result<Reported, Reported> {
        let place = Place::find(metadata, table)
            .map_err(|problem| advice::explain(&problem, current.label(), metadata))?;
        Ok(advice::no_vector(self.embedder.refusal(), &place))
    }
}

impl Tool for SimilaritySearch {
    fn describe(&self) -> ToolDescriptor {
        ToolDescriptor::new(
            "similarity_search",
            "Searches a table by meaning: finds the rows whose pgvector columns come closest to \
             a question, cuts their texts into passages, ranks those by their words too, and \
             returns the best ones without repeating itself. The table needs a vector column and \
             the text it was made of; get_schema_info with vector_tables_only lists such tables. \
             For exact conditions use query_database.",
            schema(),
        )
    }

    async fn call(&self, request: ToolRequest) -> Result<ToolResult, ToolError> {
        let arguments: Arguments = request.arguments()?;
        check_question(arguments.query_text)?;
        // Models give empty names for none.
        let table = arguments.table_name.0.filter(|name| !name.is_empty());
        let current = client::current(&self.databases, request.caller()).await?;
        let metadata = client::metadata(&current).await?;
        if let Ok(answer) = self.answer(table.as_deref(), &current, &metadata) {
            return Err(answer.into());
        }
        // What is missing may have come only now.
        let metadata = client::recent_metadata(&current).await?;
        let answer = self.answer(table.as_deref(), &current, &metadata)?;
        Err(answer.into())
    }
}

/// What is looked for; it takes a text with something in it.
fn check_question(query_text: Given<String>) -> Result<(), Reported> {
    let query_text = query_text.0.filter(|text| !text.is_empty());
    let query_text = Given(query_text).or_report("Missing or invalid 'query_text' argument")?;
    if query_text.trim().is_empty() {
        return Err(Reported::new("query_text cannot be empty"));
    }
    Ok(())
}

fn schema() -> Schema {
    let query_text = Property::string("What to look for, in the words of whoever asks.");
    let table_name = Property::string(
        "The table to search, as table or schema.table; in the schema public unless it says \
         otherwise. It can be left out where only one table has vectors.",
    );
    let top_n = Property::integer("How many rows to take the passages from.")
        .with_default(DEFAULT_TOP_N)
        .with_minimum(1);
    let chunk_size = Property::integer("How long a passage may be, in tokens.")
        .with_default(DEFAULT_CHUNK_SIZE_TOKENS)
        .with_minimum(1);
    let lambda = Property::number(
        "What counts, between 0 and 1: 1 takes the passages that fit best, 0 those that differ \
         most from each other.",
    )
    .with_default(DEFAULT_LAMBDA)
    .with_minimum(0)
    .with_maximum(1);
    let max_output = Property::integer("How long all passages together may be, in tokens.")
        .with_default(DEFAULT_MAX_OUTPUT_TOKENS)
        .with_minimum(1);
    let metric = Property::string(
        "How to measure distance: cosine, l2 (or euclidean), inner_product (or inner).",
    )
    .with_default("cosine");
    let format = Property::string(
        "full returns the passages, summary a line of each, ids_only the rows and how far away \
         they are.",
    )
    .with_default("full")
    .with_choices(&["full", "summary", "ids_only"]);
    Schema::new()
        .with_required("query_text", query_text)
        .with_optional("table_name", table_name)
        .with_optional("top_n", top_n)
        .with_optional("chunk_size_tokens", chunk_size)
        .with_optional("lambda", lambda)
        .with_optional("max_output_tokens", max_output)
        .with_optional("distance_metric", metric)
        .with_optional("output_format", format)
}
