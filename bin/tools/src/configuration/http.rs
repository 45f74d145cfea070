//! HTTP settings.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use ziggurat_console::PublicUrl;
use ziggurat_http::TlsFiles;
use ziggurat_layers::{
    host::{Hosts, InvalidHost},
    origin::{InvalidOrigin, Origins},
    rate_limit::Quota,
};
use ziggurat_runtime::{InvalidAddress, config::Section};

use crate::configuration::{
    Address,
    client_ip::{self, ClientIp},
};

/// HTTP settings.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Http {
    /// Address to listen on.
    pub(crate) address: Address,
    /// True if other machines may reach the server though authentication is off.
    pub(crate) allow_public: bool,
    /// Files for HTTPS, if it is on.
    pub(crate) tls: Option<TlsFiles>,
    /// Settings for the address of a client.
    pub(crate) client_ip: ClientIp,
    /// Origins that browsers may call from; if none are set, the origins of this machine.
    pub(crate) allowed_origins: Option<Vec<String>>,
    /// Additional host names of the server.
    pub(crate) allowed_hosts: Vec<String>,
    /// Limit on the requests of an address.
    pub(crate) rate_limit: Option<Quota>,
    /// True if browsers get the console.
    pub(crate) console: bool,
    /// URL of the server for browsers.
    pub(crate) public_url: Option<PublicUrl>,
}

/// Reads the section, also if HTTP is off. Without authentication the default address is a loopback
/// address. `is_child` is set for a client that starts the server as a child process, and `issuer_url`
/// is the URL of the server that the section of an issuer has.
pub(super) fn read(
    file: &Section<'_>,
    has_auth: bool,
    is_child: bool,
    issuer_url: Option<&str>,
) -> Option<Http> {
    let enabled = file
        .key("enabled")
        .var("ZIGGURAT_HTTP_ENABLED")
        .flag("http");
    let is_enabled = enabled.boolean().unwrap_or(false) && !is_child;
    let is_public = file.flags().text("no-auth") == Some("public");
    let allow_public = file.key("allow_public").var("ZIGGURAT_HTTP_ALLOW_PUBLIC");
    let allow_public = allow_public.boolean().unwrap_or(false) || is_public;
    let address = file
        .key("address")
        .var("ZIGGURAT_HTTP_ADDRESS")
        .flag("addr");
    let address: Option<Address> = address.parsed(|text| {
        let address = text.parse();
        address.map_err(|error: InvalidAddress| format!("'{text}' {error}"))
    });
    let tls = tls(&file.section("tls")).filter(|_| !is_child);
    if tls.is_some() && !is_enabled {
        file.complain("TLS requires HTTP mode to be enabled");
        return None;
    }
    let console = file.key("console").var("ZIGGURAT_HTTP_CONSOLE");
    let public_url = file.key("public_url").var("ZIGGURAT_HTTP_PUBLIC_URL");
    let public_url = public_url.flag("public-url").parsed(str::parse);
    let (origins, hosts) = (file.key("allowed_origins"), file.key("allowed_hosts"));
    let is_local = !has_auth && !allow_public;
    let address = match address {
        Some(address) if is_local && address.is_bare_port() => {
            if is_enabled {
                file.warn(format!(
                    "without authentication {address} is this port of 127.0.0.1 and [::1]: only \
                     this machine can reach it; -no-auth=public opens it"
                ));
            }
            address.at_localhost()
        }
        Some(address) => address,
        None if is_local => Address::loopback(),
        None => Address::default(),
    };
    let http = Http {
        address,
        allow_public,
        tls,
        client_ip: client_ip::read(&file.section("client_ip")),
        allowed_origins: origins.texts(),
        allowed_hosts: hosts.texts().unwrap_or_default(),
        rate_limit: file.key("rate_limit").parsed(str::parse),
        console: console.boolean().unwrap_or(true),
        public_url: public_url.or_else(|| issuer_url.and_then(|url| url.parse().ok())),
    };
    if let Err(error) = http.origins() {
        origins.problem(error);
    }
    if let Err(error) = http.hosts(Ipv4Addr::UNSPECIFIED.into()) {
        hosts.problem(error);
    }
    is_enabled.then_some(http)
}

fn tls(file: &Section<'_>) -> Option<TlsFiles> {
    let path = |key: &str, variable: &str, flag: &str| {
        let value = file.key(key).var(variable).flag(flag);
        value.path()
    };
    let is_enabled = file.key("enabled").var("ZIGGURAT_TLS_ENABLED").flag("tls");
    let tls = TlsFiles {
        cert: path("cert_file", "ZIGGURAT_TLS_CERT_FILE", "cert")
            .unwrap_or_else(|| "./server.crt".into()),
        key: path("key_file", "ZIGGURAT_TLS_KEY_FILE", "key")
            .unwrap_or_else(|| "./server.key".into()),
        chain: path("chain_file", "ZIGGURAT_TLS_CHAIN_FILE", "chain"),
    };
    is_enabled.boolean().unwrap_or(false).then_some(tls)
}

// === impl Http ===

impl Http {
    /// Returns the public address for a server that listens on this address, without a slash at its
    /// end.
    pub(crate) fn issuer(&self, address: SocketAddr) -> String {
        let scheme = if self.tls.is_some() { "https" } else { "http" };
        match &self.public_url {
            Some(url) => url.origin(),
            None => format!("{scheme}://localhost:{}", address.port()),
        }
    }

    /// Returns whether passwords are safe on the way to the public URL: it is https, or on this machine.
    pub(crate) fn is_public_url_safe(&self) -> bool {
        let is_safe = |url: &PublicUrl| {
            let is_here = matches!(url.host(), "localhost" | "127.0.0.1" | "[::1]");
            is_here || url.origin().starts_with("https://")
        };
        self.public_url.as_ref().is_none_or(is_safe)
    }

    /// Returns the origins of pages that may use the server, including the origin of its public
    /// URL.
    pub(crate) fn origins(&self) -> Result<Origins, InvalidOrigin> {
        let origins = match &self.allowed_origins {
            Some(list) => Origins::listed(list)?,
            None => Origins::loopback(),
        };
        match &self.public_url {
            Some(url) => origins.and(&url.origin()),
            None => Ok(origins),
        }
    }

    /// Returns the host names that the server accepts on the bound address.
    pub(crate) fn hosts(&self, bound: IpAddr) -> Result<Hosts, InvalidHost> {
        let hosts = Hosts::of(bound, &self.allowed_hosts)?;
        match &self.public_url {
            Some(url) => hosts.and(url.host()),
            None => Ok(hosts),
        }
    }
}
