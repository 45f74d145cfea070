//! The client of the account API: credentials, token, request, classification.
//!
//! Credentials are read before the first request and not earlier, so a command whose own checks
//! fail uses neither the keychain nor the network.

mod session;

use std::{fmt::Display, time::Duration};

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use ziggurat_runtime::Secret;

use self::session::Session;
use crate::{
    context::Context,
    credentials::Credentials,
    failure::Failure,
    http::{
        address::Address,
        classify,
        log::{Level, Log},
        mask::Mask,
        message::{Incoming as Answer, Outcome, Outgoing, Purpose, Recorded, TransportError},
        own_headers,
        transport::Transport,
    },
};

/// Client of the account API for one command.
pub(crate) struct Api<'c, 'a> {
    context: &'c mut Context<'a>,
    transport: Transport<'a>,
    session: Option<Session>,
    /// Set if new tokens are not cached.
    skips_cache: bool,
    /// Set if only a cached token may be used.
    only_cached: bool,
}

/// Outcome of a request that writes.
pub(crate) enum Sent {
    /// The server answered.
    Answer(Answer),
    /// A dry run stopped the request.
    Stopped(Recorded),
}

/// One request of the API.
pub(crate) struct Call<'r> {
    /// The name of the action in the message of a failure.
    pub(crate) action: &'r str,
    pub(crate) method: Method,
    /// Path and query below the base URL.
    pub(crate) path: &'r str,
    /// Headers in addition to those of every request.
    pub(crate) headers: HeaderMap,
    pub(crate) body: Option<Bytes>,
}

// === impl Api ===

impl<'c, 'a> Api<'c, 'a> {
    /// Creates the client of a command. Sends no request.
    pub(crate) fn new(context: &'c mut Context<'a>) -> Self {
        let to_terminal = context.environment.terminals().stderr;
        let log = Log {
            level: match (context.globals.debug, context.globals.verbose) {
                (true, _) => Level::Debug,
                (false, true) => Level::Verbose,
                (false, false) => Level::Quiet,
            },
            to_terminal,
            shows_waiting: to_terminal
                && !context.globals.verbose
                && !context.globals.debug
                && context
                    .environment
                    .var("TERM")
                    .is_some_and(|term| term != "dumb"),
        };
        let mut transport = Transport::new(context.environment, log, context.dry_run);
        let profile = context.config.profile(&context.profile);
        let secrets = [
            context
                .connection
                .client_secret
                .as_ref()
                .map(Secret::expose),
            context.environment.var("ZIGGURAT_CLIENT_SECRET"),
            profile
                .as_ref()
                .and_then(|profile| Some(profile.client_secret.as_ref()?.expose())),
        ];
        for secret in secrets.into_iter().flatten() {
            transport.mask.add(secret);
        }
        Self {
            context,
            transport,
            session: None,
            skips_cache: false,
            only_cached: false,
        }
    }

    /// Uses only a cached token, so that neither the keychain nor the token endpoint is needed.
    pub(crate) fn with_cached_token_alone(mut self) -> Self {
        self.only_cached = true;
        self
    }

    /// Disables caching of new tokens.
    pub(crate) fn without_trace(mut self) -> Self {
        self.skips_cache = true;
        self
    }

    /// Returns the command's context.
    pub(crate) fn context(&mut self) -> &mut Context<'a> {
        self.context
    }

    /// Sends a GET request.
    ///
    /// # Errors
    ///
    /// Fails without a credential, a token or a response, and for an error status.
    pub(crate) async fn get(&mut self, action: &str, path: &str) -> Result<Answer, Failure> {
        match self.send(action, Method::GET, path, None).await? {
            Sent::Answer(answer) => Ok(answer),
            Sent::Stopped(_) => Err(Failure::general(format!("{action}: a read was stopped"))),
        }
    }

    /// Sends a request, with a JSON body if it has one.
    ///
    /// # Errors
    ///
    /// Fails without a credential, a token or a response, and for an error status.
    pub(crate) async fn send(
        &mut self,
        action: &str,
        method: Method,
        path: &str,
        body: Option<Vec<u8>>,
    ) -> Result<Sent, Failure> {
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
        let sent = self.call(&call).await?;
        if let Sent::Answer(answer) = &sent
            && let Some(failure) = self.failure_of(&call, answer)
        {
            return Err(failure);
        }
        Ok(sent)
    }

    /// Sends a request and returns every response, also with an error status.
    ///
    /// # Errors
    ///
    /// Fails without a credential, a token or a response.
    pub(crate) async fn call(&mut self, call: &Call<'_>) -> Result<Sent, Failure> {
        let (bearer, is_minted) = self.bearer().await?;
        let sent = self.sent(call, &bearer).await?;
        match &sent {
            // The server rejected the request before it acted, so even a write may be sent again.
            // Only once: a token that this or another command has just obtained is not rejected for
            // its age.
            Sent::Answer(answer) if answer.status == StatusCode::UNAUTHORIZED && !is_minted => {
                self.drop_token();
                let (bearer, _) = self.bearer().await?;
                self.sent(call, &bearer).await
            }
            _ => Ok(sent),
        }
    }

    async fn sent(&mut self, call: &Call<'_>, bearer: &Secret) -> Result<Sent, Failure> {
        let request = self.outgoing(call, bearer)?;
        let outcome = self
            .transport
            .send(&request, &mut *self.context.streams.stderr)
            .await
            .map_err(|error| self.unanswered(call, &request, &error))?;
        Ok(match outcome {
            Outcome::Stopped(recorded) => Sent::Stopped(recorded),
            Outcome::Answer(answer) => Sent::Answer(answer),
        })
    }

    /// Returns the failure for a response, if it is one.
    pub(crate) fn failure_of(&self, call: &Call<'_>, answer: &Answer) -> Option<Failure> {
        let failure = classify::failure(answer, &self.transport.mask)?;
        let url = self.url(call.path).unwrap_or_default();
        Some(failure.with_request(call.method.as_str(), self.transport.mask.url(&url)))
    }

    /// Returns the address for requests.
    pub(crate) fn address(&mut self) -> Result<Address, Failure> {
        Ok(self.session()?.address.clone())
    }

    /// Returns the credential in use.
    pub(crate) fn credentials(&mut self) -> Result<Credentials, Failure> {
        Ok(self.session()?.credentials.clone())
    }

    /// Sends a request without a credential, and without retries.
    pub(crate) async fn probe(
        &mut self,
        url: String,
        timeout: Duration,
    ) -> Result<Answer, TransportError> {
        let request = Outgoing {
            method: Method::GET,
            url,
            headers: own_headers(),
            body: None,
            purpose: Purpose::Call,
            timeout: Some(timeout),
            retries: 0,
        };
        let notes = &mut *self.context.streams.stderr;
        match self.transport.send(&request, notes).await? {
            Outcome::Answer(answer) => Ok(answer),
            Outcome::Stopped(_) => Err(TransportError::Answer("a read was stopped".to_owned())),
        }
    }

    /// Returns the secrets that are masked in this command.
    pub(crate) fn mask(&self) -> &Mask {
        &self.transport.mask
    }

    fn outgoing(&self, call: &Call<'_>, bearer: &Secret) -> Result<Outgoing, Failure> {
        let mut headers = own_headers();
        for (name, value) in &call.headers {
            headers.insert(name, value.clone());
        }
        let authorization = HeaderValue::from_str(&format!("Bearer {}", bearer.expose()))
            .map_err(|_| Failure::server("the access token cannot be sent in a header"))?;
        headers.insert(header::AUTHORIZATION, authorization);
        Ok(Outgoing {
            method: call.method.clone(),
            url: self.url(call.path).unwrap_or_default(),
            headers,
            body: call.body.clone(),
            purpose: Purpose::Call,
            timeout: self.context.connection.timeout,
            retries: self.context.connection.retries,
        })
    }

    fn unanswered(&self, call: &Call<'_>, request: &Outgoing, error: &TransportError) -> Failure {
        let mask = &self.transport.mask;
        let url = mask.url(&request.url);
        let method = capitalised(&call.method);
        let cause = mask.text(&error.to_string());
        let message = format!("{}: {method} {url:?}: {cause}", call.action);
        let failure = match error {
            TransportError::Deadline(_) => Failure::timeout(message),
            TransportError::Connection { .. } => Failure::unreachable(message),
            TransportError::Answer(_) => Failure::server(message),
        };
        failure.with_request(call.method.as_str(), url)
    }

    fn url(&self, path: &str) -> Option<String> {
        self.session
            .as_ref()
            .map(|session| session.address.join(path))
    }
}

/// Creates the failure for a successful response whose body is invalid.
pub(crate) fn undecodable(action: &str, reason: impl Display) -> Failure {
    Failure::server(format!("{action}: {reason}"))
}

fn capitalised(method: &Method) -> String {
    let (first, rest) = method.as_str().split_at(1);
    first.to_owned() + &rest.to_ascii_lowercase()
}
