//! The lines of a response, as its rows come.

use std::{
    convert::Infallible,
    pin::pin,
    sync::Arc,
    time::{Duration, Instant},
};

use bytes::Bytes;
use futures_util::{
    Stream, TryStreamExt as _,
    future::{Either, select},
    stream,
};
use serde::Serialize;
use serde_json::json;
use tokio::time;
use ziggurat_audit::Verdict;
use ziggurat_calls::limits::{Left, Refused};
use ziggurat_layers::{sanitize::RequestId, shutdown::CutOffFuture};
use ziggurat_postgres::{
    error::QueryError,
    large_rows::LargeRowPermit,
    notices::Notice,
    rows::{ResultRow, Rows},
};
use ziggurat_text::Text;

use crate::{
    cell::write_row,
    checked::NotCommitted,
    columns,
    error_line::ErrorLine,
    prepare::{Demand, FutureRows, RunningStatement},
    stop::Stop,
};

/// Maximum number of rows of a piece.
const PIECE_ROWS: u64 = 500;

/// Size from which a piece is sent.
const PIECE_BYTES: usize = 64 << 10;

/// Time for which rows wait for others of their piece.
const PIECE_TIME: Duration = Duration::from_millis(50);

/// Message of a statement that the end of the server cuts off.
const SHUTTING_DOWN: &str = "the server is shutting down";

const BEFORE_ROWS: &str = r#"{"rows":["#;

/// The part of a response that comes next.
enum Stage {
    /// The line that says which statement runs.
    Start(FutureRows),
    /// The columns, once the statement has begun.
    Run(FutureRows),
    /// Rows, and the end.
    // Boxed: it is much larger than the others.
    Read(Box<Reader>),
}

/// A response in progress.
struct Response {
    running: RunningStatement,
    stage: Stage,
}

/// Reads rows into pieces.
struct Reader {
    rows: Rows,
    piece: Text,
    /// Rows of the piece.
    in_piece: u64,
    /// Rows and bytes before the piece.
    sent: u64,
    sent_bytes: u64,
    max_bytes: u64,
    left: Left,
    truncated: Option<&'static str>,
    /// The limit of the caller that ended the rows.
    refused: Option<Refused>,
    /// True once no more rows are sent, though the statement goes on.
    is_full: bool,
    /// The memory of a large row in the piece.
    permit: Option<Arc<LargeRowPermit>>,
}

/// The last line of a statement that ran.
#[derive(Serialize)]
struct Done<'a> {
    rows: u64,
    truncated: Option<&'static str>,
    command: Option<&'a str>,
    affected: Option<u64>,
    notices: &'a [Notice],
    ms: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    committed: Option<bool>,
    /// Null if there is no such statement.
    #[serde(skip_serializing_if = "Option::is_none")]
    undo: Option<serde_json::Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
}

/// Runs a prepared statement, and returns its lines.
pub(crate) fn lines(
    running: RunningStatement,
    rows: FutureRows,
    max_bytes: u64,
    cut_off: CutOffFuture,
) -> impl Stream<Item = Result<Bytes, Infallible>> + Send + 'static {
    let response = Response {
        running,
        stage: Stage::Start(rows),
    };
    stream::unfold(Some((response, cut_off)), move |rest| async move {
        let (response, mut cut_off) = rest?;
        let call = response.running.caller.call.clone();
        let next = pin!(call.or_cancelled(response.next(max_bytes)));
        let (line, rest) = match select(next, &mut cut_off).await {
            Either::Left((Ok(next), _)) => next,
            Either::Left((Err(cancelled), _)) => (stopped(cancelled.message()), None),
            Either::Right(_) => {
                call.note(Verdict::Cancelled);
                (stopped(SHUTTING_DOWN), None)
            }
        };
        let rest = rest.map(|mut rest| {
            if let Some(receipt) = &mut rest.running.receipt {
                receipt.add(&line);
            }
            (rest, cut_off)
        });
        Some((Ok(line), rest))
    })
}

// === impl Response ===

impl Response {
    /// Returns the next line, and the rest of the response.
    async fn next(self, max_bytes: u64) -> (Bytes, Option<Self>) {
        let mut running = self.running;
        match self.stage {
            Stage::Start(rows) => {
                let stage = Stage::Run(rows);
                (started(&running), Some(Self { running, stage }))
            }
            Stage::Run(rows) => match rows.await {
                Ok(rows) => {
                    let columns = columns::described(&running.current, rows.columns());
                    let line = line(&json!({"columns": columns}));
                    let reader = Reader::new(rows, max_bytes, running.left());
                    let stage = Stage::Read(Box::new(reader));
                    (line, Some(Self { running, stage }))
                }
                Err(error) => (failed(&mut running, error).await, None),
            },
            Stage::Read(mut reader) => match reader.read(&running).await {
                Ok(false) => {
                    let piece = reader.take(&running);
                    let stage = Stage::Read(reader);
                    (piece, Some(Self { running, stage }))
                }
                Ok(true) => {
                    running.finish();
                    (reader.end(&mut running).await, None)
                }
                Err(error) => (failed(&mut running, error).await, None),
            },
        }
    }
}

// === impl Reader ===

impl Reader {
    fn new(rows: Rows, max_bytes: u64, left: Left) -> Self {
        Self {
            rows,
            piece: Text::new(),
            in_piece: 0,
            sent: 0,
            sent_bytes: 0,
            max_bytes,
            left,
            truncated: None,
            refused: None,
            is_full: false,
            permit: None,
        }
    }

    /// Reads rows until the piece is large enough, none has come for a while, or they end. Returns
    /// whether they have ended.
    async fn read(&mut self, running: &RunningStatement) -> Result<bool, QueryError> {
        self.permit = None;
        let mut until = None;
        while self.in_piece < PIECE_ROWS && self.piece.len() < PIECE_BYTES && self.permit.is_none()
        {
            let next = self.rows.try_next();
            let next = match until {
                None => next.await?,
                Some(until) => match time::timeout_at(until, next).await {
                    Ok(next) => next?,
                    Err(_) => return Ok(false),
                },
            };
            let Some(row) = next else {
                self.note_end();
                return Ok(true);
            };
            if self.is_full {
                continue;
            }
            self.add(&row)?;
            if self.is_full && running.only_reads {
                // The rows are dropped, which cancels the statement.
                return Ok(true);
            }
            if until.is_none() && self.in_piece > 0 {
                until = Some(time::Instant::now() + PIECE_TIME);
            }
        }
        Ok(false)
    }

    /// Adds a row, unless it exceeds a limit.
    fn add(&mut self, row: &ResultRow) -> Result<(), QueryError> {
        let before = self.piece.mark();
        self.piece
            .push_json(if self.in_piece == 0 { BEFORE_ROWS } else { "," });
        write_row(&mut self.piece, row)?;
        let bytes = self.piece.len();
        let rows = self.sent + self.in_piece + 1;
        let total = self.sent_bytes + bytes as u64;
        let is_large = total > self.max_bytes && rows > 1;
        let refused = self.left.exceeded(self.in_piece + 1, bytes);
        if is_large || refused.is_some() {
            self.piece.cut(before);
            self.rows.leave_out();
            self.is_full = true;
            self.truncated = Some(match refused {
                Some(Refused::RowsPerDay { .. }) => "rows",
                _ => "bytes",
            });
            self.refused = refused;
            return Ok(());
        }
        self.in_piece += 1;
        self.permit = row.permit().cloned();
        Ok(())
    }

    /// Notes after the last row whether rows are missing.
    fn note_end(&mut self) {
        let Some(summary) = self.rows.summary() else {
            return;
        };
        if summary.oversized.is_some() {
            self.truncated = Some("bytes");
        } else if summary.has_more && self.truncated.is_none() {
            self.truncated = Some("rows");
        }
    }

    /// Takes the piece, and counts it for the limits of the caller.
    fn take(&mut self, running: &RunningStatement) -> Bytes {
        if self.in_piece == 0 {
            return Bytes::new();
        }
        let mut piece = std::mem::take(&mut self.piece);
        piece.push_json("]}\n");
        running.count(self.in_piece, piece.len());
        self.sent += self.in_piece;
        self.sent_bytes += piece.len() as u64;
        self.in_piece = 0;
        self.left = running.left();
        piece.into_bytes()
    }

    /// Returns the last rows and the last line.
    async fn end(mut self, running: &mut RunningStatement) -> Bytes {
        let rows = self.take(running);
        let summary = self.rows.summary();
        let is_command = self.rows.is_command();
        let (command, affected) = running.changes(summary, is_command);
        let count = affected.filter(|_| is_command).unwrap_or(self.sent);
        running.caller.call.set_rows(count);
        running.caller.call.note(Verdict::Ok);
        let mut notices = running.notices.take();
        notices.extend(self.refused.map(|refused| Notice {
            severity: "WARNING".to_owned(),
            message: format!("The rows end here. {refused}"),
            ..Notice::default()
        }));
        let undo = running.undo.as_ref().map(Result::as_ref);
        let mut last = json!({"done": Done {
            rows: self.sent,
            truncated: self.truncated,
            command: command.as_deref(),
            affected,
            notices: &notices,
            ms: milliseconds(running.began),
            committed: running.is_committed.then_some(true),
            undo: undo.map(|undo| json!(undo.ok())),
            reason: undo.and_then(|undo| undo.err().map(ToString::to_string)),
        }});
        if let Some(mut receipt) = running.receipt.take() {
            receipt.add(&rows);
            receipt.close(&mut last["done"], &running.caller).await;
        }
        [rows, line(&last)].concat().into()
    }
}

fn started(running: &RunningStatement) -> Bytes {
    let database = running.current.database();
    let listed = running.caller.call.entry_id();
    let id = listed.unwrap_or_else(|| RequestId::generate().to_string());
    line(&json!({"started": {
        "id": id,
        "database": database.name(),
        "read_only": !database.allows_writes(),
    }}))
}

/// Returns the last line of a statement that failed.
async fn failed(running: &mut RunningStatement, error: QueryError) -> Bytes {
    running.finish();
    let (error, stop) = match running.demand(&error) {
        None => (error, None),
        Some(Demand::Known(demand)) => (error, Some(Stop::Confirm(demand))),
        // Boxed: rare, and large.
        Some(Demand::Preview(checked)) => match Box::pin(checked.demand(running)).await {
            NotCommitted::Stopped(stop) => (error, Some(stop)),
            NotCommitted::Failed(error) => (error, None),
        },
    };
    let mut shown = ErrorLine::new(&error, &running.current, running.lead);
    match stop {
        None => running.fail(&error),
        Some(stop) => shown.stop(stop),
    }
    line(&json!({"error": shown}))
}

/// Returns the last line of a statement that was stopped.
fn stopped(message: &str) -> Bytes {
    line(&json!({"error": ErrorLine::cancelled(message)}))
}

fn line(json: &serde_json::Value) -> Bytes {
    format!("{json}\n").into()
}

/// Returns the milliseconds since a moment, with three digits behind the point.
fn milliseconds(began: Instant) -> f64 {
    (began.elapsed().as_secs_f64() * 1e6).round() / 1e3
}
