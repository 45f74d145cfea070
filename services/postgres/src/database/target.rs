//! Options to connect to each host of a database.

use std::{fs::File, io::Read as _, path::Path, time::Duration};

use rustls_pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject as _};
use secrecy::ExposeSecret as _;

use super::{Host, InvalidDatabase, Settings, SslMode, password::Account};
use crate::driver::{ConnectOptions, Endpoint, Tls};

/// Maximum number of bytes read from a certificate file.
const MAX_FILE: u64 = 1 << 20;

/// Host and the options to connect to it.
#[derive(Clone)]
pub(crate) struct Target {
    pub(crate) host: Host,
    pub(crate) options: ConnectOptions,
    /// Options to try if the first ones are refused.
    pub(crate) otherwise: Option<ConnectOptions>,
    password: secrecy::SecretString,
}

/// Contents of the certificate files of a database.
#[derive(Clone, Default, PartialEq, Eq)]
pub(super) struct Certificates {
    root: Vec<u8>,
    client: Option<(Vec<u8>, Vec<u8>)>,
}

// === impl Target ===

impl Target {
    pub(super) fn new(
        settings: &Settings,
        host: &Host,
        certificates: &Certificates,
    ) -> Result<Self, InvalidDatabase> {
        let password = settings.password.resolve(Account {
            host,
            user: &settings.user,
            database: &settings.database,
        });
        let has_root = !certificates.root.is_empty();
        let (mode, otherwise) = modes(settings.ssl_mode, host, has_root);
        let options = |mode| {
            Ok(ConnectOptions {
                endpoint: endpoint(host),
                user: settings.user.clone(),
                password: password.clone(),
                database: settings.database.clone(),
                application_name: settings.application_name.clone(),
                tls: certificates.tls(settings, mode)?,
                silence: silence(settings),
            })
        };
        Ok(Self {
            host: host.clone(),
            otherwise: otherwise.map(options).transpose()?,
            options: options(mode)?,
            password: password.clone(),
        })
    }

    pub(super) fn password(&self) -> &secrecy::SecretString {
        &self.password
    }

    pub(super) fn is_same(&self, other: &Self) -> bool {
        self.host == other.host && self.password.expose_secret() == other.password.expose_secret()
    }
}

/// Returns the use of TLS, and another to try if that is refused: `allow` and `prefer` try both.
fn modes(asked: SslMode, host: &Host, has_root: bool) -> (SslMode, Option<SslMode>) {
    match asked {
        // As in libpq: a socket does not leave the machine.
        _ if host.is_socket() => (SslMode::Disable, None),
        SslMode::Allow => (SslMode::Disable, Some(SslMode::Require)),
        SslMode::Prefer => (SslMode::Prefer, Some(SslMode::Disable)),
        // As in libpq: with a root certificate, the server's one is verified.
        SslMode::Require if has_root => (SslMode::VerifyCa, None),
        mode => (mode, None),
    }
}

fn endpoint(host: &Host) -> Endpoint {
    if host.is_socket() {
        Endpoint::Unix(Path::new(&host.name).join(format!(".s.PGSQL.{}", host.port)))
    } else {
        Endpoint::Tcp {
            host: host.name.clone(),
            port: host.port,
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

    fn tls(&self, settings: &Settings, mode: SslMode) -> Result<Tls, InvalidDatabase> {
        let client = self.client.as_ref();
        let client = client.map(|(certificate, key)| (&**certificate, &**key));
        Tls::new(mode, &self.root, client).map_err(|_| InvalidDatabase::NotPem {
            name: settings.name.clone(),
            setting: if client.is_some() {
                "sslcert"
            } else {
                "sslrootcert"
            },
        })
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
        use SslMode::{Allow, Disable, Prefer, Require, VerifyCa, VerifyFull};

        let far = Host::new("db", 5432);
        let near = Host::new("/run", 5432);
        let shown = |modes: (SslMode, Option<SslMode>)| format!("{modes:?}");
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
}
