//! Database entry as written.

use std::path::PathBuf;

use serde::Deserialize;
use ziggurat_postgres::database::Settings;

use crate::{
    arguments::DatabaseFlags,
    configuration::{
        Secret,
        environment::{Reader, set},
    },
};

/// Entry of the list as written.
#[derive(Clone, Debug, Default, Deserialize)]
pub(crate) struct RawDatabase {
    pub(super) name: Option<String>,
    pub(super) host: Option<String>,
    pub(super) port: Option<u16>,
    pub(super) hosts: Option<Vec<RawHost>>,
    /// Hosts as one text, from the environment or the command line.
    #[serde(skip)]
    pub(super) hosts_text: Option<String>,
    pub(super) target_session_attrs: Option<String>,
    pub(super) database: Option<String>,
    pub(super) user: Option<String>,
    pub(super) password: Option<Secret>,
    pub(super) sslmode: Option<String>,
    pub(super) sslcert: Option<PathBuf>,
    pub(super) sslkey: Option<PathBuf>,
    pub(super) sslrootcert: Option<PathBuf>,
    pub(super) application_name: Option<String>,
    pub(super) pooler: Option<String>,
    pub(super) allow_writes: Option<bool>,
    pub(super) allow_dangerous_functions: Option<bool>,
    pub(super) available_to_users: Option<Vec<String>>,
    pub(super) available_to_clients: Option<Vec<String>>,
    pub(super) pool_max_conns: Option<u32>,
    pub(super) pool_min_conns: Option<u32>,
    pub(super) max_total_connections: Option<u32>,
    pub(super) pool_max_conn_idle_time: Option<String>,
    pub(super) pool_max_conn_lifetime: Option<String>,
    pub(super) connect_timeout: Option<String>,
    pub(super) lease_timeout: Option<String>,
    pub(super) metadata_ttl: Option<String>,
    pub(super) query_timeout: Option<String>,
    pub(super) row_limit: Option<u32>,
}

/// Host of a list as written.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
pub(crate) struct RawHost {
    pub(super) host: Option<String>,
    pub(super) port: Option<u16>,
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

    /// Applies the variables with this prefix.
    pub(super) fn overlay(&mut self, reader: &mut Reader<'_>, prefix: &str) {
        let named = |field: &str| format!("{prefix}{field}");
        // `ZIGGURAT_DB_NAME` is the database in PostgreSQL; with a number in the prefix, `DATABASE`
        // is.
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
        set(
            &mut self.available_to_clients,
            reader.list(&named("AVAILABLE_TO_CLIENTS")),
        );
        for (field, value) in [
            ("USER", &mut self.user),
            ("TARGET_SESSION_ATTRS", &mut self.target_session_attrs),
            ("SSLMODE", &mut self.sslmode),
            ("POOL_MAX_CONN_IDLE_TIME", &mut self.pool_max_conn_idle_time),
            ("POOL_MAX_CONN_LIFETIME", &mut self.pool_max_conn_lifetime),
            ("APPLICATION_NAME", &mut self.application_name),
            ("POOLER", &mut self.pooler),
            ("CONNECT_TIMEOUT", &mut self.connect_timeout),
            ("LEASE_TIMEOUT", &mut self.lease_timeout),
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
            ("MAX_TOTAL_CONNECTIONS", &mut self.max_total_connections),
            ("ROW_LIMIT", &mut self.row_limit),
        ] {
            set(value, reader.integer(&named(field)));
        }
    }

    /// Applies the flags of the command line.
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

    /// Applies a connection URL.
    pub(super) fn overlay_url(&mut self, url: Self) {
        self.take_hosts(url.host, url.hosts_text);
        set(&mut self.port, url.port);
        set(&mut self.database, url.database);
        set(&mut self.user, url.user);
        set(&mut self.password, url.password);
        set(&mut self.target_session_attrs, url.target_session_attrs);
        set(&mut self.sslmode, url.sslmode);
        set(&mut self.sslcert, url.sslcert);
        set(&mut self.sslkey, url.sslkey);
        set(&mut self.sslrootcert, url.sslrootcert);
        set(&mut self.application_name, url.application_name);
        set(&mut self.connect_timeout, url.connect_timeout);
    }

    /// Fills the gaps of a connection URL like libpq: from its variables, then with the name of the
    /// operating system's user, which is also the default name of the database.
    pub(super) fn fill_url(&mut self, reader: &mut Reader<'_>) {
        if !self.has_hosts() {
            absent(&mut self.host, reader.text("PGHOST"));
            if self.port.is_none() {
                self.port = reader.integer("PGPORT");
            }
        }
        absent(&mut self.user, reader.text("PGUSER"));
        absent(&mut self.user, reader.text("USER"));
        absent(&mut self.database, reader.text("PGDATABASE"));
        absent(&mut self.database, self.user.clone());
        absent(&mut self.sslmode, reader.text("PGSSLMODE"));
    }

    /// Takes the password of the environment if no other is set.
    pub(super) fn fill_password(&mut self, reader: &mut Reader<'_>) {
        let password = reader.secret("PGPASSWORD");
        if self.lacks_password() {
            set(&mut self.password, password);
        }
    }

    pub(super) fn lacks_password(&self) -> bool {
        self.password.as_ref().is_none_or(Secret::is_empty)
    }

    /// Fills defaults from the variables of libpq.
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
    }

    /// Sets one host or several; each replaces the other.
    fn take_hosts(&mut self, host: Option<String>, hosts: Option<String>) {
        if host.is_some() || hosts.is_some() {
            self.hosts = None;
            (self.host, self.hosts_text) = (host, hosts);
        }
    }

    fn has_hosts(&self) -> bool {
        let list = self.hosts.as_ref();
        self.hosts_text.is_some() || list.is_some_and(|hosts| !hosts.is_empty())
    }
}

/// Returns whether the command line describes a database.
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

/// Sets a field if it has no value.
fn absent(field: &mut Option<String>, value: Option<String>) {
    if field.as_deref().is_none_or(str::is_empty) {
        set(field, value);
    }
}

fn fill(field: &mut Option<String>, value: Option<String>, default: &str) {
    if field
        .as_deref()
        .is_none_or(|field| field.is_empty() || field == default)
    {
        set(field, value);
    }
}
