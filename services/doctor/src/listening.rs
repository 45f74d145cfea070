//! Checks of the address that a server listens on, and of its certificate.

mod validity;

use std::{fs, io};

use jiff::{SignedDuration, Timestamp};
use rustls::{
    client::verify_server_name,
    pki_types::{CertificateDer, ServerName, pem::PemObject as _},
    server::ParsedCertificate,
};
use ziggurat_http::{Tls, TlsFiles};
use ziggurat_runtime::{Address, causes};

use self::validity::not_after;
use crate::{Finding, health};

const ADDRESS: &str = "listen.address";
const TLS: &str = "listen.tls";
const OPEN: &str = "listen.open";

/// Time before its end in which a certificate should be renewed.
const RENEWAL: SignedDuration = SignedDuration::from_hours(30 * 24);

/// A server, as it is configured.
#[derive(Clone, Debug)]
pub struct Listener<'a> {
    /// Name of the program.
    pub server: &'a str,
    /// Path at which it says that it runs.
    pub probe: &'a str,
    /// Text in the answer that only this program gives.
    pub sign: &'a str,
    /// Its address.
    pub address: &'a Address,
    /// Its certificate, if it serves HTTPS.
    pub tls: Option<&'a TlsFiles>,
    /// The address that clients know, if another one is configured.
    pub public_url: Option<String>,
    /// Callers that it serves.
    pub callers: Callers,
}

/// Callers that a server serves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Callers {
    /// Those with a token.
    Known,
    /// All, and the operator has said so for other machines too.
    AllByOrder,
    /// All.
    All,
}

/// Checks the address, the certificate, and what other machines may do.
pub async fn check(listener: &Listener<'_>) -> Vec<Finding> {
    let mut findings = vec![address(listener).await];
    if let Some(files) = listener.tls {
        findings.push(certificate(files, listener.public_url.as_deref()));
    }
    findings.extend(open(listener));
    findings
}

/// Checks that the address is free, or that the server itself has it.
async fn address(listener: &Listener<'_>) -> Finding {
    let address = listener.address;
    let Err(error) = address.listen() else {
        return Finding::ok(ADDRESS, format!("{address} is free"));
    };
    if error.kind() == io::ErrorKind::AddrInUse {
        let health = health::ask(address, listener.tls.is_some(), listener.probe).await;
        if health.is_ok_and(|answer| answer.contains(listener.sign)) {
            let finding = format!("{address} is in use by {}", listener.server);
            return Finding::ok(ADDRESS, finding);
        }
    }
    Finding::fail(
        ADDRESS,
        format!("cannot listen on {address}: {error}"),
        "stop the other program, or choose another address",
    )
}

/// Checks the certificate, its key, its names and its end.
fn certificate(files: &TlsFiles, public_url: Option<&str>) -> Finding {
    let path = files.cert.display();
    if let Err(error) = Tls::open(files) {
        let fix = "correct http.tls, or the files that it names";
        return Finding::fail(TLS, causes(&error), fix);
    }
    let read = fs::read(&files.cert).ok();
    let first = read.and_then(|text| CertificateDer::from_pem_slice(&text).ok());
    let end = first.as_ref().and_then(|it| not_after(it));
    let (Some(certificate), Some(end)) = (first, end) else {
        let finding = format!("{path}: the time of its end cannot be read");
        return Finding::warn(TLS, finding, "replace the certificate");
    };
    let left = end.duration_since(Timestamp::now());
    let day = end.strftime("%Y-%m-%d");
    if left.is_negative() {
        let finding = format!("{path} has expired on {day}");
        return Finding::fail(TLS, finding, "renew the certificate");
    }
    let host = public_url.and_then(host);
    if let Some(host) = host.filter(|host| !is_for(&certificate, host)) {
        return Finding::fail(
            TLS,
            format!("{path} is not for {host}, the host of the public address"),
            format!("get a certificate for {host}, or correct the public address"),
        );
    }
    if left < RENEWAL {
        let days = left.as_hours() / 24;
        let finding = format!("{path} expires in {days} days, on {day}");
        return Finding::warn(TLS, finding, "renew the certificate");
    }
    Finding::ok(TLS, format!("{path} is valid until {day}"))
}

/// Returns the host of a URL.
fn host(url: &str) -> Option<&str> {
    let (_, rest) = url.split_once("://")?;
    let authority = rest.split(['/', '?']).next()?;
    let host = authority
        .rsplit_once(':')
        .map_or(authority, |(host, _)| host);
    Some(host.trim_matches(['[', ']']))
}

fn is_for(certificate: &CertificateDer<'_>, host: &str) -> bool {
    let (parsed, name) = (
        ParsedCertificate::try_from(certificate),
        ServerName::try_from(host),
    );
    parsed.is_ok_and(|parsed| name.is_ok_and(|name| verify_server_name(&parsed, &name).is_ok()))
}

/// Checks what other machines may do at an address that they can reach.
fn open(listener: &Listener<'_>) -> Vec<Finding> {
    let Listener { address, tls, .. } = listener;
    if address.is_loopback() {
        return vec![Finding::ok(
            OPEN,
            format!("{address} serves this machine only"),
        )];
    }
    let mut problems = Vec::new();
    let finding = format!("other machines can call {address} without a token");
    problems.extend(match listener.callers {
        Callers::Known => None,
        Callers::AllByOrder => Some(Finding::warn(OPEN, finding, "turn authentication on")),
        Callers::All => {
            let fix = "turn authentication on, or listen on 127.0.0.1";
            Some(Finding::fail(OPEN, finding, fix))
        }
    });
    let public = listener.public_url.as_deref();
    let is_behind_tls = public.is_some_and(|url| url.starts_with("https://"));
    if tls.is_none() && !is_behind_tls {
        problems.push(Finding::fail(
            OPEN,
            format!("tokens for {address} cross the network in clear text"),
            "serve HTTPS; or put a proxy in front, and set the public URL that starts with https://",
        ));
    }
    if problems.is_empty() {
        let finding = format!("{address} asks for a token, and its traffic is encrypted");
        problems.push(Finding::ok(OPEN, finding));
    }
    problems
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::Status::{self, Fail, Ok as Good, Warn};

    fn listener(address: &Address) -> Listener<'_> {
        Listener {
            server: "ziggurat-tools",
            probe: "/health",
            sign: "ziggurat-tools",
            address,
            tls: None,
            public_url: None,
            callers: Callers::Known,
        }
    }

    fn parse(address: &str) -> Address {
        address.parse().expect("an address")
    }

    fn written(folder: &Path, name: &str, days: i64) -> TlsFiles {
        let mut params = rcgen::CertificateParams::new([name.to_owned()]).expect("a name");
        let now = rcgen::date_time_ymd(2020, 1, 1);
        params.not_before = now;
        let end = Timestamp::now() + SignedDuration::from_hours(days * 24);
        let end = end.strftime("%Y %m %d").to_string();
        let mut parts = end
            .split(' ')
            .map(|part| part.parse::<i32>().expect("a number"));
        let mut part = || parts.next().expect("three");
        let (year, month, day) = (part(), part(), part());
        let small = |part: i32| u8::try_from(part).expect("small");
        params.not_after = rcgen::date_time_ymd(year, small(month), small(day));
        let key = rcgen::KeyPair::generate().expect("a key");
        let certificate = params.self_signed(&key).expect("signed");
        let files = TlsFiles {
            cert: folder.join("cert.pem"),
            key: folder.join("key.pem"),
            chain: None,
        };
        fs::write(&files.cert, certificate.pem()).expect("written");
        fs::write(&files.key, key.serialize_pem()).expect("written");
        files
    }

    #[test]
    fn a_certificate_is_checked_for_its_end_and_its_name() {
        let folder = tempfile::tempdir().expect("a folder");
        let status = |name: &str, days: i64, url: Option<&str>| -> Status {
            certificate(&written(folder.path(), name, days), url).status
        };
        let url = Some("https://tools.example:8443/mcp");
        assert_eq!(status("tools.example", 90, url), Good);
        assert_eq!(status("tools.example", 90, None), Good);
        assert_eq!(status("tools.example", 20, url), Warn);
        assert_eq!(status("tools.example", -2, url), Fail);
        assert_eq!(status("other.example", 90, url), Fail);
        let files = written(folder.path(), "tools.example", 90);
        fs::write(&files.key, "no key").expect("written");
        assert_eq!(certificate(&files, url).status, Fail);
    }

    #[test]
    fn an_open_address_needs_a_token_and_encryption() {
        let (local, everywhere) = (parse("127.0.0.1:80"), parse("0.0.0.0:80"));
        let status = |listener: &Listener<'_>| -> Vec<Status> {
            open(listener).into_iter().map(|it| it.status).collect()
        };
        assert_eq!(status(&listener(&local)), [Good]);
        let public = listener(&everywhere);
        assert_eq!(status(&public), [Fail]);
        let behind = Listener {
            public_url: Some("https://tools.example".to_owned()),
            ..public
        };
        assert_eq!(status(&behind), [Good]);
        let without = Listener {
            callers: Callers::All,
            ..behind
        };
        assert_eq!(status(&without), [Fail]);
        let allowed = Listener {
            callers: Callers::AllByOrder,
            ..without
        };
        assert_eq!(status(&allowed), [Warn]);
    }

    #[tokio::test]
    async fn an_address_in_use_is_reported_until_it_is_free() {
        let other = tokio::net::TcpListener::bind("127.0.0.1:0")
            .await
            .expect("bound");
        let taken = parse(&other.local_addr().expect("bound").to_string());
        // The other program never answers, so the check waits as long as it may.
        let found = address(&listener(&taken)).await;
        assert_eq!(found.status, Fail);
        assert!(
            found.finding.contains("another program uses this address"),
            "{found:?}"
        );
        drop(other);
        assert_eq!(address(&listener(&taken)).await.status, Good);
    }
}
