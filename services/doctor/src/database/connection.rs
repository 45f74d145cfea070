//! Checks of the way to a database: the connection and its encryption.

use ziggurat_postgres::{
    database::{Database, Password, Settings, SslMode},
    error::{QueryError, Report},
    pool::{Cause, TriedHost},
    quoted,
};

use crate::Finding;

const CONNECT: &str = "db.connect";
const TLS: &str = "db.tls";
const PASSWORD_COMMAND: &str = "password_command";
const CONNECT_COMMAND: &str = "connect_command";

/// Returns the finding of a connection that was made.
pub(super) fn reached(settings: &Settings) -> Finding {
    let hosts: Vec<_> = settings
        .all_hosts()
        .iter()
        .map(ToString::to_string)
        .collect();
    let (hosts, user) = (hosts.join(", "), &settings.user);
    Finding::ok(CONNECT, format!("connected to {hosts} as {user}"))
}

/// Returns a finding for each host that refused the connection.
pub(super) fn failures(settings: &Settings, tried: &[TriedHost]) -> Vec<Finding> {
    let failure = |it: &TriedHost| {
        let finding = format!("{}: {}", it.host, it.cause);
        Finding::fail(id_of(&it.cause), finding, advice(settings, &it.cause))
    };
    if tried.is_empty() {
        let fix = "name a host of the database";
        return vec![Finding::fail(CONNECT, "there is no host to try", fix)];
    }
    tried.iter().map(failure).collect()
}

/// Returns a finding for each program that a connection was made with.
pub(super) fn programs(settings: &Settings) -> Vec<Finding> {
    let mut findings = Vec::new();
    if matches!(settings.password, Password::Command(_)) {
        findings.push(Finding::ok(
            PASSWORD_COMMAND,
            "the program gives a password that works",
        ));
    }
    if settings.connect_command.is_some() {
        findings.push(Finding::ok(CONNECT_COMMAND, "the program connects"));
    }
    findings
}

/// Returns the id of the check that a cause is about.
fn id_of(cause: &Cause) -> &'static str {
    match cause {
        Cause::Command(failure) if failure.to_string().starts_with(PASSWORD_COMMAND) => {
            PASSWORD_COMMAND
        }
        Cause::Command(_) => CONNECT_COMMAND,
        _ => CONNECT,
    }
}

/// Returns the finding of a check that ended early.
pub(super) fn unfinished(error: &QueryError) -> Finding {
    match error {
        QueryError::Silent => Finding::fail(
            CONNECT,
            "no answer in time",
            "look at what stands between this machine and the server, or give -timeout a longer time",
        ),
        QueryError::Failed { report, .. } => Finding::fail(
            CONNECT,
            format!("a query of the check failed: {report}"),
            "look at the log of the server",
        ),
        error => Finding::fail(CONNECT, error.to_string(), "try again"),
    }
}

/// Checks the encryption of a connection.
pub(super) fn tls(database: &Database, has_tls: bool) -> Finding {
    let mode = database.settings().ssl_mode;
    match (has_tls, mode) {
        (true, SslMode::VerifyFull) => {
            Finding::ok(TLS, "encrypted, and the server shows who it is")
        }
        (true, _) if database.is_local() => Finding::ok(TLS, "encrypted, on this machine"),
        (true, SslMode::VerifyCa) => Finding::warn(
            TLS,
            "encrypted, but any server with a certificate of the authority is accepted",
            "sslmode: verify-full",
        ),
        (true, _) => Finding::warn(
            TLS,
            "encrypted, but any server is accepted",
            "sslmode: verify-full\nsslrootcert: /path/of/the/authority.pem",
        ),
        (false, _) if database.is_local() => Finding::ok(TLS, "not encrypted, on this machine"),
        (false, _) => Finding::warn(
            TLS,
            "the connection is not encrypted, and its network can read and change it",
            "sslmode: verify-full",
        ),
    }
}

fn advice(settings: &Settings, cause: &Cause) -> String {
    match cause {
        Cause::Report(report) => advice_of_server(settings, report),
        Cause::Refused => "start PostgreSQL there, let it listen on this address \
                           (listen_addresses), or correct host and port"
            .to_owned(),
        Cause::TimedOut | Cause::Unreachable => {
            "let firewalls and routes between this machine and the server pass its port, or \
             correct host and port"
                .to_owned()
        }
        Cause::Unresolved => "correct the name of the host, or let the resolver of this machine \
                              know it"
            .to_owned(),
        Cause::Forbidden => "let the account of this program use the socket".to_owned(),
        Cause::NoTls => "turn ssl on at the server; on a network without strangers, sslmode: \
                         disable"
            .to_owned(),
        Cause::Certificate(_) => "sslrootcert: the certificate of the authority that signed the \
                                  certificate of the server, and host: the name in it"
            .to_owned(),
        Cause::Command(_) => {
            "run the program by hand, as the account of this server; its errors are in \
                              the log at the level debug"
                .to_owned()
        }
        Cause::Unfit(_) => "correct target_session_attrs or require_auth, or the hosts".to_owned(),
        _ => "does PostgreSQL listen on this port? Look at the log of the server".to_owned(),
    }
}

fn advice_of_server(settings: &Settings, report: &Report) -> String {
    let (role, database) = (quoted(&settings.user), quoted(&settings.database));
    match &*report.sqlstate {
        "28P01" => format!(
            "correct the password of the configuration; or give the role a new one, in psql: \
             \\password {role}"
        ),
        "28000" if report.message.contains("pg_hba.conf") => format!(
            "add to pg_hba.conf of the server, and reload it with SELECT pg_reload_conf():\n\
             hostssl {database} {role} <address of this machine>/32 scram-sha-256"
        ),
        "28000" if report.message.contains("log in") => format!("ALTER ROLE {role} LOGIN;"),
        "28000" => format!("CREATE ROLE {role} LOGIN;\n\\password {role}"),
        "3D000" => format!("correct the name of the database, or: CREATE DATABASE {database};"),
        "42501" => format!("GRANT CONNECT ON DATABASE {database} TO {role};"),
        "53300" if report.message.contains("role") => {
            format!("ALTER ROLE {role} CONNECTION LIMIT -1;")
        }
        "53300" if report.message.contains("database") => {
            format!("ALTER DATABASE {database} CONNECTION LIMIT -1;")
        }
        "53300" => "raise max_connections of the server, or lower max_total_connections of its \
                    users"
            .to_owned(),
        "55000" => format!("ALTER DATABASE {database} ALLOW_CONNECTIONS true;"),
        "57P03" => "wait until the server has started".to_owned(),
        _ => "look at the log of the server".to_owned(),
    }
}
