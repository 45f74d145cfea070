//! Keys of the configuration file, with their defaults and checks.

use std::{net::Ipv4Addr, path::PathBuf, time::Duration};

use http::{HeaderName, Uri};
use ziggurat_account_service::{Attempts, Limits};
use ziggurat_http::{TelemetrySettings, TlsFiles};
use ziggurat_layers::client_ip::{HopHeader, TrustedProxies};
use ziggurat_runtime::{
    Places, Secret,
    config::{Section, Value},
    file,
};
use ziggurat_state::StateSettings;

use crate::configuration::{
    Configuration, ServerSettings, SignInSettings, TestSettings, TokenRules,
};

/// File of the accounts, which shows that a folder is in use.
const STORE: &str = "platform.db";

/// Minimum lifetime of a token: clients replace a token five minutes before its end, so they would
/// request one with a shorter lifetime again and again.
const MIN_LIFETIME: Duration = Duration::from_secs(301);

/// Maximum lifetime of a token, because deleted clients are listed until their tokens expire.
const MAX_LIFETIME: Duration = Duration::from_hours(30 * 24);

/// Reads all keys.
pub(super) fn configuration(file: &Section<'_>) -> Configuration {
    let limits = file.section("limits");
    let server = server(&file.section("server"));
    let data_folder = {
        let key = file.key("data_dir").flag("data-dir");
        Places::of(file.sources(), key.path(), "platform").data_folder(&key, STORE)
    };
    Configuration {
        log: file.log(),
        sign_in: SignInSettings::read(&file.section("sign_in"), &server),
        server,
        state: {
            let section = file.section("state");
            StateSettings::read(&section, state_url(&section))
        },
        tokens: tokens(&file.section("tokens")),
        attempts: attempts(&file.section("rate_limit")),
        max_body_bytes: limits
            .key("max_body_bytes")
            .whole(0..=u64::MAX)
            .unwrap_or(1 << 20),
        limits: {
            let mut kept = Limits::default();
            let number = |key: &str| limits.key(key).whole(0..=u32::MAX);
            kept.clients = number("clients_per_tenant").unwrap_or(kept.clients);
            kept.invites = number("invites_per_tenant").unwrap_or(kept.invites);
            kept
        },
        tests: tests(file),
        audit: ziggurat_audit::Settings::read(file).map(|trail| ziggurat_audit::Settings {
            state_folder: Some(data_folder.clone()),
            ..trail
        }),
        telemetry: TelemetrySettings::read(file),
        data_folder,
    }
}

fn server(server: &Section<'_>) -> ServerSettings {
    let address = server.key("address").flag("addr");
    let text = address.text();
    let text = text.unwrap_or_else(|| "127.0.0.1:8090".to_owned());
    let port = text.rsplit_once(':').map(|(_, port)| port);
    address.check(
        port.is_some_and(|port| port.parse::<u16>().is_ok()),
        "must be a host and a port, such as 127.0.0.1:8090",
    );
    let proxies = server.key("trusted_proxies");
    let trusted = TrustedProxies::try_from_iter(proxies.texts().unwrap_or_default());
    let settings = ServerSettings {
        // A bare port means all interfaces of the machine.
        address: match text.strip_prefix(':') {
            Some(port) => format!("[::]:{port}"),
            None => text,
        },
        public_url: server
            .key("public_url")
            .flag("public-url")
            .parsed(public_url),
        allowed_hosts: server.key("allowed_hosts").texts().unwrap_or_default(),
        tls: tls(&server.section("tls")),
        body_timeout: server
            .key("body_timeout")
            .some_time()
            .unwrap_or(Duration::from_secs(30)),
        shutdown_timeout: server
            .key("shutdown_timeout")
            .time()
            .unwrap_or(Duration::from_secs(10)),
        trusted: trusted.unwrap_or_else(|error| {
            proxies.problem(error);
            TrustedProxies::default()
        }),
        header: server
            .key("client_ip_header")
            .parsed(header)
            .unwrap_or(HopHeader::XForwardedFor),
        rate_limit: server.key("rate_limit").parsed(str::parse),
    };
    if let Err(error) = settings.hosts(Ipv4Addr::UNSPECIFIED.into()) {
        server.key("allowed_hosts").problem(error);
    }
    settings
}

/// Checks a public URL and drops its final slash, because it is compared as a text.
fn public_url(url: &str) -> Result<String, &'static str> {
    let uri = url.parse::<Uri>().ok();
    let is_good = uri.is_some_and(|uri| {
        matches!(uri.scheme_str(), Some("http" | "https"))
            && uri.query().is_none()
            && uri.authority().is_some_and(|at| !at.as_str().contains('@'))
    });
    if !is_good || url.contains('#') {
        return Err("must be a URL such as https://accounts.example");
    }
    Ok(url.trim_end_matches('/').to_owned())
}

fn header(name: &str) -> Result<HopHeader, &'static str> {
    let name = name.parse::<HeaderName>();
    name.map(HopHeader::from)
        .map_err(|_| "is not the name of a header")
}

fn tls(tls: &Section<'_>) -> Option<TlsFiles> {
    let (cert, key) = (tls.key("cert_file"), tls.key("key_file"));
    let file = |value: &Value<'_>| -> Option<PathBuf> {
        let path = value.path();
        match &path {
            Some(path) if path.is_file() => {}
            Some(path) => value.problem(format_args!("file not found: {}", path.display())),
            None => value.check(!tls.is_present(), "is required"),
        }
        path
    };
    let (cert, key) = (file(&cert), file(&key));
    let (cert, key, chain) = (cert?, key?, None);
    Some(TlsFiles { cert, key, chain })
}

/// Takes the URL from the environment, else from `url_file`, else from `url`.
fn state_url(state: &Section<'_>) -> Option<Secret> {
    const MAX_URL: u64 = 4096;
    let (key, file) = (state.key("url"), state.key("url_file"));
    let url = match (state.variable("ZIGGURAT_PLATFORM_STATE_URL"), file.path()) {
        (Some(url), _) => Secret::from(url),
        (None, Some(path)) => match file::text(&path, MAX_URL) {
            Ok(text) => Secret::from(text.trim()),
            Err(error) => {
                file.problem(format_args!("{}: {error}", path.display()));
                return None;
            }
        },
        (None, None) => key.secret()?,
    };
    Some(url).filter(|url| !url.is_empty())
}

fn tokens(tokens: &Section<'_>) -> TokenRules {
    let lifetime = tokens.key("lifetime").flag("token-lifetime");
    let time = lifetime.time().unwrap_or(Duration::from_hours(24));
    let has_hooks = cfg!(feature = "test-support") && tokens.flags().has("test-hooks");
    let shortest = if has_hooks {
        Duration::ZERO
    } else {
        MIN_LIFETIME
    };
    lifetime.check(
        (shortest..=MAX_LIFETIME).contains(&time),
        "must be longer than 5m and at most 720h",
    );
    let is_word =
        |text: &str| !text.is_empty() && text.bytes().all(|byte| matches!(byte, b'!'..=b'~'));
    let key = tokens.key("audience");
    let audience = key.texts().unwrap_or_default();
    key.check(
        audience.iter().all(|name| is_word(name)),
        "must be URLs or names without spaces",
    );
    let scope = tokens.key("scope").parsed(|scope| {
        let is_good = scope.split(' ').all(is_word);
        let problem = "must be words with single spaces between them";
        is_good.then(|| scope.to_owned()).ok_or(problem)
    });
    TokenRules {
        lifetime: time,
        audience,
        scope,
    }
}

fn attempts(limit: &Section<'_>) -> Attempts {
    let mut attempts = Attempts::default();
    let quota = |key: &str| limit.key(key).parsed(str::parse);
    attempts.by_address = quota("failures_per_address").unwrap_or(attempts.by_address);
    attempts.by_id = quota("failures_per_client").unwrap_or(attempts.by_id);
    attempts
}

#[cfg(not(feature = "test-support"))]
fn tests(_: &Section<'_>) -> TestSettings {
    TestSettings::default()
}

#[cfg(feature = "test-support")]
fn tests(file: &Section<'_>) -> TestSettings {
    let flags = file.flags();
    let are_hooked = flags.has("test-hooks");
    let clock = flags.text("test-clock").and_then(|text| {
        if !are_hooked {
            file.complain("-test-clock: needs -test-hooks, for tests");
        }
        let at = text.parse().ok();
        if at.is_none() {
            file.complain("-test-clock: must be a time such as 2026-01-02T03:04:05Z");
        }
        at.map(ziggurat_tokens::WallClock::manual)
    });
    TestSettings {
        are_hooked,
        clock: clock.unwrap_or_default(),
    }
}
