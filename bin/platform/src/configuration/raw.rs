//! The configuration file as written, and its checks.

use std::{net::Ipv4Addr, path::PathBuf, time::Duration};

use http::{HeaderName, Uri};
use serde::Deserialize;
use ziggurat_account_service::{Attempts, Limits};
use ziggurat_layers::{
    client_ip::{HopHeader, TrustedProxies},
    rate_limit::Quota,
};
use ziggurat_runtime::{ConfigSources, Secret, duration, file, logs::RawLog};
use ziggurat_state::StateDatabase;

use super::{Configuration, ServerSettings, TestSettings, TlsFiles, TokenRules};
use crate::arguments::Flags;

/// Minimum lifetime of a token: clients replace a token five minutes before its end, so they would
/// request one with a shorter lifetime again and again.
const SHORTEST: Duration = Duration::from_secs(301);

/// Maximum lifetime of a token, because deleted clients are listed until their tokens expire.
const LONGEST: Duration = Duration::from_hours(30 * 24);

/// A configuration file as written.
#[derive(Debug, Default, Deserialize)]
pub(super) struct Raw {
    server: Option<RawServer>,
    data_dir: Option<PathBuf>,
    state: Option<RawState>,
    tokens: Option<RawTokens>,
    limits: Option<RawLimits>,
    rate_limit: Option<RawRateLimit>,
    log: Option<RawLog>,
}

#[derive(Debug, Default, Deserialize)]
struct RawServer {
    address: Option<String>,
    public_url: Option<String>,
    allowed_hosts: Option<Vec<String>>,
    tls: Option<RawTls>,
    body_timeout: Option<String>,
    shutdown_timeout: Option<String>,
    trusted_proxies: Option<Vec<String>>,
    client_ip_header: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
struct RawTls {
    cert_file: Option<PathBuf>,
    key_file: Option<PathBuf>,
}

#[derive(Debug, Default, Deserialize)]
struct RawState {
    url: Option<Secret>,
    url_file: Option<PathBuf>,
}

#[derive(Debug, Default, Deserialize)]
struct RawTokens {
    lifetime: Option<String>,
    audience: Option<Vec<String>>,
    scope: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
struct RawLimits {
    clients_per_tenant: Option<u32>,
    invites_per_tenant: Option<u32>,
    max_body_bytes: Option<u64>,
}

#[derive(Debug, Default, Deserialize)]
struct RawRateLimit {
    failures_per_address: Option<String>,
    failures_per_client: Option<String>,
}

/// Problems of the configuration, each with its key.
struct Problems(Vec<String>);

// === impl Raw ===

impl Raw {
    /// Checks all settings.
    pub(super) fn check(
        self,
        flags: &Flags,
        around: &ConfigSources,
    ) -> Result<Configuration, Vec<String>> {
        let mut problems = Problems(Vec::new());
        let server = self.server.unwrap_or_default();
        let data_folder = flags.path("data-dir").or(self.data_dir);
        let log = self.log.unwrap_or_default();
        for (key, problem) in log.problems() {
            problems.note(key, &problem);
        }
        let configuration = Configuration {
            server: server.check(flags, around, &mut problems),
            data_folder: around.path_or(data_folder, "platform"),
            state: self.state.unwrap_or_default().check(around, &mut problems),
            tokens: self.tokens.unwrap_or_default().check(flags, &mut problems),
            attempts: self.rate_limit.unwrap_or_default().check(&mut problems),
            max_body_bytes: self
                .limits
                .as_ref()
                .and_then(|limits| limits.max_body_bytes)
                .unwrap_or(1 << 20),
            limits: self.limits.unwrap_or_default().check(),
            log,
            tests: tests(flags, &mut problems),
        };
        if problems.0.is_empty() {
            return Ok(configuration);
        }
        Err(problems.0)
    }
}

// === impl RawServer ===

impl RawServer {
    fn check(
        self,
        flags: &Flags,
        around: &ConfigSources,
        problems: &mut Problems,
    ) -> ServerSettings {
        let address = flags.owned("addr").or(self.address);
        let address = address.unwrap_or_else(|| "127.0.0.1:8090".to_owned());
        let port = address.rsplit_once(':').map(|(_, port)| port);
        if port.is_none_or(|port| port.parse::<u16>().is_err()) {
            problems.note(
                "server.address",
                "must be a host and a port, as in 127.0.0.1:8090",
            );
        }
        let proxies = self.trusted_proxies.unwrap_or_default();
        let trusted = TrustedProxies::try_from_iter(&proxies).unwrap_or_else(|error| {
            problems.note("server.trusted_proxies", &error.to_string());
            TrustedProxies::default()
        });
        let settings = ServerSettings {
            // A bare port means all interfaces of the machine.
            address: match address.strip_prefix(':') {
                Some(port) => format!("[::]:{port}"),
                None => address,
            },
            public_url: flags
                .owned("public-url")
                .or(self.public_url)
                .filter(|url| !url.is_empty())
                .and_then(|url| public_url(&url, problems)),
            allowed_hosts: self.allowed_hosts.unwrap_or_default(),
            tls: self.tls.and_then(|tls| tls.check(around, problems)),
            body_timeout: problems
                .some_time("server.body_timeout", self.body_timeout.as_deref())
                .unwrap_or(Duration::from_secs(30)),
            shutdown_timeout: problems
                .time("server.shutdown_timeout", self.shutdown_timeout.as_deref())
                .unwrap_or(Duration::from_secs(10)),
            trusted,
            header: header(self.client_ip_header, problems),
        };
        if let Err(error) = settings.hosts(Ipv4Addr::UNSPECIFIED.into()) {
            problems.note("server.allowed_hosts", &error.to_string());
        }
        settings
    }
}

/// Checks a public URL and drops its final slash, because it is compared as a text.
fn public_url(url: &str, problems: &mut Problems) -> Option<String> {
    const PLACE: &str = "server.public_url";
    let uri = url.parse::<Uri>().ok();
    let is_good = uri.is_some_and(|uri| {
        matches!(uri.scheme_str(), Some("http" | "https"))
            && uri.query().is_none()
            && uri.authority().is_some_and(|at| !at.as_str().contains('@'))
    });
    if !is_good || url.contains('#') {
        problems.note(PLACE, "must be an address as in https://accounts.example");
        return None;
    }
    Some(url.trim_end_matches('/').to_owned())
}

fn header(name: Option<String>, problems: &mut Problems) -> HopHeader {
    let name = name.filter(|name| !name.is_empty());
    let name = name.unwrap_or_else(|| "x-forwarded-for".to_owned());
    let Ok(name) = name.parse::<HeaderName>() else {
        problems.note("server.client_ip_header", "is not the name of a header");
        return HopHeader::XForwardedFor;
    };
    match name.as_str() {
        "forwarded" => HopHeader::Forwarded,
        "x-forwarded-for" => HopHeader::XForwardedFor,
        _ => HopHeader::Single(name),
    }
}

// === impl RawTls ===

impl RawTls {
    fn check(self, around: &ConfigSources, problems: &mut Problems) -> Option<TlsFiles> {
        let mut path = |place, path| {
            let path = around.path(path);
            match &path {
                None => problems.note(place, "is required"),
                Some(path) if !path.is_file() => {
                    problems.note(place, &format!("file not found: {}", path.display()));
                }
                Some(_) => {}
            }
            path
        };
        let cert = path("server.tls.cert_file", self.cert_file);
        let key = path("server.tls.key_file", self.key_file);
        Some(TlsFiles {
            cert: cert?,
            key: key?,
        })
    }
}

// === impl RawState ===

impl RawState {
    /// Takes the URL from the environment, else from `url_file`, else from `url`.
    fn check(self, around: &ConfigSources, problems: &mut Problems) -> Option<Secret> {
        const LONGEST: u64 = 4096;
        let named = around.environment.get("ZIGGURAT_PLATFORM_STATE_URL");
        let url = match (named, around.path(self.url_file)) {
            (Some(url), _) => Secret::from(url),
            (None, Some(path)) => match file::text(&path, LONGEST) {
                Ok(text) => Secret::from(text.trim()),
                Err(error) => {
                    let path = path.display();
                    problems.note("state.url_file", &format!("{path}: {error}"));
                    return None;
                }
            },
            (None, None) => self.url?,
        };
        if url.is_empty() {
            return None;
        }
        if let Err(error) = StateDatabase::describe(url.expose(), |_| {}) {
            problems.note("state.url", &error.to_string());
        }
        Some(url)
    }
}

// === impl RawTokens ===

impl RawTokens {
    fn check(self, flags: &Flags, problems: &mut Problems) -> TokenRules {
        const PLACE: &str = "tokens.lifetime";
        let written = flags.owned("token-lifetime").or(self.lifetime);
        let lifetime = problems.time(PLACE, written.as_deref());
        let lifetime = lifetime.unwrap_or(Duration::from_hours(24));
        let shortest = if cfg!(feature = "test-support") && flags.has("test-hooks") {
            Duration::ZERO
        } else {
            SHORTEST
        };
        if !(shortest..=LONGEST).contains(&lifetime) {
            problems.note(PLACE, "must be longer than 5m and at most 720h");
        }
        let is_word =
            |text: &str| !text.is_empty() && text.bytes().all(|byte| matches!(byte, b'!'..=b'~'));
        let audience = self.audience.unwrap_or_default();
        if !audience.iter().all(|name| is_word(name)) {
            problems.note(
                "tokens.audience",
                "must be addresses or names without blanks",
            );
        }
        let scope = self.scope.filter(|scope| !scope.is_empty());
        if scope.as_deref().is_some_and(|s| !s.split(' ').all(is_word)) {
            problems.note(
                "tokens.scope",
                "must be words with single blanks between them",
            );
        }
        TokenRules {
            lifetime,
            audience,
            scope,
        }
    }
}

// === impl RawLimits ===

impl RawLimits {
    fn check(self) -> Limits {
        let mut limits = Limits::default();
        limits.clients = self.clients_per_tenant.unwrap_or(limits.clients);
        limits.invites = self.invites_per_tenant.unwrap_or(limits.invites);
        limits
    }
}

// === impl RawRateLimit ===

impl RawRateLimit {
    fn check(self, problems: &mut Problems) -> Attempts {
        let mut attempts = Attempts::default();
        for (place, text, quota) in [
            (
                "rate_limit.failures_per_address",
                self.failures_per_address,
                &mut attempts.by_address,
            ),
            (
                "rate_limit.failures_per_client",
                self.failures_per_client,
                &mut attempts.by_id,
            ),
        ] {
            match text.map(|text| text.parse::<Quota>()) {
                None => {}
                Some(Ok(own)) => *quota = own,
                Some(Err(error)) => problems.note(place, &error.to_string()),
            }
        }
        attempts
    }
}

#[cfg(not(feature = "test-support"))]
fn tests(_: &Flags, _: &mut Problems) -> TestSettings {
    TestSettings::default()
}

#[cfg(feature = "test-support")]
fn tests(flags: &Flags, problems: &mut Problems) -> TestSettings {
    let are_hooked = flags.has("test-hooks");
    let clock = flags.text("test-clock").and_then(|text| {
        if !are_hooked {
            problems.note("-test-clock", "is for tests, with -test-hooks");
        }
        let at = text.parse().ok();
        if at.is_none() {
            problems.note("-test-clock", "must be a time as in 2026-01-02T03:04:05Z");
        }
        at.map(ziggurat_accounts::WallClock::manual)
    });
    TestSettings {
        are_hooked,
        clock: clock.unwrap_or_default(),
    }
}

// === impl Problems ===

impl Problems {
    fn note(&mut self, place: &str, problem: &str) {
        self.0.push(format!("{place}: {problem}"));
    }

    /// Parses a duration that must not be zero.
    fn some_time(&mut self, place: &str, text: Option<&str>) -> Option<Duration> {
        let time = self.time(place, text)?;
        if time.is_zero() {
            self.note(place, "must be longer than nothing");
        }
        Some(time)
    }

    fn time(&mut self, place: &str, text: Option<&str>) -> Option<Duration> {
        match duration::parse(text?) {
            Ok(time) => Some(time),
            Err(error) => {
                self.note(place, &error.to_string());
                None
            }
        }
    }
}
