//! The errors of the modern revision that no header causes.

use serde::Serialize;
use ziggurat_layers::json_rpc::Error;

use crate::protocol::Revision;

/// The client lacks a capability that the call needs.
pub(crate) const CAPABILITY_MISSING: i64 = -32021;
/// The revision is not supported.
const VERSION_UNSUPPORTED: i64 = -32022;

pub(super) fn unsupported(requested: &str) -> Error {
    #[derive(Serialize)]
    struct Versions<'a> {
        supported: [&'static str; 1],
        requested: &'a str,
    }

    Error::new(VERSION_UNSUPPORTED, "Unsupported protocol version").with_data(Versions {
        supported: [Revision::V2026_07_28.as_str()],
        requested,
    })
}
