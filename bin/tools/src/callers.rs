//! Names and allowances of callers.

use std::sync::Arc;

use ziggurat_audit::Caller;
use ziggurat_calls::limits::{Allowance, Limits};
use ziggurat_tokens::{CallerId, Identity, Local, LocalCaller};

/// Describes a caller by its name and the first digits of its token's digest; without an identity,
/// the local caller or an anonymous one.
pub(crate) fn named<'a>(identity: Option<&'a Identity>, local: &'a Local) -> Caller<'a> {
    Caller {
        kind: kind(identity, local),
        name: identity.map_or_else(|| local.name.as_deref().unwrap_or_default(), Identity::name),
        token: identity.map_or("", Identity::digits),
        ip: None,
    }
}

/// Returns the kind and the name of a caller, such as `user:alice`.
pub(crate) fn shown(identity: Option<&Identity>, local: &Local) -> String {
    let named = named(identity, local);
    match named.name {
        "" => named.kind.to_owned(),
        name => format!("{}:{name}", named.kind),
    }
}

/// Returns the kind of a caller.
pub(crate) fn kind(identity: Option<&Identity>, local: &Local) -> &'static str {
    let without = if local.is_anonymous {
        "anonymous"
    } else {
        "local"
    };
    identity.map_or(without, Identity::kind)
}

/// Returns the allowance of a caller, if it has limits.
///
/// Where callers authenticate, a caller without an identity has none: all such clients would share
/// it, so that one of them could use up what the others need to sign in. `http.rate_limit` counts
/// them by their addresses.
pub(crate) fn allowance(
    limits: &Limits,
    identity: Option<&Identity>,
    local: &LocalCaller,
) -> Option<Arc<Allowance>> {
    // First, because without limits nothing else is looked at.
    let allowance = limits.of(&id(identity))?;
    let is_counted = identity.is_some() || !local.get().is_anonymous;
    is_counted.then(|| Arc::new(allowance))
}

/// Returns the name that a caller is counted by. Without authentication it is the local user.
pub(crate) fn id(identity: Option<&Identity>) -> CallerId<'_> {
    identity.map_or(CallerId::Local, Identity::caller_id)
}
