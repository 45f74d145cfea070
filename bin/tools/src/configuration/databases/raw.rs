//! One database, as it is written.

use std::path::PathBuf;

use serde::Deserialize;
use sqlx::postgres::PgSslMode;
use ziggurat_services::pg::database::Settings;

use super::{Entry, hosts, time};
use crate::{
    arguments::DatabaseFlags,
    configuration::{
        Invalid, Secret, Surroundings,
        environment::{Reader, set},
    },
};

/// An entry of the list as written.
#[derive(Clone, Debug, Default, Deserialize)]
pub(crate) struct RawDatabase {
    name: Option<String>,
    host: Option<String>,
    port: Option<u16>,
    hosts: Option<Vec<RawHost>>,
    /// The hosts in one text, as the environment and the command line have them.
    #[serde(skip)]
    hosts_text: Option<String>,
    target_session_attrs: Option<String>,
    database: Option<String>,
    user: Option<String>,
    password: Option<Secret>,
    sslmode: Option<String>,
    sslcert: Option<PathBuf>,
    sslkey: Option<PathBuf>,
    sslrootcert: Option<PathBuf>,
    allow_writes: Option<bool>,
    available_to_users: Option<Vec<String>>,
    pool_max_conns: Option<u32>,
    pool_min_conns: Option<u32>,
    pool_max_conn_idle_time: Option<String>,
    pool_max_conn_lifetime: Option<String>,
    connect_timeout: Option<String>,
    metadata_ttl: Option<String>,
    query_timeout: Option<String>,
    row_limit: Option<u32>,
}

/// One of several hosts as written.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
pub(crate) struct RawHost {
    host: Option<String>,
    port: Option<u16>,
}

// === impl RawHost ===

impl RawHost {
    pub(super) fn new(host: &str, port: u16) -> Self {
        Self {
            host: Some(host.to_owned()),
            port: Some(port),
        }
    }
}

// === impl RawDatabase ===

impl RawDatabase {
    pub(super) fn named(name: &str) -> Self {
        Self {
            name: Some(name.to_owned()),
            ..Self::default()
        }
    }

    pub(super) fn name(&self) -> Option<&str> {
        self.name.as_deref().filter(|name| !name.is_empty())
    }

    pub(super) fn is_named(&self, name: &str) -> bool {
        self.name() == Some(name)
    }

    /// Takes what variables with this prefix say.
    pub(super) fn overlay(&mut self, reader: &mut Reader<'_>, prefix: &str) {
        let named = |field: &str| format!("{prefix}{field}");
        // Without a number, NAME is the one in PostgreSQL; with one, that is DATABASE.
        let database = if prefix == super::PREFIX {
            "NAME"
        } else {
            "DATABASE"
        };
        set(&mut self.database, reader.text(&named(database)));
        self.take_hosts(reader.text(&named("HOST")), reader.text(&named("HOSTS")));
        set(&mut self.port, reader.integer(&named("PORT")));
        set(&mut self.password, reader.secret(&named("PASSWORD")));
        set(
            &mut self.allow_writes,
            reader.boolean(&named("ALLOW_WRITES")),
        );
        set(
            &mut self.available_to_users,
            reader.list(&named("AVAILABLE_TO_USERS")),
        );
        for (field, value) in [
            ("USER", &mut self.user),
            ("TARGET_SESSION_ATTRS", &mut self.target_session_attrs),
            ("SSLMODE", &mut self.sslmode),
            ("POOL_MAX_CONN_IDLE_TIME", &mut self.pool_max_conn_idle_time),
            ("POOL_MAX_CONN_LIFETIME", &mut self.pool_max_conn_lifetime),
            ("CONNECT_TIMEOUT", &mut self.connect_timeout),
            ("METADATA_TTL", &mut self.metadata_ttl),
            ("QUERY_TIMEOUT", &mut self.query_timeout),
        ] {
            set(value, reader.text(&named(field)));
        }
        for (field, value) in [
            ("SSLCERT", &mut self.sslcert),
            ("SSLKEY", &mut self.sslkey),
            ("SSLROOTCERT", &mut self.sslrootcert),
        ] {
            set(value, reader.path(&named(field)));
        }
        for (field, value) in [
            ("POOL_MAX_CONNS", &mut self.pool_max_conns),
            ("POOL_MIN_CONNS", &mut self.pool_min_conns),
            ("ROW_LIMIT", &mut self.row_limit),
        ] {
            set(value, reader.integer(&named(field)));
        }
    }

    /// Takes what the command line says.
    pub(super) fn overlay_flags(&mut self, flags: &DatabaseFlags) {
        let flags = flags.clone();
        self.take_hosts(flags.host, flags.hosts);
        set(&mut self.target_session_attrs, flags.target_session_attrs);
        set(&mut self.port, flags.port);
        set(&mut self.database, flags.database);
        set(&mut self.user, flags.user);
        set(&mut self.password, flags.password);
        set(&mut self.sslmode, flags.sslmode);
        set(&mut self.sslcert, flags.sslcert);
        set(&mut self.sslkey, flags.sslkey);
        set(&mut self.sslrootcert, flags.sslrootcert);
    }

    /// Lets the variables of libpq fill what nobody has changed.
    pub(super) fn fill(&mut self, reader: &mut Reader<'_>) {
        let default = Settings::default();
        let (host, port) = (reader.text("PGHOST"), reader.integer("PGPORT"));
        if !self.has_hosts() {
            fill(&mut self.host, host, &default.host);
            if self.port.is_none_or(|port| port == default.port) {
                set(&mut self.port, port);
            }
        }
        fill(
            &mut self.database,
            reader.text("PGDATABASE"),
            &default.database,
        );
        fill(&mut self.sslmode, reader.text("PGSSLMODE"), "prefer");
        fill(&mut self.user, reader.text("PGUSER"), "");
        let password = reader.secret("PGPASSWORD");
        if self.password.as_ref().is_none_or(Secret::is_empty) {
            set(&mut self.password, password);
        }
    }

    /// Takes one host or several, each in place of the other.
    fn take_hosts(&mut self, host: Option<String>, hosts: Option<String>) {
        if host.is_some() || hosts.is_some() {
            self.hosts = None;
            (self.host, self.hosts_text) = (host, hosts);
        }
    }

    /// Checks it, and settles what was left open.
    pub(super) fn check(self, around: &Surroundings) -> Result<Entry, Invalid> {
        let default = Settings::default();
        let name = self.name.clone().unwrap_or_default();
        let user = said(self.user.clone()).ok_or_else(|| Invalid::NoUser(name.clone()))?;
        let port = self.port.unwrap_or(default.port);
        self.several(&name, port)?;
        self.check_certificates(&name, around)?;
        self.refuse_what_is_to_come(&name)?;
        let settings = Settings {
            host: said(self.host).unwrap_or(default.host),
            port,
            database: said(self.database).unwrap_or(default.database),
            user,
            // An empty one stands for the password file.
            password: secrecy::SecretString::from(
                self.password.unwrap_or_default().expose().to_owned(),
            )
            .into(),
            ssl_mode: ssl_mode(&name, self.sslmode)?.unwrap_or(default.ssl_mode),
            allow_writes: self.allow_writes.unwrap_or(default.allow_writes),
            row_limit: self.row_limit.unwrap_or(default.row_limit),
            query_timeout: time(
                self.query_timeout,
                default.query_timeout,
                (&name, "query_timeout"),
            )?,
            connect_timeout: time(
                self.connect_timeout,
                default.connect_timeout,
                (&name, "connect_timeout"),
            )?,
            max_connections: self.pool_max_conns.unwrap_or(default.max_connections),
            max_idle: time(
                self.pool_max_conn_idle_time,
                default.max_idle,
                (&name, "pool_max_conn_idle_time"),
            )?,
            max_lifetime: time(
                self.pool_max_conn_lifetime,
                default.max_lifetime,
                (&name, "pool_max_conn_lifetime"),
            )?,
            name: name.clone(),
            ..Settings::default()
        };
        let entry = Entry {
            settings,
            users: self.available_to_users.unwrap_or_default(),
            metadata_ttl: time(
                self.metadata_ttl,
                Entry::METADATA_TTL,
                (&name, "metadata_ttl"),
            )?,
        };
        entry.database()?;
        Ok(entry)
    }
}

impl RawDatabase {
    fn has_hosts(&self) -> bool {
        let list = self.hosts.as_ref();
        self.hosts_text.is_some() || list.is_some_and(|hosts| !hosts.is_empty())
    }

    /// The hosts, if there are several to choose from.
    fn several(&self, name: &str, port: u16) -> Result<Vec<(String, u16)>, Invalid> {
        let wrong = |reason: &str| Invalid::Setting {
            name: name.to_owned(),
            key: "hosts",
            reason: reason.to_owned(),
        };
        let written = match (&self.hosts_text, &self.hosts) {
            (Some(text), _) => hosts(text, port)
                .ok_or_else(|| wrong("must be host:port, with commas between them"))?,
            (None, Some(list)) => list.clone(),
            (None, None) => Vec::new(),
        };
        if written.is_empty() {
            return Ok(Vec::new());
        }
        if said(self.host.clone()).is_some() {
            return Err(wrong("and host exclude each other"));
        }
        let hosts = written.into_iter().map(|RawHost { host, port: own }| {
            let host = said(host).ok_or_else(|| wrong("has an entry without a host"))?;
            Ok((host, own.unwrap_or(port)))
        });
        hosts.collect()
    }

    fn check_certificates(&self, name: &str, around: &Surroundings) -> Result<(), Invalid> {
        let [cert, key] = [&self.sslcert, &self.sslkey].map(|path| around.path(path.clone()));
        if cert.is_some() == key.is_some() {
            return Ok(());
        }
        Err(Invalid::HalfCertificate(name.to_owned()))
    }

    /// Refuses what connections cannot be given yet: ignoring it would be worse.
    fn refuse_what_is_to_come(&self, name: &str) -> Result<(), Invalid> {
        let is_path = |path: &Option<PathBuf>| path.as_ref().is_some_and(|path| path != "");
        let keys = [
            ("hosts", self.has_hosts()),
            (
                "target_session_attrs",
                !matches!(
                    self.target_session_attrs.as_deref(),
                    None | Some("" | "any")
                ),
            ),
            ("sslcert", is_path(&self.sslcert)),
            ("sslrootcert", is_path(&self.sslrootcert)),
            (
                "pool_min_conns",
                self.pool_min_conns.is_some_and(|min| min > 0),
            ),
        ];
        match keys.into_iter().find(|(_, is_set)| *is_set) {
            None => Ok(()),
            Some((key, _)) => Err(Invalid::Setting {
                name: name.to_owned(),
                key,
                reason: "is not supported by this build".to_owned(),
            }),
        }
    }
}

/// Whether the command line describes a database.
pub(super) fn are_any(flags: &DatabaseFlags) -> bool {
    let DatabaseFlags {
        host,
        hosts,
        target_session_attrs,
        port,
        database,
        user,
        password,
        sslmode,
        sslcert,
        sslkey,
        sslrootcert,
    } = flags;
    let texts = [host, hosts, target_session_attrs, database, user, sslmode];
    texts.iter().any(|text| text.is_some())
        || [sslcert, sslkey, sslrootcert]
            .iter()
            .any(|path| path.is_some())
        || port.is_some()
        || password.is_some()
}

fn said(text: Option<String>) -> Option<String> {
    text.filter(|text| !text.is_empty())
}

fn fill(field: &mut Option<String>, value: Option<String>, default: &str) {
    if field
        .as_deref()
        .is_none_or(|field| field.is_empty() || field == default)
    {
        set(field, value);
    }
}

fn ssl_mode(name: &str, text: Option<String>) -> Result<Option<PgSslMode>, Invalid> {
    let Some(text) = said(text) else {
        return Ok(None);
    };
    Ok(Some(match text.as_str() {
        "disable" => PgSslMode::Disable,
        "allow" => PgSslMode::Allow,
        "prefer" => PgSslMode::Prefer,
        "require" => PgSslMode::Require,
        "verify-ca" => PgSslMode::VerifyCa,
        "verify-full" => PgSslMode::VerifyFull,
        _ => {
            return Err(Invalid::Setting {
                name: name.to_owned(),
                key: "sslmode",
                reason: format!(
                    "'{text}' is none of disable, allow, prefer, require, verify-ca, verify-full"
                ),
            });
        }
    }))
}
