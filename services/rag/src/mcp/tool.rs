//! The parts that all tools share: pipelines by their names, and refusals as texts.

use std::sync::Arc;

use ziggurat_audit::Verdict;
use ziggurat_calls::{Call, Caller, ErrorReason};
use ziggurat_llm::Deadline;
use ziggurat_mcp::{self as mcp, Error, Property, Reported, Schema};

use crate::{
    Options,
    citations::bounded,
    failure::{Failure, NOT_OPEN},
    mcp::Settings,
    pipeline::Pipeline,
    pipelines::{FoundPipeline, Pipelines, Served},
    question,
    reply::Refused,
    request::{Query, QueryRequest},
};

/// Limit on a question, in characters.
const MAX_QUERY: usize = 4000;

/// Limit on the description of documents in the description of a tool, in characters.
const MAX_ABOUT: usize = 200;

/// The parts that all tools share.
pub(super) struct Shared {
    pub(super) pipelines: Pipelines,
    pub(super) options: Options,
    pub(super) settings: Settings,
}

/// The pipelines that a tool has for the callers of one list.
#[derive(Clone, Debug)]
pub(super) struct Names(Vec<String>);

// === impl Names ===

impl Names {
    /// Takes the names of pipelines, if there are any.
    pub(super) fn of(seen: impl IntoIterator<Item = impl AsRef<Pipeline>>) -> Option<Self> {
        let names: Vec<_> = seen
            .into_iter()
            .map(|it| it.as_ref().name().to_owned())
            .collect();
        (!names.is_empty()).then_some(Self(names))
    }

    /// Returns the names that begin with a text.
    pub(super) fn from(&self, begun: &str) -> Vec<String> {
        let names = self.0.iter().filter(|name| name.starts_with(begun));
        names.cloned().collect()
    }

    /// Adds the argument with which a client chooses one, if there are several.
    pub(super) fn add_to(&self, schema: Schema) -> Schema {
        match &*self.0 {
            [_] => schema,
            names => {
                let property = Property::string("Documents to use.").with_names(names.to_vec());
                schema.with_required("pipeline", property)
            }
        }
    }

    /// Returns the name that a call means.
    fn meant<'a>(&'a self, given: Option<&'a str>) -> Result<&'a str, Reported> {
        match (&*self.0, given) {
            (_, Some(name)) => Ok(name),
            ([only], None) => Ok(only),
            (several, None) => {
                let list = several.join(", ");
                Err(Reported::new(format!("Missing 'pipeline': one of {list}")))
            }
        }
    }
}

// === impl Shared ===

impl Shared {
    /// Finds the pipeline that a call means. One that is hidden does not exist.
    pub(super) fn find(
        &self,
        names: &Names,
        given: Option<&str>,
        caller: &mcp::Caller,
    ) -> Result<Arc<Pipeline>, Reported> {
        let name = names.meant(given)?;
        let who = Caller::new(caller.extension());
        match self.pipelines.find(name, &who) {
            FoundPipeline::Seen(pipeline) => Ok(pipeline),
            FoundPipeline::Closed => {
                Call::by(caller).set_reason(ErrorReason::Denied);
                Err(Reported::new(NOT_OPEN))
            }
            FoundPipeline::Hidden | FoundPipeline::Absent => {
                Err(Reported::new(format!("Unknown pipeline: {name}")))
            }
        }
    }

    /// Checks a question, and waits until it may be answered.
    pub(super) async fn admit(
        &self,
        call: &Call,
        pipeline: &Pipeline,
        request: QueryRequest,
    ) -> Result<Query, Error> {
        let length = request
            .query
            .as_ref()
            .map_or(0, |text| text.chars().count());
        if length > MAX_QUERY {
            return Err(Error::said(format!(
                "'query' has {length} characters, and may have {MAX_QUERY} at most"
            )));
        }
        let query = request
            .check(self.options.max_query)
            .map_err(|refusal| refused(&refusal))?;
        let admitted = question::admit(call, pipeline, &query).await;
        admitted.map_err(|refusal| refused(&refusal))?;
        self.check_open(call, pipeline).await?;
        let checked = pipeline.check_filter_of_asker(&query).await;
        checked.map_err(|refusal| refused(&refusal))?;
        Ok(query)
    }

    /// Waits until a statement may run in the database of a pipeline.
    pub(super) async fn admit_statement(
        &self,
        call: &Call,
        pipeline: &Pipeline,
    ) -> Result<(), Error> {
        call.admit(pipeline.database(), "").await?;
        self.check_open(call, pipeline).await
    }

    async fn check_open(&self, call: &Call, pipeline: &Pipeline) -> Result<(), Error> {
        let opened = pipeline.check_open().await;
        opened.map_err(|refusal| {
            call.set_reason(ErrorReason::Denied);
            refused(&refusal)
        })
    }

    /// Returns the time limit of a call that begins now.
    pub(super) fn deadline(&self) -> Deadline {
        Deadline::after(self.options.timeouts.request)
    }

    /// Logs a failure, and returns it as one of the fixed sentences.
    pub(super) fn failed(&self, failure: Failure, pipeline: &Pipeline, call: &Call) -> Error {
        match failure.verdict() {
            Verdict::Timeout => call.set_reason(ErrorReason::Timeout),
            Verdict::Denied => call.set_reason(ErrorReason::Denied),
            Verdict::Refused => call.set_reason(ErrorReason::Refused),
            _ => {}
        }
        let rejection = failure.rejection(self.options.retrieval_error_codes);
        failure.log(pipeline.name(), question::trace_id(call).as_ref());
        Error::said(rejection.message().to_owned())
    }
}

fn refused(refusal: &Refused) -> Error {
    Error::said(refusal.rejection().message().to_owned())
}

/// Returns the pipelines that let clients see passages.
pub(super) fn sharing(seen: &Served) -> impl Iterator<Item = &Arc<Pipeline>> {
    seen.iter().filter(|pipeline| pipeline.allows_sources())
}

/// Returns the pipelines with documents that clients may read.
pub(super) fn readable(seen: &Served) -> impl Iterator<Item = &Arc<Pipeline>> {
    sharing(seen).filter(|pipeline| pipeline.retriever().has_ids())
}

/// Returns what a tool is about, for its description: the description of the only pipeline.
pub(super) fn about(seen: impl IntoIterator<Item = impl AsRef<Pipeline>>) -> String {
    let mut seen = seen.into_iter();
    match (seen.next(), seen.next()) {
        (Some(only), None) if !only.as_ref().description().is_empty() => {
            let description = bounded(only.as_ref().description(), MAX_ABOUT);
            format!(" Documents: {}.", description.trim_end_matches('.'))
        }
        _ => String::new(),
    }
}
