//! The errors of the modern era, and the HTTP status of each.

use http::StatusCode;
use serde::Serialize;
use ziggurat_layers::json_rpc::Error;

use crate::protocol::Revision;

/// A header does not say what the message says.
pub(crate) const HEADER_MISMATCH: i64 = -32020;
/// A client was to be asked something it cannot be asked.
pub(crate) const CAPABILITY_MISSING: i64 = -32021;
/// The revision is not spoken here.
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

/// The status of an error in the modern era.
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
