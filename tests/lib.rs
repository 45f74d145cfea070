//! Runs the examples of the README and of the book as tests.

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

#[cfg(doctest)]
#[doc = include_str!("../docs/src/layers.md")]
struct Layers;

#[cfg(doctest)]
#[doc = include_str!("../docs/src/gateway.md")]
struct Gateway;

#[cfg(doctest)]
#[doc = include_str!("../docs/src/mcp-server.md")]
struct McpServer;
