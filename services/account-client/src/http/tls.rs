//! TLS with the root certificates of the system.

use std::{path::Path, sync::Arc};

use rustls::{ClientConfig, RootCertStore, crypto::aws_lc_rs};
use tokio_rustls::TlsConnector;
use ziggurat_runtime::Environment;

use crate::http::message::TransportError;

/// Creates a connector that trusts the roots of the system, or the roots in `SSL_CERT_FILE` and
/// `SSL_CERT_DIR` if one of them is set. Verification cannot be disabled.
pub(super) fn connector(environment: &Environment) -> Result<TlsConnector, TransportError> {
    let mut roots = RootCertStore::empty();
    let (added, _) = roots.add_parsable_certificates(certificates(environment)?);
    if added == 0 {
        return Err(failed("the system has no usable root certificate"));
    }
    let mut config = ClientConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(|error| failed(&error.to_string()))?
        .with_root_certificates(roots)
        .with_no_client_auth();
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(TlsConnector::from(Arc::new(config)))
}

fn certificates(
    environment: &Environment,
) -> Result<Vec<rustls_pki_types::CertificateDer<'static>>, TransportError> {
    let file = environment.get("SSL_CERT_FILE").map(Path::new);
    let folders = environment.get("SSL_CERT_DIR");
    if file.is_none() && folders.is_none() {
        return Ok(rustls_native_certs::load_native_certs().certs);
    }
    let mut certificates = Vec::new();
    if let Some(file) = file {
        let found = rustls_native_certs::load_certs_from_paths(Some(file), None);
        if found.certs.is_empty() {
            return Err(failed("SSL_CERT_FILE is not a file of certificates"));
        }
        certificates.extend(found.certs);
    }
    for folder in folders.into_iter().flat_map(|list| list.split(':')) {
        let found = rustls_native_certs::load_certs_from_paths(None, Some(Path::new(folder)));
        certificates.extend(found.certs);
    }
    Ok(certificates)
}

fn failed(cause: &str) -> TransportError {
    TransportError::lasting(format!("TLS: {cause}"))
}
