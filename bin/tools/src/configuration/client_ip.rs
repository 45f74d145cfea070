//! Trusted proxies and the header with the client's address.

use http::HeaderName;
use serde::Deserialize;
use ziggurat_layers::client_ip::{HopHeader, TrustedProxies};

use super::Invalid;

/// Section as written.
#[derive(Debug, Default, Deserialize)]
pub(super) struct RawClientIp {
    source: Option<String>,
    header: Option<String>,
    trusted_proxies: Option<Vec<String>>,
}

/// Settings for the address of a client; without trusted proxies, the peer address of the socket.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ClientIp {
    /// Proxies whose header is trusted.
    pub(crate) trusted: TrustedProxies,
    /// Header that the trusted proxies set.
    pub(crate) header: HopHeader,
}

// === impl RawClientIp ===

impl RawClientIp {
    pub(super) fn check(self) -> Result<ClientIp, Invalid> {
        const PROXIES: &str = "http.client_ip.trusted_proxies";
        let default = ClientIp::default();
        let proxies = self.trusted_proxies.unwrap_or_default();
        let trusted = TrustedProxies::try_from_iter(&proxies)
            .map_err(|error| Invalid::key(PROXIES, error.to_string()))?;
        let header = match self.header.filter(|header| !header.is_empty()) {
            Some(name) => hop_header(&name)?,
            None => default.header,
        };
        match self.source.as_deref().unwrap_or("socket") {
            "" | "socket" => Ok(ClientIp {
                trusted: TrustedProxies::default(),
                header,
            }),
            // With a header but no trusted proxy, the address would always be the socket's.
            "header" if proxies.is_empty() => Err(Invalid::key(
                PROXIES,
                "has to name the proxies, since http.client_ip.source is 'header'",
            )),
            "header" => Ok(ClientIp { trusted, header }),
            other => Err(Invalid::key(
                "http.client_ip.source",
                format!("'{other}' is neither 'socket' nor 'header'"),
            )),
        }
    }
}

// === impl ClientIp ===

impl Default for ClientIp {
    fn default() -> Self {
        Self {
            trusted: TrustedProxies::default(),
            header: HopHeader::Single(HeaderName::from_static("x-real-ip")),
        }
    }
}

fn hop_header(text: &str) -> Result<HopHeader, Invalid> {
    let name: HeaderName = text.parse().map_err(|_| {
        let reason = format!("'{text}' is not the name of a header");
        Invalid::key("http.client_ip.header", reason)
    })?;
    Ok(match name.as_str() {
        "forwarded" => HopHeader::Forwarded,
        "x-forwarded-for" => HopHeader::XForwardedFor,
        _ => HopHeader::Single(name),
    })
}
