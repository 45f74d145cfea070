//! Observation of requests that run a statement and send its rows.

use std::{
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
};

use axum::{
    body::{Body, Bytes},
    extract::{Request, State},
    middleware::Next,
    response::Response,
};
use http::StatusCode;
use http_body::{Body as HttpBody, Frame, SizeHint};
use ziggurat_answers::{CallFacts, CallLimits, ErrorReason};
use ziggurat_audit::{CallEnd, Verdict};
use ziggurat_calls::{
    activity::{Begin, FollowedCall},
    limits::Allowance,
};
use ziggurat_http::SqlCommentKind;
use ziggurat_layers::sanitize::RequestId;
use ziggurat_mcp::Outcome;
use ziggurat_postgres::call_context::{CallComment, CallContext};
use ziggurat_query_api::ObservedQuery;
use ziggurat_telemetry::{EndedCall, Metrics, traces::Trace};
use ziggurat_tokens::Identity;

use crate::{
    callers::shown,
    calls::{self, followed},
    requests::{BegunRequest, RequestObserver, add_trace_id},
};

/// Paths of the requests that run statements of their callers.
const PATHS: [&str; 2] = ["/api/query", "/api/exports"];

/// A request that runs a statement, until its response has been sent.
struct RunningRequest {
    begun: BegunRequest,
    observed: ObservedQuery,
    metrics: Metrics,
    /// Its place in the list of running statements.
    followed: Option<FollowedCall>,
    /// Bytes of the response so far.
    bytes: u64,
}

/// The body of a response that ends the observation with it.
struct ObservedBody {
    inner: Body,
    request: Option<RunningRequest>,
}

/// Records and measures a request that runs a statement, until the last of its rows was sent. The
/// endpoint learns the limits of the caller, and adds what only it knows.
pub(crate) async fn observe_statement(
    State(observer): State<RequestObserver>,
    mut request: Request,
    next: Next,
) -> Response {
    let begun = observer.begin(&mut request);
    let context = observer.context(&request, &begun.method, begun.span.trace());
    let allowance: Option<&Arc<Allowance>> = request.extensions().get();
    let limits = allowance.cloned().map(CallLimits::new).unwrap_or_default();
    let followed = observer.follow(&request);
    let entry = followed.as_ref().map(FollowedCall::entry);
    let facts = CallFacts::new(context, limits, entry.unwrap_or_default());
    let query = ObservedQuery::new(facts, begun.record.clone());
    let running = RunningRequest {
        observed: query.clone(),
        metrics: observer.metrics.clone(),
        followed,
        bytes: 0,
        begun,
    };
    request.extensions_mut().insert(query);
    let mut response = next.run(request).await;
    add_trace_id(&mut response, &running.begun.span);
    if !response.status().is_success() {
        running.refused(response.status());
        return response;
    }
    response.map(|inner| {
        let request = Some(running);
        Body::new(ObservedBody { inner, request })
    })
}

// === impl RequestObserver ===

impl RequestObserver {
    /// Follows a request that may run a statement, for the list of those that run.
    fn follow(&self, request: &Request) -> Option<FollowedCall> {
        let tool = PATHS.into_iter().find(|path| {
            let rest = request.uri().path().strip_prefix(path);
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        });
        let local = self.local.get();
        self.activity.as_ref()?.begin(&Begin {
            caller: followed::caller_name(request.extensions().get(), &local),
            via: "rest",
            tool: tool?,
        })
    }

    /// Returns what PostgreSQL is told about a request.
    fn context(&self, request: &Request, method: &str, trace: &Trace) -> CallContext {
        let sql_comment = self.catalogue.of(request.extensions()).sql_comment;
        let comment = (sql_comment != SqlCommentKind::Off).then(|| CallComment {
            caller: shown(request.extensions().get::<Identity>(), &self.local.get()),
            request: request.extensions().get().map(RequestId::to_string),
            tool: Some(method.to_owned()),
            pipeline: None,
            has_trace: sql_comment == SqlCommentKind::Trace,
        });
        CallContext::new(trace.clone(), comment)
    }
}

// === impl RunningRequest ===

impl RunningRequest {
    /// Ends the observation of a request that ran no statement.
    fn refused(self, status: StatusCode) {
        let reason = self.observed.facts().reason();
        let verdict = match (self.observed.outcome(), reason) {
            (Some(Outcome::Asked), _) => Verdict::Asked,
            (Some(Outcome::Cancelled), _) => Verdict::Cancelled,
            (_, Some(ErrorReason::Limited(_))) => Verdict::Limited,
            _ => super::verdict(status),
        };
        self.end(verdict, Some(status.as_str()));
    }

    /// Ends the observation of a response.
    fn sent(self) {
        let outcome = self.observed.outcome().unwrap_or(Outcome::Cancelled);
        let reason = self.observed.facts().reason();
        self.end(calls::verdict(outcome, reason), None);
    }

    fn end(mut self, verdict: Verdict, code: Option<&str>) {
        let facts = self.observed.facts();
        facts.own_limits().count_rest(self.bytes);
        let facts = facts.take();
        let database = facts.database.as_ref().map_or("", |it| it.name());
        self.metrics.call_ended(&EndedCall {
            method: self.begun.route,
            database,
            verdict: verdict.as_str(),
            caller_kind: self.begun.caller_kind,
            duration: self.begun.began.elapsed(),
            bytes: self.bytes,
            ..EndedCall::default()
        });
        if let Some(ErrorReason::Limited(limit)) = facts.reason {
            self.metrics.limit_reached(limit);
        }
        self.begun.span.set_verdict(verdict.as_str());
        if let Some(database) = &facts.database {
            self.begun.span.set_database(database.name());
        }
        if let Some(rows) = facts.rows {
            self.begun.span.set_rows(rows);
        }
        let code = facts.code.as_deref().or(code);
        match code {
            _ if matches!(verdict, Verdict::Ok | Verdict::Asked) => {}
            Some(code) => self.begun.span.set_error(code),
            None => self.begun.span.set_error(verdict.as_str()),
        }
        followed::end(self.followed, verdict, &facts, self.bytes);
        let Some(record) = self.begun.record else {
            return;
        };
        record.end(CallEnd {
            rows: facts.rows,
            bytes: self.bytes,
            code: code.unwrap_or_default(),
            ..verdict.into()
        });
    }
}

// === impl ObservedBody ===

impl HttpBody for ObservedBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let this = self.get_mut();
        let frame = ready!(Pin::new(&mut this.inner).poll_frame(cx));
        if let (Some(request), Some(Ok(frame))) = (&mut this.request, &frame) {
            let length = frame.data_ref().map_or(0, Bytes::len);
            request.bytes += length as u64;
        }
        Poll::Ready(frame)
    }

    fn is_end_stream(&self) -> bool {
        self.inner.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.size_hint()
    }
}

impl Drop for ObservedBody {
    fn drop(&mut self) {
        // The rows go first, with what they note of their end.
        self.inner = Body::empty();
        if let Some(request) = self.request.take() {
            request.sent();
        }
    }
}
