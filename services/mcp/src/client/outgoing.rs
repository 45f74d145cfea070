//! Requests to send.

use bytes::Bytes;
use http::HeaderMap;

use crate::protocol::Revision;

/// A request to send.
pub(super) struct Outgoing<'a> {
    pub(super) id: u64,
    pub(super) method: &'a str,
    /// The name of the tool or prompt, or the URI of the resource.
    pub(super) subject: Option<&'a str>,
    /// Headers that repeat arguments of a tool.
    pub(super) headers: HeaderMap,
    /// The revision, once it is known.
    pub(super) revision: Option<Revision>,
    pub(super) body: Bytes,
}
