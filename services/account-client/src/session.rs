//! The session of a credential at one address: its token, and the requests that use it.
//!
//! The token is the one that an earlier program has cached, or is exchanged now. The secret is read
//! only if it is needed.

use std::{fmt, io::Write, time::Duration};

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use jiff::Timestamp;
use ziggurat_runtime::Secret;

use crate::{
    credential::Credential,
    error::{Error, Kind},
    http::{
        address::Address,
        classify,
        mask::Mask,
        message::{Incoming, Outgoing, Purpose, Sent, TransportError},
        transport::Transport,
    },
    person::PersonSignIn,
    token::{Token, binding, cache::Cache, exchange::exchange},
};

/// Maximum wait for another program that exchanges the same credential.
const EXCHANGE_TIMEOUT: Duration = Duration::from_secs(5);

/// The use of the token cache.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum CacheUse {
    /// New tokens are cached.
    #[default]
    Full,
    /// New tokens are not cached.
    ReadOnly,
    /// Only a cached token may be used, so that neither the secret nor the token endpoint is
    /// needed.
    Only,
}

/// A credential at one address, and its token.
pub struct Session<C> {
    address: Address,
    credential: C,
    /// `None` for a credential with tokens that are never cached.
    cache: Option<Cache>,
    cache_use: CacheUse,
    held: Option<Held>,
    /// A token that is not sent again, although the cache may still contain it.
    refused: Option<Secret>,
}

/// One request of the API.
#[derive(Clone, Debug)]
pub struct Call<'r> {
    /// The name of the action in the message of an error.
    pub action: &'r str,
    /// The method.
    pub method: Method,
    /// Path and query below the base URL.
    pub path: &'r str,
    /// Headers in addition to the headers of every request.
    pub headers: HeaderMap,
    /// The body, if it has one.
    pub body: Option<Bytes>,
}

/// A token in use.
struct Held {
    token: Token,
    /// Set if this process obtained it: if it is rejected, a new one would be, too.
    is_minted: bool,
}

// === impl Session ===

impl<C> fmt::Debug for Session<C> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = formatter.debug_struct("Session");
        shown
            .field("address", &self.address)
            .finish_non_exhaustive()
    }
}

impl<C: Credential> Session<C> {
    /// Creates a session. Sends no request.
    #[must_use]
    pub fn new(address: Address, credential: C, cache: Option<Cache>, cache_use: CacheUse) -> Self {
        Self {
            address,
            credential,
            cache,
            cache_use,
            held: None,
            refused: None,
        }
    }

    /// Returns the address for requests.
    #[must_use]
    pub fn address(&self) -> &Address {
        &self.address
    }

    /// Returns the credential.
    #[must_use]
    pub fn credential(&self) -> &C {
        &self.credential
    }

    /// Sends a GET request.
    ///
    /// # Errors
    ///
    /// Fails without a secret, a token or a response, and for an error status.
    pub async fn get(
        &mut self,
        transport: &mut Transport<'_>,
        notes: &mut (dyn Write + Send),
        action: &str,
        path: &str,
    ) -> Result<Incoming, Error> {
        let sent = self.send(transport, notes, action, Method::GET, path, None);
        match sent.await? {
            Sent::Answer(answer) => Ok(answer),
            Sent::Stopped(_) => Err(Error::new(
                Kind::General,
                format!("{action}: the dry run stopped a read"),
            )),
        }
    }

    /// Sends a request, with a JSON body if it has one.
    ///
    /// # Errors
    ///
    /// Fails without a secret, a token or a response, and for an error status.
    pub async fn send(
        &mut self,
        transport: &mut Transport<'_>,
        notes: &mut (dyn Write + Send),
        action: &str,
        method: Method,
        path: &str,
        body: Option<Vec<u8>>,
    ) -> Result<Sent, Error> {
        let mut headers = HeaderMap::new();
        if body.is_some() {
            headers.insert(
                header::CONTENT_TYPE,
                HeaderValue::from_static("application/json"),
            );
        }
        let call = Call {
            action,
            method,
            path,
            headers,
            body: body.map(Bytes::from),
        };
        let sent = self.call(transport, notes, &call).await?;
        if let Sent::Answer(answer) = &sent
            && let Some(error) = self.error_of(&call, answer, transport.mask())
        {
            return Err(error);
        }
        Ok(sent)
    }

    /// Sends a request and returns every response, also with an error status.
    ///
    /// # Errors
    ///
    /// Fails without a secret, a token or a response.
    pub async fn call(
        &mut self,
        transport: &mut Transport<'_>,
        notes: &mut (dyn Write + Send),
        call: &Call<'_>,
    ) -> Result<Sent, Error> {
        let (bearer, is_minted) = self.bearer(transport, notes).await?;
        let sent = self.sent(transport, notes, call, &bearer).await?;
        match &sent {
            // The server rejected the request before it acted, so even a write may be sent again.
            // Only once: a token that this or another command has just obtained is not rejected for
            // its age.
            Sent::Answer(answer) if answer.status == StatusCode::UNAUTHORIZED && !is_minted => {
                self.drop_token();
                let (bearer, _) = self.bearer(transport, notes).await?;
                self.sent(transport, notes, call, &bearer).await
            }
            _ => Ok(sent),
        }
    }

    /// Returns the error for a response, if it is one.
    #[must_use]
    pub fn error_of(&self, call: &Call<'_>, answer: &Incoming, mask: &Mask) -> Option<Error> {
        let error = classify::error(answer, mask)?;
        let url = self.address.join(call.path);
        Some(error.with_request(call.method.as_str(), mask.url(&url)))
    }

    async fn sent(
        &self,
        transport: &mut Transport<'_>,
        notes: &mut (dyn Write + Send),
        call: &Call<'_>,
        bearer: &Secret,
    ) -> Result<Sent, Error> {
        let request = self.outgoing(transport, call, bearer)?;
        let sent = transport.send(&request, notes).await;
        sent.map_err(|error| unanswered(call, &request, &error, transport.mask()))
    }

    fn outgoing(
        &self,
        transport: &Transport<'_>,
        call: &Call<'_>,
        bearer: &Secret,
    ) -> Result<Outgoing, Error> {
        let options = transport.options();
        let mut headers = options.headers.clone();
        for (name, value) in &call.headers {
            headers.insert(name, value.clone());
        }
        let authorization = HeaderValue::from_str(&format!("Bearer {}", bearer.expose()));
        let authorization = authorization.map_err(|_| {
            Error::new(
                Kind::Server,
                "the access token contains characters that a \
                 header cannot have",
            )
        })?;
        headers.insert(header::AUTHORIZATION, authorization);
        Ok(Outgoing {
            method: call.method.clone(),
            url: self.address.join(call.path),
            headers,
            body: call.body.clone(),
            purpose: Purpose::Call,
            timeout: options.timeout,
            retries: options.retries,
        })
    }

    /// Returns the token to send, and whether this process obtained it.
    async fn bearer(
        &mut self,
        transport: &mut Transport<'_>,
        notes: &mut (dyn Write + Send),
    ) -> Result<(Secret, bool), Error> {
        if let Some(held) = &self.held
            && held.token.is_fresh(Timestamp::now())
        {
            return Ok((held.token.bearer.clone(), held.is_minted));
        }
        if let Some(token) = self.cached()? {
            return Ok(self.hold(transport, token, false));
        }
        let cache = self.cache.clone();
        // Two commands must not use one refresh token, whatever becomes of the access token.
        let is_locked = self.cache_use == CacheUse::Full || self.credential.is_person();
        let Some(cache) = cache.filter(|_| is_locked) else {
            let token = self.minted(transport, notes).await?;
            return Ok(self.hold(transport, token, true));
        };
        let timeout = transport.options().timeout.unwrap_or(EXCHANGE_TIMEOUT);
        // If many commands start with an empty cache, one exchanges; the others use its token.
        let lock = cache.lock(timeout.min(EXCHANGE_TIMEOUT));
        if let Some(token) = self.cached()? {
            return Ok(self.hold(transport, token, false));
        }
        let token = self.minted(transport, notes).await?;
        let fingerprint = binding::of(&self.address, &mut self.credential)?;
        // If it cannot be saved, this command continues.
        if self.cache_use == CacheUse::Full
            && let Err(error) = cache.save(&token, &fingerprint)
        {
            let text = format!("Warning: the token cannot be cached: {error}");
            transport.options().log.remark(notes, &text);
        }
        drop(lock);
        Ok(self.hold(transport, token, true))
    }

    /// Removes a rejected token, here and in the cache, unless another command has cached a newer
    /// one in the meantime.
    fn drop_token(&mut self) {
        let Some(held) = self.held.take() else {
            return;
        };
        if let Some(cache) = &self.cache
            && self.cache_use != CacheUse::ReadOnly
        {
            let cached = cache.load();
            if cached.is_some_and(|cached| cached.token.bearer == held.token.bearer) {
                // If it stays in the cache, the next command is rejected once and obtains a new
                // one.
                let _ = cache.clear();
            }
        }
        self.refused = Some(held.token.bearer);
    }

    fn cached(&mut self) -> Result<Option<Token>, Error> {
        let Some(cached) = self.cache.as_ref().and_then(Cache::load) else {
            return Ok(None);
        };
        let is_refused = self.refused.as_ref() == Some(&cached.token.bearer);
        if !cached.token.is_fresh(Timestamp::now()) || is_refused {
            return Ok(None);
        }
        let fingerprint = binding::of(&self.address, &mut self.credential)?;
        Ok((cached.fingerprint == fingerprint).then_some(cached.token))
    }

    async fn minted(
        &mut self,
        transport: &mut Transport<'_>,
        notes: &mut (dyn Write + Send),
    ) -> Result<Token, Error> {
        if self.cache_use == CacheUse::Only {
            return Err(Error::new(Kind::Auth, "no token is cached"));
        }
        let secret = self.credential.secret()?;
        if self.credential.is_person() {
            let mut sign_in = PersonSignIn::new(transport, &self.address);
            let tokens = sign_in.refreshed(notes, &secret).await?;
            if let Err(error) = self.credential.replace(&tokens.refresh) {
                // A failure to write the warning cannot be reported.
                let _ = writeln!(notes, "Warning: the sign-in cannot be stored: {error}");
            }
            return Ok(tokens.token);
        }
        let client_id = self.credential.client_id();
        exchange(transport, notes, &self.address, client_id, secret.expose()).await
    }

    fn hold(
        &mut self,
        transport: &mut Transport<'_>,
        token: Token,
        is_minted: bool,
    ) -> (Secret, bool) {
        transport.hide(token.bearer.expose());
        let bearer = token.bearer.clone();
        self.held = Some(Held { token, is_minted });
        (bearer, is_minted)
    }
}

fn unanswered(call: &Call<'_>, request: &Outgoing, error: &TransportError, mask: &Mask) -> Error {
    let url = mask.url(&request.url);
    let method = capitalised(&call.method);
    let cause = mask.text(&error.to_string());
    let message = format!("{}: {method} {url:?}: {cause}", call.action);
    Error::new(error.kind(), message).with_request(call.method.as_str(), url)
}

fn capitalised(method: &Method) -> String {
    let (first, rest) = method.as_str().split_at(1);
    first.to_owned() + &rest.to_ascii_lowercase()
}
