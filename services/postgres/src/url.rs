//! Databases that callers describe by a connection URL.
//!
//! Such a URL is not trusted: it may name any host, but gets no access to anything of this server.
//! Its connections only read, its password is the one in it or none, and it names no file of this
//! server: no certificates, no password or service file, and no Unix socket, where PostgreSQL may
//! accept any user without a password. Parameters that are not known to be harmless are refused.
//!
//! A malformed URL often contains a password that was not percent-encoded. So a URL is accepted
//! only if it is unambiguous, and no error shows any part of it.
//!
//! ```
//! use ziggurat_postgres::database::{Database, Settings};
//!
//! let url = "postgres://app:sword%40fish@db.example/shop?sslmode=require";
//! let database = Database::from_url(url, &Settings::default())?;
//! assert_eq!(
//!     database.name(),
//!     "postgres://app:***@db.example/shop?sslmode=require"
//! );
//! assert!(!database.allows_writes());
//!
//! let error = Database::from_url("postgres://app@%2Frun/shop", &Settings::default());
//! assert!(error.is_err());
//! # Ok::<(), ziggurat_postgres::url::InvalidUrl>(())
//! ```

#[cfg(test)]
mod tests;

use std::{borrow::Cow, ops::Range, str::FromStr, time::Duration};

use crate::database::{
    Database, Host, HostOrder, InvalidDatabase, MinTls, Password, RequireAuth, Settings, SslMode,
    TargetSessionAttrs,
};
use secrecy::SecretString;
use thiserror::Error;
use ziggurat_text::percent;

/// Starts of connection URLs.
pub const SCHEMES: [&str; 2] = ["postgres://", "postgresql://"];

/// Limit on the length of a URL, in bytes.
const MAX_URL: usize = 2048;

/// The default port.
const PORT: u16 = 5432;

/// Reason to refuse a URL. `Display` is for the caller, and shows no part of the URL.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum InvalidUrl {
    /// It has another scheme.
    #[error("a connection URL starts with postgres:// or postgresql://")]
    Scheme,
    /// It is longer than any real URL.
    #[error("the connection URL is longer than 2048 bytes")]
    TooLong,
    /// It cannot be parsed, or is ambiguous.
    #[error(
        "the connection URL is malformed: {0} (special characters have to be percent-encoded, \
         above all those of a password)"
    )]
    Malformed(&'static str),
    /// It lacks the host or the user.
    #[error("the connection URL has no {0}")]
    Missing(&'static str),
    /// It names a Unix socket of this machine.
    #[error("Unix sockets are not allowed in connection URLs")]
    Socket,
    /// It names a file of this machine.
    #[error(
        "the parameter '{0}' is not allowed in connection URLs, because it is the path of a \
         file on the server"
    )]
    File(&'static str),
    /// It has a parameter that is not known to be harmless.
    #[error("the connection URL has a parameter that is not supported")]
    Parameter,
    /// A known parameter has an invalid value.
    #[error("the parameter '{0}' of the connection URL has an invalid value")]
    Value(&'static str),
    /// The settings of this server do not suit such connections.
    #[error("connection URLs cannot be used on this server")]
    Unusable,
}

/// Parsed parts of a URL.
#[derive(Default)]
struct Parts {
    user: String,
    password: SecretString,
    hosts: Vec<String>,
    ports: Vec<u16>,
    database: Option<String>,
    ssl_mode: Option<SslMode>,
    require_auth: Option<RequireAuth>,
    attrs: TargetSessionAttrs,
    application_name: Option<String>,
    connect_timeout: Option<Duration>,
    /// Ranges of the passwords in the URL.
    secrets: Vec<Range<usize>>,
}

/// Returns what follows the scheme of a connection URL, or `None` for any other text.
#[must_use]
pub fn after_scheme(text: &str) -> Option<&str> {
    SCHEMES.iter().find_map(|scheme| text.strip_prefix(scheme))
}

// === impl Database ===

impl Database {
    /// Describes the database of a caller's URL.
    ///
    /// Its name is the URL with the password replaced. Limits and times are taken from `base`;
    /// nothing else of `base` is used.
    ///
    /// # Errors
    /// Fails when the URL is incomplete, or has parts that a caller may not set.
    pub fn from_url(url: &str, base: &Settings) -> Result<Self, InvalidUrl> {
        let settings = Settings::from_url(url, base)?;
        Self::try_from(settings).map_err(|error| match error {
            InvalidDatabase::OutOfRange {
                setting: "hosts", ..
            } => InvalidUrl::Value("host"),
            // It may not name a file.
            InvalidDatabase::NoAuthorities { .. } => InvalidUrl::Value("sslmode"),
            _ => InvalidUrl::Unusable,
        })
    }
}

// === impl Settings ===

impl Settings {
    /// Reads the settings from a URL as [`Database::from_url`] does, for a caller who adds to them.
    ///
    /// # Errors
    /// Fails when the URL is incomplete, or has parts that a caller may not set.
    pub fn from_url(url: &str, base: &Self) -> Result<Self, InvalidUrl> {
        let parts = Parts::read(url)?;
        let limit = base.connect_timeout;
        let hosts = parts.hosts()?;
        if parts.user.is_empty() {
            return Err(InvalidUrl::Missing("user"));
        }
        Ok(Self {
            name: parts.masked(url),
            hosts,
            target_session_attrs: parts.attrs,
            // As in libpq, the default database has the name of the user.
            database: parts.database.unwrap_or_else(|| parts.user.clone()),
            user: parts.user,
            password: Password::Given(parts.password),
            ssl_mode: parts.ssl_mode.unwrap_or(SslMode::Prefer),
            require_auth: parts.require_auth,
            ssl_root_cert: None,
            ssl_cert: None,
            ssl_key: None,
            connect_command: None,
            min_tls: MinTls::default(),
            options: None,
            host_order: HostOrder::Listed,
            application_name: parts
                .application_name
                .unwrap_or_else(|| base.application_name.clone()),
            connect_timeout: parts.connect_timeout.unwrap_or(limit).min(limit),
            allow_writes: false,
            allow_dangerous_functions: false,
            min_connections: 0,
            ..base.clone()
        })
    }
}

// === impl Parts ===

impl Parts {
    fn read(url: &str) -> Result<Self, InvalidUrl> {
        if url.len() > MAX_URL {
            return Err(InvalidUrl::TooLong);
        }
        let is_odd = |c: char| c.is_whitespace() || c.is_control() || "#\"'<>\\^`{|}".contains(c);
        if url.contains(is_odd) {
            return Err(InvalidUrl::Malformed("a character that is not allowed"));
        }
        let start = url.len() - after_scheme(url).ok_or(InvalidUrl::Scheme)?.len();
        let end = |from: usize, delimiters: &[char]| {
            url[from..]
                .find(delimiters)
                .map_or(url.len(), |length| from + length)
        };
        let authority = start..end(start, &['/', '?']);
        let path = authority.end..end(authority.end, &['?']);
        // Here an `@` would be the end of a password with a raw `/` or `?` in it.
        if url[authority.end..].contains('@') {
            return Err(InvalidUrl::Malformed("an '@' after the host"));
        }
        let mut parts = Self::default();
        parts.read_authority(url, authority)?;
        if let Some(database) = url[path.clone()].strip_prefix('/')
            && !database.is_empty()
        {
            parts.database = Some(decoded(database)?);
        }
        let mut at = path.end + 1;
        while let Some(pair) = url.get(at..).filter(|rest| !rest.is_empty()) {
            let length = pair.find('&').unwrap_or(pair.len());
            parts.read_parameter(url, at..at + length)?;
            at += length + 1;
        }
        Ok(parts)
    }

    fn read_authority(&mut self, url: &str, range: Range<usize>) -> Result<(), InvalidUrl> {
        let authority = &url[range.clone()];
        let hosts = match authority.split_once('@') {
            None => authority,
            Some((_, hosts)) if hosts.contains('@') => {
                return Err(InvalidUrl::Malformed("more than one '@'"));
            }
            Some((user, hosts)) => {
                if let Some((name, password)) = user.split_once(':') {
                    let from = range.start + name.len() + 1;
                    self.set_password(password, from..from + password.len())?;
                    self.user = decoded(name)?;
                } else {
                    self.user = decoded(user)?;
                }
                hosts
            }
        };
        // `postgres:///shop?host=db` has its host in a parameter.
        if !hosts.is_empty() {
            hosts.split(',').try_for_each(|host| self.read_host(host))?;
        }
        Ok(())
    }

    fn read_host(&mut self, text: &str) -> Result<(), InvalidUrl> {
        let malformed = InvalidUrl::Malformed("the host or its port");
        let (host, port) = match text.strip_prefix('[') {
            Some(address) => {
                let (address, rest) = address.split_once(']').ok_or(malformed)?;
                let port = rest.strip_prefix(':');
                if port.is_none() && !rest.is_empty() {
                    return Err(malformed);
                }
                (address, port)
            }
            None => match text.split_once(':') {
                Some((host, port)) => (host, Some(port)),
                None => (text, None),
            },
        };
        let port = match port {
            None => PORT,
            Some(port) => number(port).ok_or(malformed)?,
        };
        self.hosts.push(host_name(host)?);
        self.ports.push(port);
        Ok(())
    }

    fn read_parameter(&mut self, url: &str, range: Range<usize>) -> Result<(), InvalidUrl> {
        let (key, raw) = url[range.clone()]
            .split_once('=')
            .ok_or(InvalidUrl::Malformed("a parameter without a value"))?;
        let value = || decoded(raw);
        match key {
            "sslmode" => self.ssl_mode = Some(parsed("sslmode", raw)?),
            "require_auth" => self.require_auth = Some(parsed("require_auth", raw)?),
            "host" | "hostaddr" => {
                self.hosts = value()?
                    .split(',')
                    .map(host_name)
                    .collect::<Result<_, _>>()?;
            }
            "port" => {
                let ports: Option<_> = value()?.split(',').map(number).collect();
                self.ports = ports.ok_or(InvalidUrl::Value("port"))?;
            }
            "user" => self.user = value()?,
            "password" => {
                let from = range.start + key.len() + 1;
                self.set_password(raw, from..range.end)?;
            }
            "dbname" => {
                let name = value()?;
                // libpq would read it as another connection string.
                if name.contains('=') || name.contains("://") {
                    return Err(InvalidUrl::Value("dbname"));
                }
                self.database = Some(name).filter(|name| !name.is_empty());
            }
            "application_name" => self.application_name = Some(value()?),
            "target_session_attrs" => self.attrs = parsed("target_session_attrs", raw)?,
            "connect_timeout" => {
                let seconds: u32 = parsed("connect_timeout", raw)?;
                // As in libpq, zero means no limit.
                self.connect_timeout = (seconds > 0).then_some(Duration::from_secs(seconds.into()));
            }
            _ => return Err(unread(key)),
        }
        Ok(())
    }

    fn set_password(&mut self, raw: &str, range: Range<usize>) -> Result<(), InvalidUrl> {
        self.password = decoded(raw)?.into();
        if !raw.is_empty() {
            self.secrets.push(range);
        }
        Ok(())
    }

    /// Returns the hosts with their ports: one port for all, or one for each.
    fn hosts(&self) -> Result<Vec<Host>, InvalidUrl> {
        if self.hosts.is_empty() {
            return Err(InvalidUrl::Missing("host"));
        }
        let port = |at| match self.ports[..] {
            [] => Some(PORT),
            [port] => Some(port),
            _ if self.ports.len() != self.hosts.len() => None,
            _ => self.ports.get(at).copied(),
        };
        let hosts = self.hosts.iter().enumerate();
        hosts
            .map(|(at, host)| Some(Host::new(host, port(at)?)))
            .collect::<Option<_>>()
            .ok_or(InvalidUrl::Value("port"))
    }

    fn masked(&self, url: &str) -> String {
        let mut masked = String::with_capacity(url.len());
        let mut at = 0;
        for secret in &self.secrets {
            masked.push_str(&url[at..secret.start]);
            masked.push_str("***");
            at = secret.end;
        }
        masked + &url[at..]
    }
}

fn number(port: &str) -> Option<u16> {
    port.parse().ok().filter(|port| *port > 0)
}

/// Returns the error of a parameter that is not read.
fn unread(key: &str) -> InvalidUrl {
    let files = [
        "sslcert",
        "sslkey",
        "sslrootcert",
        "sslcrl",
        "passfile",
        "service",
    ];
    let file = files.into_iter().find(|file| *file == key);
    file.map_or(InvalidUrl::Parameter, InvalidUrl::File)
}

/// Reads the name of a host on a network. `@` starts the name of an abstract Unix socket.
fn host_name(text: &str) -> Result<String, InvalidUrl> {
    let name = decoded(text)?;
    if name.starts_with(['/', '@']) {
        return Err(InvalidUrl::Socket);
    }
    if name.is_empty() {
        return Err(InvalidUrl::Missing("host"));
    }
    let is_name = |c: char| c.is_alphanumeric() || "-._:".contains(c);
    if !name.chars().all(is_name) {
        return Err(InvalidUrl::Malformed("the host or its port"));
    }
    Ok(name)
}

fn parsed<T: FromStr>(key: &'static str, raw: &str) -> Result<T, InvalidUrl> {
    let value = decoded(raw)?.parse();
    value.map_err(|_| InvalidUrl::Value(key))
}

fn decoded(text: &str) -> Result<String, InvalidUrl> {
    percent::decode(text)
        .filter(|text| !text.contains('\0'))
        .map(Cow::into_owned)
        .ok_or(InvalidUrl::Malformed("percent-encoding"))
}
