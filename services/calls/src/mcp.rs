//! Calls of the Model Context Protocol.

use std::{
    borrow::Cow,
    collections::BTreeMap,
    future::ready,
    sync::Arc,
    task::{Context, Poll},
};

use http::{HeaderValue, StatusCode, header::RETRY_AFTER};
use serde::Deserialize;
use serde_json::value::RawValue;
use tracing::{Level, enabled};
use ziggurat_audit::Verdict;
use ziggurat_layers::{json_rpc, sanitize::RequestId};
use ziggurat_mcp::{
    self as mcp, Admission, End, Error, Failure, LogFields, ObservedCall, Outcome, Reported,
    ResultSeal, ToolRequest,
};
use ziggurat_telemetry::traces::Incoming;

use crate::{
    Call, CallReceipt, Caller, Calls, ErrorReason, Protocol, RecordRule, RequestFacts, Target,
    activity::Begin,
    http::RETRY_SECONDS,
    limits::{Allowance, Refused},
    receipt::{RECEIPT_KEY, Sealing},
};

/// Methods of the calls that have records and metrics.
pub const METHODS: [&str; 3] = [CALL, READ, "prompts/get"];

/// Method that calls a tool.
pub const CALL: &str = "tools/call";

/// Method with an address as its subject, where others have a name.
pub const READ: &str = "resources/read";

/// Method that is observed for the statements of its calls only.
const COMPLETE: &str = "completion/complete";

/// A call that nothing is noted of.
const OFF: &Call = &Call::off();

/// Marks calls over standard input and output.
#[derive(Clone, Copy, Debug)]
pub struct OverStdio;

/// A message that begins a call.
#[derive(Clone, Copy, Debug)]
pub struct Message<'a> {
    /// The message.
    pub call: &'a json_rpc::Call,
    /// The method, if its calls have records.
    pub method: Option<&'static str>,
    /// Name of the tool or the prompt, or address of the resource.
    pub subject: Option<&'a str>,
    /// Name of the pipeline.
    pub pipeline: &'a str,
    /// Place in the list of running statements, for a call that may run some.
    pub followed: Option<Begin<'a>>,
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

// === impl Calls ===

impl Calls {
    /// Begins the call of a message.
    #[must_use]
    pub fn begin_message(
        &self,
        message: &Message<'_>,
        caller: &mcp::Caller,
        who: &Caller<'_>,
        allowance: Option<Arc<Allowance>>,
    ) -> Call {
        let meta = self.meta(message, caller);
        let client = meta.client.unwrap_or_default();
        let is_stdio = caller.extension::<OverStdio>().is_some();
        let is_negotiated = caller.context().is_negotiated();
        let is_traced = self.tracer.is_on();
        let id = message.call.id().filter(|_| is_traced);
        let id = id.map(ToString::to_string);
        let target = Target {
            route: message.route().unwrap_or_default(),
            method: message.call.method(),
            endpoint: match (is_stdio, is_negotiated) {
                (true, _) => "",
                (false, true) => "/mcp",
                (false, false) => "/mcp/v1",
            },
            tool: message.subject.unwrap_or_default(),
            pipeline: message.pipeline,
            protocol: Some(Protocol {
                revision: caller.context().revision().as_str(),
                id: id.as_deref(),
                client_name: &client.name,
                client_version: &client.version,
                is_address: matches!(message.route(), Some(READ | COMPLETE)),
                is_stdio,
            }),
            recorded: if message.method.is_some() {
                RecordRule::Always
            } else {
                RecordRule::IfAll
            },
            is_measured: message.method.is_some(),
            followed: message.followed,
        };
        let mut request = RequestFacts::default();
        if self.has_request_ids() {
            request.id = caller.extension().map_or("", RequestId::as_str);
        }
        if is_traced {
            request.incoming = Incoming::default().with_headers(&message.call.head().headers);
            // Only clients that negotiate a revision know these members.
            if is_negotiated {
                request.incoming = request
                    .incoming
                    .with_meta(meta.traceparent.as_deref(), meta.tracestate.as_deref());
            }
        }
        self.begin(who, &target, request, allowance)
    }

    /// Returns the receipt that a call of a tool gets, if it gets one.
    #[must_use]
    pub fn receipt(
        &self,
        message: &Message<'_>,
        caller: &mcp::Caller,
        who: &Caller<'_>,
    ) -> Option<CallReceipt> {
        let receipts = self.receipts.as_ref()?;
        let tool = message.subject.filter(|_| message.method == Some(CALL))?;
        let meta = caller.meta(message.call).unwrap_or_default();
        // Others need not be parsed.
        let members = meta
            .contains(RECEIPT_KEY)
            .then(|| serde_json::from_str(meta));
        let members: Option<BTreeMap<String, &RawValue>> = members.and_then(Result::ok);
        let members = members.unwrap_or_default();
        let asked = members.get(RECEIPT_KEY).map(|value| value.get());
        let wanted = receipts.of_tool(asked, caller.context().is_negotiated())?;
        Some(CallReceipt::new(receipts, wanted, who, tool))
    }

    /// Returns whether something is noted of the call of a message that has no record.
    #[must_use]
    pub fn notes(&self, message: &Message<'_>) -> bool {
        message.method.is_some()
            || message.is_completion() && (self.tracer.is_on() || self.has_comments())
    }

    /// Reads the member `_meta`, if a span or a record needs it.
    fn meta<'a>(&self, message: &Message<'a>, caller: &mcp::Caller) -> Meta<'a> {
        if !self.tracer.is_on() && self.audit.is_none() {
            return Meta::default();
        }
        let meta = caller.meta(message.call).map(serde_json::from_str);
        meta.and_then(Result::ok).unwrap_or_default()
    }
}

// === impl Message ===

impl Message<'_> {
    fn is_completion(&self) -> bool {
        self.call.method() == COMPLETE
    }

    /// Returns the method, if its calls have metrics or spans.
    fn route(&self) -> Option<&'static str> {
        self.method.or(self.is_completion().then_some(COMPLETE))
    }
}

// === impl Call ===

impl Call {
    /// Returns the call that a tool answers.
    #[must_use]
    pub fn of(request: &ToolRequest) -> &Self {
        Self::by(request.caller())
    }

    /// Returns the call of a caller.
    #[must_use]
    pub fn by(caller: &mcp::Caller) -> &Self {
        caller.extension().unwrap_or(OFF)
    }

    /// Returns the fields of the log line of the call. The log of calls is off by default, and the
    /// log of failures names the trace only.
    #[must_use]
    pub fn log_fields(&self, who: &Caller<'_>) -> Option<LogFields> {
        let is_logged = enabled!(target: mcp::LOG_TARGET, Level::INFO);
        let trace_id = self.trace().id();
        (is_logged || trace_id.is_some()).then(|| LogFields {
            caller: is_logged.then(|| who.shown().into()),
            trace_id: trace_id.map(u128::from),
        })
    }
}

impl ObservedCall for Call {
    fn admission(&mut self) -> Option<Admission> {
        if let Some(refused) = self.refused() {
            return Some(Box::pin(ready(Err(refused.into()))));
        }
        let record = self.record().filter(|record| record.is_required())?.clone();
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
        Self::poll_cancelled(self, cx).map(|by| Reported::new(by.message()))
    }

    fn seal(&mut self) -> Option<Box<dyn ResultSeal>> {
        let receipt = self.receipt()?;
        let seal = Sealing::begin(receipt, self)?;
        Some(Box::new(seal))
    }

    fn end(self: Box<Self>, end: End) {
        let code = end.code.map(|code| code.to_string()).unwrap_or_default();
        let verdict = verdict(end.outcome, self.reason());
        self.end_with(verdict, end.bytes, &code);
    }
}

impl From<Refused> for Reported {
    fn from(refused: Refused) -> Self {
        Self::new(refused.to_string())
    }
}

impl From<Refused> for Error {
    fn from(refused: Refused) -> Self {
        Reported::from(refused).into()
    }
}

/// Returns the verdict on a call from how it ended.
fn verdict(outcome: Outcome, reason: Option<ErrorReason>) -> Verdict {
    match (outcome, reason) {
        (Outcome::Ok, _) => Verdict::Ok,
        (Outcome::Asked, _) => Verdict::Asked,
        (Outcome::Cancelled, _) => Verdict::Cancelled,
        (Outcome::Refused, Some(ErrorReason::Denied)) => Verdict::Denied,
        (
            Outcome::Refused | Outcome::NotAdmitted | Outcome::Failed,
            Some(ErrorReason::Limited(_)),
        ) => Verdict::Limited,
        (Outcome::Reported, reason) => reason.map_or(Verdict::Error, ErrorReason::verdict),
        (Outcome::InvalidArguments | Outcome::Refused, _) => Verdict::Refused,
        (Outcome::Unknown | Outcome::Disabled, _) => Verdict::Unknown,
        _ => Verdict::Failed,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_that_says_nothing_of_itself_still_has_a_trace() {
        let meta = r#"{"traceparent": "00-1", "io.modelcontextprotocol/clientInfo": null}"#;
        let meta: Meta<'_> = serde_json::from_str(meta).expect("null is no name");
        assert_eq!(meta.traceparent.as_deref(), Some("00-1"));
        assert!(meta.client.is_none());
    }
}
