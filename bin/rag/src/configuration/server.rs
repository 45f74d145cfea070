//! Settings of the HTTP server and its time limits.

use std::{
    net::{IpAddr, Ipv4Addr},
    time::Duration,
};

use ziggurat_http::TlsFiles;
use ziggurat_layers::{
    host::{Hosts, InvalidHost},
    rate_limit::Quota,
};
use ziggurat_rag_service as rag;
use ziggurat_runtime::config::{Section, Value};

use crate::configuration::auth::{self, Auth};

/// The message for an address that other machines can reach.
const NOT_PUBLIC: &str = "other machines can reach this address, and clients are not \
                          authenticated: listen on localhost, or allow it with \
                          server.allow_public: true";

/// The checked settings of the server.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "each is a key of its own")]
pub(crate) struct Server {
    /// The host name or IP address to listen on.
    pub(crate) listen_address: String,
    /// The port.
    pub(crate) port: u16,
    /// True if other machines may reach the server, although callers are not authenticated.
    pub(crate) allow_public: bool,
    /// The tokens that callers need, if they need one.
    pub(crate) auth: Option<Auth>,
    /// Additional host names in requests, besides the address and local names.
    pub(crate) allowed_hosts: Vec<String>,
    /// The files for HTTPS, if it is enabled.
    pub(crate) tls: Option<TlsFiles>,
    /// The origins that may use the server, if CORS is enabled.
    pub(crate) cors: Option<Vec<String>>,
    /// Time limit for the body of a request, which received bytes extend.
    pub(crate) body_timeout: Duration,
    /// Time limit for an answer, and for the first chunk of a stream.
    pub(crate) request_timeout: Duration,
    /// Limit on the idle time of a provider in a stream.
    pub(crate) stream_idle_timeout: Duration,
    /// Limit on the duration of a stream.
    pub(crate) stream_max_duration: Duration,
    /// Idle time after which a stream sends a keep-alive comment; `None` sends none.
    pub(crate) stream_keep_alive: Option<Duration>,
    /// Time limit for a ping of a provider.
    pub(crate) ping_timeout: Duration,
    /// Time limit for requests in flight when the server stops.
    pub(crate) shutdown_timeout: Duration,
    /// True if failed searches have error codes of their own.
    pub(crate) retrieval_error_codes: bool,
    /// Limit on the question, in bytes.
    pub(crate) max_query_bytes: usize,
    /// True if pipelines are served as models of the chat completions API of `OpenAI`, too.
    pub(crate) openai_compatible: bool,
    /// True if pipelines are served as tools of the Model Context Protocol, too.
    pub(crate) mcp: bool,
    /// True if there is a page for browsers.
    pub(crate) console: bool,
    /// Limit on the requests of an address.
    pub(crate) rate_limit: Option<Quota>,
}

/// Reads the section.
pub(super) fn read(file: &Section<'_>) -> Server {
    let default = Server::default();
    let boolean = |key: &str| file.key(key).boolean().unwrap_or(false);
    let time = |key: &str, usual| file.key(key).some_time().unwrap_or(usual);
    let server = Server {
        body_timeout: time("body_timeout", default.body_timeout),
        request_timeout: time("request_timeout", default.request_timeout),
        stream_idle_timeout: time("stream_idle_timeout", default.stream_idle_timeout),
        stream_max_duration: time("stream_max_duration", default.stream_max_duration),
        ping_timeout: time("ping_timeout", default.ping_timeout),
        stream_keep_alive: file
            .key("stream_keep_alive")
            .time()
            .filter(|time| !time.is_zero()),
        shutdown_timeout: file
            .key("shutdown_timeout")
            .time()
            .unwrap_or(default.shutdown_timeout),
        retrieval_error_codes: boolean("retrieval_error_codes"),
        max_query_bytes: file
            .key("max_query_bytes")
            .whole(1..=usize::MAX)
            .unwrap_or(default.max_query_bytes),
        openai_compatible: boolean("openai_compatible"),
        mcp: file.key("mcp").boolean().unwrap_or(default.mcp),
        console: file.key("console").boolean().unwrap_or(default.console),
        rate_limit: file.key("rate_limit").parsed(str::parse),
        listen_address: host(&file.key("listen_address")).unwrap_or(default.listen_address),
        port: file.key("port").whole(1..=65535).unwrap_or(default.port),
        allow_public: boolean("allow_public"),
        auth: auth::read(file),
        allowed_hosts: hosts(&file.key("allowed_hosts")),
        tls: tls(&file.section("tls")),
        cors: cors(&file.section("cors")),
    };
    let is_public = is_host(&server.listen_address) && !server.is_local();
    file.key("listen_address").check(
        !is_public || server.allow_public || server.auth.is_some(),
        NOT_PUBLIC,
    );
    server
}

fn hosts(list: &Value<'_>) -> Vec<String> {
    let hosts = list.list().unwrap_or_default().into_iter();
    hosts
        .filter_map(|value| {
            let host = value.text()?;
            let any = Ipv4Addr::UNSPECIFIED.into();
            let is_host = Hosts::of(any, [&host]).is_ok();
            value.check(is_host, "must be a host, with or without a port");
            Some(host)
        })
        .collect()
}

fn is_host(text: &str) -> bool {
    !text.contains(|c: char| c.is_whitespace() || "[]/@".contains(c))
}

fn host(value: &Value<'_>) -> Option<String> {
    let host = value.text()?;
    let inside = host
        .strip_prefix('[')
        .and_then(|host| host.strip_suffix(']'));
    let host = inside.map(str::to_owned).unwrap_or(host);
    value.check(is_host(&host), "must be a host name or an IP address");
    Some(host)
}

fn tls(tls: &Section<'_>) -> Option<TlsFiles> {
    let is_enabled = tls.key("enabled").boolean().unwrap_or(false);
    let file = |key: &str| {
        let value = tls.key(key);
        let path = value.path();
        match &path {
            _ if !is_enabled => {}
            None => value.problem("required when TLS is enabled"),
            Some(path) if path.is_file() => {}
            Some(path) => value.problem(format_args!("file not found: {}", path.display())),
        }
        path.unwrap_or_default()
    };
    let (cert, key, chain) = (file("cert_file"), file("key_file"), None);
    is_enabled.then_some(TlsFiles { cert, key, chain })
}

fn cors(cors: &Section<'_>) -> Option<Vec<String>> {
    let is_enabled = cors.key("enabled").boolean().unwrap_or(false);
    let origins = cors.key("allowed_origins").list().unwrap_or_default();
    let origins = origins.iter().filter_map(Value::text).collect();
    is_enabled.then_some(origins)
}

// === impl Server ===

impl Default for Server {
    fn default() -> Self {
        Self {
            listen_address: "localhost".to_owned(),
            port: 8080,
            allow_public: false,
            auth: None,
            allowed_hosts: Vec::new(),
            tls: None,
            cors: None,
            body_timeout: Duration::from_secs(30),
            request_timeout: Duration::from_secs(50),
            stream_idle_timeout: Duration::from_mins(1),
            stream_max_duration: Duration::from_mins(15),
            stream_keep_alive: None,
            ping_timeout: Duration::from_secs(3),
            shutdown_timeout: Duration::from_secs(30),
            retrieval_error_codes: false,
            max_query_bytes: rag::MAX_QUERY,
            openai_compatible: false,
            mcp: true,
            console: true,
            rate_limit: None,
        }
    }
}

impl Server {
    /// Returns whether only this machine can reach the address.
    pub(crate) fn is_local(&self) -> bool {
        match self.listen_address.parse::<IpAddr>() {
            Ok(address) => address.to_canonical().is_loopback(),
            Err(_) => self.listen_address.eq_ignore_ascii_case("localhost"),
        }
    }

    /// Returns the hosts that requests may name, for the bound address.
    ///
    /// # Errors
    /// Fails if an allowed host is invalid.
    pub(crate) fn hosts(&self, bound: IpAddr) -> Result<Hosts, InvalidHost> {
        Hosts::of(bound, &self.allowed_hosts)
    }

    /// Returns the keys that have another value in `other`.
    pub(crate) fn differences(&self, other: &Self) -> Vec<&'static str> {
        let keys = [
            (
                "listen_address",
                self.listen_address == other.listen_address,
            ),
            ("port", self.port == other.port),
            ("allow_public", self.allow_public == other.allow_public),
            ("auth", self.auth == other.auth),
            ("allowed_hosts", self.allowed_hosts == other.allowed_hosts),
            ("tls", self.tls == other.tls),
            ("cors", self.cors == other.cors),
            ("body_timeout", self.body_timeout == other.body_timeout),
            (
                "request_timeout",
                self.request_timeout == other.request_timeout,
            ),
            (
                "stream_idle_timeout",
                self.stream_idle_timeout == other.stream_idle_timeout,
            ),
            (
                "stream_max_duration",
                self.stream_max_duration == other.stream_max_duration,
            ),
            (
                "stream_keep_alive",
                self.stream_keep_alive == other.stream_keep_alive,
            ),
            ("ping_timeout", self.ping_timeout == other.ping_timeout),
            (
                "shutdown_timeout",
                self.shutdown_timeout == other.shutdown_timeout,
            ),
            (
                "retrieval_error_codes",
                self.retrieval_error_codes == other.retrieval_error_codes,
            ),
            (
                "max_query_bytes",
                self.max_query_bytes == other.max_query_bytes,
            ),
            (
                "openai_compatible",
                self.openai_compatible == other.openai_compatible,
            ),
            ("mcp", self.mcp == other.mcp),
            ("console", self.console == other.console),
            ("rate_limit", self.rate_limit == other.rate_limit),
        ];
        let keys = keys.into_iter().filter(|(_, is_same)| !is_same);
        keys.map(|(key, _)| key).collect()
    }
}
