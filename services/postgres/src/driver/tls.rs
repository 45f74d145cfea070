//! TLS of a connection: its modes, and the certificates that are accepted.

use std::{fmt, io, str::FromStr, sync::Arc};

use rustls::{
    CertificateError, ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme,
    SupportedProtocolVersion,
    client::{
        WebPkiServerVerifier,
        danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier},
    },
    crypto::{CryptoProvider, aws_lc_rs, verify_tls12_signature, verify_tls13_signature},
};
use rustls_pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime, pem::PemObject as _};
use thiserror::Error;
use tokio_rustls::{TlsConnector, client::TlsStream};

use crate::driver::{DriverError, socket::PlainStream};

/// Use of TLS, as in libpq.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SslMode {
    /// Without TLS.
    Disable,
    /// Without TLS first, then with it if the server requires it.
    Allow,
    /// With TLS first, then without it if the server does not support it.
    #[default]
    Prefer,
    /// With TLS and any certificate.
    Require,
    /// With TLS and a certificate of a configured authority.
    VerifyCa,
    /// With TLS and a certificate of a trusted authority for this host.
    VerifyFull,
}

/// A word that names no [`SslMode`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("must be disable, allow, prefer, require, verify-ca or verify-full")]
pub struct UnknownSslMode;

/// Oldest version of TLS that is used. The versions before 1.2 never are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MinTls {
    /// TLS 1.2.
    #[default]
    V12,
    /// TLS 1.3.
    V13,
}

impl FromStr for MinTls {
    type Err = UnknownTls;

    fn from_str(word: &str) -> Result<Self, UnknownTls> {
        match word {
            "TLSv1" | "TLSv1.1" | "TLSv1.2" => Ok(Self::V12),
            "TLSv1.3" => Ok(Self::V13),
            _ => Err(UnknownTls),
        }
    }
}

/// A word that names no version of TLS.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("must be TLSv1, TLSv1.1, TLSv1.2 or TLSv1.3")]
pub struct UnknownTls;

/// Use of TLS, and the verification of the server.
#[derive(Clone)]
pub(crate) struct Tls {
    mode: SslMode,
    /// `None` if TLS is never used.
    connector: Option<TlsConnector>,
}

/// Request for TLS when a connection begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TlsRequest {
    No,
    Preferred,
    Required,
}

// === impl SslMode ===

impl SslMode {
    const ALL: [(Self, &str); 6] = [
        (Self::Disable, "disable"),
        (Self::Allow, "allow"),
        (Self::Prefer, "prefer"),
        (Self::Require, "require"),
        (Self::VerifyCa, "verify-ca"),
        (Self::VerifyFull, "verify-full"),
    ];
}

impl FromStr for SslMode {
    type Err = UnknownSslMode;

    fn from_str(word: &str) -> Result<Self, UnknownSslMode> {
        let mut all = Self::ALL.into_iter();
        all.find(|(_, name)| name.eq_ignore_ascii_case(word))
            .map(|(mode, _)| mode)
            .ok_or(UnknownSslMode)
    }
}

impl fmt::Display for SslMode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (_, name) = Self::ALL[*self as usize];
        f.write_str(name)
    }
}

// === impl Tls ===

impl fmt::Debug for Tls {
    /// Leaves out the certificates.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Tls").field(&self.mode).finish()
    }
}

impl Tls {
    /// Builds the TLS configuration of a mode. The second attempt of `allow` is made by the caller.
    /// `roots` are the configured authorities, `client` is PEM that was already validated.
    pub(crate) fn new(
        mode: SslMode,
        min: MinTls,
        roots: Option<&[CertificateDer<'static>]>,
        client: Option<(&[u8], &[u8])>,
    ) -> Result<Self, rustls::Error> {
        let connector = match mode {
            SslMode::Disable => None,
            mode => Some(TlsConnector::from(Arc::new(config(
                mode, min, roots, client,
            )?))),
        };
        Ok(Self { mode, connector })
    }

    pub(super) fn asking(&self) -> TlsRequest {
        match self.mode {
            SslMode::Disable => TlsRequest::No,
            SslMode::Allow | SslMode::Prefer => TlsRequest::Preferred,
            SslMode::Require | SslMode::VerifyCa | SslMode::VerifyFull => TlsRequest::Required,
        }
    }

    pub(super) async fn handshake(
        &self,
        stream: PlainStream,
        host: &str,
    ) -> Result<TlsStream<PlainStream>, DriverError> {
        let name = ServerName::try_from(host.to_owned())
            .map_err(|_| io::Error::new(io::ErrorKind::InvalidInput, NO_NAME))?;
        let connector = self.connector.as_ref().ok_or(DriverError::NoTls)?;
        Ok(connector.connect(name, stream).await?)
    }
}

static ONLY_13: [&SupportedProtocolVersion; 1] = [&rustls::version::TLS13];

const NO_NAME: rustls::Error = rustls::Error::InvalidCertificate(CertificateError::NotValidForName);

fn config(
    mode: SslMode,
    min: MinTls,
    roots: Option<&[CertificateDer<'static>]>,
    client: Option<(&[u8], &[u8])>,
) -> Result<ClientConfig, rustls::Error> {
    let provider = Arc::new(aws_lc_rs::default_provider());
    let builder = ClientConfig::builder_with_provider(Arc::clone(&provider))
        .with_protocol_versions(match min {
            MinTls::V12 => rustls::ALL_VERSIONS,
            MinTls::V13 => &ONLY_13,
        })?;
    let verifier: Arc<dyn ServerCertVerifier> = if mode == SslMode::VerifyFull {
        verifier(authorities(roots)?, provider)?
    } else {
        // As in libpq: with configured authorities, every mode verifies the certificate.
        let store = roots.map(|_| authorities(roots)).transpose()?;
        let verifier = store.map(|store| verifier(store, Arc::clone(&provider)));
        Arc::new(AnyHost {
            authorities: verifier.transpose()?,
            roots: roots.unwrap_or_default().to_vec(),
            provider,
        })
    };
    let builder = builder
        .dangerous()
        .with_custom_certificate_verifier(verifier);
    let Some((certificates, key)) = client else {
        return Ok(builder.with_no_client_auth());
    };
    let certificates = CertificateDer::pem_slice_iter(certificates)
        .collect::<Result<_, _>>()
        .map_err(|error| unreadable(&error))?;
    let key = PrivateKeyDer::from_pem_slice(key).map_err(|error| unreadable(&error))?;
    builder.with_client_auth_cert(certificates, key)
}

/// Returns the configured authorities and no others. Without any these are the public ones, which
/// certify names only to their owners, so they are of use only where the name is compared.
fn authorities(roots: Option<&[CertificateDer<'static>]>) -> Result<RootCertStore, rustls::Error> {
    let Some(roots) = roots else {
        return Ok(webpki_roots::TLS_SERVER_ROOTS.iter().cloned().collect());
    };
    let mut store = RootCertStore::empty();
    for certificate in roots {
        store.add(certificate.clone())?;
    }
    Ok(store)
}

fn verifier(
    roots: RootCertStore,
    provider: Arc<CryptoProvider>,
) -> Result<Arc<WebPkiServerVerifier>, rustls::Error> {
    WebPkiServerVerifier::builder_with_provider(Arc::new(roots), provider)
        .build()
        .map_err(|error| rustls::Error::General(error.to_string()))
}

fn unreadable(error: &rustls_pki_types::pem::Error) -> rustls::Error {
    rustls::Error::General(error.to_string())
}

/// Verifier that does not compare the name of the host, for all modes but `verify-full`.
#[derive(Debug)]
struct AnyHost {
    /// With `None`, any certificate is accepted if the server has its key.
    authorities: Option<Arc<WebPkiServerVerifier>>,
    roots: Vec<CertificateDer<'static>>,
    provider: Arc<CryptoProvider>,
}

impl ServerCertVerifier for AnyHost {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        let Some(authorities) = &self.authorities else {
            return Ok(ServerCertVerified::assertion());
        };
        let verified = authorities.verify_server_cert(
            end_entity,
            intermediates,
            server_name,
            ocsp_response,
            now,
        );
        match verified {
            Err(rustls::Error::InvalidCertificate(
                CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. },
            )) => Ok(ServerCertVerified::assertion()),
            // As in libpq: a server may show a configured authority itself, the only certificate that
            // many servers have. Its dates are good, since a wrong one is another error.
            Err(rustls::Error::InvalidCertificate(CertificateError::Other(_)))
                if self.roots.contains(end_entity) =>
            {
                Ok(ServerCertVerified::assertion())
            }
            verified => verified,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        verify_tls12_signature(message, certificate, signature, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        verify_tls13_signature(message, certificate, signature, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        let algorithms = &self.provider.signature_verification_algorithms;
        algorithms.supported_schemes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn authority(until: i32) -> CertificateDer<'static> {
        let key = rcgen::KeyPair::generate().expect("a key");
        let mut params = rcgen::CertificateParams::new([]).expect("no names");
        params.is_ca = rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
        params.not_after = rcgen::date_time_ymd(until, 1, 1);
        let authority = params.self_signed(&key).expect("a certificate");
        authority.der().clone()
    }

    #[test]
    fn a_server_may_show_a_configured_authority_that_has_not_expired() {
        let [own, foreign, expired] = [4000, 4000, 2001].map(authority);
        let provider = Arc::new(aws_lc_rs::default_provider());
        let roots = vec![own.clone(), expired.clone()];
        let store = authorities(Some(&roots)).expect("roots");
        let any_host = AnyHost {
            authorities: Some(verifier(store, Arc::clone(&provider)).expect("a verifier")),
            roots,
            provider,
        };
        let name = ServerName::try_from("db").expect("a name");
        for (shown, is_good) in [(own, true), (foreign, false), (expired, false)] {
            let verified = any_host.verify_server_cert(&shown, &[], &name, &[], UnixTime::now());
            assert_eq!(verified.is_ok(), is_good, "{verified:?}");
        }
    }

    #[test]
    fn configured_authorities_replace_the_public_ones() {
        let own = [authority(4000)];
        assert_eq!(authorities(Some(&own)).expect("roots").len(), 1);
        assert_eq!(
            authorities(None).expect("roots").len(),
            webpki_roots::TLS_SERVER_ROOTS.len()
        );
    }
}
