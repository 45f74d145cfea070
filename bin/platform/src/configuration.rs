//! What the server is to do, from a file, the environment and the command line.
//!
//! What is written is raw: a struct per section in which everything may be missing. What comes
//! out is checked, and complete. All that is wrong is found in one go, each with its place. The
//! environment comes in as [`ConfigSources`].

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

/// The name of the file.
const FILE: &str = "ziggurat-platform.yaml";

/// What the server is to do, checked.
#[derive(Clone, Debug)]
pub(crate) struct Configuration {
    pub(crate) server: ServerSettings,
    /// Where the file and the keys are.
    pub(crate) data_folder: PathBuf,
    /// The database that replicas share, if there is one: it may hold a password.
    pub(crate) state: Option<Secret>,
    pub(crate) tokens: TokenRules,
    pub(crate) limits: Limits,
    pub(crate) attempts: Attempts,
    pub(crate) max_body_bytes: u64,
    pub(crate) tests: TestSettings,
    /// Log level and format, where no variable sets them.
    pub(crate) log: RawLog,
}

/// What is only for tests of clients.
#[derive(Clone, Debug, Default)]
pub(crate) struct TestSettings {
    /// Whether clients may make the server fail.
    pub(crate) are_hooked: bool,
    /// Where the clock stands still.
    pub(crate) clock: WallClock,
}

/// How clients reach the server.
#[derive(Clone, Debug)]
pub(crate) struct ServerSettings {
    /// A host name or an address, and a port.
    pub(crate) address: String,
    /// What clients call it.
    pub(crate) public_url: Option<String>,
    /// Names clients may call it by, besides that of the public URL.
    pub(crate) allowed_hosts: Vec<String>,
    /// What HTTPS takes, where it is wanted.
    pub(crate) tls: Option<TlsFiles>,
    /// Time for the body of a request, on top of what its bytes earn.
    pub(crate) body_timeout: Duration,
    /// Time for the requests in flight when the server stops.
    pub(crate) shutdown_timeout: Duration,
    /// Who is believed about the address of a client.
    pub(crate) trusted: TrustedProxies,
    /// What they are believed about.
    pub(crate) header: HopHeader,
}

/// The files of HTTPS.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TlsFiles {
    /// The certificate, and those that lead to a well-known one.
    pub(crate) cert: PathBuf,
    /// Its private key.
    pub(crate) key: PathBuf,
}

/// What tokens say, and how long they are good.
#[derive(Clone, Debug)]
pub(crate) struct TokenRules {
    pub(crate) lifetime: Duration,
    pub(crate) audience: Vec<String>,
    pub(crate) scope: Option<String>,
}

/// A configuration, and what the operator should know.
#[derive(Clone, Debug)]
pub(crate) struct Loaded {
    pub(crate) configuration: Configuration,
    pub(crate) warnings: Vec<String>,
}

/// Why there is no configuration.
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
    /// Puts together what the file, the environment and the command line say.
    ///
    /// # Errors
    /// Fails on a file that is not understood, and on settings that will not do: with all of
    /// them.
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

    /// What tokens say, of a server that is reached at this address if nobody says otherwise.
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
    /// The hosts to answer for at the address that was bound.
    ///
    /// # Errors
    /// Fails if an allowed host is none.
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

/// The file that is named, or the first of the usual ones that is there. Without any the defaults
/// will do.
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
