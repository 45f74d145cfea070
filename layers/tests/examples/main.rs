//! Starts the examples and sends them requests.

mod axum_app;
mod hyper_gateway;
mod mcp_gateway;
mod program;
mod tonic_service;
