//! Conversion of a database entry to connection settings.

use std::{fmt::Display, str::FromStr};

use anyhow::{Context as _, anyhow, bail};
use ziggurat_postgres::database::{
    Database, Host, HostOrder, Pooler, Settings, SslMode, parameters,
};
use ziggurat_runtime::{ConfigSources, duration};

use crate::configuration::databases::{entry::Entry, raw::RawDatabase};

impl RawDatabase {
    /// Checks the entry and fills in defaults. Reads the files it names.
    ///
    /// # Errors
    /// Fails with an error that names the database.
    pub(super) fn check(
        self,
        name: &str,
        sources: &ConfigSources,
        default: Settings,
    ) -> anyhow::Result<Entry> {
        let settings = self.settings(name, sources, default);
        let mut settings = settings.with_context(|| format!("database '{name}'"))?;
        self.connect.apply(&mut settings)?;
        if self.callers.is_some() && settings.allow_dangerous_functions {
            bail!("database '{name}': identity and allow_dangerous_functions exclude each other");
        }
        let is_sealed = self.callers.as_ref().is_some_and(|it| it.seal.is_some());
        if is_sealed && settings.pooler == Pooler::Transaction {
            bail!(
                "database '{name}': identity.seal_key_file and pooler: transaction exclude each other"
            );
        }
        Ok(Entry {
            database: Database::try_from(settings)?.into(),
            users: self.users,
            clients: self.clients,
            connect: self.connect,
            callers: self.callers,
            // Another section names them.
            masks: None,
        })
    }

    fn settings(
        &self,
        name: &str,
        sources: &ConfigSources,
        default: Settings,
    ) -> anyhow::Result<Settings> {
        let owned = |key: &str| self.text(key).map(str::to_owned);
        let path = |key: &str| sources.path(self.text(key).map(Into::into));
        let given_port = self.number("port");
        let port = given_port.unwrap_or(default.port);
        let connections = |key: &str, default| self.number(key).unwrap_or(default);
        let time = |key: &str, default| match self.text(key) {
            None => Ok(default),
            Some(text) => duration::parse(text)
                .map_err(|error| setting(key, &format_args!("'{text}' is {error}"))),
        };
        Ok(Settings {
            user: owned("user").context(
                "user is required (set user, or ZIGGURAT_DB_USER or -db-user for the first one)",
            )?,
            hosts: self.host_list(port)?,
            port,
            given_port,
            target_session_attrs: self.parsed("target_session_attrs")?.unwrap_or_default(),
            host: owned("host").unwrap_or(default.host),
            database: owned("database").unwrap_or(default.database),
            // An empty password means that the password file is used.
            password: owned("password").unwrap_or_default().into(),
            ssl_mode: self.ssl_mode()?.unwrap_or(default.ssl_mode),
            min_tls: self.parsed("ssl_min_protocol_version")?.unwrap_or_default(),
            options: owned("options"),
            host_order: self.host_order()?,
            ssl_root_cert: path("sslrootcert"),
            require_auth: self.parsed("require_auth")?,
            ssl_cert: path("sslcert"),
            ssl_key: path("sslkey"),
            application_name: owned("application_name").unwrap_or(default.application_name),
            pooler: self.parsed("pooler")?.unwrap_or_default(),
            allow_writes: self.allow_writes,
            preview: self.preview.clone(),
            allow_dangerous_functions: self.allow_dangerous_functions,
            max_changed_rows: self.max_changed_rows,
            row_limit: self.number("row_limit").unwrap_or(default.row_limit),
            query_timeout: time("query_timeout", default.query_timeout)?,
            metadata_ttl: time("metadata_ttl", default.metadata_ttl)?,
            connect_timeout: time("connect_timeout", default.connect_timeout)?,
            lease_timeout: time("lease_timeout", default.lease_timeout)?,
            min_connections: connections("pool_min_conns", default.min_connections),
            max_connections: connections("pool_max_conns", default.max_connections),
            max_total_connections: connections(
                "max_total_connections",
                default.max_total_connections,
            ),
            max_idle: time("pool_max_conn_idle_time", default.max_idle)?,
            max_lifetime: time("pool_max_conn_lifetime", default.max_lifetime)?,
            name: name.to_owned(),
            ..default
        })
    }

    fn parsed<T>(&self, key: &str) -> anyhow::Result<Option<T>>
    where
        T: FromStr,
        T::Err: Display,
    {
        let parsed = self.text(key).map(str::parse).transpose();
        parsed.map_err(|error: T::Err| setting(key, &error))
    }

    fn number<T: FromStr>(&self, key: &str) -> Option<T> {
        self.text(key)?.parse().ok()
    }

    /// Returns the hosts, if there are several to choose from.
    fn host_list(&self, port: u16) -> anyhow::Result<Vec<Host>> {
        let hosts = match (self.text("hosts"), &self.hosts) {
            (Some(text), _) => {
                hosts(text, port).context("hosts must be host:port, with commas between them")?
            }
            (None, Some(list)) if !list.is_empty() => {
                let hosts = list.iter();
                let hosts = hosts.map(|(host, own)| Host::new(host, own.unwrap_or(port)));
                hosts.collect()
            }
            _ => {
                let texts = ["host", "hostaddr", "port"].map(|key| self.text(key));
                return Ok(parameters::hosts(texts, port)?);
            }
        };
        if !hosts.is_empty() && self.text("host").is_some() {
            bail!("hosts and host exclude each other");
        }
        Ok(hosts)
    }

    fn host_order(&self) -> anyhow::Result<HostOrder> {
        match self.text("load_balance_hosts") {
            None | Some("disable") => Ok(HostOrder::Listed),
            Some("random") => Ok(HostOrder::Random),
            Some(_) => Err(setting("load_balance_hosts", &"must be disable or random")),
        }
    }

    fn ssl_mode(&self) -> anyhow::Result<Option<SslMode>> {
        let mode = self.text("sslmode").map(|text| {
            text.parse().map_err(|_| {
                let reason = format!(
                    "'{text}' is none of disable, allow, prefer, require, verify-ca, verify-full"
                );
                setting("sslmode", &reason)
            })
        });
        mode.transpose()
    }
}

fn setting(key: &str, reason: &dyn Display) -> anyhow::Error {
    anyhow!("{key} {reason}")
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
