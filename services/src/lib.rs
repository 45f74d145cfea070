//! Small tower services, and what they stand on.
//!
//! Data flows one way: programs build these services, these services use
//! [`ziggurat_layers`]. Nothing here reads a configuration file or composes a stack.

pub mod accounts;
pub mod databases;
pub mod knowledge;
pub mod mcp;
pub mod platform;
pub mod rag;
pub mod rest;
pub mod stdio;
pub mod store;
