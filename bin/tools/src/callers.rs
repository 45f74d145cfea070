//! Names of callers, for records, comments of statements and logs.

use ziggurat_audit::Caller;
use ziggurat_tokens::{Identity, Local};

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
