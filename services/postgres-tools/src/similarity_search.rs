//! `similarity_search`: finds the passages of a table that are closest to a question.
//!
//! An index finds the rows with the closest vectors, and their texts are cut into passages. The
//! distance of its row and the words of the question decide which passages come first.

mod advice;
mod answer;
mod arguments;
mod columns;
mod passages;
mod structured;
mod target_table;
#[cfg(test)]
mod tests;
mod weights;

use tokio::join;
use ziggurat_databases::{Current, Databases};
use ziggurat_mcp::{
    Annotations, Error, Recorded, Reported, Structure, ToolDescriptor, ToolHandler, ToolRequest,
    ToolResult,
};
use ziggurat_postgres::{error::QueryError, statement::MaskedColumns};
use ziggurat_telemetry::traces::Trace;
use ziggurat_vector_search::{Metric, Nearest, Neighbour};

use ziggurat_answers::{CallFormat, ResultFormat, SqlErrors, client};
use ziggurat_calls::Call;

use crate::{Embedder, embedder::EmbedError};

use self::{
    answer::Answer,
    arguments::{Arguments, Format, SearchCall},
    target_table::TargetTable,
    weights::{Part, Sample},
};

/// Limit on the characters of a text that are read.
const MAX_CHARACTERS: u32 = 65_536;

/// Limit on the characters of all texts that are held in memory.
const MAX_CHARACTERS_HELD: u32 = 1 << 22;

/// Searches a table with vectors of its texts, for its caller.
///
/// It detects which columns hold vectors and which texts they belong to. It reads only the
/// beginning of long texts: 65,536 characters, or less if many rows are requested.
#[derive(Clone, Debug)]
pub struct SimilaritySearch {
    databases: Databases,
    embedder: Embedder,
    format: ResultFormat,
}

/// The form of an answer.
#[derive(Clone, Copy)]
struct Form<'a> {
    /// The line that names the database.
    heading: &'a str,
    format: CallFormat,
    is_structured: bool,
    /// Describes errors of the statement, for a client that negotiates a revision. The statement is
    /// not the caller's, so its text is not quoted.
    errors: Option<&'a SqlErrors>,
    /// Advice may name the tool `get_schema_info`.
    has_schema_info: bool,
    call: &'a Call,
}

/// The vector of a question, and its origin.
struct QuestionVector {
    vector: Vec<f32>,
    is_local: bool,
}

// === impl SimilaritySearch ===

impl SimilaritySearch {
    /// Makes a tool that searches the database of the caller, with vectors of this embedder.
    #[must_use]
    pub fn new(databases: Databases, embedder: Embedder) -> Self {
        Self {
            databases,
            embedder,
            format: ResultFormat::default(),
        }
    }

    /// Sets the form of the passages in texts.
    #[must_use]
    pub fn with_format(mut self, format: ResultFormat) -> Self {
        self.format = format;
        self
    }

    async fn run(
        &self,
        search_call: &SearchCall,
        current: &Current,
        form: Form<'_>,
    ) -> Result<ToolResult, Error> {
        let table = search_call.table.as_deref();
        let mut metadata = client::metadata(current).await?;
        if TargetTable::find(&metadata, table).is_err() {
            // The table may have been created just now.
            metadata = client::recent_metadata(current).await?;
        }
        let mut place = TargetTable::find(&metadata, table)
            .map_err(|problem| advice::explain(&problem, current.label(), &metadata, form))?;
        let masked = MaskedColumns::of(current.pool(), place.table.oid()).await;
        let masked = masked.map_err(|error| Reported::new(error.to_string()))?;
        if !place.leave_out(masked) {
            return Err(Reported::new("The texts of this table are masked.").into());
        }
        Ok(self.search(search_call, current, &place, form).await?)
    }

    async fn search(
        &self,
        search_call: &SearchCall,
        current: &Current,
        place: &TargetTable<'_>,
        form: Form<'_>,
    ) -> Result<ToolResult, Reported> {
        // PostgreSQL samples the texts while the vector is computed.
        let (asked, sample) = join!(
            self.ask(&search_call.question, current.pool().call().trace()),
            sample(current, place, form)
        );
        let asked = asked.map_err(|error| advice::no_vector(&error, place))?;
        let parts = parts(place, asked.vector.len(), &sample?);
        if parts.is_empty() {
            return Err(advice::misfit(asked.vector.len(), place));
        }
        let rows = match find(search_call, current, place, &parts, &asked.vector).await {
            Ok(rows) => rows,
            Err(error) => return Err(advice::failed(&error, place, form).await),
        };
        let answer = Answer {
            label: current.label(),
            heading: form.heading,
            format: form.format,
            place,
            search_call,
            parts: &parts,
            is_local: asked.is_local,
            shows_ids: form.errors.is_some(),
        };
        if search_call.format == Format::Ids {
            let text = if rows.is_empty() {
                answer.nothing()
            } else {
                answer.rows(&rows)
            };
            let structure = form.is_structured.then(|| structured::rows(&answer, &rows));
            return Ok(form.result(rows.len(), &text, structure));
        }
        let passages = passages::take(&rows, search_call);
        let text = if rows.is_empty() {
            answer.nothing()
        } else if passages.is_empty() {
            answer.nothing_fits(rows.len())
        } else {
            answer.passages(&passages)
        };
        let structure = form
            .is_structured
            .then(|| structured::passages(&answer, &passages));
        Ok(form.result(passages.len(), &text, structure))
    }

    async fn ask(&self, question: &str, trace: Trace) -> Result<QuestionVector, EmbedError> {
        let embedder = self.embedder.ready()?.with_trace(trace);
        let embedding = embedder.embed(question).await?;
        Ok(QuestionVector {
            vector: embedding.vector,
            is_local: embedder.is_local(),
        })
    }
}

// === impl Form ===

impl Form<'_> {
    /// Returns a result with so many rows or passages, which are counted.
    fn result(self, rows: usize, text: &str, structure: Option<Structure>) -> ToolResult {
        let text = self.format.text(text).into_owned();
        let rows = rows.try_into().unwrap_or(u64::MAX);
        self.call.set_rows(rows);
        self.call.count(rows, text.len());
        ToolResult::text(text).with_structure(structure)
    }
}

impl ToolHandler for SimilaritySearch {
    fn describe(&self) -> ToolDescriptor {
        let tool = ToolDescriptor::new(
            "similarity_search",
            "Searches a table by meaning: finds the rows whose pgvector columns come closest to \
             a question, cuts their texts into passages, ranks those by their words too, and \
             returns the best ones without repeating itself. The table needs a vector column and \
             the text it was made of; get_schema_info with vector_tables_only lists such tables. \
             For exact conditions use query_database.",
            arguments::schema(),
        )
        .with_title("Search by meaning")
        .with_recorded(Recorded::Question("query_text"))
        .with_output_on_demand(structured::schema())
        .with_annotations(Annotations::asking())
        .with_visibility(self.embedder.visibility());
        client::with_database(&self.databases, tool)
    }

    async fn call(&self, request: ToolRequest) -> Result<ToolResult, Error> {
        let mut arguments: Arguments = request.arguments()?;
        let database = arguments.database.0.take();
        let search_call = SearchCall::read(arguments)?;
        let current = client::chosen(&self.databases, &request, database).await?;
        // Its statements are written here, and several.
        let call = Call::of(&request);
        call.admit(current.database(), "").await?;
        call.runs();
        let label = client::label(&self.databases, &request, &current);
        let errors = || SqlErrors::new(&current, "").for_request(&request);
        let errors = request.is_negotiated().then(errors);
        let form = Form {
            heading: &client::heading(&self.databases, &request, &current),
            format: self.format.of(&request),
            is_structured: request.wants_structure(),
            errors: errors.as_ref(),
            call,
            has_schema_info: !request.is_negotiated()
                || request.listed_tools().has("get_schema_info"),
        };
        let found = self.run(&search_call, &current, form).await;
        found.map_err(|error| form.format.error(client::labelled(&label, error)))
    }
}

/// Returns the texts of a few rows, if the weights depend on them.
async fn sample(
    current: &Current,
    place: &TargetTable<'_>,
    form: Form<'_>,
) -> Result<Sample, Reported> {
    if place.pairs.len() < 2 {
        return Ok(Sample::new());
    }
    match nearest(place, &[], 0).sample(current.pool()).await {
        Ok(sample) => Ok(sample),
        Err(error) => Err(advice::failed(&error, place, form).await),
    }
}

/// Returns the vectors with this number of dimensions, and their weights.
fn parts<'a>(place: &TargetTable<'a>, dimensions: usize, sample: &Sample) -> Vec<Part<'a>> {
    let fits = |dims: u32| dims == 0 || usize::try_from(dims) == Ok(dimensions);
    if place.pairs.is_empty() {
        let vectors = place.vectors.iter().copied();
        let vectors: Vec<_> = vectors
            .filter(|vector| fits(vector.vector_dims()))
            .collect();
        return weights::of_vectors(&vectors);
    }
    let pairs = place.pairs.iter().copied();
    let pairs: Vec<_> = pairs
        .filter(|pair| fits(pair.vector.vector_dims()))
        .collect();
    weights::of_pairs(&pairs, &place.texts, sample)
}

async fn find(
    search_call: &SearchCall,
    current: &Current,
    place: &TargetTable<'_>,
    parts: &[Part<'_>],
    asked: &[f32],
) -> Result<Vec<Neighbour>, QueryError> {
    let mut nearest = nearest(place, parts, search_call.candidates());
    nearest.metric = search_call.metric;
    if search_call.format == Format::Ids {
        nearest.texts.clear();
    }
    nearest.find(asked, current.pool()).await
}

fn nearest<'a>(place: &TargetTable<'a>, parts: &[Part<'a>], rows: u32) -> Nearest<'a> {
    let texts = u32::try_from(place.texts.len()).unwrap_or(u32::MAX);
    let held = MAX_CHARACTERS_HELD / rows.saturating_mul(texts).max(1);
    Nearest {
        table: place.table,
        vectors: parts.iter().map(Part::weighted).collect(),
        texts: place.texts.clone(),
        id: place.id(),
        metric: Metric::default(),
        rows,
        characters: held.clamp(1, MAX_CHARACTERS),
    }
}
