//! Connections to PostgreSQL, by version 3.0 of its protocol.
//!
//! A [`Client`] sends messages and reads the answers as `Event`s. Several messages may be queued
//! and sent in one write. It does not depend on pools, transactions and callers.
//!
//! The published drivers lack features that the pool needs: rows that are skipped by their length
//! while they are read, one budget of memory for the large rows of all connections, and a deadline
//! for all answers to a statement. Messages are encoded,
//! decoded and authenticated by `postgres-protocol`, and `rustls` does TLS.
//!
//! # Limits
//!
//! A row larger than `max_row_bytes` is never in memory: its bytes are read and dropped, and
//! `Event::Oversized` replaces it. The texts of a long error or notice are cut as they are read. Any
//! other message larger than `MAX_MESSAGE` ends the connection.
//!
//! # Cancellation
//!
//! The future of every method may be dropped. The connection is then in the middle of an answer,
//! and `drain` reads to its end.

mod auth;
mod cancel;
mod command;
mod encode;
mod error;
mod long_message;
mod options;
pub mod query;
mod row;
mod socket;
mod startup;
#[cfg(test)]
mod tests;
mod tls;
mod tunnel;

use std::{future::poll_fn, io, mem, pin::pin, sync::Arc, task::Poll, time::Duration};

use bytes::{Buf as _, BytesMut};
use fallible_iterator::FallibleIterator as _;
use postgres_protocol::message::backend::{Header, Message};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    time::{self, Instant},
};

pub use self::{
    auth::{RequireAuth, UnknownAuth},
    command::{CommandFailure, CommandLine},
    error::{DriverError, ServerError},
    tls::{MinTls, SslMode, UnknownSslMode, UnknownTls},
};
pub(crate) use self::{
    cancel::CancelKey,
    command::{Running, ending},
    options::{ConnectOptions, Endpoint},
    row::Field,
    tls::Tls,
    tunnel::TunnelAddress,
};
pub use self::{
    encode::Value,
    query::{Query, query},
    row::{FromText, Row},
};
use self::{long_message::LongMessage, socket::Socket};
use crate::{
    large_rows::{LargeRowPermit, LargeRows},
    notices::{NoticeSink, Notices},
};

/// Limit on the size of a message that is no row.
const MAX_MESSAGE: usize = 16 << 20;

/// Default limit on the size of a row.
const DEFAULT_MAX_ROW: usize = 64 << 20;

/// Number of bytes to read at once.
const READ_SIZE: usize = 8 << 10;

/// Maximum capacity of a buffer that is kept between statements.
const MAX_KEPT_CAPACITY: usize = 2 * READ_SIZE;

/// Size of the header of a message: its tag and its length.
const HEADER: usize = 5;

const DATA_ROW: u8 = b'D';

/// Connection to PostgreSQL.
pub struct Client {
    socket: Socket,
    input: BytesMut,
    output: BytesMut,
    process: i32,
    cancel: CancelKey,
    /// Number of messages without a complete answer.
    pending: u32,
    /// The row that is being skipped.
    skipping: Option<SkippedRow>,
    /// The long error or notice that is being read.
    long: Option<LongMessage>,
    columns: Arc<[Field]>,
    max_row_bytes: usize,
    /// Limit on the memory of large rows, shared by several connections.
    large_rows: Option<LargeRows>,
    /// List for the notices of the statement, if they are wanted.
    notices: Option<NoticeSink>,
    /// Size of a large row that waits for a permit.
    waiting: Option<usize>,
    /// Permit of the large row that is being read.
    permit: Option<LargeRowPermit>,
    /// Time that the server may still take, if that is limited.
    patience: Option<Duration>,
    /// A notification has arrived since the last wait for one.
    is_notified: bool,
    /// Errors and notices come without detail and hint.
    is_terse: bool,
}

/// Row that is being skipped.
#[derive(Clone, Copy)]
struct SkippedRow {
    left: usize,
    total: usize,
}

/// Part of an answer of PostgreSQL.
#[derive(Debug)]
pub(crate) enum Event {
    /// The types of the values that a parsed text takes.
    Parameters(Vec<u32>),
    /// The columns of the rows that follow.
    Columns(Arc<[Field]>),
    /// A row.
    Row(Row),
    /// A row larger than the limit, which was skipped.
    Oversized {
        /// Its size.
        bytes: usize,
    },
    /// A command has completed, and changed or returned `rows` rows.
    Completed { rows: u64 },
    /// The answer to one message is complete.
    Ready,
}

// === impl Client ===

impl Client {
    /// Connects and logs in.
    pub(crate) async fn connect(options: &ConnectOptions) -> Result<Self, DriverError> {
        startup::connect(options).await
    }

    fn new(socket: Socket) -> Self {
        Self {
            cancel: CancelKey::new(&socket),
            socket,
            input: BytesMut::with_capacity(READ_SIZE),
            output: BytesMut::with_capacity(READ_SIZE),
            process: 0,
            pending: 0,
            skipping: None,
            long: None,
            columns: Arc::default(),
            max_row_bytes: DEFAULT_MAX_ROW,
            large_rows: None,
            notices: None,
            waiting: None,
            permit: None,
            patience: None,
            is_notified: false,
            is_terse: false,
        }
    }

    /// Returns whether the connection is encrypted.
    #[must_use]
    pub fn has_tls(&self) -> bool {
        self.socket.has_tls()
    }

    /// Returns the process id that PostgreSQL, or a pooler in front of it, has reported.
    pub(crate) fn process(&self) -> i32 {
        self.process
    }

    /// Returns the key that a `CancelRequest` for this connection needs.
    pub(crate) fn cancel_key(&self) -> CancelKey {
        self.cancel.clone()
    }

    /// Sets the limit on the size of a row.
    pub fn set_max_row_bytes(&mut self, bytes: usize) {
        self.max_row_bytes = bytes;
    }

    /// Sets the shared limit for large rows; each waits for a permit before it is read.
    pub(crate) fn set_large_rows(&mut self, large_rows: Option<&LargeRows>) {
        self.large_rows = large_rows.cloned();
    }

    /// Leaves out details and hints of errors and notices: they quote values of rows, also of rows
    /// that the role of the caller does not see.
    pub(crate) fn be_terse(&mut self) {
        self.is_terse = true;
    }

    /// Sets the list that gets the notices, or none.
    pub(crate) fn set_notices(&mut self, notices: Option<&Notices>) {
        self.notices = notices.map(Notices::sink);
    }

    /// Sets the time that the server may take in all, or none. It counts while this side waits, so
    /// that a slow reader does not use it up, and it does not begin anew with each row.
    pub(crate) fn set_patience(&mut self, patience: Option<Duration>) {
        self.patience = patience;
    }

    /// Queues a text for the simple protocol.
    pub(crate) fn queue(&mut self, sql: &str) {
        encode::query(sql, &mut self.output);
        self.pending += 1;
    }

    /// Queues the parsing of a text, which PostgreSQL does for one statement only. The prepared
    /// statement has no name, so none is left behind.
    pub(crate) fn queue_parse(&mut self, sql: &str) {
        encode::parse(sql, &[], &mut self.output);
        encode::describe(&mut self.output);
        encode::sync(&mut self.output);
        self.pending += 1;
    }

    /// Queues a text with values for `$1`, `$2` and so on.
    pub(crate) fn queue_with_values(&mut self, sql: &str, values: &[Value]) {
        self.queue_first("", sql, values, 0);
    }

    /// Queues a text with values, of which only the first rows are wanted, or with 0 all of them.
    ///
    /// PostgreSQL runs `guard`, if it is not empty, in the same transaction before it, and the text
    /// does not run if that fails.
    pub(crate) fn queue_first(&mut self, guard: &str, sql: &str, values: &[Value], rows: i32) {
        let out = &mut self.output;
        if !guard.is_empty() {
            encode::parse(guard, &[], out);
            encode::bind(&[], out);
            encode::execute(0, out);
        }
        encode::parse(sql, values, out);
        encode::bind(values, out);
        encode::describe_portal(out);
        encode::execute(rows, out);
        encode::sync(out);
        self.pending += 1;
    }

    /// Sends the queued messages.
    pub(crate) async fn flush(&mut self) -> Result<(), DriverError> {
        let Self {
            socket,
            output,
            patience,
            ..
        } = self;
        let is_long = output.len() > MAX_KEPT_CAPACITY;
        let send = async {
            while output.has_remaining() {
                socket.stream.write_buf(output).await?;
            }
            socket.stream.flush().await
        };
        within(patience, send).await??;
        if is_long {
            // Frees the large buffer now, since the answer may take long. The rest of the capacity
            // does not show its size.
            self.output = BytesMut::with_capacity(READ_SIZE);
        }
        Ok(())
    }

    /// Returns the next event, or `None` when every answer is complete.
    ///
    /// After an error of the server the rest of the answer follows, up to its
    /// [`Event::Ready`]. Any other error ends the connection.
    pub(crate) async fn next(&mut self) -> Result<Option<Event>, DriverError> {
        while self.pending > 0 {
            if let Some(event) = self.parse()? {
                return Ok(Some(event));
            }
            match (self.waiting.take(), &self.large_rows) {
                (Some(bytes), Some(rows)) => {
                    let permit = within(&mut self.patience, rows.take(bytes)).await;
                    self.permit = Some(permit.map_err(|_| DriverError::NoRoom)?);
                }
                _ => self.fill().await?,
            }
        }
        Ok(None)
    }

    /// Reads all answers to their end, and ignores their contents. Returns whether all commands have
    /// succeeded.
    pub(crate) async fn drain(&mut self) -> Result<bool, DriverError> {
        self.flush().await?;
        let limit = mem::replace(&mut self.max_row_bytes, 0);
        let mut has_succeeded = true;
        let drained = loop {
            match self.next().await {
                Ok(None) => break Ok(has_succeeded),
                Ok(Some(_)) => {}
                Err(DriverError::Server(_)) => has_succeeded = false,
                Err(error) => break Err(error),
            }
        };
        self.max_row_bytes = limit;
        drained
    }

    /// Runs a text of this server, and returns its rows.
    pub async fn ask(&mut self, sql: &str) -> Result<Vec<Row>, DriverError> {
        self.queue(sql);
        self.flush().await?;
        self.rows().await
    }

    /// Runs texts of this server that return rows one after the other, and returns the rows of each.
    ///
    /// # Errors
    /// Fails if PostgreSQL reports an error, or the rows have more than `left` bytes in all, which
    /// are subtracted.
    pub async fn ask_all(
        &mut self,
        sql: &str,
        left: &mut usize,
    ) -> Result<Vec<Vec<Row>>, DriverError> {
        self.queue(sql);
        self.flush().await?;
        let limit = mem::replace(&mut self.max_row_bytes, *left);
        let (mut sets, mut failed) = (Vec::new(), None);
        let read = loop {
            match self.next().await {
                Ok(Some(Event::Columns(_))) => sets.push(Vec::new()),
                Ok(Some(Event::Row(row))) => {
                    *left = left.saturating_sub(row.size());
                    self.max_row_bytes = *left;
                    sets.last_mut().unwrap_or(&mut Vec::new()).push(row);
                }
                Ok(Some(Event::Oversized { bytes })) => {
                    // All that follow are dropped as they arrive.
                    self.max_row_bytes = 0;
                    failed.get_or_insert(DriverError::Oversized { bytes });
                }
                Ok(Some(_)) => {}
                Ok(None) => break Ok(()),
                Err(error @ DriverError::Server(_)) => failed = Some(error),
                Err(error) => break Err(error),
            }
        };
        self.max_row_bytes = limit;
        read?;
        failed.map_or(Ok(sets), Err)
    }

    /// Runs a text, and drops its rows as they arrive.
    ///
    /// # Errors
    /// Fails if PostgreSQL reports an error.
    pub async fn run(&mut self, sql: &str) -> Result<(), DriverError> {
        let asked = self.ask_all(sql, &mut 0).await;
        match asked {
            Ok(_) | Err(DriverError::Oversized { .. }) => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// Reads the rest of all answers, and returns the rows.
    pub(crate) async fn rows(&mut self) -> Result<Vec<Row>, DriverError> {
        let mut rows = Vec::new();
        let mut failed = None;
        loop {
            match self.next().await {
                Ok(Some(Event::Row(row))) => rows.push(row),
                Ok(Some(Event::Oversized { bytes })) => {
                    failed.get_or_insert(DriverError::Oversized { bytes });
                }
                Ok(Some(_)) => {}
                Ok(None) => break,
                Err(error @ DriverError::Server(_)) => {
                    failed.get_or_insert(error);
                }
                Err(error) => return Err(error),
            }
        }
        failed.map_or(Ok(rows), Err)
    }

    /// Waits for a notification of a channel that this connection listens to. One that has arrived
    /// since the last wait counts.
    pub async fn notified(&mut self) -> Result<(), DriverError> {
        loop {
            self.parse()?;
            if mem::take(&mut self.is_notified) {
                return Ok(());
            }
            self.fill().await?;
        }
    }

    /// Closes the connection, and waits until the server has closed it too: then its process has
    /// ended.
    pub(crate) async fn close(mut self) -> Result<(), DriverError> {
        postgres_protocol::message::frontend::terminate(&mut self.output);
        self.set_patience(None);
        self.flush().await?;
        loop {
            self.input.clear();
            if self.socket.stream.read_buf(&mut self.input).await? == 0 {
                return Ok(());
            }
        }
    }

    /// Shrinks the input after a long row.
    pub(crate) fn shrink(&mut self) {
        if self.input.capacity() > MAX_KEPT_CAPACITY && self.input.is_empty() {
            self.input = BytesMut::with_capacity(READ_SIZE);
        }
    }

    /// Takes the next complete event out of the input.
    fn parse(&mut self) -> Result<Option<Event>, DriverError> {
        loop {
            if let Some(skipping) = &mut self.skipping {
                let here = skipping.left.min(self.input.len());
                self.input.advance(here);
                skipping.left -= here;
                if skipping.left > 0 {
                    return Ok(None);
                }
                let bytes = skipping.total;
                self.skipping = None;
                return Ok(Some(Event::Oversized { bytes }));
            }
            let message = if let Some(long) = &mut self.long {
                if !long.read(&mut self.input) {
                    return Ok(None);
                }
                let message = self.long.take().map(LongMessage::finish);
                Message::parse(&mut message.unwrap_or_default())?
            } else {
                let Some(header) = Header::parse(&self.input)? else {
                    return Ok(None);
                };
                let length = usize::try_from(header.len()).map_err(|_| DriverError::LENGTH)?;
                if self.is_read_in_parts(header.tag(), length) {
                    continue;
                }
                if header.tag() == DATA_ROW {
                    return self.row(length + 1);
                }
                if length > MAX_MESSAGE {
                    return Err(DriverError::LENGTH);
                }
                if !self.has_arrived(length + 1) {
                    return Ok(None);
                }
                Message::parse(&mut self.input)?
            };
            if let Some(event) = self.sort(message.ok_or(DriverError::LENGTH)?)? {
                return Ok(Some(event));
            }
        }
    }

    /// Begins to skip a row that is too large, or to cut a long message, and returns whether the
    /// message is one of these. The length counts itself.
    fn is_read_in_parts(&mut self, tag: u8, length: usize) -> bool {
        let left = length - (HEADER - 1);
        if tag == DATA_ROW && length > self.max_row_bytes {
            self.skipping = Some(SkippedRow { left, total: left });
        } else if LongMessage::is_long(tag, length) {
            self.long = Some(LongMessage::new(tag, left));
        } else {
            return false;
        }
        self.input.advance(HEADER);
        true
    }

    /// Takes a row out of the input, once all of its bytes are there and it has a permit if it is
    /// large.
    fn row(&mut self, total: usize) -> Result<Option<Event>, DriverError> {
        let is_large = LargeRows::is_large(total);
        if is_large && self.large_rows.is_some() && self.permit.is_none() {
            self.waiting = Some(total);
            return Ok(None);
        }
        if !self.has_arrived(total) {
            return Ok(None);
        }
        self.input.advance(HEADER);
        let body = self.input.split_to(total - HEADER).freeze();
        if is_large {
            // Later input must not keep the memory of the row alive.
            self.input = BytesMut::from(&*mem::take(&mut self.input));
        }
        let row = Row::new(body, &self.columns, self.permit.take())?;
        Ok(Some(Event::Row(row)))
    }

    /// Returns whether the input has a whole message, and makes room for it otherwise.
    fn has_arrived(&mut self, total: usize) -> bool {
        let missing = total.saturating_sub(self.input.len());
        self.input.reserve(missing);
        missing == 0
    }

    /// Converts a message into an event, or into `None` if no caller needs it.
    fn sort(&mut self, message: Message) -> Result<Option<Event>, DriverError> {
        Ok(Some(match message {
            Message::RowDescription(body) => {
                self.columns = row::fields(&body)?;
                Event::Columns(Arc::clone(&self.columns))
            }
            Message::ParameterDescription(body) => Event::Parameters(body.parameters().collect()?),
            Message::CommandComplete(body) => Event::Completed {
                rows: row::count(body.tag()?),
            },
            Message::ReadyForQuery(_) => {
                self.pending = self.pending.saturating_sub(1);
                self.columns = Arc::default();
                Event::Ready
            }
            Message::ErrorResponse(body) => {
                let error = ServerError::new(&body, self.is_terse)?;
                return Err(DriverError::Server(Box::new(error)));
            }
            Message::CopyInResponse(_) | Message::CopyOutResponse(_) => {
                return Err(DriverError::Protocol("COPY through the client"));
            }
            Message::NoticeResponse(body) => {
                if let Some(notices) = &self.notices {
                    notices.add(|| ServerError::notice(&body, self.is_terse));
                }
                return Ok(None);
            }
            Message::NotificationResponse(_) => {
                self.is_notified = true;
                return Ok(None);
            }
            Message::ParseComplete
            | Message::BindComplete
            | Message::CloseComplete
            | Message::NoData
            | Message::EmptyQueryResponse
            | Message::PortalSuspended
            | Message::ParameterStatus(_) => return Ok(None),
            _ => return Err(DriverError::Protocol("an unexpected message")),
        }))
    }

    async fn fill(&mut self) -> Result<(), DriverError> {
        let Self {
            socket,
            input,
            patience,
            ..
        } = self;
        input.reserve(READ_SIZE);
        let read = within(patience, socket.stream.read_buf(input)).await??;
        if read == 0 {
            return Err(io::Error::from(io::ErrorKind::UnexpectedEof).into());
        }
        Ok(())
    }
}

impl std::fmt::Debug for Client {
    /// Leaves out the buffers, which hold rows, and the key.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Client")
            .field("process", &self.process)
            .field("pending", &self.pending)
            .finish_non_exhaustive()
    }
}

/// Waits for as long as the server may still take, and takes the time off that. Work that is done at
/// once does not look at the clock.
async fn within<F: Future>(
    patience: &mut Option<Duration>,
    work: F,
) -> Result<F::Output, DriverError> {
    let mut work = pin!(work);
    if let Poll::Ready(done) = poll_fn(|cx| Poll::Ready(work.as_mut().poll(cx))).await {
        return Ok(done);
    }
    let Some(left) = patience else {
        return Ok(work.await);
    };
    let began = Instant::now();
    let done = time::timeout_at(began + *left, work).await;
    *left = left.saturating_sub(began.elapsed());
    done.map_err(|_| DriverError::TimedOut)
}
