//! Records of calls for the audit trail.

use std::{borrow::Cow, ops::Deref, sync::Arc};

use http::{HeaderValue, StatusCode, header::RETRY_AFTER};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;
use ziggurat_accounts::{Account, Identity};
use ziggurat_answers::{CallFacts, ErrorReason};
use ziggurat_audit::{Audit, Call as AuditCall, CallStart, Caller as AuditCaller, Verdict};
use ziggurat_databases::Databases;
use ziggurat_layers::{json_rpc::Call, sanitize::RequestId};
use ziggurat_mcp::{Admission, Caller, End, Failure, ObservedCall, Observer, Outcome};

/// Seconds after which a client may try again when no record can be written.
pub(crate) const RETRY_SECONDS: u16 = 5;

/// Marks calls over standard input and output.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OverStdio;

/// Makes a record of each call.
pub(crate) struct CallRecords {
    audit: Audit,
    databases: Databases,
}

/// A call with its record.
struct RecordedCall {
    record: AuditCall,
    facts: CallFacts,
    is_required: bool,
}

/// The params of a call that stand in its record.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Params<'a> {
    #[serde(borrow)]
    name: Option<Cow<'a, str>>,
    #[serde(borrow)]
    uri: Option<Cow<'a, str>>,
    #[serde(borrow)]
    arguments: Option<Arguments<'a>>,
    #[serde(borrow, rename = "_meta")]
    meta: Option<Meta<'a>>,
}

/// The arguments of a tool that stand in the record of its call. Those of another type are left out.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Arguments<'a> {
    #[serde(borrow)]
    query: Text<'a>,
    #[serde(borrow, rename = "where")]
    condition: Text<'a>,
    #[serde(borrow)]
    query_text: Text<'a>,
    #[serde(borrow)]
    text: Text<'a>,
    #[serde(borrow)]
    database: Text<'a>,
}

/// A text; a value of another type is an empty one.
#[derive(Default)]
struct Text<'a>(Cow<'a, str>);

#[derive(Default, Deserialize)]
#[serde(default)]
struct Meta<'a> {
    #[serde(borrow, rename = "io.modelcontextprotocol/clientInfo")]
    client: Option<Client<'a>>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Client<'a> {
    #[serde(borrow)]
    name: Cow<'a, str>,
    #[serde(borrow)]
    version: Cow<'a, str>,
}

// === impl CallRecords ===

impl CallRecords {
    pub(crate) fn new(audit: Audit, databases: Databases) -> Self {
        Self { audit, databases }
    }

    /// Begins the record, unless calls of the method have none.
    fn start(&self, call: &Call, caller: &Caller, params: &Params<'_>) -> Option<AuditCall> {
        let identity = caller.extension::<Identity>();
        let context = caller.context();
        let is_stdio = caller.extension::<OverStdio>().is_some();
        let name = params.name.as_deref().or(params.uri.as_deref());
        let client = params.meta.as_ref().and_then(|meta| meta.client.as_ref());
        let token = identity.map(|identity| identity.token().to_string());
        let account = identity.map(Identity::account);
        let start = CallStart {
            request_id: caller.extension().map_or("", RequestId::as_str),
            transport: if is_stdio { "stdio" } else { "http" },
            face: match (is_stdio, context.is_negotiated()) {
                (true, _) => "",
                (false, true) => "/mcp",
                (false, false) => "/mcp/v1",
            },
            revision: context.revision().as_str(),
            caller: AuditCaller {
                ip: caller.client_ip(),
                ..named(account.as_ref(), token.as_deref())
            },
            client_name: client.map_or("", |client| &client.name),
            client_version: client.map_or("", |client| &client.version),
            method: call.method(),
            tool: name.unwrap_or_default(),
            ..CallStart::default()
        };
        match call.method() {
            "tools/call" | "resources/read" | "prompts/get" => Some(self.audit.begin(&start)),
            _ => self.audit.begin_other(&start),
        }
    }

    /// Returns the name of the database that the call works on, as far as it is known before.
    fn database(&self, caller: &Caller, arguments: &Arguments<'_>) -> Option<Arc<str>> {
        let identity = caller.extension::<Identity>();
        let name = &*arguments.database;
        let database = if name.is_empty() || !caller.context().is_negotiated() {
            self.databases.current(identity).ok()?
        } else {
            self.databases.named(identity, name)?
        };
        Some(database.label().into())
    }
}

impl Observer for CallRecords {
    fn begin(&self, call: &Call, caller: &mut Caller) -> Option<Box<dyn ObservedCall>> {
        let params = call.raw_params().map(serde_json::from_str);
        let params: Params<'_> = params.and_then(Result::ok).unwrap_or_default();
        let record = self.start(call, caller, &params)?;
        let is_required = self.audit.is_required();
        if let (Some(tool), Some(arguments)) = (&params.name, &params.arguments) {
            match &**tool {
                "query_database" | "execute_explain" => record.statement(&arguments.query),
                "count_rows" => record.statement(&arguments.condition),
                "similarity_search" => record.question(&arguments.query_text),
                "search_knowledgebase" => record.question(&arguments.query),
                "generate_embedding" => record.question(&arguments.text),
                _ => {}
            }
            if is_required && let Some(database) = self.database(caller, arguments) {
                record.database(&database);
            }
        }
        let facts = CallFacts::default();
        caller.set_extension(facts.clone());
        Some(Box::new(RecordedCall {
            record,
            facts,
            is_required,
        }))
    }
}

// === impl RecordedCall ===

impl ObservedCall for RecordedCall {
    fn admission(&mut self) -> Option<Admission> {
        if !self.is_required {
            return None;
        }
        let record = self.record.clone();
        Some(Box::pin(async move {
            record.open().await.map_err(|error| {
                Failure::new("audit is unavailable")
                    .with_source(error)
                    .with_status(StatusCode::SERVICE_UNAVAILABLE)
                    .with_header(RETRY_AFTER, HeaderValue::from(RETRY_SECONDS))
            })
        }))
    }

    fn end(self: Box<Self>, end: End) {
        let facts = self.facts.facts();
        if let Some(database) = &facts.database {
            self.record.database(database.name());
        }
        if let Some(rows) = facts.rows {
            self.record.rows(rows);
        }
        let code = end.code.map(|code| code.to_string());
        if let Some(code) = facts.code.or(code) {
            self.record.code(&code);
        }
        if end.bytes > 0 {
            self.record.bytes(end.bytes);
        }
        self.record.end(verdict(end.outcome, facts.reason));
    }
}

// === impl Text ===

impl<'de: 'a, 'a> Deserialize<'de> for Text<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let json = <&RawValue>::deserialize(deserializer)?.get();
        let borrowed = serde_json::from_str::<&str>(json).map(Cow::Borrowed);
        let text = borrowed.or_else(|_| serde_json::from_str(json).map(Cow::Owned));
        Ok(Self(text.unwrap_or_default()))
    }
}

impl Deref for Text<'_> {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

/// Describes the holder of a token; without authentication, the local user.
pub(crate) fn named<'a>(account: Option<&'a Account>, token: Option<&'a str>) -> AuditCaller<'a> {
    let digits = token.and_then(|token| token.get(..8)).unwrap_or_default();
    let (kind, name) = match account {
        None => ("local", ""),
        Some(Account::User(name)) => ("user", &**name),
        Some(Account::Client(subject)) => ("client", &**subject),
        Some(_) => ("token", digits),
    };
    AuditCaller {
        kind,
        name,
        token: digits,
        ip: None,
    }
}

fn verdict(outcome: Outcome, reason: Option<ErrorReason>) -> Verdict {
    match (outcome, reason) {
        (Outcome::Ok, _) => Verdict::Ok,
        (Outcome::Asked, _) => Verdict::Asked,
        (Outcome::Cancelled, _) => Verdict::Cancelled,
        (Outcome::Reported, Some(ErrorReason::Timeout)) => Verdict::Timeout,
        (Outcome::Reported, Some(ErrorReason::Denied)) => Verdict::Denied,
        (Outcome::Reported, Some(ErrorReason::Refused))
        | (Outcome::InvalidArguments | Outcome::Refused, _) => Verdict::Refused,
        (Outcome::Reported, None) => Verdict::Error,
        (Outcome::Unknown | Outcome::Disabled, _) => Verdict::Unknown,
        _ => Verdict::Failed,
    }
}
