//! Checks the messages in the body of a request.

use std::{borrow::Cow, collections::BTreeMap};

use bytes::Bytes;
use http::{HeaderMap, StatusCode};

use crate::{
    json_rpc::{
        Dialect, Envelope, Error,
        dialect::{Checked, CheckedCall},
        envelope::Recipient,
        scan::{Document, Limits, Message, elements, members, scan},
        text::{Span, string_at},
    },
    mcp::{access::Access, routing},
};

/// Code for an unknown resource in the revisions that start with `initialize`.
const RESOURCE_NOT_FOUND: i64 = -32002;

const META_VERSION: &str = "io.modelcontextprotocol/protocolVersion";
const NO_BATCHES: &str = "batches are not accepted in this revision";
const WHOLE_BATCH: &str = "another message of the batch is refused";
const LOOKALIKE: &str = "a key differs only in case from one that is read";

/// The methods that list tools, prompts or resources.
const LISTS: [&str; 4] = [
    "prompts/list",
    "resources/list",
    "resources/templates/list",
    "tools/list",
];

/// The decision on a body.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Decision {
    /// Passes it on.
    Pass { has_list: bool },
    /// Answers it; without a body if it needs no answer.
    Answer(StatusCode, Bytes),
}

/// A body with the rules for it.
struct Checker<'a> {
    headers: &'a HeaderMap,
    document: &'a Bytes,
    access: &'a Access,
    dialect: Dialect,
    /// The headers name a revision with `_meta` in its requests.
    is_modern: bool,
}

/// The decision on a message.
struct Verdict {
    envelope: Envelope,
    is_modern: bool,
    /// Tells of an allowed message whether its result is a list.
    outcome: Result<bool, Error>,
}

/// The params of a call, with the members that are read.
struct Params<'a> {
    text: &'a str,
    name: Option<Span>,
    uri: Option<Span>,
    reference: Option<Span>,
    notifications: Option<Span>,
    version: Option<Span>,
}

/// Checks the messages of a body against the headers and against what the client may use.
pub(super) fn check(
    headers: &HeaderMap,
    document: &Bytes,
    access: &Access,
    limits: Limits,
) -> Decision {
    let checker = Checker {
        headers,
        document,
        access,
        dialect: Dialect::new()
            .with_strict_ids()
            .with_object_params()
            .with_unknown_id_omitted(),
        is_modern: routing::is_modern(headers),
    };
    match scan(document, limits) {
        Ok(Document::Single(message)) => checker.message(&message, false).decision(),
        Ok(Document::Array { kept, count }) => checker.batch(&kept, count),
        Err(fault) => {
            let error = Error::parse_error().with_data(fault.to_string());
            checker.refuse(error).decision()
        }
    }
}

// === impl Checker ===

impl Checker<'_> {
    fn message(&self, message: &Message, is_batched: bool) -> Verdict {
        if message.has_lookalike {
            return self.refuse(Error::invalid_request().with_data(LOOKALIKE));
        }
        if message.is_response() {
            // The client answers a question of the server; this calls nothing.
            return self.verdict(self.dialect.envelope(Recipient::Notification), Ok(false));
        }
        match self.dialect.check(message, self.document) {
            Checked::Call(call) => self.call(call, is_batched),
            Checked::Refused(refusal) => self.verdict(refusal.envelope, Err(refusal.error)),
            // A notification with params that are not an object.
            Checked::Ignored => self.verdict(
                self.dialect.envelope(Recipient::Notification),
                Err(Error::invalid_params()),
            ),
        }
    }

    fn call(&self, call: CheckedCall, is_batched: bool) -> Verdict {
        let method = call.method.as_str();
        let mut is_modern = self.is_modern;
        let text = call.params.as_ref().map_or("{}", |params| params.as_str());
        let outcome = Params::read(text).and_then(|params| {
            is_modern |= params.version.is_some();
            if is_modern && is_batched {
                return Err(Error::invalid_request().with_data(NO_BATCHES));
            }
            let is_notification = call.envelope.id().is_none();
            self.check_headers(method, &params, is_modern && !is_notification)?;
            if !self.access.allows_method(method) {
                return Err(Error::method_not_found());
            }
            params.check_names(method, self.access, is_modern)?;
            Ok(LISTS.contains(&method))
        });
        Verdict {
            is_modern,
            ..self.verdict(call.envelope, outcome)
        }
    }

    fn check_headers(
        &self,
        method: &str,
        params: &Params<'_>,
        are_required: bool,
    ) -> Result<(), Error> {
        let subject = params.subject(method);
        if !are_required {
            return routing::check_present(self.headers, method, subject.as_deref());
        }
        let version = params.version.ok_or_else(|| {
            let problem = format!("`_meta` has no `{META_VERSION}`");
            Error::invalid_params().with_data(problem)
        })?;
        let version = string_at(params.text, version);
        routing::check(self.headers, method, version.as_deref(), subject.as_deref())
    }

    /// Passes all messages on or none: an answer that combines errors of this layer with results
    /// of the server would have to wait for the server.
    fn batch(&self, messages: &[Message], count: usize) -> Decision {
        let problem = match count {
            _ if self.is_modern => NO_BATCHES,
            0 => "the batch is empty",
            _ if count > messages.len() => "the batch has too many messages",
            _ => {
                let verdicts: Vec<_> = messages.iter().map(|it| self.message(it, true)).collect();
                return decide_batch(&verdicts);
            }
        };
        let error = Error::invalid_request().with_data(problem);
        self.refuse(error).decision()
    }

    /// Refuses a message without a known id.
    fn refuse(&self, error: Error) -> Verdict {
        let refusal = self.dialect.refuse(None, error);
        self.verdict(refusal.envelope, Err(refusal.error))
    }

    fn verdict(&self, envelope: Envelope, outcome: Result<bool, Error>) -> Verdict {
        Verdict {
            envelope,
            is_modern: self.is_modern,
            outcome,
        }
    }
}

fn decide_batch(verdicts: &[Verdict]) -> Decision {
    if verdicts.iter().all(|verdict| verdict.outcome.is_ok()) {
        let has_list = verdicts.iter().any(|it| it.outcome == Ok(true));
        return Decision::Pass { has_list };
    }
    let mut body = Vec::new();
    for verdict in verdicts.iter().filter(|verdict| verdict.needs_answer()) {
        body.push(if body.is_empty() { b'[' } else { b',' });
        let unrelated = Error::invalid_request().with_data(WHOLE_BATCH);
        let error = verdict.outcome.as_ref().err().unwrap_or(&unrelated);
        body.extend(verdict.envelope.wrap_error(error));
    }
    if body.is_empty() {
        return Decision::Answer(StatusCode::ACCEPTED, Bytes::new());
    }
    body.push(b']');
    Decision::Answer(StatusCode::OK, body.into())
}

// === impl Verdict ===

impl Verdict {
    fn decision(&self) -> Decision {
        let error = match &self.outcome {
            Ok(has_list) => {
                let has_list = *has_list;
                return Decision::Pass { has_list };
            }
            Err(error) => error,
        };
        if self.needs_answer() {
            return Decision::Answer(self.status(error), self.envelope.wrap_error(error));
        }
        // The same answer as to an unknown notification, unless the request contradicts itself.
        let status = match error.code() {
            routing::HEADER_MISMATCH => StatusCode::BAD_REQUEST,
            _ => StatusCode::ACCEPTED,
        };
        Decision::Answer(status, Bytes::new())
    }

    fn needs_answer(&self) -> bool {
        !matches!(self.envelope.recipient, Recipient::Notification)
    }

    /// Clients of older revisions lose their connection on other statuses than 200, so only a
    /// malformed request gets one.
    fn status(&self, error: &Error) -> StatusCode {
        match error.code() {
            _ if self.is_modern => routing::status(error),
            Error::PARSE_ERROR | Error::INVALID_REQUEST | routing::HEADER_MISMATCH => {
                StatusCode::BAD_REQUEST
            }
            _ => StatusCode::OK,
        }
    }
}

// === impl Params ===

impl<'a> Params<'a> {
    fn read(text: &'a str) -> Result<Self, Error> {
        let lookalike = || invalid(LOOKALIKE);
        let names = ["name", "uri", "ref", "notifications", "_meta"];
        let [name, uri, reference, notifications, meta] =
            members(text, Span::of(text), names).ok_or_else(lookalike)?;
        // A `_meta` that is not an object has no members; the server may refuse it.
        let meta = meta.filter(|meta| text.as_bytes()[meta.start] == b'{');
        let [version] = match meta {
            Some(meta) => members(text, meta, [META_VERSION]).ok_or_else(lookalike)?,
            None => [None],
        };
        Ok(Self {
            text,
            name,
            uri,
            reference,
            notifications,
            version,
        })
    }

    /// Returns the name that a header repeats.
    fn subject(&self, method: &str) -> Option<Cow<'a, str>> {
        let is_resource = method == "resources/read";
        string_at(self.text, if is_resource { self.uri } else { self.name }?)
    }

    fn check_names(&self, method: &str, access: &Access, is_modern: bool) -> Result<(), Error> {
        match method {
            "tools/call" => {
                let name = self.string(self.name, "`name` must be a string")?;
                require(access.allows_tool(&name), || unknown("tool", &name))
            }
            "prompts/get" => self.check_prompt(self.name, access),
            "resources/read" | "resources/subscribe" | "resources/unsubscribe" => {
                self.check_resource(self.uri, access, is_modern)
            }
            "completion/complete" => self.check_reference(access, is_modern),
            "subscriptions/listen" => self.check_subscriptions(access, is_modern),
            _ => Ok(()),
        }
    }

    fn check_prompt(&self, name: Option<Span>, access: &Access) -> Result<(), Error> {
        let name = self.string(name, "`name` must be a string")?;
        require(access.allows_prompt(&name), || unknown("prompt", &name))
    }

    fn check_resource(
        &self,
        uri: Option<Span>,
        access: &Access,
        is_modern: bool,
    ) -> Result<(), Error> {
        let uri = self.string(uri, "`uri` must be a string")?;
        let code = if is_modern {
            Error::INVALID_PARAMS
        } else {
            RESOURCE_NOT_FOUND
        };
        require(access.allows_resource(&uri), || {
            Error::new(code, "Resource not found").with_data(BTreeMap::from([("uri", &uri)]))
        })
    }

    /// Checks the prompt and the resource, whichever the type says, as a server may ignore the
    /// type.
    fn check_reference(&self, access: &Access, is_modern: bool) -> Result<(), Error> {
        let problem = "`ref` must name a prompt or a resource";
        let members = self
            .reference
            .and_then(|it| members(self.text, it, ["name", "uri"]));
        let [name, uri] = members.ok_or_else(|| invalid(problem))?;
        if name.is_none() && uri.is_none() {
            return Err(invalid(problem));
        }
        if name.is_some() {
            self.check_prompt(name, access)?;
        }
        if uri.is_some() {
            self.check_resource(uri, access, is_modern)?;
        }
        Ok(())
    }

    fn check_subscriptions(&self, access: &Access, is_modern: bool) -> Result<(), Error> {
        let Some(notifications) = self.notifications else {
            return Ok(());
        };
        let problem = || invalid("`notifications` must be an object of lists and booleans");
        let [uris] =
            members(self.text, notifications, ["resourceSubscriptions"]).ok_or_else(problem)?;
        let Some(uris) = uris else { return Ok(()) };
        for uri in elements(self.text, uris).ok_or_else(problem)? {
            self.check_resource(Some(uri), access, is_modern)?;
        }
        Ok(())
    }

    fn string(&self, member: Option<Span>, problem: &'static str) -> Result<Cow<'a, str>, Error> {
        let text = member.and_then(|span| string_at(self.text, span));
        text.ok_or_else(|| invalid(problem))
    }
}

fn require(is_allowed: bool, error: impl FnOnce() -> Error) -> Result<(), Error> {
    if is_allowed { Ok(()) } else { Err(error()) }
}

fn unknown(kind: &str, name: &str) -> Error {
    Error::new(Error::INVALID_PARAMS, format!("Unknown {kind}: {name}"))
}

fn invalid(problem: &'static str) -> Error {
    Error::invalid_params().with_data(problem)
}
