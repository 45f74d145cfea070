//! The errors of the modern revision that no header causes.

use serde::Serialize;
use ziggurat_layers::json_rpc::Error;

use crate::protocol::{Revision, revision::Revisions};

/// The client lacks a capability that the call needs.
pub(crate) const CAPABILITY_MISSING: i64 = -32021;
/// The revision is not supported.
const VERSION_UNSUPPORTED: i64 = -32022;

/// Makes the error for a revision that the server does not answer. It lists the modern revisions
/// that the server answers. Without any, it lists the others.
pub(super) fn unsupported(requested: &str, revisions: Revisions) -> Error {
    #[derive(Serialize)]
    struct Versions<'a> {
        supported: Vec<&'static str>,
        requested: &'a str,
    }

    let has_modern = revisions.newest_first().any(Revision::is_modern);
    let supported = revisions.newest_first();
    let supported = supported.filter(|revision| revision.is_modern() == has_modern);
    Error::new(VERSION_UNSUPPORTED, "Unsupported protocol version").with_data(Versions {
        supported: supported.map(Revision::as_str).collect(),
        requested,
    })
}
