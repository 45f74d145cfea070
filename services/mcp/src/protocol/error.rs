//! The errors of the modern revision, and the HTTP status of each.

use http::StatusCode;
use serde::Serialize;
use ziggurat_layers::json_rpc::Error;

use crate::protocol::Revision;

/// A header does not match the message.
pub(crate) const HEADER_MISMATCH: i64 = -32020;
/// The client lacks a capability that the call needs.
pub(crate) const CAPABILITY_MISSING: i64 = -32021;
/// The revision is not supported.
pub(crate) const VERSION_UNSUPPORTED: i64 = -32022;

pub(crate) fn mismatch(problem: &str) -> Error {
    Error::new(HEADER_MISMATCH, "Header mismatch").with_data(problem)
}

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

/// Returns the HTTP status of an error in the modern revision.
pub(crate) fn status(error: &Error) -> StatusCode {
    match error.code() {
        Error::PARSE_ERROR
        | Error::INVALID_REQUEST
        | Error::INVALID_PARAMS
        | HEADER_MISMATCH
        | CAPABILITY_MISSING
        | VERSION_UNSUPPORTED => StatusCode::BAD_REQUEST,
        Error::METHOD_NOT_FOUND => StatusCode::NOT_FOUND,
        _ => StatusCode::OK,
    }
}
