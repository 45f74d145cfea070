//! Database connection of a pipeline.

use std::{error::Error, fmt::Write as _, iter, net::Ipv6Addr, sync::Arc, time::Duration};

use serde::Deserialize;
use ziggurat_postgres::database::{
    Database, Host, InvalidDatabase, Password, Pooler, Settings, SslMode, TargetSessionAttrs,
};
use ziggurat_runtime::{Secret, password_file};

use super::{
    findings::Place,
    written::{Reader, Written},
};

/// The raw section.
#[derive(Debug, Default, Deserialize)]
pub(super) struct RawDatabase {
    host: Option<Written>,
    port: Option<Written>,
    hosts: Option<Vec<RawHost>>,
    target_session_attrs: Option<Written>,
    database: Option<Written>,
    username: Option<Written>,
    password: Option<Written>,
    ssl_mode: Option<Written>,
    ssl_cert: Option<Written>,
    ssl_key: Option<Written>,
    ssl_root_ca: Option<Written>,
    max_connections: Option<Written>,
    connect_timeout: Option<Written>,
    acquire_timeout: Option<Written>,
    statement_timeout: Option<Written>,
    pooler: Option<Written>,
}

#[derive(Debug, Default, Deserialize)]
struct RawHost {
    host: Option<Written>,
    port: Option<Written>,
}

/// The servers of a database, and the kind of server to use.
#[derive(Debug)]
struct Servers {
    hosts: Vec<Host>,
    /// True if the key `hosts` was used, even with one entry.
    are_listed: bool,
    target: TargetSessionAttrs,
}

/// Default limit on the connections to a database, shared by all pipelines with these settings.
const MAX_CONNECTIONS: u32 = 10;

/// Default time limit to connect, and to wait for a free connection.
const PATIENCE: Duration = Duration::from_secs(5);

/// Default port of PostgreSQL.
const USUAL_PORT: u16 = 5432;

/// Application name of the connections in PostgreSQL.
const APPLICATION: &str = "ziggurat-rag";

// === impl RawDatabase ===

impl RawDatabase {
    /// Checks the section, and reads the files it names.
    pub(super) fn check(mut self, reader: &mut Reader<'_>, place: &Place) -> Option<Arc<Database>> {
        let servers = self.servers(reader, place)?;
        let settings = self.settings(reader, place, servers);
        // The missing keys are already reported.
        let is_whole = !settings.user.is_empty()
            && !settings.database.is_empty()
            && settings
                .all_hosts()
                .iter()
                .all(|host| !host.name.is_empty());
        if !is_whole {
            return None;
        }
        Database::try_from(settings)
            .map_err(|error| reader.findings.problem(place, in_our_words(&error)))
            .ok()
            .map(Arc::new)
    }

    /// Returns `None` if both `host` and `hosts` are set.
    fn servers(&mut self, reader: &mut Reader<'_>, place: &Place) -> Option<Servers> {
        let listed = self.hosts.take().unwrap_or_default();
        let are_listed = !listed.is_empty();
        let host_at = place.key("host");
        let host = reader.text(&host_at, self.host.take());
        if are_listed && host.is_some() {
            let message = "cannot specify both 'hosts' and 'host'; use one or the other";
            reader.findings.problem(place, message);
            return None;
        }
        let port = reader.port(&place.key("port"), self.port.take());
        let hosts = if are_listed {
            let at = place.key("hosts");
            let listed = listed.into_iter().enumerate();
            let hosts = listed.map(|(index, raw)| raw.check(reader, &at.element(index)));
            hosts.collect()
        } else {
            let name = host_name(reader, &host_at, host);
            vec![Host::new(name, port.unwrap_or(USUAL_PORT))]
        };
        let target_at = place.key("target_session_attrs");
        let target = reader.text(&target_at, self.target_session_attrs.take());
        Some(Servers {
            target: target_attrs(reader, &target_at, target, are_listed),
            hosts,
            are_listed,
        })
    }

    fn settings(self, reader: &mut Reader<'_>, place: &Place, servers: Servers) -> Settings {
        let default = Settings::default();
        let at = |key: &str| place.key(key);
        let database = required(reader, &at("database"), self.database, &[]);
        let connections = max_connections(reader, &at("max_connections"), self.max_connections);
        let first = servers.hosts.first().cloned();
        let first = first.unwrap_or_else(|| Host::new("", USUAL_PORT));
        Settings {
            host: first.name,
            port: first.port,
            hosts: if servers.are_listed {
                servers.hosts
            } else {
                Vec::new()
            },
            target_session_attrs: servers.target,
            name: database.clone(),
            database,
            user: required(reader, &at("username"), self.username, &["PGUSER", "USER"]),
            password: password(reader, &at("password"), self.password),
            ssl_mode: ssl_mode(reader, &at("ssl_mode"), self.ssl_mode),
            ssl_cert: reader.path(&at("ssl_cert"), self.ssl_cert),
            ssl_key: reader.path(&at("ssl_key"), self.ssl_key),
            ssl_root_cert: reader.path(&at("ssl_root_ca"), self.ssl_root_ca),
            application_name: APPLICATION.to_owned(),
            pooler: pooler(reader, &at("pooler"), self.pooler),
            max_connections: connections,
            // Each description has one pool.
            max_total_connections: connections,
            connect_timeout: reader
                .some_time(&at("connect_timeout"), self.connect_timeout)
                .unwrap_or(PATIENCE),
            lease_timeout: reader
                .some_time(&at("acquire_timeout"), self.acquire_timeout)
                .unwrap_or(PATIENCE),
            query_timeout: reader
                .time(&at("statement_timeout"), self.statement_timeout)
                .unwrap_or(default.query_timeout),
            ..default
        }
    }
}

// === impl RawHost ===

impl RawHost {
    fn check(self, reader: &mut Reader<'_>, place: &Place) -> Host {
        let at = place.key("host");
        let host = reader.text(&at, self.host);
        let name = host_name(reader, &at, host);
        let port = reader.port(&place.key("port"), self.port);
        Host::new(name, port.unwrap_or(USUAL_PORT))
    }
}

/// Returns the name without brackets; empty if it is invalid.
fn host_name(reader: &mut Reader<'_>, place: &Place, host: Option<String>) -> String {
    const FORBIDDEN: &[char] = &[',', '@', '/', '?', '=', '\'', '\\', '#'];
    let Some(host) = host else {
        reader.findings.problem(place, "required");
        return String::new();
    };
    let inside = host.strip_prefix('[');
    if inside.is_some() || host.contains(':') {
        let address = match inside {
            Some(inside) => inside.strip_suffix(']').unwrap_or_default(),
            None => &host,
        };
        let is_address = address.parse::<Ipv6Addr>().is_ok();
        reader
            .findings
            .check(is_address, place, "invalid IPv6 address");
        return if is_address {
            address.to_owned()
        } else {
            String::new()
        };
    }
    let is_name = !host.contains(|c: char| c.is_whitespace() || FORBIDDEN.contains(&c));
    let message = "must not contain commas, whitespace, @, /, ?, =, ', \\, or #";
    reader.findings.check(is_name, place, message);
    if is_name { host } else { String::new() }
}

fn target_attrs(
    reader: &mut Reader<'_>,
    place: &Place,
    target: Option<String>,
    are_listed: bool,
) -> TargetSessionAttrs {
    let usual = if are_listed {
        TargetSessionAttrs::PreferStandby
    } else {
        TargetSessionAttrs::Any
    };
    let Some(target) = target else { return usual };
    if !are_listed {
        let message = "only supported with multi-host 'hosts' configuration";
        reader.findings.problem(place, message);
        return usual;
    }
    let parsed = target.parse().ok();
    let message = "must be one of: any, read-write, read-only, primary, standby, prefer-standby";
    reader.findings.check(parsed.is_some(), place, message);
    parsed.unwrap_or(usual)
}

/// Returns the value or the first of these variables; empty if none is set.
fn required(
    reader: &mut Reader<'_>,
    place: &Place,
    written: Option<Written>,
    variables: &[&str],
) -> String {
    let text = reader.text(place, written);
    let environment = &reader.around.environment;
    let variable = || variables.iter().find_map(|name| environment.get(name));
    let text = text.or_else(|| variable().map(str::to_owned));
    reader.findings.check(text.is_some(), place, "required");
    text.unwrap_or_default()
}

fn password(reader: &mut Reader<'_>, place: &Place, written: Option<Written>) -> Password {
    let password = reader.secret(place, written);
    let variable = || {
        reader
            .around
            .environment
            .get("PGPASSWORD")
            .map(Secret::from)
    };
    if let Some(password) = password.or_else(variable) {
        return Password::Given(password.into());
    }
    if let Some(warning) = password_file::warning(&reader.around.environment) {
        reader.findings.warn(warning);
    }
    Password::PasswordFile
}

fn ssl_mode(reader: &mut Reader<'_>, place: &Place, written: Option<Written>) -> SslMode {
    let Some(text) = reader.text(place, written) else {
        return SslMode::Prefer;
    };
    text.parse().unwrap_or_else(|_| {
        let message = "must be one of: disable, allow, prefer, require, verify-ca, verify-full";
        reader.findings.problem(place, message);
        SslMode::Prefer
    })
}

fn pooler(reader: &mut Reader<'_>, place: &Place, written: Option<Written>) -> Pooler {
    let Some(text) = reader.text(place, written) else {
        return Pooler::Detect;
    };
    text.parse().unwrap_or_else(|_| {
        let message = "must be one of: detect, session, transaction";
        reader.findings.problem(place, message);
        Pooler::Detect
    })
}

fn max_connections(reader: &mut Reader<'_>, place: &Place, written: Option<Written>) -> u32 {
    let Some(number) = reader.integer(place, written) else {
        return MAX_CONNECTIONS;
    };
    let number = u32::try_from(number).ok();
    let number = number.filter(|number| (1..=1000).contains(number));
    let message = "must be between 1 and 1000";
    reader.findings.check(number.is_some(), place, message);
    number.unwrap_or(MAX_CONNECTIONS)
}

/// Returns the message of an error, with the keys of this file.
fn in_our_words(error: &InvalidDatabase) -> String {
    let mut text = match error {
        InvalidDatabase::HalfCertificate { .. } => {
            "ssl_cert and ssl_key must be set together".to_owned()
        }
        InvalidDatabase::Unreadable { setting, .. } => format!("{} cannot be read", ours(setting)),
        InvalidDatabase::NotPem { setting, .. } => {
            format!("{} is not what it should be, in PEM", ours(setting))
        }
        InvalidDatabase::OutOfRange { setting, range, .. } => {
            format!("{} must be {range}", ours(setting))
        }
        other => other.to_string(),
    };
    for source in iter::successors(error.source(), |&error| error.source()) {
        let _ = write!(text, ": {source}");
    }
    text
}

/// Returns the key of a setting in this file.
fn ours(setting: &'static str) -> &'static str {
    match setting {
        "sslcert" => "ssl_cert",
        "sslkey" => "ssl_key",
        "sslrootcert" => "ssl_root_ca",
        "query_timeout" => "statement_timeout",
        "lease_timeout" => "acquire_timeout",
        other => other,
    }
}
