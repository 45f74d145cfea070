//! The requests of a command: with its credential, its options and its streams.
//!
//! Credentials are read before the first request and not earlier. So a command that fails in its
//! own checks uses neither the keychain nor the network.

use std::{fmt::Display, io::Write, time::Duration};

use http::{HeaderMap, HeaderValue, Method, header};
use ziggurat_account_client::{
    Address, Cache, CacheUse, Call, Incoming, Level, Log, Mask, Options, Sent, Session, Token,
    Transport, TransportError, exchange, person::PersonSignIn,
};
use ziggurat_runtime::Secret;

use crate::{
    context::Context,
    credentials::{self, Credentials, Missing, Source},
    failure::Failure,
};

/// Client of the account API for one command.
pub(crate) struct Api<'c, 'a> {
    context: &'c mut Context<'a>,
    transport: Transport<'a>,
    session: Option<Session<Credentials>>,
    cache_use: CacheUse,
}

/// The session, the transport of its requests, and the stream for notes.
type Parts<'s, 'a> = (
    &'s mut Session<Credentials>,
    &'s mut Transport<'a>,
    &'s mut (dyn Write + Send),
);

// === impl Api ===

impl<'c, 'a> Api<'c, 'a> {
    /// Creates the client of a command. Sends no request.
    pub(crate) fn new(context: &'c mut Context<'a>) -> Self {
        let options = Options {
            log: log(context),
            dry_run: context.dry_run,
            headers: own_headers(),
            timeout: context.connection.timeout,
            retries: context.connection.retries,
        };
        let mut transport = Transport::new(context.environment.variables(), options);
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
            transport.hide(secret);
        }
        Self {
            context,
            transport,
            session: None,
            cache_use: CacheUse::Full,
        }
    }

    /// Uses the token cache in another way.
    pub(crate) fn with_cache_use(mut self, cache_use: CacheUse) -> Self {
        self.cache_use = cache_use;
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
    pub(crate) async fn get(&mut self, action: &str, path: &str) -> Result<Incoming, Failure> {
        let (session, transport, notes) = self.parts()?;
        Ok(session.get(transport, notes, action, path).await?)
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
        let (session, transport, notes) = self.parts()?;
        let sent = session.send(transport, notes, action, method, path, body);
        Ok(sent.await?)
    }

    /// Sends a request and returns every response, also with an error status.
    ///
    /// # Errors
    ///
    /// Fails without a credential, a token or a response.
    pub(crate) async fn call(&mut self, call: &Call<'_>) -> Result<Sent, Failure> {
        let (session, transport, notes) = self.parts()?;
        Ok(session.call(transport, notes, call).await?)
    }

    /// Returns the failure for a response, if it is one.
    pub(crate) fn failure_of(&self, call: &Call<'_>, answer: &Incoming) -> Option<Failure> {
        let session = self.session.as_ref()?;
        let error = session.error_of(call, answer, self.mask())?;
        Some(error.into())
    }

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
        let notes = &mut *self.context.streams.stderr;
        let token = exchange(&mut self.transport, notes, address, client_id, secret);
        Ok(token.await?)
    }

    /// Returns the requests of a sign-in at an address, and the stream for notes.
    pub(crate) fn sign_in<'s>(
        &'s mut self,
        address: &'s Address,
    ) -> (PersonSignIn<'s, 'a, 's>, &'s mut (dyn Write + Send)) {
        let sign_in = PersonSignIn::new(&mut self.transport, address);
        (sign_in, &mut *self.context.streams.stderr)
    }

    /// Sends a request without a credential, and without retries.
    pub(crate) async fn probe(
        &mut self,
        url: String,
        timeout: Duration,
    ) -> Result<Incoming, TransportError> {
        let notes = &mut *self.context.streams.stderr;
        self.transport.probe(url, timeout, notes).await
    }

    /// Returns the session, with the credential of the command.
    ///
    /// # Errors
    ///
    /// Fails without a credential.
    pub(crate) fn session(&mut self) -> Result<&Session<Credentials>, Failure> {
        Ok(self.parts()?.0)
    }

    /// Returns the secrets that are masked in this command.
    pub(crate) fn mask(&self) -> &Mask {
        self.transport.mask()
    }

    fn parts(&mut self) -> Result<Parts<'_, 'a>, Failure> {
        let session = match &mut self.session {
            Some(session) => session,
            none => none.insert(open(self.context, self.cache_use)?),
        };
        let notes = &mut *self.context.streams.stderr;
        Ok((session, &mut self.transport, notes))
    }
}

/// Finds the credential and the address of a command.
fn open(context: &mut Context<'_>, cache_use: CacheUse) -> Result<Session<Credentials>, Failure> {
    let credentials = Credentials::resolve(context).map_err(Missing::into_failure)?;
    let address = credentials::address(context, credentials.source == Source::Env)?;
    let cache = credentials
        .may_be_cached()
        .then(|| Cache::of(&context.config.cache_folder(), &context.profile));
    Ok(Session::new(address, credentials, cache, cache_use))
}

fn log(context: &Context<'_>) -> Log {
    let to_terminal = context.environment.terminals().stderr;
    Log {
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
    }
}

/// Creates the failure for a successful response with an invalid body.
pub(crate) fn undecodable(action: &str, reason: impl Display) -> Failure {
    Failure::server(format!("{action}: {reason}"))
}

/// Returns the headers of every request.
fn own_headers() -> HeaderMap {
    let agent = format!(
        "ziggurat/{} ({}; {})",
        env!("CARGO_PKG_VERSION"),
        operating_system(),
        architecture()
    );
    let mut headers = HeaderMap::new();
    if let Ok(agent) = HeaderValue::from_str(&agent) {
        headers.insert(header::USER_AGENT, agent);
    }
    headers.insert(header::ACCEPT, HeaderValue::from_static("application/json"));
    headers
}

/// Returns the common name of the architecture.
pub(crate) fn architecture() -> &'static str {
    match std::env::consts::ARCH {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        other => other,
    }
}

/// Returns the common name of the operating system.
pub(crate) fn operating_system() -> &'static str {
    match std::env::consts::OS {
        "macos" => "darwin",
        other => other,
    }
}
