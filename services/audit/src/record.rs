//! Records of calls.

use std::{
    mem,
    time::{Duration, Instant},
};

use jiff::Timestamp;
use ziggurat_layers::sanitize::RequestId;

use crate::{CallEnd, CallStart, StatementForm, Verdict, chain::Sha, line, statement};

/// Maximum number of characters of a name.
const MAX_NAME: usize = 256;

/// Maximum number of characters of the arguments of a tool; longer ones become a text.
const MAX_ARGUMENTS: usize = 8192;

/// Texts of a record that are set after its start.
#[derive(Clone, Copy)]
pub(crate) enum Field {
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
/// Members that are known at the start are written at once. Other texts are kept as they are given,
/// and their members are made when the line is written: for many records together that is faster
/// than in each call.
pub(crate) struct Record {
    /// Kind of its line, such as `call`.
    pub(crate) kind: &'static str,
    /// Members that are known at the start, in the order of a line.
    start: Vec<u8>,
    /// Members of `start` that an `open` line has, too.
    in_open: OpenMembers,
    /// All other texts behind each other, so that most records need one allocation for them.
    texts: String,
    /// Start and end of each text, small because records move between processors.
    spans: [(u32, u32); FIELDS],
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

/// Places in the start of a record: the members that an `open` line has, too.
#[derive(Clone, Copy, Default)]
struct OpenMembers {
    /// End of the id of the request, which comes first.
    request_id: u32,
    /// Start and end of the caller.
    caller: (u32, u32),
    /// Start of the method and what it is called for, which come last.
    method: u32,
}

// === impl Record ===

impl Record {
    pub(crate) fn new(kind: &'static str, start: &CallStart<'_>) -> Self {
        let mut record = Self::empty(kind);
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
            ..Self::empty(kind)
        }
    }

    fn empty(kind: &'static str) -> Self {
        Self {
            kind,
            start: Vec::new(),
            in_open: OpenMembers::default(),
            texts: String::new(),
            spans: [(0, 0); FIELDS],
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
        let (mut members, mut texts) = (mem::take(&mut self.start), mem::take(&mut self.texts));
        members.clear();
        members.reserve(512);
        texts.clear();
        let in_open = write_start(&mut members, start);
        *self = Self {
            start: members,
            in_open,
            texts,
            ..Self::empty(kind)
        };
    }

    /// Returns the size of its memory.
    pub(crate) fn capacity(&self) -> usize {
        self.start.capacity() + self.texts.capacity()
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
        let OpenMembers {
            request_id,
            caller,
            method,
        } = self.in_open;
        for (start, end) in [
            (0, request_id),
            caller,
            (method, position(self.start.len())),
        ] {
            let members = self.start.get(place(start)..place(end));
            out.extend_from_slice(members.unwrap_or_default());
        }
        self.write_database(out);
        if let Some((digest, _)) = &self.statement {
            statement::write(out, digest, StatementForm::Digest, "");
        }
    }

    /// Appends the members of the line at the end.
    pub(crate) fn write_all(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.start);
        self.write_database(out);
        line::member(out, br#","role":""#, self.text(Field::Role));
        if let Some((digest, form)) = &self.statement {
            statement::write(out, digest, *form, self.text(Field::Statement));
        }
        self.write_arguments(out);
        if let Some(rows) = self.rows {
            line::number(out, br#","rows":"#, rows);
        }
        if self.bytes > 0 {
            line::number(out, br#","bytes":"#, self.bytes);
        }
        if let Some(repeated) = self.repeated {
            line::number(out, br#","repeated":"#, repeated);
        }
        if let Some(took) = self.took {
            let ms = u64::try_from(took.as_millis()).unwrap_or(u64::MAX);
            line::number(out, br#","ms":"#, ms);
            out.push(b'.');
            line::digits::<3>(out, took.subsec_micros());
        }
        let verdict = self.verdict.map_or("", Verdict::as_str);
        line::plain(out, br#","verdict":""#, verdict);
        if self.is_hidden {
            out.extend_from_slice(b",\"hidden\":true");
        }
        line::member(out, br#","code":""#, self.text(Field::Code));
    }

    fn write_database(&self, out: &mut Vec<u8>) {
        line::member(out, br#","database":""#, self.text(Field::Database));
    }

    fn write_arguments(&self, out: &mut Vec<u8>) {
        let arguments = self.text(Field::Arguments);
        if self.are_arguments_cut {
            line::member(out, br#","arguments":""#, arguments);
        } else if !arguments.is_empty() {
            out.extend_from_slice(br#","arguments":"#);
            line::json(out, arguments);
        }
    }

    fn text(&self, field: Field) -> &str {
        let (start, end) = self.spans.get(field as usize).copied().unwrap_or_default();
        let text = self.texts.get(place(start)..place(end));
        text.unwrap_or_default()
    }
}

/// Appends the members that are known at the start of a call. Returns the places of those of an
/// `open` line.
fn write_start(out: &mut Vec<u8>, start: &CallStart<'_>) -> OpenMembers {
    let id = start.request_id.map_or("", RequestId::as_str);
    line::plain(out, br#","request_id":""#, id);
    let request_id = position(out.len());
    name(out, br#","trace_id":""#, start.trace_id);
    line::plain(out, br#","transport":""#, start.transport);
    line::plain(out, br#","face":""#, start.face);
    line::plain(out, br#","revision":""#, start.revision);
    let caller = position(out.len());
    line::object(out, br#","caller":"#, |out| {
        line::plain(out, br#","kind":""#, start.caller.kind);
        name(out, br#","name":""#, start.caller.name);
        name(out, br#","token":""#, start.caller.token);
        if let Some(ip) = start.caller.ip {
            line::address(out, br#","ip":""#, ip);
        }
    });
    let caller = (caller, position(out.len()));
    line::object(out, br#","client":"#, |out| {
        name(out, br#","name":""#, start.client_name);
        name(out, br#","version":""#, start.client_version);
    });
    let method = position(out.len());
    name(out, br#","method":""#, start.method);
    name(out, br#","tool":""#, start.tool);
    name(out, br#","pipeline":""#, start.pipeline);
    OpenMembers {
        request_id,
        caller,
        method,
    }
}

/// Appends a name, which is cut.
#[inline]
fn name<const N: usize>(out: &mut Vec<u8>, key: &[u8; N], name: &str) {
    line::member(out, key, line::cut(name, MAX_NAME));
}

/// Returns a position in texts, which are cut far below four gigabytes.
fn position(length: usize) -> u32 {
    length.try_into().unwrap_or(u32::MAX)
}

/// Returns a position as an index.
fn place(position: u32) -> usize {
    position.try_into().unwrap_or(usize::MAX)
}
