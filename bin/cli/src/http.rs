//! The client of the account API: credentials, token, request, classification.
//!
//! Nothing is looked up before the first request, so a command that fails its own checks has
//! asked neither the keychain nor the network.

pub(crate) mod address;
pub(crate) mod classify;
mod connect;
pub(crate) mod log;
pub(crate) mod mask;
pub(crate) mod message;
mod proxy;
pub(crate) mod retry;
mod session;
mod tls;
pub(crate) mod transport;

use std::time::Duration;

use ::http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use bytes::Bytes;
use ziggurat_runtime::Secret;

pub(crate) use self::message::{Incoming as Answer, Recorded};
use self::{
    address::Address,
    log::{Level, Log},
    message::{Outcome, Outgoing, Purpose, TransportError},
    session::Session,
    transport::Transport,
};
use crate::{context::Context, credentials::Credentials, failure::Failure};

/// The account API, as a command sees it.
pub(crate) struct Api<'c, 'a> {
    context: &'c mut Context<'a>,
    transport: Transport<'a>,
    session: Option<Session>,
    /// A token that is obtained is not kept for the next command.
    skips_cache: bool,
    /// A token is taken from the cache or not at all.
    only_cached: bool,
}

/// The outcome of a request that writes.
pub(crate) enum Sent {
    /// The server answered.
    Answer(Answer),
    /// A dry run stopped it.
    Stopped(Recorded),
}

/// One request of the API.
pub(crate) struct Call<'r> {
    /// The name of the action in the message of a failure.
    pub(crate) action: &'r str,
    pub(crate) method: Method,
    /// Path and query under the base.
    pub(crate) path: &'r str,
    /// On top of those every request has.
    pub(crate) headers: HeaderMap,
    pub(crate) body: Option<Bytes>,
}

// === impl Api ===

impl<'c, 'a> Api<'c, 'a> {
    /// The API of a command. No request is sent yet.
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

    /// Takes a token from the cache or none at all, so that no keychain and no token endpoint is
    /// asked.
    pub(crate) fn with_cached_token_alone(mut self) -> Self {
        self.only_cached = true;
        self
    }

    /// Keeps no token for the next command.
    pub(crate) fn without_trace(mut self) -> Self {
        self.skips_cache = true;
        self
    }

    /// The command's context.
    pub(crate) fn context(&mut self) -> &mut Context<'a> {
        self.context
    }

    /// Reads.
    ///
    /// # Errors
    ///
    /// No credential, no token, no answer, or one that is no success.
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
    /// No credential, no token, no answer, or one that is no success.
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

    /// Sends a request and returns every answer, failures too.
    ///
    /// # Errors
    ///
    /// No credential, no token, or no answer.
    pub(crate) async fn call(&mut self, call: &Call<'_>) -> Result<Sent, Failure> {
        let (bearer, is_minted) = self.bearer().await?;
        let sent = self.sent(call, &bearer).await?;
        match &sent {
            // The server refused before it acted, so even a write may be sent again. Only once: a
            // token that was just obtained, here or by another command, is not refused for its age.
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

    /// The failure an answer stands for.
    pub(crate) fn failure_of(&self, call: &Call<'_>, answer: &Answer) -> Option<Failure> {
        let failure = classify::failure(answer, &self.transport.mask)?;
        let url = self.url(call.path).unwrap_or_default();
        Some(failure.with_request(call.method.as_str(), self.transport.mask.url(&url)))
    }

    /// The address requests go to.
    pub(crate) fn address(&mut self) -> Result<Address, Failure> {
        Ok(self.session()?.address.clone())
    }

    /// The credential in use.
    pub(crate) fn credentials(&mut self) -> Result<Credentials, Failure> {
        Ok(self.session()?.credentials.clone())
    }

    /// Sends a request that carries no credential, and is not repeated.
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

    /// The secrets that are masked in this command.
    pub(crate) fn mask(&self) -> &mask::Mask {
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

// === impl Answer ===

impl Answer {
    /// The failure of a command that cannot use the body of a success.
    pub(crate) fn undecodable(action: &str, reason: impl std::fmt::Display) -> Failure {
        Failure::server(format!("{action}: {reason}"))
    }
}

/// The headers of every request of this program.
fn own_headers() -> HeaderMap {
    let os = match std::env::consts::OS {
        "macos" => "darwin",
        os => os,
    };
    let agent = format!(
        "ziggurat/{} ({os}; {})",
        env!("CARGO_PKG_VERSION"),
        architecture()
    );
    let mut headers = HeaderMap::new();
    if let Ok(agent) = HeaderValue::from_str(&agent) {
        headers.insert(header::USER_AGENT, agent);
    }
    headers.insert(header::ACCEPT, HeaderValue::from_static("application/json"));
    headers
}

/// The architecture, by the name it goes by on the web.
pub(crate) fn architecture() -> &'static str {
    match std::env::consts::ARCH {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        other => other,
    }
}

/// The operating system, by the name it goes by on the web.
pub(crate) fn operating_system() -> &'static str {
    match std::env::consts::OS {
        "macos" => "darwin",
        other => other,
    }
}

fn capitalised(method: &Method) -> String {
    let (first, rest) = method.as_str().split_at(1);
    first.to_owned() + &rest.to_ascii_lowercase()
}
