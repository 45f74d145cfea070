//! Observation of questions for operators: the audit trail, metrics and traces.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use http::{Extensions, HeaderValue, Request, StatusCode, header::RETRY_AFTER};
use ziggurat_audit::{Audit, CallEnd, CallStart, Caller, Record, Verdict};
use ziggurat_calls::limits::StatementPermit;
use ziggurat_http::SqlCommentKind;
use ziggurat_layers::{
    body_limit::BodyPermit,
    client_ip::ClientIp,
    reject::Rejection,
    sanitize::{RequestId, TraceId},
};
use ziggurat_postgres::{
    call_context::{CallComment, CallContext},
    database::Database,
};
use ziggurat_telemetry::{
    EndedCall, Metrics,
    traces::{Incoming, ServerSpan, Trace, Tracer, Transport},
};

use crate::{
    caller::CallerRecord, limits::CallerLimits, pipeline::Pipeline, pipelines::Found,
    reply::Refused,
};

/// Methods of questions in the audit trail, the metrics and the traces.
pub const METHODS: [&str; 2] = [PIPELINE, CHAT];

const PIPELINE: &str = "POST /v1/pipelines/{name}";

const CHAT: &str = "POST /v1/chat/completions";

/// Seconds after which a client may try again when no record can be written.
const RETRY_SECONDS: u16 = 5;

/// Observes questions. Each part may be off.
#[derive(Clone, Debug, Default)]
pub struct Observation {
    /// The audit trail, if there is one.
    pub audit: Option<Audit>,
    /// The metrics of calls.
    pub metrics: Metrics,
    /// The traces.
    pub tracer: Tracer,
    /// Kind of the comments in statements.
    pub sql_comment: SqlCommentKind,
}

/// The pipeline that a question is for, and the endpoint that it came to.
#[derive(Clone, Copy, Debug)]
pub(super) struct Target<'a> {
    pipeline: &'a str,
    method: &'static str,
    path: &'static str,
}

/// A question that is observed, and counted for its caller. Dropped before its end, it is recorded
/// as cancelled.
#[derive(Debug, Default)]
pub(super) struct ObservedQuestion {
    running: Option<Box<Running>>,
    limits: CallerLimits,
    /// Held until the end.
    permit: Option<StatementPermit>,
    /// The bytes of its body.
    body: Option<BodyPermit>,
    /// The trace of the question, and what its statements say of it.
    call: CallContext,
}

#[derive(Debug)]
struct Running {
    method: &'static str,
    record: Option<Record>,
    metrics: Metrics,
    span: ServerSpan,
    caller_kind: &'static str,
    database: Option<Arc<Database>>,
    rows: Option<u64>,
    bytes: u64,
    began: Instant,
}

// === impl Observation ===

impl Observation {
    /// Returns whether anything is observed.
    #[must_use]
    pub fn is_on(&self) -> bool {
        self.has_request_ids() || self.metrics.is_on()
    }

    /// Returns whether requests need an id: for records, traces or comments.
    #[must_use]
    pub fn has_request_ids(&self) -> bool {
        let has_comments = self.sql_comment != SqlCommentKind::Off;
        self.audit.is_some() || self.tracer.is_on() || has_comments
    }

    /// Begins to observe a question, which counts for the limits of its caller.
    pub(super) fn begin<B>(
        &self,
        request: &Request<B>,
        target: Target<'_>,
        limits: CallerLimits,
    ) -> ObservedQuestion {
        let has_comment = self.sql_comment != SqlCommentKind::Off;
        let caller = if self.is_on() || has_comment {
            CallerRecord::of(request.extensions())
        } else {
            CallerRecord::default()
        };
        let running = self.running(request, target, &caller).map(Box::new);
        let trace = running.as_ref().map(|running| running.span.trace().clone());
        ObservedQuestion {
            call: self.call_context(request, target, &caller, trace.unwrap_or_default()),
            running,
            limits,
            permit: None,
            body: None,
        }
    }

    /// Returns what the statements of a question say of it. This is the place where retrieval learns
    /// who asks: each of its transactions gets this context.
    fn call_context<B>(
        &self,
        request: &Request<B>,
        target: Target<'_>,
        caller: &CallerRecord,
        trace: Trace,
    ) -> CallContext {
        let comment = (self.sql_comment != SqlCommentKind::Off).then(|| CallComment {
            caller: caller.shown(),
            request: request.extensions().get().map(RequestId::to_string),
            pipeline: Some(target.pipeline.to_owned()),
            tool: None,
            has_trace: self.sql_comment == SqlCommentKind::Trace,
        });
        CallContext::new(trace, comment)
    }

    fn running<B>(
        &self,
        request: &Request<B>,
        target: Target<'_>,
        caller: &CallerRecord,
    ) -> Option<Running> {
        if !self.is_on() {
            return None;
        }
        let incoming = Incoming::default().with_headers(request.headers());
        let mut span = self
            .tracer
            .begin(target.method, incoming, caller.is_known());
        span.set_transport(Transport::Tcp);
        Some(Running {
            method: target.method,
            record: self
                .audit
                .as_ref()
                .map(|audit| record(audit, request, target, caller, &span)),
            metrics: self.metrics.clone(),
            span,
            caller_kind: caller.kind(),
            database: None,
            rows: None,
            bytes: 0,
            began: Instant::now(),
        })
    }
}

/// Begins the record of a question.
fn record<B>(
    audit: &Audit,
    request: &Request<B>,
    target: Target<'_>,
    caller: &CallerRecord,
    span: &ServerSpan,
) -> Record {
    let extensions = request.extensions();
    let trace_id = span.trace().id().map(|id| id.to_string());
    audit.begin(&CallStart {
        request_id: extensions.get().map_or("", RequestId::as_str),
        trace_id: trace_id.as_deref().unwrap_or_default(),
        transport: "http",
        endpoint: target.path,
        caller: Caller {
            kind: caller.kind(),
            name: caller.name(),
            token: caller.digits(),
            ip: extensions.get().map(ClientIp::client),
        },
        method: target.method,
        pipeline: target.pipeline,
        ..CallStart::default()
    })
}

// === impl Target ===

impl<'a> Target<'a> {
    /// Names a pipeline whose own endpoint got the question.
    pub(super) fn pipeline(pipeline: &'a str) -> Self {
        Self {
            pipeline,
            method: PIPELINE,
            path: "/v1/pipelines",
        }
    }

    /// Names a pipeline that got a conversation.
    pub(super) fn chat(pipeline: &'a str) -> Self {
        Self {
            pipeline,
            method: CHAT,
            path: "/v1/chat",
        }
    }
}

// === impl ObservedQuestion ===

impl ObservedQuestion {
    /// Holds the bytes of the body until the end: a question in progress still has its text.
    pub(super) fn hold_body(&mut self, extensions: &Extensions) {
        self.body = extensions.get().cloned();
    }

    /// Sets the question, of which at most a digest is recorded, and its database.
    pub(super) fn set_question(&mut self, text: &str, database: &Arc<Database>) {
        let Some(running) = &mut self.running else {
            return;
        };
        if let Some(record) = &running.record {
            record.question(text);
            record.database(database.name());
        }
        running.span.set_database(database.name());
        running.database = Some(Arc::clone(database));
    }

    /// Returns the pipeline if the caller sees it, and records if it exists only for others.
    pub(super) fn find(&self, found: Found) -> Option<Arc<Pipeline>> {
        let running = self.running.as_ref();
        match (found, running.and_then(|running| running.record.as_ref())) {
            (Found::Seen(pipeline), _) => return Some(pipeline),
            (Found::Hidden, Some(record)) => record.hidden(),
            (Found::Hidden | Found::Absent, _) => {}
        }
        None
    }

    /// Returns the trace of the question, and what its statements say of it.
    pub(super) fn call(&self) -> &CallContext {
        &self.call
    }

    /// Returns the id of the trace for the log, if there is one.
    pub(super) fn trace_id(&self) -> Option<TraceId> {
        let id = self.call.trace().id();
        id.map(|id| TraceId::new(id.to_string()))
    }

    /// Waits until the limits of the caller let the question run, but no longer than `wait`.
    ///
    /// # Errors
    /// Fails if a limit is reached.
    pub(super) async fn admit(&mut self, wait: Duration) -> Result<(), Refused> {
        self.permit = self.limits.admit(wait).await?;
        Ok(())
    }

    /// Waits until the audit trail says that the question is about to be answered, if that is
    /// required.
    ///
    /// # Errors
    /// Fails if that cannot be recorded.
    pub(super) async fn open(&self) -> Result<(), Refused> {
        let running = self.running.as_ref();
        let record = running.and_then(|running| running.record.as_ref());
        let Some(record) = record else { return Ok(()) };
        record.open().await.map_err(|_| {
            let status = StatusCode::SERVICE_UNAVAILABLE;
            Rejection::new(status, "audit_unavailable", "Audit is unavailable")
                .with_header(RETRY_AFTER, HeaderValue::from(RETRY_SECONDS))
                .into()
        })
    }

    /// Sets the number of passages that were found.
    pub(super) fn set_rows(&mut self, rows: usize) {
        let rows = rows.try_into().unwrap_or(u64::MAX);
        self.limits.count_rows(rows);
        let Some(running) = &mut self.running else {
            return;
        };
        running.span.set_rows(rows);
        running.rows = Some(rows);
    }

    /// Adds bytes of the answer.
    pub(super) fn add_bytes(&mut self, bytes: Option<u64>) {
        let Some(bytes) = bytes else { return };
        self.limits.count_bytes(bytes);
        if let Some(running) = &mut self.running {
            running.bytes = running.bytes.saturating_add(bytes);
        }
    }

    /// Ends a question that is refused.
    pub(super) fn refuse(&mut self, status: StatusCode) {
        let verdict = match status {
            StatusCode::NOT_FOUND => Verdict::Unknown,
            StatusCode::REQUEST_TIMEOUT => Verdict::Timeout,
            StatusCode::TOO_MANY_REQUESTS => Verdict::Limited,
            status if status.is_server_error() => Verdict::Failed,
            _ => Verdict::Refused,
        };
        self.end(verdict, status);
    }

    /// Ends the question. Only the first end counts.
    pub(super) fn end(&mut self, verdict: Verdict, status: StatusCode) {
        self.permit = None;
        if let Some(running) = self.running.take() {
            running.end(verdict, Some(status));
        }
    }
}

impl Drop for ObservedQuestion {
    fn drop(&mut self) {
        if let Some(running) = self.running.take() {
            running.end(Verdict::Cancelled, None);
        }
    }
}

// === impl Running ===

impl Running {
    fn end(mut self, verdict: Verdict, status: Option<StatusCode>) {
        let database = self
            .database
            .as_ref()
            .map_or("", |database| database.name());
        self.metrics.call_ended(&EndedCall {
            method: self.method,
            database,
            verdict: verdict.as_str(),
            caller_kind: self.caller_kind,
            duration: self.began.elapsed(),
            bytes: self.bytes,
            ..EndedCall::default()
        });
        self.span.set_verdict(verdict.as_str());
        let code = status.filter(|status| !status.is_success());
        if let Some(code) = &code {
            self.span.set_error(code.as_str());
        }
        let Some(record) = self.record else { return };
        record.end(CallEnd {
            rows: self.rows,
            bytes: self.bytes,
            code: code.as_ref().map_or("", StatusCode::as_str),
            ..verdict.into()
        });
    }
}
