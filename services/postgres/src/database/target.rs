//! Options to connect to each host of a database.

use std::{fs::File, io, io::Read as _, path::Path, sync::Arc, time::Duration};

use rustls_pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject as _};
use secrecy::ExposeSecret as _;

use crate::{
    database::{
        Host, InvalidDatabase, Password, Settings, SslMode, password::Account,
        password_keeper::PasswordKeeper,
    },
    driver::{ConnectOptions, Endpoint, RequireAuth, Tls, TunnelAddress},
};

/// Name for the authorities of the operating system in place of a file, as in libpq.
const SYSTEM: &str = "system";

/// Maximum number of bytes read from a certificate file.
const MAX_FILE: u64 = 1 << 20;

/// Host and the options to connect to it.
#[derive(Clone)]
pub(crate) struct Target {
    pub(crate) host: Host,
    pub(crate) options: ConnectOptions,
    /// Options to try if the first ones are refused.
    pub(crate) otherwise: Option<ConnectOptions>,
    /// Has the password instead of the options.
    pub(crate) keeper: Option<Arc<PasswordKeeper>>,
    password: secrecy::SecretString,
}

/// Contents of the certificate files of a database.
#[derive(Clone, Default, PartialEq, Eq)]
pub(super) struct Certificates {
    /// The configured authorities.
    roots: Option<Vec<CertificateDer<'static>>>,
    client: Option<(Vec<u8>, Vec<u8>)>,
}

// === impl Target ===

impl Target {
    pub(super) fn new(
        settings: &Settings,
        host: &Host,
        certificates: &Certificates,
    ) -> Result<Self, InvalidDatabase> {
        let account = Account {
            host,
            user: &settings.user,
            database: &settings.database,
        };
        let password = settings.password.resolve(account);
        let keeper = match &settings.password {
            Password::Command(command) => {
                let keeper = PasswordKeeper::new(command.clone(), &settings.name, account);
                Some(Arc::new(keeper))
            }
            _ => None,
        };
        let auth = settings.require_auth.unwrap_or_else(|| {
            let weak = [SslMode::Disable, SslMode::Allow, SslMode::Prefer];
            RequireAuth::by_default(host.is_socket() || !weak.contains(&settings.ssl_mode))
        });
        let (mode, otherwise) = modes(settings.ssl_mode, host);
        let options = |mode| {
            Ok(ConnectOptions {
                endpoint: endpoint(settings, host),
                user: settings.user.clone(),
                password: password.clone(),
                database: settings.database.clone(),
                application_name: settings.application_name.clone(),
                session: settings.options.clone(),
                role: None,
                tls: certificates.tls(settings, mode)?,
                auth,
                silence: silence(settings),
            })
        };
        Ok(Self {
            host: host.clone(),
            otherwise: otherwise.map(options).transpose()?,
            options: options(mode)?,
            keeper,
            password,
        })
    }

    /// Returns the same target, where each connection begins in a role.
    pub(super) fn with_role(&self, role: &str) -> Self {
        let within = |options: &ConnectOptions| ConnectOptions {
            role: Some(role.to_owned()),
            ..options.clone()
        };
        Self {
            options: within(&self.options),
            otherwise: self.otherwise.as_ref().map(within),
            ..self.clone()
        }
    }

    pub(super) fn password(&self) -> &secrecy::SecretString {
        &self.password
    }

    pub(super) fn is_same(&self, other: &Self) -> bool {
        self.host == other.host && self.password.expose_secret() == other.password.expose_secret()
    }
}

/// Returns the use of TLS, and another to try if that is refused: `allow` and `prefer` try both.
fn modes(asked: SslMode, host: &Host) -> (SslMode, Option<SslMode>) {
    match asked {
        // As in libpq: a socket does not leave the machine.
        _ if host.is_socket() => (SslMode::Disable, None),
        SslMode::Allow => (SslMode::Disable, Some(SslMode::Require)),
        SslMode::Prefer => (SslMode::Prefer, Some(SslMode::Disable)),
        mode => (mode, None),
    }
}

fn endpoint(settings: &Settings, host: &Host) -> Endpoint {
    if let Some(command) = &settings.connect_command {
        Endpoint::Tunnel(TunnelAddress {
            command: command.for_address(&host.name, host.port),
            host: host.name.clone(),
            database: settings.name.clone(),
        })
    } else if host.is_socket() {
        Endpoint::Unix(Path::new(&host.name).join(format!(".s.PGSQL.{}", host.port)))
    } else {
        Endpoint::Tcp {
            host: host.name.clone(),
            port: host.port,
            address: host.address,
        }
    }
}

/// Returns how long sent data may stay unacknowledged: as long as a statement may take, so that no
/// call waits longer for a dead network than for a slow statement.
fn silence(settings: &Settings) -> Duration {
    const SHORTEST: Duration = Duration::from_secs(5);
    const LONGEST: Duration = Duration::from_mins(1);
    if settings.query_timeout.is_zero() {
        LONGEST
    } else {
        settings.query_timeout.clamp(SHORTEST, LONGEST)
    }
}

// === impl Certificates ===

impl Certificates {
    /// Reads the files, so that a missing one is noticed at start.
    pub(super) fn read(settings: &Settings) -> Result<Self, InvalidDatabase> {
        let name = || settings.name.clone();
        let read = |setting, path: &Path, is_good: fn(&[u8]) -> bool| {
            let mut pem = Vec::new();
            File::open(path)
                .and_then(|file| file.take(MAX_FILE).read_to_end(&mut pem))
                .map_err(|source| InvalidDatabase::Unreadable {
                    name: name(),
                    setting,
                    source,
                })?;
            if is_good(&pem) {
                return Ok(pem);
            }
            let name = name();
            Err(InvalidDatabase::NotPem { name, setting })
        };
        let roots = match &settings.ssl_root_cert {
            Some(path) if path == Path::new(SYSTEM) => Some(of_the_system(settings)?),
            Some(path) => {
                let pem = read("sslrootcert", path, holds_certificates)?;
                Some(CertificateDer::pem_slice_iter(&pem).flatten().collect())
            }
            None => None,
        };
        let leaves_the_machine = || settings.all_hosts().iter().any(|host| !host.is_socket());
        if roots.is_none() && settings.ssl_mode == SslMode::VerifyCa && leaves_the_machine() {
            return Err(InvalidDatabase::NoAuthorities { name: name() });
        }
        let client = match (&settings.ssl_cert, &settings.ssl_key) {
            (Some(certificate), Some(key)) => Some((
                read("sslcert", certificate, holds_certificates)?,
                read("sslkey", key, holds_a_key)?,
            )),
            (None, None) => None,
            _ => return Err(InvalidDatabase::HalfCertificate { name: name() }),
        };
        Ok(Self { roots, client })
    }

    fn tls(&self, settings: &Settings, mode: SslMode) -> Result<Tls, InvalidDatabase> {
        let client = self.client.as_ref();
        let client = client.map(|(certificate, key)| (&**certificate, &**key));
        let min = settings.min_tls;
        Tls::new(mode, min, self.roots.as_deref(), client).map_err(|_| InvalidDatabase::NotPem {
            name: settings.name.clone(),
            setting: if client.is_some() {
                "sslcert"
            } else {
                "sslrootcert"
            },
        })
    }
}

/// Returns the authorities of the operating system. As in libpq only `verify-full` may use them:
/// they certify every server, each under its own name.
fn of_the_system(settings: &Settings) -> Result<Vec<CertificateDer<'static>>, InvalidDatabase> {
    let name = settings.name.clone();
    if settings.ssl_mode != SslMode::VerifyFull {
        return Err(InvalidDatabase::WeakMode { name });
    }
    let found = rustls_native_certs::load_native_certs();
    if !found.certs.is_empty() {
        return Ok(found.certs);
    }
    let why = found.errors.into_iter().next().map(io::Error::other);
    Err(InvalidDatabase::Unreadable {
        name,
        setting: "sslrootcert",
        source: why.unwrap_or_else(|| io::ErrorKind::NotFound.into()),
    })
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
        use SslMode::{Allow, Disable, Prefer, Require, VerifyCa, VerifyFull};

        let far = Host::new("db", 5432);
        let near = Host::new("/run", 5432);
        for (asked, expected) in [
            (Disable, (Disable, None)),
            (Allow, (Disable, Some(Require))),
            (Prefer, (Prefer, Some(Disable))),
            (Require, (Require, None)),
            (VerifyCa, (VerifyCa, None)),
            (VerifyFull, (VerifyFull, None)),
        ] {
            assert_eq!(modes(asked, &far), expected);
            assert_eq!(modes(asked, &near), (Disable, None));
        }
    }
}
