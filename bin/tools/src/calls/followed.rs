//! Calls in the list of running statements.

use std::task::{Context, Poll};

use ziggurat_answers::Facts;
use ziggurat_audit::Verdict;
use ziggurat_calls::activity::{Begin, CallerName, End, FollowedCall};
use ziggurat_layers::json_rpc::Call;
use ziggurat_mcp::{Caller, Reported};
use ziggurat_tokens::{Identity, Local};

use crate::{
    callers::{kind, named},
    calls::{CallObserver, OverStdio},
    interface::{LOGIN, METHODS, READ},
};

/// Tools that run no statement of their callers.
const WITHOUT_STATEMENTS: [&str; 6] = [
    LOGIN,
    "generate_embedding",
    "get_schema_info",
    "list_databases",
    "search_knowledgebase",
    "search_schema",
];

// === impl CallObserver ===

impl CallObserver {
    /// Follows a call that may run statements, for the list of those that run.
    pub(super) fn follow(
        &self,
        call: &Call,
        caller: &Caller,
        subject: Option<&str>,
        local: &Local,
    ) -> Option<FollowedCall> {
        let (activity, subject) = (self.activity.as_ref()?, subject?);
        let is_tool = call.method() == METHODS[0];
        if !is_tool && call.method() != READ {
            return None;
        }
        if is_tool && WITHOUT_STATEMENTS.contains(&subject) {
            return None;
        }
        activity.begin(&Begin {
            caller: caller_name(caller.extension(), local),
            via: if caller.extension::<OverStdio>().is_some() {
                "stdio"
            } else {
                "http"
            },
            tool: if is_tool { subject } else { READ },
        })
    }
}

/// Returns why a call has to end, once its statement is cancelled.
pub(super) fn poll_cancelled(followed: Option<&FollowedCall>, cx: &Context<'_>) -> Poll<Reported> {
    match followed {
        None => Poll::Pending,
        Some(followed) => {
            let cancelled = followed.poll_cancelled(cx);
            cancelled.map(|by| Reported::new(by.message()))
        }
    }
}

/// Ends a call or a request, if it is followed.
pub(crate) fn end(followed: Option<FollowedCall>, verdict: Verdict, facts: &Facts, bytes: u64) {
    if let Some(followed) = followed {
        followed.end(&End {
            outcome: verdict.as_str(),
            code: facts.code.as_deref(),
            rows: facts.rows,
            bytes,
        });
    }
}

/// Returns the name of a caller in the list of running statements.
pub(crate) fn caller_name<'a>(identity: Option<&'a Identity>, local: &'a Local) -> CallerName<'a> {
    let named = named(identity, local);
    CallerName {
        kind: kind(identity, local),
        name: named.name,
        account: identity.map_or("", Identity::account_id),
    }
}
