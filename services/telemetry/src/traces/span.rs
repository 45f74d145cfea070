//! Spans of calls, statements and providers. Each has only the attributes that may leave the program.

use std::{fmt, sync::Arc};

use crate::traces::{
    Trace, TraceParent,
    parent::Context,
    record::{self, Record},
    tracer::Clock,
};

/// First words of statements. Any other one could be a value, and PostgreSQL runs none of them.
const COMMANDS: &str = "ABORT ALTER ANALYZE BEGIN CALL CHECKPOINT CLOSE CLUSTER COMMENT COMMIT COPY \
    CREATE DEALLOCATE DECLARE DELETE DISCARD DO DROP END EXECUTE EXPLAIN FETCH GRANT IMPORT INSERT \
    LISTEN LOAD LOCK MERGE MOVE NOTIFY PREPARE REASSIGN REFRESH REINDEX RELEASE RESET REVOKE \
    ROLLBACK SAVEPOINT SECURITY SELECT SET SHOW START TABLE TRUNCATE UNLISTEN UPDATE VACUUM VALUES \
    WITH";

/// Transport that carries a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transport {
    /// HTTP.
    Tcp,
    /// Standard input and output.
    Pipe,
}

/// Span of a call. It ends when it is dropped.
#[derive(Debug, Default)]
#[must_use = "a span ends when it is dropped"]
pub struct ServerSpan {
    trace: Trace,
    recorder: Option<Recorder>,
}

/// Span of a statement, below the span of its call. It ends when it is dropped.
#[derive(Debug)]
#[must_use = "a span ends when it is dropped"]
pub struct StatementSpan {
    own: Option<TraceParent>,
    recorder: Option<Recorder>,
}

/// Span of a request to a provider, below the span of its call. It ends when it is dropped.
#[derive(Debug, Default)]
#[must_use = "a span ends when it is dropped"]
pub struct ProviderSpan {
    /// The context that the provider gets.
    sent: Option<Context>,
    recorder: Option<Recorder>,
}

/// Span that is recorded. When it is dropped it goes to the queue.
pub(super) struct Recorder {
    /// Present until the drop.
    record: Option<Box<Record>>,
    clock: Arc<Clock>,
}

// === impl ServerSpan ===

impl ServerSpan {
    pub(super) const fn new(trace: Trace, recorder: Option<Recorder>) -> Self {
        Self { trace, recorder }
    }

    /// Returns the context for the code that the call runs.
    #[must_use]
    pub const fn trace(&self) -> &Trace {
        &self.trace
    }

    /// Marks the call as one of the Model Context Protocol, with the method that it began with.
    pub fn set_mcp(&mut self, protocol_version: &str, request_id: Option<impl fmt::Display>) {
        if let Some(record) = record(&mut self.recorder) {
            let method = record::Value::from(record.name.split(' ').next().unwrap_or_default());
            record.set("mcp.method.name", method);
            record.set("mcp.protocol.version", protocol_version);
            if let Some(id) = request_id {
                record.set("jsonrpc.request.id", &*id.to_string());
            }
        }
    }

    /// Sets the tool, once.
    pub fn set_tool(&mut self, tool: &str) {
        if let Some(record) = record(&mut self.recorder) {
            record.name.push(' ');
            record.name.push_str(record::cut(tool));
            record.set("gen_ai.tool.name", tool);
            record.set("gen_ai.operation.name", "execute_tool");
        }
    }

    /// Sets the transport.
    pub fn set_transport(&mut self, transport: Transport) {
        let transport = match transport {
            Transport::Tcp => "tcp",
            Transport::Pipe => "pipe",
        };
        set(&mut self.recorder, "network.transport", transport);
    }

    /// Sets the database that the call used.
    pub fn set_database(&mut self, database: &str) {
        set(&mut self.recorder, "ziggurat.database", database);
    }

    /// Sets the end of the call in the words of the audit trail.
    pub fn set_verdict(&mut self, verdict: &str) {
        set(&mut self.recorder, "ziggurat.verdict", verdict);
    }

    /// Sets the number of rows of the result.
    pub fn set_rows(&mut self, rows: u64) {
        set(&mut self.recorder, "ziggurat.rows", rows);
    }

    /// Marks the call as failed: `tool_error`, or the code of the error.
    pub fn set_error(&mut self, error_type: &str) {
        fail(&mut self.recorder, "error.type", error_type);
    }
}

// === impl StatementSpan ===

impl StatementSpan {
    pub(super) fn new(
        own: Option<TraceParent>,
        mut recorder: Option<Recorder>,
        database: &str,
        statement: &str,
    ) -> Self {
        if let Some(record) = record(&mut recorder) {
            record.set("db.system.name", "postgresql");
            record.set("db.namespace", database);
            if let Some(word) = first_word(statement) {
                record.set("db.query.summary", word);
            }
        }
        Self { own, recorder }
    }

    /// Returns the span, for the comment of the statement; `None` without traces.
    #[must_use]
    pub const fn traceparent(&self) -> Option<TraceParent> {
        self.own
    }

    /// Marks the statement as failed with an SQLSTATE.
    pub fn set_status_code(&mut self, sqlstate: &str) {
        fail(&mut self.recorder, "db.response.status_code", sqlstate);
    }

    /// Marks the statement as failed without an answer of the database, such as by a `timeout`.
    pub fn set_error(&mut self, error_type: &str) {
        fail(&mut self.recorder, "error.type", error_type);
    }
}

// === impl ProviderSpan ===

impl ProviderSpan {
    pub(super) const fn new(sent: Option<Context>, recorder: Option<Recorder>) -> Self {
        Self { sent, recorder }
    }

    /// Returns the `traceparent` and the `tracestate` that the provider gets; `None` without
    /// traces, or if the settings do not propagate them to providers.
    #[must_use]
    pub fn sent(&self) -> Option<(TraceParent, Option<&str>)> {
        let sent = self.sent.as_ref()?;
        Some((sent.parent, sent.state.as_deref()))
    }

    /// Marks the request as failed: a status, or a word such as `timeout`.
    pub fn set_error(&mut self, error_type: &str) {
        fail(&mut self.recorder, "error.type", error_type);
    }
}

// === impl Recorder ===

impl Recorder {
    pub(super) fn new(record: Record, clock: Arc<Clock>) -> Self {
        let record = Some(Box::new(record));
        Self { record, clock }
    }
}

impl fmt::Debug for Recorder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Recorder").finish_non_exhaustive()
    }
}

impl Drop for Recorder {
    fn drop(&mut self) {
        if let Some(mut record) = self.record.take() {
            record.end_time_unix_nano = self.clock.now();
            self.clock.queue.push(record);
        }
    }
}

fn record(recorder: &mut Option<Recorder>) -> Option<&mut Record> {
    recorder.as_mut()?.record.as_deref_mut()
}

fn set(recorder: &mut Option<Recorder>, key: &'static str, value: impl Into<record::Value>) {
    if let Some(record) = record(recorder) {
        record.set(key, value);
    }
}

fn fail(recorder: &mut Option<Recorder>, key: &'static str, value: &str) {
    if let Some(record) = record(recorder) {
        record.set(key, value);
        record.fail();
    }
}

/// Returns the first word of a statement, which is no name and no value.
fn first_word(statement: &str) -> Option<&'static str> {
    let statement = statement.trim_start();
    let mut words = statement.split(|next: char| !next.is_alphanumeric() && next != '_');
    let word = words.next()?;
    let mut commands = COMMANDS.split(' ');
    commands.find(|command| command.eq_ignore_ascii_case(word))
}
