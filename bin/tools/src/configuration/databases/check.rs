//! Conversion of a database entry to connection settings.

use std::time::Duration;

use ziggurat_postgres::database::{
    Database, Host, Pooler, Settings, SslMode, TargetSessionAttrs, UnknownPooler,
    UnknownSessionAttrs,
};
use ziggurat_runtime::duration;

use super::{
    Entry,
    raw::{RawDatabase, RawHost},
};
use crate::configuration::{ConfigSources, Invalid};

impl RawDatabase {
    /// Checks the entry and fills in defaults. Reads the files it names.
    pub(super) fn check(self, around: &ConfigSources, is_debug: bool) -> Result<Entry, Invalid> {
        let users = self.available_to_users.clone().unwrap_or_default();
        let clients = self.available_to_clients.clone().unwrap_or_default();
        let mut settings = self.settings(around)?;
        settings.shows_causes = is_debug;
        let database = Database::try_from(settings)?;
        Ok(Entry {
            database: database.into(),
            users,
            clients,
        })
    }

    fn settings(self, around: &ConfigSources) -> Result<Settings, Invalid> {
        let default = Settings::default();
        let name = self.name.clone().unwrap_or_default();
        let name = name.as_str();
        let port = self.port.unwrap_or(default.port);
        let time = |text, default, key| time(text, default, (name, key));
        Ok(Settings {
            user: said(self.user.clone()).ok_or_else(|| Invalid::NoUser(name.to_owned()))?,
            hosts: self.several(name, port)?,
            port,
            target_session_attrs: target(name, self.target_session_attrs)?,
            host: said(self.host).unwrap_or(default.host),
            database: said(self.database).unwrap_or(default.database),
            // An empty password means that the password file is used.
            password: self.password.unwrap_or_default().expose().to_owned().into(),
            ssl_mode: ssl_mode(name, self.sslmode)?.unwrap_or(default.ssl_mode),
            ssl_root_cert: around.path(self.sslrootcert),
            ssl_cert: around.path(self.sslcert),
            ssl_key: around.path(self.sslkey),
            application_name: said(self.application_name).unwrap_or(default.application_name),
            pooler: pooler(name, self.pooler)?,
            allow_writes: self.allow_writes.unwrap_or(default.allow_writes),
            allow_dangerous_functions: self
                .allow_dangerous_functions
                .unwrap_or(default.allow_dangerous_functions),
            row_limit: self.row_limit.unwrap_or(default.row_limit),
            query_timeout: time(self.query_timeout, default.query_timeout, "query_timeout")?,
            metadata_ttl: time(self.metadata_ttl, default.metadata_ttl, "metadata_ttl")?,
            connect_timeout: time(
                self.connect_timeout,
                default.connect_timeout,
                "connect_timeout",
            )?,
            lease_timeout: time(self.lease_timeout, default.lease_timeout, "lease_timeout")?,
            min_connections: self.pool_min_conns.unwrap_or(default.min_connections),
            max_connections: self.pool_max_conns.unwrap_or(default.max_connections),
            max_total_connections: self
                .max_total_connections
                .unwrap_or(default.max_total_connections),
            max_idle: time(
                self.pool_max_conn_idle_time,
                default.max_idle,
                "pool_max_conn_idle_time",
            )?,
            max_lifetime: time(
                self.pool_max_conn_lifetime,
                default.max_lifetime,
                "pool_max_conn_lifetime",
            )?,
            name: name.to_owned(),
            ..default
        })
    }

    /// Returns the hosts, if there are several to choose from.
    fn several(&self, name: &str, port: u16) -> Result<Vec<Host>, Invalid> {
        let wrong = |reason| setting(name, "hosts", reason);
        let hosts: Vec<_> = match (&self.hosts_text, &self.hosts) {
            (Some(text), _) => hosts(text, port)
                .ok_or_else(|| wrong("must be host:port, with commas between them"))?,
            (None, Some(list)) => list.iter().map(|host| of_raw(host, port)).collect(),
            (None, None) => Vec::new(),
        };
        if !hosts.is_empty() && self.host.as_ref().is_some_and(|host| !host.is_empty()) {
            return Err(wrong("and host exclude each other"));
        }
        Ok(hosts)
    }
}

fn pooler(name: &str, text: Option<String>) -> Result<Pooler, Invalid> {
    let Some(text) = said(text) else {
        return Ok(Pooler::Detect);
    };
    let unknown = |error: UnknownPooler| setting(name, "pooler", error.to_string());
    text.parse().map_err(unknown)
}

fn setting(name: &str, key: &'static str, reason: impl Into<String>) -> Invalid {
    Invalid::Setting {
        name: name.to_owned(),
        key,
        reason: reason.into(),
    }
}

fn said(text: Option<String>) -> Option<String> {
    text.filter(|text| !text.is_empty())
}

fn time(
    text: Option<String>,
    default: Duration,
    (name, key): (&str, &'static str),
) -> Result<Duration, Invalid> {
    let Some(text) = said(text) else {
        return Ok(default);
    };
    duration::parse(&text).map_err(|error| setting(name, key, format!("'{text}' is {error}")))
}

fn target(name: &str, text: Option<String>) -> Result<TargetSessionAttrs, Invalid> {
    let Some(text) = said(text) else {
        return Ok(TargetSessionAttrs::default());
    };
    text.parse().map_err(|error: UnknownSessionAttrs| {
        setting(name, "target_session_attrs", error.to_string())
    })
}

/// Converts a host as written. An empty name is reported later by the database.
fn of_raw(RawHost { host, port: own }: &RawHost, port: u16) -> Host {
    Host::new(host.clone().unwrap_or_default(), own.unwrap_or(port))
}

fn ssl_mode(name: &str, text: Option<String>) -> Result<Option<SslMode>, Invalid> {
    let mode = said(text).map(|text| {
        text.parse().map_err(|_| {
            let reason = format!(
                "'{text}' is none of disable, allow, prefer, require, verify-ca, verify-full"
            );
            setting(name, "sslmode", reason)
        })
    });
    mode.transpose()
}

/// Parses `host:port,host:port`; a host without a port gets `port`.
pub(super) fn hosts(text: &str, port: u16) -> Option<Vec<Host>> {
    text.split(',')
        .map(|item| host(item.trim(), port))
        .collect()
}

fn host(text: &str, port: u16) -> Option<Host> {
    let (host, number) = match text.strip_prefix('[') {
        Some(rest) => match rest.split_once(']')? {
            (host, "") => (host, None),
            (host, after) => (host, Some(after.strip_prefix(':')?)),
        },
        // An IPv6 address without brackets would be cut at its last colon.
        None if text.matches(':').count() > 1 => return None,
        None => match text.split_once(':') {
            Some((host, number)) => (host, Some(number)),
            None => (text, None),
        },
    };
    let port = match number {
        Some(number) => number.parse().ok()?,
        None => port,
    };
    (!host.is_empty()).then(|| Host::new(host, port))
}
