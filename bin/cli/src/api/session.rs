//! The token of a command: cached by an earlier command, or exchanged now.

use std::time::Duration;

use jiff::Timestamp;
use ziggurat_runtime::Secret;

use super::Api;
use crate::{
    credentials::{self, Credentials, Source},
    failure::Failure,
    http::{address::Address, message::Outcome, own_headers},
    token::{Token, cache::Cache, exchange},
};

/// Maximum wait for another command that exchanges the same credential.
const EXCHANGE_TIMEOUT: Duration = Duration::from_secs(5);

/// The credential and the token of one command.
pub(super) struct Session {
    pub(super) address: Address,
    pub(super) credentials: Credentials,
    held: Option<Held>,
    /// A token that is not sent again, although the cache may still contain it.
    refused: Option<Secret>,
}

/// A token in use.
struct Held {
    token: Token,
    /// Set if this process obtained it: if it is rejected, a new one would be, too.
    is_minted: bool,
}

// === impl Api ===

impl Api<'_, '_> {
    /// Exchanges a credential for a token, which is not cached.
    ///
    /// # Errors
    ///
    /// Fails if the token endpoint rejects the request or does not respond.
    pub(crate) async fn exchange(
        &mut self,
        address: &Address,
        client_id: &str,
        secret: &str,
    ) -> Result<Token, Failure> {
        self.warn_of_plain_http(address);
        self.transport.mask.add(secret);
        let timeout = self.context.connection.timeout;
        let request = exchange::request(address, client_id, secret, timeout, own_headers());
        let notes = &mut *self.context.streams.stderr;
        let outcome = self.transport.send(&request, notes).await;
        let mask = &self.transport.mask;
        let token = match outcome {
            Ok(Outcome::Answer(answer)) => {
                exchange::token(&answer, address, Timestamp::now(), mask)
            }
            Ok(Outcome::Stopped(_)) => {
                Err(Failure::general("a dry run stopped the token exchange"))
            }
            Err(error) => Err(exchange::unanswered(&error, address, mask)),
        };
        let token =
            token.map_err(|failure| failure.with_request("POST", mask.url(&request.url)))?;
        self.transport.mask.add(token.bearer.expose());
        Ok(token)
    }

    /// Returns the token to send, and whether this process obtained it.
    pub(super) async fn bearer(&mut self) -> Result<(Secret, bool), Failure> {
        let now = Timestamp::now();
        let session = self.session()?;
        if let Some(held) = &session.held
            && held.token.is_fresh(now)
        {
            return Ok((held.token.bearer.clone(), held.is_minted));
        }
        let address = session.address.clone();
        let mut credentials = session.credentials.clone();
        if let Some(token) = self.cached(&address, &mut credentials)? {
            return Ok(self.hold(token, credentials, false));
        }
        if !credentials.may_be_cached() || self.skips_cache || self.only_cached {
            let token = self.minted(&address, &mut credentials).await?;
            return Ok(self.hold(token, credentials, true));
        }
        let timeout = self.context.connection.timeout.unwrap_or(EXCHANGE_TIMEOUT);
        // If many commands start with an empty cache, one exchanges; the others use its token.
        let lock = self.cache().lock(timeout.min(EXCHANGE_TIMEOUT));
        if let Some(token) = self.cached(&address, &mut credentials)? {
            return Ok(self.hold(token, credentials, false));
        }
        let token = self.minted(&address, &mut credentials).await?;
        self.keep(&token, &address, &mut credentials)?;
        drop(lock);
        Ok(self.hold(token, credentials, true))
    }

    /// Caches a token for the next command. If that fails, this command continues.
    fn keep(
        &mut self,
        token: &Token,
        address: &Address,
        credentials: &mut Credentials,
    ) -> Result<(), Failure> {
        let fingerprint = credentials
            .fingerprint(address, self.context)
            .map_err(credentials::Missing::into_failure)?;
        if let Err(error) = self.cache().save(token, &fingerprint) {
            let notes = &mut *self.context.streams.stderr;
            let text = format!("Warning: the token is not kept: {error}");
            self.transport.log.remark(notes, &text);
        }
        Ok(())
    }

    /// Removes a rejected token, here and in the cache, unless another command has cached a newer
    /// one in the meantime.
    pub(super) fn drop_token(&mut self) {
        let Some(session) = &mut self.session else {
            return;
        };
        let Some(held) = session.held.take() else {
            return;
        };
        let cache = self.cache();
        let is_there = cache
            .load()
            .is_some_and(|cached| cached.token.bearer == held.token.bearer);
        if is_there && !self.skips_cache {
            // If it stays in the cache, the next command is rejected once and obtains a new one.
            let _ = cache.clear();
        }
        if let Some(session) = &mut self.session {
            session.refused = Some(held.token.bearer);
        }
    }

    pub(super) fn session(&mut self) -> Result<&mut Session, Failure> {
        if self.session.is_none() {
            let credentials =
                Credentials::resolve(self.context).map_err(credentials::Missing::into_failure)?;
            let address = credentials::address(self.context, credentials.source == Source::Env)?;
            self.session = Some(Session {
                address,
                credentials,
                held: None,
                refused: None,
            });
        }
        self.session
            .as_mut()
            .ok_or_else(|| Failure::general("no session"))
    }

    fn cached(
        &self,
        address: &Address,
        credentials: &mut Credentials,
    ) -> Result<Option<Token>, Failure> {
        if !credentials.may_be_cached() {
            return Ok(None);
        }
        let Some(cached) = self.cache().load() else {
            return Ok(None);
        };
        let refused = self.session.as_ref().and_then(|it| it.refused.as_ref());
        if !cached.token.is_fresh(Timestamp::now()) || refused == Some(&cached.token.bearer) {
            return Ok(None);
        }
        let fingerprint = credentials
            .fingerprint(address, self.context)
            .map_err(credentials::Missing::into_failure)?;
        Ok((cached.fingerprint == fingerprint).then_some(cached.token))
    }

    async fn minted(
        &mut self,
        address: &Address,
        credentials: &mut Credentials,
    ) -> Result<Token, Failure> {
        if self.only_cached {
            return Err(Failure::auth("no token is cached"));
        }
        let secret = credentials
            .secret(self.context)
            .map_err(credentials::Missing::into_failure)?;
        self.exchange(address, &credentials.client_id, secret.expose())
            .await
    }

    fn hold(&mut self, token: Token, credentials: Credentials, is_minted: bool) -> (Secret, bool) {
        self.transport.mask.add(token.bearer.expose());
        let bearer = token.bearer.clone();
        if let Some(session) = &mut self.session {
            session.credentials = credentials;
            session.held = Some(Held { token, is_minted });
        }
        (bearer, is_minted)
    }

    fn cache(&self) -> Cache {
        Cache::of(&self.context.config.cache_folder(), &self.context.profile)
    }

    fn warn_of_plain_http(&mut self, address: &Address) {
        if address.is_unencrypted() {
            let shown = address.as_str();
            self.context.streams.note(format_args!(
                "Warning: {shown} is plain http: the credential can be read and stolen on the \
                 network"
            ));
        }
    }
}
