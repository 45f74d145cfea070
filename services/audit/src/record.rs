//! Records of calls.

use std::{
    mem,
    net::IpAddr,
    time::{Duration, Instant},
};

use jiff::Timestamp;

use crate::{
    StatementForm,
    line::{self, MAX_NAME},
    statement::Statement,
};

/// Maximum size of the buffers of a record that are used again.
const MAX_KEPT_BYTES: usize = 2048;

/// Maximum number of characters of the arguments of a tool; longer ones become a text.
const MAX_ARGUMENTS: usize = 8192;

/// Facts that are known at the start of a call. An empty text leaves its member out.
///
/// ```
/// use ziggurat_audit::{CallStart, Caller};
///
/// let start = CallStart {
///     request_id: "0b7e",
///     transport: "http",
///     face: "/mcp",
///     caller: Caller { kind: "client", name: "acme-bot", token: "3f2a9c1b", ip: None },
///     method: "tools/call",
///     tool: "query_database",
///     ..CallStart::default()
/// };
/// # let _ = start;
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct CallStart<'a> {
    /// Id of the request, as in the header of the response.
    pub request_id: &'a str,
    /// Id of the trace, in hexadecimal digits.
    pub trace_id: &'a str,
    /// Way in, such as `http` or `stdio`.
    pub transport: &'a str,
    /// Path of the endpoint, such as `/mcp`.
    pub face: &'a str,
    /// Revision of the protocol.
    pub revision: &'a str,
    /// Identity behind the call.
    pub caller: Caller<'a>,
    /// Name of the client program, as it says.
    pub client_name: &'a str,
    /// Version of the client program, as it says.
    pub client_version: &'a str,
    /// Method, such as `tools/call`.
    pub method: &'a str,
    /// Name of the tool.
    pub tool: &'a str,
    /// Name of the pipeline.
    pub pipeline: &'a str,
}

/// Identity behind a call.
#[derive(Clone, Copy, Debug, Default)]
pub struct Caller<'a> {
    /// Kind, such as `token`, `user`, `client` or `local`.
    pub kind: &'a str,
    /// Name within its kind.
    pub name: &'a str,
    /// First eight digits of the digest of the token, never the token.
    pub token: &'a str,
    /// Address of the client.
    pub ip: Option<IpAddr>,
}

/// End of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Verdict {
    /// It succeeded.
    Ok,
    /// The tool reported an error.
    Error,
    /// A guard, a mask or the check of arguments refused it.
    Refused,
    /// It named something that does not exist for its caller.
    Unknown,
    /// The token or the database is not for this caller.
    Denied,
    /// A limit was reached.
    Limited,
    /// The user is asked first.
    Asked,
    /// The client gave up.
    Cancelled,
    /// It took too long.
    Timeout,
    /// The server failed.
    Failed,
    /// The server ended before the call did; written at the next start.
    Lost,
}

/// Texts of a record.
#[derive(Clone, Copy)]
pub(crate) enum Field {
    RequestId,
    TraceId,
    Transport,
    Face,
    Revision,
    CallerKind,
    CallerName,
    Token,
    ClientName,
    ClientVersion,
    Method,
    Tool,
    Pipeline,
    Database,
    Role,
    Code,
}

/// Number of [`Field`]s.
const FIELDS: usize = Field::Code as usize + 1;

/// A record in progress.
pub(crate) struct Record {
    /// All texts behind each other, so that most records need one allocation for them.
    texts: String,
    spans: [(usize, usize); FIELDS],
    ip: Option<IpAddr>,
    begun: Instant,
    statement: Option<Statement>,
    /// Empty buffer for the text of a statement.
    buffer: String,
    pub(crate) arguments: Option<String>,
    pub(crate) rows: Option<u64>,
    pub(crate) bytes: Option<u64>,
    /// True if the caller does not see what it named.
    pub(crate) is_hidden: bool,
    /// Sequence number of its `open` line.
    pub(crate) open: Option<u64>,
    end: Option<End>,
}

#[derive(Clone, Copy)]
struct End {
    verdict: Verdict,
    at: Timestamp,
    took: Duration,
}

// === impl Verdict ===

impl Verdict {
    /// Returns the word for it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Error => "error",
            Self::Refused => "refused",
            Self::Unknown => "unknown",
            Self::Denied => "denied",
            Self::Limited => "limited",
            Self::Asked => "asked",
            Self::Cancelled => "cancelled",
            Self::Timeout => "timeout",
            Self::Failed => "failed",
            Self::Lost => "lost",
        }
    }
}

// === impl Record ===

impl Record {
    pub(crate) fn new(start: &CallStart<'_>) -> Self {
        let texts = String::with_capacity(256);
        Self::with_buffers(start, texts, String::new())
    }

    /// Begins another record with the buffers of this one.
    pub(crate) fn begin_again(&mut self, start: &CallStart<'_>) {
        let mut texts = mem::take(&mut self.texts);
        texts.clear();
        *self = Self::with_buffers(start, texts, self.statement_buffer());
    }

    /// Returns whether its buffers are small enough to be kept.
    pub(crate) fn is_small(&self) -> bool {
        let statement = self.statement.as_ref().map_or(0, Statement::capacity);
        self.texts.capacity() + self.buffer.capacity() + statement <= MAX_KEPT_BYTES
    }

    /// Sets the statement in one of its forms.
    pub(crate) fn set_statement(&mut self, form: StatementForm, text: &str) {
        let buffer = self.statement_buffer();
        self.statement = Statement::new(form, text, buffer);
    }

    /// Takes an empty buffer for the text of the statement.
    fn statement_buffer(&mut self) -> String {
        let buffer = self.statement.take().map(Statement::into_buffer);
        let mut buffer = buffer.unwrap_or_else(|| mem::take(&mut self.buffer));
        buffer.clear();
        buffer
    }

    fn with_buffers(start: &CallStart<'_>, texts: String, buffer: String) -> Self {
        let mut record = Self {
            texts,
            spans: [(0, 0); FIELDS],
            ip: start.caller.ip,
            begun: Instant::now(),
            statement: None,
            buffer,
            arguments: None,
            rows: None,
            bytes: None,
            is_hidden: false,
            open: None,
            end: None,
        };
        for (field, text) in [
            (Field::RequestId, start.request_id),
            (Field::TraceId, start.trace_id),
            (Field::Transport, start.transport),
            (Field::Face, start.face),
            (Field::Revision, start.revision),
            (Field::CallerKind, start.caller.kind),
            (Field::CallerName, start.caller.name),
            (Field::Token, start.caller.token),
            (Field::ClientName, start.client_name),
            (Field::ClientVersion, start.client_version),
            (Field::Method, start.method),
            (Field::Tool, start.tool),
            (Field::Pipeline, start.pipeline),
        ] {
            record.write(field, text);
        }
        record
    }

    /// Sets a text, cut to the length of a name.
    pub(crate) fn write(&mut self, field: Field, text: &str) {
        if self.text(field) != text
            && let Some(span) = self.spans.get_mut(field as usize)
        {
            let start = self.texts.len();
            self.texts.push_str(line::cut(text, MAX_NAME));
            *span = (start, self.texts.len());
        }
    }

    /// Notes the end, unless there is one already. Returns whether it is the first.
    pub(crate) fn end(&mut self, verdict: Verdict) -> bool {
        let is_first = self.end.is_none();
        self.end.get_or_insert_with(|| End {
            verdict,
            at: Timestamp::now(),
            took: self.begun.elapsed(),
        });
        is_first
    }

    pub(crate) fn has_ended(&self) -> bool {
        self.end.is_some()
    }

    /// Returns the time of the end, or the present time.
    pub(crate) fn at(&self) -> Timestamp {
        self.end.map_or_else(Timestamp::now, |end| end.at)
    }

    /// Appends the members of an `open` line.
    pub(crate) fn write_open(&mut self, out: &mut Vec<u8>) {
        self.member(out, "request_id", Field::RequestId);
        self.write_caller(out);
        self.write_target(out);
        if let Some(statement) = &mut self.statement {
            statement.write_digest(out);
        }
    }

    /// Appends the members of a `call` or `denied` line.
    pub(crate) fn write_all(&mut self, out: &mut Vec<u8>) {
        self.member(out, "request_id", Field::RequestId);
        self.member(out, "trace_id", Field::TraceId);
        self.member(out, "transport", Field::Transport);
        self.member(out, "face", Field::Face);
        self.member(out, "revision", Field::Revision);
        self.write_caller(out);
        object(out, "client", |out| {
            self.member(out, "name", Field::ClientName);
            self.member(out, "version", Field::ClientVersion);
        });
        self.write_target(out);
        self.member(out, "role", Field::Role);
        if let Some(statement) = &mut self.statement {
            statement.write(out);
        }
        self.write_arguments(out);
        for (name, value) in [("rows", self.rows), ("bytes", self.bytes)] {
            if let Some(value) = value {
                line::number(out, name, value);
            }
        }
        if let Some(End { verdict, took, .. }) = self.end {
            let ms = u64::try_from(took.as_millis()).unwrap_or(u64::MAX);
            line::number(out, "ms", ms);
            out.push(b'.');
            line::padded(out, took.subsec_micros() % 1000, 3);
            line::member(out, "verdict", verdict.as_str());
        }
        if self.is_hidden {
            out.extend_from_slice(b",\"hidden\":true");
        }
        self.member(out, "code", Field::Code);
    }

    fn write_caller(&self, out: &mut Vec<u8>) {
        object(out, "caller", |out| {
            self.member(out, "kind", Field::CallerKind);
            self.member(out, "name", Field::CallerName);
            self.member(out, "token", Field::Token);
            if let Some(ip) = self.ip {
                let comma: &[u8] = if out.last() == Some(&b'{') { b"" } else { b"," };
                out.extend_from_slice(comma);
                out.extend_from_slice(b"\"ip\":\"");
                line::address(out, ip);
                out.push(b'"');
            }
        });
    }

    fn write_target(&self, out: &mut Vec<u8>) {
        self.member(out, "method", Field::Method);
        self.member(out, "tool", Field::Tool);
        self.member(out, "pipeline", Field::Pipeline);
        self.member(out, "database", Field::Database);
    }

    fn write_arguments(&self, out: &mut Vec<u8>) {
        let Some(arguments) = &self.arguments else {
            return;
        };
        let cut = line::cut(arguments, MAX_ARGUMENTS);
        if cut.len() < arguments.len() {
            line::member(out, "arguments", cut);
        } else {
            out.extend_from_slice(b",\"arguments\":");
            line::json(out, arguments);
        }
    }

    fn member(&self, out: &mut Vec<u8>, name: &str, field: Field) {
        line::member(out, name, self.text(field));
    }

    fn text(&self, field: Field) -> &str {
        let span = self.spans.get(field as usize);
        span.and_then(|&(start, end)| self.texts.get(start..end))
            .unwrap_or_default()
    }
}

/// Appends an object, unless it has no members.
fn object(out: &mut Vec<u8>, name: &str, members: impl FnOnce(&mut Vec<u8>)) {
    let start = out.len();
    out.extend_from_slice(b",\"");
    out.extend_from_slice(name.as_bytes());
    out.extend_from_slice(b"\":{");
    let empty = out.len();
    members(out);
    if out.len() == empty {
        out.truncate(start);
    } else {
        out.push(b'}');
    }
}
