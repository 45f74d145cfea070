//! `ask_documents`: an answer with its sources.

use std::{collections::BTreeMap, sync::Arc};

use serde::{Deserialize, Serialize};
use ziggurat_calls::Call;
use ziggurat_mcp::{
    Annotations, Error, Progress, Property, Recorded, Schema, Structure, ToolDescriptor,
    ToolHandler, ToolRequest, ToolResult,
};
use ziggurat_search::sentences;
use ziggurat_text::hidden;

use crate::{
    answer::{Answer, Step, answer},
    citations::Citation,
    filter::Filter,
    mcp::{
        passages::SourceLabel,
        search::{filter, top_n},
        tool::{Names, Shared, about},
    },
    pipeline::{Pipeline, prompt::Nonce},
    pipelines::Served,
    request::{Message, QueryRequest},
};

/// Name of the tool.
const NAME: &str = "ask_documents";

/// Part of the limit on a result that the list of sources may take.
const SOURCES_SHARE: usize = 4;

/// Has a model answer from passages.
pub(super) struct AskDocuments {
    shared: Arc<Shared>,
    names: Names,
    about: String,
    is_local: bool,
}

#[derive(Deserialize)]
struct Arguments {
    query: Option<String>,
    pipeline: Option<String>,
    top_n: Option<i64>,
    filter: Option<Filter>,
    messages: Option<Vec<Message>>,
}

/// The answer for a program.
#[derive(Serialize)]
struct Answered {
    answer: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    sources: Option<Vec<NumberedSource>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    citations: Option<Vec<Citation>>,
    tokens_used: u64,
    /// True if nothing relevant was found.
    no_answer: bool,
}

/// A source, by the number of its marks.
#[derive(Serialize)]
struct NumberedSource {
    number: usize,
    #[serde(flatten)]
    source: SourceLabel,
}

// === impl AskDocuments ===

impl AskDocuments {
    pub(super) fn new(shared: &Arc<Shared>, seen: &Served) -> Option<Self> {
        Some(Self {
            shared: Arc::clone(shared),
            names: Names::of(seen)?,
            about: about(seen),
            is_local: seen.iter().all(|pipeline| pipeline.completer().is_local()),
        })
    }

    fn result(&self, answer: Answer, pipeline: &Pipeline) -> Result<ToolResult, Error> {
        let max_bytes = self.shared.settings.max_result_tokens.saturating_mul(4);
        let retriever = pipeline.retriever();
        let sources = answer
            .sources
            .iter()
            .map(|it| SourceLabel::of(it, retriever));
        let sources = (1..).zip(sources);
        let sources: Vec<_> = sources
            .map(|(number, source)| NumberedSource { number, source })
            .collect();
        let list = source_list(
            &sources,
            answer.citations.as_deref().unwrap_or_default(),
            max_bytes / SOURCES_SHARE,
        )?;
        let mut text = hidden::escaped(&answer.text).into_owned();
        let room = max_bytes.saturating_sub(list.len());
        if text.len() > room {
            text = format!("{}...", sentences::leading(&text, room.saturating_sub(3)));
        }
        let structure = Structure::new(&Answered {
            answer: text.clone(),
            sources: pipeline.allows_sources().then_some(sources),
            citations: answer.citations,
            tokens_used: answer.usage.total_tokens,
            no_answer: !answer.has_passages,
        });
        let structure = structure.map_err(Error::internal)?;
        Ok(ToolResult::text(text + &list).with_structure(Some(structure)))
    }
}

impl ToolHandler for AskDocuments {
    fn describe(&self) -> ToolDescriptor {
        let message = Schema::new()
            .with_required(
                "role",
                Property::string("").with_choices(["user", "assistant"]),
            )
            .with_required("content", Property::string(""));
        let arguments = Schema::new()
            .with_required("query", Property::string("The question."))
            .with_optional("top_n", top_n())
            .with_optional("filter", filter())
            .with_optional("messages", Property::objects("Earlier turns.", message));
        let doubt = Property::boolean("False: doubtful.");
        let citation = Schema::new().with_optional("supported", doubt);
        let result = Schema::new()
            .with_required("answer", Property::string("With marks [1]."))
            .with_optional("sources", Property::objects("", SourceLabel::schema()))
            .with_optional("citations", Property::objects("", citation))
            .with_required("tokens_used", Property::integer("Of the model."))
            .with_required("no_answer", Property::boolean("Nothing found."));
        let description = format!(
            "Answers a question from documents, with marks [1].{}",
            self.about
        );
        let annotations = if self.is_local {
            Annotations::reading()
        } else {
            Annotations::asking()
        };
        ToolDescriptor::new(NAME, description, self.names.add_to(arguments))
            .with_title("Ask documents")
            .with_annotations(annotations)
            .with_output(result)
            .with_recorded(Recorded::Question("query"))
    }

    async fn call(&self, request: ToolRequest) -> Result<ToolResult, Error> {
        let arguments: Arguments = request.arguments()?;
        let shared = &self.shared;
        let pipeline = shared.find(&self.names, arguments.pipeline.as_deref(), request.caller())?;
        let call = Call::of(&request);
        let has_sources = Some(pipeline.allows_sources());
        let question = QueryRequest {
            query: arguments.query,
            top_n: arguments.top_n,
            filter: arguments.filter,
            messages: arguments.messages,
            include_sources: has_sources,
            citations: has_sources,
            ..QueryRequest::default()
        };
        let query = shared.admit(call, &pipeline, question).await?;
        let report = request
            .progress()
            .map(|progress| move |step| report(progress, step));
        let watch = report
            .as_ref()
            .map(|report| report as &(dyn Fn(Step) + Send + Sync));
        // The state of an answer is too large to be a part of this future.
        let answered = answer(&pipeline, query, shared.deadline(), call, watch);
        let answered = Box::pin(answered).await;
        let answered = answered.map_err(|failure| shared.failed(failure, &pipeline, call))?;
        self.result(answered, &pipeline)
    }
}

/// Reports a step to the client.
fn report(progress: &Progress, step: Step) {
    match step {
        Step::Retrieving => progress.step("retrieving"),
        Step::Answering => progress.step("answering"),
        Step::Written(tokens) => progress.step(&format!("answering: {tokens} tokens")),
    }
}

/// Lists the sources that the answer cites, or all if it cites none.
fn source_list(
    sources: &[NumberedSource],
    cited: &[Citation],
    max_bytes: usize,
) -> Result<String, Error> {
    let is_shown = |source: &&NumberedSource| {
        cited.is_empty()
            || cited
                .iter()
                .any(|citation| citation.marker == source.number)
    };
    if sources.is_empty() {
        return Ok(String::new());
    }
    // The titles are texts of documents.
    let nonce = Nonce::new().map_err(Error::internal)?;
    let mut list = format!("\n\nSources:\n{}\n", nonce.begin());
    for source in sources.iter().filter(is_shown) {
        let line = format!("[{}] {}\n", source.number, source.source.line());
        if list.len() + line.len() > max_bytes {
            list.push_str("...\n");
            break;
        }
        list.push_str(&line);
    }
    list.push_str(&nonce.end());
    list.push_str(&doubts(cited));
    Ok(list)
}

/// Names the sources with doubtful marks, on a line of its own; empty without such marks.
fn doubts(cited: &[Citation]) -> String {
    let mut marks: BTreeMap<usize, (usize, usize)> = BTreeMap::new();
    for citation in cited {
        let (doubtful, all) = marks.entry(citation.marker).or_default();
        *doubtful += usize::from(citation.supported == Some(false));
        *all += 1;
    }
    let marks = marks.iter().filter(|(_, (doubtful, _))| *doubtful > 0);
    let marks = marks.map(|(marker, (doubtful, all))| format!("[{marker}] ({doubtful} of {all})"));
    let marks: Vec<_> = marks.collect();
    if marks.is_empty() {
        return String::new();
    }
    format!(
        "\nMarks not supported by their passage: {}",
        marks.join(", ")
    )
}
