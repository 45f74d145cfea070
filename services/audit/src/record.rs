//! Records of calls.

use std::{
    mem,
    net::IpAddr,
    time::{Duration, Instant},
};

use jiff::Timestamp;
use ziggurat_text::scan;

use crate::{CallEnd, CallStart, StatementForm, Verdict, chain::Sha, line, statement};

/// Maximum number of characters of a name.
const MAX_NAME: usize = 256;

/// Maximum number of characters of the arguments of a tool; longer ones become a text.
const MAX_ARGUMENTS: usize = 8192;

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
    CallerToken,
    ClientName,
    ClientVersion,
    Method,
    Tool,
    Pipeline,
    Database,
    Role,
    Statement,
    Arguments,
    Code,
}

/// Number of [`Field`]s.
const FIELDS: usize = Field::Code as usize + 1;

/// A record in progress.
///
/// It keeps texts as they are given. Their line is made when it is written: for many records
/// together that is faster than in each call.
pub(crate) struct Record {
    /// Kind of its line, such as `call`.
    pub(crate) kind: &'static str,
    /// All texts behind each other, so that most records need one allocation for them.
    texts: String,
    /// Start and end of each text, small because records move between processors.
    spans: [(u32, u32); FIELDS],
    /// Length of the first texts that need no escape.
    plain: usize,
    ip: Option<IpAddr>,
    /// Digest of the statement, and the form that its text is yet to get.
    statement: Option<(Sha, StatementForm)>,
    /// True if the arguments are the start of longer ones.
    are_arguments_cut: bool,
    begun: Instant,
    rows: Option<u64>,
    bytes: u64,
    /// Number of events that it stands for, if there is more than one.
    repeated: Option<u64>,
    /// True if the caller does not see what it named.
    pub(crate) is_hidden: bool,
    /// Sequence number of its `open` line.
    pub(crate) open: Option<u64>,
    /// Time of its line, which is that of the end of a call.
    at: Option<Timestamp>,
    took: Option<Duration>,
    verdict: Option<Verdict>,
}

// === impl Field ===

impl Field {
    /// Returns the name of its member, as in JSON.
    fn key(self) -> &'static str {
        match self {
            Self::RequestId => r#""request_id":"#,
            Self::TraceId => r#""trace_id":"#,
            Self::Transport => r#""transport":"#,
            Self::Face => r#""face":"#,
            Self::Revision => r#""revision":"#,
            Self::CallerKind => r#""kind":"#,
            Self::CallerName | Self::ClientName => r#""name":"#,
            Self::CallerToken => r#""token":"#,
            Self::ClientVersion => r#""version":"#,
            Self::Method => r#""method":"#,
            Self::Tool => r#""tool":"#,
            Self::Pipeline => r#""pipeline":"#,
            Self::Database => r#""database":"#,
            Self::Role => r#""role":"#,
            Self::Statement => r#""statement":"#,
            Self::Arguments => r#""arguments":"#,
            Self::Code => r#""code":"#,
        }
    }
}

// === impl Record ===

impl Record {
    pub(crate) fn new(kind: &'static str, start: &CallStart<'_>) -> Self {
        let mut record = Self::empty(kind, String::new());
        record.begin(kind, start);
        record
    }

    /// Returns the record of a token that is refused now.
    pub(crate) fn denied(start: &CallStart<'_>) -> Self {
        Self {
            at: Some(Timestamp::now()),
            ..Self::new("denied", start)
        }
    }

    /// Returns the record of an event of the trail that happens now.
    pub(crate) fn event(
        kind: &'static str,
        verdict: Option<Verdict>,
        repeated: Option<u64>,
    ) -> Self {
        Self {
            verdict,
            repeated,
            at: Some(Timestamp::now()),
            ..Self::empty(kind, String::new())
        }
    }

    fn empty(kind: &'static str, texts: String) -> Self {
        Self {
            kind,
            texts,
            spans: [(0, 0); FIELDS],
            plain: 0,
            ip: None,
            statement: None,
            are_arguments_cut: false,
            begun: Instant::now(),
            rows: None,
            bytes: 0,
            repeated: None,
            is_hidden: false,
            open: None,
            at: None,
            took: None,
            verdict: None,
        }
    }

    /// Replaces what was recorded by the start of another call, and keeps the memory.
    pub(crate) fn begin(&mut self, kind: &'static str, start: &CallStart<'_>) {
        let mut texts = mem::take(&mut self.texts);
        texts.clear();
        texts.reserve(512);
        *self = Self::empty(kind, texts);
        self.ip = start.caller.ip;
        for (field, text) in [
            (Field::RequestId, start.request_id),
            (Field::TraceId, start.trace_id),
            (Field::Transport, start.transport),
            (Field::Face, start.face),
            (Field::Revision, start.revision),
            (Field::CallerKind, start.caller.kind),
            (Field::CallerName, start.caller.name),
            (Field::CallerToken, start.caller.token),
            (Field::ClientName, start.client_name),
            (Field::ClientVersion, start.client_version),
            (Field::Method, start.method),
            (Field::Tool, start.tool),
            (Field::Pipeline, start.pipeline),
        ] {
            self.set(field, text);
        }
        // Most are plain, and one search finds that out for all of them.
        if scan::is_plain(self.texts.as_bytes()) {
            self.plain = self.texts.len();
        }
    }

    /// Returns the size of its memory.
    pub(crate) fn capacity(&self) -> usize {
        self.texts.capacity()
    }

    /// Sets a name, which is cut.
    pub(crate) fn set(&mut self, field: Field, name: &str) {
        self.put(field, line::cut(name, MAX_NAME));
    }

    /// Sets the statement in one of its forms.
    pub(crate) fn set_statement(&mut self, form: StatementForm, text: &str) {
        let (form_left, kept) = statement::kept(form, text);
        self.put(Field::Statement, &kept);
        self.statement =
            (form != StatementForm::None).then(|| (Sha::digest(text.as_bytes()), form_left));
    }

    /// Sets the arguments, which are JSON. Long ones become a text and are cut.
    pub(crate) fn set_arguments(&mut self, json: &str) {
        let cut = line::cut(json, MAX_ARGUMENTS);
        self.put(Field::Arguments, cut);
        self.are_arguments_cut = cut.len() < json.len();
    }

    fn put(&mut self, field: Field, text: &str) {
        let start = position(self.texts.len());
        self.texts.push_str(text);
        if let Some(span) = self.spans.get_mut(field as usize) {
            *span = (start, position(self.texts.len()));
        }
    }

    /// Notes the end, unless there is one already. Returns whether it is the first.
    pub(crate) fn end(&mut self, end: &CallEnd<'_>) -> bool {
        let is_first = !self.has_ended();
        if is_first {
            if !end.database.is_empty() {
                self.set(Field::Database, end.database);
            }
            if !end.code.is_empty() {
                self.set(Field::Code, end.code);
            }
            self.rows = end.rows;
            self.bytes = end.bytes;
            self.at = Some(Timestamp::now());
            self.took = Some(self.begun.elapsed());
            self.verdict = Some(end.verdict);
        }
        is_first
    }

    pub(crate) fn has_ended(&self) -> bool {
        self.verdict.is_some()
    }

    /// Returns the time of its line.
    pub(crate) fn at(&self) -> Timestamp {
        self.at.unwrap_or_else(Timestamp::now)
    }

    /// Appends the members of an `open` line.
    pub(crate) fn write_open(&self, out: &mut Vec<u8>) {
        self.write_texts(out, &[Field::RequestId]);
        self.write_caller(out);
        self.write_texts(
            out,
            &[Field::Method, Field::Tool, Field::Pipeline, Field::Database],
        );
        if let Some((digest, _)) = &self.statement {
            statement::write(out, digest, StatementForm::Digest, "");
        }
    }

    /// Appends the members of the line at the end.
    pub(crate) fn write_all(&self, out: &mut Vec<u8>) {
        self.write_texts(
            out,
            &[
                Field::RequestId,
                Field::TraceId,
                Field::Transport,
                Field::Face,
                Field::Revision,
            ],
        );
        self.write_caller(out);
        object(out, "client", |out| {
            self.write_texts(out, &[Field::ClientName, Field::ClientVersion]);
        });
        self.write_texts(
            out,
            &[
                Field::Method,
                Field::Tool,
                Field::Pipeline,
                Field::Database,
                Field::Role,
            ],
        );
        if let Some((digest, form)) = &self.statement {
            statement::write(out, digest, *form, self.text(Field::Statement));
        }
        self.write_arguments(out);
        for (key, value) in [
            (r#""rows":"#, self.rows),
            (r#""bytes":"#, Some(self.bytes).filter(|bytes| *bytes > 0)),
            (r#""repeated":"#, self.repeated),
        ] {
            if let Some(value) = value {
                line::number(out, key, value);
            }
        }
        if let Some(took) = self.took {
            let ms = u64::try_from(took.as_millis()).unwrap_or(u64::MAX);
            line::number(out, r#""ms":"#, ms);
            out.push(b'.');
            line::padded(out, took.subsec_micros() % 1000, 3);
        }
        line::member(
            out,
            r#""verdict":"#,
            self.verdict.map_or("", Verdict::as_str),
        );
        if self.is_hidden {
            out.extend_from_slice(b",\"hidden\":true");
        }
        self.write_texts(out, &[Field::Code]);
    }

    fn write_texts(&self, out: &mut Vec<u8>, fields: &[Field]) {
        for &field in fields {
            let (text, end) = self.text_and_end(field);
            if end <= self.plain {
                line::plain(out, field.key(), text);
            } else {
                line::member(out, field.key(), text);
            }
        }
    }

    fn write_caller(&self, out: &mut Vec<u8>) {
        object(out, "caller", |out| {
            self.write_texts(
                out,
                &[Field::CallerKind, Field::CallerName, Field::CallerToken],
            );
            if let Some(ip) = self.ip {
                line::address(out, r#""ip":"#, ip);
            }
        });
    }

    fn write_arguments(&self, out: &mut Vec<u8>) {
        let arguments = self.text(Field::Arguments);
        if self.are_arguments_cut {
            line::member(out, Field::Arguments.key(), arguments);
        } else if !arguments.is_empty() {
            out.push(b',');
            out.extend_from_slice(Field::Arguments.key().as_bytes());
            line::json(out, arguments);
        }
    }

    /// Returns a text and its end among all texts.
    fn text_and_end(&self, field: Field) -> (&str, usize) {
        let (start, end) = self.spans.get(field as usize).copied().unwrap_or_default();
        let [start, end] = [start, end].map(|it| usize::try_from(it).unwrap_or(usize::MAX));
        (self.texts.get(start..end).unwrap_or_default(), end)
    }

    fn text(&self, field: Field) -> &str {
        self.text_and_end(field).0
    }
}

/// Returns a position in the texts, which are cut far below four gigabytes.
fn position(length: usize) -> u32 {
    length.try_into().unwrap_or(u32::MAX)
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
