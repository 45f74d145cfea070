//! Records of calls.

pub(crate) mod arguments;
pub(crate) mod statement;

use std::{
    mem,
    net::IpAddr,
    ops::Range,
    time::{Duration, Instant},
};

use jiff::Timestamp;
use ziggurat_text::scan;

use crate::{
    CallEnd, CallStart, StatementForm, StatementPlace, Verdict,
    draft::statement::Statement,
    line::{self, chain::Hex},
};

/// Maximum number of characters of a name.
const MAX_NAME: usize = 256;

/// Maximum number of characters of the arguments of a tool; longer ones become a text.
const MAX_ARGUMENTS: usize = 8192;

/// Texts of a record that are set after its start.
#[derive(Clone, Copy)]
pub(crate) enum Field {
    Database,
    Role,
    Identity,
    Statement,
    Arguments,
    Write,
    Code,
    /// Members of its own, JSON without braces.
    Members,
}

/// Number of [`Field`]s.
const FIELDS: usize = Field::Members as usize + 1;

/// Keys of the texts that are known at the start, in the order of a line.
const START_KEYS: [&str; 13] = [
    r#","request_id":""#,
    r#","trace_id":""#,
    r#","transport":""#,
    r#","endpoint":""#,
    r#","revision":""#,
    r#","kind":""#,
    r#","name":""#,
    r#","token":""#,
    r#","name":""#,
    r#","version":""#,
    r#","method":""#,
    r#","tool":""#,
    r#","pipeline":""#,
];

/// Number of [`START_KEYS`].
const STARTS: usize = START_KEYS.len();

/// Place of the id of the request in [`START_KEYS`].
const REQUEST_ID: Range<usize> = 0..1;

/// Places of what stands before the caller.
const REQUEST: Range<usize> = 0..5;

/// Places of the members of `caller`.
const CALLER: Range<usize> = 5..8;

/// Places of the members of `client`.
const CLIENT: Range<usize> = 8..10;

/// Places of the method and what it is called for.
const METHOD: Range<usize> = 10..STARTS;

/// A record in progress.
///
/// It keeps texts as they are given, and the writer makes their members. The code for that is then in
/// the cache of the processor for all records of a batch but the first, and in a call it never is.
pub(crate) struct Draft {
    /// Kind of its line, such as `call`.
    pub(crate) kind: &'static str,
    /// All texts behind each other, so that most records need one allocation for them.
    texts: String,
    /// Ends of the texts that are known at the start, which come first.
    start_ends: [u16; STARTS],
    /// Start and end of each other text, small because records move between processors.
    spans: [(u32, u32); FIELDS],
    ip: Option<IpAddr>,
    statement: Statement,
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
    /// True if the link of that line is kept.
    pub(crate) keeps_link: bool,
    pub(crate) open_link: Option<Box<Hex>>,
    /// Time of its line; for a call, the time of its end.
    at: Option<Timestamp>,
    took: Option<Duration>,
    verdict: Option<Verdict>,
}

// === impl Draft ===

impl Draft {
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

    /// Returns the record of an event of a sign-in that happens now, with these members, which are
    /// JSON without braces.
    pub(crate) fn sign_in(start: &CallStart<'_>, members: &str) -> Self {
        let mut record = Self {
            at: Some(Timestamp::now()),
            ..Self::new("sign_in", start)
        };
        record.put(Field::Members, members);
        record
    }

    fn empty(kind: &'static str) -> Self {
        Self {
            kind,
            texts: String::new(),
            start_ends: [0; STARTS],
            spans: [(0, 0); FIELDS],
            ip: None,
            statement: Statement::None,
            are_arguments_cut: false,
            begun: Instant::now(),
            rows: None,
            bytes: 0,
            repeated: None,
            is_hidden: false,
            open: None,
            keeps_link: false,
            open_link: None,
            at: None,
            took: None,
            verdict: None,
        }
    }

    /// Replaces the content with the start of another call, and keeps the memory.
    pub(crate) fn begin(&mut self, kind: &'static str, start: &CallStart<'_>) {
        let mut texts = mem::take(&mut self.texts);
        texts.clear();
        texts.reserve(256);
        let mut start_ends = [0; STARTS];
        for (end, text) in start_ends.iter_mut().zip(start_texts(start)) {
            texts.push_str(line::cut(text, MAX_NAME));
            // They are cut far below 64 KiB.
            *end = texts.len().try_into().unwrap_or(u16::MAX);
        }
        *self = Self {
            texts,
            start_ends,
            ip: start.caller.ip,
            ..Self::empty(kind)
        };
    }

    /// Returns the size of its memory.
    pub(crate) fn capacity(&self) -> usize {
        self.texts.capacity()
    }

    /// Sets the members that only some records have, as JSON without braces.
    pub(crate) fn set_members(&mut self, members: &str) {
        self.put(Field::Members, members);
    }

    /// Sets a name, which is cut.
    pub(crate) fn set(&mut self, field: Field, name: &str) {
        self.put(field, line::cut(name, MAX_NAME));
    }

    /// Sets the statement at a place of a text, in one of its forms.
    pub(crate) fn set_statement(
        &mut self,
        form: StatementForm,
        text: &str,
        place: StatementPlace,
        has_open_line: bool,
    ) {
        let (statement, kept) = Statement::keep(form, text, place, has_open_line);
        self.put(Field::Statement, &kept);
        self.statement = statement;
    }

    /// Sets the arguments, which are JSON. Long ones become a text and are cut.
    pub(crate) fn set_arguments(&mut self, json: &str) {
        let cut = line::cut(json, MAX_ARGUMENTS);
        self.put(Field::Arguments, cut);
        self.are_arguments_cut = cut.len() < json.len();
    }

    /// Sets what a checked statement changes, which is a JSON object.
    pub(crate) fn set_write(&mut self, json: &str) {
        self.put(Field::Write, json);
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
        let is_plain = self.is_start_plain();
        self.write_start(out, REQUEST_ID, is_plain);
        self.write_caller(out, is_plain);
        self.write_start(out, METHOD, is_plain);
        self.write_database(out);
        let kept = self.text(Field::Statement);
        self.statement.write_digest(out, kept);
    }

    /// Appends the members of the line at the end.
    pub(crate) fn write_all(&self, out: &mut Vec<u8>) {
        let is_plain = self.is_start_plain();
        self.write_start(out, REQUEST, is_plain);
        self.write_caller(out, is_plain);
        line::object(out, br#","client":"#, |out| {
            self.write_start(out, CLIENT, is_plain);
        });
        self.write_start(out, METHOD, is_plain);
        self.write_database(out);
        line::member(out, br#","role":""#, self.text(Field::Role));
        line::member(out, br#","identity":""#, self.text(Field::Identity));
        self.statement.write(out, self.text(Field::Statement));
        self.write_arguments(out);
        let write = self.text(Field::Write);
        if !write.is_empty() {
            out.extend_from_slice(br#","write":"#);
            line::json(out, write);
        }
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
        let members = self.text(Field::Members);
        if !members.is_empty() {
            out.push(b',');
            line::json(out, members);
        }
    }

    /// Returns whether no text that was known at the start needs an escape, as nearly always: one
    /// search for all of them takes less than one for each.
    fn is_start_plain(&self) -> bool {
        let [.., end] = self.start_ends;
        let texts = self.texts.as_bytes().get(..usize::from(end));
        texts.is_some_and(scan::is_plain)
    }

    /// Appends members that were known at the start.
    fn write_start(&self, out: &mut Vec<u8>, places: Range<usize>, is_plain: bool) {
        let before = places.start.checked_sub(1);
        let mut start = before.map_or(0, |before| usize::from(self.start_ends[before]));
        let keys = START_KEYS[places.clone()].iter();
        for (key, &end) in keys.zip(&self.start_ends[places]) {
            let span = start..usize::from(end);
            start = span.end;
            if !span.is_empty() {
                out.extend_from_slice(key.as_bytes());
                if is_plain {
                    out.extend_from_slice(&self.texts.as_bytes()[span]);
                } else {
                    line::text(out, &self.texts[span]);
                }
                out.push(b'"');
            }
        }
    }

    fn write_caller(&self, out: &mut Vec<u8>, is_plain: bool) {
        line::object(out, br#","caller":"#, |out| {
            self.write_start(out, CALLER, is_plain);
            if let Some(ip) = self.ip {
                line::address(out, br#","ip":""#, ip);
            }
        });
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

/// Returns the texts of [`START_KEYS`].
fn start_texts<'a>(start: &CallStart<'a>) -> [&'a str; STARTS] {
    [
        start.request_id,
        start.trace_id,
        start.transport,
        start.endpoint,
        start.revision,
        start.caller.kind,
        start.caller.name,
        start.caller.token,
        start.client_name,
        start.client_version,
        start.method,
        start.tool,
        start.pipeline,
    ]
}

/// Returns a position in texts, which are cut far below four gigabytes.
fn position(length: usize) -> u32 {
    length.try_into().unwrap_or(u32::MAX)
}

/// Returns a position as an index.
fn place(position: u32) -> usize {
    position.try_into().unwrap_or(usize::MAX)
}
