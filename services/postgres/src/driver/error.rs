//! Errors of a connection.

use std::io;

use fallible_iterator::FallibleIterator as _;
use postgres_protocol::message::backend::{ErrorFields, ErrorResponseBody, NoticeResponseBody};
use thiserror::Error;

use crate::{driver::CommandFailure, notices::Notice};

/// Reason for a missing answer.
///
/// `Display` is for the log.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum DriverError {
    /// PostgreSQL reported an error.
    #[error("the server reports an error")]
    Server(#[source] Box<ServerError>),
    /// The connection broke.
    #[error("the connection failed")]
    Io(#[from] io::Error),
    /// TLS is required, and the server does not support it.
    #[error("the server does not support TLS")]
    NoTls,
    /// The server asks for authentication in a way that is not accepted.
    #[error("{0}")]
    Auth(&'static str),
    /// The role of a caller may not be used; the text is for the log.
    #[error("{0}")]
    Role(Box<str>),
    /// A program of the operator failed.
    #[error(transparent)]
    Command(#[from] Box<CommandFailure>),
    /// The server violates the protocol.
    #[error("the server violates the protocol: {0}")]
    Protocol(&'static str),
    /// A row is larger than the limit.
    #[error("a row of {bytes} bytes is larger than the limit")]
    Oversized {
        /// Its size.
        bytes: usize,
    },
    /// No answer came before the deadline.
    #[error("the server did not answer in time")]
    TimedOut,
    /// A large row got no permit before the deadline.
    #[error("other large rows use all the memory for them")]
    NoRoom,
    /// A value is invalid.
    #[error("a value cannot be read")]
    Value(#[source] Box<dyn std::error::Error + Send + Sync>),
}

/// Error that PostgreSQL reported.
#[derive(Clone, Debug, Default, Error)]
#[error("{severity}: {message} (SQLSTATE {code})")]
pub struct ServerError {
    pub(crate) severity: String,
    /// The SQLSTATE.
    pub code: String,
    pub(crate) message: String,
    pub(crate) detail: Option<String>,
    pub(crate) hint: Option<String>,
    /// Position in the text, in characters, counted from one.
    pub(crate) position: Option<usize>,
    pub(crate) schema: Option<String>,
    pub(crate) table: Option<String>,
    pub(crate) column: Option<String>,
    pub(crate) data_type: Option<String>,
    pub(crate) constraint: Option<String>,
}

// === impl DriverError ===

impl DriverError {
    pub(super) const LENGTH: Self = Self::Protocol("the length of a message is wrong");

    /// Returns the error for an invalid value.
    pub fn value(error: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        Self::Value(error.into())
    }
}

// === impl ServerError ===

impl ServerError {
    pub(super) fn new(body: &ErrorResponseBody, is_terse: bool) -> io::Result<Self> {
        Self::read(body.fields(), is_terse)
    }

    /// Returns a notice, which has the fields of an error.
    pub(super) fn notice(body: &NoticeResponseBody, is_terse: bool) -> Notice {
        let Self {
            severity,
            code: sqlstate,
            message,
            detail,
            hint,
            ..
        } = Self::read(body.fields(), is_terse).unwrap_or_default();
        Notice {
            severity,
            message,
            sqlstate,
            detail,
            hint,
        }
    }

    fn read(mut fields: ErrorFields<'_>, is_terse: bool) -> io::Result<Self> {
        let mut error = Self::default();
        while let Some(field) = fields.next()? {
            // With the encoding `SQL_ASCII` the text need not be UTF-8.
            let text = || String::from_utf8_lossy(field.value_bytes()).into_owned();
            match field.type_() {
                // The severity that is never translated, if the server sends it.
                b'V' => error.severity = text(),
                b'S' if error.severity.is_empty() => error.severity = text(),
                b'C' => error.code = text(),
                b'M' => error.message = text(),
                b'D' | b'H' if is_terse => {}
                b'D' => error.detail = Some(text()),
                b'H' => error.hint = Some(text()),
                // A position inside of a function has another field.
                b'P' => error.position = text().parse().ok(),
                b's' => error.schema = Some(text()),
                b't' => error.table = Some(text()),
                b'c' => error.column = Some(text()),
                b'd' => error.data_type = Some(text()),
                b'n' => error.constraint = Some(text()),
                _ => {}
            }
        }
        Ok(error)
    }
}
