//! Observation of MCP calls, for the audit trail and the metrics.

mod arguments;
pub(crate) mod followed;
mod own_tools;

use std::{
    borrow::Cow,
    future::ready,
    sync::Arc,
    task::{Context, Poll},
    time::Instant,
};

use http::{HeaderValue, StatusCode, header::RETRY_AFTER};
use serde::Deserialize;
use tracing::{Level, enabled};
use ziggurat_answers::{CallFacts, CallLimits, ErrorReason, Facts};
use ziggurat_audit::{Audit, CallEnd, CallStart, Caller as AuditCaller, Record, Verdict};
use ziggurat_calls::{
    activity::{Activity, FollowedCall},
    limits::{Allowance, Limits, Refused},
};
use ziggurat_databases::Databases;
use ziggurat_http::SqlCommentKind;
use ziggurat_layers::{json_rpc::Call, sanitize::RequestId};
use ziggurat_mcp::{
    Admission, Caller, End, Error, Failure, LogFields, ObservedCall, Observer, Outcome, Reported,
};
use ziggurat_postgres::call_context::{CallComment, CallContext};
use ziggurat_sql_tools::SqlTools;
use ziggurat_telemetry::{
    EndedCall, Metrics,
    traces::{Incoming, ServerSpan, Trace, Tracer, Transport},
};
use ziggurat_tokens::{Identity, Local, LocalCaller};

use crate::{
    access::ToolAccess,
    callers::{allowance, kind, named, shown},
    interface::{LOGIN, METHODS, READ, RETRY_SECONDS},
};

/// Method that is observed for the statements of its calls only.
const COMPLETE: &str = "completion/complete";

/// Marks calls over standard input and output.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OverStdio;

/// Observes MCP calls for the audit trail and the metrics.
#[derive(Clone)]
pub(crate) struct CallObserver {
    /// True if something but the limits of callers is on.
    pub(crate) is_on: bool,
    /// The caller without an identity.
    pub(crate) local: LocalCaller,
    pub(crate) limits: Limits,
    /// The list of running statements, if there is one.
    pub(crate) activity: Option<Activity>,
    pub(crate) audit: Option<Audit>,
    pub(crate) metrics: Metrics,
    pub(crate) tracer: Tracer,
    pub(crate) sql_comment: SqlCommentKind,
    pub(crate) databases: Databases,
    pub(crate) access: ToolAccess,
    pub(crate) sql_tools: SqlTools,
}

/// A call that begins.
struct Start<'a> {
    call: &'a Call,
    caller: &'a Caller,
    /// The method, if its calls have records.
    method: Option<&'static str>,
    subject: Option<&'a str>,
    identity: Option<&'a Identity>,
    local: &'a Local,
    is_stdio: bool,
    /// True if the caller does not see what the call names.
    is_hidden: bool,
}

/// A call that is observed.
struct RunningCall {
    record: Option<Record>,
    /// Its place in the list of running statements.
    followed: Option<FollowedCall>,
    facts: CallFacts,
    measured: Option<MeasuredCall>,
    span: ServerSpan,
    /// The reason why the call does not run.
    refused: Option<Refused>,
    /// True if the caller does not see what it names.
    is_hidden: bool,
}

/// A call that is measured.
struct MeasuredCall {
    metrics: Metrics,
    method: &'static str,
    tool: String,
    caller_kind: &'static str,
    began: Instant,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Meta<'a> {
    #[serde(borrow)]
    traceparent: Option<Cow<'a, str>>,
    #[serde(borrow)]
    tracestate: Option<Cow<'a, str>>,
    #[serde(borrow, rename = "io.modelcontextprotocol/clientInfo")]
    client: Option<Client<'a>>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Client<'a> {
    #[serde(borrow)]
    name: Cow<'a, str>,
    #[serde(borrow)]
    version: Cow<'a, str>,
}

// === impl CallObserver ===

impl CallObserver {
    /// Returns the allowance of a caller, if it has limits.
    fn allowance(&self, caller: &Caller) -> Option<Arc<Allowance>> {
        let given: Option<&Arc<Allowance>> = caller.extension();
        // Over HTTP it is given, unless a reload has added limits since the request was admitted.
        given
            .cloned()
            .or_else(|| allowance(&self.limits, caller.extension(), &self.local))
    }

    /// Returns what is read of the member `_meta`, if it is for a span or a record.
    fn meta<'a>(&self, start: &Start<'a>) -> Meta<'a> {
        if !self.tracer.is_on() && self.audit.is_none() {
            return Meta::default();
        }
        let meta = start.caller.meta(start.call).map(serde_json::from_str);
        meta.and_then(Result::ok).unwrap_or_default()
    }

    /// Begins the span of a call, below that of its caller.
    fn span(&self, start: &Start<'_>, meta: &Meta<'_>) -> ServerSpan {
        let method = start.method.or(start.is_completion().then_some(COMPLETE));
        let Some(method) = method.filter(|_| self.tracer.is_on()) else {
            return ServerSpan::default();
        };
        let context = start.caller.context();
        let mut incoming = Incoming::default().with_headers(&start.call.head().headers);
        // Only clients that negotiate a revision know these members.
        if context.is_negotiated() {
            incoming = incoming.with_meta(meta.traceparent.as_deref(), meta.tracestate.as_deref());
        }
        let has_identity = start.identity.is_some();
        let mut span = self.tracer.begin(method, incoming, has_identity);
        span.set_mcp(context.revision().as_str(), start.call.id());
        if let Some(tool) = start
            .subject
            .filter(|_| ![READ, COMPLETE].contains(&method))
        {
            span.set_tool(tool);
        }
        span.set_transport(if start.is_stdio {
            Transport::Pipe
        } else {
            Transport::Tcp
        });
        span
    }

    fn has_comments(&self) -> bool {
        self.sql_comment != SqlCommentKind::Off
    }

    /// Begins the metrics of a call, if its method has some.
    fn measure(&self, start: &Start<'_>) -> Option<MeasuredCall> {
        let method = start.method.filter(|_| self.metrics.is_on())?;
        let tool = start.subject.filter(|_| method != READ);
        Some(MeasuredCall {
            metrics: self.metrics.clone(),
            method,
            tool: tool.unwrap_or_default().to_owned(),
            caller_kind: kind(start.identity, start.local),
            began: Instant::now(),
        })
    }

    /// Returns what PostgreSQL is told about a call.
    fn comment(&self, start: &Start<'_>) -> Option<CallComment> {
        if !self.has_comments() {
            return None;
        }
        Some(CallComment {
            caller: shown(start.identity, start.local),
            request: start.caller.extension().map(RequestId::to_string),
            tool: start.subject.map(str::to_owned),
            pipeline: None,
            has_trace: self.sql_comment == SqlCommentKind::Trace,
        })
    }

    /// Begins the record of a call, unless calls of its method have none.
    fn record(&self, start: &Start<'_>, meta: &Meta<'_>, trace: &Trace) -> Option<Record> {
        let audit = self.audit.as_ref()?;
        let caller = start.caller;
        let context = caller.context();
        let trace_id = trace.id().map(|id| id.to_string());
        let client = meta.client.as_ref();
        let facts = CallStart {
            request_id: caller.extension().map_or("", RequestId::as_str),
            trace_id: trace_id.as_deref().unwrap_or_default(),
            transport: if start.is_stdio { "stdio" } else { "http" },
            endpoint: match (start.is_stdio, context.is_negotiated()) {
                (true, _) => "",
                (false, true) => "/mcp",
                (false, false) => "/mcp/v1",
            },
            revision: context.revision().as_str(),
            caller: AuditCaller {
                ip: caller.client_ip(),
                ..named(start.identity, start.local)
            },
            client_name: client.map_or("", |client| &client.name),
            client_version: client.map_or("", |client| &client.version),
            method: start.call.method(),
            tool: start.subject.unwrap_or_default(),
            ..CallStart::default()
        };
        if start.method.is_none() {
            return audit.begin_other(&facts);
        }
        let record = audit.begin(&facts);
        self.add_arguments(&record, start);
        Some(record)
    }

    /// Returns whether the caller does not see what a call names, and keeps what it sees for the call.
    fn hides(&self, call: &Call, caller: &mut Caller) -> bool {
        let Some(view) = self.access.of(caller) else {
            return false;
        };
        let is_hidden = view.hides(call, caller);
        caller.set_extension(view);
        is_hidden
    }

    /// Adds what is recorded of the arguments.
    fn add_arguments(&self, record: &Record, start: &Start<'_>) {
        if self.add_own_tool(record, start) {
            return;
        }
        let arguments = start.caller.arguments(start.call);
        let Some(arguments) = arguments.filter(|json| json.starts_with('{')) else {
            return;
        };
        match start.subject {
            Some("query_database" | "execute_explain" | "index_advice") => {
                record.statement_in(arguments, arguments::query);
            }
            Some("count_rows") => record.statement_in(arguments, arguments::condition),
            Some("similarity_search") => record.question_in(arguments, arguments::query_text),
            Some("search_knowledgebase") => record.question_in(arguments, arguments::query),
            Some("generate_embedding") => record.question_in(arguments, arguments::embedded),
            _ => {}
        }
        if record.is_required()
            && let Some(database) = self.database(start, arguments)
        {
            record.database(&database);
        }
    }

    /// Returns the name of the database that the call works on, as far as it is known before.
    fn database(&self, start: &Start<'_>, arguments: &str) -> Option<String> {
        let is_negotiated = start.caller.context().is_negotiated();
        let named = is_negotiated.then(|| arguments::text(arguments, "database"));
        let named = named.flatten().filter(|name| !name.is_empty());
        self.databases.name_for(start.identity, named.as_deref())
    }
}

impl Observer for CallObserver {
    fn begin(&self, call: &Call, caller: &mut Caller) -> Option<Box<dyn ObservedCall>> {
        let allowance = self.allowance(caller);
        let (subject, local) = (caller.subject(call), self.local.get());
        let followed = self.follow(call, caller, subject.as_deref(), &local);
        if !self.is_on && allowance.is_none() && followed.is_none() {
            return None;
        }
        let is_hidden = self.audit.is_some() && self.hides(call, caller);
        let mut start = Start {
            call,
            caller,
            method: METHODS.into_iter().find(|method| *method == call.method()),
            subject: subject.as_deref(),
            identity: caller.extension(),
            local: &local,
            is_stdio: caller.extension::<OverStdio>().is_some(),
            is_hidden,
        };
        start.is_hidden |= self.audit.is_some() && self.hides_own_tool(&start);
        let is_hidden = start.is_hidden;
        let refused = allowance
            .as_ref()
            .filter(|_| start.method.is_some() && start.subject != Some(LOGIN))
            .and_then(|allowance| allowance.call().err());
        let meta = self.meta(&start);
        let span = self.span(&start, &meta);
        let record = self.record(&start, &meta, span.trace());
        let has_statements = start.method.is_some()
            || start.is_completion() && (self.tracer.is_on() || self.has_comments());
        if record.is_none() && !has_statements {
            return None;
        }
        let context = CallContext::new(span.trace().clone(), self.comment(&start));
        let measured = self.measure(&start);
        if let Some(fields) = log_fields(&start, span.trace()) {
            caller.set_extension(fields);
        }
        let limits = allowance.map(CallLimits::new).unwrap_or_default();
        let entry = followed.as_ref().map(FollowedCall::entry);
        let facts = CallFacts::new(context, limits, entry.unwrap_or_default());
        if let Some(refused) = &refused {
            facts.set_reason(ErrorReason::Limited(refused.key()));
        }
        caller.set_extension(facts.clone());
        Some(Box::new(RunningCall {
            record,
            followed,
            facts,
            measured,
            span,
            refused,
            is_hidden,
        }))
    }
}

// === impl Start ===

impl Start<'_> {
    fn is_completion(&self) -> bool {
        self.call.method() == COMPLETE
    }
}

// === impl RunningCall ===

impl ObservedCall for RunningCall {
    fn admission(&mut self) -> Option<Admission> {
        if let Some(refused) = self.refused {
            return Some(Box::pin(ready(Err(Error::said(refused.to_string())))));
        }
        let record = self.record.as_ref().filter(|record| record.is_required());
        let record = record.cloned()?;
        Some(Box::pin(async move {
            record.open().await.map_err(|error| {
                let failure = Failure::new("audit is unavailable")
                    .with_source(error)
                    .with_status(StatusCode::SERVICE_UNAVAILABLE)
                    .with_header(RETRY_AFTER, HeaderValue::from(RETRY_SECONDS));
                failure.into()
            })
        }))
    }

    fn poll_cancelled(&mut self, cx: &mut Context<'_>) -> Poll<Reported> {
        followed::poll_cancelled(self.followed.as_ref(), cx)
    }

    fn end(self: Box<Self>, end: End) {
        self.facts.own_limits().count_rest(end.bytes);
        let facts = self.facts.take();
        let verdict = verdict(end.outcome, facts.reason);
        if let Some(measured) = &self.measured {
            measured.end(&facts, &end, verdict);
        }
        followed::end(self.followed, verdict, &facts, end.bytes);
        end_span(self.span, &facts, &end, verdict);
        if let Some(record) = self.record {
            if self.is_hidden && matches!(verdict, Verdict::Unknown | Verdict::Error) {
                record.hidden();
            }
            end_record(&record, &facts, &end, verdict);
        }
    }
}

// === impl MeasuredCall ===

impl MeasuredCall {
    fn end(&self, facts: &Facts, end: &End, verdict: Verdict) {
        let database = facts.database.as_ref().map_or("", |it| it.name());
        self.metrics.call_ended(&EndedCall {
            method: self.method,
            tool: &self.tool,
            database,
            verdict: verdict.as_str(),
            caller_kind: self.caller_kind,
            duration: self.began.elapsed(),
            bytes: end.bytes,
        });
        if let Some(ErrorReason::Limited(limit)) = facts.reason {
            self.metrics.limit_reached(limit);
        }
    }
}

/// Adds what is known at the end of a call to its span, and ends it.
fn end_span(mut span: ServerSpan, facts: &Facts, end: &End, verdict: Verdict) {
    if !span.trace().is_sampled() {
        return;
    }
    if let Some(database) = &facts.database {
        span.set_database(database.name());
    }
    if let Some(rows) = facts.rows {
        span.set_rows(rows);
    }
    span.set_verdict(verdict.as_str());
    match (verdict, end.code) {
        (Verdict::Ok | Verdict::Asked, _) => {}
        (_, Some(code)) => span.set_error(&code.to_string()),
        (Verdict::Error, None) => span.set_error("tool_error"),
        (verdict, None) => span.set_error(verdict.as_str()),
    }
}

/// Ends the record of a call.
fn end_record(record: &Record, facts: &Facts, end: &End, verdict: Verdict) {
    let code = end.code.map(|code| code.to_string());
    let code = facts.code.as_deref().or(code.as_deref());
    record.end(CallEnd {
        verdict,
        database: facts.database.as_ref().map_or("", |it| it.name()),
        rows: facts.rows,
        bytes: end.bytes,
        code: code.unwrap_or_default(),
    });
}

/// Returns what the log says of a call. The log of calls is off by default; that of failures names
/// the trace only.
fn log_fields(start: &Start<'_>, trace: &Trace) -> Option<LogFields> {
    let is_logged = enabled!(target: ziggurat_mcp::LOG_TARGET, Level::INFO);
    let trace_id = trace.id();
    (is_logged || trace_id.is_some()).then(|| LogFields {
        caller: is_logged.then(|| shown(start.identity, start.local).into()),
        trace_id: trace_id.map(u128::from),
    })
}

/// Returns the verdict on a call from how it ended.
pub(crate) fn verdict(outcome: Outcome, reason: Option<ErrorReason>) -> Verdict {
    match (outcome, reason) {
        (Outcome::Ok, _) => Verdict::Ok,
        (Outcome::Asked, _) => Verdict::Asked,
        (Outcome::Cancelled, _) => Verdict::Cancelled,
        (Outcome::Reported, Some(ErrorReason::Timeout)) => Verdict::Timeout,
        (Outcome::Reported | Outcome::Refused, Some(ErrorReason::Denied)) => Verdict::Denied,
        (
            Outcome::Reported | Outcome::Refused | Outcome::NotAdmitted | Outcome::Failed,
            Some(ErrorReason::Limited(_)),
        ) => Verdict::Limited,
        (Outcome::Reported, Some(ErrorReason::Refused))
        | (Outcome::InvalidArguments | Outcome::Refused, _) => Verdict::Refused,
        (Outcome::Reported, None) => Verdict::Error,
        (Outcome::Unknown | Outcome::Disabled, _) => Verdict::Unknown,
        _ => Verdict::Failed,
    }
}
