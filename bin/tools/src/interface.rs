//! Names in the interface of the server.

/// Name of the server in the protocol.
pub(crate) const NAME: &str = "ziggurat-tools";

/// The version of this build.
pub(crate) const VERSION: &str = env!("CARGO_PKG_VERSION");

/// Path of the calls of all revisions.
pub(crate) const CALLS: &str = "/mcp";

/// The paths under which the server is reached, the longest of each first.
pub(crate) const ENDPOINTS: &[&str] = &["/mcp/v1", CALLS, "/api", "/health", "/ready"];

/// Tool with calls that are limited by failures and not by their number.
pub(crate) const LOGIN: &str = "authenticate_user";
