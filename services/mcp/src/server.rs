//! Serves calls: transports, the dispatch of methods, and the bytes of results.

#[cfg(any(feature = "http", feature = "stdio"))]
pub(crate) mod builder;
pub(crate) mod detached_calls;
mod dispatch;
pub(crate) mod encode;
pub(crate) mod future;
mod heartbeat;
#[cfg(feature = "http")]
pub(crate) mod http;
pub(crate) mod method;
#[cfg(any(feature = "http", feature = "stdio"))]
pub(crate) mod serve_error;
pub mod stdio;
#[cfg(any(feature = "http", feature = "stdio"))]
mod stop;
#[cfg(feature = "http")]
pub mod streamable;
