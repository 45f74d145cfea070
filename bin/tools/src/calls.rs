//! The door of MCP calls, for their records, metrics, traces and limits.

pub(crate) mod access;
mod own_tools;
mod receipts;

use std::{borrow::Cow, sync::Arc};

use ziggurat_audit::{Record, StatementPlace, text_argument};
use ziggurat_calls::{
    Caller, Calls,
    activity::Begin,
    limits::{Allowance, Limits},
    mcp::{CALL, METHODS, Message, OverStdio, READ},
};
use ziggurat_databases::Databases;
use ziggurat_layers::json_rpc;
use ziggurat_mcp::{self as mcp, Mcp, ObservedCall, Observer, Recorded};
use ziggurat_sql_tools::SqlTools;
use ziggurat_tokens::{Local, LocalCaller};

use crate::{calls::access::ToolAccess, interface::LOGIN};

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
        let name = subject.filter(|_| method == Some(CALL))?;
        self.declared.iter().find(|tool| tool.name == name)
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
    fn add_arguments(
        &self,
        record: &Record,
        message: &Message<'_>,
        tool: Option<&DeclaredTool>,
        caller: &mcp::Caller,
    ) {
        let arguments = caller.arguments(message.call);
        let Some(arguments) = arguments.filter(|json| json.starts_with('{')) else {
            return;
        };
        match tool.map_or(Recorded::Nothing, |tool| tool.recorded) {
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
        let tool = self.declared(method, subject);
        let mut message = Message {
            call,
            method,
            subject,
            pipeline: "",
            followed: None,
        };
        message.followed = followed(&message, tool, caller.extension::<OverStdio>().is_some());
        let has_statements = message.followed.is_some();
        if !self.calls.observes(allowance.is_some(), has_statements) {
            return None;
        }
        let is_audited = self.calls.audit.is_some();
        let mut is_hidden = is_audited && self.hides(call, caller);
        let who = Caller::new(caller.extension())
            .with_local(&local)
            .with_address(caller.client_ip());
        is_hidden |= is_audited && self.hides_own_tool(&message, caller);
        let begun = self.calls.begin_message(&message, caller, &who, allowance);
        let begun = match self.receipt(&message, tool, caller, &who) {
            Some(receipt) => begun.with_receipt(receipt),
            None => begun,
        };
        if begun.record().is_none() && !self.calls.notes(&message) {
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
                self.add_arguments(record, &message, tool, caller);
            }
        }
        if let Some(fields) = begun.log_fields(&who) {
            caller.set_extension(fields);
        }
        caller.set_extension(begun.clone());
        Some(Box::new(begun))
    }
}

/// Returns the place of a message in the list of running statements, if its call may run some.
fn followed<'a>(
    message: &Message<'a>,
    tool: Option<&DeclaredTool>,
    is_stdio: bool,
) -> Option<Begin<'a>> {
    let subject = message.subject?;
    let tool_name = match message.method? {
        READ => READ,
        CALL => subject,
        _ => return None,
    };
    let via = if is_stdio { "stdio" } else { "http" };
    let runs_statements = tool.is_none_or(|tool| tool.runs_statements);
    runs_statements.then_some(Begin {
        via,
        tool: tool_name,
    })
}
