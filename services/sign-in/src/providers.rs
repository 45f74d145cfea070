//! Other directories: providers that know the people of a company.

pub(crate) mod configured;
mod discovery;
pub(crate) mod id_jag;
pub(crate) mod id_token;
pub(crate) mod mapping;

use std::{
    collections::HashMap,
    error::Error,
    fmt,
    pin::Pin,
    sync::{Arc, Mutex, OnceLock, PoisonError},
    time::Duration,
};

use base64::{Engine as _, prelude::BASE64_STANDARD};
use bytes::Bytes;
use http::{
    Request, Response, StatusCode,
    header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE},
};
use serde::{Deserialize, de::DeserializeOwned};
use tokio::{sync::Mutex as Turn, time::timeout};
use tracing::warn;
use ziggurat_layers::access_token::{Algorithm, PublicKeys, Unproved};
use ziggurat_text::percent;

use crate::clients::document::ALGORITHMS;

use self::configured::{IdentityAssertion, Upstream};
pub(crate) use self::discovery::Metadata;

/// Algorithms of assertions, which are the usual ones of access tokens.
const OF_ASSERTIONS: [Algorithm; 5] = [
    Algorithm::Rs256,
    Algorithm::Ps256,
    Algorithm::Es256,
    Algorithm::Es384,
    Algorithm::EdDsa,
];

/// Longest document of a provider.
const LONGEST: usize = 1 << 20;

/// Time in which documents are not fetched anew, in seconds.
const FRESH: u64 = 600;

/// Time between two fetches, whatever arrives, in seconds.
const PAUSE: u64 = 10;

/// Time that a request waits for documents.
const WAIT: Duration = Duration::from_secs(3);

/// Time that a request waits for tokens.
const EXCHANGE: Duration = Duration::from_secs(10);

type BoxError = Box<dyn Error + Send + Sync>;

// Boxed: one per request to a provider, not per request.
type Asking = Pin<Box<dyn Future<Output = Result<Response<Bytes>, BoxError>> + Send>>;

/// Sends requests to the providers in the settings: for their metadata, their keys and their tokens.
///
/// An implementation sends the request as it is, and returns the answer, whatever its status is. It
/// does not follow redirects, takes at most 10 seconds, and reads at most 1 MiB. The administrator
/// chose the addresses, so they may be private ones.
///
/// ```
/// use std::error::Error;
/// use bytes::Bytes;
/// use http::{Request, Response};
/// use ziggurat_mcp_auth::AskProvider;
///
/// /// Knows no provider, for a test.
/// struct Offline;
///
/// impl AskProvider for Offline {
///     async fn ask(
///         &self,
///         request: Request<Bytes>,
///     ) -> Result<Response<Bytes>, Box<dyn Error + Send + Sync>> {
///         Err(format!("{} cannot be reached", request.uri()).into())
///     }
/// }
/// ```
pub trait AskProvider: Send + Sync + 'static {
    /// Sends a request to a provider.
    fn ask(
        &self,
        request: Request<Bytes>,
    ) -> impl Future<Output = Result<Response<Bytes>, Box<dyn Error + Send + Sync>>> + Send;
}

/// The way to the providers, and their documents as far as they are known.
#[derive(Default)]
pub(crate) struct Providers {
    ask: OnceLock<Box<dyn Fn(Request<Bytes>) -> Asking + Send + Sync>>,
    known: Mutex<HashMap<Place, Arc<Turn<Known>>>>,
}

/// The use of the keys of an issuer, and the issuer.
type Place = (bool, String);

/// The documents of a provider as of the last fetch that succeeded.
#[derive(Default)]
struct Known {
    documents: Option<Arc<Documents>>,
    fetched_at: u64,
    tried_at: Option<u64>,
}

/// The documents of a provider.
pub(crate) struct Documents {
    /// It is absent where the settings name the keys.
    pub(crate) metadata: Option<Metadata>,
    keys: PublicKeys,
}

/// A provider by what it signs.
#[derive(Clone, Copy)]
pub(crate) enum Signer<'a> {
    /// ID tokens.
    Login(&'a Upstream),
    /// Assertions.
    Assertion(&'a IdentityAssertion),
}

/// Reasons why a text of a provider is not accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unsigned {
    /// The keys cannot be fetched.
    Unreachable,
    /// No key of the provider has signed it, or it is of another type.
    Invalid,
}

/// Tokens of a provider.
#[derive(Debug, Deserialize)]
pub(crate) struct Tokens {
    pub(crate) id_token: Option<String>,
    pub(crate) refresh_token: Option<String>,
}

/// Reasons why a provider gives no tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NoTokens {
    /// It refuses the code or the refresh token.
    Refused,
    /// It cannot be reached, or does not work.
    Unreachable,
}

#[derive(Deserialize)]
struct Refusal {
    error: String,
}

// === impl Providers ===

impl Providers {
    /// Asks with this, unless there is a way already.
    pub(crate) fn set(&self, ask: impl AskProvider) {
        let ask = Arc::new(ask);
        let boxed = move |request: Request<Bytes>| -> Asking {
            let ask = Arc::clone(&ask);
            Box::pin(async move { ask.ask(request).await })
        };
        let _ = self.ask.set(Box::new(boxed));
    }

    /// Returns the documents of a provider. They are fetched every ten minutes, and sooner if a key
    /// is missed. The last good ones stay in use when fetching fails.
    pub(crate) async fn documents(
        &self,
        signer: Signer<'_>,
        is_missed: bool,
        now: u64,
    ) -> Option<Arc<Documents>> {
        let known = self.known(signer);
        // One request fetches; the others wait for it here.
        let mut known = known.lock().await;
        let is_due = is_missed || known.documents.is_none() || now >= known.fetched_at + FRESH;
        if is_due && known.tried_at.is_none_or(|at| now >= at + PAUSE) {
            known.tried_at = Some(now);
            let fetched = timeout(WAIT, self.fetched(signer)).await;
            match fetched.unwrap_or_else(|elapsed| Err(elapsed.into())) {
                Ok(documents) => {
                    known.documents = Some(Arc::new(documents));
                    known.fetched_at = now;
                }
                Err(error) => {
                    let error: &dyn Error = &*error;
                    let issuer = signer.issuer();
                    warn!(
                        error,
                        issuer, "the documents of a provider cannot be fetched"
                    );
                }
            }
        }
        known.documents.clone()
    }

    /// Returns the payload of a text that a key of a provider has signed.
    pub(crate) async fn payload(
        &self,
        signer: Signer<'_>,
        text: &str,
        now: u64,
    ) -> Result<Vec<u8>, Unsigned> {
        for is_missed in [false, true] {
            let documents = self.documents(signer, is_missed, now).await;
            let documents = documents.ok_or(Unsigned::Unreachable)?;
            match documents.keys.payload(text, &[signer.typ()]) {
                Ok(payload) => return Ok(payload),
                Err(Unproved::Invalid) => break,
                // The provider may have a new key.
                Err(Unproved::UnknownKey) => {}
            }
        }
        Err(Unsigned::Invalid)
    }

    /// Asks the token endpoint of an upstream for tokens.
    pub(crate) async fn tokens(
        &self,
        upstream: &Upstream,
        metadata: &Metadata,
        form: &[(&str, &str)],
    ) -> Result<Tokens, NoTokens> {
        let request = request(upstream, metadata, form).ok_or(NoTokens::Unreachable)?;
        let answer = timeout(EXCHANGE, self.ask(request)).await;
        let answer = answer.unwrap_or_else(|elapsed| Err(elapsed.into()));
        let upstream = upstream.name.as_str();
        let answer = answer.map_err(|error| {
            let error: &dyn Error = &*error;
            warn!(error, upstream, "an upstream cannot be reached");
            NoTokens::Unreachable
        })?;
        let status = answer.status();
        if status == StatusCode::OK {
            return parsed(&answer).ok_or(NoTokens::Unreachable);
        }
        let code = parsed::<Refusal>(&answer).map_or(String::new(), |refusal| refusal.error);
        // All other codes are a fault of this server or of the upstream.
        let is_refusal = matches!(
            code.as_str(),
            "invalid_grant"
                | "access_denied"
                | "login_required"
                | "interaction_required"
                | "consent_required"
        );
        if is_refusal && status.is_client_error() {
            return Err(NoTokens::Refused);
        }
        warn!(%status, upstream, "an upstream gives no tokens");
        Err(NoTokens::Unreachable)
    }

    fn known(&self, signer: Signer<'_>) -> Arc<Turn<Known>> {
        let place = (
            matches!(signer, Signer::Login(_)),
            signer.issuer().to_owned(),
        );
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(known.entry(place).or_default())
    }

    /// Asks a provider for its documents, and returns the reason why they cannot be used.
    pub(crate) async fn tried(&self, signer: Signer<'_>) -> Option<BoxError> {
        let fetched = timeout(WAIT, self.fetched(signer)).await;
        let fetched = fetched.unwrap_or_else(|elapsed| Err(elapsed.into()));
        fetched.err()
    }

    async fn fetched(&self, signer: Signer<'_>) -> Result<Documents, BoxError> {
        let (metadata, url) = match signer {
            Signer::Assertion(entry) if entry.jwks_url.is_some() => (None, entry.jwks_url.clone()),
            _ => {
                let metadata = self.metadata(signer.issuer()).await?;
                let url = metadata.jwks_uri.clone();
                (Some(metadata), Some(url))
            }
        };
        let keys = self.get(&url.unwrap_or_default()).await?;
        let keys = PublicKeys::parse(&keys, signer.algorithms());
        Ok(Documents {
            metadata,
            keys: keys.ok_or("it has no usable keys")?,
        })
    }

    async fn metadata(&self, issuer: &str) -> Result<Metadata, BoxError> {
        let [openid, oauth] = discovery::urls(issuer);
        let document = match self.get(&openid).await {
            Ok(document) => document,
            Err(_) => self.get(&oauth).await?,
        };
        Ok(Metadata::read(&document, issuer)?)
    }

    async fn get(&self, url: &str) -> Result<Bytes, BoxError> {
        let request = Request::get(url).header(ACCEPT, "application/json");
        let answer = self.ask(request.body(Bytes::new())?).await?;
        match answer.status() {
            StatusCode::OK => Ok(answer.into_body()),
            status => Err(format!("the status is {status}").into()),
        }
    }

    async fn ask(&self, request: Request<Bytes>) -> Result<Response<Bytes>, BoxError> {
        let ask = self.ask.get().ok_or("there is no way to providers")?;
        let answer = ask(request).await?;
        if answer.body().len() > LONGEST {
            return Err("the answer has more than 1 MiB".into());
        }
        Ok(answer)
    }
}

impl fmt::Debug for Providers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Providers").finish_non_exhaustive()
    }
}

// === impl Signer ===

impl Signer<'_> {
    pub(crate) fn issuer(&self) -> &str {
        match self {
            Self::Login(upstream) => &upstream.issuer,
            Self::Assertion(entry) => &entry.issuer,
        }
    }

    fn typ(self) -> &'static str {
        match self {
            Self::Login(_) => "JWT",
            Self::Assertion(_) => "oauth-id-jag+jwt",
        }
    }

    fn algorithms(self) -> &'static [Algorithm] {
        match self {
            Self::Login(_) => &ALGORITHMS,
            Self::Assertion(_) => &OF_ASSERTIONS,
        }
    }
}

/// Returns the request for tokens, with the proof that the upstream takes.
fn request(
    upstream: &Upstream,
    metadata: &Metadata,
    form: &[(&str, &str)],
) -> Option<Request<Bytes>> {
    let mut request = Request::post(metadata.token_endpoint.as_deref()?)
        .header(ACCEPT, "application/json")
        .header(CONTENT_TYPE, "application/x-www-form-urlencoded");
    let mut form = form.to_vec();
    let id = upstream.client_id.as_str();
    match upstream.client_secret.as_ref() {
        Some(secret) if metadata.takes_basic() => {
            // The parts are encoded as in a form (RFC 6749, section 2.3.1).
            let pair = format!("{}:{}", encoded(id), encoded(secret.text()));
            let header = format!("Basic {}", BASE64_STANDARD.encode(pair));
            request = request.header(AUTHORIZATION, header);
        }
        Some(secret) => form.extend([("client_id", id), ("client_secret", secret.text())]),
        None => form.push(("client_id", id)),
    }
    let pairs = form.iter();
    let pairs = pairs.map(|(name, value)| format!("{}={}", encoded(name), encoded(value)));
    let body = pairs.collect::<Vec<_>>().join("&");
    request.body(Bytes::from(body)).ok()
}

fn encoded(text: &str) -> String {
    percent::encode(text).collect()
}

fn parsed<T: DeserializeOwned>(answer: &Response<Bytes>) -> Option<T> {
    serde_json::from_slice(answer.body()).ok()
}
