//! Trusted proxies and the header with the client's address.

use http::HeaderName;
use ziggurat_layers::client_ip::{HopHeader, SetClientIpLayer, TrustedProxies};
use ziggurat_runtime::config::Section;

/// Settings for the address of a client; without trusted proxies, the peer address of the socket.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ClientIp {
    /// Proxies that are trusted to send the address of a client.
    pub(crate) trusted: TrustedProxies,
    /// Header that the trusted proxies set.
    pub(crate) header: HopHeader,
}

/// Reads the section.
pub(super) fn read(file: &Section<'_>) -> ClientIp {
    let list = file.key("trusted_proxies");
    let proxies = list.texts().unwrap_or_default();
    let trusted = TrustedProxies::try_from_iter(&proxies);
    let trusted = trusted.map_err(|error| list.problem(error)).ok();
    let mut settings = ClientIp::default();
    let header = file.key("header").parsed(|text| {
        let name = text.parse::<HeaderName>();
        name.map_err(|_| format!("'{text}' is not the name of a header"))
    });
    if let Some(header) = header {
        settings.header = header.into();
    }
    let source = file.key("source");
    match source.text().as_deref() {
        None | Some("socket") => {}
        // With a header but no trusted proxy, the address would always be the socket's.
        Some("header") if proxies.is_empty() => {
            list.problem("must list the proxies, because http.client_ip.source is 'header'");
        }
        Some("header") => settings.trusted = trusted.unwrap_or_default(),
        Some(other) => source.problem(format_args!("'{other}' is neither 'socket' nor 'header'")),
    }
    settings
}

// === impl ClientIp ===

impl ClientIp {
    /// Makes the layer that finds the address.
    pub(crate) fn layer(&self) -> SetClientIpLayer {
        SetClientIpLayer::new(self.trusted.clone(), self.header.clone())
    }
}

impl Default for ClientIp {
    fn default() -> Self {
        Self {
            trusted: TrustedProxies::default(),
            header: HopHeader::Single(HeaderName::from_static("x-real-ip")),
        }
    }
}
