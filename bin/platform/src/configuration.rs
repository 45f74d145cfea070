//! The configuration of the server, from a file, the environment and the command line.
//!
//! Reading gives the complete configuration, or all problems at once, each with its key. The
//! environment is passed in as [`ConfigSources`].

mod read;
mod sign_in;
#[cfg(test)]
mod tests;

use std::{
    net::{IpAddr, SocketAddr},
    path::PathBuf,
    time::Duration,
};

use http::Uri;
use ziggurat_account_service::{Attempts, Limits, TokenSettings};
use ziggurat_http::{TelemetrySettings, TlsFiles};
use ziggurat_layers::{
    client_ip::{HopHeader, TrustedProxies},
    host::{Hosts, InvalidHost},
    rate_limit::Quota,
};
use ziggurat_runtime::{
    ConfigSources,
    config::{Input, LoadError, Loaded},
    flags::Flags,
    logs::RawLog,
};
use ziggurat_state::StateSettings;
use ziggurat_tokens::WallClock;

pub(crate) use self::sign_in::{COMMAND_LINE, SignInSettings};

/// Name of the file.
const FILE: &str = "ziggurat-platform.yaml";

/// The checked configuration of the server.
#[derive(Clone, Debug)]
pub(crate) struct Configuration {
    pub(crate) server: ServerSettings,
    /// Folder of the file of accounts and of the keys.
    pub(crate) data_folder: PathBuf,
    /// Settings of the database that replicas share, if any.
    pub(crate) state: Option<StateSettings>,
    pub(crate) tokens: TokenRules,
    pub(crate) limits: Limits,
    pub(crate) attempts: Attempts,
    pub(crate) max_body_bytes: u64,
    pub(crate) tests: TestSettings,
    /// Settings of the sign-in of people, if it is on.
    pub(crate) sign_in: Option<SignInSettings>,
    /// Settings of the audit trail, if there is one.
    pub(crate) audit: Option<ziggurat_audit::Settings>,
    /// Settings of metrics and traces.
    pub(crate) telemetry: TelemetrySettings,
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
    /// Host names that clients may use, in addition to the host of the public URL.
    pub(crate) allowed_hosts: Vec<String>,
    /// Files for HTTPS, if it is enabled.
    pub(crate) tls: Option<TlsFiles>,
    /// Time for the body of a request, extended as bytes arrive.
    pub(crate) body_timeout: Duration,
    /// Time for requests in flight when the server stops.
    pub(crate) shutdown_timeout: Duration,
    /// Proxies that are trusted to send the address of a client.
    pub(crate) trusted: TrustedProxies,
    /// Header in which these proxies send the address.
    pub(crate) header: HopHeader,
    /// Limit on the requests of an address.
    pub(crate) rate_limit: Option<Quota>,
}

/// Contents and lifetime of tokens.
#[derive(Clone, Debug)]
pub(crate) struct TokenRules {
    pub(crate) lifetime: Duration,
    pub(crate) audience: Vec<String>,
    pub(crate) scope: Option<String>,
}

// === impl Configuration ===

impl Configuration {
    /// Combines the file, the environment and the command line.
    ///
    /// # Errors
    /// Fails if the file cannot be parsed, or lists all invalid settings.
    pub(crate) fn load(flags: &Flags, sources: &ConfigSources) -> Result<Loaded<Self>, LoadError> {
        let input = Input::new(sources, flags);
        let named = flags.path("config").map(|path| sources.at_home(path));
        let path = input.find(named.as_deref(), FILE);
        input.load(path.as_deref(), read::configuration)
    }

    /// Returns the time for which a key that was replaced stays: until its last token has expired.
    pub(crate) fn key_lifetime(&self) -> Duration {
        let sign_in = self.sign_in.as_ref();
        let of_people = sign_in.map(|it| it.section.access_lifetime() + Duration::from_mins(5));
        self.tokens.lifetime.max(of_people.unwrap_or_default())
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
    /// Returns the URL that clients use, as far as it is known before the server listens.
    pub(crate) fn url(&self) -> String {
        self.public_url.clone().unwrap_or_else(|| {
            let scheme = if self.tls.is_some() { "https" } else { "http" };
            format!("{scheme}://{}", self.address)
        })
    }

    /// Returns whether the server listens for programs of its own machine only.
    pub(crate) fn is_loopback(&self) -> bool {
        let host = self.address.rsplit_once(':').map_or("", |(host, _)| host);
        let host = host.trim_start_matches('[').trim_end_matches(']');
        let address = host.parse::<IpAddr>();
        host == "localhost" || address.is_ok_and(|address| address.is_loopback())
    }

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
