//! TLS: the certificate and its key, and the handshake.
//!
//! ```no_run
//! use ziggurat_http::{Tls, TlsFiles};
//! use ziggurat_serve::{Limits, Server};
//!
//! let tls = Tls::open(&TlsFiles {
//!     cert: "server.crt".into(),
//!     key: "server.key".into(),
//!     chain: None,
//! })?;
//! let server = Server::new(Limits::default()).with_acceptor(tls);
//! # let _ = server;
//! # Ok::<_, ziggurat_http::TlsError>(())
//! ```

mod files;
#[cfg(test)]
mod tests;

use std::{
    convert::Infallible,
    fmt, fs,
    future::pending,
    io,
    path::{Path, PathBuf},
    sync::Arc,
};

use arc_swap::ArcSwap;
use rustls::{
    ServerConfig,
    crypto::{CryptoProvider, aws_lc_rs},
    pki_types::{
        CertificateDer, PrivateKeyDer,
        pem::{self, PemObject},
    },
    version::{TLS12, TLS13},
};
use tokio::net::TcpStream;
use tokio_rustls::{TlsAcceptor, server::TlsStream};
use tokio_util::either::Either;
use ziggurat_runtime::watch::Stamps;
use ziggurat_serve::{AcceptError, Acceptor};

pub use self::files::TlsFiles;

/// The type of a TLS record that begins a handshake (RFC 8446, section 5.1).
const HANDSHAKE: u8 = 22;

/// Response to a client that uses plain HTTP on a TLS port.
const PLAIN_HTTP_RESPONSE: &[u8] = b"HTTP/1.1 400 Bad Request\r\n\
    content-type: application/json\r\n\
    content-length: 44\r\n\
    connection: close\r\n\r\n\
    {\"error\":\"This port speaks HTTPS, not HTTP\"}";

/// The certificate of a server and its key. A [`Server`](ziggurat_serve::Server) reads them again when their
/// files change.
///
/// Clones share the certificate. TLS 1.2 and 1.3 are supported; HTTP/2 and HTTP/1.1 are offered in
/// this order. Sessions are resumed from a small store in memory; there is no early data.
#[derive(Clone)]
#[must_use]
pub struct Tls(Arc<Shared>);

/// TLS, or plain TCP if the operator has set no certificate.
// Boxed in the stream: one per connection, and a hundred times as large as a TCP stream.
#[derive(Clone, Debug)]
pub struct OptionalTls(pub Option<Tls>);

struct Shared {
    config: ArcSwap<ServerConfig>,
    files: TlsFiles,
    /// State of the files before they were first read.
    first: Stamps,
}

/// Error in the certificate of a server, its key or their files.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TlsError {
    /// A file cannot be read.
    #[error("cannot read {}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
    /// A file contains invalid PEM.
    #[error("{} is not valid PEM: {damage}", path.display())]
    NotPem {
        /// The file.
        path: PathBuf,
        /// The part that is invalid. The message of the library would show its bytes.
        damage: &'static str,
    },
    /// A file that should hold certificates holds none.
    #[error(
        "{} has no certificate in PEM: a block from -----BEGIN CERTIFICATE----- to -----END \
         CERTIFICATE-----",
        path.display()
    )]
    NoCertificate {
        /// The file.
        path: PathBuf,
    },
    /// The key file holds no private key.
    #[error(
        "{} has no private key in PEM: a block from -----BEGIN PRIVATE KEY----- to -----END \
         PRIVATE KEY-----",
        path.display()
    )]
    NoKey {
        /// The file.
        path: PathBuf,
    },
    /// The private key is protected by a passphrase, which a server cannot ask for.
    #[error("the private key in {} is encrypted; store it without a passphrase", path.display())]
    EncryptedKey {
        /// The file.
        path: PathBuf,
    },
    /// The private key is of an unsupported kind, or invalid.
    #[error("the private key in {} cannot be used", path.display())]
    UnusableKey {
        /// The file.
        path: PathBuf,
        /// The error of the library.
        source: rustls::Error,
    },
    /// The private key belongs to another certificate.
    #[error(
        "the private key in {} does not belong to the first certificate in {}",
        key.display(),
        certificate.display()
    )]
    KeyMismatch {
        /// The key file.
        key: PathBuf,
        /// The certificate file.
        certificate: PathBuf,
    },
    /// The certificate is invalid.
    #[error("the first certificate in {} cannot be used", path.display())]
    UnusableCertificate {
        /// The file.
        path: PathBuf,
        /// The error of the library.
        source: rustls::Error,
    },
}

// === impl Tls ===

impl Tls {
    /// Reads the files.
    ///
    /// # Errors
    ///
    /// Fails with the name of the file and its error.
    pub fn open(files: &TlsFiles) -> Result<Self, TlsError> {
        // Taken first, so that a change during the read is noticed.
        let first = files.stamps();
        let config = ArcSwap::from_pointee(files.load()?);
        Ok(Self(Arc::new(Shared {
            config,
            files: files.clone(),
            first,
        })))
    }

    /// Reads the files again, for new connections; open ones keep their certificate. May block.
    ///
    /// # Errors
    ///
    /// Fails with the name of the file and its error; then nothing has changed.
    pub fn renew(&self) -> Result<(), TlsError> {
        let config = self.0.files.load()?;
        self.0.config.store(Arc::new(config));
        Ok(())
    }
}

impl Acceptor for Tls {
    type Stream = TlsStream<TcpStream>;

    async fn accept(&self, stream: TcpStream) -> Result<Self::Stream, AcceptError> {
        let mut first = [0];
        let peeked = stream.peek(&mut first).await.map_err(AcceptError::Failed)?;
        if peeked == 1 && first[0] != HANDSHAKE && first[0].is_ascii_uppercase() {
            return Err(AcceptError::Refused(stream, PLAIN_HTTP_RESPONSE));
        }
        let acceptor = TlsAcceptor::from(self.0.config.load_full());
        let accepted = acceptor.accept(stream).await;
        accepted.map_err(AcceptError::Failed)
    }

    /// Loads renewed certificates.
    async fn run(&self) -> Infallible {
        self.follow().await
    }
}

impl Acceptor for OptionalTls {
    type Stream = Either<TcpStream, Box<TlsStream<TcpStream>>>;

    async fn accept(&self, stream: TcpStream) -> Result<Self::Stream, AcceptError> {
        match &self.0 {
            Some(tls) => Ok(Either::Right(Box::new(tls.accept(stream).await?))),
            None => Ok(Either::Left(stream)),
        }
    }

    async fn run(&self) -> Infallible {
        match &self.0 {
            Some(tls) => tls.run().await,
            None => pending().await,
        }
    }
}

impl fmt::Debug for Tls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tls").finish_non_exhaustive()
    }
}

impl TlsFiles {
    fn load(&self) -> Result<ServerConfig, TlsError> {
        let Self { cert, key, chain } = self;
        let mut certificates = read_certificates(cert)?;
        if let Some(chain) = chain {
            for issuer in read_certificates(chain)? {
                // A chain file often contains the certificate of the server, too.
                if !certificates.contains(&issuer) {
                    certificates.push(issuer);
                }
            }
        }
        let private = read_key(key)?;
        let provider = aws_lc_rs::default_provider();
        // Checked here, because the configuration has one error for both cases.
        let is_usable = provider.key_provider.load_private_key(private.clone_key());
        is_usable.map_err(|source| TlsError::UnusableKey {
            path: key.to_owned(),
            source,
        })?;
        let config = configure(provider, certificates, private);
        let mut config = config.map_err(|source| match source {
            rustls::Error::InconsistentKeys(_) => TlsError::KeyMismatch {
                key: key.to_owned(),
                certificate: cert.to_owned(),
            },
            source => TlsError::UnusableCertificate {
                path: cert.to_owned(),
                source,
            },
        })?;
        config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        Ok(config)
    }
}

fn configure(
    provider: CryptoProvider,
    certificates: Vec<CertificateDer<'static>>,
    key: PrivateKeyDer<'static>,
) -> Result<ServerConfig, rustls::Error> {
    ServerConfig::builder_with_provider(Arc::new(provider))
        .with_protocol_versions(&[&TLS13, &TLS12])?
        .with_no_client_auth()
        .with_single_cert(certificates, key)
}

fn read_certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, TlsError> {
    let text = read(path)?;
    let certificates: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&text).collect();
    let certificates = certificates.map_err(|error| TlsError::NotPem {
        path: path.to_owned(),
        damage: damage(&error),
    })?;
    if certificates.is_empty() {
        let path = path.to_owned();
        return Err(TlsError::NoCertificate { path });
    }
    Ok(certificates)
}

fn read_key(path: &Path) -> Result<PrivateKeyDer<'static>, TlsError> {
    let text = read(path)?;
    let path = path.to_owned();
    match PrivateKeyDer::from_pem_slice(&text) {
        Ok(key) => Ok(key),
        Err(_) if is_encrypted(&text) => Err(TlsError::EncryptedKey { path }),
        Err(pem::Error::NoItemsFound) => Err(TlsError::NoKey { path }),
        Err(error) => Err(TlsError::NotPem {
            path,
            damage: damage(&error),
        }),
    }
}

fn damage(error: &pem::Error) -> &'static str {
    match error {
        pem::Error::MissingSectionEnd { .. } => "a block has no line -----END …-----",
        pem::Error::IllegalSectionStart { .. } => {
            "a line that begins like -----BEGIN …----- does not end with five dashes"
        }
        pem::Error::Base64Decode(_) => "the text between BEGIN and END is not base64",
        _ => "it cannot be read as blocks of base64",
    }
}

/// Detects an encrypted key (RFC 7468, section 11, and the older form of RFC 1421).
fn is_encrypted(text: &[u8]) -> bool {
    let marks = [
        &b"-----BEGIN ENCRYPTED PRIVATE KEY-----"[..],
        b"Proc-Type: 4,ENCRYPTED",
    ];
    text.split(|&byte| byte == b'\n')
        .any(|line| marks.contains(&line.trim_ascii()))
}

fn read(path: &Path) -> Result<Vec<u8>, TlsError> {
    fs::read(path).map_err(|source| TlsError::Unreadable {
        path: path.to_owned(),
        source,
    })
}
