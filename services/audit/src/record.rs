//! Records of calls.

use std::{
    mem,
    net::IpAddr,
    time::{Duration, Instant},
};

use jiff::Timestamp;

use crate::{StatementForm, line, statement};

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

/// Returns the method of a request that is no call of a protocol: its own, and the path, which is
/// shortened to 200 bytes.
#[must_use]
pub fn request_method(method: &str, path: &str) -> String {
    const LONGEST: usize = 200;
    format!("{method} {}", &path[..path.floor_char_boundary(LONGEST)])
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

/// Parts of a record, each with its members as JSON.
#[derive(Clone, Copy)]
pub(crate) enum Part {
    Request,
    /// Trace, transport, address of the endpoint and revision.
    Way,
    Caller,
    Client,
    /// Method, and tool or pipeline.
    Target,
    Database,
    Role,
    Statement,
    Arguments,
    Code,
}

/// Number of [`Part`]s.
const PARTS: usize = Part::Code as usize + 1;

/// A record in progress.
pub(crate) struct Record {
    /// All parts behind each other, so that most records need one allocation for them.
    members: Vec<u8>,
    spans: [(usize, usize); PARTS],
    /// Length of the part of the statement that has its digest.
    digest: usize,
    begun: Instant,
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
        let mut record = Self::empty(Vec::new());
        record.begin(start);
        record
    }

    /// Sets the statement in one of its forms.
    pub(crate) fn set_statement(&mut self, form: StatementForm, text: &str) {
        let mut digest = 0;
        self.put(Part::Statement, |out| {
            digest = statement::write(out, form, text);
        });
        self.digest = digest;
    }

    /// Sets the arguments, which are JSON. Long ones become a text and are cut.
    pub(crate) fn set_arguments(&mut self, json: &str) {
        let cut = line::cut(json, MAX_ARGUMENTS);
        self.put(Part::Arguments, |out| {
            if cut.len() < json.len() {
                line::member(out, r#""arguments":"#, cut);
            } else {
                out.extend_from_slice(b",\"arguments\":");
                line::json(out, json);
            }
        });
    }

    fn empty(members: Vec<u8>) -> Self {
        Self {
            members,
            spans: [(0, 0); PARTS],
            digest: 0,
            begun: Instant::now(),
            rows: None,
            bytes: None,
            is_hidden: false,
            open: None,
            end: None,
        }
    }

    /// Replaces what was recorded by the start of another call, and keeps the memory.
    pub(crate) fn begin(&mut self, start: &CallStart<'_>) {
        let mut members = mem::take(&mut self.members);
        members.clear();
        members.reserve(512);
        *self = Self::empty(members);
        self.write(Part::Request, r#""request_id":"#, start.request_id);
        self.put(Part::Way, |out| {
            line::name(out, r#""trace_id":"#, start.trace_id);
            line::name(out, r#""transport":"#, start.transport);
            line::name(out, r#""face":"#, start.face);
            line::name(out, r#""revision":"#, start.revision);
        });
        self.put(Part::Caller, |out| start.caller.write(out));
        self.put(Part::Client, |out| {
            object(out, "client", |out| {
                line::name(out, r#""name":"#, start.client_name);
                line::name(out, r#""version":"#, start.client_version);
            });
        });
        self.put(Part::Target, |out| {
            line::name(out, r#""method":"#, start.method);
            line::name(out, r#""tool":"#, start.tool);
            line::name(out, r#""pipeline":"#, start.pipeline);
        });
    }

    /// Returns the size of its memory.
    pub(crate) fn capacity(&self) -> usize {
        self.members.capacity()
    }

    /// Sets the one member of a part, cut to the length of a name.
    pub(crate) fn write(&mut self, part: Part, key: &str, value: &str) {
        self.put(part, |out| line::name(out, key, value));
    }

    fn put(&mut self, part: Part, write: impl FnOnce(&mut Vec<u8>)) {
        let start = self.members.len();
        write(&mut self.members);
        if let Some(span) = self.spans.get_mut(part as usize) {
            *span = (start, self.members.len());
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
    pub(crate) fn write_open(&self, out: &mut Vec<u8>) {
        self.write_parts(
            out,
            &[Part::Request, Part::Caller, Part::Target, Part::Database],
        );
        let statement = self.part(Part::Statement).get(..self.digest);
        if let Some(digest) = statement.filter(|digest| !digest.is_empty()) {
            out.extend_from_slice(digest);
            out.push(b'}');
        }
    }

    /// Appends the members of a `call` or `denied` line.
    pub(crate) fn write_all(&self, out: &mut Vec<u8>) {
        self.write_parts(
            out,
            &[
                Part::Request,
                Part::Way,
                Part::Caller,
                Part::Client,
                Part::Target,
                Part::Database,
                Part::Role,
                Part::Statement,
                Part::Arguments,
            ],
        );
        for (name, value) in [(r#""rows":"#, self.rows), (r#""bytes":"#, self.bytes)] {
            if let Some(value) = value {
                line::number(out, name, value);
            }
        }
        if let Some(End { verdict, took, .. }) = self.end {
            let ms = u64::try_from(took.as_millis()).unwrap_or(u64::MAX);
            line::number(out, r#""ms":"#, ms);
            out.push(b'.');
            line::padded(out, took.subsec_micros() % 1000, 3);
            line::member(out, r#""verdict":"#, verdict.as_str());
        }
        if self.is_hidden {
            out.extend_from_slice(b",\"hidden\":true");
        }
        out.extend_from_slice(self.part(Part::Code));
    }

    /// Appends parts. Those that stand behind each other are copied together, as most do.
    fn write_parts(&self, out: &mut Vec<u8>, parts: &[Part]) {
        let mut run = 0..0;
        for &part in parts {
            let (start, end) = self.spans.get(part as usize).copied().unwrap_or_default();
            if start != run.end && start < end {
                out.extend_from_slice(self.members.get(run).unwrap_or_default());
                run = start..end;
            } else if start < end {
                run.end = end;
            }
        }
        out.extend_from_slice(self.members.get(run).unwrap_or_default());
    }

    fn part(&self, part: Part) -> &[u8] {
        let span = self.spans.get(part as usize);
        span.and_then(|&(start, end)| self.members.get(start..end))
            .unwrap_or_default()
    }
}

// === impl Caller ===

impl Caller<'_> {
    fn write(&self, out: &mut Vec<u8>) {
        object(out, "caller", |out| {
            line::name(out, r#""kind":"#, self.kind);
            line::name(out, r#""name":"#, self.name);
            line::name(out, r#""token":"#, self.token);
            if let Some(ip) = self.ip {
                let comma: &[u8] = if out.last() == Some(&b'{') { b"" } else { b"," };
                out.extend_from_slice(comma);
                out.extend_from_slice(b"\"ip\":\"");
                line::address(out, ip);
                out.push(b'"');
            }
        });
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
