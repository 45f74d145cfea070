//! Facts of a call, known at its start and at its end.

use std::net::IpAddr;

use ziggurat_telemetry::Verdict;

/// Facts that are known at the start of a call. An empty text leaves its member out.
///
/// ```
/// use ziggurat_audit::{CallStart, Caller};
///
/// let start = CallStart {
///     request_id: "0b7e",
///     transport: "http",
///     endpoint: "/mcp",
///     caller: Caller { kind: "client", name: "acme-bot", token: "3f2a9c1b", ip: None },
///     method: "tools/call",
///     tool: "query_database",
///     ..CallStart::default()
/// };
/// # let _ = start;
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct CallStart<'a> {
    /// Id of the request, as in the header of the response.
    pub request_id: &'a str,
    /// Id of the trace, in hexadecimal digits.
    pub trace_id: &'a str,
    /// Way in, such as `http` or `stdio`.
    pub transport: &'a str,
    /// Path of the endpoint, such as `/mcp`.
    pub endpoint: &'a str,
    /// Revision of the protocol.
    pub revision: &'a str,
    /// Identity behind the call.
    pub caller: Caller<'a>,
    /// Name of the client program, as it says.
    pub client_name: &'a str,
    /// Version of the client program, as it says.
    pub client_version: &'a str,
    /// Method, such as `tools/call`.
    pub method: &'a str,
    /// Name of the tool.
    pub tool: &'a str,
    /// Name of the pipeline.
    pub pipeline: &'a str,
}

/// Returns the method of a request that is no call of a protocol: its own, and the path, which is
/// shortened to 200 bytes.
#[must_use]
pub fn request_method(method: &str, path: &str) -> String {
    const LONGEST: usize = 200;
    format!("{method} {}", &path[..path.floor_char_boundary(LONGEST)])
}

/// Identity behind a call.
#[derive(Clone, Copy, Debug, Default)]
pub struct Caller<'a> {
    /// Kind, such as `token`, `user`, `client` or `local`.
    pub kind: &'a str,
    /// Name within its kind.
    pub name: &'a str,
    /// First eight digits of the digest of the token, never the token.
    pub token: &'a str,
    /// Address of the client.
    pub ip: Option<IpAddr>,
}

/// Facts that are known at the end of a call.
///
/// ```
/// use ziggurat_audit::{CallEnd, Verdict};
///
/// let end = CallEnd { rows: Some(3), bytes: 512, ..Verdict::Ok.into() };
/// # let _ = end;
/// ```
#[derive(Clone, Copy, Debug)]
pub struct CallEnd<'a> {
    /// The end in one word.
    pub verdict: Verdict,
    /// Name of the database; an empty one leaves it as it was set before.
    pub database: &'a str,
    /// Number of rows of the result.
    pub rows: Option<u64>,
    /// Number of bytes of the result; 0 leaves its member out.
    pub bytes: u64,
    /// SQLSTATE or JSON-RPC code of an error; an empty one leaves its member out.
    pub code: &'a str,
}

// === impl CallEnd ===

impl From<Verdict> for CallEnd<'_> {
    fn from(verdict: Verdict) -> Self {
        Self {
            verdict,
            database: "",
            rows: None,
            bytes: 0,
            code: "",
        }
    }
}
