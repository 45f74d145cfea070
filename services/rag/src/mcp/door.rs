//! The door of calls, for their records, metrics, traces and limits.

use std::{borrow::Cow, sync::Arc};

use ziggurat_audit::{StatementPlace, text_argument};
use ziggurat_calls::{
    Caller, Calls,
    limits::{Allowance, Limits},
    mcp::{CALL, METHODS, Message, READ},
};
use ziggurat_layers::json_rpc;
use ziggurat_mcp::{self as mcp, ObservedCall, Observer};
use ziggurat_text::percent;

use crate::{
    Options,
    pipelines::{FoundPipeline, Pipelines},
};

/// Begins calls, and applies the limits of their callers.
#[derive(Clone, Debug)]
pub(super) struct Door {
    calls: Calls,
    limits: Limits,
    pipelines: Pipelines,
}

// === impl Door ===

impl Door {
    pub(super) fn new(pipelines: &Pipelines, options: &Options) -> Self {
        Self {
            calls: options.calls.clone(),
            limits: options.limits.clone(),
            pipelines: pipelines.clone(),
        }
    }

    /// Returns the allowance of a caller, if it has limits.
    fn allowance(&self, caller: &mcp::Caller) -> Option<Arc<Allowance>> {
        // Over HTTP it is given, unless a reload has added limits since the request was admitted.
        let given: Option<&Arc<Allowance>> = caller.extension();
        let who = Caller::new(caller.extension());
        given.cloned().or_else(|| who.allowance(&self.limits))
    }

    /// Returns the name of the pipeline that a call means; empty if it means none.
    fn pipeline(&self, message: &Message<'_>, arguments: Option<&str>, who: &Caller<'_>) -> String {
        let named = match message.method {
            Some(READ) => message
                .subject
                .and_then(in_address)
                .map(|(pipeline, _)| pipeline),
            Some(CALL) => {
                arguments.and_then(|json| text_argument(json, "pipeline").map(Cow::into_owned))
            }
            _ => return String::new(),
        };
        named.unwrap_or_else(|| {
            let seen = self.pipelines.seen_by(who);
            match &*seen {
                [only] => only.name().to_owned(),
                _ => String::new(),
            }
        })
    }
}

impl Observer for Door {
    fn begin(
        &self,
        call: &json_rpc::Call,
        caller: &mut mcp::Caller,
    ) -> Option<Box<dyn ObservedCall>> {
        let allowance = self.allowance(caller);
        if !self.calls.observes(allowance.is_some(), false) {
            return None;
        }
        let subject = caller.subject(call);
        let method = METHODS.into_iter().find(|method| *method == call.method());
        let arguments = caller.arguments(call);
        let who = Caller::new(caller.extension()).with_address(caller.client_ip());
        let mut message = Message {
            call,
            method,
            subject: subject.as_deref(),
            pipeline: "",
            followed: None,
        };
        let pipeline = self.pipeline(&message, arguments, &who);
        message.pipeline = &pipeline;
        let begun = self.calls.begin_message(&message, caller, &who, allowance);
        if begun.record().is_none() && !self.calls.notes(&message) {
            return None;
        }
        let found = self.pipelines.find(&pipeline, &who);
        if message.method.is_some() {
            // Refused when it is admitted.
            begun.count_call().ok();
            if let FoundPipeline::Hidden = found {
                begun.hide();
            }
        }
        if let FoundPipeline::Seen(pipeline) = &found {
            begun.set_database(pipeline.asked_database());
        }
        if let (Some(record), Some(arguments)) = (begun.record(), arguments) {
            // At most a digest of it is recorded.
            record.question_in(arguments, StatementPlace::Argument("query"));
            if let FoundPipeline::Seen(pipeline) = &found {
                record.database(pipeline.database().name());
            }
        }
        if let Some(fields) = begun.log_fields(&who) {
            caller.set_extension(fields);
        }
        caller.set_extension(begun.clone());
        Some(Box::new(begun))
    }
}

/// Returns the pipeline and the document in an address.
pub(super) fn in_address(address: &str) -> Option<(String, String)> {
    let (pipeline, document) = address.strip_prefix("rag://")?.split_once('/')?;
    let decoded = |text| percent::decode(text).map(Cow::into_owned);
    Some((decoded(pipeline)?, decoded(document)?))
}
