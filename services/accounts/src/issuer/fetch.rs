//! HTTP requests to an issuer.

use std::time::Duration;

use http::{StatusCode, header};
use reqwest::{Certificate, Client, redirect::Policy};
use thiserror::Error;

/// Timeout of a complete response.
const RESPONSE_TIMEOUT: Duration = Duration::from_secs(10);

/// Maximum size of a response.
const MAX_BYTES: usize = 4 << 20;

/// Reason why a request to an issuer has failed.
#[derive(Debug, Error)]
pub(super) enum FetchError {
    #[error("it is unreachable")]
    Unreachable(#[source] reqwest::Error),
    #[error("the response has status {0}")]
    Status(StatusCode),
    #[error("the response is larger than 4 MiB")]
    TooLarge,
    #[error("the response is invalid: {0}")]
    NotUnderstood(&'static str),
}

/// Response of an issuer.
pub(super) enum Fetched {
    /// Not modified.
    Same,
    New {
        body: Vec<u8>,
        tag: Option<String>,
    },
}

/// HTTP client for issuers.
pub(super) struct Fetcher {
    client: Client,
}

// === impl Fetcher ===

impl Fetcher {
    /// Trusts these root certificates in addition to the usual ones.
    pub(super) fn new(root_certificates: &[u8]) -> Result<Self, reqwest::Error> {
        let certificates = Certificate::from_pem_bundle(root_certificates)?;
        let client = Client::builder()
            // Only the issuer itself may publish its data.
            .redirect(Policy::none())
            .timeout(RESPONSE_TIMEOUT)
            .user_agent(concat!("ziggurat/", env!("CARGO_PKG_VERSION")))
            .tls_certs_merge(certificates)
            .build()?;
        Ok(Self { client })
    }

    /// Fetches a URL, unless its content still has this tag.
    pub(super) async fn get(&self, url: &str, tag: Option<&str>) -> Result<Fetched, FetchError> {
        let mut request = self.client.get(url);
        if let Some(tag) = tag {
            request = request.header(header::IF_NONE_MATCH, tag);
        }
        let mut response = request.send().await?;
        if response.status() == StatusCode::NOT_MODIFIED && tag.is_some() {
            return Ok(Fetched::Same);
        }
        if response.status() != StatusCode::OK {
            return Err(FetchError::Status(response.status()));
        }
        let tag = response.headers().get(header::ETAG);
        let tag = tag.and_then(|tag| tag.to_str().ok()).map(str::to_owned);
        let mut body = Vec::new();
        while let Some(chunk) = response.chunk().await? {
            if body.len() + chunk.len() > MAX_BYTES {
                return Err(FetchError::TooLarge);
            }
            body.extend_from_slice(&chunk);
        }
        Ok(Fetched::New { body, tag })
    }

    /// Fetches the content of a URL.
    pub(super) async fn whole(&self, url: &str) -> Result<Vec<u8>, FetchError> {
        match self.get(url, None).await? {
            Fetched::New { body, .. } => Ok(body),
            Fetched::Same => Err(FetchError::Status(StatusCode::NOT_MODIFIED)),
        }
    }
}

// === impl FetchError ===

impl From<reqwest::Error> for FetchError {
    fn from(error: reqwest::Error) -> Self {
        Self::Unreachable(error)
    }
}
