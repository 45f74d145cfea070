//! Settings of the HTTP server and its time limits.

use std::{
    net::{IpAddr, Ipv4Addr},
    path::PathBuf,
    time::Duration,
};

use serde::Deserialize;
use ziggurat_http::{Hosts, InvalidHost};
use ziggurat_rag_service as rag;

use super::{
    findings::Place,
    written::{Reader, Written},
};

/// The message for an address that other machines can reach.
const NOT_PUBLIC: &str = "other machines can reach this address, and no client has to sign in: \
    listen on localhost, or allow it with server.allow_public: true";

/// The raw section.
#[derive(Debug, Default, Deserialize)]
pub(super) struct RawServer {
    listen_address: Option<Written>,
    port: Option<Written>,
    allow_public: Option<Written>,
    allowed_hosts: Option<Vec<Written>>,
    tls: Option<RawTls>,
    cors: Option<RawCors>,
    body_timeout: Option<Written>,
    request_timeout: Option<Written>,
    stream_idle_timeout: Option<Written>,
    stream_max_duration: Option<Written>,
    stream_keep_alive: Option<Written>,
    ping_timeout: Option<Written>,
    shutdown_timeout: Option<Written>,
    retrieval_error_codes: Option<Written>,
    max_query_bytes: Option<Written>,
}

#[derive(Debug, Default, Deserialize)]
struct RawTls {
    enabled: Option<Written>,
    cert_file: Option<Written>,
    key_file: Option<Written>,
}

#[derive(Debug, Default, Deserialize)]
struct RawCors {
    enabled: Option<Written>,
    allowed_origins: Option<Vec<Written>>,
}

/// The checked settings of the server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Server {
    /// The host name or IP address to listen on.
    pub(crate) listen_address: String,
    /// The port.
    pub(crate) port: u16,
    /// True if other machines may reach the server, which has no authentication.
    pub(crate) allow_public: bool,
    /// Additional host names in requests, besides the address and local names.
    pub(crate) allowed_hosts: Vec<String>,
    /// The files for HTTPS, if it is enabled.
    pub(crate) tls: Option<Tls>,
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
}

/// The certificate files for HTTPS.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Tls {
    /// The certificate and its chain.
    pub(crate) cert: PathBuf,
    /// The private key of the certificate.
    pub(crate) key: PathBuf,
}

// === impl RawServer ===

impl RawServer {
    pub(super) fn check(self, reader: &mut Reader<'_>) -> Server {
        let place = Place::section("server");
        let at = |key: &str| place.key(key);
        let default = Server::default();
        let mut time = |written, key, default| {
            let time = reader.some_time(&at(key), written);
            time.unwrap_or(default)
        };
        let server = Server {
            body_timeout: time(self.body_timeout, "body_timeout", default.body_timeout),
            request_timeout: time(
                self.request_timeout,
                "request_timeout",
                default.request_timeout,
            ),
            stream_idle_timeout: time(
                self.stream_idle_timeout,
                "stream_idle_timeout",
                default.stream_idle_timeout,
            ),
            stream_max_duration: time(
                self.stream_max_duration,
                "stream_max_duration",
                default.stream_max_duration,
            ),
            ping_timeout: time(self.ping_timeout, "ping_timeout", default.ping_timeout),
            stream_keep_alive: reader
                .time(&at("stream_keep_alive"), self.stream_keep_alive)
                .filter(|time| !time.is_zero()),
            shutdown_timeout: reader
                .time(&at("shutdown_timeout"), self.shutdown_timeout)
                .unwrap_or(default.shutdown_timeout),
            retrieval_error_codes: reader
                .boolean(&at("retrieval_error_codes"), self.retrieval_error_codes)
                .unwrap_or(default.retrieval_error_codes),
            max_query_bytes: length(reader, &at("max_query_bytes"), self.max_query_bytes)
                .unwrap_or(default.max_query_bytes),
            listen_address: host(reader, &at("listen_address"), self.listen_address)
                .unwrap_or(default.listen_address),
            port: reader.port(&at("port"), self.port).unwrap_or(default.port),
            allow_public: reader
                .boolean(&at("allow_public"), self.allow_public)
                .unwrap_or(default.allow_public),
            allowed_hosts: hosts(reader, &at("allowed_hosts"), self.allowed_hosts),
            tls: self.tls.unwrap_or_default().check(reader, &at("tls")),
            cors: self.cors.unwrap_or_default().check(reader, &at("cors")),
        };
        let is_public = is_host(&server.listen_address) && !server.is_local();
        reader.findings.check(
            !is_public || server.allow_public,
            &at("listen_address"),
            NOT_PUBLIC,
        );
        server
    }
}

fn length(reader: &mut Reader<'_>, place: &Place, written: Option<Written>) -> Option<usize> {
    let length = reader.count(place, written)?;
    reader
        .findings
        .check(length > 0, place, "must be at least 1");
    Some(length)
}

fn hosts(reader: &mut Reader<'_>, place: &Place, written: Option<Vec<Written>>) -> Vec<String> {
    let written = written.unwrap_or_default().into_iter().enumerate();
    written
        .filter_map(|(index, written)| {
            let place = place.element(index);
            let host = reader.text(&place, Some(written))?;
            let any = Ipv4Addr::UNSPECIFIED.into();
            let is_host = Hosts::of(any, [&host]).is_ok();
            let message = "must be a host, with or without a port";
            reader.findings.check(is_host, &place, message);
            Some(host)
        })
        .collect()
}

fn is_host(text: &str) -> bool {
    !text.contains(|c: char| c.is_whitespace() || "[]/@".contains(c))
}

fn host(reader: &mut Reader<'_>, place: &Place, written: Option<Written>) -> Option<String> {
    let host = reader.text(place, written)?;
    let inside = host
        .strip_prefix('[')
        .and_then(|host| host.strip_suffix(']'));
    let host = inside.map(str::to_owned).unwrap_or(host);
    reader.findings.check(
        is_host(&host),
        place,
        "must be a host name or an IP address",
    );
    Some(host)
}

// === impl RawTls ===

impl RawTls {
    fn check(self, reader: &mut Reader<'_>, place: &Place) -> Option<Tls> {
        let (cert_at, key_at) = (place.key("cert_file"), place.key("key_file"));
        let is_enabled = reader.boolean(&place.key("enabled"), self.enabled);
        let cert = reader.path(&cert_at, self.cert_file);
        let key = reader.path(&key_at, self.key_file);
        if !is_enabled.unwrap_or(false) {
            return None;
        }
        for (place, path) in [(&cert_at, &cert), (&key_at, &key)] {
            match path {
                None => reader
                    .findings
                    .problem(place, "required when TLS is enabled"),
                Some(path) => {
                    let message = format!("file not found: {}", path.display());
                    reader.findings.check(path.is_file(), place, &message);
                }
            }
        }
        Some(Tls {
            cert: cert.unwrap_or_default(),
            key: key.unwrap_or_default(),
        })
    }
}

// === impl RawCors ===

impl RawCors {
    fn check(self, reader: &mut Reader<'_>, place: &Place) -> Option<Vec<String>> {
        let is_enabled = reader.boolean(&place.key("enabled"), self.enabled);
        let list = place.key("allowed_origins");
        let origins = self.allowed_origins.unwrap_or_default().into_iter();
        let origins = origins
            .enumerate()
            .filter_map(|(index, written)| reader.text(&list.element(index), Some(written)));
        let origins = origins.collect();
        is_enabled.unwrap_or(false).then_some(origins)
    }
}

// === impl Server ===

impl Default for Server {
    fn default() -> Self {
        Self {
            listen_address: "localhost".to_owned(),
            port: 8080,
            allow_public: false,
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
        }
    }
}

impl Server {
    /// Returns whether only this machine can reach the address.
    pub(crate) fn is_local(&self) -> bool {
        match self.listen_address.parse::<IpAddr>() {
            Ok(address) => address.to_canonical().is_loopback(),
            Err(_) => self.is_localhost(),
        }
    }

    /// Returns whether the host is `localhost`, which means its IPv4 and its IPv6 address.
    pub(crate) fn is_localhost(&self) -> bool {
        self.listen_address.eq_ignore_ascii_case("localhost")
    }

    /// Returns the hosts that requests may name, for the bound address.
    ///
    /// # Errors
    /// Fails if an allowed host is invalid.
    pub(crate) fn hosts(&self, bound: IpAddr) -> Result<Hosts, InvalidHost> {
        Hosts::of(bound, &self.allowed_hosts)
    }

    /// Returns the keys whose values differ.
    pub(crate) fn differences(&self, other: &Self) -> Vec<&'static str> {
        let keys = [
            (
                "listen_address",
                self.listen_address == other.listen_address,
            ),
            ("port", self.port == other.port),
            ("allow_public", self.allow_public == other.allow_public),
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
        ];
        let keys = keys.into_iter().filter(|(_, is_same)| !is_same);
        keys.map(|(key, _)| key).collect()
    }
}
