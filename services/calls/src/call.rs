//! Calls, from their beginning to their end.

use std::{
    future::poll_fn,
    mem,
    pin::pin,
    sync::{Arc, Mutex},
    task::{Context, Poll},
    time::{Duration, Instant},
};

use ziggurat_audit::{Audit, CallEnd, CallStart, Record, Verdict};
use ziggurat_http::SqlCommentKind;
use ziggurat_layers::reject::Rejection;
use ziggurat_postgres::{
    call_context::{CallComment, CallContext},
    database::Database,
    error::QueryError,
    pool::{Lease, LeaseError, Pool},
};
use ziggurat_receipts::Receipts;
use ziggurat_runtime::lock;
use ziggurat_telemetry::{
    EndedCall, Metrics,
    traces::{ServerSpan, Trace, Tracer, Transport},
};

use crate::{
    CallReceipt, Caller, RecordRule, RequestFacts, Target,
    activity::{Activity, CallEntry, CancelledBy, End, FollowedCall},
    http::audit_unavailable,
    limits::{Allowance, Left, Refused, StatementPermit},
};

/// Begins calls. Each part may be off.
#[derive(Clone, Debug, Default)]
pub struct Calls {
    /// The audit trail, if there is one.
    pub audit: Option<Audit>,
    /// The metrics of calls.
    pub metrics: Metrics,
    /// The traces.
    pub tracer: Tracer,
    /// The list of running statements, if there is one.
    pub activity: Option<Activity>,
    /// Kind of the comments in statements.
    pub sql_comment: SqlCommentKind,
    /// The receipts of answers, if there are some.
    pub receipts: Option<Receipts>,
}

/// A call, from its beginning to its end. Clones are the same call.
///
/// A door of the program begins the call and passes it on. The parts that answer the call admit
/// their statements with it, and note what they learn. The first [`end`](Self::end) writes the
/// record, the metrics, the span and the entry in the list of statements. A call without an end was
/// cancelled. Where everything is off, a call is empty, and nothing is noted.
#[derive(Clone, Debug, Default)]
pub struct Call(Option<Arc<CallState>>);

#[derive(Debug)]
struct CallState {
    context: CallContext,
    record: Option<Record>,
    allowance: Option<Arc<Allowance>>,
    entry: CallEntry,
    measured: Option<Measured>,
    receipt: Option<Arc<CallReceipt>>,
    /// True for a call of the Model Context Protocol.
    is_protocol: bool,
    progress: Mutex<Progress>,
}

/// Metrics of a call, and its labels there.
#[derive(Debug)]
struct Measured {
    metrics: Metrics,
    route: &'static str,
    tool: String,
    caller_kind: &'static str,
    began: Instant,
}

/// State of a call.
#[derive(Debug, Default)]
struct Progress {
    span: ServerSpan,
    followed: Option<FollowedCall>,
    /// Kept to the end, because a statement runs until its rows have been sent.
    permit: Option<StatementPermit>,
    database: Option<Arc<Database>>,
    rows: Option<u64>,
    /// Bytes that were counted so far.
    bytes: u64,
    sqlstate: Option<String>,
    reason: Option<ErrorReason>,
    /// The end that the answering part has noted.
    verdict: Option<Verdict>,
    /// The limit that the call does not begin for.
    refused: Option<Refused>,
    is_hidden: bool,
    has_ended: bool,
}

/// A reason for an error that is reported to the caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorReason {
    /// A rule of this server forbids the statement, or PostgreSQL because it may only read.
    Refused,
    /// The caller may not use the database, or its password is wrong.
    Denied,
    /// The limit with this name was reached.
    Limited(&'static str),
    /// The statement took too long.
    Timeout,
    /// It has to be approved first.
    Asked,
    /// It is not known whether it was committed.
    Unknown,
}

// === impl Calls ===

impl Calls {
    /// Returns whether requests need an id: for records, traces or comments.
    #[must_use]
    pub fn has_request_ids(&self) -> bool {
        self.audit.is_some() || self.tracer.is_on() || self.has_comments()
    }

    /// Returns whether the beginning and the end of calls are observed.
    #[must_use]
    pub fn is_on(&self) -> bool {
        self.has_request_ids() || self.metrics.is_on()
    }

    /// Returns whether statements have comments.
    pub(crate) fn has_comments(&self) -> bool {
        self.sql_comment != SqlCommentKind::Off
    }

    /// Returns whether something is noted of a call, which may have an allowance and may run
    /// statements.
    #[must_use]
    pub fn observes(&self, is_limited: bool, has_statements: bool) -> bool {
        let has_part = self.activity.is_some() || self.receipts.is_some();
        self.is_on() || is_limited || has_statements && has_part
    }

    /// Begins a call of a caller, which has an allowance if it has limits.
    #[must_use]
    pub fn begin(
        &self,
        caller: &Caller<'_>,
        target: &Target<'_>,
        request: RequestFacts<'_>,
        allowance: Option<Arc<Allowance>>,
    ) -> Call {
        if !self.observes(allowance.is_some(), target.followed.is_some()) {
            return Call::off();
        }
        let followed = self.follow(caller, target);
        let comment = self.comment(caller, target, &request);
        let request_id = request.id;
        let span = self.span(caller, target, request);
        let trace = span.trace();
        let entry = followed.as_ref().map(FollowedCall::entry);
        Call(Some(Arc::new(CallState {
            context: CallContext::new(trace.clone(), comment),
            record: self.record(caller, target, request_id, trace),
            allowance,
            entry: entry.unwrap_or_default(),
            measured: self.measured(caller, target),
            receipt: None,
            is_protocol: target.protocol.is_some(),
            progress: Mutex::new(Progress {
                span,
                followed,
                ..Progress::default()
            }),
        })))
    }

    /// Follows a call that may run statements, for the list of those that run.
    fn follow(&self, caller: &Caller<'_>, target: &Target<'_>) -> Option<FollowedCall> {
        self.activity
            .as_ref()?
            .begin(caller, target.followed.as_ref()?)
    }

    /// Returns the comment for the statements of a call.
    fn comment(
        &self,
        caller: &Caller<'_>,
        target: &Target<'_>,
        request: &RequestFacts<'_>,
    ) -> Option<CallComment> {
        let owned = |text: &str| (!text.is_empty()).then(|| text.to_owned());
        self.has_comments().then(|| CallComment {
            caller: caller.shown(),
            request: owned(request.id),
            tool: owned(target.named()),
            pipeline: owned(target.pipeline),
            has_trace: self.sql_comment == SqlCommentKind::Trace,
        })
    }

    /// Begins the span of a call, below the span of its client.
    fn span(
        &self,
        caller: &Caller<'_>,
        target: &Target<'_>,
        request: RequestFacts<'_>,
    ) -> ServerSpan {
        if !self.tracer.is_on() || target.route.is_empty() {
            return ServerSpan::default();
        }
        let is_known = caller.identity.is_some();
        let mut span = self.tracer.begin(target.route, request.incoming, is_known);
        if let Some(protocol) = &target.protocol {
            span.set_mcp(protocol.revision, protocol.id);
            if !target.label().is_empty() {
                span.set_tool(target.label());
            }
        }
        span.set_transport(if target.is_stdio() {
            Transport::Pipe
        } else {
            Transport::Tcp
        });
        span
    }

    /// Begins the record of a call, if the audit trail gets one.
    fn record(
        &self,
        caller: &Caller<'_>,
        target: &Target<'_>,
        request_id: &str,
        trace: &Trace,
    ) -> Option<Record> {
        let audit = self.audit.as_ref()?;
        let trace_id = trace.id().map(|id| id.to_string());
        let start = CallStart {
            request_id,
            trace_id: trace_id.as_deref().unwrap_or_default(),
            caller: caller.recorded(),
            ..target.start()
        };
        match target.recorded {
            RecordRule::Never => None,
            RecordRule::Always => Some(audit.begin(&start)),
            RecordRule::IfAll => audit.begin_other(&start),
        }
    }

    fn measured(&self, caller: &Caller<'_>, target: &Target<'_>) -> Option<Measured> {
        let is_measured = target.is_measured && self.metrics.is_on();
        is_measured.then(|| Measured {
            metrics: self.metrics.clone(),
            route: target.route,
            tool: target.label().to_owned(),
            caller_kind: caller.kind,
            began: Instant::now(),
        })
    }
}

// === impl Call ===

impl Call {
    /// Returns a call that nothing is noted of.
    #[must_use]
    pub const fn off() -> Self {
        Self(None)
    }

    fn progress<T: Default>(&self, change: impl FnOnce(&mut Progress) -> T) -> T {
        let shared = self.0.as_ref();
        shared.map_or_else(T::default, |shared| change(&mut lock(&shared.progress)))
    }

    /// Returns the same call with a receipt. It has to be begun only now.
    #[must_use]
    pub fn with_receipt(mut self, receipt: CallReceipt) -> Self {
        if let Some(shared) = self.0.as_mut().and_then(Arc::get_mut) {
            if let Some(record) = &shared.record {
                record.keep_open_line();
            }
            shared.context = shared.context.with_evidence(receipt.evidence().clone());
            shared.receipt = Some(Arc::new(receipt));
        }
        self
    }

    /// Returns the receipt of the call, if it gets one.
    #[cfg(feature = "mcp")]
    pub(crate) fn receipt(&self) -> Option<&Arc<CallReceipt>> {
        self.0.as_ref()?.receipt.as_ref()
    }

    /// Returns whether nothing is noted of the call.
    #[must_use]
    pub fn is_off(&self) -> bool {
        self.0.is_none()
    }

    /// Returns the record, if there is one.
    #[must_use]
    pub fn record(&self) -> Option<&Record> {
        self.0.as_ref()?.record.as_ref()
    }

    /// Returns the context for the statements of the call.
    #[must_use]
    pub fn context(&self) -> CallContext {
        let shared = self.0.as_ref();
        shared.map_or_else(CallContext::default, |shared| shared.context.clone())
    }

    /// Returns the trace of the call, for its requests to providers.
    #[must_use]
    pub fn trace(&self) -> Trace {
        self.0
            .as_ref()
            .map_or_else(Trace::default, |shared| shared.context.trace())
    }

    fn allowance(&self) -> Option<&Allowance> {
        self.0.as_ref()?.allowance.as_deref()
    }

    fn entry(&self) -> Option<&CallEntry> {
        self.0.as_ref().map(|shared| &shared.entry)
    }

    /// Returns the id in the list of statements, if the call is followed.
    #[must_use]
    pub fn entry_id(&self) -> Option<String> {
        self.entry()?.id()
    }

    /// Returns the limit on the cost of a statement.
    #[must_use]
    pub fn max_cost(&self) -> Option<f64> {
        self.allowance()?.max_cost()
    }

    /// Returns the limit on the rows that a statement may change.
    #[must_use]
    pub fn max_changed_rows(&self) -> Option<u64> {
        self.allowance()?.max_changed_rows()
    }

    /// Returns what the caller may still be sent today.
    #[must_use]
    pub fn left(&self) -> Left {
        self.allowance().map_or_else(Left::default, Allowance::left)
    }

    /// Counts the call for the limits of its caller. A call that is refused keeps the reason.
    ///
    /// # Errors
    /// Fails if there were too many calls.
    pub fn count_call(&self) -> Result<(), Refused> {
        let counted = self.allowance().map_or(Ok(()), Allowance::call);
        counted.inspect_err(|refused| self.refuse_for(*refused))
    }

    /// Notes a limit for which the call does not begin.
    pub fn refuse_for(&self, refused: Refused) {
        self.progress(|progress| {
            progress.reason = Some(ErrorReason::Limited(refused.key()));
            progress.refused = Some(refused);
        });
    }

    /// Returns the limit for which the call was not counted.
    #[must_use]
    pub fn refused(&self) -> Option<Refused> {
        self.progress(|progress| progress.refused)
    }

    /// Waits until the caller may run a statement in a database, but no longer than for a
    /// connection, and checks that the caller may be sent rows and bytes today. From now on the
    /// statement is in the list of those that run, without its text if that is empty.
    ///
    /// # Errors
    /// Fails if a limit of the caller is reached.
    pub async fn admit(&self, database: &Database, statement: &str) -> Result<(), Refused> {
        if let Some(entry) = self.entry() {
            entry.wait(database.name(), statement);
        }
        self.admit_within(database.settings().lease_timeout).await
    }

    /// Waits like [`admit`](Self::admit) with a statement of the operator, of which only
    /// administrators see the text in the list.
    ///
    /// # Errors
    /// Fails if a limit of the caller is reached.
    pub async fn admit_of_operator(
        &self,
        database: &Database,
        statement: &str,
    ) -> Result<(), Refused> {
        if let Some(shared) = &self.0 {
            shared.entry.conceal();
            if let Some(receipt) = &shared.receipt {
                receipt.conceal();
            }
        }
        self.admit(database, statement).await
    }

    async fn admit_within(&self, patience: Duration) -> Result<(), Refused> {
        let Some(allowance) = self.allowance() else {
            return Ok(());
        };
        let admitted = async {
            if !self.progress(|progress| progress.permit.is_some()) {
                let permit = allowance.statement(patience).await?;
                self.progress(|progress| progress.permit = Some(permit));
            }
            allowance.day()
        };
        let admitted = admitted.await;
        admitted.inspect_err(|refused| self.set_reason(ErrorReason::Limited(refused.key())))
    }

    /// Waits until the audit trail says that the call is about to run, if that is required.
    ///
    /// # Errors
    /// Fails with the refusal of the request if that cannot be recorded.
    pub async fn open(&self) -> Result<(), Rejection> {
        let Some(record) = self.record() else {
            return Ok(());
        };
        record.open().await.map_err(|_| audit_unavailable())
    }

    /// Waits for a connection for a statement, which runs then.
    ///
    /// # Errors
    /// Fails if there is no connection.
    pub async fn lease(&self, pool: &Pool) -> Result<Lease, LeaseError> {
        let lease = pool.lease().await?;
        self.runs();
        Ok(lease)
    }

    /// Notes that a statement runs, or gets its connection at once.
    pub fn runs(&self) {
        if let Some(entry) = self.entry() {
            entry.run();
        }
    }

    /// Sets the database, and records the role and the settings that its caller has there.
    pub fn set_database(&self, database: &Arc<Database>) {
        if let (Some(record), Some(acting)) = (self.record(), database.acts()) {
            record.role(acting.role().unwrap_or_default());
            record.identity(acting.mark());
        }
        self.progress(|progress| progress.database = Some(Arc::clone(database)));
    }

    /// Counts rows that are sent, and the bytes of their text, for the limits of the caller and the
    /// list of running statements.
    pub fn count(&self, rows: u64, bytes: usize) {
        let Some(shared) = &self.0 else { return };
        if let Some(allowance) = &shared.allowance {
            allowance.rows(rows);
            self.count_bytes(bytes.try_into().unwrap_or(u64::MAX));
        }
        shared.entry.count(rows, bytes);
    }

    /// Counts bytes that are sent.
    pub fn count_bytes(&self, bytes: u64) {
        self.progress(|progress| progress.bytes = progress.bytes.saturating_add(bytes));
        if let Some(allowance) = self.allowance() {
            allowance.bytes(bytes);
        }
    }

    /// Sets the number of rows of the result.
    pub fn set_rows(&self, rows: u64) {
        self.progress(|progress| progress.rows = Some(rows));
    }

    /// Counts passages that were found, which are the rows of the result.
    pub fn found(&self, passages: usize) {
        let rows = passages.try_into().unwrap_or(u64::MAX);
        if let Some(allowance) = self.allowance() {
            allowance.rows(rows);
        }
        self.set_rows(rows);
    }

    /// Marks a call that names something that exists and that its caller does not see.
    pub fn hide(&self) {
        self.progress(|progress| progress.is_hidden = true);
    }

    /// Sets the reason for an error.
    pub fn set_reason(&self, reason: ErrorReason) {
        self.progress(|progress| progress.reason = Some(reason));
    }

    /// Returns the reason for an error so far.
    #[must_use]
    pub fn reason(&self) -> Option<ErrorReason> {
        self.progress(|progress| progress.reason)
    }

    /// Notes the error of a statement.
    pub fn set_error(&self, error: &QueryError) {
        let (reason, sqlstate) = match error {
            QueryError::Refused(_) => (Some(ErrorReason::Refused), None),
            QueryError::TooCostly { .. } => (Some(ErrorReason::Limited("max_cost")), None),
            QueryError::Changes(_) => (Some(ErrorReason::Limited("max_changed_rows")), None),
            QueryError::Silent => (Some(ErrorReason::Timeout), None),
            QueryError::Failed { report, .. } => {
                let reason = match &*report.sqlstate {
                    // A transaction that may only read.
                    "25006" => Some(ErrorReason::Refused),
                    // A call that is cancelled is dropped and reports nothing.
                    "57014" => Some(ErrorReason::Timeout),
                    _ => None,
                };
                (reason, Some(&report.sqlstate))
            }
            _ => (None, None),
        };
        self.progress(|progress| {
            progress.reason = reason;
            if let Some(sqlstate) = sqlstate {
                progress.sqlstate = Some(sqlstate.clone());
            }
        });
    }

    /// Notes how the work for the call has ended, before the answer has been sent. The first note
    /// counts.
    pub fn note(&self, verdict: Verdict) {
        self.progress(|progress| {
            progress.verdict.get_or_insert(verdict);
        });
    }

    /// Notes an error that is reported to the caller.
    pub fn note_error(&self) {
        self.progress(|progress| {
            let verdict = progress.reason.map_or(Verdict::Error, ErrorReason::verdict);
            progress.verdict.get_or_insert(verdict);
        });
    }

    /// Returns how the work for the call has ended so far.
    #[must_use]
    pub fn noted(&self) -> Option<Verdict> {
        self.progress(|progress| progress.verdict)
    }

    /// Waits until the call is cancelled; the task that polled last is woken.
    pub fn poll_cancelled(&self, cx: &Context<'_>) -> Poll<CancelledBy> {
        self.entry()
            .map_or(Poll::Pending, |entry| entry.poll_cancelled(cx))
    }

    /// Runs a part of the work for the call, unless it is cancelled; then that part is dropped.
    ///
    /// # Errors
    /// Fails if the call is cancelled.
    pub async fn or_cancelled<F: Future>(&self, work: F) -> Result<F::Output, CancelledBy> {
        let mut work = pin!(work);
        poll_fn(|cx| {
            if let Poll::Ready(by) = self.poll_cancelled(cx) {
                self.note(Verdict::Cancelled);
                return Poll::Ready(Err(by));
            }
            work.as_mut().poll(cx).map(Ok)
        })
        .await
    }

    /// Ends the call with the bytes that were counted, and a code if it failed.
    pub fn end(&self, verdict: Verdict, code: &str) {
        if let Some(shared) = &self.0 {
            shared.end(verdict, None, code);
        }
    }

    /// Ends the call with the bytes of the whole answer, of which those that were not counted yet
    /// are counted now.
    pub(crate) fn end_with(&self, verdict: Verdict, bytes: u64, code: &str) {
        if let Some(shared) = &self.0 {
            shared.end(verdict, Some(bytes), code);
        }
    }
}

// === impl CallState ===

impl CallState {
    /// Ends the call, once.
    fn end(&self, verdict: Verdict, bytes: Option<u64>, code: &str) {
        let ended = Progress {
            has_ended: true,
            ..Progress::default()
        };
        let progress = mem::replace(&mut *lock(&self.progress), ended);
        if progress.has_ended {
            return;
        }
        let bytes = bytes.unwrap_or(progress.bytes);
        if let Some(allowance) = &self.allowance {
            allowance.bytes(bytes.saturating_sub(progress.bytes));
        }
        let sqlstate = progress.sqlstate.as_deref();
        let ended = CallEnd {
            verdict,
            database: progress.database.as_ref().map_or("", |it| it.name()),
            rows: progress.rows,
            bytes,
            code: sqlstate.unwrap_or(code),
        };
        if let Some(measured) = &self.measured {
            measured.end(&ended, progress.reason);
        }
        if let Some(followed) = progress.followed {
            followed.end(&End {
                outcome: verdict.as_str(),
                code: sqlstate,
                rows: progress.rows,
                bytes,
            });
        }
        let error = match (verdict, if self.is_protocol { code } else { ended.code }) {
            (Verdict::Ok | Verdict::Asked, _) => None,
            (Verdict::Error, "") if self.is_protocol => Some("tool_error"),
            (verdict, "") => Some(verdict.as_str()),
            (_, code) => Some(code),
        };
        end_span(progress.span, &ended, error);
        if let Some(record) = &self.record {
            if progress.is_hidden && matches!(verdict, Verdict::Unknown | Verdict::Error) {
                record.hidden();
            }
            record.end(ended);
        }
    }
}

impl Drop for CallState {
    fn drop(&mut self) {
        self.end(Verdict::Cancelled, None, "");
    }
}

// === impl Measured ===

impl Measured {
    fn end(&self, end: &CallEnd<'_>, reason: Option<ErrorReason>) {
        self.metrics.call_ended(&EndedCall {
            method: self.route,
            tool: &self.tool,
            database: end.database,
            verdict: end.verdict.as_str(),
            caller_kind: self.caller_kind,
            duration: self.began.elapsed(),
            bytes: end.bytes,
        });
        if let Some(ErrorReason::Limited(limit)) = reason {
            self.metrics.limit_reached(limit);
        }
    }
}

/// Adds the end of a call to its span.
fn end_span(mut span: ServerSpan, end: &CallEnd<'_>, error: Option<&str>) {
    if !span.trace().is_sampled() {
        return;
    }
    if !end.database.is_empty() {
        span.set_database(end.database);
    }
    if let Some(rows) = end.rows {
        span.set_rows(rows);
    }
    span.set_verdict(end.verdict.as_str());
    if let Some(error) = error {
        span.set_error(error);
    }
}

// === impl ErrorReason ===

impl ErrorReason {
    /// Returns the end of a call with a reported error of this reason.
    pub(crate) fn verdict(self) -> Verdict {
        match self {
            Self::Refused => Verdict::Refused,
            Self::Denied => Verdict::Denied,
            Self::Limited(_) => Verdict::Limited,
            Self::Timeout => Verdict::Timeout,
            Self::Asked => Verdict::Asked,
            Self::Unknown => Verdict::Failed,
        }
    }
}

#[cfg(test)]
mod tests;
