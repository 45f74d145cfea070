//! Requests to send.

use bytes::Bytes;
use http::HeaderMap;
use ziggurat_mcp::protocol::Revision;

/// A request to send.
pub(crate) struct Outgoing<'a> {
    pub(crate) id: u64,
    pub(crate) method: &'a str,
    /// The name of the tool or prompt, or the URI of the resource.
    pub(crate) subject: Option<&'a str>,
    /// Headers that repeat arguments of a tool.
    pub(crate) headers: HeaderMap,
    /// The revision, once it is known.
    pub(crate) revision: Option<Revision>,
    pub(crate) body: Bytes,
}
