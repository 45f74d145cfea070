//! One database, as it is written.

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

/// An entry of the list as written.
#[derive(Clone, Debug, Default, Deserialize)]
pub(crate) struct RawDatabase {
    pub(super) name: Option<String>,
    pub(super) host: Option<String>,
    pub(super) port: Option<u16>,
    pub(super) hosts: Option<Vec<RawHost>>,
    /// The hosts in one text, as the environment and the command line have them.
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

/// One of several hosts as written.
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

    /// Takes what a connection URL says.
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

    /// Fills what a connection URL left open, as libpq does: from its variables, then with the
    /// name of the account, which is also the name of the database.
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

    /// Takes the password of the environment if there is no other.
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

    /// Takes one host or several, each in place of the other.
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

/// Tells whether the command line describes a database.
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

/// Sets a field that says nothing.
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
