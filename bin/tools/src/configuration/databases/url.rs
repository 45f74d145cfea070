//! Connection URL of an operator, on the command line or in `DATABASE_URL`.
//!
//! It is parsed by the rules of libpq, and may name sockets and files, unlike the URL of a caller.
//! An ambiguous URL is refused: the cause is often a password that was not encoded. No error shows
//! any part of the URL.

use std::borrow::Cow;

use thiserror::Error;
use ziggurat_postgres::{database::SslMode, url::after_scheme};
use ziggurat_runtime::flags::nearest_name;
use ziggurat_text::percent;

use crate::configuration::databases::raw::RawDatabase;

/// Error of a connection URL.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub(crate) enum InvalidUrl {
    #[error("it must start with postgres:// or postgresql://")]
    Scheme,
    #[error("it has a line break or another control character")]
    Control,
    #[error("it has more than one '@': write %40 for an '@' in the user name or the password")]
    At,
    #[error("a '%' is not followed by two hexadecimal digits: write %25 for a '%'")]
    Percent,
    #[error("a host or its port is malformed: write host:port, with brackets for IPv6")]
    Host,
    #[error("a parameter has no value: write name=value, with & in between")]
    Pair,
    #[error(
        "a parameter is not supported; these are: host, hostaddr, port, user, password, dbname, \
         sslmode, sslcert, sslkey, sslrootcert, ssl_min_protocol_version, require_auth, \
         target_session_attrs, load_balance_hosts, application_name, options, service and \
         connect_timeout"
    )]
    Parameter,
    #[error("a parameter is not supported; did you mean {0}?")]
    Near(&'static str),
    #[error("the value of {0} is invalid")]
    Value(&'static str),
    #[error("channel_binding=require is not supported; leave it out")]
    ChannelBinding,
}

/// Parameters that are named like the keys of the file.
const TEXTS: [&str; 13] = [
    "user",
    "password",
    "sslcert",
    "sslkey",
    "sslrootcert",
    "require_auth",
    "target_session_attrs",
    "application_name",
    "hostaddr",
    "options",
    "service",
    "ssl_min_protocol_version",
    "load_balance_hosts",
];

/// The other parameters.
const OTHERS: [&str; 5] = ["host", "port", "dbname", "sslmode", "connect_timeout"];

/// Parses a connection URL.
///
/// # Errors
/// Fails on a URL that is malformed, or has parameters that are not supported.
pub(super) fn read(url: &str) -> Result<RawDatabase, InvalidUrl> {
    let rest = after_scheme(url).ok_or(InvalidUrl::Scheme)?;
    if rest.contains(char::is_control) {
        return Err(InvalidUrl::Control);
    }
    let (authority, rest) = rest.split_at(rest.find(['/', '?']).unwrap_or(rest.len()));
    let (path, parameters) = rest.split_once('?').unwrap_or((rest, ""));
    // An '@' in the path means that a password contains an unencoded '/' or '?'.
    if path.contains('@') || authority.matches('@').count() > 1 {
        return Err(InvalidUrl::At);
    }
    let mut raw = RawDatabase::default();
    let hosts = match authority.split_once('@') {
        None => authority,
        Some((user, hosts)) => {
            let (user, password) = user.split_once(':').unwrap_or((user, ""));
            raw.set("user", Some(decoded(user)?));
            raw.set("password", Some(decoded(password)?));
            hosts
        }
    };
    read_hosts(&mut raw, hosts)?;
    raw.set(
        "database",
        Some(decoded(path.strip_prefix('/').unwrap_or(path))?),
    );
    let pairs = parameters.split('&').filter(|pair| !pair.is_empty());
    for pair in pairs {
        let (name, value) = pair.split_once('=').ok_or(InvalidUrl::Pair)?;
        read_parameter(&mut raw, &decoded(name)?, value)?;
    }
    Ok(raw)
}

fn read_hosts(raw: &mut RawDatabase, hosts: &str) -> Result<(), InvalidUrl> {
    if hosts.contains(',') {
        let decoded = decoded(hosts)?;
        super::check::hosts(&decoded, 5432).ok_or(InvalidUrl::Host)?;
        raw.set("hosts", Some(decoded));
        return Ok(());
    }
    let (host, port) = match hosts.strip_prefix('[') {
        Some(address) => address.split_once(']').ok_or(InvalidUrl::Host)?,
        None => hosts.split_at(hosts.find(':').unwrap_or(hosts.len())),
    };
    raw.set("host", Some(decoded(host)?));
    match port.strip_prefix(':') {
        // Like libpq: a colon without a number means the default port.
        Some("") => {}
        Some(port) => raw.set("port", Some(number(port).ok_or(InvalidUrl::Host)?)),
        None if port.is_empty() => {}
        None => return Err(InvalidUrl::Host),
    }
    Ok(())
}

fn read_parameter(raw: &mut RawDatabase, name: &str, value: &str) -> Result<(), InvalidUrl> {
    match name {
        "host" => {
            let hosts = decoded(value)?;
            let (host, hosts) = if hosts.contains(',') {
                (None, Some(hosts))
            } else {
                (Some(hosts), None)
            };
            raw.take_hosts(host, hosts);
        }
        "port" => raw.set(
            "port",
            Some(number(value).ok_or(InvalidUrl::Value("port"))?),
        ),
        "dbname" => raw.set("database", Some(decoded(value)?)),
        // A mode of node-postgres, which MCP servers written in JavaScript use.
        "sslmode" if value == "no-verify" => raw.set("sslmode", Some("require".to_owned())),
        "sslmode" => {
            let mode = value.parse::<SslMode>();
            mode.map_err(|_| InvalidUrl::Value("sslmode"))?;
            raw.set("sslmode", Some(value.to_owned()));
        }
        "connect_timeout" => {
            let seconds = value.parse::<u32>();
            let seconds = seconds.map_err(|_| InvalidUrl::Value("connect_timeout"))?;
            // Like libpq: zero means no timeout.
            let text = (seconds > 0).then(|| format!("{seconds}s"));
            raw.set("connect_timeout", Some(text.unwrap_or_default()));
        }
        "channel_binding" if value == "require" => return Err(InvalidUrl::ChannelBinding),
        "channel_binding" => {}
        name => {
            let key = TEXTS.iter().find(|key| **key == name);
            let key = key.ok_or_else(|| {
                // The name that was given may be a part of a password.
                let near = nearest_name(name, TEXTS.into_iter().chain(OTHERS));
                near.map_or(InvalidUrl::Parameter, InvalidUrl::Near)
            })?;
            raw.set(key, Some(decoded(value)?));
        }
    }
    Ok(())
}

fn number(port: &str) -> Option<String> {
    let port = port.parse::<u16>().ok().filter(|port| *port > 0);
    port.map(|port| port.to_string())
}

fn decoded(encoded: &str) -> Result<String, InvalidUrl> {
    percent::decode(encoded)
        .filter(|text| !text.contains('\0'))
        .map(Cow::into_owned)
        .ok_or(InvalidUrl::Percent)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(url: &str) -> String {
        let raw = read(url).unwrap_or_else(|error| panic!("{url}: {error}"));
        let parts = [
            ("user", "user"),
            ("password", "password"),
            ("host", "host"),
            ("hosts", "hosts"),
            ("port", "port"),
            ("database", "database"),
            ("sslmode", "sslmode"),
            ("name", "application_name"),
            ("timeout", "connect_timeout"),
        ];
        let parts = parts.into_iter();
        let parts: Vec<_> = parts
            .filter_map(|(name, key)| Some(format!("{name}={}", raw.text(key)?)))
            .collect();
        parts.join(" ")
    }

    #[test]
    fn a_url_is_parsed_like_libpq_parses_it() {
        for (url, expected) in [
            ("postgres://", ""),
            ("postgresql:///shop", "database=shop"),
            ("postgres://db/shop", "host=db database=shop"),
            (
                "postgres://reader@db:5433/shop",
                "user=reader host=db port=5433 database=shop",
            ),
            (
                "postgres://a%40b:p%2Fw%25@db",
                "user=a@b password=p/w% host=db",
            ),
            ("postgres://[::1]:5433/x", "host=::1 port=5433 database=x"),
            ("postgres://a@db:/x", "user=a host=db database=x"),
            ("postgres://a,b:5433/x", "hosts=a,b:5433 database=x"),
            (
                "postgres://%2Frun%2Fpostgresql/x",
                "host=/run/postgresql database=x",
            ),
            (
                "postgres:///x?host=/run&port=1&user=u&password=a%26b&sslmode=no-verify",
                "user=u password=a&b host=/run port=1 database=x sslmode=require",
            ),
            (
                "postgres://db/x?connect_timeout=5&application_name=a%20b&channel_binding=prefer",
                "host=db database=x name=a b timeout=5s",
            ),
        ] {
            assert_eq!(shown(url), expected, "{url}");
        }
    }

    #[test]
    fn an_ambiguous_url_is_refused_and_no_part_of_it_is_shown() {
        for (url, error) in [
            ("mysql://a", InvalidUrl::Scheme),
            ("postgres://u:swordfish@x@db/a", InvalidUrl::At),
            ("postgres://u:sword/fish@db/a", InvalidUrl::At),
            ("postgres://u:sword%fish@db/a", InvalidUrl::Percent),
            ("postgres://u@db:swordfish/a", InvalidUrl::Host),
            ("postgres://u@[::1/a", InvalidUrl::Host),
            ("postgres://u@db/a?swordfish", InvalidUrl::Pair),
            ("postgres://u@db/a?swordfish=1", InvalidUrl::Parameter),
            (
                "postgres://u@db/a?sslmod=require",
                InvalidUrl::Near("sslmode"),
            ),
            ("postgres://u@db/a?usr=swordfish", InvalidUrl::Near("user")),
            (
                "postgres://u@db/a?port=swordfish",
                InvalidUrl::Value("port"),
            ),
            ("postgres://u@db/a\n", InvalidUrl::Control),
            (
                "postgres://u@db/a?channel_binding=require",
                InvalidUrl::ChannelBinding,
            ),
        ] {
            let found = read(url).err().expect(url);
            assert_eq!(found, error, "{url}");
            assert!(!found.to_string().contains("swordfish"), "{found}");
        }
    }
}
