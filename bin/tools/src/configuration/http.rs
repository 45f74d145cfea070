//! How clients reach the server over HTTP.

use std::path::PathBuf;

use serde::Deserialize;

use super::{
    Address, Invalid, Surroundings,
    auth::RawAuth,
    client_ip::{ClientIp, RawClientIp},
    environment::{Reader, set},
};
use crate::arguments::TransportFlags;

/// The section as written.
#[derive(Debug, Default, Deserialize)]
pub(super) struct RawHttp {
    enabled: Option<bool>,
    address: Option<String>,
    tls: Option<RawTls>,
    pub(super) auth: Option<RawAuth>,
    client_ip: Option<RawClientIp>,
    allowed_origins: Option<Vec<String>>,
    allowed_hosts: Option<Vec<String>>,
}

/// The section as written.
#[derive(Debug, Default, Deserialize)]
pub(super) struct RawTls {
    enabled: Option<bool>,
    cert_file: Option<PathBuf>,
    key_file: Option<PathBuf>,
    chain_file: Option<PathBuf>,
}

/// How to serve HTTP.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Http {
    /// Where to listen.
    pub(crate) address: Address,
    /// What HTTPS takes, where it is wanted.
    pub(crate) tls: Option<Tls>,
    /// How to know who is calling.
    pub(crate) client_ip: ClientIp,
    /// Origins that browsers may call from; if not said, those of this machine.
    pub(crate) allowed_origins: Option<Vec<String>>,
    /// Names to be called by, besides the obvious ones.
    pub(crate) allowed_hosts: Vec<String>,
}

/// The files of HTTPS.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Tls {
    /// The certificate.
    pub(crate) cert: PathBuf,
    /// Its private key.
    pub(crate) key: PathBuf,
    /// Intermediate certificates.
    pub(crate) chain: Option<PathBuf>,
}

// === impl RawHttp ===

impl RawHttp {
    pub(super) fn overlay(&mut self, reader: &mut Reader<'_>, flags: &TransportFlags) {
        set(&mut self.enabled, reader.boolean("ZIGGURAT_HTTP_ENABLED"));
        set(&mut self.enabled, flags.http);
        set(&mut self.address, reader.text("ZIGGURAT_HTTP_ADDRESS"));
        set(&mut self.address, flags.addr.clone());
        let tls = self.tls.get_or_insert_default();
        set(&mut tls.enabled, reader.boolean("ZIGGURAT_TLS_ENABLED"));
        set(&mut tls.enabled, flags.tls);
        set(&mut tls.cert_file, reader.path("ZIGGURAT_TLS_CERT_FILE"));
        set(&mut tls.cert_file, flags.cert.clone());
        set(&mut tls.key_file, reader.path("ZIGGURAT_TLS_KEY_FILE"));
        set(&mut tls.key_file, flags.key.clone());
        set(&mut tls.chain_file, reader.path("ZIGGURAT_TLS_CHAIN_FILE"));
        set(&mut tls.chain_file, flags.chain.clone());
    }

    /// Checks the section, also if HTTP is not wanted now.
    pub(super) fn check(self, around: &Surroundings) -> Result<Option<Http>, Invalid> {
        let default = Http::default();
        let is_enabled = self.enabled.unwrap_or(false);
        let address = match self.address.filter(|address| !address.is_empty()) {
            Some(text) => text
                .parse()
                .map_err(|error| Invalid::key("http.address", format!("'{text}' {error}")))?,
            None => default.address,
        };
        let tls = self.tls.unwrap_or_default().check(around);
        if tls.is_some() && !is_enabled {
            return Err(Invalid::TlsWithoutHttp);
        }
        let http = Http {
            address,
            tls,
            client_ip: self.client_ip.unwrap_or_default().check()?,
            allowed_origins: self.allowed_origins.map(origins).transpose()?,
            allowed_hosts: self
                .allowed_hosts
                .map(hosts)
                .transpose()?
                .unwrap_or_default(),
        };
        Ok(is_enabled.then_some(http))
    }
}

// === impl RawTls ===

impl RawTls {
    fn check(self, around: &Surroundings) -> Option<Tls> {
        let default = Tls::default();
        self.enabled.unwrap_or(false).then(|| Tls {
            cert: around.path(self.cert_file).unwrap_or(default.cert),
            key: around.path(self.key_file).unwrap_or(default.key),
            chain: around.path(self.chain_file),
        })
    }
}

// === impl Tls ===

impl Default for Tls {
    fn default() -> Self {
        Self {
            cert: "./server.crt".into(),
            key: "./server.key".into(),
            chain: None,
        }
    }
}

/// What a browser sends as `Origin` has a scheme, a host and perhaps a port, and no path.
fn origins(list: Vec<String>) -> Result<Vec<String>, Invalid> {
    let is_origin = |text: &str| {
        text.split_once("://").is_some_and(|(scheme, host)| {
            !scheme.is_empty() && is_host(host) && scheme.bytes().all(|b| b.is_ascii_alphanumeric())
        })
    };
    check_each(
        list,
        is_origin,
        "http.allowed_origins",
        "an origin such as https://app.example.com",
    )
}

fn hosts(list: Vec<String>) -> Result<Vec<String>, Invalid> {
    let expected = "a host such as app.example.com or app.example.com:8080";
    check_each(list, is_host, "http.allowed_hosts", expected)
}

fn is_host(text: &str) -> bool {
    text.parse::<http::uri::Authority>()
        .is_ok_and(|host| !host.host().is_empty() && !text.contains('@'))
        && !text.contains('*')
}

fn check_each(
    list: Vec<String>,
    is_good: impl Fn(&str) -> bool,
    key: &'static str,
    expected: &str,
) -> Result<Vec<String>, Invalid> {
    match list.iter().find(|text| !is_good(text)) {
        Some(text) => Err(Invalid::key(
            key,
            format!("has '{text}', which is not {expected}"),
        )),
        None => Ok(list),
    }
}
