//! Questions in progress.

use std::sync::Arc;

use axum::extract::Request;
use http::{Extensions, StatusCode};
use ziggurat_audit::Verdict;
use ziggurat_calls::{
    Call, Caller, Calls, RecordRule, Target,
    http::limited,
    limits::{Allowance, Refused as LimitReached},
};
use ziggurat_layers::{body_limit::BodyPermit, sanitize::TraceId};
use ziggurat_postgres::{call_context::CallContext, database::Database};

use crate::{
    Options, failure::not_open, pipeline::Pipeline, pipelines::FoundPipeline, reply::Refused,
    request::Query,
};

/// Methods of questions in the audit trail, the metrics and the traces.
pub const METHODS: [&str; 2] = [PIPELINE, CHAT];

const PIPELINE: &str = "POST /v1/pipelines/{name}";

const CHAT: &str = "POST /v1/chat/completions";

/// A question that is being answered.
#[derive(Debug, Default)]
pub(super) struct Question {
    call: Call,
    /// The bytes of the body: a question in progress still has its text.
    body: Option<BodyPermit>,
}

// === impl Question ===

impl Question {
    /// Begins a question to a pipeline.
    pub(super) fn to_pipeline<B>(
        calls: &Calls,
        request: &Request<B>,
        pipeline: &str,
        allowance: Option<Arc<Allowance>>,
    ) -> Self {
        let target = Target {
            endpoint: "/v1/pipelines",
            ..target(PIPELINE, pipeline)
        };
        Self::begin(calls, request, &target, allowance)
    }

    /// Begins a conversation with a pipeline.
    pub(super) fn to_chat<B>(
        calls: &Calls,
        request: &Request<B>,
        pipeline: &str,
        allowance: Option<Arc<Allowance>>,
    ) -> Self {
        let target = Target {
            endpoint: "/v1/chat",
            ..target(CHAT, pipeline)
        };
        Self::begin(calls, request, &target, allowance)
    }

    fn begin<B>(
        calls: &Calls,
        request: &Request<B>,
        target: &Target<'_>,
        allowance: Option<Arc<Allowance>>,
    ) -> Self {
        let caller = Caller::of(request.extensions());
        Self {
            call: calls.begin(&caller, target, calls.facts(request), allowance),
            body: None,
        }
    }

    /// Holds the bytes of the body until the end.
    pub(super) fn hold_body(&mut self, extensions: &Extensions) {
        self.body = extensions.get().cloned();
    }

    /// Returns the call.
    pub(super) fn call(&self) -> &Call {
        &self.call
    }

    /// Returns what the statements of the question say of it.
    pub(super) fn context(&self) -> CallContext {
        self.call.context()
    }

    /// Returns the id of the trace for the log, if there is one.
    pub(super) fn trace_id(&self) -> Option<TraceId> {
        trace_id(&self.call)
    }

    /// Returns the pipeline if the caller may use it, and notes if it exists only for others.
    pub(super) fn find<R: From<Refused>>(
        &self,
        found: FoundPipeline,
        absent: impl FnOnce() -> R,
    ) -> Result<Arc<Pipeline>, R> {
        match found {
            FoundPipeline::Seen(pipeline) => return Ok(pipeline),
            FoundPipeline::Closed => return Err(Refused::from(not_open()).into()),
            FoundPipeline::Hidden => self.call.hide(),
            FoundPipeline::Absent => {}
        }
        Err(absent())
    }

    /// Checks the question, and waits until it may be answered.
    pub(super) async fn admit(&self, pipeline: &Pipeline, query: &Query) -> Result<(), Refused> {
        let database: &Arc<Database> = pipeline.database();
        self.call.set_database(pipeline.asked_database());
        if let Some(record) = self.call.record() {
            // At most a digest of it is recorded.
            record.question(&query.text);
            record.database(database.name());
        }
        admit(&self.call, pipeline, query).await?;
        self.call.open().await?;
        pipeline.check_open().await?;
        pipeline.check_filter_of_asker(query).await
    }

    /// Ends a question that is refused.
    pub(super) fn refuse(&self, status: StatusCode) {
        self.end(Verdict::of(status), status);
    }

    /// Ends the question. Only the first end counts.
    pub(super) fn end(&self, verdict: Verdict, status: StatusCode) {
        self.call.end_by_status(verdict, status);
    }
}

/// Returns the id of the trace of a call for the log, if there is one.
pub(super) fn trace_id(call: &Call) -> Option<TraceId> {
    let id = call.trace().id();
    id.map(|id| TraceId::new(id.to_string()))
}

/// Checks a question, and waits until its caller may run statements for it.
pub(super) async fn admit(call: &Call, pipeline: &Pipeline, query: &Query) -> Result<(), Refused> {
    pipeline.check(query)?;
    let admitted = call.admit(pipeline.database(), "").await;
    admitted.map_err(over_limit)
}

fn target<'a>(route: &'static str, pipeline: &'a str) -> Target<'a> {
    Target {
        route,
        method: route,
        pipeline,
        recorded: RecordRule::Always,
        is_measured: true,
        ..Target::none()
    }
}

/// Checks that a caller does not go on with questions although many were refused. Such a question
/// has no record: a flood would fill the audit trail.
///
/// # Errors
/// Fails if it does.
pub(super) fn check_flood(allowance: Option<&Allowance>, options: &Options) -> Result<(), Refused> {
    let Some(reached) = allowance.and_then(Allowance::flooding) else {
        return Ok(());
    };
    let metrics = &options.calls.metrics;
    metrics.refused("limit");
    metrics.limit_reached(reached.key());
    Err(over_limit(reached))
}

/// Refuses a question for a limit of its caller.
pub(super) fn over_limit(reached: LimitReached) -> Refused {
    limited(reached, "rate_limited").into()
}
