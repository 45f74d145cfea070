//! Comments in front of statements.

use std::fmt;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

use crate::traces::TraceParent;

/// Maximum length of a value, encoded.
const MAX_VALUE: usize = 128;

/// All bytes but letters, digits, `-`, `_`, `.` and `~`.
const ENCODED: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'_')
    .remove(b'.')
    .remove(b'~');

/// Comment that tells PostgreSQL which call a statement belongs to. It is displayed in the form of
/// sqlcommenter, without absent and empty values. Without any value it displays nothing.
///
/// Values are percent-encoded, so that the comment always ends where it should, and cut between
/// characters to at most 128 encoded bytes.
///
/// ```
/// use ziggurat_telemetry::traces::SqlComment;
///
/// let comment = SqlComment {
///     caller: Some("user:alice"),
///     request: Some("0b7e"),
///     tool: Some("*/ DROP"),
///     ..SqlComment::default()
/// };
/// let expected = "/*caller='user%3Aalice',request='0b7e',tool='%2A%2F%20DROP'*/";
/// assert_eq!(comment.to_string(), expected);
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct SqlComment<'a> {
    /// The kind and the name of the caller, such as `user:alice`.
    pub caller: Option<&'a str>,
    /// The pipeline.
    pub pipeline: Option<&'a str>,
    /// The id of the request.
    pub request: Option<&'a str>,
    /// The tool.
    pub tool: Option<&'a str>,
    /// The span of the statement.
    pub traceparent: Option<TraceParent>,
}

// === impl SqlComment ===

impl fmt::Display for SqlComment<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut start = "/*";
        let mut write = |key, value: &dyn fmt::Display| {
            write!(f, "{start}{key}='{value}'")?;
            start = ",";
            Ok(())
        };
        // The keys are sorted.
        let values = [
            ("caller", self.caller),
            ("pipeline", self.pipeline),
            ("request", self.request),
            ("tool", self.tool),
        ];
        for (key, value) in values {
            if let Some(value) = value.filter(|value| !value.is_empty()) {
                write(key, &utf8_percent_encode(cut(value), ENCODED))?;
            }
        }
        if let Some(traceparent) = &self.traceparent {
            write("traceparent", traceparent)?;
        }
        if start == "," {
            f.write_str("*/")
        } else {
            Ok(())
        }
    }
}

/// Returns the longest start of a value that fits when it is encoded.
fn cut(value: &str) -> &str {
    let mut length = 0;
    let end = value.char_indices().find(|(_, character)| {
        let is_plain =
            matches!(character, '-' | '_' | '.' | '~') || character.is_ascii_alphanumeric();
        length += if is_plain {
            1
        } else {
            3 * character.len_utf8()
        };
        length > MAX_VALUE
    });
    end.map_or(value, |(end, _)| value.split_at(end).0)
}
