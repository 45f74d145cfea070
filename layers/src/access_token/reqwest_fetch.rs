//! Fetching with reqwest.

use std::{error::Error, time::Duration};

use http::{StatusCode, header};
use reqwest::{Certificate, Client, redirect::Policy};

use crate::access_token::{Fetch, FetchError, FetchRequest, Fetched};

/// Time for a complete response.
const TIMEOUT: Duration = Duration::from_secs(10);

/// Fetches with reqwest, inside of a Tokio runtime with a timer.
///
/// ```
/// use ziggurat_layers::access_token::{AccessTokens, ReqwestFetch, Rules};
///
/// let rules = Rules::new("https://accounts.example", ["https://api.example"])?;
/// let tokens = AccessTokens::new(rules, ReqwestFetch::new()?);
/// // In the program: tokio::spawn(tokens.clone().run());
/// # let _ = tokens;
/// # Ok::<_, Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct ReqwestFetch {
    client: Client,
}

impl ReqwestFetch {
    /// Trusts the certificates that the platform trusts.
    ///
    /// ```
    /// let fetch = ziggurat_layers::access_token::ReqwestFetch::new()?;
    /// # let _ = fetch;
    /// # Ok::<_, ziggurat_layers::access_token::FetchError>(())
    /// ```
    ///
    /// # Errors
    /// Fails if the TLS library cannot be set up.
    pub fn new() -> Result<Self, FetchError> {
        Self::with_root_certificates(&[])
    }

    /// Trusts these root certificates too, in PEM form.
    ///
    /// ```
    /// use ziggurat_layers::access_token::ReqwestFetch;
    ///
    /// assert!(ReqwestFetch::with_root_certificates(b"").is_ok());
    /// ```
    ///
    /// # Errors
    /// Fails on a malformed certificate, or if the TLS library cannot be set up.
    pub fn with_root_certificates(pem: &[u8]) -> Result<Self, FetchError> {
        let certificates = Certificate::from_pem_bundle(pem).map_err(FetchError::new)?;
        let client = Client::builder()
            .redirect(Policy::none())
            .timeout(TIMEOUT)
            .user_agent(concat!("ziggurat-layers/", env!("CARGO_PKG_VERSION")))
            .tls_certs_merge(certificates)
            .build();
        Ok(Self {
            client: client.map_err(FetchError::new)?,
        })
    }
}

impl Fetch for ReqwestFetch {
    async fn fetch(&self, request: FetchRequest<'_>) -> Result<Fetched, FetchError> {
        let mut sent = self.client.get(request.url());
        if let Some(tag) = request.tag() {
            sent = sent.header(header::IF_NONE_MATCH, tag);
        }
        let mut response = sent.send().await.map_err(unreachable)?;
        match response.status() {
            StatusCode::OK => {}
            StatusCode::NOT_MODIFIED if request.tag().is_some() => {
                return Ok(Fetched::not_modified());
            }
            status => return Err(FetchError::status(status)),
        }
        let tag = response.headers().get(header::ETAG);
        let tag = tag.and_then(|tag| tag.to_str().ok()).map(str::to_owned);
        let mut body = Vec::new();
        while let Some(chunk) = response.chunk().await.map_err(unreachable)? {
            if body.len() + chunk.len() > request.max_bytes() {
                return Err(FetchError::too_large());
            }
            body.extend_from_slice(&chunk);
        }
        let fetched = Fetched::new(body);
        Ok(match tag {
            Some(tag) => fetched.with_tag(tag),
            None => fetched,
        })
    }

    async fn sleep(&self, duration: Duration) {
        tokio::time::sleep(duration).await;
    }
}

/// Leaves the URL out: the log names it already.
fn unreachable(error: reqwest::Error) -> FetchError {
    let error: Box<dyn Error + Send + Sync> = error.without_url().into();
    FetchError::new(error)
}
