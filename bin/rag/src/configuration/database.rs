//! Database connection of a pipeline.

use std::{error::Error, fmt::Write as _, iter, net::Ipv6Addr, sync::Arc, time::Duration};

use thiserror::Error;
use ziggurat_postgres::{
    database::{
        ConnectKeys, Database, Host, InvalidDatabase, Parameters, Password, Pooler, Settings,
        TargetSessionAttrs,
        parameters::{VARIABLES, refused},
        service_file,
    },
    url::InvalidUrl,
};
use ziggurat_runtime::{
    Secret,
    config::{Section, Value},
    password_file,
};

const SSL_MODES: &str = "must be one of: disable, allow, prefer, require, verify-ca, verify-full";

const POOLERS: &str = "must be one of: detect, session, transaction";

/// Default limit on the connections to a database, shared by all pipelines with these settings.
const MAX_CONNECTIONS: u32 = 10;

/// Default time limit to connect, and to wait for a free connection.
const DEFAULT_TIMEOUT: Duration = Duration::from_secs(5);

/// Default port of PostgreSQL.
const DEFAULT_PORT: u16 = 5432;

/// Application name of the connections in PostgreSQL.
const APPLICATION: &str = "ziggurat-rag";

/// Purpose of a database.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Purpose {
    /// Questions.
    Questions,
    /// Documents are written.
    Documents,
}

/// The reason why a connection URL cannot be used.
#[derive(Debug, Error)]
pub(crate) enum InvalidAddress {
    #[error(transparent)]
    Url(#[from] InvalidUrl),
    #[error(transparent)]
    Database(#[from] InvalidDatabase),
}

/// Time limit of a statement that writes documents: an index of vectors takes its time.
const WRITE_TIMEOUT: Duration = Duration::from_mins(10);

/// Reads the section, and the files it names. The variables of libpq are for one database.
pub(super) fn read(
    file: &Section<'_>,
    purpose: Purpose,
    has_variables: bool,
) -> Option<Arc<Database>> {
    let connect = ConnectKeys::read(file);
    let served = served(file, purpose, has_variables)?;
    let mut settings = settings(file, served, &connect);
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
    let database = connect.apply(&mut settings);
    let database = database.and_then(|()| Database::try_from(settings));
    database
        .map_err(|error| file.problem(with_file_keys(&error)))
        .ok()
        .map(Arc::new)
}

/// Returns the database of a connection URL, for questions and for documents.
///
/// # Errors
/// Fails if the URL is invalid.
pub(crate) fn of_address(url: &str) -> Result<[Arc<Database>; 2], InvalidAddress> {
    let base = Settings {
        application_name: APPLICATION.to_owned(),
        max_connections: MAX_CONNECTIONS,
        max_total_connections: MAX_CONNECTIONS,
        connect_timeout: DEFAULT_TIMEOUT,
        lease_timeout: DEFAULT_TIMEOUT,
        ..Settings::default()
    };
    let settings = Settings::from_url(url, &base)?;
    let writing = Settings {
        query_timeout: WRITE_TIMEOUT,
        ..settings.clone()
    };
    Ok([
        Arc::new(Database::try_from(settings)?),
        Arc::new(Database::try_from(writing)?),
    ])
}

/// Returns the defaults, and over them the values of variables, of the service and of the hosts.
fn served(file: &Section<'_>, purpose: Purpose, has_variables: bool) -> Option<Settings> {
    let default = Settings::default();
    let mut settings = Settings {
        host: String::new(),
        port: DEFAULT_PORT,
        database: String::new(),
        application_name: APPLICATION.to_owned(),
        connect_timeout: DEFAULT_TIMEOUT,
        lease_timeout: DEFAULT_TIMEOUT,
        query_timeout: match purpose {
            Purpose::Questions => default.query_timeout,
            Purpose::Documents => WRITE_TIMEOUT,
        },
        ..default
    };
    let mut parameters = parameters(file, has_variables)?;
    let listed = hosts(file, &mut parameters)?;
    if let Err(error) = settings.take_parameters(&parameters) {
        file.problem(error);
        return None;
    }
    if !listed.is_empty() {
        settings.hosts = listed;
    }
    let are_listed = !settings.hosts.is_empty();
    let target = target_attrs(&file.key("target_session_attrs"), are_listed);
    let served = parameters.contains_key("target_session_attrs");
    let served = served.then_some(settings.target_session_attrs);
    let usual = usual_target(are_listed, purpose);
    settings.target_session_attrs = target.or(served).unwrap_or(usual);
    Some(settings)
}

/// Returns the values of the service that the entry names, then of the variables.
fn parameters(file: &Section<'_>, has_variables: bool) -> Option<Parameters> {
    let environment = file.environment();
    let variable = |name: &str| environment.get(name).filter(|_| has_variables);
    let key = file.key("service");
    let name = key.text().or(variable("PGSERVICE").map(str::to_owned));
    let read = name.map(|name| service_file::read(&name, environment));
    let mut parameters = match read.transpose() {
        Ok(parameters) => parameters.unwrap_or_default(),
        Err(error) => {
            key.problem(error);
            return None;
        }
    };
    for (name, parameter) in VARIABLES {
        if let Some(value) = variable(name) {
            parameters.entry(parameter).or_insert(value.into());
        }
    }
    if has_variables {
        for name in refused(environment) {
            file.complain(format_args!("{name} is not supported"));
        }
    }
    Some(parameters)
}

/// Returns the hosts of the list, which replace all others, or sets the parameters of the one host.
/// Returns `None` if both `host` and `hosts` are set.
fn hosts(file: &Section<'_>, parameters: &mut Parameters) -> Option<Vec<Host>> {
    let listed = file.key("hosts").list().unwrap_or_default();
    let host = file.key("host");
    let is_named = host.text().is_some();
    if !listed.is_empty() && is_named {
        file.problem("cannot specify both 'hosts' and 'host'; use one or the other");
        return None;
    }
    let port = |file: &Section<'_>| file.key("port").whole::<u16>(1..=65535);
    let own_port = port(file);
    if listed.is_empty() {
        let is_served = parameters.contains_key("host") || parameters.contains_key("hostaddr");
        if is_named || !is_served {
            parameters.insert("host", host_name(&host).into());
        }
        if let Some(port) = own_port {
            parameters.insert("port", port.to_string().into());
        }
        return Some(Vec::new());
    }
    parameters.retain(|key, _| !["host", "hostaddr", "port"].contains(key));
    let listed = listed.into_iter().map(Value::into_section);
    let listed = listed.map(|file| {
        Host::new(
            host_name(&file.key("host")),
            port(&file).unwrap_or(DEFAULT_PORT),
        )
    });
    Some(listed.collect())
}

/// Reads the other keys over the values of the service and the variables.
fn settings(file: &Section<'_>, served: Settings, connect: &ConnectKeys) -> Settings {
    let database = required(file, "database", &served.database, &[]);
    let connections = file.key("max_connections").whole(1..=1000);
    let connections = connections.unwrap_or(MAX_CONNECTIONS);
    let time = |key: &str, served| file.key(key).some_time().unwrap_or(served);
    Settings {
        name: database.clone(),
        database,
        user: required(file, "username", &served.user, &["PGUSER", "USER"]),
        password: password(file, connect, &served.password),
        ssl_mode: file
            .key("ssl_mode")
            .parsed(|text| text.parse().map_err(|_| SSL_MODES))
            .unwrap_or(served.ssl_mode),
        require_auth: file
            .key("require_auth")
            .parsed(str::parse)
            .or(served.require_auth),
        ssl_cert: file.key("ssl_cert").path().or(served.ssl_cert),
        ssl_key: file.key("ssl_key").path().or(served.ssl_key),
        ssl_root_cert: file.key("ssl_root_ca").path().or(served.ssl_root_cert),
        pooler: file
            .key("pooler")
            .parsed(|text| text.parse().map_err(|_| POOLERS))
            .unwrap_or(Pooler::Detect),
        max_connections: connections,
        // Each description has one pool.
        max_total_connections: connections,
        connect_timeout: time("connect_timeout", served.connect_timeout),
        lease_timeout: time("acquire_timeout", served.lease_timeout),
        query_timeout: file
            .key("statement_timeout")
            .time()
            .unwrap_or(served.query_timeout),
        ..served
    }
}

/// Returns the name without brackets; empty if it is invalid.
fn host_name(value: &Value<'_>) -> String {
    const FORBIDDEN: &[char] = &[',', '@', '/', '?', '=', '\'', '\\', '#'];
    let Some(host) = value.text() else {
        value.problem("required");
        return String::new();
    };
    let inside = host.strip_prefix('[');
    let (name, is_good, message) = if inside.is_some() || host.contains(':') {
        let address = match inside {
            Some(inside) => inside.strip_suffix(']').unwrap_or_default(),
            None => &host,
        };
        let is_address = address.parse::<Ipv6Addr>().is_ok();
        (address, is_address, "invalid IPv6 address")
    } else {
        let is_name = !host.contains(|c: char| c.is_whitespace() || FORBIDDEN.contains(&c));
        let message = "must not contain commas, whitespace, @, /, ?, =, ', \\, or #";
        (&*host, is_name, message)
    };
    value.check(is_good, message);
    if is_good {
        name.to_owned()
    } else {
        String::new()
    }
}

fn usual_target(are_listed: bool, purpose: Purpose) -> TargetSessionAttrs {
    match purpose {
        Purpose::Questions if are_listed => TargetSessionAttrs::PreferStandby,
        Purpose::Documents if are_listed => TargetSessionAttrs::ReadWrite,
        _ => TargetSessionAttrs::Any,
    }
}

fn target_attrs(value: &Value<'_>, are_listed: bool) -> Option<TargetSessionAttrs> {
    value.parsed(|text| {
        if !are_listed {
            return Err("only supported with multi-host 'hosts' configuration");
        }
        let target = text.parse();
        target.map_err(
            |_| "must be one of: any, read-write, read-only, primary, standby, prefer-standby",
        )
    })
}

/// Returns the value, the one of the service, or the first of these variables; empty if none is set.
fn required(file: &Section<'_>, key: &str, served: &str, variables: &[&str]) -> String {
    let (value, environment) = (file.key(key), file.environment());
    let served = Some(served).filter(|served| !served.is_empty());
    let other = served.or_else(|| variables.iter().find_map(|name| environment.get(name)));
    let text = value.text();
    value.required(text.or_else(|| other.map(str::to_owned)))
}

fn password(file: &Section<'_>, connect: &ConnectKeys, served: &Password) -> Password {
    let environment = file.environment();
    let variable = || environment.get("PGPASSWORD").map(Secret::from);
    let given = file.key("password").secret();
    if connect.has_password() {
        return given.map_or(Password::PasswordFile, |password| {
            Password::Given(password.into())
        });
    }
    if given.is_none() && matches!(served, Password::Given(_)) {
        return served.clone();
    }
    if let Some(password) = given.or_else(variable) {
        return Password::Given(password.into());
    }
    if let Some(warning) = password_file::warning(environment) {
        file.warn(warning);
    }
    Password::PasswordFile
}

/// Returns the message of an error, with the keys of this file.
fn with_file_keys(error: &InvalidDatabase) -> String {
    let mut text = match error {
        InvalidDatabase::HalfCertificate { .. } => {
            "ssl_cert and ssl_key must be set together".to_owned()
        }
        InvalidDatabase::NoAuthorities { .. } => {
            "ssl_mode verify-ca needs ssl_root_ca, a file with the certificates of the authorities \
             to trust"
                .to_owned()
        }
        InvalidDatabase::WeakMode { .. } => {
            "ssl_root_ca system needs ssl_mode verify-full".to_owned()
        }
        InvalidDatabase::Unreadable { setting, .. } => {
            format!("{} cannot be read", file_key(setting))
        }
        InvalidDatabase::NotPem { setting, .. } => {
            format!(
                "{} has no PEM block of the expected kind",
                file_key(setting)
            )
        }
        InvalidDatabase::OutOfRange { setting, range, .. } => {
            format!("{} must be {range}", file_key(setting))
        }
        other => other.to_string(),
    };
    for source in iter::successors(error.source(), |&error| error.source()) {
        let _ = write!(text, ": {source}");
    }
    text
}

/// Returns the key of a setting in this file.
fn file_key(setting: &'static str) -> &'static str {
    match setting {
        "sslcert" => "ssl_cert",
        "sslkey" => "ssl_key",
        "sslrootcert" => "ssl_root_ca",
        "query_timeout" => "statement_timeout",
        "lease_timeout" => "acquire_timeout",
        other => other,
    }
}
