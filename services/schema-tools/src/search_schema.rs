//! `search_schema`: finds tables, views, columns, enums, terms and functions, and paths between
//! tables.

mod answer;
mod arguments;
mod cache;
mod full;
mod index;
mod level;
mod lines;
pub(crate) mod name;
pub(crate) mod page;
mod paths;
mod ranking;
mod structured;
#[cfg(test)]
mod tests;
mod words;

use std::sync::Arc;

use ziggurat_answers::{ResultFormat, client};
use ziggurat_databases::{Current, Databases};
use ziggurat_mcp::{
    Annotations, Error, ToolDescriptor, ToolHandler, ToolRequest, ToolResult, Visibility,
};

use self::{
    answer::Answer,
    arguments::{Arguments, Request},
    cache::Cache,
};
use crate::Glossary;

/// Default limit on the tokens of an answer.
const MAX_TOKENS: usize = 4000;

/// Default of [`SearchSchema::with_values_max`].
const VALUES_MAX: u32 = 20;

/// Finds tables of the caller's database by words, and says as much of them as fits.
///
/// The metadata is as old as the database's `metadata_ttl` allows. The words of a database are read
/// once for each state of its metadata, so a search takes milliseconds even with 100,000 tables.
#[derive(Clone, Debug)]
pub struct SearchSchema {
    databases: Databases,
    glossary: Arc<Glossary>,
    max_tokens: usize,
    values_max: u32,
    format: ResultFormat,
    cache: Arc<Cache>,
}

// === impl SearchSchema ===

impl SearchSchema {
    /// Makes a tool that searches the database of its caller.
    #[must_use]
    pub fn new(databases: Databases) -> Self {
        Self {
            databases,
            glossary: Arc::default(),
            max_tokens: MAX_TOKENS,
            values_max: VALUES_MAX,
            format: ResultFormat::default(),
            cache: Arc::default(),
        }
    }

    /// Sets the terms that are found, and the notes that are shown with tables and columns.
    #[must_use]
    pub fn with_glossary(mut self, glossary: Glossary) -> Self {
        self.glossary = Arc::new(glossary);
        self
    }

    /// Sets the limit on the tokens of an answer if a call sets no other (4,000 by default).
    #[must_use]
    pub fn with_max_tokens(mut self, max_tokens: usize) -> Self {
        self.max_tokens = max_tokens;
        self
    }

    /// Sets the number of distinct values (20 by default) up to which the values of a column are
    /// shown; with 0, no values are shown.
    #[must_use]
    pub fn with_values_max(mut self, values_max: u32) -> Self {
        self.values_max = values_max;
        self
    }

    /// Sets the form of the values in texts.
    #[must_use]
    pub fn with_format(mut self, format: ResultFormat) -> Self {
        self.format = format;
        self
    }

    /// Answers from metadata that is at most `metadata_ttl` old. Before it reports that a name is
    /// unknown, it searches the metadata of the last seconds: the name may be new.
    async fn search(
        &self,
        request: &Request,
        current: &Current,
        heading: &str,
    ) -> Result<Answer, Error> {
        let metadata = client::metadata(current).await?;
        let answer = self.answer(request, current, &metadata, heading).await?;
        if let Some(answer) = answer {
            return Ok(answer);
        }
        if !request.has_names() {
            return Err(answer::nothing(request, &metadata).await);
        }
        let metadata = client::recent_metadata(current).await?;
        let answer = self.answer(request, current, &metadata, heading).await?;
        match answer {
            Some(answer) => Ok(answer),
            None => Err(answer::nothing(request, &metadata).await),
        }
    }
}

impl ToolHandler for SearchSchema {
    fn describe(&self) -> ToolDescriptor {
        let tool = ToolDescriptor::new(
            "search_schema",
            "Finds tables and functions by the words of a question. Use it before writing SQL; level full has \
             columns, values and keys.",
            Arguments::schema(self.max_tokens),
        )
        .with_title("Search the schema")
        .without_statements()
        .with_output_on_demand(structured::schema())
        .with_annotations(Annotations::reading())
        .with_visibility(Visibility::OnlyNegotiated);
        client::with_database(&self.databases, tool)
    }

    async fn call(&self, request: ToolRequest) -> Result<ToolResult, Error> {
        let mut arguments: Arguments = request.arguments()?;
        let database = arguments.database.take();
        let format = self.format.of(&request);
        let asked = arguments.request(self.max_tokens, format)?;
        let current = client::chosen(&self.databases, &request, database).await?;
        let label = client::label(&self.databases, &request, &current);
        let answer = self.search(&asked, &current, &label).await;
        let answer = answer.map_err(|error| format.error(client::labelled(&label, error)))?;
        let structure = request.wants_structure().then_some(answer.structure);
        Ok(ToolResult::text(answer.text).with_structure(structure))
    }
}
