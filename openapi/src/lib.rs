//! The OpenAPI 3.0.3 documents of the servers.
//!
//! A document is generated from the handlers, converted from the revision that utoipa writes to
//! the one that clients read, and committed as JSON; a test fails when the two differ. A server
//! sends the committed bytes.
//!
//! ```
//! let document: serde_json::Value = serde_json::from_str(ziggurat_openapi::TOOLS)?;
//! assert_eq!(document["openapi"], "3.0.3");
//! assert!(document["paths"]["/health"]["get"].is_object());
//! # Ok::<_, serde_json::Error>(())
//! ```
//!
//! After a change to a handler, `ZIGGURAT_BLESS=1 cargo test -p ziggurat-openapi` writes them.

#[cfg(test)]
mod generate;

/// The document of the tool server, JSON.
pub const TOOLS: &str = include_str!("../ziggurat-tools.json");

/// The document of the retrieval server, JSON.
pub const RAG: &str = include_str!("../ziggurat-rag.json");

/// The document of the account service, JSON.
pub const PLATFORM: &str = include_str!("../ziggurat-platform.json");

/// The path of the document of a server.
pub const PATH: &str = "/api/openapi.json";
