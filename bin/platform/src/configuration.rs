//! The configuration of the server, from a file, the environment and the command line.
//!
//! The file is first read into raw structs, one per section, in which every key is optional.
//! Checking them gives the complete configuration, or all problems at once, each with its key. The
//! environment is passed in as [`ConfigSources`].

mod raw;
#[cfg(test)]
mod tests;

use std::{
    net::{IpAddr, SocketAddr},
    path::{Path, PathBuf},
    time::Duration,
};

use http::Uri;
use thiserror::Error;
use ziggurat_account_service::{Attempts, Limits, TokenSettings};
use ziggurat_accounts::WallClock;
use ziggurat_http::{Hosts, InvalidHost};
use ziggurat_layers::client_ip::{HopHeader, TrustedProxies};
use ziggurat_runtime::{
    ConfigSources, Secret,
    file::{self, FileError, Read},
    logs::RawLog,
};

use self::raw::Raw;
use crate::arguments::Flags;

/// Name of the file.
const FILE: &str = "ziggurat-platform.yaml";

/// The checked configuration of the server.
#[derive(Clone, Debug)]
pub(crate) struct Configuration {
    pub(crate) server: ServerSettings,
    /// Folder of the file of accounts and of the keys.
    pub(crate) data_folder: PathBuf,
    /// URL of the database that replicas share, if any; it may contain a password.
    pub(crate) state: Option<Secret>,
    pub(crate) tokens: TokenRules,
    pub(crate) limits: Limits,
    pub(crate) attempts: Attempts,
    pub(crate) max_body_bytes: u64,
    pub(crate) tests: TestSettings,
    /// Log level and format, used where no variable sets them.
    pub(crate) log: RawLog,
}

/// Settings for tests of clients.
#[derive(Clone, Debug, Default)]
pub(crate) struct TestSettings {
    /// Set if clients may make the server fail.
    #[cfg(feature = "test-support")]
    pub(crate) are_hooked: bool,
    /// Clock of the server; tests can stop it.
    pub(crate) clock: WallClock,
}

/// Address of the server, and settings of its connections.
#[derive(Clone, Debug)]
pub(crate) struct ServerSettings {
    /// A host name or an address, and a port.
    pub(crate) address: String,
    /// URL that clients use for the server.
    pub(crate) public_url: Option<String>,
    /// Host names that clients may use, in addition to that of the public URL.
    pub(crate) allowed_hosts: Vec<String>,
    /// Files for HTTPS, if it is enabled.
    pub(crate) tls: Option<TlsFiles>,
    /// Time for the body of a request, extended as bytes arrive.
    pub(crate) body_timeout: Duration,
    /// Time for requests in flight when the server stops.
    pub(crate) shutdown_timeout: Duration,
    /// Proxies whose header is trusted for the address of a client.
    pub(crate) trusted: TrustedProxies,
    /// Header in which these proxies send the address.
    pub(crate) header: HopHeader,
}

/// The files of HTTPS.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TlsFiles {
    /// The certificate and its intermediate certificates.
    pub(crate) cert: PathBuf,
    /// Its private key.
    pub(crate) key: PathBuf,
}

/// Contents and lifetime of tokens.
#[derive(Clone, Debug)]
pub(crate) struct TokenRules {
    pub(crate) lifetime: Duration,
    pub(crate) audience: Vec<String>,
    pub(crate) scope: Option<String>,
}

/// A configuration, and warnings for the operator.
#[derive(Clone, Debug)]
pub(crate) struct Loaded {
    pub(crate) configuration: Configuration,
    pub(crate) warnings: Vec<String>,
}

/// Reasons the configuration cannot be loaded.
#[derive(Debug, Error)]
#[non_exhaustive]
pub(crate) enum LoadError {
    #[error("{}", path.display())]
    File {
        path: PathBuf,
        #[source]
        source: FileError,
    },
    #[error("invalid configuration: {}", .0.join("; "))]
    Invalid(Vec<String>),
}

// === impl Configuration ===

impl Configuration {
    /// Combines the file, the environment and the command line.
    ///
    /// # Errors
    /// Fails if the file cannot be parsed, or lists all invalid settings.
    pub(crate) fn load(flags: &Flags, around: &ConfigSources) -> Result<Loaded, LoadError> {
        let Read {
            raw,
            unknown: mut problems,
            foreign: warnings,
        } = read(flags, around)?;
        let configuration = raw.check(flags, around).map_err(|more| {
            problems.extend(more);
            LoadError::Invalid(problems.clone())
        })?;
        if !problems.is_empty() {
            return Err(LoadError::Invalid(problems));
        }
        Ok(Loaded {
            configuration,
            warnings,
        })
    }

    /// Returns the settings of tokens. Without a public URL, the issuer is this address.
    pub(crate) fn token_settings(&self, address: SocketAddr) -> TokenSettings {
        let scheme = if self.server.tls.is_some() {
            "https"
        } else {
            "http"
        };
        let issuer = match &self.server.public_url {
            Some(url) => url.clone(),
            None => format!("{scheme}://{address}"),
        };
        let mut settings = TokenSettings::new(issuer);
        settings.audience.clone_from(&self.tokens.audience);
        settings.scope.clone_from(&self.tokens.scope);
        settings.lifetime = self.tokens.lifetime;
        settings
    }
}

// === impl ServerSettings ===

impl ServerSettings {
    /// Returns the hosts to answer for at the bound address.
    ///
    /// # Errors
    /// Fails if an allowed host is invalid.
    pub(crate) fn hosts(&self, bound: IpAddr) -> Result<Hosts, InvalidHost> {
        let hosts = Hosts::of(bound, &self.allowed_hosts)?;
        let public = self.public_url.as_deref();
        let public = public.and_then(|url| url.parse::<Uri>().ok());
        match public.as_ref().and_then(Uri::authority) {
            Some(authority) => hosts.and(authority.as_str()),
            None => Ok(hosts),
        }
    }
}

/// Reads the named file, or the first existing one of the usual files. Without a file, the defaults
/// hold.
fn read(flags: &Flags, around: &ConfigSources) -> Result<Read<Raw>, LoadError> {
    let read = |path: &Path| {
        file::read(path, &[]).map_err(|source| LoadError::File {
            path: path.to_owned(),
            source,
        })
    };
    let named = flags.path("config");
    let named = named.map(|path| around.at_home(path));
    if let Some(path) = named {
        return read(&path);
    }
    for path in around.usual_files(FILE) {
        match read(&path) {
            Ok(read) => return Ok(read),
            Err(LoadError::File {
                source: FileError::NotFound,
                ..
            }) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(Read {
        raw: Raw::default(),
        unknown: Vec::new(),
        foreign: Vec::new(),
    })
}
