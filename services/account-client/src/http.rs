//! Requests and responses: addresses, connections, retries, logs without secrets, failures.

pub(crate) mod address;
pub(crate) mod classify;
mod connect;
pub(crate) mod log;
pub(crate) mod mask;
pub(crate) mod message;
mod proxy;
pub(crate) mod retry;
mod tls;
pub(crate) mod transport;
