//! One request of a client, from its params to its result.

use std::{
    collections::{BTreeMap, HashMap},
    future::poll_fn,
    sync::{
        Mutex,
        atomic::{AtomicU64, Ordering},
    },
};

use bytes::Bytes;
use http::HeaderMap;
use serde::{Deserialize, de::DeserializeOwned};
use serde_json::value::RawValue;
use ziggurat_mcp::protocol::Revision;

use crate::{
    builder::Options,
    callbacks::{Form, InputRequest, LogMessage, OnProgress, ProgressReport},
    error::ClientError,
    headers::RepeatedArgument,
    message::{self, Capabilities, Elicitation, Empty, Message, Meta, Params},
    outgoing::Outgoing,
    transport::Transport,
};

/// Code of the refusal of a request that the client does not know.
const METHOD_NOT_FOUND: i64 = -32601;

/// Code of the refusal of a form that the client cannot show.
const INVALID_PARAMS: i64 = -32602;

/// The connection to a server and what calls share.
pub(crate) struct Session {
    pub(crate) transport: Transport,
    pub(crate) options: Options,
    /// The revision; `None` until the server has answered `initialize`.
    pub(crate) revision: Option<Revision>,
    /// The arguments to repeat in headers, by tool.
    pub(crate) repeated: Mutex<HashMap<String, Vec<RepeatedArgument>>>,
    last_id: AtomicU64,
}

/// A request to make.
pub(crate) struct Call<'a> {
    pub(crate) method: &'a str,
    pub(crate) subject: Option<&'a str>,
    pub(crate) headers: HeaderMap,
    pub(crate) params: Params<'a>,
    pub(crate) on_progress: Option<&'a OnProgress>,
}

/// The members of a result that say whether it is one.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ResultHead {
    result_type: Option<String>,
    #[serde(default)]
    input_requests: BTreeMap<String, InputRequest>,
    request_state: Option<String>,
}

// === impl Session ===

impl Session {
    pub(crate) fn new(transport: Transport, options: Options) -> Self {
        Self {
            transport,
            options,
            revision: None,
            repeated: Mutex::default(),
            last_id: AtomicU64::new(0),
        }
    }

    fn is_modern(&self) -> bool {
        self.revision.is_some_and(Revision::is_modern)
    }

    /// Returns the capabilities of the client in a revision.
    pub(crate) fn capabilities(&self, revision: Revision) -> Capabilities {
        let can_ask = self.options.on_form.is_some() && revision >= Revision::V2025_06_18;
        Capabilities {
            elicitation: can_ask.then_some(Elicitation {
                form: (revision >= Revision::V2025_11_25).then_some(Empty {}),
            }),
        }
    }

    /// Makes a request and reads its result. Answers what the server asks in between.
    pub(crate) async fn request<T: DeserializeOwned>(
        &self,
        call: Call<'_>,
    ) -> Result<T, ClientError> {
        let method = call.method;
        let invalid = |error| ClientError::result(method, &error);
        let mut responses = None;
        let mut state = None;
        for _ in 0..=self.options.max_rounds {
            let params = Params {
                input_responses: responses.as_ref(),
                request_state: state.as_deref(),
                ..call.params
            };
            let result = self.exchange(&call, params).await?;
            if !result.get().starts_with('{') {
                let problem = format!("the result of `{method}` is not an object");
                return Err(ClientError::Unexpected(problem));
            }
            if !self.is_modern() {
                return serde_json::from_str(result.get()).map_err(invalid);
            }
            let head: ResultHead = serde_json::from_str(result.get()).map_err(invalid)?;
            match head.result_type.as_deref() {
                None | Some("complete") => {
                    return serde_json::from_str(result.get()).map_err(invalid);
                }
                Some("input_required") => {}
                Some(other) => {
                    let problem = format!("a result of the type `{other}` for `{method}`");
                    return Err(ClientError::Unexpected(problem));
                }
            }
            responses = Some(self.answer_all(head.input_requests).await?);
            state = head.request_state;
        }
        Err(ClientError::TooManyRounds {
            max_rounds: self.options.max_rounds,
        })
    }

    /// Sends a request and waits for its answer.
    async fn exchange(
        &self,
        call: &Call<'_>,
        params: Params<'_>,
    ) -> Result<Box<RawValue>, ClientError> {
        let id = self.last_id.fetch_add(1, Ordering::Relaxed) + 1;
        let params = Params {
            meta: self.meta(id, call.on_progress),
            ..params
        };
        let mut exchange = self.transport.start(Outgoing {
            id,
            method: call.method,
            subject: call.subject,
            headers: call.headers.clone(),
            revision: self.revision,
            body: message::request(id, call.method, &params),
        });
        loop {
            match poll_fn(|cx| exchange.poll_next(cx)).await? {
                Message::Answer {
                    id: answered,
                    outcome,
                } => {
                    // Servers leave the id out of an error if they cannot read a request.
                    let is_ours = match answered {
                        Some(answered) => answered == id.to_string(),
                        None => outcome.is_err(),
                    };
                    if !is_ours {
                        let problem = format!("an answer to another request than {id}");
                        return Err(ClientError::Unexpected(problem));
                    }
                    exchange.finish();
                    return outcome;
                }
                Message::Request { id, method, params } => {
                    let answer = self.answer(&id, &method, params.as_deref()).await;
                    self.transport.send(self.revision, answer).await?;
                }
                Message::Notification { method, params } => {
                    self.notice(id, call.on_progress, &method, params.as_deref());
                }
            }
        }
    }

    fn meta(&self, id: u64, on_progress: Option<&OnProgress>) -> Option<Meta<'_>> {
        let progress_token = on_progress.map(|_| id);
        let modern = self.revision.filter(|revision| revision.is_modern());
        if modern.is_none() && progress_token.is_none() {
            return None;
        }
        let log = self.options.on_log.as_ref();
        Some(Meta {
            version: modern.map(Revision::as_str),
            capabilities: modern.map(|revision| self.capabilities(revision)),
            client_info: modern.map(|_| &self.options.info),
            log_level: modern.and(log).map(|(level, _)| level.as_str()),
            progress_token,
        })
    }

    /// Passes a notification to the closure that waits for it. Others are ignored, as are those
    /// that cannot be read: the call does not depend on them.
    fn notice(
        &self,
        id: u64,
        on_progress: Option<&OnProgress>,
        method: &str,
        params: Option<&RawValue>,
    ) {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Token {
            progress_token: u64,
        }

        let json = params.map_or("{}", RawValue::get);
        match (method, on_progress, &self.options.on_log) {
            ("notifications/progress", Some(receive), _) => {
                let token: Result<Token, _> = serde_json::from_str(json);
                let report: Result<ProgressReport, _> = serde_json::from_str(json);
                if let (Ok(token), Ok(report)) = (token, report)
                    && token.progress_token == id
                {
                    receive(report);
                }
            }
            ("notifications/message", _, Some((_, receive))) => {
                let log: Result<LogMessage, _> = serde_json::from_str(json);
                if let Ok(log) = log {
                    receive(log);
                }
            }
            _ => {}
        }
    }

    /// Answers a request of a server, in the revisions that have them.
    async fn answer(&self, id: &RawValue, method: &str, params: Option<&RawValue>) -> Bytes {
        match method {
            "ping" => message::answer(id, "{}"),
            "elicitation/create" if self.options.on_form.is_some() => {
                match self.fill_in(params).await {
                    Ok(result) => message::answer(id, result.get()),
                    Err(_) => message::refusal(id, INVALID_PARAMS, "Not a form"),
                }
            }
            _ => message::refusal(id, METHOD_NOT_FOUND, "Method not found"),
        }
    }

    /// Answers the questions of a result that needs input.
    async fn answer_all(
        &self,
        requests: BTreeMap<String, InputRequest>,
    ) -> Result<BTreeMap<String, Box<RawValue>>, ClientError> {
        let mut responses = BTreeMap::new();
        for (key, InputRequest { method, params }) in requests {
            if method != "elicitation/create" || self.options.on_form.is_none() {
                let problem = format!("the server asks for `{method}`, which is not declared");
                return Err(ClientError::Unexpected(problem));
            }
            responses.insert(key, self.fill_in(params.as_deref()).await?);
        }
        Ok(responses)
    }

    /// Lets the program answer a form.
    async fn fill_in(&self, params: Option<&RawValue>) -> Result<Box<RawValue>, ClientError> {
        let form = Form::read(params)?;
        match &self.options.on_form {
            Some(on_form) => on_form(form).await.into_json(),
            None => Err(ClientError::unexpected(
                "a form for a client without a user",
            )),
        }
    }
}
