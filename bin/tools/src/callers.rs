//! Names of callers, for records, comments of statements and logs.

use ziggurat_accounts::{Holder, Identity, Local};
use ziggurat_audit::Caller;

/// Describes a caller by its name and the first digits of its token's digest; without
/// authentication, the local caller.
pub(crate) fn named<'a>(
    identity: Option<&'a Identity>,
    local: &'a Local,
    digits: &'a str,
) -> Caller<'a> {
    Caller {
        kind: kind(identity),
        name: match identity.map(Identity::holder) {
            None => local.name.as_deref().unwrap_or_default(),
            Some(Holder::Program { id, .. }) => id,
            Some(Holder::User { name, .. }) => name,
            Some(Holder::Client { subject, .. }) => subject,
        },
        token: digits,
        ip: None,
    }
}

/// Returns the first eight digits of a token's digest.
pub(crate) fn digits(identity: Option<&Identity>) -> String {
    // Written without `format!`, which takes several times as long.
    let mut digits = String::with_capacity(8);
    if let Some(identity) = identity {
        for byte in identity.token().as_bytes().iter().take(4) {
            let nibbles = [byte >> 4, byte & 15];
            digits.extend(nibbles.map(|it| char::from_digit(it.into(), 16).unwrap_or('0')));
        }
    }
    digits
}

/// Returns the kind and the name of a caller, such as `user:alice`.
pub(crate) fn shown(identity: Option<&Identity>, local: &Local) -> String {
    let named = named(identity, local, "");
    match named.name {
        "" => named.kind.to_owned(),
        name => format!("{}:{name}", named.kind),
    }
}

/// Returns the kind of a caller.
pub(crate) fn kind(identity: Option<&Identity>) -> &'static str {
    match identity.map(Identity::holder) {
        None => "local",
        Some(Holder::Program { .. }) => "token",
        Some(Holder::User { .. }) => "user",
        Some(Holder::Client { .. }) => "client",
    }
}
