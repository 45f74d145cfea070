//! Fetches documents from addresses that strangers choose.
//!
//! A name is resolved once, and the connection goes to that address. A name with an address that is
//! not public is refused, so a stranger cannot have this server ask another one in its own network.

mod addresses;
#[cfg(test)]
mod tests;

use std::{
    error::Error,
    fs, io,
    net::{IpAddr, SocketAddr},
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use bytes::Bytes;
use http::{
    HeaderValue, Response,
    header::{ACCEPT, HeaderMap},
};
use reqwest::{
    Certificate, Client, Url,
    dns::{Addrs, Name, Resolve, Resolving},
    redirect::Policy,
};
use thiserror::Error as ThisError;
use tokio::net::lookup_host;
use ziggurat_mcp_auth::FetchDocument;

/// Longest document.
const LONGEST: usize = 64 << 10;

/// Time for a whole fetch.
const PATIENCE: Duration = Duration::from_secs(5);

type BoxError = Box<dyn Error + Send + Sync>;

/// Fetches documents over https, from public addresses only.
#[derive(Clone, Debug)]
pub struct GuardedFetch {
    client: Client,
}

/// The reason why a fetcher cannot be made.
#[derive(Debug, ThisError)]
#[non_exhaustive]
pub enum GuardedFetchError {
    /// The file with authorities cannot be read.
    #[error("cannot read {}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// The file has something else than certificates, or TLS cannot be set up.
    #[error("cannot set up TLS")]
    Tls(#[source] reqwest::Error),
}

/// The reason why a document is not fetched, for the log.
#[derive(Debug, PartialEq, Eq, ThisError)]
enum Refused {
    #[error("its host is not a name")]
    NoName,
    #[error("its host has no address")]
    NoAddress,
    #[error("its host has the address {0}, which is not public")]
    NotPublic(IpAddr),
    #[error("it has more than {} KiB", .0 >> 10)]
    TooLong(usize),
}

/// Finds the addresses of a name.
trait Lookup: Send + Sync + 'static {
    /// Returns all addresses of a name.
    fn lookup(&self, name: &str) -> impl Future<Output = io::Result<Vec<IpAddr>>> + Send;
}

/// Finds addresses as the system does.
struct System;

/// Finds addresses, and refuses names with one that is not public.
struct Guard<L>(Arc<Guarded<L>>);

struct Guarded<L> {
    lookup: L,
    /// Names that may have any address.
    private_hosts: Vec<String>,
}

// === impl GuardedFetch ===

impl GuardedFetch {
    /// Creates a fetcher that trusts the authorities of the platform, and more in a file in PEM form.
    /// These private hosts may have any address.
    ///
    /// # Errors
    /// Fails if the file cannot be read or has something else than certificates.
    pub fn new(
        ca_file: Option<&Path>,
        private_hosts: Vec<String>,
    ) -> Result<Self, GuardedFetchError> {
        let guard = Guard::new(System, private_hosts);
        Self::with_guard(ca_file, guard, PATIENCE)
    }

    fn with_guard<L: Lookup>(
        ca_file: Option<&Path>,
        guard: Guard<L>,
        patience: Duration,
    ) -> Result<Self, GuardedFetchError> {
        let certificates = certificates(ca_file)?;
        let mut headers = HeaderMap::new();
        headers.insert(ACCEPT, HeaderValue::from_static("application/json"));
        let client = Client::builder()
            .dns_resolver(guard)
            .redirect(Policy::none())
            .referer(false)
            .no_proxy()
            .https_only(true)
            // Each fetch resolves the name, and goes to an address that was looked at.
            .pool_max_idle_per_host(0)
            .timeout(patience)
            .default_headers(headers)
            .user_agent(concat!("ziggurat/", env!("CARGO_PKG_VERSION")))
            .tls_certs_merge(certificates)
            .build();
        Ok(Self {
            client: client.map_err(GuardedFetchError::Tls)?,
        })
    }
}

impl FetchDocument for GuardedFetch {
    async fn fetch(&self, url: &str) -> Result<Response<Bytes>, BoxError> {
        let url = Url::parse(url)?;
        // An address in place of a name is not resolved, so nothing would look at it.
        if url.domain().is_none() {
            return Err(Refused::NoName.into());
        }
        let sent = self.client.get(url).send();
        let response = sent.await.map_err(reqwest::Error::without_url)?;
        answer(response, LONGEST).await
    }
}

/// Reads the certificates of authorities in a file in PEM form.
pub(crate) fn certificates(ca_file: Option<&Path>) -> Result<Vec<Certificate>, GuardedFetchError> {
    let pem = match ca_file {
        Some(path) => fs::read(path).map_err(|source| GuardedFetchError::Unreadable {
            path: path.to_owned(),
            source,
        })?,
        None => Vec::new(),
    };
    Certificate::from_pem_bundle(&pem).map_err(GuardedFetchError::Tls)
}

/// Reads an answer of at most so many bytes.
pub(crate) async fn answer(
    mut response: reqwest::Response,
    longest: usize,
) -> Result<Response<Bytes>, BoxError> {
    let mut answer = Response::new(Bytes::new());
    *answer.status_mut() = response.status();
    *answer.headers_mut() = response.headers().clone();
    let mut body = Vec::new();
    while let Some(chunk) = response
        .chunk()
        .await
        .map_err(reqwest::Error::without_url)?
    {
        if body.len() + chunk.len() > longest {
            return Err(Refused::TooLong(longest).into());
        }
        body.extend_from_slice(&chunk);
    }
    Ok(answer.map(|_| body.into()))
}

// === impl System ===

impl Lookup for System {
    async fn lookup(&self, name: &str) -> io::Result<Vec<IpAddr>> {
        let found = lookup_host((name, 0)).await?;
        Ok(found.map(|address| address.ip()).collect())
    }
}

// === impl Guard ===

impl<L: Lookup> Guard<L> {
    fn new(lookup: L, private_hosts: Vec<String>) -> Self {
        Self(Arc::new(Guarded {
            lookup,
            private_hosts,
        }))
    }
}

impl<L: Lookup> Guarded<L> {
    /// Returns the addresses of a name, unless one of them is not public.
    async fn addresses(&self, name: &str) -> Result<Vec<IpAddr>, BoxError> {
        let found = self.lookup.lookup(name).await?;
        if found.is_empty() {
            return Err(Refused::NoAddress.into());
        }
        let is_private = self.private_hosts.iter().any(|host| host == name);
        let mut forbidden = found
            .iter()
            .filter(|address| !addresses::is_public(**address));
        match forbidden.next() {
            Some(address) if !is_private => Err(Refused::NotPublic(*address).into()),
            _ => Ok(found),
        }
    }
}

impl<L: Lookup> Resolve for Guard<L> {
    fn resolve(&self, name: Name) -> Resolving {
        let guarded = Arc::clone(&self.0);
        Box::pin(async move {
            let found = guarded.addresses(name.as_str()).await?;
            let found = found.into_iter().map(|address| SocketAddr::new(address, 0));
            let found: Addrs = Box::new(found);
            Ok(found)
        })
    }
}
