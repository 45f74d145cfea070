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

use ::http::{HeaderMap, HeaderValue, header};

/// Returns the headers of every request.
pub(crate) fn own_headers() -> HeaderMap {
    let agent = format!(
        "ziggurat/{} ({}; {})",
        env!("CARGO_PKG_VERSION"),
        operating_system(),
        architecture()
    );
    let mut headers = HeaderMap::new();
    if let Ok(agent) = HeaderValue::from_str(&agent) {
        headers.insert(header::USER_AGENT, agent);
    }
    headers.insert(header::ACCEPT, HeaderValue::from_static("application/json"));
    headers
}

/// Returns the common name of the architecture.
pub(crate) fn architecture() -> &'static str {
    match std::env::consts::ARCH {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        other => other,
    }
}

/// Returns the common name of the operating system.
pub(crate) fn operating_system() -> &'static str {
    match std::env::consts::OS {
        "macos" => "darwin",
        other => other,
    }
}
