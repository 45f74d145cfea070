//! The door of MCP calls, for their records, metrics, traces and limits.

pub(crate) mod access;
mod own_tools;

use std::{borrow::Cow, sync::Arc};

use serde::Deserialize;
use tracing::{Level, enabled};
use ziggurat_audit::{Record, StatementPlace, text_argument};
use ziggurat_calls::{
    Call, Caller, Calls, Protocol, RecordRule, RequestFacts, Target,
    activity::Begin,
    limits::{Allowance, Limits},
};
use ziggurat_databases::Databases;
use ziggurat_layers::{json_rpc, sanitize::RequestId};
use ziggurat_mcp::{self as mcp, LogFields, Mcp, ObservedCall, Observer, Recorded};
use ziggurat_sql_tools::SqlTools;
use ziggurat_telemetry::traces::Incoming;
use ziggurat_tokens::{Local, LocalCaller};

use crate::{
    calls::access::ToolAccess,
    interface::{LOGIN, METHODS, READ},
};

/// Method that is observed for the statements of its calls only.
const COMPLETE: &str = "completion/complete";

/// Marks calls over standard input and output.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OverStdio;

/// Begins MCP calls, and applies the limits of their callers.
#[derive(Clone)]
pub(crate) struct McpDoor {
    pub(crate) calls: Calls,
    /// The caller without an identity.
    pub(crate) local: LocalCaller,
    pub(crate) limits: Limits,
    pub(crate) databases: Databases,
    pub(crate) access: ToolAccess,
    pub(crate) sql_tools: SqlTools,
    pub(crate) declared: Arc<[DeclaredTool]>,
}

/// A tool that says what its calls leave behind.
#[derive(Debug)]
pub(crate) struct DeclaredTool {
    name: Cow<'static, str>,
    recorded: Recorded,
    runs_statements: bool,
}

/// A message that is a call, and what it names.
struct Message<'a> {
    call: &'a json_rpc::Call,
    /// The method, if its calls have records.
    method: Option<&'static str>,
    subject: Option<&'a str>,
    /// The tool, if it is one that declares something.
    tool: Option<&'a DeclaredTool>,
    is_stdio: bool,
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

// === impl DeclaredTool ===

impl DeclaredTool {
    /// Returns the tools of a service that say something. All others may run statements, and
    /// nothing of their arguments is recorded here.
    pub(crate) fn all(mcp: &Mcp) -> Arc<[Self]> {
        let declared = mcp.tools().map(|tool| Self {
            name: tool.name.clone(),
            recorded: tool.recorded(),
            runs_statements: tool.runs_statements(),
        });
        let is_needed = |tool: &Self| !tool.runs_statements || tool.recorded != Recorded::Nothing;
        declared.filter(is_needed).collect()
    }
}

// === impl McpDoor ===

impl McpDoor {
    /// Returns the allowance of a caller, if it has limits.
    fn allowance(&self, caller: &mcp::Caller, local: &Local) -> Option<Arc<Allowance>> {
        if !self.limits.is_on() {
            return None;
        }
        // Over HTTP it is given, unless a reload has added limits since the request was admitted.
        let given: Option<&Arc<Allowance>> = caller.extension();
        given.cloned().or_else(|| {
            let who = Caller::new(caller.extension()).with_local(local);
            who.allowance(&self.limits)
        })
    }

    /// Returns the tool that a call names, if it declares something.
    fn declared(&self, method: Option<&str>, subject: Option<&str>) -> Option<&DeclaredTool> {
        let name = subject.filter(|_| method == Some(METHODS[0]))?;
        self.declared.iter().find(|tool| tool.name == name)
    }

    /// Begins a call.
    fn call(
        &self,
        message: &Message<'_>,
        caller: &mcp::Caller,
        who: &Caller<'_>,
        allowance: Option<Arc<Allowance>>,
    ) -> Call {
        let meta = self.meta(message, caller);
        let client = meta.client.unwrap_or_default();
        let revision = caller.context().revision();
        let is_traced = self.calls.tracer.is_on();
        let id = message.call.id().filter(|_| is_traced);
        let id = id.map(ToString::to_string);
        let target = Target {
            route: message.route().unwrap_or_default(),
            method: message.call.method(),
            endpoint: match (message.is_stdio, caller.context().is_negotiated()) {
                (true, _) => "",
                (false, true) => "/mcp",
                (false, false) => "/mcp/v1",
            },
            tool: message.subject.unwrap_or_default(),
            protocol: Some(Protocol {
                revision: revision.as_str(),
                id: id.as_deref(),
                client_name: &client.name,
                client_version: &client.version,
                is_address: message.names_address(),
                is_stdio: message.is_stdio,
            }),
            recorded: if message.method.is_some() {
                RecordRule::Always
            } else {
                RecordRule::IfAll
            },
            is_measured: message.method.is_some(),
            followed: message.followed(),
            ..Target::none()
        };
        let mut request = RequestFacts::default();
        if self.calls.has_request_ids() {
            request.id = caller.extension().map_or("", RequestId::as_str);
        }
        if is_traced {
            request.incoming = Incoming::default().with_headers(&message.call.head().headers);
            // Only clients that negotiate a revision know these members.
            if caller.context().is_negotiated() {
                request.incoming = request
                    .incoming
                    .with_meta(meta.traceparent.as_deref(), meta.tracestate.as_deref());
            }
        }
        self.calls.begin(who, &target, request, allowance)
    }

    /// Reads the member `_meta`, if a span or a record needs it.
    fn meta<'a>(&self, message: &Message<'a>, caller: &mcp::Caller) -> Meta<'a> {
        if !self.calls.tracer.is_on() && self.calls.audit.is_none() {
            return Meta::default();
        }
        let meta = caller.meta(message.call).map(serde_json::from_str);
        meta.and_then(Result::ok).unwrap_or_default()
    }

    /// Returns whether the caller does not see what a call names, and keeps what it sees for the call.
    fn hides(&self, call: &json_rpc::Call, caller: &mut mcp::Caller) -> bool {
        let Some(view) = self.access.of(caller) else {
            return false;
        };
        let is_hidden = view.hides(call, caller);
        caller.set_extension(view);
        is_hidden
    }

    /// Adds the recorded part of the arguments.
    fn add_arguments(&self, record: &Record, message: &Message<'_>, caller: &mcp::Caller) {
        let arguments = caller.arguments(message.call);
        let Some(arguments) = arguments.filter(|json| json.starts_with('{')) else {
            return;
        };
        match message.tool.map_or(Recorded::Nothing, |tool| tool.recorded) {
            Recorded::Statement(name) => {
                record.statement_in(arguments, StatementPlace::Argument(name));
            }
            Recorded::Condition(name) => {
                record.statement_in(arguments, StatementPlace::OptionalArgument(name));
            }
            Recorded::Question(name) => {
                record.question_in(arguments, StatementPlace::Argument(name));
            }
            _ => {}
        }
        if record.is_required()
            && let Some(database) = self.database(caller, arguments)
        {
            record.database(&database);
        }
    }

    /// Returns the name of the database that the call works on, as far as it is known before.
    fn database(&self, caller: &mcp::Caller, arguments: &str) -> Option<String> {
        let is_negotiated = caller.context().is_negotiated();
        let named = is_negotiated.then(|| text_argument(arguments, "database"));
        let named = named.flatten().filter(|name| !name.is_empty());
        self.databases
            .name_for(caller.extension(), named.as_deref())
    }

    /// Returns the fields of the log line of a call. The log of calls is off by default, and the log
    /// of failures names the trace only.
    fn log_fields(call: &Call, who: &Caller<'_>) -> Option<LogFields> {
        let is_logged = enabled!(target: mcp::LOG_TARGET, Level::INFO);
        let trace_id = call.trace().id();
        (is_logged || trace_id.is_some()).then(|| LogFields {
            caller: is_logged.then(|| who.shown().into()),
            trace_id: trace_id.map(u128::from),
        })
    }
}

impl Observer for McpDoor {
    fn begin(
        &self,
        call: &json_rpc::Call,
        caller: &mut mcp::Caller,
    ) -> Option<Box<dyn ObservedCall>> {
        let local = self.local.get();
        let allowance = self.allowance(caller, &local);
        let method = METHODS.into_iter().find(|method| *method == call.method());
        if method.is_none() && !self.calls.observes(allowance.is_some(), false) {
            return None;
        }
        let subject = caller.subject(call);
        let subject = subject.as_deref();
        let message = Message {
            call,
            method,
            subject,
            tool: self.declared(method, subject),
            is_stdio: caller.extension::<OverStdio>().is_some(),
        };
        let has_statements = message.followed().is_some();
        if !self.calls.observes(allowance.is_some(), has_statements) {
            return None;
        }
        let is_audited = self.calls.audit.is_some();
        let mut is_hidden = is_audited && self.hides(call, caller);
        let who = Caller::new(caller.extension())
            .with_local(&local)
            .with_address(caller.client_ip());
        is_hidden |= is_audited && self.hides_own_tool(&message, caller);
        let begun = self.call(&message, caller, &who, allowance);
        let is_noted = message.method.is_some()
            || message.is_completion() && (self.calls.tracer.is_on() || self.calls.has_comments());
        if begun.record().is_none() && !is_noted {
            return None;
        }
        if is_hidden {
            begun.hide();
        }
        if message.method.is_some() {
            if message.subject != Some(LOGIN) {
                // Refused when it is admitted.
                begun.count_call().ok();
            }
            if let Some(record) = begun.record()
                && (is_hidden || !self.add_own_tool(record, &message, caller))
            {
                self.add_arguments(record, &message, caller);
            }
        }
        if let Some(fields) = Self::log_fields(&begun, &who) {
            caller.set_extension(fields);
        }
        caller.set_extension(begun.clone());
        Some(Box::new(begun))
    }
}

// === impl Message ===

impl<'a> Message<'a> {
    fn is_completion(&self) -> bool {
        self.call.method() == COMPLETE
    }

    /// Returns the method, if its calls have metrics or spans.
    fn route(&self) -> Option<&'static str> {
        self.method.or(self.is_completion().then_some(COMPLETE))
    }

    /// Returns whether the call names a resource by its address.
    fn names_address(&self) -> bool {
        matches!(self.route(), Some(READ | COMPLETE))
    }

    /// Returns the names in the list of running statements, for a call that may run some.
    fn followed(&self) -> Option<Begin<'a>> {
        let subject = self.subject?;
        let tool = match self.method {
            Some(READ) => READ,
            Some(method) if method == METHODS[0] => subject,
            _ => return None,
        };
        let via = if self.is_stdio { "stdio" } else { "http" };
        let runs_statements = self.tool.is_none_or(|tool| tool.runs_statements);
        runs_statements.then_some(Begin { via, tool })
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
