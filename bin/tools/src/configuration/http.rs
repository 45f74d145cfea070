//! HTTP settings.

use std::{
    net::{IpAddr, Ipv4Addr},
    path::PathBuf,
};

use serde::Deserialize;
use ziggurat_http::{Hosts, InvalidHost, InvalidOrigin, Origins};

use super::{
    Address, ConfigSources, Invalid,
    auth::RawAuth,
    client_ip::{ClientIp, RawClientIp},
    environment::{Reader, set},
};
use crate::arguments::{NoAuth, Overrides};

/// Section as written.
#[derive(Debug, Default, Deserialize)]
pub(super) struct RawHttp {
    enabled: Option<bool>,
    address: Option<String>,
    allow_public: Option<bool>,
    tls: Option<RawTls>,
    pub(super) auth: Option<RawAuth>,
    client_ip: Option<RawClientIp>,
    allowed_origins: Option<Vec<String>>,
    allowed_hosts: Option<Vec<String>>,
}

/// Section as written.
#[derive(Debug, Default, Deserialize)]
pub(super) struct RawTls {
    enabled: Option<bool>,
    cert_file: Option<PathBuf>,
    key_file: Option<PathBuf>,
    chain_file: Option<PathBuf>,
}

/// HTTP settings.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Http {
    /// Address to listen on.
    pub(crate) address: Address,
    /// True if other machines may reach the server though authentication is off.
    pub(crate) allow_public: bool,
    /// Files for HTTPS, if it is on.
    pub(crate) tls: Option<Tls>,
    /// Settings for the address of a client.
    pub(crate) client_ip: ClientIp,
    /// Origins that browsers may call from; if none are set, those of this machine.
    pub(crate) allowed_origins: Option<Vec<String>>,
    /// Additional host names of the server.
    pub(crate) allowed_hosts: Vec<String>,
}

/// Files for HTTPS.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Tls {
    /// Certificate.
    pub(crate) cert: PathBuf,
    /// Private key.
    pub(crate) key: PathBuf,
    /// Intermediate certificates.
    pub(crate) chain: Option<PathBuf>,
}

// === impl RawHttp ===

impl RawHttp {
    pub(super) fn overlay(&mut self, reader: &mut Reader<'_>, overrides: &Overrides) {
        let flags = &overrides.transport;
        set(&mut self.enabled, reader.boolean("ZIGGURAT_HTTP_ENABLED"));
        set(&mut self.enabled, flags.http);
        set(&mut self.address, reader.text("ZIGGURAT_HTTP_ADDRESS"));
        set(&mut self.address, flags.addr.clone());
        let name = "ZIGGURAT_HTTP_ALLOW_PUBLIC";
        set(&mut self.allow_public, reader.boolean(name));
        let is_public = overrides.auth.no_auth == Some(NoAuth::Public);
        set(&mut self.allow_public, is_public.then_some(true));
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

    /// Selects standard input and output, regardless of the environment and the file.
    pub(super) fn turn_off(&mut self) {
        (self.enabled, self.tls) = (Some(false), None);
    }

    /// Checks the section, also if HTTP is off. Without authentication the default address is a
    /// loopback address.
    pub(super) fn check(
        self,
        around: &ConfigSources,
        has_auth: bool,
    ) -> Result<Option<Http>, Invalid> {
        let is_enabled = self.enabled.unwrap_or(false);
        let allow_public = self.allow_public.unwrap_or(false);
        let address = match self.address.filter(|address| !address.is_empty()) {
            Some(text) => text
                .parse()
                .map_err(|error| Invalid::key("http.address", format!("'{text}' {error}")))?,
            None if has_auth || allow_public => Address::default(),
            None => Address::loopback(),
        };
        let tls = self.tls.unwrap_or_default().check(around);
        if tls.is_some() && !is_enabled {
            return Err(Invalid::TlsWithoutHttp);
        }
        let http = Http {
            address,
            allow_public,
            tls,
            client_ip: self.client_ip.unwrap_or_default().check()?,
            allowed_origins: self.allowed_origins,
            allowed_hosts: self.allowed_hosts.unwrap_or_default(),
        };
        http.origins()
            .map(drop)
            .map_err(|error| Invalid::key("http.allowed_origins", error.to_string()))?;
        http.hosts(Ipv4Addr::UNSPECIFIED.into())
            .map(drop)
            .map_err(|error| Invalid::key("http.allowed_hosts", error.to_string()))?;
        Ok(is_enabled.then_some(http))
    }
}

// === impl Http ===

impl Http {
    /// Returns the origins whose pages may use the server.
    pub(crate) fn origins(&self) -> Result<Origins, InvalidOrigin> {
        match &self.allowed_origins {
            Some(list) => Origins::listed(list),
            None => Ok(Origins::loopback()),
        }
    }

    /// Returns the host names that the server accepts on the bound address.
    pub(crate) fn hosts(&self, bound: IpAddr) -> Result<Hosts, InvalidHost> {
        Hosts::of(bound, &self.allowed_hosts)
    }
}

// === impl RawTls ===

impl RawTls {
    fn check(self, around: &ConfigSources) -> Option<Tls> {
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
