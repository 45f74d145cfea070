//! `search_knowledgebase`: searches the documentation of the operator.

mod answer;
mod structured;
#[cfg(test)]
mod tests;

use std::error::Error as StdError;

use serde::Deserialize;
use tracing::warn;
use ziggurat_knowledge::{Embed, Error as KnowledgeError, Filter, KnowledgeBase};
use ziggurat_llm::Embedder;
use ziggurat_mcp::{
    Annotations, Error, Lenient, Property, Recorded, Reported, Schema, ToolDescriptor, ToolHandler,
    ToolRequest, ToolResult, Visibility,
};

use ziggurat_answers::{CallFormat, ResultFormat};
use ziggurat_calls::Call;

/// Default and maximum number of passages in an answer.
const DEFAULT_TOP_N: i64 = 5;
const MAX_TOP_N: i64 = 20;

/// Searches the documentation of the operator for its caller, if there is any.
#[derive(Clone, Debug)]
pub struct SearchKnowledgebase<E = Embedder> {
    source: Source<E>,
    format: ResultFormat,
}

#[derive(Clone, Debug)]
enum Source<E> {
    /// No documentation; the message says why.
    None(&'static str),
    Base {
        base: KnowledgeBase,
        embedder: E,
    },
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Arguments {
    query: Lenient<String>,
    project_names: Lenient<Names>,
    project_versions: Lenient<Names>,
    top_n: Lenient<i64>,
    list_products: Lenient<bool>,
}

/// Accepts one name, because models send one instead of a list of one.
#[derive(Deserialize)]
#[serde(untagged)]
enum Names {
    One(String),
    Many(Vec<String>),
}

// === impl SearchKnowledgebase ===

impl<E: Embed> SearchKnowledgebase<E> {
    /// Makes a tool that reports that there is no documentation.
    #[must_use]
    pub fn unconfigured() -> Self {
        Self::of(Source::None("Knowledgebase search is not configured"))
    }

    /// Makes a tool that reports that the search is enabled, but no file is named.
    #[must_use]
    pub fn unplaced() -> Self {
        Self::of(Source::None(
            "Knowledgebase search is not configured: it is enabled, but no file is named",
        ))
    }

    /// Makes a tool that searches this documentation, with question vectors of this embedder.
    #[must_use]
    pub fn new(base: KnowledgeBase, embedder: E) -> Self {
        Self::of(Source::Base { base, embedder })
    }

    /// Sets the form of the passages in texts.
    #[must_use]
    pub fn with_format(mut self, format: ResultFormat) -> Self {
        self.format = format;
        self
    }

    fn of(source: Source<E>) -> Self {
        let format = ResultFormat::default();
        Self { source, format }
    }

    async fn answer(&self, request: &ToolRequest, format: CallFormat) -> Result<ToolResult, Error> {
        let (base, embedder) = match &self.source {
            Source::None(absence) => return Err(Reported::new(*absence).into()),
            Source::Base { base, embedder } => (base, embedder),
        };
        let arguments: Arguments = request.arguments()?;
        if arguments.list_products.0 == Some(true) {
            let products = base.products().await;
            let products = products.map_err(|error| refusal("Failed to list products", &error))?;
            let structure = || structured::products(&products);
            let structure = request.wants_structure().then(structure);
            let text = answer::products(&products, format);
            return Ok(ToolResult::text(text).with_structure(structure));
        }
        let query = question(arguments.query)?;
        let filter = Filter {
            projects: names(arguments.project_names),
            versions: names(arguments.project_versions),
        };
        let top_n = arguments.top_n.0.unwrap_or(DEFAULT_TOP_N);
        let top_n = usize::try_from(top_n.clamp(1, MAX_TOP_N)).unwrap_or(1);

        let failed = |error: KnowledgeError| refusal("Knowledgebase search failed", &error);
        // Before the vector, because a provider may charge for it.
        let search = base.search(&filter).await.map_err(failed)?;
        let trace = Call::of(request).trace();
        let vector = embedder.vector(&query, trace).await.map_err(|error| {
            Reported::new(format!("Failed to generate query embedding: {error}"))
        })?;
        let found = search.find(&query, &vector, top_n).await.map_err(failed)?;
        let structure = || structured::passages(&found);
        let structure = request.wants_structure().then(structure);
        Ok(
            ToolResult::text(answer::passages(&query, &filter, &found, format))
                .with_structure(structure),
        )
    }
}

impl<E: Embed + 'static> ToolHandler for SearchKnowledgebase<E> {
    fn describe(&self) -> ToolDescriptor {
        let query = Property::string("The search text; required unless list_products is true.");
        let names = Property::strings("Only passages about these products.");
        let versions = Property::strings("Only passages about these versions.");
        let top_n = Property::integer("Maximum number of passages.")
            .with_default(DEFAULT_TOP_N)
            .with_minimum(1)
            .with_maximum(MAX_TOP_N);
        let list = Property::boolean("List the products and versions instead of searching.");
        let about = ToolDescriptor::new(
            "search_knowledgebase",
            "Searches the documentation of the server by meaning and words, and returns the best \
             passages. List the products first to see what it covers.",
            Schema::new()
                .with_optional("query", query)
                .with_optional("project_names", names)
                .with_optional("project_versions", versions)
                .with_optional("top_n", top_n)
                .with_optional("list_products", list.with_default(false)),
        )
        .with_title("Search the documentation")
        .with_recorded(Recorded::Question("query"))
        .without_statements()
        .with_output_on_demand(structured::schema())
        .with_annotations(Annotations::asking());
        match self.source {
            Source::None(_) => about.with_visibility(Visibility::Nowhere),
            Source::Base { .. } => about.with_visibility(Visibility::Negotiated),
        }
    }

    async fn call(&self, request: ToolRequest) -> Result<ToolResult, Error> {
        let format = self.format.of(&request);
        let answer = self.answer(&request, format).await;
        answer.map_err(|error| format.error(error))
    }
}

/// Returns the text to search for, which must not be blank.
fn question(query: Lenient<String>) -> Result<String, Reported> {
    let query = query.or_report("Missing or invalid 'query' argument")?;
    if query.trim().is_empty() {
        return Err(Reported::new(
            "query parameter is required when not using list_products",
        ));
    }
    Ok(query)
}

/// Returns the names that are not empty, because models send empty names for missing ones.
fn names(given: Lenient<Names>) -> Vec<String> {
    let names = match given.0 {
        None => Vec::new(),
        Some(Names::One(name)) => vec![name],
        Some(Names::Many(names)) => names,
    };
    names
        .into_iter()
        .filter(|name| !name.trim().is_empty())
        .collect()
}

/// Describes an error. Causes within the server are only logged.
fn refusal(what: &'static str, error: &KnowledgeError) -> Reported {
    if let KnowledgeError::UnknownProject(_) = error {
        return Reported::new(format!(
            "{error}\nThe products there are can be listed with list_products."
        ));
    }
    if error.source().is_some() {
        warn!(error = error as &dyn StdError, "{what}");
    }
    Reported::new(format!("{what}: {error}"))
}
