//! The trace id of W3C Trace Context.

use std::fmt;

use http::{HeaderMap, HeaderName};

const TRACEPARENT: HeaderName = HeaderName::from_static("traceparent");

/// The id of a distributed trace, as the `traceparent` header carries it (W3C Trace Context).
///
/// Clients choose it, so it connects records but proves nothing. `Display` writes 32 hexadecimal
/// digits.
///
/// ```
/// use ziggurat_layers::audit::TraceId;
///
/// let header = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
/// let id = TraceId::from_traceparent(header).unwrap();
/// assert_eq!(id.to_string(), "0af7651916cd43dd8448eb211c80319c");
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct TraceId(u128);

// === impl TraceId ===

impl TraceId {
    /// Reads the value of a `traceparent` header strictly; returns `None` if it is malformed.
    ///
    /// Digits must be lower case and ids must not be zero. A value of a later version than 00 may
    /// have more fields.
    ///
    /// ```
    /// use ziggurat_layers::audit::TraceId;
    ///
    /// assert_eq!(TraceId::from_traceparent("00-0af7651916cd43dd8448eb211c80319c"), None);
    /// ```
    #[must_use]
    pub fn from_traceparent(value: &str) -> Option<Self> {
        let mut fields = value.split('-');
        let version = hex(fields.next()?, 2)?;
        let trace_id = hex(fields.next()?, 32)?;
        let parent_id = hex(fields.next()?, 16)?;
        hex(fields.next()?, 2)?;
        let is_version_known = version != 0xff && (version != 0 || fields.next().is_none());
        (is_version_known && trace_id != 0 && parent_id != 0).then_some(Self(trace_id))
    }

    /// Reads the header of a request; of several, none counts.
    pub(super) fn of(headers: &HeaderMap) -> Option<Self> {
        let mut values = headers.get_all(TRACEPARENT).iter();
        let value = values.next()?;
        let is_single = values.next().is_none();
        Self::from_traceparent(value.to_str().ok().filter(|_| is_single)?)
    }
}

/// Reads exactly this many lower-case hexadecimal digits.
fn hex(text: &str, digits: usize) -> Option<u128> {
    let is_hex = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
    let is_valid = text.len() == digits && text.bytes().all(is_hex);
    u128::from_str_radix(text, 16).ok().filter(|_| is_valid)
}

impl fmt::Display for TraceId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", self.0)
    }
}

impl fmt::Debug for TraceId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "TraceId({self})")
    }
}
