//! How to get to each host of a database.
//!
//! sqlx fills every set of options from the environment of the process, and has no way to take
//! some of it back. What has one is overwritten here. `PGSSLCERT`, `PGSSLKEY` and `PGOPTIONS`
//! have none, so a database they would reach uninvited is refused.

use std::{env, fs::File, io::Read as _, path::Path};

use rustls_pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject as _};
use secrecy::ExposeSecret as _;
use sqlx::{
    ConnectOptions as _,
    postgres::{PgConnectOptions, PgSslMode},
};

use super::{Host, InvalidDatabase, Settings, password::Account};

/// The most that is read of a certificate file.
const MAX_FILE: u64 = 1 << 20;

/// A host, and how to connect to it.
#[derive(Clone)]
pub(in crate::pg) struct Target {
    pub(in crate::pg) host: Host,
    pub(in crate::pg) options: PgConnectOptions,
    /// What to try when the first way is not open.
    pub(in crate::pg) otherwise: Option<PgConnectOptions>,
    password: secrecy::SecretString,
}

/// What was in the files a description names.
#[derive(Clone, Default, PartialEq, Eq)]
pub(super) struct Certificates {
    root: Vec<u8>,
    client: Option<(Vec<u8>, Vec<u8>)>,
}

// === impl Target ===

impl Target {
    pub(super) fn new(settings: &Settings, host: &Host, certificates: &Certificates) -> Self {
        let password = settings.password.resolve(Account {
            host,
            user: &settings.user,
            database: &settings.database,
        });
        // An empty one is what PostgreSQL would get if there was none.
        let mut options = PgConnectOptions::new_without_pgpass()
            .host(&host.name)
            .port(host.port)
            .username(&settings.user)
            .password(password.expose_secret())
            .database(&settings.database)
            .application_name(&settings.application_name)
            // Empty if there is none, so that it is not one from the environment.
            .ssl_root_cert_from_pem(certificates.root.clone())
            // Poolers refuse start-up parameters they do not know; it is set later.
            .extra_float_digits(None)
            // Proofs are not kept: what a text means depends on settings that may change.
            .statement_cache_capacity(1)
            // Statements hold what their authors know.
            .disable_statement_logging();
        if let Some((certificate, key)) = &certificates.client {
            options = options
                .ssl_client_cert_from_pem(certificate)
                .ssl_client_key_from_pem(key);
        }
        let has_root = !certificates.root.is_empty();
        let (mode, otherwise) = modes(settings.ssl_mode, host, has_root);
        Self {
            host: host.clone(),
            otherwise: otherwise.map(|mode| options.clone().ssl_mode(mode)),
            options: options.ssl_mode(mode),
            password,
        }
    }

    pub(super) fn password(&self) -> &secrecy::SecretString {
        &self.password
    }

    pub(super) fn is_same(&self, other: &Self) -> bool {
        self.host == other.host && self.password.expose_secret() == other.password.expose_secret()
    }
}

/// How to ask for TLS, and how to ask if that is refused. The driver's own `allow` never tries
/// TLS, and its `prefer` never tries without when TLS fails.
fn modes(asked: PgSslMode, host: &Host, has_root: bool) -> (PgSslMode, Option<PgSslMode>) {
    match asked {
        // As libpq: there is nobody between the two ends of a socket.
        _ if host.is_socket() => (PgSslMode::Disable, None),
        PgSslMode::Allow => (PgSslMode::Disable, Some(PgSslMode::Require)),
        PgSslMode::Prefer => (PgSslMode::Prefer, Some(PgSslMode::Disable)),
        // As libpq: whoever says which authority to trust wants it to be asked.
        PgSslMode::Require if has_root => (PgSslMode::VerifyCa, None),
        mode => (mode, None),
    }
}

/// What would reach the database from the environment although its description does not say so.
pub(super) fn intruder(settings: &Settings, hosts: &[Host]) -> Option<&'static str> {
    intruder_among(settings, hosts, |name| env::var(name).is_ok())
}

fn intruder_among(
    settings: &Settings,
    hosts: &[Host],
    is_set: impl Fn(&str) -> bool,
) -> Option<&'static str> {
    let may_use_tls = !matches!(settings.ssl_mode, PgSslMode::Disable)
        && hosts.iter().any(|host| !host.is_socket());
    let certificates: &[_] = if may_use_tls && settings.ssl_cert.is_none() {
        &["PGSSLCERT", "PGSSLKEY"]
    } else {
        &[]
    };
    let mut names = certificates.iter().chain(&["PGOPTIONS"]).copied();
    names.find(|name| is_set(name))
}

// === impl Certificates ===

impl Certificates {
    /// Reads the files, so that one that is missing is noticed at start.
    pub(super) fn read(settings: &Settings) -> Result<Self, InvalidDatabase> {
        let read = |setting, path: &Path, is_good: fn(&[u8]) -> bool| {
            let mut pem = Vec::new();
            File::open(path)
                .and_then(|file| file.take(MAX_FILE).read_to_end(&mut pem))
                .map_err(|source| InvalidDatabase::Unreadable {
                    name: settings.name.clone(),
                    setting,
                    source,
                })?;
            if !is_good(&pem) {
                return Err(InvalidDatabase::NotPem {
                    name: settings.name.clone(),
                    setting,
                });
            }
            Ok(pem)
        };
        let root = match &settings.ssl_root_cert {
            Some(path) => read("sslrootcert", path, holds_certificates)?,
            None => Vec::new(),
        };
        let client = match (&settings.ssl_cert, &settings.ssl_key) {
            (Some(certificate), Some(key)) => Some((
                read("sslcert", certificate, holds_certificates)?,
                read("sslkey", key, holds_a_key)?,
            )),
            (None, None) => None,
            _ => {
                return Err(InvalidDatabase::HalfCertificate {
                    name: settings.name.clone(),
                });
            }
        };
        Ok(Self { root, client })
    }
}

fn holds_certificates(pem: &[u8]) -> bool {
    let mut certificates = CertificateDer::pem_slice_iter(pem).peekable();
    certificates.peek().is_some() && certificates.all(|certificate| certificate.is_ok())
}

fn holds_a_key(pem: &[u8]) -> bool {
    PrivateKeyDer::from_pem_slice(pem).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_mode_asks_for_tls_as_libpq_does() {
        use PgSslMode::{Allow, Disable, Prefer, Require, VerifyCa, VerifyFull};

        let far = Host::new("db", 5432);
        let near = Host::new("/run", 5432);
        let shown = |modes: (PgSslMode, Option<PgSslMode>)| format!("{modes:?}");
        let cases = [
            (Disable, (Disable, None), (Disable, None)),
            (Allow, (Disable, Some(Require)), (Disable, Some(Require))),
            (Prefer, (Prefer, Some(Disable)), (Prefer, Some(Disable))),
            (Require, (Require, None), (VerifyCa, None)),
            (VerifyCa, (VerifyCa, None), (VerifyCa, None)),
            (VerifyFull, (VerifyFull, None), (VerifyFull, None)),
        ];
        for (asked, without_root, with_root) in cases {
            assert_eq!(shown(modes(asked, &far, false)), shown(without_root));
            assert_eq!(shown(modes(asked, &far, true)), shown(with_root));
            assert_eq!(shown(modes(asked, &near, true)), shown((Disable, None)));
        }
    }

    #[test]
    fn the_environment_reaches_only_what_invites_it() {
        let far = [Host::new("db", 5432)];
        let near = [Host::new("/run", 5432)];
        let plain = Settings::default();
        let off = Settings {
            ssl_mode: PgSslMode::Disable,
            ..Settings::default()
        };
        let own = Settings {
            ssl_cert: Some("a.crt".into()),
            ssl_key: Some("a.key".into()),
            ..Settings::default()
        };
        let cases = [
            (&plain, &far, "PGSSLCERT", true),
            (&plain, &far, "PGSSLKEY", true),
            (&plain, &near, "PGSSLCERT", false),
            (&off, &far, "PGSSLCERT", false),
            (&own, &far, "PGSSLKEY", false),
            (&own, &near, "PGOPTIONS", true),
            (&off, &far, "PGOPTIONS", true),
            // Overwritten.
            (&plain, &far, "PGSSLROOTCERT", false),
            (&plain, &far, "PGHOST", false),
        ];
        for (settings, hosts, set, is_refused) in cases {
            let found = intruder_among(settings, hosts, |name| name == set);
            assert_eq!(found, is_refused.then_some(set), "{set}");
        }
    }
}
